// SPDX-License-Identifier: Apache-2.0
//! Sessions of one thread: found by key, ended by time, ordered by age.

mod entry;
mod index;
#[cfg(feature = "tests")]
mod tests;
mod wheel;

use crate::Mixer;
use entry::{Entries, Entry, TIMER};
use index::Index;
use wheel::Wheel;

/// Keys that [`Sessions::find_many`] looks up together: more loads than that don't overlap.
const TOGETHER: usize = 64;
/// List of free entries, which comes before those of the wheel.
const FREE: u32 = 1;

/// A key of sessions.
pub trait SessionKey: Copy + Eq {
    /// Returns the mixer with all of the key.
    #[must_use]
    fn mix(&self, mixer: Mixer) -> Mixer;
}

/// A list of sessions by age: one of those that use a set of links. A session is in one list of a
/// set at most.
#[derive(Clone, Copy, Debug)]
pub struct AgeList {
    set: usize,
    list: u32,
}

impl AgeList {
    /// Returns list `list` of set `set`, both from 0 on.
    pub const fn new(set: usize, list: u32) -> Self {
        Self { set, list }
    }
}

/// A session that may have ended in the meantime.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SessionHandle {
    index: u32,
    generation: u32,
}

/// Sessions of one thread, with keys `K` and values `V`, and `N` sets of links for lists by age.
///
/// A session is found by any of its `KEYS` keys, such as one for each direction of a flow; keys
/// that are the same count as one. It has an index until it is removed. Times are ticks of a length
/// that the owner chooses, since any moment: 100 ms last for 13 years. Without a timeout
/// ([`Self::NEVER`]) a session stays until it is removed.
///
/// No call does more than a few sessions' work, [`Self::expire`] not more than it is asked for; the
/// table grows by small steps, and nothing is moved when it grows.
pub struct Sessions<K, V, const N: usize = 0, const KEYS: usize = 1> {
    entries: Entries<K, V, N, KEYS>,
    /// By [`Self::position`] of each key.
    index: Index,
    len: u32,
    mixer: Mixer,
    wheel: Wheel,
    limit: u32,
    /// Lists of each set of links.
    lists: u32,
}

impl<K: SessionKey, V: Default, const N: usize, const KEYS: usize> Sessions<K, V, N, KEYS> {
    /// No index: a key without a session.
    pub const NONE: u32 = entry::NONE;
    /// The timeout of sessions that time doesn't end.
    pub const NEVER: u32 = u32::MAX;
    /// The highest limit.
    pub const MAX: u32 = (1 << 30) / KEYS as u32;

    /// Returns an empty table for at most `limit` sessions, with `lists` lists by age in each set
    /// of links. A sender that doesn't know the seed can't make keys that share a bucket.
    pub fn new(seed: u64, limit: u32, lists: u32) -> Self {
        Self {
            entries: Entries::new(FREE + wheel::SLOTS + lists * N as u32),
            index: Index::new(),
            len: 0,
            mixer: Mixer::new(seed),
            wheel: Wheel::new(),
            limit: limit.min(Self::MAX),
            lists,
        }
    }

    /// Returns the number of sessions.
    #[inline(always)]
    pub fn len(&self) -> usize {
        self.len as usize
    }

    /// Returns true if there are no sessions.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    #[inline(always)]
    fn hash(&self, key: &K) -> u32 {
        Index::short(key.mix(self.mixer).hash())
    }

    /// The number of a key of a session.
    #[inline(always)]
    const fn position(at: u32, which: usize) -> u32 {
        at * KEYS as u32 + which as u32
    }

    /// The session and the key of a position.
    #[inline(always)]
    const fn at_position(position: u32) -> (u32, usize) {
        (position / KEYS as u32, position as usize % KEYS)
    }

    /// Returns the index of a key's session.
    #[inline(always)]
    pub fn find(&self, key: &K) -> Option<u32> {
        self.find_key(key).map(|(at, _)| at)
    }

    /// Returns the index of a key's session, and which of its keys this is: the first of those that
    /// are the same.
    #[inline(always)]
    pub fn find_key(&self, key: &K) -> Option<(u32, usize)> {
        self.find_hashed(self.hash(key), key).map(Self::at_position)
    }

    #[inline(always)]
    fn key_at(&self, position: u32) -> Option<&K> {
        let (at, which) = Self::at_position(position);
        self.entries.all.get(at).map(|entry| &entry.keys[which])
    }

    #[inline(always)]
    fn find_hashed(&self, hash: u32, key: &K) -> Option<u32> {
        self.index.find(hash, |position| self.key_at(position) == Some(key))
    }

    /// Looks the sessions of keys up, as many as both slices have: `found` gets their indices or
    /// [`Self::NONE`]. The loads of different keys overlap.
    #[inline(always)]
    pub fn find_many(&self, keys: &[K], found: &mut [u32]) {
        self.find_positions(keys, found);
        for found in found.iter_mut().filter(|found| KEYS > 1 && **found != Self::NONE) {
            *found = Self::at_position(*found).0;
        }
    }

    #[inline(always)]
    fn find_positions(&self, keys: &[K], found: &mut [u32]) {
        for (keys, found) in keys.chunks(TOGETHER).zip(found.chunks_mut(TOGETHER)) {
            let mut hashes = [0; TOGETHER];
            for (hash, key) in hashes.iter_mut().zip(keys) {
                *hash = self.hash(key);
                self.index.prefetch(*hash);
            }
            for (found, hash) in found.iter_mut().zip(&hashes[..keys.len()]) {
                *found = self.index.find(*hash, |_| true).unwrap_or(Self::NONE);
                if let Some(entry) = self.entries.all.get(Self::at_position(*found).0) {
                    entry.prefetch();
                }
            }
            for ((found, hash), key) in found.iter_mut().zip(&hashes).zip(keys) {
                if self.key_at(*found).is_some_and(|other| other != key) {
                    *found = self.find_hashed(*hash, key).unwrap_or(Self::NONE);
                }
            }
        }
    }

    #[inline(always)]
    fn entry(&self, at: u32) -> Option<&Entry<K, V, N, KEYS>> {
        self.entries.all.get(at).filter(|entry| entry.is_used())
    }

    #[inline(always)]
    fn entry_mut(&mut self, at: u32) -> Option<&mut Entry<K, V, N, KEYS>> {
        self.entries.all.get_mut(at).filter(|entry| entry.is_used())
    }

    /// Returns the value of the session at an index.
    #[inline(always)]
    pub fn get(&self, at: u32) -> Option<&V> {
        self.entry(at).map(|entry| &entry.value)
    }

    /// Returns the value of the session at an index, mutably.
    #[inline(always)]
    pub fn get_mut(&mut self, at: u32) -> Option<&mut V> {
        self.entry_mut(at).map(|entry| &mut entry.value)
    }

    /// Returns the first key of the session at an index.
    #[inline(always)]
    pub fn key(&self, at: u32) -> Option<&K> {
        self.keys(at).map(|keys| &keys[0])
    }

    /// Returns all keys of the session at an index.
    #[inline(always)]
    pub fn keys(&self, at: u32) -> Option<&[K; KEYS]> {
        self.entry(at).map(|entry| &entry.keys)
    }

    /// Returns a name of the session at an index that no later session has.
    #[inline(always)]
    pub fn handle(&self, at: u32) -> Option<SessionHandle> {
        self.entry(at).map(|entry| SessionHandle { index: at, generation: entry.generation })
    }

    /// Returns the index of a session, unless it was removed.
    #[inline(always)]
    pub fn resolve(&self, handle: SessionHandle) -> Option<u32> {
        let entry = self.entries.all.get(handle.index)?;
        (entry.generation == handle.generation).then_some(handle.index)
    }

    /// Inserts a session with a key that has none; returns its index. It ends `timeout` ticks after
    /// `now`, or after the last [`Self::touch`]. `None` if the table has reached its limit.
    pub fn insert(&mut self, key: K, value: V, now: u32, timeout: u32) -> Option<u32> {
        self.insert_keys([key; KEYS], value, now, timeout)
    }

    /// As [`Self::insert`], with keys none of which has a session.
    pub fn insert_keys(
        &mut self,
        keys: [K; KEYS],
        value: V,
        now: u32,
        timeout: u32,
    ) -> Option<u32> {
        let at = self.insert_keys_untimed(keys, value)?;
        self.set_timeout(at, now, timeout);
        Some(at)
    }

    /// As [`Self::insert`], but time doesn't end the session.
    pub fn insert_untimed(&mut self, key: K, value: V) -> Option<u32> {
        self.insert_keys_untimed([key; KEYS], value)
    }

    fn insert_keys_untimed(&mut self, keys: [K; KEYS], value: V) -> Option<u32> {
        if self.len >= self.limit {
            return None;
        }
        let at = self.entries.alloc(keys, value);
        for (which, key) in different(&keys) {
            let hash = self.hash(key);
            debug_assert!(self.find_hashed(hash, key).is_none(), "the key has a session");
            self.index.insert(hash, Self::position(at, which));
        }
        self.len += 1;
        Some(at)
    }

    /// Removes a session.
    pub fn remove(&mut self, at: u32) -> Option<V> {
        let keys = *self.keys(at)?;
        for (which, key) in different(&keys) {
            self.index.remove(self.hash(key), Self::position(at, which));
        }
        self.len -= 1;
        Some(self.entries.free(at))
    }

    /// Records that a packet of a session came: its timeout begins anew. This is a store; the timer
    /// notices it when it fires. Returns the session's value.
    #[inline(always)]
    pub fn touch(&mut self, at: u32, now: u32) -> Option<&mut V> {
        let entry = self.entry_mut(at)?;
        entry.touched = now;
        Some(&mut entry.value)
    }

    /// Gives a session another timeout, which begins now.
    pub fn set_timeout(&mut self, at: u32, now: u32, timeout: u32) {
        let Some(entry) = self.entry_mut(at) else { return };
        (entry.touched, entry.timeout) = (now, timeout);
        if timeout == Self::NEVER {
            self.entries.unlink(TIMER, at);
        } else {
            self.arm(at);
        }
    }

    /// Gives a session another timeout, which began with its last packet.
    pub fn change_timeout(&mut self, at: u32, timeout: u32) {
        let Some(touched) = self.touched(at) else { return };
        self.set_timeout(at, touched, timeout);
    }

    /// Returns the tick of the last packet of the session at an index.
    #[inline(always)]
    pub fn touched(&self, at: u32) -> Option<u32> {
        self.entry(at).map(|entry| entry.touched)
    }

    /// Returns the ticks from `now` until the session at an index ends; `None` if time doesn't end
    /// it.
    pub fn remaining(&self, at: u32, now: u32) -> Option<u64> {
        let entry = self.entry(at).filter(|entry| entry.timeout != Self::NEVER)?;
        Some(entry.deadline().saturating_sub(now.into()))
    }

    /// Puts a session into the wheel's slot of its deadline.
    fn arm(&mut self, at: u32) {
        let slot = self.wheel.slot(self.entries.all[at].deadline());
        self.entries.append(TIMER, FREE + slot, at);
    }

    /// Removes a session whose time has ended, and returns its first key and its value. `budget` is
    /// the number of timers that may still fire; a timer costs one even if its session has been
    /// touched. `None` if no time has ended, or the budget is spent: the next call goes on.
    pub fn expire(&mut self, now: u32, budget: &mut usize) -> Option<(K, V)> {
        let at = self.expired(now, budget)?;
        let key = *self.key(at)?;
        self.remove(at).map(|value| (key, value))
    }

    /// As [`Self::expire`], but the session stays, and time doesn't end it any more: the caller
    /// removes it or gives it another timeout.
    pub fn expired(&mut self, now: u32, budget: &mut usize) -> Option<u32> {
        while *budget > 0 {
            let slot = self.wheel.due(now.into())?;
            let Some(at) = self.entries.oldest(FREE + slot) else {
                self.wheel.is_empty(slot);
                continue;
            };
            *budget -= 1;
            if let Some(next) = self.entries.newer(TIMER, at) {
                simd::prefetch_read(&self.entries.all[next]);
            }
            if self.entries.all[at].deadline() > u64::from(now) {
                self.arm(at);
                continue;
            }
            self.entries.unlink(TIMER, at);
            self.entries.all[at].timeout = Self::NEVER;
            return Some(at);
        }
        None
    }

    /// Returns the index of the first session from this index on, in no order: for walks over all
    /// of a table that changes meanwhile. Looks at `budget` entries at most; `Err` is the index
    /// from which on to go on, and `Ok(None)` the end.
    pub fn next_at(&self, from: u32, budget: &mut usize) -> Result<Option<u32>, u32> {
        let mut at = from;
        while at < self.entries.all.len() {
            if *budget == 0 {
                return Err(at);
            }
            *budget -= 1;
            if self.entries.all[at].is_used() {
                return Ok(Some(at));
            }
            at += 1;
        }
        Ok(None)
    }

    /// Returns the index of the next session of a walk as [`Self::next_at`] does it, whose place is
    /// 0 at first. `None` at the end of the walk, and if the budget is spent: then there may be
    /// more.
    pub fn walk(&self, place: &mut u32, budget: &mut usize) -> Option<u32> {
        let found = self.next_at(*place, budget);
        *place = match found {
            Ok(at) => at.map_or(u32::MAX, |at| at + 1),
            Err(next) => next,
        };
        found.ok().flatten()
    }

    #[inline(always)]
    fn head(&self, AgeList { set, list }: AgeList) -> u32 {
        assert!(set < N && list < self.lists, "list {list} of set {set}");
        FREE + wheel::SLOTS + list * N as u32 + set as u32
    }

    /// Returns the number of lists in each set of links.
    #[inline(always)]
    pub fn lists(&self) -> u32 {
        self.lists
    }

    /// Adds an empty list to each set of links, behind the ones that there are.
    pub fn add_list(&mut self) {
        self.entries.add_lists(N as u32);
        self.lists += 1;
    }

    /// Makes a session the newest one of a list. It leaves another list of the same set.
    pub fn renew(&mut self, at: u32, list: AgeList) {
        let head = self.head(list);
        if self.entry(at).is_some() {
            self.entries.append(list.set, head, at);
        }
    }

    /// Takes a session out of the list of a set.
    pub fn withdraw(&mut self, at: u32, set: usize) {
        if self.entry(at).is_some() {
            self.entries.unlink(set, at);
        }
    }

    /// Returns true if a session is in a list of a set.
    pub fn is_listed(&self, at: u32, set: usize) -> bool {
        self.entry(at).is_some_and(|entry| entry.is_linked(set))
    }

    /// Returns the session that has been in a list for longest.
    #[inline(always)]
    pub fn oldest(&self, list: AgeList) -> Option<u32> {
        self.entries.oldest(self.head(list))
    }

    /// Iterates over the sessions of a list, from the oldest on.
    pub fn iter(&self, list: AgeList) -> impl Iterator<Item = (u32, &K, &V)> {
        let mut next = self.oldest(list);
        std::iter::from_fn(move || {
            let at = next?;
            next = self.entries.newer(list.set, at);
            self.entry(at).map(|entry| (at, &entry.keys[0], &entry.value))
        })
    }
}

/// The keys that are different, each with its number.
#[inline(always)]
fn different<K: Eq, const KEYS: usize>(keys: &[K; KEYS]) -> impl Iterator<Item = (usize, &K)> {
    keys.iter().enumerate().filter(|(which, key)| !keys[..*which].contains(key))
}
