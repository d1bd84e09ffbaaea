// SPDX-License-Identifier: Apache-2.0
//! A guest's memory, which other processes write at any time.
//!
//! No Rust reference into it is ever made, except for atomics of two, four and eight bytes: bytes
//! are copied to and from private memory. Every access is checked against the length of its region.
//! A region isn't mapped if its file is shorter. A file that becomes shorter later breaks the
//! mapping, which then has zeros (`mem::PeerMapping`).

use std::io;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};

use mem::{PeerMapping, Wake};
use rustix::fs::{FileType, SealFlags, fcntl_get_seals, fstat};

/// A region as the front-end describes it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RegionInfo {
    /// Its address in the guest.
    pub guest: u64,
    /// Bytes.
    pub size: u64,
    /// Its address in the front-end.
    pub user: u64,
    /// Where it begins in its file.
    pub offset: u64,
}

/// A mapped region.
pub struct Region {
    info: RegionInfo,
    map: PeerMapping,
    /// Where the region begins in the mapping.
    skip: usize,
    /// Bytes of the region. The file was at least as long when it was mapped.
    len: usize,
    sealed: bool,
}

fn invalid(text: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, text.into())
}

/// Maps a file up to the end of `size` bytes at `offset`.
fn map(
    fd: impl AsFd,
    size: u64,
    offset: u64,
    wake: Option<Wake>,
    name: &str,
) -> io::Result<PeerMapping> {
    if size == 0 {
        return Err(invalid(format!("{name} is empty")));
    }
    let end = offset.checked_add(size).filter(|end| *end < isize::MAX as u64 / 2);
    let end = end.ok_or_else(|| invalid(format!("{name} is too long")))?;
    let stat = fstat(&fd)?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Err(invalid(format!("the descriptor of {name} is no file")));
    }
    if u64::try_from(stat.st_size).unwrap_or(0) < end {
        return Err(invalid(format!("{name} is longer than its file")));
    }
    PeerMapping::new(&fd, end as usize, wake)
}

/// Bits that both ends set and clear.
pub struct Bits {
    map: PeerMapping,
    /// Where they begin in the mapping.
    skip: usize,
    /// Bytes of them.
    len: usize,
}

impl Bits {
    /// Maps those of a file. `wake` is raised when the file has become shorter.
    ///
    /// # Errors
    /// No bits, or a file that is shorter; what mmap says.
    pub fn open(fd: impl AsFd, size: u64, offset: u64, wake: Option<Wake>) -> io::Result<Self> {
        let map = map(fd, size, offset, wake, "the log of written pages")?;
        Ok(Self { map, skip: offset as usize, len: size as usize })
    }

    /// Bytes of them.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns true if the front-end has made the file shorter, and memory that is gone was
    /// accessed.
    pub fn is_broken(&self) -> bool {
        self.map.is_broken()
    }

    fn byte(&self, index: u64) -> Option<&AtomicU8> {
        let index = usize::try_from(index).ok().filter(|index| *index < self.len)?;
        let at = self.map.base().as_ptr().wrapping_add(self.skip).wrapping_add(index);
        // SAFETY: inside of the mapping, which lives as long as `self`; this process accesses it by
        // atomics only.
        Some(unsafe { AtomicU8::from_ptr(at) })
    }

    /// Sets a bit; nothing happens if there is none of this number.
    pub fn set(&self, number: u64) {
        if let Some(byte) = self.byte(number / 8) {
            byte.fetch_or(1 << (number % 8), Ordering::SeqCst);
        }
    }

    /// Clears all bits, as a front-end does; the numbers of those that were set.
    #[cfg(feature = "tests")]
    pub fn take(&self) -> Vec<u64> {
        let bytes = (0..self.len as u64).filter_map(|n| Some((n, self.byte(n)?)));
        let bytes = bytes.map(|(n, byte)| (n, byte.swap(0, Ordering::SeqCst)));
        bytes
            .flat_map(|(n, byte)| {
                (0..8).filter(move |bit| byte >> bit & 1 != 0).map(move |bit| 8 * n + bit)
            })
            .collect()
    }
}

impl Region {
    /// Maps a region of a file. `wake` is raised when the file has become shorter.
    ///
    /// # Errors
    /// An empty region, one that wraps around, or a file that is shorter; too many regions of all
    /// guests; what mmap says.
    pub fn open(fd: impl AsFd, info: RegionInfo, wake: Option<Wake>) -> io::Result<Self> {
        let RegionInfo { guest, size, user, offset } = info;
        if guest.checked_add(size).is_none() || user.checked_add(size).is_none() {
            return Err(invalid("a memory region wraps around"));
        }
        let region = Self::named(fd, size, offset, wake, "a memory region")?;
        Ok(Self { info, ..region })
    }

    /// As [`Self::open`], of memory that isn't the guest's. Errors have its name.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn named(
        fd: impl AsFd,
        size: u64,
        offset: u64,
        wake: Option<Wake>,
        name: &str,
    ) -> io::Result<Self> {
        // A file that can't shrink has its size for good; of another one it is the size now.
        let sealed = fcntl_get_seals(&fd).is_ok_and(|seals| seals.contains(SealFlags::SHRINK));
        let map = map(fd, size, offset, wake, name)?;
        let info = RegionInfo { guest: 0, size, user: 0, offset };
        Ok(Self { info, map, skip: offset as usize, len: size as usize, sealed })
    }

    /// Returns true if the front-end has made the file shorter, and memory that is gone was
    /// accessed.
    pub fn is_broken(&self) -> bool {
        self.map.is_broken()
    }

    /// The description of the front-end.
    pub fn info(&self) -> RegionInfo {
        self.info
    }

    /// Returns true if the file is sealed against shrinking (F_SEAL_SHRINK).
    pub fn is_sealed(&self) -> bool {
        self.sealed
    }

    /// Returns true if `bytes` bytes from `offset` on lie inside.
    #[inline(always)]
    pub fn holds(&self, offset: usize, bytes: usize) -> bool {
        offset <= self.len && bytes <= self.len - offset
    }

    /// Address of `bytes` bytes at `offset`.
    #[inline(always)]
    fn at(&self, offset: usize, bytes: usize) -> Option<*mut u8> {
        let inside = self.holds(offset, bytes);
        inside.then(|| self.map.base().as_ptr().wrapping_add(self.skip).wrapping_add(offset))
    }

    /// As [`Self::at`], if the address is a multiple of `bytes`.
    #[inline(always)]
    fn aligned(&self, offset: usize, bytes: usize) -> Option<*mut u8> {
        self.at(offset, bytes).filter(|at| at.addr().is_multiple_of(bytes))
    }

    #[inline(always)]
    fn atomic16(&self, offset: usize) -> Option<&AtomicU16> {
        let at = self.aligned(offset, 2)?.cast::<u16>();
        // SAFETY: inside of the mapping, which lives as long as `self`, and aligned; this process
        // accesses it by atomics and raw copies only.
        Some(unsafe { AtomicU16::from_ptr(at) })
    }

    #[inline(always)]
    fn atomic32(&self, offset: usize) -> Option<&AtomicU32> {
        let at = self.aligned(offset, 4)?.cast::<u32>();
        // SAFETY: as of 16 bits.
        Some(unsafe { AtomicU32::from_ptr(at) })
    }

    #[inline(always)]
    fn atomic64(&self, offset: usize) -> Option<&AtomicU64> {
        let at = self.aligned(offset, 8)?.cast::<u64>();
        // SAFETY: as of 16 bits.
        Some(unsafe { AtomicU64::from_ptr(at) })
    }

    /// Two bytes; `None` outside or off the alignment.
    #[inline(always)]
    pub fn load16(&self, offset: usize, order: Ordering) -> Option<u16> {
        Some(self.atomic16(offset)?.load(order))
    }

    /// Writes two bytes; nothing happens outside or off the alignment.
    #[inline(always)]
    pub fn store16(&self, offset: usize, value: u16, order: Ordering) {
        #[cfg(feature = "tests")]
        if !killed::is_alive() {
            return;
        }
        if let Some(atomic) = self.atomic16(offset) {
            atomic.store(value, order);
        }
    }

    /// Writes four bytes; nothing happens outside or off the alignment.
    #[inline(always)]
    pub fn store32(&self, offset: usize, value: u32) {
        #[cfg(feature = "tests")]
        if !killed::is_alive() {
            return;
        }
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
        #[cfg(feature = "tests")]
        if !killed::is_alive() {
            return;
        }
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
        // process, so they don't overlap. The guest may write meanwhile: any bytes are valid
        // ones, and they are looked at in the private copy only.
        unsafe { std::ptr::copy_nonoverlapping(from, to.as_mut_ptr(), to.len()) };
        true
    }

    /// Copies bytes in. False, without a change, if they don't fit inside.
    #[inline(always)]
    #[must_use]
    pub fn copy_in(&self, offset: usize, from: &[u8]) -> bool {
        let Some(to) = self.at(offset, from.len()) else { return false };
        #[cfg(feature = "tests")]
        if !killed::is_alive() {
            return true;
        }
        // SAFETY: the destination is inside of the mapping, to which no reference exists but to
        // atomics that are used for a moment; the source is private memory.
        unsafe { std::ptr::copy_nonoverlapping(from.as_ptr(), to, from.len()) };
        true
    }
}

/// Kills a thread, as far as shared memory knows: what it writes from some store on isn't there.
#[cfg(feature = "tests")]
pub mod killed {
    use std::cell::Cell;

    thread_local! {
        static LEFT: Cell<Option<u32>> = const { Cell::new(None) };
    }

    /// After so many stores, or never. Returns how many were left.
    pub fn after(stores: Option<u32>) -> Option<u32> {
        LEFT.replace(stores)
    }

    pub fn is_alive() -> bool {
        match LEFT.get() {
            Some(0) => false,
            left => {
                LEFT.set(left.map(|left| left - 1));
                true
            }
        }
    }
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;
    use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
    use std::os::fd::OwnedFd;

    fn memfd(len: u64) -> OwnedFd {
        let fd = memfd_create("test", MemfdFlags::CLOEXEC).expect("a memfd");
        ftruncate(&fd, len).expect("grows");
        fd
    }

    const INFO: RegionInfo = RegionInfo { guest: 0, size: 4096, user: 0x1000, offset: 4096 };

    #[suite::test]
    fn nothing_outside_is_touched() {
        let fd = memfd(12_288);
        let region = Region::open(&fd, INFO, None).expect("memory");
        let file =
            Region::open(&fd, RegionInfo { size: 12_288, offset: 0, ..INFO }, None).expect("all");
        assert!(region.copy_in(4090, &[7; 6]) && !region.copy_in(4091, &[7; 6]));
        assert!(!region.copy_in(usize::MAX, &[1]) && !region.copy_in(4097, &[]));
        let mut six = [0; 6];
        assert!(region.copy_out(4090, &mut six) && six == [7; 6]);
        assert!(!region.copy_out(4091, &mut six) && !region.copy_out(usize::MAX - 2, &mut six));
        assert_eq!(region.load16(4094, Ordering::Acquire), Some(0x0707));
        for bad in [4096, 1, usize::MAX - 1] {
            assert_eq!(region.load16(bad, Ordering::Acquire), None);
        }
        assert_eq!(
            (region.load64(4092), region.load64(4096), region.load64(8)),
            (None, None, Some(0))
        );
        region.store16(4096, 1, Ordering::Release);
        region.store32(4094, 1);
        region.store64(4092, 1);
        region.store64(4096, 1);
        // It lies behind the first page of its file.
        assert!(file.copy_out(8186, &mut six) && six == [7; 6]);
        let mut rest = [0; 4096];
        assert!(file.copy_out(8192, &mut rest) && rest == [0; 4096]);
    }

    #[suite::test]
    fn what_a_file_does_not_hold_is_refused() {
        let error = |fd: &OwnedFd, info| Region::open(fd, info, None).err().map(|e| e.to_string());
        let fd = memfd(8192);
        assert_eq!(error(&fd, INFO), None);
        for (info, why) in [
            (RegionInfo { size: 0, ..INFO }, "empty"),
            (RegionInfo { size: 4097, ..INFO }, "longer than its file"),
            (RegionInfo { offset: 8192, ..INFO }, "longer than its file"),
            (RegionInfo { offset: u64::MAX, ..INFO }, "too long"),
            (RegionInfo { guest: u64::MAX - 10, ..INFO }, "wraps"),
            (RegionInfo { user: u64::MAX - 10, ..INFO }, "wraps"),
        ] {
            assert!(error(&fd, info).is_some_and(|e| e.contains(why)), "{info:?}");
        }
        let (pipe, _end) = rustix::pipe::pipe().expect("a pipe");
        assert!(error(&pipe, INFO).is_some_and(|e| e.contains("no file")));
        assert!(!Region::open(&fd, INFO, None).expect("memory").is_sealed());
    }
}
