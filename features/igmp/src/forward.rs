// SPDX-License-Identifier: Apache-2.0
//! Multicast routes: those of proxies, and those by which IGMP's own groups are delivered.

use crate::control::Igmp;
use crate::filter::{Filter, Sources};
use crate::table::Routes;
use graph::{SwIfIndex, World};
use net::mfib::{Change, EntryFlags, Group, ItfFlags, Mpath, MpathKind, from};
use net::{Addresses, Fib, Mfib, Source};
use std::collections::BTreeSet;
use std::net::Ipv4Addr;
use wire::igmp::{ALL_HOSTS, ALL_IGMP3_ROUTERS};
use wire::{Ip4, Prefix};

fn path(sw_if: SwIfIndex, flags: ItfFlags) -> Mpath {
    Mpath { kind: MpathKind::Interface { sw_if, nexthop: None }, flags }
}

fn group_of(group: Ipv4Addr, source: Option<Ipv4Addr>) -> Group<Ipv4Addr> {
    match source {
        Some(source) => from::<Ip4>(source, group),
        None => Group::any(Prefix::host(group)),
    }
}

/// The routes of a group: packets are accepted from the upstream interface, and forwarded to the
/// downstream interfaces that listen to their source (RFC 3376 6.3). A source that some interface
/// names has a route of its own.
fn routes(group: Ipv4Addr, upstream: SwIfIndex, filters: &[(SwIfIndex, Filter)]) -> Routes {
    if filters.is_empty() {
        return Routes::new();
    }
    let named: Sources = filters.iter().flat_map(|(_, f)| f.sources.iter().copied()).collect();
    let sources = std::iter::once(None).chain(named.into_iter().map(Some));
    let route = |source: Option<Ipv4Addr>| {
        let wants = |filter: &Filter| source.map_or(filter.exclude, |source| filter.wants(source));
        let outputs = filters.iter().filter(|(_, filter)| wants(filter));
        let outputs = outputs.map(|(sw_if, _)| path(*sw_if, ItfFlags::FORWARD));
        let paths = std::iter::once(path(upstream, ItfFlags::ACCEPT)).chain(outputs).collect();
        (group_of(group, source), paths)
    };
    sources.map(route).collect()
}

impl Igmp {
    /// Makes the multicast routes of a group behind a proxy as the filters of its downstream
    /// interfaces require.
    pub fn forward(
        &self,
        world: &World,
        vrf: u32,
        group: Ipv4Addr,
        upstream: SwIfIndex,
        filters: &[(SwIfIndex, Filter)],
    ) {
        let Ok(table) = world.get::<Fib<Ip4>>().find_table(vrf) else { return };
        let mfib = world.get::<Mfib<Ip4>>();
        let wanted = routes(group, upstream, filters);
        let old = self.table().installed.remove(&(table, group)).unwrap_or_default();
        for (at, paths) in &old {
            let new = wanted.get(at).map_or(&[][..], Vec::as_slice);
            let gone: Vec<_> = paths
                .iter()
                .map(|path| path.kind)
                .filter(|kind| !new.iter().any(|path| path.kind == *kind))
                .collect();
            // An interface that is going has taken its paths along.
            if !gone.is_empty() {
                _ = mfib.remove(world, table, *at, Source::Plugin, &gone);
            }
        }
        let mut installed = Routes::new();
        for (at, paths) in wanted {
            let known = old.get(&at);
            if known != Some(&paths) {
                let change = Change { flags: None, rpf_id: None, paths: &paths };
                if let Err(e) = mfib.update(world, table, at, Source::Plugin, change) {
                    log::warn!("igmp: no multicast route {at} in table {vrf}: {e}");
                    installed.extend(known.map(|paths| (at, paths.clone())));
                    continue;
                }
            }
            installed.insert(at, paths);
        }
        if !installed.is_empty() {
            self.table().installed.insert((table, group), installed);
        }
    }

    /// Has IGMP's own groups delivered in the tables of all interfaces with IGMP, from whatever
    /// interface, and no longer in others.
    pub fn deliver(&self, world: &World) {
        let addresses = world.get::<Addresses<Ip4>>();
        let (wanted, old) = {
            let mut table = self.table();
            let tables = table.links.keys().filter_map(|sw_if| addresses.table_of(*sw_if).ok());
            let wanted: BTreeSet<_> = tables.collect();
            (wanted.clone(), std::mem::replace(&mut table.delivering, wanted))
        };
        let mfib = world.get::<Mfib<Ip4>>();
        let groups = [ALL_HOSTS, ALL_IGMP3_ROUTERS].map(|group| group_of(group, None));
        let local = [Mpath { kind: MpathKind::Local, flags: ItfFlags::FORWARD }];
        for (table, group) in wanted.difference(&old).flat_map(|t| groups.map(|g| (*t, g))) {
            let change =
                Change { flags: Some(EntryFlags::ACCEPT_ALL), rpf_id: None, paths: &local };
            if let Err(e) = mfib.update(world, table, group, Source::Plugin, change) {
                log::warn!("igmp: no multicast route {group}: {e}");
            }
        }
        for (table, group) in old.difference(&wanted).flat_map(|t| groups.map(|g| (*t, g))) {
            // A table that is gone has taken its routes along.
            _ = mfib.remove(world, table, group, Source::Plugin, &[]);
        }
    }
}
