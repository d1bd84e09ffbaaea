// SPDX-License-Identifier: Apache-2.0
//! Memory of a peer, which may take it away at any time.

mod handler;
mod memory;
mod registry;
#[cfg(feature = "tests")]
mod tests;

use core::fmt;
use core::ptr::{self, NonNull};
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::sync::Arc;

use rustix::fs::fstat;
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap, munmap};

use crate::PAGE;
use handler::REGISTRY;
pub use memory::PeerMemory;
use registry::{Entry, Registry};

/// An event (eventfd(2)) that is raised when a mapping breaks.
pub type Wake = Arc<dyn AsFd + Send + Sync>;

/// A shared mapping of a file that belongs to a peer, read and write.
///
/// A peer that shrinks its file takes memory away that is mapped here, and an access to it raises
/// SIGBUS. A handler of this signal then puts zeroed private memory in the place of the whole
/// mapping: the access and all later ones succeed, and [`Self::is_broken`] is true from then on. A
/// file that was made longer again before anything was touched isn't noticed: its bytes are zero.
///
/// Other faults go on to the handler that was there before, or end the process as ever. Threads
/// that access such memory must not block SIGBUS.
///
/// It isn't part of core dumps.
pub struct PeerMapping {
    base: NonNull<u8>,
    len: usize,
    slot: usize,
    registry: &'static Registry,
    /// The handler uses it as long as the mapping is registered.
    _wake: Option<Wake>,
}

// SAFETY: a mapping is memory of the process, not of a thread; it hands out raw pointers only, what
// is done with them is the business of the types built on it.
unsafe impl Send for PeerMapping {}
// SAFETY: as above.
unsafe impl Sync for PeerMapping {}

impl PeerMapping {
    /// Maps the first `len` bytes of a file, rounded up to whole pages of its kind. `wake` is
    /// raised when the mapping breaks: 8 bytes are written, so it must not block.
    ///
    /// The file should have so many bytes; if it is shorter, the mapping breaks when they are
    /// touched.
    ///
    /// # Errors
    /// Of fstat or mmap; [`io::ErrorKind::InvalidInput`] for 0 bytes or an impossible size;
    /// [`io::ErrorKind::QuotaExceeded`] if this process has as many such mappings as it can have
    /// (16384).
    pub fn new(fd: impl AsFd, len: usize, wake: Option<Wake>) -> io::Result<Self> {
        handler::install()?;
        Self::within(&REGISTRY, fd, len, wake)
    }

    fn within(
        registry: &'static Registry,
        fd: impl AsFd,
        len: usize,
        wake: Option<Wake>,
    ) -> io::Result<Self> {
        // Files of huge pages are mapped and unmapped by whole pages.
        let page = usize::try_from(fstat(&fd)?.st_blksize).unwrap_or(0).clamp(PAGE, 1 << 30);
        let page = page.next_power_of_two();
        let len = len.checked_next_multiple_of(page);
        let len = len.filter(|len| (1..isize::MAX as usize).contains(len));
        let len = len.ok_or(io::ErrorKind::InvalidInput)?;
        let prot = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: the kernel chooses the address, so no other memory is touched.
        let base = unsafe { mmap(ptr::null_mut(), len, prot, MapFlags::SHARED, &fd, 0) }?;
        let unmap = || {
            // SAFETY: the mapping that was just made, of which nobody knows.
            let _ = unsafe { munmap(base, len) };
        };
        let Some(first) = NonNull::new(base.cast()) else {
            unmap();
            return Err(io::ErrorKind::OutOfMemory.into());
        };
        // SAFETY: it is this mapping, and the advice changes nothing but core dumps. A kernel that
        // doesn't know it dumps more.
        let _ = unsafe { madvise(base, len, Advice::LinuxDontDump) };
        let number = wake.as_ref().map_or(-1, |wake| wake.as_fd().as_raw_fd());
        let entry = Entry { start: base.addr(), len, page, wake: number };
        let Some(slot) = registry.add(entry) else {
            unmap();
            let text = format!(
                "this process has {} mappings of memory of other processes, as many as it can have",
                registry.capacity()
            );
            return Err(io::Error::new(io::ErrorKind::QuotaExceeded, text));
        };
        Ok(Self { base: first, len, slot, registry, _wake: wake })
    }

    /// First byte. Valid as long as the mapping; its bytes may change at any time.
    #[inline(always)]
    pub fn base(&self) -> NonNull<u8> {
        self.base
    }

    /// Bytes, whole pages.
    #[inline(always)]
    #[expect(clippy::len_without_is_empty, reason = "never empty")]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns true if the peer took memory away that was accessed since, or if the system had no
    /// page for an access (a full tmpfs, no huge page): what was read may be zeros, and nobody sees
    /// what was written.
    #[inline(always)]
    pub fn is_broken(&self) -> bool {
        self.registry.is_broken(self.slot)
    }
}

impl Drop for PeerMapping {
    fn drop(&mut self) {
        // First, since the kernel may give the addresses to others at once.
        self.registry.remove(self.slot);
        // SAFETY: this mapping was made with this length, or is the one that has replaced it, and
        // nothing borrows from it any more.
        let _ = unsafe { munmap(self.base.as_ptr().cast(), self.len) };
    }
}

impl fmt::Debug for PeerMapping {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PeerMapping")
            .field("base", &self.base)
            .field("len", &self.len)
            .field("broken", &self.is_broken())
            .finish()
    }
}
