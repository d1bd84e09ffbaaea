// SPDX-License-Identifier: Apache-2.0
//! Longest prefix match.

mod bits;
mod block;
mod draft;
mod engine;
mod forest;
mod index;
mod intervals;
mod oracle;
mod packed;
mod slot_alloc;
mod structure;
mod table;
#[cfg(feature = "tests")]
mod tests;
mod tree;

pub use forest::Forest;
pub use oracle::OracleLpm;
pub use table::{Lpm, SplitLookup};

use std::error::Error;
use std::fmt;
use std::hash::Hash;

/// The leaf of a route: the result of a lookup.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Leaf {
    /// Number of the next hop, as the owner assigns it; below 2^31. Small and dense numbers make
    /// small tables.
    pub hop: u32,
    /// The route itself, for callers that count by route: from 1 to [`Self::ROUTES`] - 1.
    pub route: u32,
}

impl Leaf {
    /// Result of a lookup if no route covers the address.
    pub const NONE: Self = Self { hop: 0, route: 0 };
    /// Routes are below this.
    pub const ROUTES: u32 = 1 << 24;
}

/// The kind of result that most lookups in a table ask for. A lookup may ask for the other kind,
/// which takes longer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ResultKind {
    /// Hops alone.
    Hops,
    /// The routes, too.
    #[default]
    Routes,
}

/// An address as an integer, the bit sent first being the most significant: `u32` or `u128`.
pub trait Key: Copy + Ord + Hash + fmt::Debug + Send + Sync + 'static {
    /// Width in bits: the greatest prefix length.
    const BITS: u8;

    /// The structure of a table of such keys.
    #[doc(hidden)]
    type Engine: engine::Engine<Self> + structure::Structure;

    /// Clears all but the first `len` bits.
    fn network(self, len: u8) -> Self;

    /// Number of leading bits that both keys have in common.
    fn common(self, other: Self) -> u8;

    /// Routes of more bits don't profit from a structure for large tables.
    #[doc(hidden)]
    const FINEST: u8;

    /// Where lookups in a large table begin: the number of the first node or slot that they read.
    #[doc(hidden)]
    fn node(self) -> usize;
}

macro_rules! key {
    ($t:ty, $engine:ty, $finest:expr, $node:expr) => {
        impl Key for $t {
            const BITS: u8 = <$t>::BITS as u8;
            const FINEST: u8 = $finest;
            type Engine = $engine;

            #[inline(always)]
            fn network(self, len: u8) -> Self {
                self & !<$t>::MAX.checked_shr(len.into()).unwrap_or(0)
            }

            fn common(self, other: Self) -> u8 {
                (self ^ other).leading_zeros() as u8
            }

            #[inline(always)]
            fn node(self) -> usize {
                $node(self) as usize
            }
        }
    };
}
key!(u32, structure::Engine4, 32, |key| key >> 14);
key!(u128, structure::Engine6, index::FINEST, |key| index::slot((key >> 64) as u64));

/// A prefix and what its owner gave it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Route<K> {
    /// The network; bits beyond `len` are clear.
    pub key: K,
    /// The prefix length.
    pub len: u8,
    /// The result of lookups.
    pub leaf: Leaf,
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

/// An IPv4 table: a search tree while it is small, a bitmap trie when it is large.
pub type Lpm4 = Lpm<u32>;

/// An IPv6 table: a search tree, with an index of its intervals when it is large.
pub type Lpm6 = Lpm<u128>;

/// Holds callers to the contract of [`Lpm`].
#[track_caller]
fn check_len<K: Key>(len: u8) {
    assert!(len <= K::BITS, "prefix length {len} of {} bits", K::BITS);
}

#[track_caller]
fn check_leaf(leaf: Leaf) {
    assert!(leaf.route != 0 && leaf.route < Leaf::ROUTES && leaf.hop < 1 << 31, "{leaf:?}");
}
