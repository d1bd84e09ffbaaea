// SPDX-License-Identifier: Apache-2.0
//! An array of buckets.

use super::{ATTEMPTS, DEAD, FREE, GONE, MacEntry, MacKey, NotInserted, PENDING, WAYS};
use mem::Reserve;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};

/// A bucket: keys, then values.
pub type Bucket = [AtomicU64; 2 * WAYS];

/// The value of a key in a bucket. All slots are compared: in which one a key is can't be
/// predicted, and a wrong prediction costs more.
#[inline(always)]
fn find_in(bucket: &Bucket, key: MacKey) -> Option<&AtomicU64> {
    let is = |way: usize| u32::from(bucket[way].load(Ordering::Acquire) == key.0) << way;
    let matches = is(0) | is(1) | is(2) | is(3);
    (matches != 0).then(|| &bucket[WAYS + matches.trailing_zeros() as usize % WAYS])
}

/// An array of buckets. A key has two of them.
pub struct Level {
    pub buckets: Reserve<Bucket>,
    mask: usize,
    /// Secret: without them no sender can know which addresses share buckets, and fill the buckets
    /// of another sender's address.
    seeds: [u64; 2],
}

impl Level {
    pub fn new(buckets: usize) -> Option<Self> {
        let (first, second) = (RandomState::new(), RandomState::new());
        let seeds = [first.hash_one(buckets), second.hash_one(buckets) | 1];
        Some(Self { buckets: Reserve::with_huge_pages(buckets).ok()?, mask: buckets - 1, seeds })
    }

    /// The hash of a key.
    #[inline(always)]
    pub fn hash(&self, key: MacKey) -> u64 {
        key.hash(self.seeds)
    }

    /// The number of the bucket in which most keys with this hash are.
    #[inline(always)]
    fn first_place(&self, hash: u64) -> usize {
        hash as usize & self.mask
    }

    /// The number of the bucket in which the others are; it may be the same.
    #[inline(always)]
    fn second_place(&self, hash: u64) -> usize {
        // Independent of the bits that the first number consists of (the factor is MurmurHash3's).
        (hash.wrapping_mul(0xff51_afd7_ed55_8ccd) >> 32) as usize & self.mask
    }

    /// The numbers of a key's buckets.
    pub fn buckets(&self, key: MacKey) -> [usize; 2] {
        let hash = self.hash(key);
        [self.first_place(hash), self.second_place(hash)]
    }

    /// The bucket in which most keys with this hash are.
    #[inline(always)]
    pub fn first(&self, hash: u64) -> &Bucket {
        &self.buckets.as_slice()[self.first_place(hash)]
    }

    #[inline(always)]
    fn second(&self, hash: u64) -> &Bucket {
        &self.buckets.as_slice()[self.second_place(hash)]
    }

    /// Looks a key up.
    #[inline(always)]
    pub fn find(&self, key: MacKey) -> Option<(&AtomicU64, MacEntry)> {
        self.find_hashed(key, self.hash(key))
    }

    /// Looks a key with this hash up.
    #[inline(always)]
    pub fn find_hashed(&self, key: MacKey, hash: u64) -> Option<(&AtomicU64, MacEntry)> {
        if key.is_zero() {
            return None;
        }
        let value = find_in(self.first(hash), key).or_else(|| find_in(self.second(hash), key))?;
        let word = value.load(Ordering::Acquire);
        (word != GONE).then(|| (value, MacEntry::of(word)))
    }

    /// Returns true if a slot other than `own` holds the key, or is being filled with it.
    #[inline]
    fn holds(&self, key: MacKey, own: Option<&AtomicU64>) -> bool {
        let hash = self.hash(key);
        let slots =
            [self.first(hash), self.second(hash)].into_iter().flat_map(|bucket| &bucket[..WAYS]);
        let mut others = slots.filter(|slot| own.is_none_or(|own| !std::ptr::eq(*slot, own)));
        others.any(|slot| slot.load(Ordering::SeqCst) & !PENDING == key.0)
    }

    /// Inserts a key. Of two threads that insert the same key, at most one succeeds: each claims a
    /// slot and then looks at the others. Both accesses are sequentially consistent, so at
    /// least one thread sees the other's claim and withdraws its own.
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
            let hash = self.hash(key);
            let (first, second) = (self.first(hash), self.second(hash));
            // Half of the first bucket is filled in any case: a lookup that goes on to the second
            // one can't be predicted. Filling all of it would let buckets overflow much earlier.
            let free = room(first);
            let bucket = if free <= WAYS / 2 && room(second) > free { second } else { first };
            let Some(way) = (0..WAYS).find(|way| bucket[*way].load(Ordering::Relaxed) == FREE)
            else {
                return Err(NotInserted::Full);
            };
            let (slot, value) = (&bucket[way], &bucket[WAYS + way]);
            let claimed = slot
                .compare_exchange(FREE, key.0 | PENDING, Ordering::SeqCst, Ordering::Relaxed)
                .is_ok();
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
