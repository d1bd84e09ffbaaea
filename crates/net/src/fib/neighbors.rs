// SPDX-License-Identifier: Apache-2.0
//! Host routes of neighbours: a known neighbour in a connected network has a host route over its
//! own adjacency.

use super::key::{bits_of, width_of};
use super::list::{ListId, PathList};
use super::lookup::last_of;
use super::{Net, Path, PathKind, RouteKey, RouteTables, Source, TableRef};
use crate::{Addresses, Link, Neighbor, NeighborEvent, Neighbors, NextHop, by_version, neighbor};
use graph::{SwIfIndex, World};
use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::Arc;
use wire::Address;

/// The host route of an address.
const fn host(address: IpAddr) -> RouteKey {
    RouteKey { bits: bits_of(address), len: width_of(address) }
}

/// The interface that an interface borrows addresses of a protocol from.
fn lender<F: Net>(world: &World, sw_if: SwIfIndex) -> Option<SwIfIndex> {
    world.get::<Addresses<F>>().unnumbered(sw_if)
}

/// The interfaces that borrow addresses of a protocol from an interface.
fn borrowers<F: Net>(world: &World, sw_if: SwIfIndex) -> Vec<SwIfIndex> {
    world.get::<Addresses<F>>().borrowers(sw_if)
}

impl RouteTables {
    /// Returns the subscriber that synchronizes host routes with the neighbours.
    pub(crate) fn follower(world: &World) -> neighbor::Subscriber {
        // Made before the neighbours, so that these are removed first when an interface goes.
        world.get::<Self>();
        Arc::new(|world, event| world.get::<Self>().on_neighbor(world, event))
    }

    fn on_neighbor(&self, world: &World, event: &NeighborEvent) {
        match event {
            NeighborEvent::Set { new, .. } => {
                self.sync(world, new.sw_if, new.ip, !new.no_fib_entry)
            }
            NeighborEvent::Gone { gone, .. } => self.sync(world, gone.sw_if, gone.ip, false),
        }
    }

    /// Updates host routes after the networks of an interface have changed: neighbours in a network
    /// get one, others lose theirs.
    pub(crate) fn sync_neighbors(&self, world: &World, link: Link, sw_if: SwIfIndex) {
        self.sync_where(world, link, sw_if, |_| true);
    }

    /// As [`Self::sync_neighbors`], for some of the neighbours.
    fn sync_where(
        &self,
        world: &World,
        link: Link,
        sw_if: SwIfIndex,
        wanted: impl Fn(&Neighbor) -> bool,
    ) {
        let all = world.get::<Neighbors>().list(link == Link::IP6, Some(sw_if));
        for n in all.into_iter().filter(wanted) {
            self.sync(world, sw_if, n.ip, !n.no_fib_entry);
        }
    }

    /// Returns the tables where a neighbour may have host routes: its interface's, and those with a
    /// connected prefix of the interface from another source.
    fn host_routes(&self, NextHop { sw_if, ip }: NextHop) -> Option<Vec<TableRef>> {
        self.interfaces.check(sw_if).ok()?;
        let table = TableRef::of_address(self.bindings.get(sw_if).table_of(ip)?, ip);
        let mut tables = vec![table];
        let of_link = matches!(ip, IpAddr::V6(ip) if ip.link_local());
        if !of_link && let Some(others) = self.inner().attached.get(&sw_if) {
            let is_other = |other: &&TableRef| other.link == table.link && **other != table;
            tables.extend(others.iter().filter(is_other));
        }
        Some(tables)
    }

    /// Returns true if a route for packets of a link type, other than the neighbour's own host
    /// route, leads to this neighbour.
    pub(super) fn leads_by(&self, link: Link, hop: NextHop) -> bool {
        // A neighbour of another protocol has no host route there.
        let is_own = link == Link::of(hop.ip);
        let tables = is_own.then(|| self.host_routes(hop)).flatten().unwrap_or_default();
        let inner = self.inner();
        let Some(lists) = inner.hops.get(&hop) else { return false };
        let own = |table: &TableRef| {
            let route = inner.prefix_entry(*table, host(hop.ip)).ok()?.route?;
            Some(inner.entries.get(route)?.of(Source::Neighbor)?.list)
        };
        let own: Vec<ListId> = tables.iter().filter_map(own).collect();
        let others =
            |id: &ListId, list: &PathList| list.refs > own.iter().filter(|own| *own == id).count();
        lists.iter().any(|id| {
            let list = inner.lists.get(*id).filter(|list| list.link == link);
            list.is_some_and(|list| others(id, list) || !list.users.is_empty())
        })
    }

    /// Updates host routes after paths of a route were added or removed: neighbours in a network
    /// that they attach get or lose them.
    pub(super) fn import<'p>(
        &self,
        world: &World,
        (table, key): (TableRef, RouteKey),
        source: Source,
        paths: impl IntoIterator<Item = &'p Path>,
    ) {
        if source == Source::Interface {
            return;
        }
        for path in paths {
            if let PathKind::Attached { sw_if, .. } = path.kind {
                self.inner().attached.entry(sw_if).or_default().insert(table);
                self.sync_where(world, table.link, sw_if, |n| {
                    (key.bits..=last_of(key, width_of(n.ip))).contains(&bits_of(n.ip))
                });
            }
        }
    }

    /// Adds or removes a neighbour's host routes. If it is known on several interfaces, the one
    /// that was set last is used.
    fn sync(&self, world: &World, sw_if: SwIfIndex, ip: IpAddr, wanted: bool) {
        let Some(tables) = self.host_routes(NextHop { sw_if, ip }) else { return };
        let lender = by_version!(ip.is_ipv6(), lender(world, sw_if));
        let path = Path::new(PathKind::Neighbor { sw_if, nexthop: ip });
        let host = host(ip);
        let mut sharing = BTreeSet::new();
        let gone = self.with(world, |inner, cx| {
            let mut gone = false;
            for table in tables {
                // Only where the network is connected by this interface, or by the one that it
                // borrows addresses from: otherwise a neighbour could attract
                // packets of other networks.
                let cover = inner.covering(table, host.bits, host.len - 1);
                let paths =
                    cover.and_then(|(_, list)| inner.lists.get(list)).map_or(&[][..], |l| &l.paths);
                let links = || {
                    paths.iter().filter_map(|path| match path.kind {
                        PathKind::Attached { sw_if, .. } => Some(sw_if),
                        _ => None,
                    })
                };
                let attached = links().any(|link| link == sw_if || Some(link) == lender);
                sharing.extend(links());
                // A removed table has no routes.
                let Ok(place) = inner.prefix_entry(table, host) else { continue };
                if wanted && attached {
                    // If the table is full, packets take the network's route.
                    let _ = inner.put(cx, &place, Source::Neighbor, &[path]);
                    continue;
                }
                let ours = inner
                    .paths_of(&place, Source::Neighbor)
                    .is_some_and(|list| list.paths.contains(&path));
                gone |= ours && inner.take(cx, &place, Source::Neighbor);
            }
            gone
        });
        if gone {
            self.find_elsewhere(world, sw_if, sharing, ip);
        }
    }

    /// Restores the host route of a neighbour that has lost it over an interface: it may be known
    /// on another interface of the network, or on one that borrows addresses from such an
    /// interface.
    fn find_elsewhere(
        &self,
        world: &World,
        sw_if: SwIfIndex,
        sharing: BTreeSet<SwIfIndex>,
        ip: IpAddr,
    ) {
        let neighbors = world.get::<Neighbors>();
        let with_borrowers = |link: SwIfIndex| {
            by_version!(ip.is_ipv6(), borrowers(world, link)).into_iter().chain([link])
        };
        let others: BTreeSet<_> = sharing.into_iter().flat_map(with_borrowers).collect();
        for other in others.into_iter().filter(|other| *other != sw_if) {
            if neighbors.get(other, ip).is_some_and(|n| !n.no_fib_entry) {
                self.sync(world, other, ip, true);
            }
        }
    }
}
