// SPDX-License-Identifier: Apache-2.0
//! Lookup tables: what differs between IPv4, IPv6 and other keys.

use super::{FlowHash, Net, RouteIndex, RouteKey, TableIndex};
use crate::{Fib, TableUsage};
use graph::World;
use std::sync::atomic::AtomicU32;
use std::sync::{Arc, OnceLock};
use tables::{Forest, Full, Leaf, Lpm, ResultKind, Route};
use wire::{Family, Prefix};

/// A lookup table, which maps prefixes to routes. It is the only part of routing that a link type
/// has of its own: path lists and their resolution are the same for all.
pub trait Lookup: Send + Sync {
    /// Number of bits of a key.
    fn width(&self) -> u8;
    /// The route of exactly this prefix.
    fn get(&self, key: RouteKey) -> Option<RouteIndex>;
    /// The longest prefix of at most `len` bits that covers a key, and its route.
    fn covering(&self, bits: u128, len: u8) -> Option<(RouteKey, RouteIndex)>;
    /// Makes packets to a prefix take the adjacency of a leaf, and count for its route.
    ///
    /// # Errors
    /// No memory.
    fn insert(&self, key: RouteKey, leaf: Leaf) -> Result<(), Full>;
    /// Inserts prefixes that are new, in ascending order; returns how many were inserted before
    /// memory ended.
    fn insert_all(&self, leaves: &[(RouteKey, Leaf)]) -> usize;
    /// Removes a prefix.
    fn remove(&self, key: RouteKey);
    /// Calls `f` on the prefixes after one, or all, in order, until it returns false.
    fn walk(&self, after: Option<RouteKey>, f: &mut dyn FnMut(RouteKey, RouteIndex) -> bool);
    /// Number of prefixes.
    fn count(&self) -> usize;
    /// Number of prefixes and the memory that they take.
    fn usage(&self) -> TableUsage;
    /// Sets whether lookups return routes beside adjacencies.
    fn set_wanted(&self, wanted: ResultKind);
    /// Formats a prefix.
    fn text(&self, key: RouteKey) -> String;
    /// Describes an interface that keeps the table of this index and id, if there is one.
    fn bound_interface(&self, world: &World, index: TableIndex, id: Option<u32>) -> Option<String>;
    /// Removes what else has the table's index, before the index is free. Routes aren't locked.
    fn forget(&self, world: &World, index: TableIndex, id: Option<u32>);
}

/// The last key of a prefix.
pub(super) fn last_of(key: RouteKey, width: u8) -> u128 {
    key.bits | 1u128.checked_shl(u32::from(width - key.len)).map_or(u128::MAX, |bit| bit - 1)
}

/// A table of IPv4 or IPv6 routes.
pub(super) struct IpTable<F: Net> {
    pub lpm: Lpm<F::Key>,
    /// The bits of a [`FlowHash`].
    pub flow: AtomicU32,
    /// The entry of its default route, which is always there.
    pub default: OnceLock<RouteIndex>,
}

impl<F: Net> IpTable<F> {
    pub fn new(forest: &Arc<Forest>) -> Result<Self, Full> {
        Ok(Self {
            lpm: Lpm::new(forest)?,
            flow: FlowHash::default().bits().into(),
            default: OnceLock::new(),
        })
    }
}

fn key_of<F: Net>(Route { key, len, leaf }: Route<F::Key>) -> (RouteKey, RouteIndex) {
    (RouteKey { bits: F::bits_of_key(key), len }, RouteIndex(leaf.route))
}

impl<F: Net> Lookup for IpTable<F> {
    fn width(&self) -> u8 {
        <F as Family>::BITS
    }

    fn get(&self, RouteKey { bits, len }: RouteKey) -> Option<RouteIndex> {
        self.lpm.get(F::key_of_bits(bits), len).map(|leaf| RouteIndex(leaf.route))
    }

    fn covering(&self, bits: u128, len: u8) -> Option<(RouteKey, RouteIndex)> {
        self.lpm.covering(F::key_of_bits(bits), len).map(key_of::<F>)
    }

    fn insert(&self, RouteKey { bits, len }: RouteKey, leaf: Leaf) -> Result<(), Full> {
        self.lpm.insert(F::key_of_bits(bits), len, leaf).map(drop)
    }

    fn insert_all(&self, leaves: &[(RouteKey, Leaf)]) -> usize {
        let route = |(RouteKey { bits, len }, leaf): &(RouteKey, Leaf)| Route {
            key: F::key_of_bits(*bits),
            len: *len,
            leaf: *leaf,
        };
        let routes: Vec<_> = leaves.iter().map(route).collect();
        self.lpm.insert_all(&routes)
    }

    fn remove(&self, RouteKey { bits, len }: RouteKey) {
        self.lpm.remove(F::key_of_bits(bits), len);
    }

    fn walk(&self, after: Option<RouteKey>, f: &mut dyn FnMut(RouteKey, RouteIndex) -> bool) {
        let after = after.map(|RouteKey { bits, len }| (F::key_of_bits(bits), len));
        self.lpm.walk(after, &mut |route| {
            let (key, route) = key_of::<F>(route);
            f(key, route)
        });
    }

    fn count(&self) -> usize {
        self.lpm.len()
    }

    fn usage(&self) -> TableUsage {
        TableUsage::of(&self.lpm)
    }

    fn set_wanted(&self, wanted: ResultKind) {
        self.lpm.set_wanted(wanted);
    }

    fn text(&self, key: RouteKey) -> String {
        F::prefix(key).to_string()
    }

    fn bound_interface(&self, world: &World, index: TableIndex, id: Option<u32>) -> Option<String> {
        world.get::<Fib<F>>().bound_interface(world, index, id)
    }

    fn forget(&self, world: &World, index: TableIndex, id: Option<u32>) {
        world.get::<Fib<F>>().forget_table(world, index, id);
    }
}

/// The prefix of a key.
pub(super) fn key<F: Net>(prefix: Prefix<F::Addr>) -> RouteKey {
    let network = prefix.network();
    RouteKey { bits: F::bits_of_key(F::key(network.addr())), len: network.len() }
}
