// SPDX-License-Identifier: Apache-2.0
//! Host routes of neighbours: a known neighbour in a connected network has a host route over its
//! own adjacency.

use super::list::{ListId, PathList};
use super::{Fib, Net, Path, PathKind, Source, TableIndex};
use crate::{Addresses, NeighborEvent, Neighbors, NextHop, neighbor};
use graph::{SwIfIndex, World};
use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::Arc;
use wire::{Address, Prefix};

impl<F: Net> Fib<F> {
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
    pub(crate) fn sync_neighbors(&self, world: &World, sw_if: SwIfIndex) {
        self.sync_within(world, sw_if, Prefix::DEFAULT);
    }

    /// As [`Self::sync_neighbors`], for neighbours in a prefix.
    #[inline(never)]
    fn sync_within(&self, world: &World, sw_if: SwIfIndex, prefix: Prefix<F::Addr>) {
        let all = world.get::<Neighbors>().list(F::IS_V6, Some(sw_if));
        for n in all.into_iter().filter(|n| F::of_ip(n.ip).is_some_and(|ip| prefix.contains(ip))) {
            self.sync(world, sw_if, n.ip, !n.no_fib_entry);
        }
    }

    /// Returns the tables where a neighbour may have host routes: its interface's, and those with a
    /// connected prefix of the interface from another source.
    fn host_routes(&self, NextHop { sw_if, ip }: NextHop) -> Option<(Vec<TableIndex>, F::Addr)> {
        let nexthop = F::of_ip(ip)?;
        let interface = self.interfaces.get(sw_if).ok()?;
        let table = interface.table_of(ip)?;
        let mut tables = vec![table];
        let of_link = F::IS_V6 && nexthop.link_local();
        if !of_link && let Some(others) = self.inner().attached.get(&sw_if) {
            tables.extend(others.iter().filter(|other| **other != table));
        }
        Some((tables, nexthop))
    }

    /// Returns true if a route other than the neighbour's own host route leads to this neighbour.
    pub fn leads_by(&self, hop: NextHop) -> bool {
        // A neighbour of the other protocol has no host route here.
        let (tables, host) =
            self.host_routes(hop).map_or((Vec::new(), None), |(t, addr)| (t, Some(addr)));
        let inner = self.inner();
        let Some(lists) = inner.hops.get(&hop) else { return false };
        let own = |table: &TableIndex| {
            let route = inner.prefix_entry(*table, Prefix::host(host?)).ok()?.route?;
            Some(inner.entries.get(route)?.of(Source::Neighbor)?.list)
        };
        let own: Vec<ListId> = tables.iter().filter_map(own).collect();
        let others = |id: &ListId, list: &PathList<F>| {
            list.refs > own.iter().filter(|own| *own == id).count()
        };
        lists.iter().any(|id| {
            inner.lists.get(*id).is_some_and(|list| others(id, list) || !list.users.is_empty())
        })
    }

    /// Updates host routes after paths of a route were added or removed: neighbours in a network
    /// that they attach get or lose them.
    pub(super) fn import<'p>(
        &self,
        world: &World,
        (table, prefix): (TableIndex, Prefix<F::Addr>),
        source: Source,
        paths: impl IntoIterator<Item = &'p Path<F::Addr>>,
    ) where
        F::Addr: 'p,
    {
        if source == Source::Interface {
            return;
        }
        for path in paths {
            if let PathKind::Attached { sw_if, .. } = path.kind {
                self.inner().attached.entry(sw_if).or_default().insert(table);
                self.sync_within(world, sw_if, prefix);
            }
        }
    }

    /// Adds or removes a neighbour's host routes. If it is known on several interfaces, the one
    /// that was set last is used.
    fn sync(&self, world: &World, sw_if: SwIfIndex, ip: IpAddr, wanted: bool) {
        let Some((tables, nexthop)) = self.host_routes(NextHop { sw_if, ip }) else { return };
        let lender = world.get::<Addresses<F>>().unnumbered(sw_if);
        let path = Path::new(PathKind::Neighbor { sw_if, nexthop: ip });
        let host = Prefix::host(nexthop);
        let mut sharing = BTreeSet::new();
        let gone = self.with(world, |inner, cx| {
            let mut gone = false;
            for table in tables {
                // Only where the network is connected by this interface, or by the one that it
                // borrows addresses from: otherwise a neighbour could attract
                // packets of other networks.
                let cover = inner.covering(table, nexthop, F::BITS - 1);
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
        let (neighbors, addresses) = (world.get::<Neighbors>(), world.get::<Addresses<F>>());
        let with_borrowers = |link: SwIfIndex| addresses.borrowers(link).into_iter().chain([link]);
        let others: BTreeSet<_> = sharing.into_iter().flat_map(with_borrowers).collect();
        for other in others.into_iter().filter(|other| *other != sw_if) {
            if neighbors.get(other, ip).is_some_and(|n| !n.no_fib_entry) {
                self.sync(world, other, ip, true);
            }
        }
    }
}
