// SPDX-License-Identifier: Apache-2.0
//! Mappings aligned to huge pages: the only place that calls mmap, munmap and madvise.

use core::ffi::c_void;
use core::ptr::NonNull;
use std::io;
use std::os::fd::BorrowedFd;

use rustix::mm::{self, Advice, MapFlags, ProtFlags};

use crate::{HUGE_PAGE, align_up};

/// An owned read-write mapping whose base is aligned to [`HUGE_PAGE`].
pub struct Mapping {
    base: NonNull<u8>,
    len: usize,
}

// SAFETY: a mapping is plain memory that is valid from every thread until it is dropped; it hands out raw
// pointers only, what is done with them is the business of the types built on it.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Private zeroed memory, committed on first touch and not counted against overcommit.
    pub fn anonymous(len: usize) -> io::Result<Self> {
        let span = Span::reserve(len)?;
        // SAFETY: MAP_FIXED over a part of the address range that `span` owns.
        unsafe {
            let flags = MapFlags::PRIVATE | MapFlags::FIXED | MapFlags::NORESERVE;
            mm::mmap_anonymous(span.base, len, ProtFlags::READ | ProtFlags::WRITE, flags)?;
        }
        Ok(span.keep(len))
    }

    /// The first `len` bytes of `fd`, shared with whoever else maps it.
    pub fn shared(fd: BorrowedFd<'_>, len: usize) -> io::Result<Self> {
        let span = Span::reserve(len)?;
        // SAFETY: MAP_FIXED over a part of the address range that `span` owns.
        unsafe {
            let flags = MapFlags::SHARED | MapFlags::FIXED;
            mm::mmap(span.base, len, ProtFlags::READ | ProtFlags::WRITE, flags, fd, 0)?;
        }
        Ok(span.keep(len))
    }

    /// The first `len` bytes of `fd`, for reading only: whoever is handed it must not write.
    pub fn read_only(fd: BorrowedFd<'_>, len: usize) -> io::Result<Self> {
        let span = Span::reserve(len)?;
        // SAFETY: MAP_FIXED over a part of the address range that `span` owns.
        unsafe { mm::mmap(span.base, len, ProtFlags::READ, MapFlags::SHARED | MapFlags::FIXED, fd, 0)? };
        Ok(span.keep(len))
    }

    /// First byte.
    #[inline(always)]
    pub fn base(&self) -> NonNull<u8> {
        self.base
    }

    /// Bytes.
    #[inline(always)]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Asks for transparent huge pages where the system has them on request. Advice only: memory stays right
    /// without them, and kernels built without them refuse the call.
    pub fn advise_huge(&self) {
        // SAFETY: the range is this mapping; the advice changes no content.
        let _ = unsafe { mm::madvise(self.base.as_ptr().cast(), self.len, Advice::LinuxHugepage) };
    }

    /// Keeps it out of core dumps, where the kernel can.
    pub fn leave_out_of_dumps(&self) {
        // SAFETY: the range is this mapping; the advice changes no content.
        let _ = unsafe { mm::madvise(self.base.as_ptr().cast(), self.len, Advice::LinuxDontDump) };
    }

    /// Commits the page at `offset` without changing its content.
    pub fn populate(&self, offset: usize, len: usize) -> io::Result<()> {
        let at = self.at(offset, len);
        // SAFETY: `at` checked the range; populating faults pages in and changes no content.
        Ok(unsafe { mm::madvise(at, len, Advice::LinuxPopulateWrite) }?)
    }

    /// Moves `len` bytes at `offset`, both multiples of [`HUGE_PAGE`], to huge pages (Linux 6.1). The content
    /// stays, and threads may use the memory meanwhile.
    pub fn collapse(&self, offset: usize, len: usize) -> io::Result<()> {
        let at = self.at(offset, len);
        // SAFETY: `at` checked the range; collapsing changes no content.
        match unsafe { libc::madvise(at, len, libc::MADV_COLLAPSE) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    fn at(&self, offset: usize, len: usize) -> *mut c_void {
        assert!(offset <= self.len && len <= self.len - offset, "range outside of the mapping");
        self.base.as_ptr().wrapping_add(offset).cast()
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours and its users borrow from it. munmap of a valid range can't fail.
        let _ = unsafe { mm::munmap(self.base.as_ptr().cast(), self.len) };
    }
}

/// A reserved piece of address space, a huge page longer than needed so that an aligned base lies in it.
/// Without this the kernel may place the mapping at any base page, where no huge page fits.
struct Span {
    start: *mut c_void,
    total: usize,
    base: *mut c_void,
}

impl Span {
    fn reserve(len: usize) -> io::Result<Self> {
        let total = len.checked_add(HUGE_PAGE).ok_or(io::ErrorKind::OutOfMemory)?;
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
        // SAFETY: a new mapping at an address that the kernel chooses.
        let start = unsafe { mm::mmap_anonymous(core::ptr::null_mut(), total, ProtFlags::empty(), flags) }?;
        let base = start.map_addr(|addr| align_up(addr, HUGE_PAGE));
        Ok(Self { start, total, base })
    }

    /// Gives back all but `len` bytes at `base`.
    fn keep(self, len: usize) -> Mapping {
        let Self { start, total, base } = self;
        core::mem::forget(self);
        let head = base.addr() - start.addr();
        for (at, len) in [(start, head), (base.wrapping_byte_add(len), total - head - len)] {
            if len > 0 {
                // SAFETY: these parts of the span were never handed out. A failure leaves address space
                // without memory behind, nothing worse.
                let _ = unsafe { mm::munmap(at, len) };
            }
        }
        Mapping { base: NonNull::new(base.cast()).expect("mmap gave the null page"), len }
    }
}

impl Drop for Span {
    fn drop(&mut self) {
        // SAFETY: reached only when mapping into the span failed, so nobody has a pointer into it.
        let _ = unsafe { mm::munmap(self.start, self.total) };
    }
}
