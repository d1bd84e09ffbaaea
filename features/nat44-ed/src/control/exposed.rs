// SPDX-License-Identifier: Apache-2.0
//! Addresses that the world knows: they are local in the tables of the interfaces to it, so that
//! the router answers for them there.

use super::{State, source, table_of};
use graph::{SwIfIndex, World};
use net::{Fib, Path, PathKind, TableIndex};
use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use wire::{Ip4, Prefix};

/// The addresses, and where they are local.
#[derive(Default)]
pub struct Exposed {
    /// With the number of uses.
    addresses: BTreeMap<Ipv4Addr, usize>,
    /// Interfaces to the world, with the index of their table.
    interfaces: BTreeMap<SwIfIndex, u32>,
}

fn set(world: &World, addr: Ipv4Addr, (sw_if, table): (SwIfIndex, u32), on: bool) {
    let (fib, source) = (world.get::<Fib<Ip4>>(), source(world));
    let path = [Path::new(PathKind::Receive { sw_if, address: addr.into() })];
    let (table, host) = (TableIndex(table), Prefix::host(addr));
    let done = match on {
        true => fib.add(world, table, host, source, &path).map(|_| ()),
        false => fib.remove(world, table, host, source, &path),
    };
    if let Err(e) = done.map_err(|e| e.to_string())
        && on
    {
        log::warn!("NAT44-ED: {addr} isn't answered for: {e}");
    }
}

impl Exposed {
    /// Forgets all, when the interfaces have been removed.
    pub fn clear(&mut self) {
        *self = Self::default();
    }
}

impl State {
    /// One more use of an address.
    pub(super) fn expose(&mut self, world: &World, addr: Ipv4Addr) {
        let uses = self.exposed.addresses.entry(addr).or_default();
        *uses += 1;
        if *uses == 1 {
            let all = self.exposed.interfaces.iter();
            all.for_each(|(sw_if, table)| set(world, addr, (*sw_if, *table), true));
        }
    }

    /// One use of an address less.
    pub(super) fn conceal(&mut self, world: &World, addr: Ipv4Addr) {
        let Some(uses) = self.exposed.addresses.get_mut(&addr) else { return };
        *uses -= 1;
        if *uses == 0 {
            self.exposed.addresses.remove(&addr);
            let all = self.exposed.interfaces.iter();
            all.for_each(|(sw_if, table)| set(world, addr, (*sw_if, *table), false));
        }
    }

    /// Makes the addresses local where an interface leads to the world, or no longer.
    pub(super) fn expose_by(&mut self, world: &World, sw_if: SwIfIndex, on: bool) {
        if let Some(table) = self.exposed.interfaces.remove(&sw_if) {
            let all = self.exposed.addresses.keys();
            all.for_each(|addr| set(world, *addr, (sw_if, table), false));
        }
        if on {
            let table = table_of(world, sw_if);
            self.exposed.interfaces.insert(sw_if, table);
            let all = self.exposed.addresses.keys();
            all.for_each(|addr| set(world, *addr, (sw_if, table), true));
        }
    }

    /// Follows an interface to another table.
    pub(super) fn move_routes(&mut self, world: &World, sw_if: SwIfIndex) {
        let old = self.exposed.interfaces.get(&sw_if).copied();
        if old.is_some_and(|old| old != table_of(world, sw_if)) {
            self.expose_by(world, sw_if, true);
        }
    }
}
