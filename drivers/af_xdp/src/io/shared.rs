// SPDX-License-Identifier: Apache-2.0
//! A socket of which the receiving and the sending side belong to different threads.

use super::sys;
use buffer::Lent;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Mutex;
use std::sync::atomic::AtomicU64;

/// The socket, with what both sides need of it.
pub struct Shared {
    /// Closed first: then the kernel uses none of the buffers below any more.
    fd: OwnedFd,
    done: Mutex<Vec<Lent>>,
    /// System calls to send, and those that failed.
    pub kicks: AtomicU64,
    pub failures: AtomicU64,
}

impl AsFd for Shared {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl Shared {
    pub(super) fn new(fd: OwnedFd) -> Self {
        let (done, kicks, failures) = Default::default();
        Self { fd, done, kicks, failures }
    }

    /// Keeps buffers that the kernel has until the socket is closed.
    pub(super) fn keep(&self, lent: Lent) {
        self.done.lock().expect("no panic inside").push(lent);
    }

    /// Counts of the kernel; zeros if it gives none.
    pub fn statistics(&self) -> Option<libc::xdp_statistics> {
        sys::statistics(self.as_fd()).ok()
    }
}
