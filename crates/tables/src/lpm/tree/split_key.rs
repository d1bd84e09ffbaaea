// SPDX-License-Identifier: Apache-2.0
//! Keys as trees take them.

use crate::lpm::Key;

/// A key as trees search for it: its first 64 bits, and the bits behind them.
pub trait SplitKey: Key {
    /// The first 64 bits; what isn't there is zero.
    fn high(self) -> u64;
    /// The rest.
    fn low(self) -> u64;
}

impl SplitKey for u32 {
    #[inline(always)]
    fn high(self) -> u64 {
        u64::from(self) << 32
    }
    #[inline(always)]
    fn low(self) -> u64 {
        0
    }
}

impl SplitKey for u128 {
    #[inline(always)]
    fn high(self) -> u64 {
        (self >> 64) as u64
    }
    #[inline(always)]
    fn low(self) -> u64 {
        self as u64
    }
}

/// The last of the keys that begin with the first `len` bits of this.
pub(in crate::lpm) fn last(key: u64, len: u8) -> u64 {
    key | u64::MAX.checked_shr(len.into()).unwrap_or(0)
}
