// SPDX-License-Identifier: Apache-2.0
//! Alignment arithmetic, and a type that keeps to a cache line of its own.

use core::ops::{Deref, DerefMut};

/// Bytes of a cache line.
pub const CACHE_LINE: usize = 64;
/// Bytes of a base page.
pub const PAGE: usize = 4096;
/// Bytes of a huge page; the base of every [`crate::Region`] is aligned to it.
pub const HUGE_PAGE: usize = 2 << 20;

/// `n` rounded up to a multiple of `align`, a power of two. Wraps to 0 where that exceeds `usize`.
#[inline(always)]
pub const fn align_up(n: usize, align: usize) -> usize {
    debug_assert!(align.is_power_of_two());
    n.wrapping_add(align - 1) & !(align - 1)
}

/// `n` rounded down to a multiple of `align`, a power of two.
#[inline(always)]
pub const fn align_down(n: usize, align: usize) -> usize {
    debug_assert!(align.is_power_of_two());
    n & !(align - 1)
}

/// Returns true if `n` is a multiple of `align`, a power of two.
#[inline(always)]
pub const fn is_aligned(n: usize, align: usize) -> bool {
    align_down(n, align) == n
}

/// A value that starts a cache line and shares it with nothing else, so that one thread's writes
/// don't take the line of another thread's data away.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C, align(64))]
pub struct CacheLine<T>(pub T);

impl<T> CacheLine<T> {
    /// Puts `value` on cache lines of its own.
    pub const fn new(value: T) -> Self {
        Self(value)
    }

    /// Takes the value out.
    pub fn into_inner(self) -> T {
        self.0
    }
}

impl<T> Deref for CacheLine<T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> DerefMut for CacheLine<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;

    #[suite::test]
    fn rounding() {
        assert_eq!(
            (align_up(0, 64), align_up(1, 64), align_up(64, 64), align_up(65, 64)),
            (0, 64, 64, 128)
        );
        assert_eq!((align_down(63, 64), align_down(64, 64), align_down(127, 64)), (0, 64, 64));
        assert!(is_aligned(128, 64) && !is_aligned(130, 64));
        assert_eq!(align_up(usize::MAX, 64), 0);
    }

    #[suite::test]
    fn a_cache_line_is_shared_with_nobody() {
        assert_eq!((size_of::<CacheLine<u8>>(), align_of::<CacheLine<u8>>()), (64, 64));
        assert_eq!(size_of::<CacheLine<[u8; 65]>>(), 128);
        let mut line = CacheLine::new(7u32);
        *line += 1;
        assert_eq!((*line, line.into_inner()), (8, 8));
    }
}
