// SPDX-License-Identifier: Apache-2.0
//! Keys in the order of their times, and each interface's share of a common table.

use super::model::Key;
use graph::SwIfIndex;
use std::collections::{BTreeSet, HashMap};

/// One time for each key, and the keys in the order of their times.
#[derive(Default)]
pub(super) struct Times {
    of: HashMap<Key, u64>,
    order: BTreeSet<(u64, Key)>,
}

impl Times {
    pub fn set(&mut self, key: Key, time: u64) {
        if let Some(old) = self.of.insert(key, time) {
            self.order.remove(&(old, key));
        }
        self.order.insert((time, key));
    }

    pub fn remove(&mut self, key: Key) -> Option<u64> {
        let time = self.of.remove(&key)?;
        self.order.remove(&(time, key));
        Some(time)
    }

    pub fn first(&self) -> Option<(u64, Key)> {
        self.order.first().copied()
    }

    pub fn in_order(&self) -> impl Iterator<Item = Key> {
        self.order.iter().map(|(_, key)| *key)
    }

    pub fn keys(&self) -> impl Iterator<Item = Key> {
        self.of.keys().copied()
    }

    pub fn len(&self) -> usize {
        self.of.len()
    }

    pub fn contains(&self, key: Key) -> bool {
        self.of.contains_key(&key)
    }
}

/// The rank of a key: of an interface's keys, idle ones are displaced first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Rank {
    /// No packet was ever sent to the neighbour.
    Idle,
    /// Packets were sent to it, it was solicited, or it is configured.
    Used,
}

/// The keys of one interface, by rank.
#[derive(Default)]
struct Share([Times; 2]);

impl Share {
    fn len(&self) -> usize {
        self.0.iter().map(Times::len).sum()
    }
}

/// Keys with their times and ranks, in a table that all interfaces share.
#[derive(Default)]
pub(super) struct Shares {
    of: HashMap<SwIfIndex, Share>,
    /// The interfaces in the order of their number of keys.
    order: BTreeSet<(usize, SwIfIndex)>,
    len: usize,
}

impl Shares {
    /// Sets a key's time and rank.
    pub fn set(&mut self, key: Key, rank: Rank, time: u64) {
        self.change(key.sw_if, |share| {
            share.0[1 - rank as usize].remove(key);
            share.0[rank as usize].set(key, time);
        });
    }

    pub fn remove(&mut self, key: Key) -> Option<u64> {
        self.of.get(&key.sw_if).filter(|share| share.0.iter().any(|times| times.contains(key)))?;
        self.change(key.sw_if, |share| share.0.iter_mut().find_map(|times| times.remove(key)))
    }

    /// Removes all of an interface's keys.
    pub fn forget(&mut self, sw_if: SwIfIndex) {
        self.change(sw_if, |share| *share = Share::default());
    }

    /// A key's rank, if it is there.
    pub fn rank(&self, key: Key) -> Option<Rank> {
        let share = self.of.get(&key.sw_if)?;
        [Rank::Idle, Rank::Used].into_iter().find(|rank| share.0[*rank as usize].contains(key))
    }

    /// Number of keys.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Number of keys of an interface.
    pub fn held(&self, sw_if: SwIfIndex) -> usize {
        self.of.get(&sw_if).map_or(0, Share::len)
    }

    /// The interface with most keys.
    pub fn largest(&self) -> Option<SwIfIndex> {
        self.order.last().map(|(_, sw_if)| *sw_if)
    }

    /// An interface's keys of a rank, oldest first.
    pub fn oldest(&self, sw_if: SwIfIndex, rank: Rank) -> impl Iterator<Item = Key> {
        self.of.get(&sw_if).into_iter().flat_map(move |share| share.0[rank as usize].in_order())
    }

    /// An interface's oldest key of a rank, and its time.
    pub fn first(&self, sw_if: SwIfIndex, rank: Rank) -> Option<(u64, Key)> {
        self.of.get(&sw_if)?.0[rank as usize].first()
    }

    fn change<R>(&mut self, sw_if: SwIfIndex, f: impl FnOnce(&mut Share) -> R) -> R {
        let share = self.of.entry(sw_if).or_default();
        let before = share.len();
        let result = f(share);
        let after = share.len();
        if before != after {
            self.len = self.len + after - before;
            self.order.remove(&(before, sw_if));
            if after > 0 {
                self.order.insert((after, sw_if));
            } else {
                self.of.remove(&sw_if);
            }
        }
        result
    }
}
