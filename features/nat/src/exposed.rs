// SPDX-License-Identifier: Apache-2.0
//! Addresses that the world knows: they are local in the tables of the interfaces to it, so that
//! the router answers for them there. A kind without such interfaces has routes in a table that
//! lead to a node of its own.

use graph::{SwIfIndex, World};
use net::{Addresses, Fib, ObjectType, Path, PathKind, Source, TableIndex};
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
    /// The object that routes lead to, and the index of their table.
    object: Option<(&'static ObjectType, u32)>,
}

fn set(of: (&World, Source), addr: Ipv4Addr, (sw_if, table): (SwIfIndex, u32), on: bool) {
    set_route(of, addr, PathKind::Receive { sw_if, address: addr.into() }, (table, on));
}

fn set_route(
    (world, source): (&World, Source),
    addr: Ipv4Addr,
    path: PathKind,
    (table, on): (u32, bool),
) {
    let fib = world.get::<Fib<Ip4>>();
    let path = [Path::new(path)];
    let (table, host) = (TableIndex(table), Prefix::host(addr));
    let done = match on {
        true => fib.add(world, table, host, source, &path).map(|_| ()),
        false => fib.remove(world, table, host, source, &path),
    };
    if let Err(e) = done.map_err(|e| e.to_string())
        && on
    {
        log::warn!("NAT: {addr} isn't answered for: {e}");
    }
}

/// Index of an interface's table.
fn table_of(world: &World, sw_if: SwIfIndex) -> u32 {
    world.get::<Addresses<Ip4>>().table_of(sw_if).map_or(0, |index| index.0)
}

impl Exposed {
    /// Forgets all, when the interfaces have been removed.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// Has routes to the addresses lead to an object, in the table of an index; before there are
    /// any.
    pub fn lead_to(&mut self, object: &'static ObjectType, table: u32) {
        self.object = Some((object, table));
    }

    fn lead(&self, of: (&World, Source), addr: Ipv4Addr, on: bool) {
        if let Some((object, table)) = self.object {
            set_route(of, addr, PathKind::Object(object, 0), (table, on));
        }
    }

    /// Removes the routes to objects, and forgets all, when the interfaces have been removed.
    pub fn end(&mut self, of: (&World, Source)) {
        self.addresses.keys().for_each(|addr| self.lead(of, *addr, false));
        self.clear();
    }

    /// One more use of an address. The routes have this source.
    pub fn expose(&mut self, of: (&World, Source), addr: Ipv4Addr) {
        let uses = self.addresses.entry(addr).or_default();
        *uses += 1;
        if *uses == 1 {
            let all = self.interfaces.iter();
            all.for_each(|(sw_if, table)| set(of, addr, (*sw_if, *table), true));
            self.lead(of, addr, true);
        }
    }

    /// One use of an address less.
    pub fn conceal(&mut self, of: (&World, Source), addr: Ipv4Addr) {
        let Some(uses) = self.addresses.get_mut(&addr) else { return };
        *uses -= 1;
        if *uses == 0 {
            self.addresses.remove(&addr);
            let all = self.interfaces.iter();
            all.for_each(|(sw_if, table)| set(of, addr, (*sw_if, *table), false));
            self.lead(of, addr, false);
        }
    }

    /// Makes the addresses local where an interface leads to the world, or no longer.
    pub fn expose_by(&mut self, of: (&World, Source), sw_if: SwIfIndex, on: bool) {
        if let Some(table) = self.interfaces.remove(&sw_if) {
            self.addresses.keys().for_each(|addr| set(of, *addr, (sw_if, table), false));
        }
        if on {
            let table = table_of(of.0, sw_if);
            self.interfaces.insert(sw_if, table);
            self.addresses.keys().for_each(|addr| set(of, *addr, (sw_if, table), true));
        }
    }

    /// Follows an interface to another table.
    pub fn move_routes(&mut self, of: (&World, Source), sw_if: SwIfIndex) {
        let old = self.interfaces.get(&sw_if).copied();
        if old.is_some_and(|old| old != table_of(of.0, sw_if)) {
            self.expose_by(of, sw_if, true);
        }
    }
}
