// SPDX-License-Identifier: Apache-2.0
//! The reason why packets to an address get no further, for people.

use super::key::bits_of;
use super::{Path, PathKind, PathListInfo, PathState, RouteTables, TableIndex, TableRef, Tracked};
use crate::{AdjIndex, Interfaces, NextHop, NextHops};
use graph::World;
use std::net::IpAddr;

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
            (Some(false), Some(why)) => format!(" unresolved ({why})"),
        }
    }
}

impl Tracked {
    /// Returns the state of the route, for people.
    pub fn outlook(self, world: &World) -> Outlook {
        let obstacle = self.paths(world).and_then(|list| of_paths(world, None, &list, DEPTH));
        Outlook { is_resolved: Some(self.is_resolved(world)), obstacle }
    }
}

/// The obstacle of packets to an address in a table.
fn to(world: &World, table: TableIndex, address: IpAddr, depth: u32) -> Option<String> {
    let depth = depth.checked_sub(1)?;
    let tables = world.get::<RouteTables>();
    let table = TableRef::of_address(table, address);
    let none = || {
        let id = tables.table_id(table).map_or(String::new(), |id| format!(" in table {id}"));
        format!("there is no route to {address}{id}")
    };
    let Some((prefix, best)) = tables.best_paths(table, bits_of(address)) else {
        return Some(none());
    };
    let kinds = || best.paths.iter().map(|(path, _)| &path.kind);
    if kinds().all(|kind| matches!(kind, PathKind::Fixed(AdjIndex::NO_ROUTE))) {
        return Some(none());
    }
    if kinds().all(|kind| {
        matches!(kind, PathKind::Fixed(AdjIndex::DROP | AdjIndex::UNREACH | AdjIndex::PROHIBIT))
    }) {
        return Some(format!("the route {prefix} drops packets"));
    }
    of_paths(world, Some(address), &best, depth)
}

/// The first obstacle, if each of the paths has one.
fn of_paths(
    world: &World,
    address: Option<IpAddr>,
    list: &PathListInfo,
    depth: u32,
) -> Option<String> {
    let mut first = None;
    for ((path, _), state) in list.paths.iter().zip(&list.states) {
        let found = of_path(world, address, path, *state, depth)?;
        first.get_or_insert(found);
    }
    first
}

fn of_path(
    world: &World,
    address: Option<IpAddr>,
    path: &Path,
    state: PathState,
    depth: u32,
) -> Option<String> {
    let down = |sw_if| world.get::<Interfaces>().get(sw_if).ok()?.why_down();
    let by = |sw_if, ip: Option<IpAddr>| {
        down(sw_if).or_else(|| is_silent(world, NextHop { sw_if, ip: ip? }))
    };
    match path.kind {
        _ if state == PathState::Looped => Some("its route leads back to itself".into()),
        PathKind::Attached { sw_if, .. } => by(sw_if, address),
        PathKind::Neighbor { sw_if, nexthop } => by(sw_if, Some(nexthop)),
        PathKind::Recursive { table, nexthop } => to(world, table, nexthop, depth),
        PathKind::Receive { address, .. } => Some(format!("{address} is our own address")),
        PathKind::Lookup(table) => to(world, table.index, address?, depth),
        _ if state == PathState::Unresolved => Some("the target of its route isn't there".into()),
        _ => None,
    }
}

fn is_silent(world: &World, hop: NextHop) -> Option<String> {
    let name = || world.get::<Interfaces>().name(hop.sw_if);
    let by: Vec<_> = world.get::<NextHops>().down(hop)?.into_keys().collect();
    Some(format!("{} on {} doesn't answer ({})", hop.ip, name(), by.join(", ")))
}
