// SPDX-License-Identifier: Apache-2.0
//! Wakes one sleeping thread, by a system call only if it sleeps.
//!
//! ```text
//! receiver                          sender
//! prepare_sleep: sleeping = true    publish the work
//!                fence              wake: fence
//! recheck for work                        if sleeping: ring
//! epoll_wait(fd)
//! awake: sleeping = false, hush
//! ```
//! Of the two fences one is first: either the sender sees `sleeping`, or the receiver's recheck sees the work.

use crate::platform::{AtomicBool, Ordering, fence};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

/// The bell of one receiving thread; senders share it.
#[derive(Debug)]
pub struct Waker {
    sleeping: AtomicBool,
    bell: Bell,
}

impl Waker {
    /// An awake receiver. The error is the kernel's about `eventfd`.
    pub fn new() -> io::Result<Self> {
        Ok(Self { sleeping: AtomicBool::new(false), bell: Bell::new()? })
    }

    /// Sender: wakes the receiver if it sleeps or is about to. Call it after the work is published; never blocks.
    #[inline]
    pub fn wake(&self) {
        fence(Ordering::SeqCst);
        // Who takes the flag down rings; the others needn't.
        if self.sleeping.load(Ordering::Relaxed)
            && self.sleeping.compare_exchange(true, false, Ordering::AcqRel, Ordering::Relaxed).is_ok()
        {
            self.bell.ring();
        }
    }

    /// Receiver: from here on senders ring. Look for work once more, then wait for [`AsFd::as_fd`] to be readable
    /// (level-triggered), then [`Self::awake`]; if there was work, `awake` at once.
    pub fn prepare_sleep(&self) {
        // Release: who takes the flag down rings after our last `hush`, which so can't swallow it.
        self.sleeping.store(true, Ordering::Release);
        fence(Ordering::SeqCst);
    }

    /// Receiver: from here on senders needn't ring, and `fd` isn't readable any more. A sender that was about to ring
    /// may make the next sleep end early.
    pub fn awake(&self) {
        // Not a plain store, so that each raising of the flag is taken down by exactly one: a sender or us.
        self.sleeping.swap(false, Ordering::AcqRel);
        self.bell.hush();
    }

    /// The descriptor to wait on for readability.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.bell.fd()
    }

    #[cfg(all(test, loom))]
    pub(crate) fn has_rung(&self) -> bool {
        self.bell.rung.load(Ordering::Acquire)
    }
}

impl AsFd for Waker {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd()
    }
}

#[cfg(not(loom))]
#[derive(Debug)]
struct Bell(std::os::fd::OwnedFd);

#[cfg(not(loom))]
impl Bell {
    fn new() -> io::Result<Self> {
        use rustix::event::{EventfdFlags, eventfd};
        Ok(Self(eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?))
    }

    #[cold]
    fn ring(&self) {
        // Fails only if the count is at its maximum, and then the descriptor is readable.
        let _ = rustix::io::write(&self.0, &1u64.to_ne_bytes());
    }

    fn hush(&self) {
        // Fails if nobody rang.
        let _ = rustix::io::read(&self.0, &mut [0u8; 8]);
    }

    fn fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// The bell of the models: readable or not.
#[cfg(loom)]
#[derive(Debug)]
struct Bell {
    rung: AtomicBool,
}

#[cfg(loom)]
impl Bell {
    fn new() -> io::Result<Self> {
        Ok(Self { rung: AtomicBool::new(false) })
    }

    fn ring(&self) {
        self.rung.store(true, Ordering::Release);
    }

    fn hush(&self) {
        self.rung.store(false, Ordering::Relaxed);
    }

    fn fd(&self) -> BorrowedFd<'_> {
        panic!("no descriptor in a model")
    }
}
