// SPDX-License-Identifier: Apache-2.0
//! Datagrams under way on one thread: found by the key that their fragments share, ordered by age,
//! bounded by the owner.

use tables::Pool;
use wire::Address;

/// The key that all fragments of one datagram share.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Key<A> {
    /// Source.
    pub src: A,
    /// Destination.
    pub dst: A,
    /// Identification.
    pub id: u32,
    /// FIB index of their receive interface: networks may overlap.
    pub fib: u32,
    /// IPv4's protocol; 0 for IPv6, whose key has none (RFC 8200 4.5).
    pub protocol: u8,
}

#[inline(always)]
fn mix(hash: u64, word: u64) -> u64 {
    let wide = u128::from(hash ^ word) * u128::from(0x9e37_79b9_7f4a_7c15_u64);
    (wide as u64) ^ (wide >> 64) as u64
}

impl<A: Address> Key<A> {
    #[inline(always)]
    fn addresses(&self, seed: u64) -> u64 {
        let mut hash = seed | 1;
        for octets in [self.src.to_octets(), self.dst.to_octets()] {
            for word in octets.as_ref().chunks(8) {
                let mut bytes = [0; 8];
                bytes[..word.len()].copy_from_slice(word);
                hash = mix(hash, u64::from_le_bytes(bytes));
            }
        }
        hash
    }

    fn hash(&self, seed: u64) -> u64 {
        let rest = u64::from(self.id) << 32 | u64::from(self.fib) << 8 | u64::from(self.protocol);
        mix(self.addresses(seed), rest)
    }

    /// Returns the one of `n` threads that owns this datagram: the same for all between two hosts,
    /// so that they stay in order.
    pub fn owner(&self, n: usize) -> usize {
        (self.addresses(0x5bd1_e995_7b7d_159b) >> 32) as usize % n
    }
}

const END: u32 = u32::MAX;

struct Entry<A, D> {
    key: Key<A>,
    value: D,
    since: u64,
    hash: u64,
    /// The next one of the bucket.
    next: u32,
    /// Its neighbours in each list.
    links: [Links; 2],
    /// True if it is in the list of datagrams that hold fragments.
    holds: bool,
}

#[derive(Clone, Copy)]
struct Links {
    older: u32,
    newer: u32,
}

/// The ends of a list.
struct List {
    oldest: u32,
    newest: u32,
}

/// The list of all datagrams, by age.
const ALL: usize = 0;
/// The list of datagrams that hold fragments, by the age of the first one held.
const HOLDING: usize = 1;

/// Datagrams under way.
pub struct Table<A, D> {
    entries: Pool<Entry<A, D>>,
    buckets: Box<[u32]>,
    seed: u64,
    lists: [List; 2],
}

impl<A: Address, D> Table<A, D> {
    /// Returns an empty table. A sender that doesn't know the seed can't make keys that fall into
    /// one bucket.
    pub fn new(seed: u64) -> Self {
        let lists = [const { List { oldest: END, newest: END } }; 2];
        Self { entries: Pool::new(), buckets: vec![END; 64].into(), seed, lists }
    }

    /// Returns the number of datagrams.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    #[inline(always)]
    fn bucket(&self, hash: u64) -> usize {
        hash as usize & (self.buckets.len() - 1)
    }

    /// Returns the index of the datagram with this key.
    #[inline(always)]
    pub fn find(&self, key: &Key<A>) -> Option<u32> {
        let mut at = self.buckets[self.bucket(key.hash(self.seed))];
        while let Some(entry) = self.entries.get(at) {
            if entry.key == *key {
                return Some(at);
            }
            at = entry.next;
        }
        None
    }

    /// Returns the datagram at an index.
    pub fn get(&self, at: u32) -> Option<&D> {
        self.entries.get(at).map(|entry| &entry.value)
    }

    /// Returns the datagram at an index, mutably.
    #[inline(always)]
    pub fn get_mut(&mut self, at: u32) -> Option<&mut D> {
        self.entries.get_mut(at).map(|entry| &mut entry.value)
    }

    /// Inserts a datagram with a new key, as the newest; returns its index.
    pub fn insert(&mut self, key: Key<A>, since: u64, value: D) -> u32 {
        if self.entries.len() >= self.buckets.len() {
            self.grow();
        }
        let hash = key.hash(self.seed);
        let bucket = self.bucket(hash);
        let next = self.buckets[bucket];
        let links = [Links { older: END, newer: END }; 2];
        let at = self.entries.insert(Entry { key, value, since, hash, next, links, holds: false });
        self.buckets[bucket] = at;
        self.link(ALL, at);
        at
    }

    /// Appends an entry to a list, as the newest.
    fn link(&mut self, list: usize, at: u32) {
        let older = std::mem::replace(&mut self.lists[list].newest, at);
        self.entries[at].links[list] = Links { older, newer: END };
        match self.entries.get_mut(older) {
            Some(entry) => entry.links[list].newer = at,
            None => self.lists[list].oldest = at,
        }
    }

    /// Removes an entry from a list, by its links.
    fn unlink(&mut self, list: usize, Links { older, newer }: Links) {
        match self.entries.get_mut(older) {
            Some(entry) => entry.links[list].newer = newer,
            None => self.lists[list].oldest = newer,
        }
        match self.entries.get_mut(newer) {
            Some(entry) => entry.links[list].older = older,
            None => self.lists[list].newest = older,
        }
    }

    /// Sets whether a datagram holds fragments.
    pub fn set_holding(&mut self, at: u32, holds: bool) {
        let Some(entry) = self.entries.get_mut(at).filter(|entry| entry.holds != holds) else {
            return;
        };
        entry.holds = holds;
        let links = entry.links[HOLDING];
        if holds { self.link(HOLDING, at) } else { self.unlink(HOLDING, links) }
    }

    /// Doubles the number of buckets, when there are more datagrams than ever before.
    #[cold]
    fn grow(&mut self) {
        self.buckets = vec![END; self.buckets.len() * 2].into();
        let mut at = self.lists[ALL].oldest;
        while let Some(entry) = self.entries.get(at) {
            let (hash, newer) = (entry.hash, entry.links[ALL].newer);
            let bucket = self.bucket(hash);
            let next = std::mem::replace(&mut self.buckets[bucket], at);
            self.entries[at].next = next;
            at = newer;
        }
    }

    /// Removes a datagram.
    pub fn remove(&mut self, at: u32) -> Option<D> {
        let Entry { value, hash, next, links, holds, .. } = self.entries.remove(at)?;
        self.unlink(ALL, links[ALL]);
        if holds {
            self.unlink(HOLDING, links[HOLDING]);
        }
        let bucket = self.bucket(hash);
        if self.buckets[bucket] == at {
            self.buckets[bucket] = next;
            return Some(value);
        }
        let mut before = self.buckets[bucket];
        while let Some(entry) = self.entries.get_mut(before) {
            if entry.next == at {
                entry.next = next;
                break;
            }
            before = entry.next;
        }
        Some(value)
    }

    /// Returns the index of the oldest datagram, and the time since which it is there.
    #[inline(always)]
    pub fn oldest(&self) -> Option<(u32, u64)> {
        let oldest = self.lists[ALL].oldest;
        self.entries.get(oldest).map(|entry| (oldest, entry.since))
    }

    /// Returns the datagram that has held fragments for longest.
    pub fn oldest_holding(&self) -> Option<u32> {
        let oldest = self.lists[HOLDING].oldest;
        self.entries.get(oldest).map(|_| oldest)
    }

    /// Returns the time since which a datagram is there.
    pub fn since(&self, at: u32) -> Option<u64> {
        self.entries.get(at).map(|entry| entry.since)
    }

    /// Iterates over all datagrams from the oldest on, with their keys and the times since which
    /// they are there.
    pub fn iter(&self) -> impl Iterator<Item = (&Key<A>, u64, &D)> {
        let mut at = self.lists[ALL].oldest;
        std::iter::from_fn(move || {
            let entry = self.entries.get(at)?;
            at = entry.links[ALL].newer;
            Some((&entry.key, entry.since, &entry.value))
        })
    }
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::net::{Ipv4Addr, Ipv6Addr};

    proptest! {
        #[suite::test]
        fn a_table_is_a_list(steps in prop::collection::vec((0u32..300, 0u8..6), 0..1500), seed: u64) {
            let mut table = Table::new(seed);
            let mut list: Vec<(u32, usize)> = Vec::new();
            let mut holding: Vec<u32> = Vec::new();
            let key = |n: u32| Key { src: Ipv4Addr::from(n % 7), dst: Ipv4Addr::from(9), id: n, fib: n & 1, protocol: 17 };
            for (i, (n, what)) in steps.into_iter().enumerate() {
                let there = list.iter().position(|(m, _)| *m == n);
                let at = table.find(&key(n));
                prop_assert_eq!(at.is_some(), there.is_some());
                match (what, at, there) {
                    (0, Some(at), Some(there)) => {
                        prop_assert_eq!(table.remove(at), Some(list.remove(there).1));
                        holding.retain(|m| *m != n);
                    }
                    (1, ..) if !list.is_empty() => {
                        let (at, since) = table.oldest().expect("one");
                        prop_assert_eq!(since, list[0].1 as u64);
                        holding.retain(|m| *m != list[0].0);
                        prop_assert_eq!(table.remove(at), Some(list.remove(0).1));
                    }
                    (4 | 5, Some(at), _) => {
                        table.set_holding(at, what == 4);
                        let known = holding.contains(&n);
                        match what {
                            4 if !known => holding.push(n),
                            5 => holding.retain(|m| *m != n),
                            _ => {}
                        }
                    }
                    (2.., None, _) => {
                        table.insert(key(n), i as u64, i);
                        list.push((n, i));
                    }
                    _ => {}
                }
                prop_assert_eq!(table.len(), list.len());
                prop_assert_eq!(table.oldest_holding(), holding.first().and_then(|n| table.find(&key(*n))));
            }
            let all: Vec<_> = table.iter().map(|(key, _, i)| (key.id, *i)).collect();
            prop_assert_eq!(all, list);
        }

        #[suite::test]
        fn all_of_two_hosts_have_one_owner(src: u128, dst: u128, id: u32, n in 1usize..9) {
            let key = |id| Key { src: Ipv6Addr::from(src), dst: Ipv6Addr::from(dst), id, fib: 0, protocol: 0 };
            prop_assert!(key(id).owner(n) < n);
            prop_assert_eq!(key(id).owner(n), key(!id).owner(n));
        }
    }

    #[suite::test]
    fn owners_are_spread() {
        let owner = |n: u32| {
            Key { src: Ipv4Addr::from(n), dst: Ipv4Addr::from(1), id: 0, fib: 0, protocol: 0 }
                .owner(4)
        };
        let mut counts = [0; 4];
        (0..4000).for_each(|n| counts[owner(n)] += 1);
        assert!(counts.iter().all(|n| (800..1200).contains(n)), "{counts:?}");
    }
}
