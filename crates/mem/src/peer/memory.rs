// SPDX-License-Identifier: Apache-2.0
//! Access to memory that a peer writes at any time.

use super::{PeerMapping, Wake};
use core::ptr::NonNull;
use core::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};
use rustix::fs::{FileType, fstat};
use std::io;
use std::os::fd::AsFd;

/// Bytes of a file of a peer, mapped.
///
/// No Rust reference into them is ever handed out: bytes are copied to and from private memory, and
/// words are loaded and stored by atomics. Every access is checked against the length. A file that
/// becomes shorter breaks the mapping, which then has zeros ([`PeerMapping`]).
#[derive(Debug)]
pub struct PeerMemory {
    map: PeerMapping,
    /// The first byte. All of them lie in the mapping.
    base: NonNull<u8>,
    len: usize,
}

// SAFETY: as of its mapping; the address is one inside of that.
unsafe impl Send for PeerMemory {}
// SAFETY: as above. Threads that share it access it by atomics and raw copies only.
unsafe impl Sync for PeerMemory {}

impl PeerMemory {
    /// Maps `len` bytes of a file from `offset` on. `wake` is raised when the file has become
    /// shorter. Errors name the memory by `name`.
    ///
    /// # Errors
    /// No bytes; no regular file, or one that is shorter; as [`PeerMapping::new`].
    pub fn open(
        fd: impl AsFd,
        len: u64,
        offset: u64,
        wake: Option<Wake>,
        name: &str,
    ) -> io::Result<Self> {
        let invalid =
            |text: &str| io::Error::new(io::ErrorKind::InvalidData, format!("{name} {text}"));
        if len == 0 {
            return Err(invalid("is empty"));
        }
        let end = offset.checked_add(len).filter(|end| *end < isize::MAX as u64 / 2);
        let end = end.ok_or_else(|| invalid("is too long"))?;
        let stat = fstat(&fd)?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Err(invalid("has a descriptor that is no file"));
        }
        if u64::try_from(stat.st_size).unwrap_or(0) < end {
            return Err(invalid("is longer than its file"));
        }
        let map = PeerMapping::new(&fd, end as usize, wake)?;
        // SAFETY: the offset lies inside of the mapping, which has `end` bytes at least.
        let base = unsafe { map.base().add(offset as usize) };
        Ok(Self { map, base, len: len as usize })
    }

    /// Its length in bytes.
    #[inline(always)]
    #[expect(clippy::len_without_is_empty, reason = "never empty")]
    pub fn len(&self) -> usize {
        self.len
    }

    /// See [`PeerMapping::is_broken`].
    #[inline(always)]
    pub fn is_broken(&self) -> bool {
        self.map.is_broken()
    }

    /// Returns true if `bytes` bytes from `offset` on lie inside.
    #[inline(always)]
    pub fn holds(&self, offset: usize, bytes: usize) -> bool {
        offset <= self.len && bytes <= self.len - offset
    }

    /// Address of the byte at `offset`, to prefetch it.
    #[inline(always)]
    pub fn address(&self, offset: usize) -> Option<*const u8> {
        self.at(offset, 1).map(<*mut u8>::cast_const)
    }

    #[inline(always)]
    fn at(&self, offset: usize, bytes: usize) -> Option<*mut u8> {
        self.holds(offset, bytes).then(|| self.base.as_ptr().wrapping_add(offset))
    }

    /// Address of a value that lies inside and is aligned.
    #[inline(always)]
    fn aligned<T>(&self, offset: usize) -> Option<*mut T> {
        self.at(offset, size_of::<T>()).map(<*mut u8>::cast::<T>).filter(|at| at.is_aligned())
    }

    #[inline(always)]
    fn atomic8(&self, offset: usize) -> Option<&AtomicU8> {
        let at = self.aligned(offset)?;
        // SAFETY: inside of the mapping, which lives as long as `self`, and aligned; this process
        // accesses it by atomics and raw copies only.
        Some(unsafe { AtomicU8::from_ptr(at) })
    }

    #[inline(always)]
    fn atomic16(&self, offset: usize) -> Option<&AtomicU16> {
        let at = self.aligned(offset)?;
        // SAFETY: as of 8 bits.
        Some(unsafe { AtomicU16::from_ptr(at) })
    }

    #[inline(always)]
    fn atomic32(&self, offset: usize) -> Option<&AtomicU32> {
        let at = self.aligned(offset)?;
        // SAFETY: as of 8 bits.
        Some(unsafe { AtomicU32::from_ptr(at) })
    }

    #[inline(always)]
    fn atomic64(&self, offset: usize) -> Option<&AtomicU64> {
        let at = self.aligned(offset)?;
        // SAFETY: as of 8 bits.
        Some(unsafe { AtomicU64::from_ptr(at) })
    }

    /// Sets bits of a byte, in one order with all such changes; nothing happens outside.
    #[inline]
    pub fn set_bits(&self, offset: usize, bits: u8) {
        if let Some(byte) = self.atomic8(offset) {
            byte.fetch_or(bits, Ordering::SeqCst);
        }
    }

    /// Clears the bits of a byte, and returns those that were set; `None` outside.
    #[inline]
    pub fn take_bits(&self, offset: usize) -> Option<u8> {
        Some(self.atomic8(offset)?.swap(0, Ordering::SeqCst))
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

    /// Eight bytes; `None` outside or off the alignment.
    #[inline(always)]
    pub fn load64(&self, offset: usize) -> Option<u64> {
        Some(self.atomic64(offset)?.load(Ordering::Relaxed))
    }

    /// Writes eight bytes, behind everything that was written before; nothing happens outside or
    /// off the alignment.
    #[inline(always)]
    pub fn store64(&self, offset: usize, value: u64) {
        if let Some(atomic) = self.atomic64(offset) {
            atomic.store(value, Ordering::Release);
        }
    }

    /// Copies bytes out. False, without a change, if they don't lie inside.
    #[inline(always)]
    #[must_use]
    pub fn copy_out(&self, offset: usize, to: &mut [u8]) -> bool {
        let Some(from) = self.at(offset, to.len()) else { return false };
        // SAFETY: the source is inside of the mapping, the destination is private memory of this
        // process, so they don't overlap. The peer may write meanwhile: any bytes are valid ones,
        // and they are looked at in the private copy only.
        unsafe { core::ptr::copy_nonoverlapping(from, to.as_mut_ptr(), to.len()) };
        true
    }

    /// Copies bytes in. False, without a change, if they don't fit inside.
    #[inline(always)]
    #[must_use]
    pub fn copy_in(&self, offset: usize, from: &[u8]) -> bool {
        let Some(to) = self.at(offset, from.len()) else { return false };
        // SAFETY: the destination is inside of the mapping, to which no reference exists but to
        // atomics that are used for a moment; the source is private memory.
        unsafe { core::ptr::copy_nonoverlapping(from.as_ptr(), to, from.len()) };
        true
    }
}

#[cfg(feature = "tests")]
mod tests {
    use super::super::tests::file;
    use super::*;
    use Ordering::{Acquire, Release};
    use rustix::fs::ftruncate;

    /// The bytes from the second page on, and all bytes of the same file.
    fn part_and_all() -> (PeerMemory, PeerMemory) {
        let fd = file(12_288);
        let open = |len, offset| PeerMemory::open(&fd, len, offset, None, "part").expect("mapped");
        (open(4096, 4096), open(12_288, 0))
    }

    #[suite::test]
    fn nothing_outside_is_touched() {
        let (part, all) = part_and_all();
        assert!(part.copy_in(4090, &[7; 6]) && !part.copy_in(4091, &[7; 6]));
        assert!(!part.copy_in(usize::MAX, &[1]) && part.copy_in(4096, &[]));
        assert!(!part.copy_in(4097, &[]) && part.address(4096).is_none());
        let mut six = [0; 6];
        assert!(part.copy_out(4090, &mut six) && six == [7; 6]);
        assert!(!part.copy_out(4091, &mut six) && !part.copy_out(usize::MAX - 2, &mut six));
        assert_eq!(
            (part.load16(4094, Acquire), part.load32(4092)),
            (Some(0x0707), Some(0x0707_0707))
        );
        for bad in [4096, 1, usize::MAX - 1] {
            assert_eq!(part.load16(bad, Acquire), None);
        }
        for bad in [4094, 4096, usize::MAX - 3] {
            assert_eq!((part.load32(bad), part.load64(bad)), (None, None));
        }
        assert_eq!((part.load64(4092), part.load64(8)), (None, Some(0)));
        part.store16(4096, 1, Release);
        part.store16(4095, 1, Release);
        part.store32(4094, 1);
        part.store64(4092, 1);
        part.store64(4096, 1);
        part.set_bits(4096, 1);
        assert_eq!(part.take_bits(4096), None);
        // It lies behind the first page of its file.
        assert!(all.copy_out(8186, &mut six) && six == [7; 6]);
        let mut rest = [0; 4096];
        assert!(all.copy_out(8192, &mut rest) && rest == [0; 4096]);
    }

    #[suite::test]
    fn what_is_stored_is_loaded() {
        let (part, all) = part_and_all();
        part.store16(2, 0x0102, Release);
        part.store32(4, 0x0304_0506);
        part.store64(8, 0x0708_090a_0b0c_0d0e);
        assert_eq!((part.load16(2, Acquire), part.load32(4)), (Some(0x0102), Some(0x0304_0506)));
        assert_eq!(all.load64(4096 + 8), Some(0x0708_090a_0b0c_0d0e));
        part.set_bits(0, 0b101);
        part.set_bits(0, 0b11);
        assert_eq!((all.take_bits(4096), part.take_bits(0)), (Some(0b111), Some(0)));
    }

    #[suite::test]
    fn a_file_that_does_not_hold_the_bytes_is_refused() {
        let error = |fd: &dyn AsFd, len, offset| {
            PeerMemory::open(fd.as_fd(), len, offset, None, "it").err().map(|e| e.to_string())
        };
        let fd = file(8192);
        assert_eq!((error(&fd, 4096, 4096), error(&fd, 8192, 0)), (None, None));
        for (len, offset, why) in [
            (0, 0, "it is empty"),
            (4097, 4096, "it is longer than its file"),
            (4096, 8192, "it is longer than its file"),
            (4096, u64::MAX, "it is too long"),
            (u64::MAX, 0, "it is too long"),
        ] {
            assert_eq!(error(&fd, len, offset).as_deref(), Some(why));
        }
        let (pipe, _end) = rustix::pipe::pipe().expect("a pipe");
        assert!(error(&pipe, 4096, 0).is_some_and(|e| e.contains("no file")));
    }

    #[suite::test]
    fn a_file_that_shrinks_has_zeros() {
        let fd = file(8192);
        let memory = PeerMemory::open(&fd, 8192, 0, None, "it").expect("mapped");
        assert!(memory.copy_in(4096, &[7; 4]) && !memory.is_broken());
        ftruncate(&fd, 4096).expect("shrinks");
        assert_eq!((memory.load32(4096), memory.is_broken()), (Some(0), true));
    }
}
