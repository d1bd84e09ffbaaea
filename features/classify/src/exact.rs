// SPDX-License-Identifier: Apache-2.0
//! An exact-match table that workers read without a lock, and the hit counters of its entries.
//!
//! Extendible hashing: the upper bits of a key's hash select a segment in a directory. A segment is open addressing with linear probing over
//! 64-bit cells: the upper half is the hash, the lower half the index of an entry plus 1. Entries lie in [`Slots`], so one that is replaced
//! or removed stays valid for the rest of a worker's turn. Control alone changes the table. A segment that is half full is replaced by a
//! larger one, or by two from [`SEGMENT`] cells on: an insertion moves at most `SEGMENT / 2` entries however large the table is. A worker
//! with the old directory finds all entries that were there when its turn began. Each thread counts hits in counters of its own.

use crate::key::Key;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use sync::{Qsbr, Slots, Snapshot, Turn};

/// Entries at most, of all tables that count together: 2²⁴.
pub const MAX_ENTRIES: usize = 1 << 24;
/// A cell that was never used: probing ends there.
const EMPTY: u64 = 0;
/// A cell whose entry was removed: probing goes on.
const REMOVED: u64 = 1 << 32;
/// Cells of a new table.
const FIRST: usize = 16;
/// Cells of a segment that is split instead of enlarged.
const SEGMENT: usize = 1 << 15;
/// Bits of a hash that select a segment at most: a table of [`MAX_ENTRIES`] needs 11 or 12.
const MAX_DEPTH: u32 = 16;
/// Hit counters of a thread that lie beside each other.
const CHUNK: usize = 64;

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

    /// The directory with a larger segment, or two, in place of the one of `hash`. Cells of removed entries are left out.
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

struct Entry<V> {
    key: Key,
    value: V,
}

/// Packets that an entry has matched on a thread, and when the last one was, in nanoseconds of the instance's clock.
#[derive(Default)]
struct Hits {
    count: AtomicU64,
    last: AtomicU64,
}

struct Chunk([Hits; CHUNK]);

/// What control alone reads and writes.
#[derive(Default)]
struct Control {
    /// Hits of all threads when the entry at an index was set: counters of threads are never reset.
    bases: Vec<u64>,
    free: Vec<u32>,
    entries: usize,
}

/// An entry, for control.
#[derive(Clone, Debug, PartialEq)]
pub struct EntryInfo<V> {
    /// The key.
    pub key: Key,
    /// The value.
    pub value: V,
    /// Packets that it has matched.
    pub hits: u64,
    /// When it matched the last one, in nanoseconds of the instance's clock; 0 without hits.
    pub last_heard: u64,
}

/// The table. `V` is what a key leads to.
pub struct Exact<V: Send + Sync + 'static> {
    directory: Snapshot<Directory>,
    entries: Slots<Entry<V>>,
    /// By thread, then by index of the entry divided by [`CHUNK`].
    hits: Box<[Slots<Chunk>]>,
    /// Vectors of a key.
    vectors: usize,
    /// Entries of this table and of those that count with it.
    total: Arc<AtomicUsize>,
    /// Random: senders of packets can't choose keys that collide.
    seed: u64,
    control: Mutex<Control>,
}

/// The high and the low half of a product, folded.
#[inline(always)]
const fn fold(a: u64, b: u64) -> u64 {
    let product = a as u128 * b as u128;
    product as u64 ^ (product >> 64) as u64
}

impl<V: Clone + Send + Sync + 'static> Exact<V> {
    /// An empty table of keys of so many vectors. `total` counts the entries of all tables that have a limit in common.
    pub fn new(domain: &Arc<Qsbr>, threads: usize, vectors: usize, total: Arc<AtomicUsize>) -> Self {
        Self {
            directory: Snapshot::new(domain.clone(), Directory::new()),
            entries: Slots::new(domain.clone()),
            hits: (0..threads).map(|_| Slots::new(domain.clone())).collect(),
            vectors,
            total,
            seed: RandomState::new().hash_one(vectors),
            control: Mutex::default(),
        }
    }

    fn control(&self) -> MutexGuard<'_, Control> {
        self.control.lock().expect("no panic inside")
    }

    #[inline(always)]
    fn hash(&self, key: &Key) -> u32 {
        // Odd constants without structure: fractions of the square roots of 2 and 3.
        const A: u64 = 0x6a09_e667_f3bc_c909;
        const B: u64 = 0xbb67_ae85_84ca_a73b;
        let mut hash = self.seed;
        for word in key.0.iter().take(self.vectors) {
            let (low, high) = (*word as u64, (*word >> 64) as u64);
            hash = fold(low ^ hash ^ A, high ^ hash.rotate_left(32) ^ B);
        }
        (fold(hash ^ B, A) >> 32) as u32
    }

    /// Looks a key up; returns the index of the entry and its value.
    #[inline(always)]
    pub fn find<'t>(&'t self, key: &Key, turn: &'t Turn<'_>) -> Option<(u32, &'t V)> {
        let hash = self.hash(key);
        for cell in self.directory.get(turn).segment(hash).probe(hash) {
            let cell = cell.load(Ordering::Acquire);
            if cell == EMPTY {
                return None;
            }
            if let Some(index) = index_in(cell, hash)
                && let Some(entry) = self.entries.get(index, turn)
                && entry.key == *key
            {
                return Some((index, &entry.value));
            }
        }
        None
    }

    /// Counts a packet that an entry has matched, on the thread of this number.
    #[inline(always)]
    pub fn note_hit(&self, thread: usize, index: u32, now: u64, turn: &Turn<'_>) {
        let chunk = self.hits.get(thread).and_then(|chunks| chunks.get(index / CHUNK as u32, turn));
        let Some(hits) = chunk.map(|chunk| &chunk.0[index as usize % CHUNK]) else { return };
        // No other thread writes there.
        hits.count.store(hits.count.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        hits.last.store(now, Ordering::Relaxed);
    }

    /// Hits of all threads at an index so far, and the time of the last one.
    fn sum(&self, index: u32) -> (u64, u64) {
        self.hits.iter().fold((0, 0), |(count, last), chunks| {
            chunks.read(index / CHUNK as u32, |chunk| {
                let hits = chunk.map(|chunk| &chunk.0[index as usize % CHUNK]);
                hits.map_or((count, last), |hits| {
                    (count + hits.count.load(Ordering::Relaxed), last.max(hits.last.load(Ordering::Relaxed)))
                })
            })
        })
    }

    /// Control: the cell and the index of a key.
    fn locate<R>(&self, key: &Key, found: impl FnOnce(&AtomicU64, u32) -> R) -> Option<R> {
        let hash = self.hash(key);
        self.directory.read(|directory| {
            for cell in directory.segment(hash).probe(hash) {
                let word = cell.load(Ordering::Relaxed);
                if word == EMPTY {
                    return None;
                }
                if let Some(index) = index_in(word, hash)
                    && self.entries.read(index, |entry| entry.is_some_and(|entry| entry.key == *key))
                {
                    return Some(found(cell, index));
                }
            }
            None
        })
    }

    /// Sets the value of a key, whose hits are 0 then. Returns the value that it had; `Err` if there are [`MAX_ENTRIES`].
    pub fn set(&self, key: &Key, value: V) -> Result<Option<V>, Full> {
        let mut control = self.control();
        if let Some(index) = self.locate(key, |_, index| index) {
            let old = self.entries.read(index, |entry| entry.map(|entry| entry.value.clone()));
            self.entries.set(index, Entry { key: *key, value });
            control.bases[index as usize] = self.sum(index).0;
            return Ok(old);
        }
        if self.total.load(Ordering::Relaxed) >= MAX_ENTRIES {
            return Err(Full);
        }
        let hash = self.hash(key);
        if self.directory.read(|directory| directory.segment(hash).is_full()) {
            self.directory.update(|directory| directory.enlarged(hash));
        }
        let index = control.free.pop().unwrap_or(control.bases.len() as u32);
        if index as usize == control.bases.len() {
            control.bases.push(0);
            if (index as usize).is_multiple_of(CHUNK) {
                let chunk = || Chunk(std::array::from_fn(|_| Hits::default()));
                self.hits.iter().for_each(|chunks| chunks.set(index / CHUNK as u32, chunk()));
            }
        }
        control.bases[index as usize] = self.sum(index).0;
        self.entries.set(index, Entry { key: *key, value });
        self.directory.read(|directory| directory.segment(hash).put(hash, index));
        control.entries += 1;
        self.total.fetch_add(1, Ordering::Relaxed);
        Ok(None)
    }

    /// Removes a key; returns the value that it had.
    pub fn remove(&self, key: &Key) -> Option<V> {
        let mut control = self.control();
        let index = self.locate(key, |cell, index| {
            cell.store(REMOVED, Ordering::Release);
            index
        })?;
        let value = self.entries.read(index, |entry| entry.map(|entry| entry.value.clone()));
        self.entries.clear(index);
        control.free.push(index);
        control.entries -= 1;
        self.total.fetch_sub(1, Ordering::Relaxed);
        value
    }

    /// Removes the entry at an index of a table that no worker finds any more, with its counters, and returns its value.
    pub fn dispose(&self, index: u32) -> Option<V> {
        if (index as usize).is_multiple_of(CHUNK) {
            self.hits.iter().for_each(|chunks| _ = chunks.clear(index / CHUNK as u32));
        }
        let value = self.entries.read(index, |entry| entry.map(|entry| entry.value.clone()))?;
        self.entries.clear(index);
        self.control().entries -= 1;
        self.total.fetch_sub(1, Ordering::Relaxed);
        Some(value)
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.control().entries
    }

    /// Places in the directory, and cells of the largest segment.
    #[cfg(test)]
    pub fn segments(&self) -> (usize, usize) {
        self.directory.read(|directory| {
            let lens = directory.segments.iter().map(|segment| segment.cells.len());
            (directory.segments.len(), lens.max().unwrap_or(0))
        })
    }

    /// The indices of all entries are below this.
    pub fn bound(&self) -> u32 {
        self.control().bases.len() as u32
    }

    /// The entry at an index.
    pub fn get(&self, index: u32) -> Option<EntryInfo<V>> {
        let base = *self.control().bases.get(index as usize)?;
        let (key, value) =
            self.entries.read(index, |entry| entry.map(|entry| (entry.key, entry.value.clone())))?;
        let (sum, last) = self.sum(index);
        let hits = sum.saturating_sub(base);
        Some(EntryInfo { key, value, hits, last_heard: if hits == 0 { 0 } else { last } })
    }
}

/// There are [`MAX_ENTRIES`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Full;
