// SPDX-License-Identifier: Apache-2.0
//! Arrays that grow without moving.

use core::fmt;
use core::marker::PhantomData;
use core::ops::Index;
use core::sync::atomic::*;
use std::io;

use crate::map::Mapping;
use crate::{CacheLine, HUGE_PAGE, PAGE, align_up};

/// Types for which memory of all zero bytes is a valid value, and which may be forgotten without
/// `Drop`.
///
/// # Safety
/// All zero bytes must be a valid value of the type, its alignment at most 4096, and it must need
/// no drop.
pub unsafe trait Zeroable {}

macro_rules! zeroable {
    ($($t:ty),*) => { $(
        // SAFETY: an integer, or an atomic one with the same representation: zero is a value of it.
        unsafe impl Zeroable for $t {}
    )* };
}
zeroable!(u8, u16, u32, u64, u128, usize, i8, i16, i32, i64, i128, isize);
zeroable!(AtomicU8, AtomicU16, AtomicU32, AtomicU64, AtomicUsize);
zeroable!(AtomicI8, AtomicI16, AtomicI32, AtomicI64, AtomicIsize);
// Zero is false.
zeroable!(AtomicBool);
// SAFETY: zero is the null pointer.
unsafe impl<T> Zeroable for AtomicPtr<T> {}
// SAFETY: element by element.
unsafe impl<T: Zeroable, const N: usize> Zeroable for [T; N] {}
// SAFETY: the one field is; padding may be anything.
unsafe impl<T: Zeroable> Zeroable for CacheLine<T> {}

/// An array of `max_len` zeroed elements at one address for good, which takes memory only where it
/// is touched. For counters and pointer arrays that grow while workers read them: nothing is moved,
/// copied or published again.
///
/// Every element exists from the start; how many of them mean something is the owner's business.
/// Elements are changed through their own interior mutability (atomics), or with exclusive access.
pub struct Reserve<T> {
    map: Mapping,
    len: usize,
    elements: PhantomData<T>,
}

// SAFETY: owns its elements as a boxed slice does.
unsafe impl<T: Send> Send for Reserve<T> {}
// SAFETY: hands out shared references to its elements as a boxed slice does.
unsafe impl<T: Sync> Sync for Reserve<T> {}

impl<T: Zeroable> Reserve<T> {
    /// Reserves address space for `max_len` elements on 4 KiB pages.
    ///
    /// # Errors
    /// When the address space is used up or limited (RLIMIT_AS; `vm.overcommit_memory` = 2 counts
    /// reserved memory too); [`io::ErrorKind::InvalidInput`] when `max_len` elements can't
    /// exist.
    pub fn new(max_len: usize) -> io::Result<Self> {
        Self::map(max_len, PAGE)
    }

    /// As [`Reserve::new`], on transparent huge pages where the system has them: fewer TLB misses,
    /// and memory committed in steps of 2 MiB. For tables that are looked up at random.
    ///
    /// # Errors
    /// As [`Reserve::new`].
    pub fn with_huge_pages(max_len: usize) -> io::Result<Self> {
        let reserve = Self::map(max_len, HUGE_PAGE)?;
        reserve.map.advise_huge();
        Ok(reserve)
    }

    fn map(len: usize, page: usize) -> io::Result<Self> {
        const { assert!(align_of::<T>() <= PAGE && !core::mem::needs_drop::<T>()) };
        let bytes = len
            .checked_mul(size_of::<T>())
            .filter(|&bytes| bytes <= isize::MAX as usize - HUGE_PAGE);
        let bytes = bytes.ok_or(io::ErrorKind::InvalidInput)?;
        let map = Mapping::anonymous(align_up(bytes.max(1), page))?;
        Ok(Self { map, len, elements: PhantomData })
    }
}

impl<T> Reserve<T> {
    /// Element `i`.
    ///
    /// # Panics
    /// If `i` is not below [`Reserve::len`].
    #[inline(always)]
    pub fn get(&self, i: usize) -> &T {
        &self.as_slice()[i]
    }

    /// Number of elements reserved.
    #[inline(always)]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns true if nothing was reserved.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// All elements. Reading them all makes the kernel fault every page in: walk only what is in
    /// use.
    #[inline(always)]
    pub fn as_slice(&self) -> &[T] {
        // SAFETY: the mapping has room for `len` elements, is aligned to 2 MiB, began as zeros,
        // which are values of T, and lives as long as `self`.
        unsafe { core::slice::from_raw_parts(self.map.base().cast().as_ptr(), self.len) }
    }

    /// All elements, exclusively.
    #[inline(always)]
    pub fn as_mut_slice(&mut self) -> &mut [T] {
        // SAFETY: as `as_slice`, and `self` is borrowed exclusively.
        unsafe { core::slice::from_raw_parts_mut(self.map.base().cast().as_ptr(), self.len) }
    }
}

impl<T> Index<usize> for Reserve<T> {
    type Output = T;

    #[inline(always)]
    fn index(&self, i: usize) -> &T {
        self.get(i)
    }
}

impl<T> fmt::Debug for Reserve<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reserve").field("base", &self.map.base()).field("len", &self.len).finish()
    }
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering::Relaxed;

    #[suite::test]
    fn elements_are_zero_and_stay_where_they_are() {
        let reserve = Reserve::<AtomicU64>::new(1 << 36).unwrap();
        let first: *const AtomicU64 = reserve.get(0);
        for i in [0, 1, 511, 512, (1 << 36) - 1] {
            assert_eq!(reserve.get(i).fetch_add(i as u64 + 1, Relaxed), 0);
        }
        for i in [0, 1, 511, 512, (1 << 36) - 1] {
            assert_eq!(reserve[i].load(Relaxed), i as u64 + 1);
        }
        assert_eq!(first, &reserve.as_slice()[0]);
        assert_eq!((reserve.len(), reserve.is_empty()), (1 << 36, false));
    }

    #[suite::test]
    fn huge_pages_and_composed_elements() {
        let mut reserve = Reserve::<CacheLine<[AtomicU32; 3]>>::with_huge_pages(100_000).unwrap();
        reserve[99_999].0[2].store(5, Relaxed);
        assert_eq!(*reserve.as_mut_slice()[99_999].0[2].get_mut(), 5);
        assert_eq!(reserve.get(99_998).0[1].load(Relaxed), 0);
    }

    #[suite::test]
    fn threads_share_it() {
        let reserve = Reserve::<AtomicUsize>::new(10_000).unwrap();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| reserve.as_slice().iter().for_each(|n| _ = n.fetch_add(1, Relaxed)));
            }
        });
        assert!(reserve.as_slice().iter().all(|n| n.load(Relaxed) == 4));
    }

    #[suite::test]
    #[should_panic(expected = "out of bounds")]
    fn bounds_are_checked() {
        Reserve::<AtomicU8>::new(4096).unwrap().get(4096);
    }

    #[suite::test]
    fn sizes_at_the_edge() {
        assert!(Reserve::<AtomicU64>::new(0).unwrap().as_slice().is_empty());
        for len in [usize::MAX, usize::MAX / 8, isize::MAX as usize / 8] {
            let error = Reserve::<AtomicU64>::new(len).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
        }
        assert!(Reserve::<AtomicU64>::new(1 << 50).is_err());
    }
}
