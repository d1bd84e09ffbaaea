// SPDX-License-Identifier: Apache-2.0
//! Routes of one protocol. Unlike the kernel, a peer has one route to a prefix: each message
//! replaces the one before, whatever its metric.

use crate::links::Links;
use crate::objects::Objects;
use crate::refused::Refused;
use crate::sink::{Sink, With};
use graph::World;
use linux_nl::batch::Batch;
use linux_nl::convert::{self, TableIds, destination, table_id, target_on};
use net::fib::{Changed, PathState, ResolveVia};
use net::{Fib, Net, Path, PathKind, Source, TableIndex};
use netlink::{Hop, KernelRoute, RouteKind};
use std::net::IpAddr;
use wire::{Ip4, Ip6, Prefix};

/// Number of tables of a protocol at most.
const MOST_TABLES: usize = 1024;

/// Routes of one protocol.
pub struct Routes<F: Net> {
    batch: Batch<F, With>,
    pub tables: TableIds,
}

impl<F: Net> Default for Routes<F> {
    fn default() -> Self {
        Self { batch: Batch::default(), tables: TableIds::default() }
    }
}

/// The object that a route leads by: one that has next hops of its own doesn't need it.
pub fn named(route: &KernelRoute) -> Option<u32> {
    let leads = route.hops.is_empty() && route.kind == RouteKind::Unicast;
    route.nexthop_object.filter(|_| leads)
}

/// The kind and the next hops that a route has, or that the object has that it names.
fn hops(route: &KernelRoute, objects: &Objects) -> Option<(RouteKind, Vec<Hop>)> {
    match named(route) {
        Some(id) => objects.resolve(id),
        None => Some((route.kind, route.hops.clone())),
    }
}

impl<F: Net> Routes<F> {
    /// Number of changes that the tables don't have yet, or of their paths, if these are more.
    pub fn pending(&self) -> usize {
        self.batch.len().max(self.batch.paths())
    }

    /// Sets a route, and returns the number of its paths. One that can't be used takes the former
    /// route to its prefix along: packets don't go where the peer doesn't send them any more.
    #[expect(clippy::too_many_arguments, reason = "parts of one engine")]
    pub fn set(
        &mut self,
        world: &World,
        route: &KernelRoute,
        with: With,
        source: Source,
        has_room: bool,
        of: (&Objects, &mut Links),
        others: &mut TableIds,
    ) -> Result<usize, Refused> {
        let prefix = match destination::<F>(route) {
            Ok(prefix) => prefix,
            Err(why) => {
                self.displaced(world, route);
                return Err(why.into());
            }
        };
        let table = self.tables.get::<F>(world, route.table, source, MOST_TABLES);
        let table = table.ok_or(Refused::Table)?;
        if !has_room && !has_route::<F>(world, table, prefix, source) {
            return Err(Refused::Routes);
        }
        let (objects, links) = of;
        let hops = hops(route, objects).ok_or(Refused::Object);
        let paths = hops.and_then(|(kind, hops)| {
            let other = &mut |id| other_table::<F>(world, id, source, others);
            paths::<F>((kind, &hops), (table, route.table), links, other)
        });
        match paths {
            Ok(paths) => {
                self.batch.push(table, prefix, &paths, with);
                Ok(paths.len())
            }
            Err(why) => {
                self.batch.push(table, prefix, &[], With::default());
                Err(why)
            }
        }
    }

    /// Withdraws what a route that isn't taken over has replaced at the peer: the kernel's own
    /// instead of a daemon's. One for some sources only is beside the others to its prefix.
    fn displaced(&mut self, world: &World, route: &KernelRoute) {
        let prefix = F::of_ip(route.prefix).and_then(|addr| Prefix::new(addr, route.len));
        let Some(prefix) = prefix.filter(|_| !route.has_source && !route.is_cached) else { return };
        if let Ok(table) = world.get::<Fib<F>>().find_table(table_id(route.table)) {
            self.batch.push(table, prefix.network(), &[], With::default());
        }
    }

    /// Withdraws a route.
    pub fn withdraw(&mut self, world: &World, route: &KernelRoute) -> Result<(), Refused> {
        let prefix = destination::<F>(route)?;
        // No table, no route.
        if let Ok(table) = world.get::<Fib<F>>().find_table(table_id(route.table)) {
            self.batch.push(table, prefix, &[], With::default());
        }
        Ok(())
    }

    /// Gives the changes to the tables.
    pub fn flush(&mut self, world: &World, source: Source, sink: &mut Sink<'_>) {
        // The tables are locked until all are changed.
        let mut answers = Vec::new();
        self.batch.flush(world, source, |table, prefix, with, changed| match changed {
            Ok(Changed::Set(index)) => {
                sink.set(index, with);
                answers.extend((with.answer.1 > 0).then_some((table, prefix, with)));
            }
            Ok(Changed::Removed(index)) => sink.removed(index),
            Ok(Changed::Nothing) => {}
            Err(error) => {
                log::debug!(target: "fpm", "route {prefix}: {error}");
                sink.refuse(Refused::Table);
            }
        });
        for (table, prefix, with) in answers {
            if is_in_force::<F>(world, table, prefix, source) {
                sink.answer(with);
            }
        }
    }

    /// Sets routes anew whose objects have changed, among at most `n` prefixes of a table behind
    /// one. Returns the last one, if there may be more.
    pub fn set_anew(
        &mut self,
        world: &World,
        (table, after, n): (TableIndex, Option<Prefix<F::Addr>>, usize),
        source: Source,
        object_of: impl Fn(usize) -> Option<u32>,
        (objects, links): (&Objects, &mut Links),
        others: &mut TableIds,
    ) -> Option<Prefix<F::Addr>> {
        let fib = world.get::<Fib<F>>();
        let id = fib.table_id(table)?;
        let mut found = Vec::new();
        let last = fib.for_some_of(table, source, after, n, |prefix, index| {
            found.extend(object_of(index.at()).map(|object| (prefix, object)));
        });
        for (prefix, object) in found {
            let other = &mut |id| other_table::<F>(world, id, source, others);
            let paths = objects
                .resolve(object)
                .and_then(|(kind, hops)| paths::<F>((kind, &hops), (table, id), links, other).ok());
            // As in the kernel, a route goes with its object.
            let with = With { object, answer: (0, 0) };
            self.batch.push(table, prefix, &paths.unwrap_or_default(), with);
        }
        last
    }

    /// Marks all routes as stale.
    pub fn mark(&self, world: &World, source: Source) {
        let fib = world.get::<Fib<F>>();
        for table in self.tables.tables::<F>(world) {
            // One that an operator has deleted meanwhile has none.
            let _ = fib.replace_begin(table, source);
        }
    }

    /// Removes stale routes among at most `n` prefixes of a table behind one. Returns the last one,
    /// if there may be more.
    pub fn sweep(
        &self,
        world: &World,
        table: TableIndex,
        source: Source,
        after: Option<Prefix<F::Addr>>,
        n: usize,
    ) -> Option<Prefix<F::Addr>> {
        world.get::<Fib<F>>().replace_end_some(world, table, source, after, n).ok().flatten()
    }
}

/// Returns true if a source has a route to a prefix.
fn has_route<F: Net>(
    world: &World,
    table: TableIndex,
    prefix: Prefix<F::Addr>,
    source: Source,
) -> bool {
    let route = world.get::<Fib<F>>().route(table, prefix);
    route.is_some_and(|route| route.sources.iter().any(|of| of.source == source))
}

/// Returns true if packets take the route of a source to a prefix: no better source has one, and a
/// path can be used.
fn is_in_force<F: Net>(
    world: &World,
    table: TableIndex,
    prefix: Prefix<F::Addr>,
    source: Source,
) -> bool {
    let route = world.get::<Fib<F>>().route(table, prefix);
    let sources = route.iter().flat_map(|route| &route.sources);
    let best = sources.min_by_key(|of| of.source).filter(|of| of.source == source);
    let is_usable = |state: &PathState| matches!(state, PathState::Resolved | PathState::Down);
    best.is_some_and(|of| of.path_list.states.iter().any(is_usable))
}

/// The table of the same id of the other protocol, for next hops of that protocol (RFC 8950).
fn other_table<F: Net>(
    world: &World,
    id: u32,
    source: Source,
    tables: &mut TableIds,
) -> Option<TableIndex> {
    match F::IS_V6 {
        true => tables.get::<Ip4>(world, id, source, MOST_TABLES),
        false => tables.get::<Ip6>(world, id, source, MOST_TABLES),
    }
}

/// The paths over these next hops of a route in a table of this index and id.
///
/// A next hop on a mirrored interface is a neighbour there. One on another interface of the peer,
/// or on none, is reached by its gateway: by the connected network here that has it.
fn paths<F: Net>(
    (kind, hops): (RouteKind, &[Hop]),
    (table, id): (TableIndex, u32),
    links: &mut Links,
    other: &mut dyn FnMut(u32) -> Option<TableIndex>,
) -> Result<Vec<Path>, Refused> {
    let mut paths = convert::paths(kind, hops, 0, |hop| {
        if let Some(sw_if) = links.get(hop.index) {
            return Some(target_on(sw_if, hop, F::IS_V6));
        }
        // A link-local address means nothing without its link.
        let is_link_local =
            |ip: &IpAddr| matches!(ip, IpAddr::V6(ip) if ip.is_unicast_link_local());
        let nexthop = hop.gateway.filter(|gateway| !is_link_local(gateway))?;
        let table = if nexthop.is_ipv6() == F::IS_V6 { table } else { other(id)? };
        Some(PathKind::Recursive { table, nexthop })
    })?;
    for path in &mut paths {
        if matches!(path.kind, PathKind::Recursive { .. }) {
            path.resolve_via = ResolveVia::Attached;
        }
    }
    Ok(paths)
}
