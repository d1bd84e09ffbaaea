// SPDX-License-Identifier: Apache-2.0
//! An array of buckets.

use super::{ATTEMPTS, DEAD, FREE, GONE, MacEntry, MacKey, NotInserted, PENDING, WAYS};
use mem::Reserve;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};

/// A bucket: keys, then values.
pub type Bucket = [AtomicU64; 2 * WAYS];

/// An array of buckets. A key has two of them.
pub struct Level {
    pub buckets: Reserve<Bucket>,
    mask: usize,
    /// Nobody knows which addresses share buckets, so nobody can fill those of another's address.
    seed: u64,
}

impl Level {
    pub fn new(buckets: usize) -> Option<Self> {
        let seed = RandomState::new().hash_one(buckets);
        Some(Self { buckets: Reserve::with_huge_pages(buckets).ok()?, mask: buckets - 1, seed })
    }

    /// The numbers of a key's buckets. They may be the same.
    #[inline(always)]
    pub fn places(&self, key: MacKey) -> [usize; 2] {
        let hash = key.hash(self.seed);
        [hash as usize & self.mask, (hash >> 32) as usize & self.mask]
    }

    #[inline(always)]
    pub fn pair(&self, key: MacKey) -> [&Bucket; 2] {
        let buckets = self.buckets.as_slice();
        let [first, second] = self.places(key);
        [&buckets[first], &buckets[second]]
    }

    #[inline(always)]
    pub fn find(&self, key: MacKey) -> Option<(&AtomicU64, MacEntry)> {
        if key.is_zero() {
            return None;
        }
        for bucket in self.pair(key) {
            for way in 0..WAYS {
                if bucket[way].load(Ordering::Acquire) == key.0 {
                    let value = &bucket[WAYS + way];
                    let word = value.load(Ordering::Acquire);
                    return (word != GONE).then(|| (value, MacEntry::of(word)));
                }
            }
        }
        None
    }

    /// Whether a slot other than `own` holds the key, or is being filled with it.
    #[inline]
    fn holds(&self, key: MacKey, own: Option<&AtomicU64>) -> bool {
        let slots = self.pair(key).into_iter().flat_map(|bucket| &bucket[..WAYS]);
        let mut others = slots.filter(|slot| own.is_none_or(|own| !std::ptr::eq(*slot, own)));
        others.any(|slot| slot.load(Ordering::SeqCst) & !PENDING == key.0)
    }

    /// Of two threads that insert the same key, at most one succeeds: each claims a slot and then looks at the others. Both accesses are
    /// sequentially consistent, so at least one thread sees the other's claim and withdraws its own.
    pub fn insert(&self, key: MacKey, entry: MacEntry) -> Result<(), NotInserted> {
        if key.is_zero() {
            return Err(NotInserted::Zero);
        }
        for _ in 0..ATTEMPTS {
            if self.holds(key, None) {
                return Err(NotInserted::Busy);
            }
            let room = |bucket: &Bucket| {
                bucket[..WAYS].iter().filter(|slot| slot.load(Ordering::Relaxed) == FREE).count()
            };
            let [first, second] = self.pair(key);
            let bucket = if room(second) > room(first) { second } else { first };
            let Some(way) = (0..WAYS).find(|way| bucket[*way].load(Ordering::Relaxed) == FREE) else {
                return Err(NotInserted::Full);
            };
            let (slot, value) = (&bucket[way], &bucket[WAYS + way]);
            let claimed =
                slot.compare_exchange(FREE, key.0 | PENDING, Ordering::SeqCst, Ordering::Relaxed).is_ok();
            if !claimed {
                continue;
            }
            if self.holds(key, Some(slot)) {
                // No lookup has found the slot yet, so it can be free at once.
                slot.store(FREE, Ordering::Release);
                return Err(NotInserted::Busy);
            }
            value.store(entry.word(), Ordering::Release);
            slot.store(key.0, Ordering::Release);
            return Ok(());
        }
        Err(NotInserted::Full)
    }

    /// The entries of a bucket, each with its way.
    pub fn entries(&self, at: usize) -> impl Iterator<Item = (usize, MacKey, MacEntry)> {
        let bucket = self.buckets.get(at);
        (0..WAYS).filter_map(move |way| {
            let key = bucket[way].load(Ordering::Acquire);
            let value = bucket[WAYS + way].load(Ordering::Acquire);
            let used = key != FREE && key & PENDING == 0 && value != GONE;
            used.then(|| (way, MacKey(key), MacEntry::of(value)))
        })
    }

    /// Removes an entry and returns it as it was at the end. Its slot isn't free yet.
    pub fn kill(&self, at: usize, way: usize) -> MacEntry {
        let bucket = self.buckets.get(at);
        bucket[way].store(DEAD, Ordering::Release);
        MacEntry::of(bucket[WAYS + way].swap(GONE, Ordering::AcqRel))
    }
}
