// SPDX-License-Identifier: Apache-2.0
//! The interface of structures for longest prefix match. They know where leaves are, not which
//! prefixes there are.

use super::intervals::Brush;
use super::{Key, Leaf};
use simd::Isa;
use std::sync::atomic::{AtomicU32, AtomicU64};

/// Keys at most that are looked up at once.
pub const BATCH: usize = 256;

/// The reason that a change wasn't made. Nothing was changed then.
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
    /// The change to the leaves' cells.
    pub(super) brush: Brush,
    /// No new boundaries: it can't be refused.
    pub shrinks: bool,
}

/// A structure for lookups, changed in place by one control thread at a time.
pub trait Engine<K: Key>: Send + Sync + 'static {
    /// The leaf of one key.
    fn lookup(&self, key: K) -> Leaf;

    /// For control: the leaf of one key with the length of its prefix plus one, as
    /// [`cell`](super::intervals::cell) has it.
    fn cell(&self, key: K) -> u64;

    /// The arrays that lookups read.
    fn arrays(&self) -> LookupArrays<'_>;

    /// The first step of lookups of up to [`BATCH`] keys: as far as what differs for most of them.
    /// Writes the places that [`Self::read_leaves`] goes on from, which hold for the turn: numbers
    /// of words ([`LookupArrays::prefetch_leaf`]), or with the highest bit set what needs no
    /// further word.
    fn locate<I: Isa>(&self, keys: &[K], places: &mut [u32]);

    /// The second step: hops in the place of places and, if asked for, what [`Self::resolve`] makes
    /// routes of.
    fn read_leaves<I: Isa, const ROUTES: bool>(
        &self,
        keys: &[K],
        hops: &mut [u32],
        routes: &mut [u32],
    );

    /// The last step, for lookups that ask for routes.
    fn resolve(&self, routes: &mut [u32]);

    /// The hops of up to [`BATCH`] keys, and their routes if asked for: all steps at once.
    #[inline(always)]
    fn leaves<I: Isa, const ROUTES: bool>(&self, keys: &[K], hops: &mut [u32], routes: &mut [u32]) {
        self.locate::<I>(keys, hops);
        let arrays = self.arrays();
        // The words that aren't in the cache are waited for together.
        hops.iter().for_each(|place| arrays.prefetch_leaf(*place));
        self.read_leaves::<I, ROUTES>(keys, hops, routes);
        if ROUTES {
            self.resolve(routes);
        }
    }

    /// Makes a change, all of it or nothing.
    fn paint(&self, change: &Change<K>) -> Result<(), Refused>;

    /// As [`Self::paint`] for each; fastest in order of their keys. Returns how many were made if
    /// one was refused: all before it.
    fn paint_all(&self, changes: &[Change<K>]) -> Result<(), (usize, Refused)>;

    /// Bytes of memory in use.
    fn memory(&self) -> usize;
}

/// The arrays that the lookups of a structure read.
#[derive(Clone, Copy)]
pub struct LookupArrays<'t> {
    /// The array that they begin with, by [`Key::node`]; empty if it is in the cache anyway.
    pub nodes: &'t [AtomicU32],
    /// The words that places name.
    pub words: &'t [AtomicU64],
}

impl LookupArrays<'_> {
    /// Prefetches what [`Engine::locate`] will read for some keys.
    #[inline(always)]
    pub fn prefetch_nodes<K: Key>(self, keys: &[K]) {
        if self.nodes.is_empty() {
            return;
        }
        for key in keys {
            if let Some(node) = self.nodes.get(key.node()) {
                simd::prefetch_read(node);
            }
        }
    }

    /// Prefetches what [`Engine::read_leaves`] will read at a place.
    #[inline(always)]
    pub fn prefetch_leaf(self, place: u32) {
        // Without a branch on the highest bit: a place that has it set prefetches the first word.
        let direct = (place as i32 >> 31) as u32;
        if let Some(word) = self.words.get((place & !direct) as usize) {
            simd::prefetch_read(word);
        }
    }
}
