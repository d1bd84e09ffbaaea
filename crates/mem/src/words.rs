// SPDX-License-Identifier: Apache-2.0
//! Shared memory as 64-bit words, which one process writes and others read.

use core::fmt;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicU64, Ordering};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, fcntl_get_seals, fstat, ftruncate, memfd_create};

use crate::map::Mapping;
use crate::{PAGE, align_up};

/// Bytes of a word.
const WORD: usize = size_of::<u64>();

/// Zeroed words behind a memfd, mapped read-write here and committed in pages of 4 KiB where they are touched. Whoever is given the
/// descriptor can map it for reading only (Linux 5.1), and can't change its size.
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
    /// Of memfd_create, ftruncate or mmap; [`io::ErrorKind::InvalidInput`] for 0 bytes or an impossible size.
    pub fn new(name: &str, bytes: usize) -> io::Result<Arc<Self>> {
        if bytes == 0 || bytes > isize::MAX as usize - PAGE {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let len = align_up(bytes, PAGE);
        let fd = memfd_create(name, MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
        ftruncate(&fd, len as u64)?;
        let map = Mapping::shared(fd.as_fd(), len)?;
        map.leave_out_of_dumps();
        // Only after the mapping, which may write. Older kernels don't know this seal: readers are then trusted.
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

    /// All words. Reading them all makes the kernel commit every page: walk only what is in use.
    #[inline(always)]
    pub fn as_slice(&self) -> &[AtomicU64] {
        // SAFETY: the mapping has room for these, is aligned, began as zeros, lives as long as `self`, and is only ever used
        // as atomic words, here and by windows.
        unsafe { core::slice::from_raw_parts(self.map.base().cast().as_ptr(), self.map.len() / WORD) }
    }

    /// `len` groups of `N` words each, from word `first` on, which keep the memory alive.
    ///
    /// # Panics
    /// If they don't lie inside.
    pub fn window<const N: usize>(self: &Arc<Self>, first: usize, len: usize) -> Window<N> {
        let words = len.checked_mul(N).and_then(|words| first.checked_add(words));
        assert!(words.is_some_and(|end| end <= self.as_slice().len()), "window outside of the words");
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
        f.debug_struct("Words").field("address", &self.address()).field("len", &self.map.len()).finish()
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
        // SAFETY: `Words::window` checked that they lie inside of the words, which live as long as `self`; an array of
        // atomics has the alignment of one.
        unsafe { core::slice::from_raw_parts(self.first.as_ptr(), self.len) }
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
}

impl WordsView {
    /// Maps the whole file.
    ///
    /// # Errors
    /// Of fstat, fcntl or mmap; [`io::ErrorKind::InvalidData`] for a file that isn't sealed against shrinking, since reading it
    /// could kill this process, or that holds no word.
    pub fn new(fd: impl AsFd) -> io::Result<Self> {
        let fd = fd.as_fd();
        let len = fstat(fd)?.st_size as usize & !(WORD - 1);
        if len == 0 || !fcntl_get_seals(fd)?.contains(SealFlags::SHRINK) {
            return Err(io::ErrorKind::InvalidData.into());
        }
        Ok(Self { map: Mapping::read_only(fd, len)? })
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
        // SAFETY: inside of the mapping, which lives as long as `self`, and aligned. Only loads are made, which read-only memory
        // allows at this size.
        Some(unsafe { &*at }.load(order))
    }
}

impl fmt::Debug for WordsView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WordsView").field("len", &self.map.len()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Ordering::Relaxed;
    use rustix::mm::{MapFlags, ProtFlags, mmap};

    #[test]
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

    #[test]
    fn nobody_else_can_write_or_resize() {
        let words = Words::new("test", PAGE).unwrap();
        assert!(ftruncate(&*words, 0).is_err());
        let flags = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping, which nobody uses.
        let map = unsafe { mmap(core::ptr::null_mut(), PAGE, flags, MapFlags::SHARED, &*words, 0) };
        assert!(map.is_err());
    }

    #[test]
    fn a_file_that_may_shrink_is_refused() {
        let fd = memfd_create("test", MemfdFlags::ALLOW_SEALING).unwrap();
        ftruncate(&fd, 4096).unwrap();
        assert_eq!(WordsView::new(&fd).unwrap_err().kind(), io::ErrorKind::InvalidData);
        assert_eq!(Words::new("test", 0).unwrap_err().kind(), io::ErrorKind::InvalidInput);
    }

    #[test]
    #[should_panic(expected = "outside")]
    fn windows_lie_inside() {
        Words::new("test", PAGE).unwrap().window::<2>(0, 257);
    }
}
