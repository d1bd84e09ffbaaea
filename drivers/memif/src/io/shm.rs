// SPDX-License-Identifier: Apache-2.0
//! Memory that another process writes at any time.
//!
//! No Rust reference into it is ever made, except for atomics of two and four bytes: bytes are
//! copied to and from private memory. Every access is checked against the length of the mapping.
//! A peer that shrinks its file breaks the mapping, which then has zeros (`mem::PeerMapping`). Only
//! files in memory are mapped: one of another kind could make a thread wait as long as the peer
//! likes (FUSE).

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU16, AtomicU32, Ordering};

use mem::{PeerMapping, Wake};
use rustix::fs::{
    FileType, MemfdFlags, SealFlags, fcntl_add_seals, fstat, fstatfs, ftruncate, memfd_create,
};

/// File systems of memory (statfs(2)): tmpfs, where memfds are too, and hugetlbfs.
const IN_MEMORY: [u64; 2] = [0x0102_1994, 0x9584_58f6];

/// A mapped file of shared memory.
pub struct Region {
    map: PeerMapping,
    /// Bytes of the region. The file was at least as long when it was mapped.
    len: usize,
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
        Self::map(fd, len, None)
    }

    /// Maps the first `len` bytes of a file that a peer has sent. `wake` is raised when the file
    /// has become shorter.
    ///
    /// # Errors
    /// A file that is shorter than `len`, or isn't in memory; too many regions of all peers; what
    /// mmap says.
    pub fn open(fd: OwnedFd, len: u64, wake: Option<Wake>) -> io::Result<Self> {
        let invalid = |text: &str| io::Error::new(io::ErrorKind::InvalidData, text.to_string());
        let stat = fstat(&fd)?;
        let is_file = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
        if !is_file || !IN_MEMORY.contains(&(fstatfs(&fd)?.f_type as u64)) {
            return Err(invalid("the file of a region isn't in memory (memfd, tmpfs, hugetlbfs)"));
        }
        let size = u64::try_from(stat.st_size).unwrap_or(0);
        if len == 0 || size < len || len > isize::MAX as u64 / 2 {
            return Err(invalid("a region is longer than its file"));
        }
        Self::map(fd, len as usize, wake)
    }

    fn map(fd: OwnedFd, len: usize, wake: Option<Wake>) -> io::Result<Self> {
        Ok(Self { map: PeerMapping::new(&fd, len, wake)?, len, fd })
    }

    /// Returns true if the peer has made the file shorter, and memory that is gone was accessed.
    pub fn is_broken(&self) -> bool {
        self.map.is_broken()
    }

    /// Bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// The number of the descriptor, for people.
    pub fn number(&self) -> i32 {
        self.fd.as_raw_fd()
    }

    /// Returns true if `bytes` bytes from `offset` on lie inside.
    #[inline(always)]
    pub fn holds(&self, offset: usize, bytes: usize) -> bool {
        offset <= self.len && bytes <= self.len - offset
    }

    /// Address of `bytes` bytes at `offset`, aligned to `bytes` if `aligned`.
    #[inline(always)]
    fn at(&self, offset: usize, bytes: usize) -> Option<*mut u8> {
        self.holds(offset, bytes).then(|| self.map.base().as_ptr().wrapping_add(offset))
    }

    /// Asks for the first cache line at `offset`, to read it soon. Nothing happens outside.
    #[inline(always)]
    pub fn prefetch(&self, offset: usize) {
        if let Some(at) = self.at(offset, 1) {
            simd::prefetch_ptr(at);
        }
    }

    #[inline(always)]
    fn atomic16(&self, offset: usize) -> Option<&AtomicU16> {
        let at = self.at(offset, 2).filter(|_| offset.is_multiple_of(2))?.cast::<u16>();
        // SAFETY: inside of the mapping, which lives as long as `self`; aligned, since the mapping
        // begins at a page; this process accesses it by atomics and raw copies only.
        Some(unsafe { AtomicU16::from_ptr(at) })
    }

    #[inline(always)]
    fn atomic32(&self, offset: usize) -> Option<&AtomicU32> {
        let at = self.at(offset, 4).filter(|_| offset.is_multiple_of(4))?.cast::<u32>();
        // SAFETY: as of 16 bits.
        Some(unsafe { AtomicU32::from_ptr(at) })
    }

    /// Two bytes; `None` outside or off the alignment.
    #[inline(always)]
    pub fn load16(&self, offset: usize, order: Ordering) -> Option<u16> {
        Some(self.atomic16(offset)?.load(order))
    }

    /// Writes two bytes; nothing happens outside or off the alignment.
    #[inline(always)]
    pub fn store16(&self, offset: usize, value: u16, order: Ordering) {
        if let Some(atomic) = self.atomic16(offset) {
            atomic.store(value, order);
        }
    }

    /// Four bytes; `None` outside or off the alignment.
    #[inline(always)]
    pub fn load32(&self, offset: usize) -> Option<u32> {
        Some(self.atomic32(offset)?.load(Ordering::Relaxed))
    }

    /// Writes four bytes; nothing happens outside or off the alignment.
    #[inline(always)]
    pub fn store32(&self, offset: usize, value: u32) {
        if let Some(atomic) = self.atomic32(offset) {
            atomic.store(value, Ordering::Relaxed);
        }
    }

    /// Copies bytes out. False, without a change, if they don't lie inside.
    #[inline(always)]
    #[must_use]
    pub fn copy_out(&self, offset: usize, to: &mut [u8]) -> bool {
        let Some(from) = self.at(offset, to.len()) else { return false };
        // SAFETY: the source is inside of the mapping, the destination is private memory of this
        // process, so they don't overlap. The peer may write meanwhile: any bytes are valid
        // ones, and they are looked at in the private copy only.
        unsafe { std::ptr::copy_nonoverlapping(from, to.as_mut_ptr(), to.len()) };
        true
    }

    /// Copies bytes in. False, without a change, if they don't fit inside.
    #[inline(always)]
    #[must_use]
    pub fn copy_in(&self, offset: usize, from: &[u8]) -> bool {
        let Some(to) = self.at(offset, from.len()) else { return false };
        // SAFETY: the destination is inside of the mapping, to which no reference exists but to
        // atomics that are used for a moment; the source is private memory.
        unsafe { std::ptr::copy_nonoverlapping(from.as_ptr(), to, from.len()) };
        true
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
    fn nothing_outside_is_touched() {
        let region = Region::create(4096).expect("memory");
        assert!(region.copy_in(4090, &[7; 6]) && !region.copy_in(4091, &[7; 6]));
        assert!(
            !region.copy_in(usize::MAX, &[1])
                && region.copy_in(4096, &[])
                && !region.copy_in(4097, &[])
        );
        let mut six = [0; 6];
        assert!(
            region.copy_out(4090, &mut six) && six == [7; 6] && !region.copy_out(4091, &mut six)
        );
        assert_eq!(
            (region.load16(4094, Ordering::Acquire), region.load16(4096, Ordering::Acquire)),
            (Some(0x0707), None)
        );
        assert_eq!(
            (
                region.load16(1, Ordering::Acquire),
                region.load32(4094),
                region.load32(usize::MAX - 3)
            ),
            (None, None, None)
        );
        region.store16(4096, 1, Ordering::Release);
        region.store32(4094, 1);
        assert_eq!(region.load32(4092), Some(0x0707_0707));
    }

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

    #[suite::test]
    fn a_file_that_shrinks_has_zeros() {
        let fd = memfd_create("test", MemfdFlags::CLOEXEC).expect("a memfd");
        ftruncate(&fd, 8192).expect("grows");
        let region = Region::open(fd.try_clone().expect("a copy"), 8192, None).expect("mapped");
        assert!(region.copy_in(4096, &[7; 4]) && !region.is_broken());
        ftruncate(&fd, 4096).expect("shrinks");
        assert_eq!((region.load32(4096), region.is_broken()), (Some(0), true));
    }
}
