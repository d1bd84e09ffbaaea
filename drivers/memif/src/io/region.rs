// SPDX-License-Identifier: Apache-2.0
//! Memory that another process writes at any time ([`PeerMemory`]). Only files in memory are
//! mapped: one of another kind could make a thread wait as long as the peer likes (FUSE).

use std::io;
use std::ops::Deref;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use mem::{PeerMemory, Wake};
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, fstatfs, ftruncate, memfd_create};

/// File systems of memory (statfs(2)): tmpfs, where memfds are too, and hugetlbfs.
const IN_MEMORY: [u64; 2] = [0x0102_1994, 0x9584_58f6];

/// A mapped file of shared memory.
pub struct Region {
    memory: PeerMemory,
    fd: OwnedFd,
}

impl Region {
    /// Makes zeroed memory of this many bytes that can neither shrink nor grow.
    ///
    /// # Errors
    /// Of memfd_create, ftruncate, fcntl or mmap.
    pub fn create(len: usize) -> io::Result<Self> {
        let fd = memfd_create("memif region", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
        ftruncate(&fd, len as u64)?;
        fcntl_add_seals(&fd, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
        Self::map(fd, len as u64, None)
    }

    /// Maps the first `len` bytes of a file that a peer has sent. `wake` is raised when the file
    /// has become shorter.
    ///
    /// # Errors
    /// A file that is shorter than `len`, or isn't in memory; too many regions of all peers; what
    /// mmap says.
    pub fn open(fd: OwnedFd, len: u64, wake: Option<Wake>) -> io::Result<Self> {
        if !IN_MEMORY.contains(&(fstatfs(&fd)?.f_type as u64)) {
            let text = "the file of a region isn't in memory (memfd, tmpfs, hugetlbfs)";
            return Err(io::Error::new(io::ErrorKind::InvalidData, text));
        }
        Self::map(fd, len, wake)
    }

    fn map(fd: OwnedFd, len: u64, wake: Option<Wake>) -> io::Result<Self> {
        Ok(Self { memory: PeerMemory::open(&fd, len, 0, wake, "a region")?, fd })
    }

    /// The number of the descriptor, for people.
    pub fn number(&self) -> i32 {
        self.fd.as_raw_fd()
    }

    /// Asks for the first cache line at `offset`, to read it soon. Nothing happens outside.
    #[inline(always)]
    pub fn prefetch(&self, offset: usize) {
        if let Some(at) = self.memory.address(offset) {
            simd::prefetch_ptr(at);
        }
    }
}

impl Deref for Region {
    type Target = PeerMemory;

    #[inline(always)]
    fn deref(&self) -> &PeerMemory {
        &self.memory
    }
}

impl AsFd for Region {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;

    #[suite::test]
    fn files_that_are_too_short_or_not_in_memory_are_refused() {
        let error = |fd: OwnedFd, len| Region::open(fd, len, None).err().map(|e| e.to_string());
        let memfd = || {
            let fd = memfd_create("test", MemfdFlags::CLOEXEC).expect("a memfd");
            ftruncate(&fd, 8192).expect("grows");
            fd
        };
        assert!(error(memfd(), 8193).is_some_and(|e| e.contains("longer")));
        assert!(error(memfd(), 0).is_some() && error(memfd(), u64::MAX).is_some());
        assert_eq!(error(memfd(), 8192), None);
        let file = std::fs::File::open("/proc/self/status").expect("a file");
        assert!(error(file.into(), 1).is_some_and(|e| e.contains("memory")));
        let (pipe, _end) = rustix::pipe::pipe().expect("a pipe");
        assert!(error(pipe, 1).is_some_and(|e| e.contains("memory")));
    }
}
