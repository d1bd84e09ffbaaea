// SPDX-License-Identifier: Apache-2.0
//! An exact-match table that workers read without a lock, and the hit counters of its entries.
//!
//! A [`HashIndex`] leads from a key's hash to its entry. Entries lie in [`Slots`], so one that is
//! replaced or removed stays valid for the rest of a worker's turn. Control alone changes the
//! table. Each thread counts hits in counters of its own.

use crate::key::Key;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use sync::{Qsbr, Slots, Turn};
use tables::{HashIndex, fold};

/// Entries at most, of all tables that count together: 2²⁴.
pub const MAX_ENTRIES: usize = 1 << 24;
/// Hit counters of a thread that lie beside each other.
const CHUNK: usize = 64;

struct Entry<V> {
    key: Key,
    value: V,
}

/// Packets that an entry has matched on a thread, and when the last one was, in nanoseconds of the
/// instance's clock.
#[derive(Default)]
struct Hits {
    count: AtomicU64,
    last: AtomicU64,
}

struct Chunk([Hits; CHUNK]);

/// State that only control reads and writes.
#[derive(Default)]
struct Control {
    /// Hits of all threads when the entry at an index was set: counters of threads are never
    /// reset.
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
    index: HashIndex,
    entries: Slots<Entry<V>>,
    /// By thread, then by index of the entry divided by [`CHUNK`].
    hits: Box<[Slots<Chunk>]>,
    /// Vectors of a key.
    vectors: usize,
    /// Entries of this table and of all tables that share its limit.
    total: Arc<AtomicUsize>,
    /// Random: senders of packets can't choose keys that collide.
    seed: u64,
    control: Mutex<Control>,
}

impl<V: Clone + Send + Sync + 'static> Exact<V> {
    /// An empty table of keys of so many vectors. `total` counts the entries of all tables that
    /// share a limit.
    pub fn new(
        domain: &Arc<Qsbr>,
        threads: usize,
        vectors: usize,
        total: Arc<AtomicUsize>,
    ) -> Self {
        Self {
            index: HashIndex::new(domain),
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
        self.index.find(self.hash(key), turn, |index| {
            let entry = self.entries.get(index, turn).filter(|entry| entry.key == *key)?;
            Some((index, &entry.value))
        })
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
                    (
                        count + hits.count.load(Ordering::Relaxed),
                        last.max(hits.last.load(Ordering::Relaxed)),
                    )
                })
            })
        })
    }

    /// Control: the index of a key.
    fn locate(&self, key: &Key) -> Option<u32> {
        let is_it =
            |index: u32| self.entries.read(index, |entry| entry.is_some_and(|e| e.key == *key));
        self.index.read(self.hash(key), |index| is_it(index).then_some(index))
    }

    /// Sets the value of a key, whose hits are 0 then. Returns the value that it had; `Err` if
    /// there are [`MAX_ENTRIES`].
    pub fn set(&self, key: &Key, value: V) -> Result<Option<V>, Full> {
        let mut control = self.control();
        if let Some(index) = self.locate(key) {
            let old = self.entries.read(index, |entry| entry.map(|entry| entry.value.clone()));
            self.entries.set(index, Entry { key: *key, value });
            control.bases[index as usize] = self.sum(index).0;
            return Ok(old);
        }
        if self.total.load(Ordering::Relaxed) >= MAX_ENTRIES {
            return Err(Full);
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
        self.index.insert(self.hash(key), index);
        control.entries += 1;
        self.total.fetch_add(1, Ordering::Relaxed);
        Ok(None)
    }

    /// The value of a key, for control.
    pub fn value(&self, key: &Key) -> Option<V> {
        let _control = self.control();
        let index = self.locate(key)?;
        self.entries.read(index, |entry| entry.map(|entry| entry.value.clone()))
    }

    /// Removes a key; returns the value that it had.
    pub fn remove(&self, key: &Key) -> Option<V> {
        let mut control = self.control();
        let index = self.locate(key)?;
        self.index.remove(self.hash(key), index);
        let value = self.entries.read(index, |entry| entry.map(|entry| entry.value.clone()));
        self.entries.clear(index);
        control.free.push(index);
        control.entries -= 1;
        self.total.fetch_sub(1, Ordering::Relaxed);
        value
    }

    /// Removes the entry at an index of a table that no worker finds any more, with its counters,
    /// and returns its value.
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

    /// Number of entries.
    pub fn len(&self) -> usize {
        self.control().entries
    }

    /// See [`HashIndex::segments`].
    #[cfg(feature = "tests")]
    pub fn segments(&self) -> (usize, usize) {
        self.index.segments()
    }

    /// The indices of all entries are below this.
    pub fn bound(&self) -> u32 {
        self.control().bases.len() as u32
    }

    /// The entry at an index.
    pub fn get(&self, index: u32) -> Option<EntryInfo<V>> {
        let base = *self.control().bases.get(index as usize)?;
        let (key, value) = self
            .entries
            .read(index, |entry| entry.map(|entry| (entry.key, entry.value.clone())))?;
        let (sum, last) = self.sum(index);
        let hits = sum.saturating_sub(base);
        Some(EntryInfo { key, value, hits, last_heard: if hits == 0 { 0 } else { last } })
    }
}

/// There are [`MAX_ENTRIES`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Full;
