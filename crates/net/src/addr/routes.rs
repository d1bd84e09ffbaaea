// SPDX-License-Identifier: Apache-2.0
//! The routes of an interface's addresses. They are in the table while the interface is up, as in
//! VPP: packets to an address of an interface that is down are routed as to any other address.

use super::{Addresses, InterfaceAddresses, held, is_nominal};
use crate::AdjIndex;
use crate::fib::{Net, Path, PathKind, Source};
use cli::Error;
use graph::{SwIfIndex, World};
use std::collections::BTreeMap;
use wire::{Address, Prefix};

/// A route of an interface's addresses.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Route<A> {
    prefix: Prefix<A>,
    source: Source,
    kind: PathKind,
}

impl<A: Address> InterfaceAddresses<A> {
    /// The routes that the addresses require; of several with one prefix the first.
    fn routes<F: Net<Addr = A>>(&self, sw_if: SwIfIndex) -> Vec<Route<A>> {
        let addresses = || self.addresses.iter().copied().filter(|p| !is_nominal(p.addr()));
        let own = addresses().filter_map(|p| self.host(sw_if, p.addr()));
        let all = own.chain(addresses().flat_map(|p| network::<F>(sw_if, p)));
        let mut routes: BTreeMap<Prefix<A>, Route<A>> = BTreeMap::new();
        for route in all {
            routes.entry(route.prefix).or_insert(route);
        }
        routes.into_values().collect()
    }

    /// The route to an address itself.
    fn host(&self, sw_if: SwIfIndex, address: A) -> Option<Route<A>> {
        let hold = self.held.iter().find(|(held, _)| *held == address).map(|(_, hold)| *hold);
        let kind = held::kind(sw_if, address, hold)?;
        Some(Route { prefix: Prefix::host(address), source: Source::Interface, kind })
    }
}

/// The routes of an address's network.
fn network<F: Net>(sw_if: SwIfIndex, prefix: Prefix<F::Addr>) -> Vec<Route<F::Addr>> {
    let (address, network) = (prefix.addr(), prefix.network());
    let route = |prefix, kind| Route { prefix, source: Source::Interface, kind };
    match F::BITS - prefix.len() {
        0 => Vec::new(),
        // RFC 3021: the other address of the two is a neighbour's.
        1 if !F::IS_V6 => {
            let other = if address == network.addr() { prefix.last() } else { network.addr() };
            vec![route(Prefix::host(other), PathKind::Neighbor { sw_if, nexthop: other.into() })]
        }
        1 => vec![route(network, PathKind::Attached { sw_if, address: address.into() })],
        // The subnet-router anycast address (RFC 4291 2.6.1); that of `::/n' is no address.
        _ if F::IS_V6 && network.addr() != F::Addr::ZERO => {
            let (any, kind) = (Prefix::host(network.addr()), PathKind::Fixed(AdjIndex::RECEIVE));
            let any = Route { prefix: any, source: Source::Implicit, kind };
            vec![route(network, PathKind::Attached { sw_if, address: address.into() }), any]
        }
        _ if F::IS_V6 => {
            vec![route(network, PathKind::Attached { sw_if, address: address.into() })]
        }
        // Directed broadcasts are not forwarded unless an operator configures it (RFC 2644).
        _ => {
            let drop = |address| route(Prefix::host(address), PathKind::Fixed(AdjIndex::DROP));
            let attached = route(network, PathKind::Attached { sw_if, address: address.into() });
            vec![attached, drop(network.addr()), drop(prefix.last())]
        }
    }
}

impl<F: Net> Addresses<F> {
    /// Updates the routes of an interface's addresses to those that its addresses and state
    /// require.
    ///
    /// # Errors
    /// A full table.
    #[inline(never)]
    pub(super) fn sync_routes(&self, world: &World, sw_if: SwIfIndex) -> Result<(), Error> {
        let table = self.table_of(sw_if)?;
        let is_up = self.interfaces.get(sw_if)?.admin_up;
        let (old, new) = {
            let mut all = self.all();
            let Some(here) = all.get_mut(&sw_if) else { return Ok(()) };
            let new = if is_up { here.routes::<F>(sw_if) } else { Vec::new() };
            (std::mem::replace(&mut here.routes, new.clone()), new)
        };
        let mut done = Ok(());
        for Route { prefix, source, kind } in
            new.iter().filter(|route| !old.contains(route)).copied()
        {
            let set = self.fib.set(world, table, prefix, source, &[Path::new(kind)]);
            done = done.and(set.map(drop));
        }
        let same =
            |a: &Route<F::Addr>, b: &Route<F::Addr>| (a.prefix, a.source) == (b.prefix, b.source);
        for gone in old.iter().filter(|gone| !new.iter().any(|new| same(gone, new))) {
            // A route being gone already is the wanted result.
            let _ = self.fib.remove(world, table, gone.prefix, gone.source, &[]);
        }
        done
    }
}
