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
//! Of the two fences one is first: either the sender sees `sleeping`, or the receiver's recheck
//! sees the work.

use crate::platform::{AtomicBool, Ordering, fence};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

/// The wake-up of one receiving thread; senders share it.
#[derive(Debug)]
pub struct Waker {
    sleeping: AtomicBool,
    eventfd: EventFd,
}

impl Waker {
    /// An awake receiver. The error is the kernel's about `eventfd`.
    pub fn new() -> io::Result<Self> {
        Ok(Self { sleeping: AtomicBool::new(false), eventfd: EventFd::new()? })
    }

    /// A receiver whose sleep also ends when one of the descriptors is readable that it
    /// [watches](Self::watch). The error is the kernel's about `eventfd` or `epoll`.
    #[cfg(not(loom))]
    pub fn watching() -> io::Result<Self> {
        Ok(Self { sleeping: AtomicBool::new(false), eventfd: EventFd::watching()? })
    }

    /// Receiver: ends a sleep when `fd` is readable too; [`Self::ready`] reports which by `token`.
    /// For a descriptor that is closed nothing has to be undone. Fails for a receiver that
    /// wasn't made by [`Self::watching`].
    #[cfg(not(loom))]
    pub fn watch(&self, fd: impl AsFd, token: u64) -> io::Result<()> {
        self.eventfd.watch(fd, token)
    }

    /// Receiver: calls `f` with the token of each watched descriptor that is readable.
    #[cfg(not(loom))]
    pub fn ready(&self, f: impl FnMut(u64)) {
        self.eventfd.ready(f);
    }

    /// Sender: wakes the receiver if it sleeps or is about to. Call it after the work is published;
    /// never blocks.
    #[inline]
    pub fn wake(&self) {
        fence(Ordering::SeqCst);
        // The sender that clears the flag rings; the others needn't.
        if self.sleeping.load(Ordering::Relaxed)
            && self
                .sleeping
                .compare_exchange(true, false, Ordering::AcqRel, Ordering::Relaxed)
                .is_ok()
        {
            self.eventfd.ring();
        }
    }

    /// Receiver: from here on senders ring. Look for work once more, then wait for [`AsFd::as_fd`]
    /// to be readable (level-triggered), then [`Self::awake`]; if there was work, `awake` at
    /// once.
    pub fn prepare_sleep(&self) {
        // Release: the sender that clears the flag rings after our last `hush`, which so can't
        // swallow it.
        self.sleeping.store(true, Ordering::Release);
        fence(Ordering::SeqCst);
    }

    /// Receiver: from here on senders needn't ring, and `fd` isn't readable any more. A sender that
    /// was about to ring may make the next sleep end early.
    pub fn awake(&self) {
        // Not a plain store, so that each raising of the flag is taken down by exactly one: a
        // sender or us.
        self.sleeping.swap(false, Ordering::AcqRel);
        self.eventfd.hush();
    }

    /// The descriptor to wait on for readability.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.eventfd.fd()
    }

    #[cfg(all(feature = "tests", loom))]
    pub(crate) fn has_rung(&self) -> bool {
        self.eventfd.rung.load(Ordering::Acquire)
    }
}

impl AsFd for Waker {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd()
    }
}

#[cfg(not(loom))]
#[derive(Debug)]
struct EventFd {
    event: std::os::fd::OwnedFd,
    /// An epoll of `event` and what is watched beside it.
    all: Option<std::os::fd::OwnedFd>,
}

/// The token of the waker's own event.
#[cfg(not(loom))]
const RUNG: u64 = u64::MAX;

#[cfg(not(loom))]
impl EventFd {
    fn new() -> io::Result<Self> {
        use rustix::event::{EventfdFlags, eventfd};
        Ok(Self { event: eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?, all: None })
    }

    fn watching() -> io::Result<Self> {
        use rustix::event::epoll;
        let mut this = Self::new()?;
        let all = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        epoll::add(&all, &this.event, epoll::EventData::new_u64(RUNG), epoll::EventFlags::IN)?;
        this.all = Some(all);
        Ok(this)
    }

    fn watch(&self, fd: impl AsFd, token: u64) -> io::Result<()> {
        use rustix::event::epoll;
        let all = self.all.as_ref().ok_or(io::ErrorKind::Unsupported)?;
        epoll::add(all, fd, epoll::EventData::new_u64(token), epoll::EventFlags::IN)?;
        Ok(())
    }

    fn ready(&self, mut f: impl FnMut(u64)) {
        use rustix::event::{Timespec, epoll};
        let Some(all) = &self.all else { return };
        let none =
            epoll::Event { flags: epoll::EventFlags::empty(), data: epoll::EventData::new_u64(0) };
        let mut events = [none; 16];
        // An interrupted call finds nothing, and what is ready stays so.
        let n = epoll::wait(all, &mut events[..], Some(&Timespec { tv_sec: 0, tv_nsec: 0 }))
            .unwrap_or(0);
        events[..n].iter().map(|e| e.data.u64()).filter(|token| *token != RUNG).for_each(&mut f);
    }

    #[cold]
    fn ring(&self) {
        // Fails only if the count is at its maximum, and then the descriptor is readable.
        let _ = rustix::io::write(&self.event, &1u64.to_ne_bytes());
    }

    fn hush(&self) {
        // Fails if no sender rang.
        let _ = rustix::io::read(&self.event, &mut [0u8; 8]);
    }

    fn fd(&self) -> BorrowedFd<'_> {
        self.all.as_ref().unwrap_or(&self.event).as_fd()
    }
}

/// The event descriptor of the models: readable or not.
#[cfg(loom)]
#[derive(Debug)]
struct EventFd {
    rung: AtomicBool,
}

#[cfg(loom)]
impl EventFd {
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
