// SPDX-License-Identifier: Apache-2.0
//! Event descriptors by which one end wakes the other (eventfd(2)).
//!
//! Both processes share the open file, so a peer may make it blocking again: it is read by calls
//! that don't wait whatever its flags are. A write waits only if the peer, besides, sets the
//! counter to its maximum.

use std::io::{self, IoSliceMut};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::io::{Errno, ReadWriteFlags, ioctl_fionbio, preadv2, read, write};

/// An event descriptor.
pub struct Event {
    fd: OwnedFd,
    /// Number of times that this end raised it, or cleared it.
    count: AtomicU64,
}

/// The position of preadv2(2) for files that have none.
const NO_OFFSET: u64 = u64::MAX;

impl Event {
    /// A new one.
    ///
    /// # Errors
    /// Of eventfd(2).
    pub fn new() -> io::Result<Self> {
        let fd = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Self { fd, count: AtomicU64::new(0) })
    }

    /// Takes one that a peer has sent.
    ///
    /// # Errors
    /// A descriptor of another kind, to which writing may take any time.
    pub fn open(fd: OwnedFd) -> io::Result<Self> {
        let link = std::fs::read_link(format!("/proc/self/fd/{}", fd.as_raw_fd()))?;
        if link.as_os_str() != "anon_inode:[eventfd]" {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "the descriptor of a ring is no eventfd",
            ));
        }
        ioctl_fionbio(&fd, true)?;
        Ok(Self { fd, count: AtomicU64::new(0) })
    }

    /// Wakes the other end.
    #[inline]
    pub fn raise(&self) {
        self.count.fetch_add(1, Ordering::Relaxed);
        // A counter that is full wakes as well.
        let _ = write(&self.fd, &1u64.to_ne_bytes());
    }

    /// Makes it unreadable again. True if it had been raised.
    #[inline]
    pub fn clear(&self) -> bool {
        let mut count = [0; 8];
        match preadv2(
            &self.fd,
            &mut [IoSliceMut::new(&mut count)],
            NO_OFFSET,
            ReadWriteFlags::NOWAIT,
        ) {
            Ok(_) => {
                self.count.fetch_add(1, Ordering::Relaxed);
                true
            }
            Err(Errno::AGAIN) => false,
            // Kernels before 5.8.
            Err(_) => {
                let now = Timespec { tv_sec: 0, tv_nsec: 0 };
                let readable = poll(&mut [PollFd::new(&self.fd, PollFlags::IN)], Some(&now));
                readable.is_ok_and(|n| n > 0) && read(&self.fd, &mut count).is_ok()
            }
        }
    }

    /// Returns the number of times that this end has raised or received it.
    pub fn raised(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }

    /// The number of the descriptor, for people.
    pub fn number(&self) -> i32 {
        self.fd.as_raw_fd()
    }
}

impl AsFd for Event {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;

    #[suite::test]
    fn it_is_raised_and_cleared_without_waiting() {
        let ours = Event::new().expect("an eventfd");
        let theirs = Event::open(ours.fd.try_clone().expect("a copy")).expect("it is one");
        assert!(!ours.clear());
        theirs.raise();
        theirs.raise();
        assert!(ours.clear() && !ours.clear());
        // A peer that makes it blocking doesn't make us wait.
        ioctl_fionbio(&theirs.fd, false).expect("set");
        assert!(!ours.clear());
        let (pipe, _end) = rustix::pipe::pipe().expect("a pipe");
        assert!(Event::open(pipe).is_err());
    }
}
