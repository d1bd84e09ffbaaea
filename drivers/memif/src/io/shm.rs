// SPDX-License-Identifier: Apache-2.0
//! Memory that another process writes at any time.
//!
//! No Rust reference into it is ever made, except for atomics of two and four bytes: bytes are
//! copied to and from private memory. Every access is checked against the length of the mapping.
//! The file can't shrink below it: a file without the seal F_SEAL_SHRINK is refused, because an
//! access behind its end would raise SIGBUS.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU16, AtomicU32, Ordering};

use rustix::fs::{
    MemfdFlags, SealFlags, fcntl_add_seals, fcntl_get_seals, fstat, ftruncate, memfd_create,
};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

/// A mapped file of shared memory.
pub struct Region {
    base: NonNull<u8>,
    /// Bytes of the mapping. The file is at least as long, and stays so.
    len: usize,
    fd: OwnedFd,
}

// SAFETY: the mapping belongs to the process, not to a thread; all accesses are atomic, or copies
// by raw pointers of memory that another process may write anyway.
unsafe impl Send for Region {}
// SAFETY: as above.
unsafe impl Sync for Region {}

impl Region {
    /// Makes zeroed memory of this many bytes that can neither shrink nor grow.
    ///
    /// # Errors
    /// Of memfd_create, ftruncate, fcntl or mmap.
    pub fn create(len: usize) -> io::Result<Self> {
        let fd = memfd_create("memif region", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
        ftruncate(&fd, len as u64)?;
        fcntl_add_seals(&fd, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
        Self::map(fd, len)
    }

    /// Maps the first `len` bytes of a file that a peer has sent.
    ///
    /// # Errors
    /// A file that is shorter than `len` or may shrink; what mmap says.
    pub fn open(fd: OwnedFd, len: u64) -> io::Result<Self> {
        let invalid = |text: &str| io::Error::new(io::ErrorKind::InvalidData, text.to_string());
        // The seal is looked at first: it can't be taken off, so the size that is read after it is
        // a lower bound for good.
        let seals =
            fcntl_get_seals(&fd).map_err(|_| invalid("the file of a region isn't a memfd"))?;
        if !seals.contains(SealFlags::SHRINK) {
            return Err(invalid(
                "the file of a region isn't sealed against shrinking (F_SEAL_SHRINK)",
            ));
        }
        let size = fstat(&fd)?.st_size;
        if len == 0 || u64::try_from(size).unwrap_or(0) < len || len > isize::MAX as u64 / 2 {
            return Err(invalid("a region is longer than its file"));
        }
        Self::map(fd, len as usize)
    }

    fn map(fd: OwnedFd, len: usize) -> io::Result<Self> {
        let prot = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: the kernel chooses the address, so no other memory is touched.
        let base = unsafe { mmap(std::ptr::null_mut(), len, prot, MapFlags::SHARED, &fd, 0) }?;
        let base = NonNull::new(base.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { base, len, fd })
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
        self.holds(offset, bytes).then(|| self.base.as_ptr().wrapping_add(offset))
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

impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: this mapping was made with this length, and nothing borrows from it any more.
        let _ = unsafe { munmap(self.base.as_ptr().cast(), self.len) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
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

    #[test]
    fn files_that_may_shrink_are_refused() {
        let error = |fd: OwnedFd, len| Region::open(fd, len).err().map(|e| e.to_string());
        let memfd = || {
            let fd = memfd_create("test", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)
                .expect("a memfd");
            ftruncate(&fd, 8192).expect("grows");
            fd
        };
        let sealed = || {
            let fd = memfd();
            fcntl_add_seals(&fd, SealFlags::SHRINK).expect("sealed");
            fd
        };
        assert!(error(memfd(), 8192).is_some_and(|e| e.contains("F_SEAL_SHRINK")));
        assert!(error(sealed(), 8193).is_some_and(|e| e.contains("longer")));
        assert!(error(sealed(), 0).is_some() && error(sealed(), u64::MAX).is_some());
        assert_eq!(error(sealed(), 8192), None);
        let file = std::fs::File::open("/proc/self/status").expect("a file");
        assert!(error(file.into(), 1).is_some_and(|e| e.contains("memfd")));
    }
}
