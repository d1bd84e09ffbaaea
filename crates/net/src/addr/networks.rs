// SPDX-License-Identifier: Apache-2.0
//! The networks of all interfaces' addresses in order: finds overlaps of a new address without a
//! scan of the others.
//!
//! Networks of one table are disjoint, as addresses that overlap are refused. So a network that
//! covers a new one is the last that begins before it, and any network within a new one is the
//! first that begins behind its start.

use crate::fib::TableIndex;
use graph::SwIfIndex;
use std::collections::BTreeSet;
use wire::{Address, Prefix};

/// A table, a network's first address and length, an address in it, and its interface.
type Key<A> = (TableIndex, A, u8, A, SwIfIndex);

/// The reason why an address can't be given to an interface: the conflicting address, and its
/// interface.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum AddressConflict<A: std::fmt::Display> {
    /// The same address.
    Same(Prefix<A>, SwIfIndex),
    /// The networks overlap, and aren't one network of one interface.
    Overlap(Prefix<A>, SwIfIndex),
}

/// The addresses of all interfaces by table and network.
pub(super) struct Networks<A>(BTreeSet<Key<A>>);

impl<A> Default for Networks<A> {
    fn default() -> Self {
        Self(BTreeSet::new())
    }
}

fn key<A: Address>(table: TableIndex, prefix: Prefix<A>, sw_if: SwIfIndex) -> Key<A> {
    (table, prefix.network().addr(), prefix.len(), prefix.addr(), sw_if)
}

/// The address and its interface.
fn found<A: Address>((_, _, len, addr, sw_if): &Key<A>) -> Option<(Prefix<A>, SwIfIndex)> {
    Some((Prefix::new(*addr, *len)?, *sw_if))
}

impl<A: Address> Networks<A> {
    pub fn insert(&mut self, table: TableIndex, prefix: Prefix<A>, sw_if: SwIfIndex) {
        self.0.insert(key(table, prefix, sw_if));
    }

    pub fn remove(&mut self, table: TableIndex, prefix: Prefix<A>, sw_if: SwIfIndex) {
        self.0.remove(&key(table, prefix, sw_if));
    }

    /// Returns the network that contains an address, with any of its addresses.
    fn around(&self, table: TableIndex, addr: A) -> Option<(Prefix<A>, SwIfIndex)> {
        let end = (table, addr, u8::MAX, Prefix::<A>::DEFAULT.last(), SwIfIndex(u32::MAX));
        let start = (table, A::ZERO, 0, A::ZERO, SwIfIndex(0));
        self.0
            .range(start..=end)
            .next_back()
            .and_then(found)
            .filter(|(prefix, _)| prefix.contains(addr))
    }

    /// Returns the interface that has an address in a table, and the address with its length.
    pub fn owner(&self, table: TableIndex, addr: A) -> Option<(Prefix<A>, SwIfIndex)> {
        let (network, _) = self.around(table, addr)?;
        let prefix = Prefix::new(addr, network.len())?;
        self.0
            .range(key(table, prefix, SwIfIndex(0))..)
            .next()
            .and_then(found)
            .filter(|(p, _)| *p == prefix)
    }

    /// Returns the conflict of a new address, if there is one.
    pub fn taken(
        &self,
        table: TableIndex,
        new: Prefix<A>,
        sw_if: SwIfIndex,
    ) -> Option<AddressConflict<A>> {
        if let Some((old, other)) = self.owner(table, new.addr()) {
            return Some(AddressConflict::Same(old, other));
        }
        let first = new.network().addr();
        let within = (table, first, 0, A::ZERO, SwIfIndex(0))
            ..=(table, new.last(), u8::MAX, Prefix::<A>::DEFAULT.last(), SwIfIndex(u32::MAX));
        let other =
            self.0.range(within).next().and_then(found).or_else(|| self.around(table, first))?;
        // An interface may have several addresses of one network.
        let ours = other.1 == sw_if && other.0.network() == new.network();
        (!ours).then_some(AddressConflict::Overlap(other.0, other.1))
    }
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;
    use testkit::Rng;

    /// Linear search as an oracle: `Some(true)` if the address is taken, `Some(false)` if its
    /// network overlaps with another.
    fn slow(
        all: &[(TableIndex, Prefix<Ipv4Addr>, SwIfIndex)],
        (table, new, sw_if): (TableIndex, Prefix<Ipv4Addr>, SwIfIndex),
    ) -> Option<bool> {
        let there = || all.iter().filter(|(t, ..)| *t == table);
        if there().any(|(_, old, _)| old.addr() == new.addr()) {
            return Some(true);
        }
        let overlaps = |(_, old, other): &&(TableIndex, Prefix<Ipv4Addr>, SwIfIndex)| {
            let same = *other == sw_if && old.network() == new.network();
            !same && (old.covers(&new) || new.covers(old))
        };
        there().any(|old| overlaps(&old)).then_some(false)
    }

    #[suite::test]
    fn any_addresses_are_taken_as_a_look_at_all_says() {
        let mut seen = [0; 3];
        for seed in 0..200 {
            let mut rng = Rng::new(seed);
            let (mut networks, mut all) = (Networks::default(), Vec::new());
            for _ in 0..300 {
                let table = TableIndex(rng.below(2) as u32);
                let sw_if = SwIfIndex(1 + rng.below(4) as u32);
                let addr = Ipv4Addr::from_bits((10 << 24) + rng.below(256) as u32);
                let new = Prefix::new(addr, 22 + rng.below(11) as u8).expect("32 bits at most");
                let taken = networks.taken(table, new, sw_if);
                let expected = slow(&all, (table, new, sw_if));
                let is_same = taken.map(|taken| matches!(taken, AddressConflict::Same(..)));
                assert_eq!(
                    is_same, expected,
                    "seed {seed}: {new} in {table:?} of {sw_if:?}, there are {all:?}"
                );
                if let Some(
                    AddressConflict::Same(old, other) | AddressConflict::Overlap(old, other),
                ) = taken
                {
                    assert!(
                        all.contains(&(table, old, other)),
                        "seed {seed}: {old} of {other:?}: {all:?}"
                    );
                }
                seen[expected.map_or(0, |same| 1 + usize::from(same))] += 1;
                if taken.is_none() {
                    networks.insert(table, new, sw_if);
                    all.push((table, new, sw_if));
                }
                if rng.below(3) == 0 && !all.is_empty() {
                    let (table, old, sw_if) = all.swap_remove(rng.below(all.len()));
                    networks.remove(table, old, sw_if);
                }
                let addr = Ipv4Addr::from_bits((10 << 24) + rng.below(256) as u32);
                let owner = all.iter().find(|(t, p, _)| *t == table && p.addr() == addr);
                assert_eq!(
                    networks.owner(table, addr),
                    owner.map(|(_, p, i)| (*p, *i)),
                    "seed {seed}: {all:?}"
                );
            }
        }
        assert!(seen.iter().all(|n| *n > 1000), "free, overlapping and same ones: {seen:?}");
    }
}
