// SPDX-License-Identifier: Apache-2.0
//! Interfaces as messages name them: by the kernel's index in the peer's namespace.

use crate::settings::Settings;
use graph::{SwIfIndex, World};
use linux_cp::{Made, Pair, Pairs};
use std::collections::{BTreeMap, BTreeSet};

/// Number of unknown interfaces that are remembered.
const MISSES: usize = 1024;

/// Mirrored interfaces by the index of the kernel's.
#[derive(Default)]
pub struct Links {
    pairs: BTreeMap<u32, SwIfIndex>,
    /// Interfaces without a pair that next hops have named since the peer connected.
    misses: BTreeSet<u32>,
}

impl Links {
    /// The mirrored interface of an index.
    pub fn get(&mut self, index: u32) -> Option<SwIfIndex> {
        let found = self.pairs.get(&index).copied();
        if found.is_none() && index != 0 && self.misses.len() < MISSES {
            self.misses.insert(index);
        }
        found
    }

    /// Another peer has other interfaces without a pair.
    pub fn forget_misses(&mut self) {
        self.misses.clear();
    }

    /// Takes the pairs as they are now. Returns true if next hops have named the interface of a new
    /// pair: they lead elsewhere now.
    pub fn set(&mut self, pairs: BTreeMap<u32, SwIfIndex>) -> bool {
        if self.pairs == pairs {
            return false;
        }
        let is_new = |(index, phy): (&u32, &SwIfIndex)| match self.pairs.get(index) {
            Some(known) => known != phy,
            None => self.misses.contains(index) || self.misses.len() == MISSES,
        };
        let must_read_again = pairs.iter().any(is_new);
        self.pairs = pairs;
        must_read_again
    }
}

/// The pairs in the namespace of a listener's peer.
pub fn pairs(world: &World, listener: &Settings) -> BTreeMap<u32, SwIfIndex> {
    let namespace = listener.peers_namespace(world.get::<linux_cp::Settings>().get());
    let all = world.get::<Pairs>().list().into_iter().map(|(_, pair)| pair);
    let is_there = |pair: &Pair| pair.made != Made::Given && pair.namespace == namespace;
    all.filter(is_there).map(|pair| (pair.vif, pair.phy)).collect()
}
