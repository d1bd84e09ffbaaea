// SPDX-License-Identifier: Apache-2.0
//! What a structure for longest prefix match does. It knows where leaves are, not which prefixes there are.

use super::intervals::Brush;
use super::{Key, Leaf};
use simd::Isa;

/// Keys at most that are looked up at once.
pub const BATCH: usize = 256;

/// Why a change wasn't made. Nothing was changed then.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refused {
    /// No room.
    Full,
    /// The hop doesn't fit into this structure's leaves, or there are too many long prefixes.
    Narrow,
}

/// A change to the leaves under a prefix.
#[derive(Clone, Copy)]
pub struct Change<K> {
    /// The network.
    pub key: K,
    /// The prefix length.
    pub len: u8,
    /// What becomes of them.
    pub(super) brush: Brush,
    /// No new boundaries: it can't be refused.
    pub shrinks: bool,
}

/// A structure for lookups, changed in place by one control thread at a time.
pub trait Engine<K: Key>: Send + Sync + 'static {
    /// The leaf of one key.
    fn lookup(&self, key: K) -> Leaf;

    /// For control: the leaf of one key with the length of its prefix plus one, as [`cell`](super::intervals::cell) has it.
    fn cell(&self, key: K) -> u64;

    /// The hops of up to [`BATCH`] keys, and their routes if asked for.
    fn leaves<I: Isa, const ROUTES: bool>(&self, keys: &[K], hops: &mut [u32], routes: &mut [u32]);

    /// Makes a change, all of it or nothing.
    fn paint(&self, change: &Change<K>) -> Result<(), Refused>;

    /// As [`Self::paint`] for each; fastest in order of their keys. Says how many were made if one was refused: those before it.
    fn paint_all(&self, changes: &[Change<K>]) -> Result<(), (usize, Refused)>;

    /// Bytes of memory in use.
    fn memory(&self) -> usize;
}
