// SPDX-License-Identifier: Apache-2.0
//! Longest prefix match.

mod oracle;
#[cfg(test)]
mod tests;
mod trie;

pub use oracle::OracleLpm;
pub use trie::Trie;

use std::error::Error;
use std::fmt;
use std::hash::Hash;

/// What [`Lpm::lookup`] answers if no route covers the address.
pub const NO_ROUTE: u32 = 0;

/// IPv4: 16 bits in the root, then 8 and 8. At most three dependent loads; 1 KiB for each /16 and /24 that has longer
/// prefixes.
pub type Lpm4 = Trie<u32, 8>;

/// IPv6: 16 bits in the root, then 4 at a time, one cache line each: a /64 is found in at most 13 dependent loads.
pub type Lpm6 = Trie<u128, 4>;

/// An address as an integer, the bit sent first being the most significant: `u32` or `u128`.
pub trait Key: Copy + Ord + Hash + fmt::Debug + Send + Sync + 'static {
    /// Width in bits: the greatest prefix length.
    const BITS: u8;

    /// Clears all but the first `len` bits.
    fn network(self, len: u8) -> Self;

    /// The `width` bits (below 32) that follow the first `skip`; `skip + width` is at most [`Self::BITS`].
    fn digit(self, skip: u32, width: u32) -> usize;
}

macro_rules! key {
    ($t:ty) => {
        impl Key for $t {
            const BITS: u8 = <$t>::BITS as u8;

            #[inline(always)]
            fn network(self, len: u8) -> Self {
                self & !<$t>::MAX.checked_shr(len.into()).unwrap_or(0)
            }

            #[inline(always)]
            fn digit(self, skip: u32, width: u32) -> usize {
                (self >> (<$t>::BITS - skip - width)) as usize & ((1 << width) - 1)
            }
        }
    };
}
key!(u32);
key!(u128);

/// A prefix and the value that the owner gave it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Route<K> {
    /// The network; bits beyond `len` are clear.
    pub key: K,
    /// The prefix length.
    pub len: u8,
    /// From 1 to 2^31 - 1.
    pub value: u32,
}

/// The table has no room for what the prefix needs; nothing was changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Full;

impl fmt::Display for Full {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("route table is full")
    }
}

impl Error for Full {}

/// A table of routes. Keys are in host order ([`Key`]), values are indices of the owner's (next hop, load-balance)
/// from 1 to 2^31 - 1. Bits of a key beyond the prefix length are ignored.
///
/// `lookup` and `lookup_batch` are for workers; everything else is for control and may wait for another control
/// thread. A change is seen by the lookups of other threads as it is being made: each lookup answers by the old or the
/// new route.
///
/// Methods that take a prefix length panic if it is greater than [`Key::BITS`].
pub trait Lpm: Send + Sync {
    /// The type of addresses.
    type Key: Key;

    /// The value of the longest route that covers `key`, or [`NO_ROUTE`].
    fn lookup(&self, key: Self::Key) -> u32;

    /// As [`Self::lookup`] for each of `keys`, in passes over all of them, so that their memory accesses overlap.
    ///
    /// # Panics
    /// If the lengths differ.
    fn lookup_batch(&self, keys: &[Self::Key], values: &mut [u32]);

    /// Adds or replaces a route and returns the value it had.
    ///
    /// # Panics
    /// If `value` isn't from 1 to 2^31 - 1.
    fn insert(&self, key: Self::Key, len: u8, value: u32) -> Result<Option<u32>, Full>;

    /// Removes a route and returns its value.
    fn remove(&self, key: Self::Key, len: u8) -> Option<u32>;

    /// The value of exactly this route.
    fn get(&self, key: Self::Key, len: u8) -> Option<u32>;

    /// The longest route that covers the prefix; the prefix itself counts.
    fn covering(&self, key: Self::Key, len: u8) -> Option<Route<Self::Key>>;

    /// Calls `f` on the routes behind `after` (or all), in order of network and then of length, until it says false.
    /// `after` itself needn't be there. `f` must not use the control side of this table.
    fn walk(&self, after: Option<(Self::Key, u8)>, f: &mut dyn FnMut(Route<Self::Key>) -> bool);

    /// Calls `f` on every route, in order of network and then of length. `f` must not use the control side of this
    /// table.
    fn for_each(&self, f: &mut dyn FnMut(Route<Self::Key>)) {
        self.walk(None, &mut |route| {
            f(route);
            true
        });
    }

    /// Number of routes.
    fn len(&self) -> usize;

    /// Whether there are no routes.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Holds callers to the contract of [`Lpm`].
#[track_caller]
fn check_len<K: Key>(len: u8) {
    assert!(len <= K::BITS, "prefix length {len} of {} bits", K::BITS);
}

#[track_caller]
fn check_value(value: u32) {
    assert!(value != NO_ROUTE && value < 1 << 31, "route value {value:#x}");
}
