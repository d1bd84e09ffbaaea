// SPDX-License-Identifier: Apache-2.0
//! The reason why packets to an address get no further, for people.

use super::{Fib, Net, Path, PathKind, PathState, RouteInfo, TableIndex, Tracked};
use crate::{AdjIndex, Interfaces, NextHop, NextHops};
use graph::World;
use std::net::IpAddr;
use wire::{Ip4, Ip6};

/// Routes that are followed one behind the other: more aren't worth telling.
const DEPTH: u32 = 8;

/// The state of a tracked route.
#[derive(Clone, Debug, Default)]
pub struct Outlook {
    /// True if packets are forwarded. `None` if there is no route to track: a tunnel with several
    /// other ends has one for each.
    pub is_resolved: Option<bool>,
    /// The reason why packets aren't forwarded, or may get no answer: no route, an interface that
    /// is down, a silent next hop.
    pub obstacle: Option<String>,
}

impl Outlook {
    /// Text for the end of a line: nothing if all is well, else a space, whether packets are
    /// forwarded, and the reason.
    pub fn suffix(&self) -> String {
        match (self.is_resolved, &self.obstacle) {
            (None | Some(true), None) => String::new(),
            (None | Some(true), Some(why)) => format!(" resolved, but {why}"),
            (Some(false), None) => " unresolved".into(),
            (Some(false), Some(why)) => format!(" unresolved: {why}"),
        }
    }
}

impl Tracked {
    /// Returns the state of the route, for people.
    pub fn outlook(self, world: &World) -> Outlook {
        // It is one of either protocol.
        let obstacle = self.of::<Ip4>(world).or_else(|| self.of::<Ip6>(world));
        Outlook { is_resolved: Some(self.is_resolved(world)), obstacle }
    }

    fn of<F: Net>(self, world: &World) -> Option<String> {
        let list = self.paths::<F>(world)?;
        let paths = list.paths.iter().map(|(path, _)| path).zip(&list.states);
        of_paths::<F>(world, None, paths, DEPTH)
    }
}

/// The obstacle of packets to an address in a table.
fn to(world: &World, table: TableIndex, address: IpAddr, depth: u32) -> Option<String> {
    let depth = depth.checked_sub(1)?;
    match address {
        IpAddr::V4(address) => to_address::<Ip4>(world, table, address, depth),
        IpAddr::V6(address) => to_address::<Ip6>(world, table, address, depth),
    }
}

#[inline(never)]
fn to_address<F: Net>(
    world: &World,
    table: TableIndex,
    address: F::Addr,
    depth: u32,
) -> Option<String> {
    let fib = world.get::<Fib<F>>();
    let none = || {
        let id = fib.table_id(table).map_or(String::new(), |id| format!(" in table {id}"));
        format!("there is no route to {address}{id}")
    };
    let Some(RouteInfo { prefix, sources, .. }) = fib.covering(table, address) else {
        return Some(none());
    };
    let Some(best) = sources.first().map(|source| &source.path_list) else { return Some(none()) };
    let kinds = || best.paths.iter().map(|(path, _)| &path.kind);
    if kinds().all(|kind| matches!(kind, PathKind::Fixed(AdjIndex::NO_ROUTE))) {
        return Some(none());
    }
    if kinds().all(|kind| {
        matches!(kind, PathKind::Fixed(AdjIndex::DROP | AdjIndex::UNREACH | AdjIndex::PROHIBIT))
    }) {
        return Some(format!("the route {prefix} drops packets"));
    }
    let paths = best.paths.iter().map(|(path, _)| path).zip(&best.states);
    of_paths::<F>(world, Some(address), paths, depth)
}

/// The first obstacle, if each of the paths has one.
fn of_paths<'a, F: Net>(
    world: &World,
    address: Option<F::Addr>,
    paths: impl Iterator<Item = (&'a Path<F::Addr>, &'a PathState)>,
    depth: u32,
) -> Option<String> {
    let mut first = None;
    for (path, state) in paths {
        let found = of_path::<F>(world, address, path, *state, depth)?;
        first.get_or_insert(found);
    }
    first
}

fn of_path<F: Net>(
    world: &World,
    address: Option<F::Addr>,
    path: &Path<F::Addr>,
    state: PathState,
    depth: u32,
) -> Option<String> {
    let down = |sw_if| world.get::<Interfaces>().get(sw_if).ok()?.why_down();
    let by = |sw_if, ip: Option<IpAddr>| {
        down(sw_if).or_else(|| is_silent(world, NextHop { sw_if, ip: ip? }))
    };
    match path.kind {
        _ if state == PathState::Looped => Some("its route leads back to itself".into()),
        PathKind::Attached { sw_if, .. } => by(sw_if, address.map(Into::into)),
        PathKind::Neighbor { sw_if, nexthop } => by(sw_if, Some(nexthop)),
        PathKind::Recursive { table, nexthop } => to(world, table, nexthop.into(), depth),
        PathKind::RecursiveOther { table, nexthop } => to(world, table, nexthop, depth),
        PathKind::Receive { address, .. } => Some(format!("{address} is our own address")),
        PathKind::Lookup(table) => to(world, table, address?.into(), depth),
        _ if state == PathState::Unresolved => Some("the target of its route isn't there".into()),
        _ => None,
    }
}

fn is_silent(world: &World, hop: NextHop) -> Option<String> {
    let name = || world.get::<Interfaces>().name(hop.sw_if);
    let by: Vec<_> = world.get::<NextHops>().down(hop)?.into_keys().collect();
    Some(format!("{} on {} doesn't answer ({})", hop.ip, name(), by.join(", ")))
}
