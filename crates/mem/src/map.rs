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

// SAFETY: a mapping is plain memory that is valid from every thread until it is dropped; it hands
// out raw pointers only, what is done with them is the business of the types built on it.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Private zeroed memory, committed on first touch and not counted against overcommit.
    pub fn anonymous(len: usize) -> io::Result<Self> {
        let flags = MapFlags::PRIVATE | MapFlags::FIXED | MapFlags::NORESERVE;
        // SAFETY: the range is ours, as `reserved` says.
        Self::reserved(len, |at| unsafe {
            mm::mmap_anonymous(at, len, ProtFlags::READ | ProtFlags::WRITE, flags)
        })
    }

    /// The first `len` bytes of `fd`, shared with its other mappings.
    pub fn shared(fd: BorrowedFd<'_>, len: usize) -> io::Result<Self> {
        let flags = MapFlags::SHARED | MapFlags::FIXED;
        // SAFETY: the range is ours, as `reserved` says.
        Self::reserved(len, |at| unsafe {
            mm::mmap(at, len, ProtFlags::READ | ProtFlags::WRITE, flags, fd, 0)
        })
    }

    /// The first `len` bytes of `fd`, for reading only: users of the mapping must not write.
    pub fn read_only(fd: BorrowedFd<'_>, len: usize) -> io::Result<Self> {
        let flags = MapFlags::SHARED | MapFlags::FIXED;
        // SAFETY: the range is ours, as `reserved` says.
        Self::reserved(len, |at| unsafe { mm::mmap(at, len, ProtFlags::READ, flags, fd, 0) })
    }

    /// Has `map` put `len` bytes at an address range that was reserved for them.
    fn reserved(
        len: usize,
        map: impl FnOnce(*mut c_void) -> rustix::io::Result<*mut c_void>,
    ) -> io::Result<Self> {
        let at = reserve(len)?;
        // If that fails, the kernel may have taken the reservation away by then (it does for huge
        // pages that it doesn't have) and given its addresses to another thread. So it
        // isn't unmapped: at worst, addresses without memory are lost.
        let base = map(at)?;
        Ok(Self { base: NonNull::new(base.cast()).expect("mmap gave the null page"), len })
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

    /// Asks for transparent huge pages where the system has them on request. Advice only: memory
    /// stays right without them, and kernels built without them refuse the call.
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

    /// Moves `len` bytes at `offset`, both multiples of [`HUGE_PAGE`], to huge pages (Linux 6.1).
    /// The content stays, and threads may use the memory meanwhile.
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
        // SAFETY: the mapping is ours and its users borrow from it. munmap of a valid range can't
        // fail.
        let _ = unsafe { mm::munmap(self.base.as_ptr().cast(), self.len) };
    }
}

/// Reserves `len` bytes of address space that begin at a huge page: the kernel alone may choose any
/// base page, where no huge page fits.
fn reserve(len: usize) -> io::Result<*mut c_void> {
    let total = len.checked_add(HUGE_PAGE).ok_or(io::ErrorKind::OutOfMemory)?;
    let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
    // SAFETY: a new mapping at an address that the kernel chooses.
    let start =
        unsafe { mm::mmap_anonymous(core::ptr::null_mut(), total, ProtFlags::empty(), flags) }?;
    let base = start.map_addr(|addr| align_up(addr, HUGE_PAGE));
    let head = base.addr() - start.addr();
    for (at, len) in [(start, head), (base.wrapping_byte_add(len), total - head - len)] {
        if len > 0 {
            // SAFETY: these parts lie in the new mapping and nobody has been told of them. A
            // failure leaves address space without memory behind, nothing worse.
            let _ = unsafe { mm::munmap(at, len) };
        }
    }
    Ok(base)
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;
    use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
    use std::os::fd::AsFd;
    use std::sync::atomic::{AtomicBool, Ordering};

    #[suite::test]
    fn a_mapping_that_fails_takes_no_memory_of_others() {
        // More huge pages than anybody has.
        let len = 1 << 44;
        let huge =
            memfd_create("huge", MemfdFlags::HUGETLB | MemfdFlags::HUGE_2MB).and_then(|fd| {
                ftruncate(&fd, len as u64)?;
                Ok(fd)
            });
        let Ok(huge) = huge else { return testkit::skip_lacking(testkit::Lack::HugePages) };
        let end = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !end.load(Ordering::Relaxed) {
                    // Of the size that makes the kernel put it where the other one failed.
                    let map = Mapping::anonymous(len >> 1).expect("address space");
                    for at in (0..8).map(|i| i * (map.len() >> 3)) {
                        // SAFETY: inside of the mapping. It faults if somebody else has unmapped
                        // it.
                        unsafe { map.base().add(at).write(1) };
                    }
                }
            });
            for _ in 0..2000 {
                assert!(Mapping::shared(huge.as_fd(), len).is_err());
            }
            end.store(true, Ordering::Relaxed);
        });
    }
}
