// SPDX-License-Identifier: Apache-2.0
//! Texts of notes that several commands give ([`cli::Matches::note`]).

use crate::{Addresses, AdjIndex, Fib, Interfaces, Net, Path, PathKind, TableIndex};
use cli::Matches;
use graph::{SwIfIndex, World};
use std::net::IpAddr;
use wire::{Ip4, Ip6};

/// Note on a next hop that is an address of this router; none if it is another's. An interface
/// beside it says in which table, or else `table` does.
pub fn own_next_hop(
    world: &World,
    nexthop: IpAddr,
    by: Option<SwIfIndex>,
    table: TableIndex,
) -> Option<String> {
    fn owner<F: Net>(
        world: &World,
        nexthop: F::Addr,
        by: Option<SwIfIndex>,
        table: TableIndex,
    ) -> Option<SwIfIndex> {
        let addresses = world.get::<Addresses<F>>();
        let table = by.and_then(|by| addresses.table_of(by).ok()).unwrap_or(table);
        addresses.owner(table, nexthop)
    }
    let owner = match nexthop {
        IpAddr::V4(nexthop) => owner::<Ip4>(world, nexthop, by, table),
        IpAddr::V6(nexthop) => owner::<Ip6>(world, nexthop, by, table),
    };
    let name = world.get::<Interfaces>().name(owner?);
    Some(format!("the next hop {nexthop} is this router's own address, of {name}"))
}

/// Notes on next hops of paths that are addresses of this router.
pub fn own_next_hops(world: &World, m: &Matches, paths: &[Path]) {
    for path in paths {
        m.note(|| match path.kind {
            PathKind::Neighbor { sw_if, nexthop } => {
                own_next_hop(world, nexthop, Some(sw_if), TableIndex::DEFAULT)
            }
            PathKind::Recursive { table, nexthop } => own_next_hop(world, nexthop, None, table),
            _ => None,
        });
    }
}

/// Note on a tunnel's source that is no address of this router in a table, by its id; none if it
/// is one, or no address at all.
pub fn foreign_source(world: &World, source: IpAddr, table: u32) -> Option<String> {
    fn is_own<F: Net>(world: &World, source: F::Addr, table: u32) -> Option<bool> {
        let fib = world.get::<Fib<F>>();
        let table = fib.find_table(table).ok()?;
        let receives = || {
            let route = fib.covering(table, source)?;
            let (best, _) = *route.sources.first()?.paths.first()?;
            Some(matches!(best.kind, PathKind::Receive { .. } | PathKind::Fixed(AdjIndex::RECEIVE)))
        };
        let owner = world.get::<Addresses<F>>().owner(table, source);
        Some(owner.is_some() || receives().unwrap_or(false))
    }
    if source.is_unspecified() {
        return None;
    }
    let is_own = match source {
        IpAddr::V4(source) => is_own::<Ip4>(world, source, table),
        IpAddr::V6(source) => is_own::<Ip6>(world, source, table),
    };
    (!is_own?).then(|| {
        let place = if table == 0 { String::new() } else { format!(" in table {table}") };
        format!(
            "the source {source} is no address of this router{place}: packets to it don't come \
             out of the tunnel until it is one"
        )
    })
}
