// SPDX-License-Identifier: Apache-2.0
//! Shared memory as 64-bit words, which one process writes and others read.

use core::fmt;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicU64, Ordering};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use rustix::fs::{
    MemfdFlags, SealFlags, SeekFrom, fcntl_add_seals, fcntl_get_seals, fstat, ftruncate,
    memfd_create, seek,
};

use crate::map::Mapping;
use crate::{PAGE, align_up};

/// Bytes of a word.
const WORD: usize = size_of::<u64>();

/// Zeroed words behind a memfd, mapped read-write here and committed in pages of 4 KiB where they
/// are touched. A process that is given the descriptor can map it for reading only (Linux 5.1), and
/// can't change its size.
///
/// It isn't part of core dumps: it is large and sparse, and a dump would fill the holes.
pub struct Words {
    map: Mapping,
    fd: OwnedFd,
}

impl Words {
    /// Makes at least `bytes` bytes of them. `name` is what `/proc/PID/maps` shows.
    ///
    /// # Errors
    /// Of memfd_create, ftruncate or mmap; [`io::ErrorKind::InvalidInput`] for 0 bytes or an
    /// impossible size.
    pub fn new(name: &str, bytes: usize) -> io::Result<Arc<Self>> {
        if bytes == 0 || bytes > isize::MAX as usize - PAGE {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let len = align_up(bytes, PAGE);
        let fd = memfd_create(name, MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
        ftruncate(&fd, len as u64)?;
        let map = Mapping::shared(fd.as_fd(), len)?;
        map.leave_out_of_dumps();
        // Only after the mapping, which may write. Older kernels don't know this seal: readers are
        // then trusted.
        let _ = fcntl_add_seals(&fd, SealFlags::FUTURE_WRITE);
        fcntl_add_seals(&fd, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
        Ok(Arc::new(Self { map, fd }))
    }

    /// The address of the first word in this process.
    pub fn address(&self) -> u64 {
        self.map.base().addr().get() as u64
    }

    /// Bytes of them all, and of the pages that were committed.
    pub fn memory(&self) -> (u64, u64) {
        let committed = fstat(&self.fd).map_or(0, |stat| stat.st_blocks as u64 * 512);
        (self.map.len() as u64, committed)
    }

    /// Returns true if the page with this byte was ever written, or if that can't be determined.
    fn is_written(&self, offset: usize) -> bool {
        let page = (offset / PAGE * PAGE) as u64;
        match seek(&self.fd, SeekFrom::Data(page)) {
            Ok(data) => data < page + PAGE as u64,
            Err(error) => error != rustix::io::Errno::NXIO,
        }
    }

    /// All words. Reading them all makes the kernel commit every page: walk only what is in use.
    #[inline(always)]
    pub fn as_slice(&self) -> &[AtomicU64] {
        // SAFETY: the mapping has room for these, is aligned, began as zeros, lives as long as
        // `self`, and is only ever used as atomic words, here and by windows.
        unsafe {
            core::slice::from_raw_parts(self.map.base().cast().as_ptr(), self.map.len() / WORD)
        }
    }

    /// `len` groups of `N` words each, from word `first` on, which keep the memory alive.
    ///
    /// # Panics
    /// If they don't lie inside.
    pub fn window<const N: usize>(self: &Arc<Self>, first: usize, len: usize) -> Window<N> {
        let words = len.checked_mul(N).and_then(|words| first.checked_add(words));
        assert!(
            words.is_some_and(|end| end <= self.as_slice().len()),
            "window outside of the words"
        );
        let start = NonNull::from(&self.as_slice()[first..]).cast();
        Window { first: start, len, words: self.clone() }
    }
}

impl AsFd for Words {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl fmt::Debug for Words {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Words")
            .field("address", &self.address())
            .field("len", &self.map.len())
            .finish()
    }
}

/// A part of [`Words`], as groups of `N`: reaching one takes no step over the owner.
pub struct Window<const N: usize> {
    first: NonNull<[AtomicU64; N]>,
    len: usize,
    words: Arc<Words>,
}

// SAFETY: shared access to atomics in memory that it keeps alive.
unsafe impl<const N: usize> Send for Window<N> {}
// SAFETY: as above.
unsafe impl<const N: usize> Sync for Window<N> {}

impl<const N: usize> Window<N> {
    /// The groups.
    #[inline(always)]
    pub fn as_slice(&self) -> &[[AtomicU64; N]] {
        // SAFETY: `Words::window` checked that they lie inside of the words, which live as long as
        // `self`; an array of atomics has the alignment of one.
        unsafe { core::slice::from_raw_parts(self.first.as_ptr(), self.len) }
    }

    /// Sets groups to zero that no other thread uses meanwhile; fastest in order. A page that was
    /// never written is left alone: it would take memory. Numbers that are too large don't
    /// count.
    pub fn zero(&self, groups: impl IntoIterator<Item = usize>) {
        const { assert!(N.is_power_of_two() && N * WORD <= PAGE) };
        let start = self.first.addr().get() - self.words.map.base().addr().get();
        let mut last = (usize::MAX, false);
        for (i, group) in groups.into_iter().filter_map(|i| Some((i, self.as_slice().get(i)?))) {
            let (first, end) = (start + i * N * WORD, start + (i + 1) * N * WORD - 1);
            let page = first / PAGE;
            if page != last.0 {
                last = (page, self.words.is_written(first));
            }
            // A window may begin anywhere, and a group reach into the next page.
            if last.1 || end / PAGE != page {
                group.iter().for_each(|word| word.store(0, Ordering::Relaxed));
            }
        }
    }
}

impl<const N: usize> Clone for Window<N> {
    fn clone(&self) -> Self {
        Self { first: self.first, len: self.len, words: self.words.clone() }
    }
}

impl<const N: usize> fmt::Debug for Window<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Window").field("first", &self.first).field("len", &self.len).finish()
    }
}

/// Words that another process writes, mapped for reading.
pub struct WordsView {
    map: Mapping,
    fd: OwnedFd,
}

/// Below so many bytes it isn't worth asking which of them were ever written.
const FEW: u64 = 16 * PAGE as u64;

impl WordsView {
    /// Maps the whole file.
    ///
    /// # Errors
    /// Of fstat, fcntl or mmap; [`io::ErrorKind::InvalidData`] for a file that isn't sealed against
    /// shrinking, since reading it could kill this process, or that holds no word.
    pub fn new(fd: impl AsFd) -> io::Result<Self> {
        let fd = fd.as_fd();
        let len = fstat(fd)?.st_size as usize & !(WORD - 1);
        if len == 0 || !fcntl_get_seals(fd)?.contains(SealFlags::SHRINK) {
            return Err(io::ErrorKind::InvalidData.into());
        }
        Ok(Self { map: Mapping::read_only(fd, len)?, fd: fd.try_clone_to_owned()? })
    }

    /// Bytes.
    #[expect(clippy::len_without_is_empty, reason = "never empty")]
    pub fn len(&self) -> usize {
        self.map.len()
    }

    /// The word at this byte offset; `None` outside, or off the alignment.
    #[inline]
    pub fn load(&self, offset: u64, order: Ordering) -> Option<u64> {
        let offset = usize::try_from(offset).ok().filter(|o| o % WORD == 0)?;
        if offset.checked_add(WORD)? > self.map.len() {
            return None;
        }
        let at = self.map.base().as_ptr().wrapping_add(offset).cast::<AtomicU64>();
        // SAFETY: inside of the mapping, which lives as long as `self`, and aligned. Only loads are
        // made, which read-only memory allows at this size.
        Some(unsafe { &*at }.load(order))
    }

    /// Calls `f` on the parts of a range that may hold anything but zeros, in order: how many bytes
    /// behind its start, and the words. Parts are whole groups of `group` bytes, counted from
    /// the start. Pages that were never written aren't touched, unless groups lie across the
    /// ends of pages: reading them would make the kernel commit memory for them. `None` if the
    /// range doesn't lie inside, or is off the alignment.
    pub fn written(
        &self,
        offset: u64,
        bytes: u64,
        group: u64,
        mut f: impl FnMut(u64, Loads<'_>),
    ) -> Option<()> {
        let end = offset.checked_add(bytes).filter(|end| *end <= self.map.len() as u64)?;
        let word = WORD as u64;
        if group == 0 || ![offset, bytes, group].iter().all(|n| n.is_multiple_of(word)) {
            return None;
        }
        let across = !offset.is_multiple_of(group) || !(PAGE as u64).is_multiple_of(group);
        let whole = bytes < FEW || across;
        let mut at = offset;
        while at < end {
            let extent = if whole { None } else { self.extent(at) };
            let (from, to) = extent.map_or((at, end), |(from, to)| (from.max(at), to.min(end)));
            if from >= end {
                break;
            }
            f(from - offset, self.loads(from, to));
            at = to;
        }
        Some(())
    }

    /// Start and end of the next bytes that were written; `None` if they can't be determined.
    fn extent(&self, at: u64) -> Option<(u64, u64)> {
        // Nothing else uses the offset of the open file: all accesses use the mapping.
        match seek(&self.fd, SeekFrom::Data(at)) {
            Ok(from) => Some((from, seek(&self.fd, SeekFrom::Hole(from)).ok()?)),
            Err(rustix::io::Errno::NXIO) => Some((u64::MAX, u64::MAX)),
            Err(_) => None,
        }
    }

    /// Words that lie inside, on the alignment.
    fn loads(&self, from: u64, to: u64) -> Loads<'_> {
        let at = self.map.base().as_ptr().wrapping_add(from as usize).cast::<AtomicU64>();
        // SAFETY: the caller has checked that they lie inside of the mapping, which lives as long
        // as `self`. `Loads` only loads, which read-only memory allows at this size.
        Loads(unsafe { core::slice::from_raw_parts(at, ((to - from) / WORD as u64) as usize) })
    }
}

/// Words that can be loaded, and nothing else.
#[derive(Clone, Copy)]
pub struct Loads<'a>(&'a [AtomicU64]);

impl Loads<'_> {
    /// The words, in groups of `N`; what is left over at the end isn't among them.
    pub fn groups<const N: usize>(&self) -> impl Iterator<Item = [u64; N]> {
        self.0
            .as_chunks::<N>()
            .0
            .iter()
            .map(|group| group.each_ref().map(|word| word.load(Ordering::Relaxed)))
    }
}

impl fmt::Debug for Loads<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Loads").field("len", &self.0.len()).finish()
    }
}

impl fmt::Debug for WordsView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WordsView").field("len", &self.map.len()).finish()
    }
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;
    use Ordering::Relaxed;
    use rustix::mm::{MapFlags, ProtFlags, mmap};

    #[suite::test]
    fn a_reader_sees_what_is_written() {
        let words = Words::new("test", 1 << 40).unwrap();
        let view = WordsView::new(&*words).unwrap();
        let pairs = words.window::<2>(8, 100);
        assert_eq!(words.memory(), (1 << 40, 0));
        pairs.as_slice()[99][1].store(7, Relaxed);
        assert!(words.memory().1 >= PAGE as u64);
        drop(words);
        assert_eq!(view.load((8 + 199) * 8, Relaxed), Some(7));
        assert_eq!(pairs.clone().as_slice()[99][1].load(Relaxed), 7);
        for outside in [1, 4, 1 << 40, (1 << 40) - 7, u64::MAX, u64::MAX - 7] {
            assert_eq!(view.load(outside, Relaxed), None);
        }
        assert_eq!(view.load((1 << 40) - 8, Relaxed), Some(0));
    }

    #[suite::test]
    fn what_was_never_written_is_not_read() {
        let words = Words::new("test", 1 << 30).unwrap();
        let view = WordsView::new(&*words).unwrap();
        let parts = |offset, bytes, group| {
            let mut parts = Vec::new();
            view.written(offset, bytes, group, |at, loads| {
                parts
                    .extend(loads.groups::<1>().enumerate().map(|(i, [n])| (at + i as u64 * 8, n)));
            })?;
            Some(parts)
        };
        let set = |offset: usize, n| words.as_slice()[offset / 8].store(n, Relaxed);
        let held = |parts: Option<Vec<(u64, u64)>>| {
            let mut parts = parts.expect("inside");
            parts.retain(|(_, n)| *n != 0);
            parts
        };
        assert_eq!(parts(0, 1 << 30, 8), Some(Vec::new()));
        set(1 << 20, 5);
        set((1 << 29) + 16, 6);
        let committed = words.memory().1;
        let all = parts(16, (1 << 30) - 16, 16).expect("inside");
        // The kernel may commit more than a page at once.
        assert!(all.len() < (1 << 30) / 8 / 100, "{} words", all.len());
        assert_eq!(held(Some(all)), [((1 << 20) - 16, 5), (1 << 29, 6)]);
        assert_eq!(held(parts(1 << 20, 64, 16)), [(0, 5)]);
        assert_eq!(held(parts((1 << 20) + 16, 1 << 18, 16)), []);
        assert_eq!(words.memory().1, committed, "reading commits nothing");
        assert_eq!(held(parts((1 << 20) - 8, 1 << 18, 16)), [(8, 5)], "across pages");
        assert_eq!(parts(1 << 30, 0, 8), Some(Vec::new()));
        for (offset, bytes, group) in [
            (0, (1 << 30) + 8, 8),
            (u64::MAX - 7, 8, 8),
            (4, 8, 8),
            (0, 8, 0),
            (0, 9, 8),
            (0, 8, 4),
        ] {
            assert_eq!(parts(offset, bytes, group), None, "{offset} {bytes} {group}");
        }
    }

    #[suite::test]
    fn zeroing_takes_no_memory() {
        let words = Words::new("test", 1 << 30).unwrap();
        let pairs = words.window::<2>(8, 1 << 20);
        pairs.zero(0..1 << 20);
        assert_eq!(words.memory().1, 0);
        for i in [0, 255, 256, 100_000] {
            pairs.as_slice()[i].iter().for_each(|word| word.store(7, Relaxed));
        }
        let before = words.memory().1;
        pairs.zero((1..1 << 21).rev());
        let value = |i: usize| pairs.as_slice()[i].each_ref().map(|word| word.load(Relaxed));
        assert_eq!([0, 255, 256, 100_000].map(value), [[7, 7], [0, 0], [0, 0], [0, 0]]);
        assert!(words.memory().1 <= before + PAGE as u64, "{before} {:?}", words.memory());
    }

    #[suite::test]
    fn nobody_else_can_write_or_resize() {
        let words = Words::new("test", PAGE).unwrap();
        assert!(ftruncate(&*words, 0).is_err());
        let flags = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping, which nobody uses.
        let map = unsafe { mmap(core::ptr::null_mut(), PAGE, flags, MapFlags::SHARED, &*words, 0) };
        assert!(map.is_err());
    }

    #[suite::test]
    fn a_file_that_may_shrink_is_refused() {
        let fd = memfd_create("test", MemfdFlags::ALLOW_SEALING).unwrap();
        ftruncate(&fd, 4096).unwrap();
        assert_eq!(WordsView::new(&fd).unwrap_err().kind(), io::ErrorKind::InvalidData);
        assert_eq!(Words::new("test", 0).unwrap_err().kind(), io::ErrorKind::InvalidInput);
    }

    #[suite::test]
    #[should_panic(expected = "outside")]
    fn windows_lie_inside() {
        Words::new("test", PAGE).unwrap().window::<2>(0, 257);
    }
}
