// SPDX-License-Identifier: Apache-2.0
//! Entries by the hashes of their keys, for tables that control alone changes and that workers read
//! without a lock.
//!
//! Extendible hashing: the upper bits of a hash select a segment in a directory. A segment is open
//! addressing with linear probing over 64-bit cells: the upper half is the hash, the lower half the
//! index of an entry plus 1. Eight cells share a cache line. A segment that is half full is
//! replaced by a larger one, or by two from [`SEGMENT`] cells on: an insertion moves at most
//! `SEGMENT / 2` cells however large the table is. A worker with the old directory finds all
//! entries that were there when its turn began.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use sync::{Qsbr, Snapshot, Turn};

/// A cell that was never used: probing ends there.
const EMPTY: u64 = 0;
/// A cell whose entry was removed: probing goes on.
const REMOVED: u64 = 1 << 32;
/// Cells of a new table.
const FIRST: usize = 16;
/// Cells of a segment that is split instead of enlarged.
const SEGMENT: usize = 1 << 15;
/// Bits of a hash that select a segment at most: 2²⁴ entries need 11 or 12.
const MAX_DEPTH: u32 = 16;

struct Segment {
    cells: Box<[AtomicU64]>,
    /// Upper bits that all hashes here have in common.
    depth: u32,
    /// The bits of a hash below these, shifted right by this, are the first cell.
    shift: u32,
    /// Cells that aren't [`EMPTY`]. Control alone reads and writes it.
    used: AtomicUsize,
}

impl Segment {
    /// A segment with room for more than `entries`.
    fn new(entries: usize, depth: u32) -> Self {
        let len = |load: usize| ((entries + 1) * load).next_power_of_two();
        let len = len(4).clamp(FIRST, SEGMENT).max(len(2));
        let cells = (0..len).map(|_| AtomicU64::new(EMPTY)).collect();
        Self { cells, depth, shift: 32 - len.ilog2(), used: AtomicUsize::new(0) }
    }

    fn is_full(&self) -> bool {
        (self.used.load(Ordering::Relaxed) + 1) * 2 > self.cells.len()
    }

    /// The cells that an entry with this hash may be in, in the order of probing.
    #[inline(always)]
    fn probe(&self, hash: u32) -> impl Iterator<Item = &AtomicU64> {
        let (mask, mut at) = (self.cells.len() - 1, (hash << self.depth >> self.shift) as usize);
        (0..self.cells.len()).filter_map(move |_| {
            let cell = self.cells.get(at & mask);
            at += 1;
            cell
        })
    }

    /// Puts an entry into the first cell that was never used.
    fn put(&self, hash: u32, index: u32) {
        if let Some(free) = self.probe(hash).find(|cell| cell.load(Ordering::Relaxed) == EMPTY) {
            free.store(cell_of(hash, index), Ordering::Release);
            self.used.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// The segments, by the upper `bits` bits of a hash. A segment of a lower depth has several places.
struct Directory {
    segments: Box<[Arc<Segment>]>,
    bits: u32,
}

impl Directory {
    fn new() -> Self {
        Self { segments: Box::new([Arc::new(Segment::new(0, 0))]), bits: 0 }
    }

    #[inline(always)]
    fn segment(&self, hash: u32) -> &Arc<Segment> {
        &self.segments[(u64::from(hash) >> (32 - self.bits)) as usize]
    }

    /// The directory with a larger segment, or two, in place of the one of `hash`. Cells of removed
    /// entries are left out.
    fn enlarged(&self, hash: u32) -> Self {
        let old = self.segment(hash);
        let words = old.cells.iter().map(|cell| cell.load(Ordering::Relaxed));
        let live: Vec<_> = words
            .map(|word| ((word >> 32) as u32, word))
            .filter_map(|(hash, word)| Some((hash, index_in(word, hash)?)))
            .collect();
        let split = (live.len() + 1) * 4 > SEGMENT && old.depth < MAX_DEPTH;
        let depth = old.depth + u32::from(split);
        let half = |hash: u32| if split { (hash >> (32 - depth)) as usize & 1 } else { 0 };
        let new: Vec<_> = (0..=usize::from(split))
            .map(|which| {
                let own = live.iter().filter(|(hash, _)| half(*hash) == which);
                let segment = Segment::new(own.clone().count(), depth);
                own.for_each(|(hash, index)| segment.put(*hash, *index));
                Arc::new(segment)
            })
            .collect();
        let bits = self.bits.max(depth);
        let place = |at: usize| {
            let first = ((at as u64) << (32 - bits)) as u32;
            let now = self.segment(first);
            if Arc::ptr_eq(now, old) { new[half(first)].clone() } else { now.clone() }
        };
        Self { segments: (0..1 << bits).map(place).collect(), bits }
    }
}

#[inline(always)]
const fn cell_of(hash: u32, index: u32) -> u64 {
    (hash as u64) << 32 | (index as u64 + 1)
}

/// The index in a cell of this hash.
#[inline(always)]
const fn index_in(cell: u64, hash: u32) -> Option<u32> {
    if (cell >> 32) as u32 == hash { (cell as u32).checked_sub(1) } else { None }
}

/// Multiplies and folds: the exclusive or of both halves of the 128-bit product. Hashes of keys are
/// made of it, with odd constants and a secret mixed in.
#[inline(always)]
pub const fn fold(a: u64, b: u64) -> u64 {
    let product = a as u128 * b as u128;
    product as u64 ^ (product >> 64) as u64
}

/// Indices of entries by hash. The entries themselves, with their keys, are the caller's: several
/// keys may have one hash.
///
/// Hashes should depend on a secret: a sender that can choose keys of one hash makes lookups slow.
pub struct HashIndex(Snapshot<Directory>);

impl HashIndex {
    /// Without entries.
    pub fn new(domain: &Arc<Qsbr>) -> Self {
        Self(Snapshot::new(domain.clone(), Directory::new()))
    }

    /// Calls `found` on the entries with this hash until it returns something.
    #[inline(always)]
    pub fn find<R>(
        &self,
        hash: u32,
        turn: &Turn<'_>,
        mut found: impl FnMut(u32) -> Option<R>,
    ) -> Option<R> {
        for cell in self.0.get(turn).segment(hash).probe(hash) {
            let cell = cell.load(Ordering::Acquire);
            if cell == EMPTY {
                return None;
            }
            if let Some(result) = index_in(cell, hash).and_then(&mut found) {
                return Some(result);
            }
        }
        None
    }

    /// As [`Self::find`], for control.
    pub fn read<R>(&self, hash: u32, mut found: impl FnMut(u32) -> Option<R>) -> Option<R> {
        self.cell(hash, |_, index| found(index))
    }

    fn cell<R>(&self, hash: u32, mut found: impl FnMut(&AtomicU64, u32) -> Option<R>) -> Option<R> {
        self.0.read(|directory| {
            for cell in directory.segment(hash).probe(hash) {
                let word = cell.load(Ordering::Relaxed);
                if word == EMPTY {
                    return None;
                }
                if let Some(result) = index_in(word, hash).and_then(|index| found(cell, index)) {
                    return Some(result);
                }
            }
            None
        })
    }

    /// Adds an entry, from control. Workers may read it at once.
    pub fn insert(&self, hash: u32, index: u32) {
        if self.0.read(|directory| directory.segment(hash).is_full()) {
            self.0.update(|directory| directory.enlarged(hash));
        }
        self.0.read(|directory| directory.segment(hash).put(hash, index));
    }

    /// Removes an entry, from control; false if it isn't there. A worker may still read it until
    /// its turn is over.
    pub fn remove(&self, hash: u32, index: u32) -> bool {
        let clear =
            |cell: &AtomicU64, at| (at == index).then(|| cell.store(REMOVED, Ordering::Release));
        self.cell(hash, clear).is_some()
    }

    /// Places in the directory, and cells of the largest segment.
    pub fn segments(&self) -> (usize, usize) {
        self.0.read(|directory| {
            let lens = directory.segments.iter().map(|segment| segment.cells.len());
            (directory.segments.len(), lens.max().unwrap_or(0))
        })
    }
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        /// Few hashes, so that many entries share one, beside a set of pairs.
        #[suite::test]
        fn finds_what_a_set_holds(steps in proptest::collection::vec((0_u32..40, 0_u32..8, any::<bool>()), 1..400)) {
            let domain = Qsbr::new();
            let (index, mut oracle) = (HashIndex::new(&domain), BTreeSet::new());
            let mut reader = domain.register();
            for (hash, entry, add) in steps {
                let hash = hash.wrapping_mul(0x9e37_79b9);
                if !add {
                    prop_assert_eq!(index.remove(hash, entry), oracle.remove(&(hash, entry)));
                } else if oracle.insert((hash, entry)) {
                    index.insert(hash, entry);
                }
                let turn = reader.turn();
                let mut all = BTreeSet::new();
                let none: Option<()> = index.find(hash, &turn, |entry| {
                    all.insert((hash, entry));
                    None
                });
                let want: BTreeSet<_> = oracle.iter().filter(|(of, _)| *of == hash).copied().collect();
                prop_assert_eq!((none, all), (None, want));
            }
        }
    }
}
