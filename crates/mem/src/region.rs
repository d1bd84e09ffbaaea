// SPDX-License-Identifier: Apache-2.0
//! Shared memory regions on the largest pages there are.

use core::fmt;
use core::ops::Range;
use core::ptr::NonNull;
use std::fs;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::OnceLock;

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, ftruncate, memfd_create};

use crate::map::Mapping;
use crate::{HUGE_PAGE, PAGE, align_down, align_up};

/// The kind of pages that back a [`Region`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageKind {
    /// 2 MiB pages from the hugetlb pool, all reserved when the region was made.
    Huge,
    /// 2 MiB pages that the kernel makes on first touch.
    Transparent,
    /// 2 MiB pages where [`Region::collapse`] was called, 4 KiB pages elsewhere.
    Collapsible,
    /// 4 KiB pages.
    Small,
}

impl fmt::Display for PageKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Huge => "2M hugetlb pages",
            Self::Transparent => "transparent 2M pages",
            Self::Collapsible => "transparent 2M pages made on request",
            Self::Small => "4k pages",
        })
    }
}

/// A shared memory region behind a file descriptor (memfd), mapped read-write, zeroed, and
/// committed only where it is touched.
///
/// The base is aligned to 2 MiB. The size is sealed: a peer that was given the descriptor can
/// neither shrink the file, which would kill this process on its next access, nor grow it. Dropping
/// the region unmaps it; pointers into it must be gone by then.
pub struct Region {
    map: Mapping,
    fd: OwnedFd,
    kind: PageKind,
}

impl Region {
    /// Makes a region of at least `bytes` bytes, rounded up to whole huge pages. `name` is what
    /// `/proc/PID/maps` shows.
    ///
    /// Takes pages from the hugetlb pool if it has enough free ones for the whole region, else
    /// transparent huge pages, else 4 KiB pages; see [`Region::page_kind`].
    ///
    /// # Errors
    /// Of memfd_create, ftruncate or mmap; [`io::ErrorKind::InvalidInput`] for 0 bytes or an
    /// impossible size.
    pub fn new(name: &str, bytes: usize) -> io::Result<Self> {
        let len = align_up(bytes, HUGE_PAGE);
        if len == 0 || len > isize::MAX as usize {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        Self::hugetlb(name, len).or_else(|_| Self::shmem(name, len))
    }

    fn hugetlb(name: &str, len: usize) -> io::Result<Self> {
        let fd = memfd(name, len, MemfdFlags::HUGETLB | MemfdFlags::HUGE_2MB)?;
        // Without MAP_NORESERVE the pool sets the pages aside now or refuses, so that no touch ever
        // meets an empty pool, which would be a SIGBUS.
        let map = Mapping::shared(fd.as_fd(), len)?;
        Ok(Self { map, fd, kind: PageKind::Huge })
    }

    fn shmem(name: &str, len: usize) -> io::Result<Self> {
        let fd = memfd(name, len, MemfdFlags::empty())?;
        let map = Mapping::shared(fd.as_fd(), len)?;
        map.advise_huge();
        Ok(Self { map, fd, kind: shmem_kind() })
    }

    /// First byte of the region, aligned to 2 MiB.
    #[inline(always)]
    pub fn base(&self) -> NonNull<u8> {
        self.map.base()
    }

    /// Bytes of the region, a multiple of 2 MiB; never 0.
    #[inline(always)]
    #[expect(clippy::len_without_is_empty, reason = "a region is never empty")]
    pub fn len(&self) -> usize {
        self.map.len()
    }

    /// The file behind the region; offset 0 is [`Region::base`].
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// The kind of pages that back the region, for one line in the log.
    pub fn page_kind(&self) -> PageKind {
        self.kind
    }

    /// Commits `range` (byte offsets, widened to whole pages) and puts it on the largest pages that
    /// this region can have. Content stays; other threads may use the memory meanwhile. Call it
    /// when a piece was carved, before packets touch it: it takes milliseconds per MiB, and
    /// later touches don't fault.
    ///
    /// Returns the kind of page the range now has: [`PageKind::Small`] where huge pages were not to
    /// be had (fragmented memory), which is slower and otherwise no fault.
    ///
    /// # Errors
    /// When memory runs out.
    ///
    /// # Panics
    /// If the range lies outside of the region.
    pub fn collapse(&self, range: Range<usize>) -> io::Result<PageKind> {
        assert!(range.start <= range.end && range.end <= self.len(), "range outside of the region");
        if range.is_empty() {
            return Ok(self.kind);
        }
        if self.kind == PageKind::Collapsible {
            let (start, end) = (align_down(range.start, HUGE_PAGE), align_up(range.end, HUGE_PAGE));
            // The kernel leaves holes alone, so each huge page needs one base page in it first.
            for page in (start..end).step_by(HUGE_PAGE) {
                self.map.populate(page, PAGE)?;
            }
            if self.map.collapse(start, end - start).is_ok() {
                return Ok(PageKind::Collapsible);
            }
        }
        let page = if self.kind == PageKind::Huge { HUGE_PAGE } else { PAGE };
        let (start, end) = (align_down(range.start, page), align_up(range.end, page));
        self.map.populate(start, end - start)?;
        Ok(if self.kind == PageKind::Collapsible { PageKind::Small } else { self.kind })
    }
}

impl AsFd for Region {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd()
    }
}

impl fmt::Debug for Region {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut s = f.debug_struct("Region");
        s.field("base", &self.base()).field("len", &self.len()).field("kind", &self.kind).finish()
    }
}

fn memfd(name: &str, len: usize, flags: MemfdFlags) -> io::Result<OwnedFd> {
    let fd = memfd_create(name, flags | MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
    ftruncate(&fd, len as u64)?;
    fcntl_add_seals(&fd, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
    Ok(fd)
}

/// The pages a plain memfd gets on this machine; found out once, by trial.
fn shmem_kind() -> PageKind {
    static KIND: OnceLock<PageKind> = OnceLock::new();
    *KIND.get_or_init(|| match huge_on_touch() {
        true => PageKind::Transparent,
        false if can_collapse().is_ok() => PageKind::Collapsible,
        false => PageKind::Small,
    })
}

/// Returns true if the administrator lets shared memory have huge pages on first touch (the region
/// asks with MADV_HUGEPAGE). Since Linux 6.10 each size has its own setting and may inherit the
/// common one.
fn huge_on_touch() -> bool {
    let chosen = |path: &str| {
        let text = fs::read_to_string(path).unwrap_or_default();
        text.split('[').nth(1).and_then(|rest| rest.split(']').next()).map(str::to_owned)
    };
    const DIR: &str = "/sys/kernel/mm/transparent_hugepage";
    let common = chosen(&format!("{DIR}/shmem_enabled"));
    let sized = chosen(&format!("{DIR}/hugepages-2048kB/shmem_enabled"));
    let word = if sized.as_deref().is_none_or(|word| word == "inherit") { common } else { sized };
    matches!(word.as_deref(), Some("always" | "within_size" | "advise" | "force"))
}

/// Collapses one huge page, to see whether the kernel does it: MADV_COLLAPSE heeds neither the
/// setting above nor the absence of advice, but old kernels and containers lack it.
fn can_collapse() -> io::Result<()> {
    let fd = memfd("probe", HUGE_PAGE, MemfdFlags::empty())?;
    let map = Mapping::shared(fd.as_fd(), HUGE_PAGE)?;
    map.populate(0, PAGE)?;
    map.collapse(0, HUGE_PAGE)
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;

    fn rss_kb(region: &Region, field: &str) -> usize {
        let smaps = fs::read_to_string("/proc/self/smaps").unwrap();
        let head = format!("{:x}-", region.base().addr());
        let lines = smaps.lines().skip_while(|line| !line.starts_with(&head));
        let line = lines.skip(1).find(|line| line.starts_with(field)).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    }

    #[suite::test]
    fn region_is_aligned_zeroed_and_shared() {
        let region = Region::new("test", 5_000_000).unwrap();
        assert_eq!(region.len(), 3 * HUGE_PAGE);
        assert_eq!(region.base().addr().get() % HUGE_PAGE, 0);
        let peer = Mapping::shared(region.fd(), region.len()).unwrap();
        // SAFETY: both mappings are `len` bytes long and used by this thread only.
        unsafe {
            let last = region.len() - 1;
            assert_eq!(region.base().add(last).read(), 0);
            region.base().add(last).write(7);
            assert_eq!(peer.base().add(last).read_volatile(), 7);
        }
    }

    #[suite::test]
    fn memory_is_committed_on_touch() {
        // More than the machine has, so it can be there only if it is sparse.
        let region = Region::new("sparse", 1 << 40).unwrap();
        // SAFETY: inside of the region, used by this thread only.
        unsafe { region.base().add(1 << 39).write(1) };
        assert!((4..=2048).contains(&rss_kb(&region, "Rss:")));
    }

    #[suite::test]
    fn collapse_commits_and_keeps_content() {
        let region = Region::new("collapse", 8 << 20).unwrap();
        // SAFETY: inside of the region, used by this thread only.
        unsafe { region.base().add(3 << 20).write(9) };
        let kind = region.collapse((2 << 20) + 5..(4 << 20) + 1).unwrap();
        // SAFETY: as above.
        assert_eq!(unsafe { region.base().add(3 << 20).read() }, 9);
        if kind == PageKind::Collapsible {
            assert_eq!(rss_kb(&region, "ShmemPmdMapped:"), 4096);
        }
        if kind != PageKind::Huge {
            assert!(rss_kb(&region, "Rss:") >= 2048);
        }
        assert_eq!(region.collapse(7..7).unwrap(), region.page_kind());
    }

    #[suite::test]
    #[should_panic(expected = "outside of the region")]
    fn collapse_outside_is_refused() {
        let region = Region::new("bounds", 1).unwrap();
        let _ = region.collapse(0..HUGE_PAGE + 1);
    }

    #[suite::test]
    fn a_peer_cannot_resize_the_file() {
        let region = Region::new("sealed", HUGE_PAGE).unwrap();
        assert!(ftruncate(region.fd(), 0).is_err());
        assert!(ftruncate(region.fd(), 2 * HUGE_PAGE as u64).is_err());
    }

    #[suite::test]
    fn impossible_sizes_are_refused() {
        for bytes in [0, usize::MAX, usize::MAX / 2] {
            assert_eq!(Region::new("none", bytes).unwrap_err().kind(), io::ErrorKind::InvalidInput);
        }
    }

    #[suite::test]
    fn kinds_read_well_in_a_log() {
        assert_eq!(format!("{}", PageKind::Small), "4k pages");
        assert_eq!(format!("{:>18}", PageKind::Huge), "  2M hugetlb pages");
    }
}
