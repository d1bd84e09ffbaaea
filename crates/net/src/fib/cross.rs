// SPDX-License-Identifier: Apache-2.0
//! Recursive paths over next hops of the other protocol: packets go to the neighbours that the
//! other protocol's route leads to.
//!
//! The route that is followed mustn't follow routes of the first protocol again. So a change of one
//! protocol's routes reaches the other's in one step, and routes can't follow each other in a
//! circle.

use super::control::Inner;
use super::list::ListId;
use super::{Fib, Net, PathKind, PathState, RouteIndex, TableIndex};
use crate::NextHop;
use graph::{Shared, World};
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use wire::Prefix;

/// Maximum recursion depth.
const DEPTH: usize = 16;

/// Maximum number of changed prefixes that are reported one by one; after more changes, all path
/// lists are refreshed.
const MOVED: usize = 256;

/// State shared by the IPv4 and the IPv6 route tables: routes of one whose next hop is of the
/// other.
#[derive(Default)]
pub(crate) struct CrossFamily {
    /// Per family, the number of next hops of the other family.
    nexthops: [AtomicUsize; 2],
    /// A table may have lost its last user.
    reap_due: AtomicBool,
}

impl Shared for CrossFamily {
    fn make(_: &World) -> Self {
        Self::default()
    }
}

impl CrossFamily {
    pub fn set<F: Net>(&self, nexthops: usize) {
        self.nexthops[usize::from(F::IS_V6)].store(nexthops, Ordering::Relaxed);
    }

    fn any<F: Net>(&self) -> bool {
        self.nexthops[usize::from(F::IS_V6)].load(Ordering::Relaxed) > 0
    }

    /// Notes that a table may have lost its last user.
    pub fn note_unused(&self) {
        self.reap_due.store(true, Ordering::Relaxed);
    }

    pub fn take_unused(&self) -> bool {
        self.reap_due.swap(false, Ordering::Relaxed)
    }
}

/// Changes not yet reported to the other protocol's routes.
pub(super) enum PendingChanges<F: Net> {
    /// Entries of these prefixes were added, removed or lead elsewhere.
    Prefixes(Vec<(TableIndex, Prefix<F::Addr>)>),
    /// Many entries changed, or path lists did.
    All,
}

impl<F: Net> Default for PendingChanges<F> {
    fn default() -> Self {
        Self::Prefixes(Vec::new())
    }
}

impl<F: Net> Inner<F> {
    /// Notes that a prefix may lead elsewhere now.
    pub fn note_moved(
        &mut self,
        cross_family: &CrossFamily,
        table: TableIndex,
        prefix: Prefix<F::Addr>,
    ) {
        if let PendingChanges::Prefixes(all) = &mut self.moved
            && cross_family.any::<F::Other>()
        {
            if all.len() < MOVED {
                all.push((table, prefix));
            } else {
                self.moved = PendingChanges::All;
            }
        }
    }

    /// Notes that a path list resolves to something else now.
    pub fn note_list_moved(&mut self, cross_family: &CrossFamily) {
        if cross_family.any::<F::Other>() {
            self.moved = PendingChanges::All;
        }
    }

    /// The neighbours that packets for `addr` reach over this list, each with its share of the
    /// packets (0 to 1); `None` if a path follows routes of the other protocol.
    fn neighbors(&self, list: ListId, addr: F::Addr) -> Option<BTreeMap<NextHop, f64>> {
        let mut hops = BTreeMap::new();
        // Level by level, so that a list is visited once a level: the number of paths through the
        // lists may be exponential.
        let mut level = BTreeMap::from([((list, addr), 1.0)]);
        for _ in 0..=DEPTH {
            for ((id, addr), share) in std::mem::take(&mut level) {
                let list = self.lists.get(id)?;
                if list.paths.iter().any(|path| path.crosses()) {
                    return None;
                }
                let usable =
                    |state: &PathState| matches!(state, PathState::Resolved | PathState::Down);
                let paths =
                    || list.paths.iter().zip(&list.now.states).filter(|(_, state)| usable(state));
                let best = paths().map(|(path, _)| path.preference).min();
                let paths =
                    || paths().map(|(path, _)| path).filter(|path| Some(path.preference) == best);
                let total: f64 = paths().map(|path| f64::from(path.weight.max(1))).sum();
                for path in paths() {
                    let share = share * f64::from(path.weight.max(1)) / total;
                    let mut hop =
                        |sw_if, ip| *hops.entry(NextHop { sw_if, ip }).or_default() += share;
                    match path.kind {
                        PathKind::Attached { sw_if, .. } => hop(sw_if, addr.into()),
                        PathKind::Neighbor { sw_if, nexthop } => hop(sw_if, nexthop),
                        PathKind::Recursive { table, nexthop } => {
                            let (_, id) = self.covering(table, nexthop, F::BITS)?;
                            *level.entry((id, nexthop)).or_default() += share;
                        }
                        _ => {}
                    }
                }
            }
        }
        Some(hops)
    }
}

impl<F: Net> Fib<F> {
    /// Resolves a next hop for the other family: the covering route, and its neighbours with their
    /// shares of the packets.
    pub(super) fn neighbors_of(
        &self,
        table: TableIndex,
        nexthop: IpAddr,
    ) -> Option<(RouteIndex, BTreeMap<NextHop, f64>)> {
        let (inner, addr) = (self.inner(), F::of_ip(nexthop)?);
        let (route, list) = inner.covering(table, addr, F::BITS)?;
        let hops = inner.neighbors(list, addr)?;
        Some((route, hops)).filter(|(_, hops)| !hops.is_empty())
    }

    /// Returns true if a path of the other protocol's routes looks a next hop up in this table.
    pub(super) fn is_crossed_to(&self, world: &World, table: TableIndex) -> bool {
        self.cross_family.any::<F::Other>()
            && world.get::<Fib<F::Other>>().inner().cross_family.keys().any(|(at, _)| *at == table)
    }

    /// Refreshes the other protocol's path lists that follow changed routes. Not to be called while
    /// routes are locked.
    #[inline(never)]
    pub(super) fn notify_other(&self, world: &World) {
        let (moved, mut lists) = {
            let mut inner = self.inner();
            (std::mem::take(&mut inner.moved), std::mem::take(&mut inner.watchers_due))
        };
        if lists.is_empty() && !self.cross_family.any::<F::Other>() {
            return;
        }
        let other = world.get::<Fib<F::Other>>();
        let mut inner = other.inner();
        let cross_family: BTreeSet<ListId> = match moved {
            PendingChanges::All => inner.cross_family.values().flatten().copied().collect(),
            PendingChanges::Prefixes(all) => {
                let range = |(table, prefix): (_, Prefix<F::Addr>)| {
                    (table, prefix.network().addr().into())..=(table, prefix.last().into())
                };
                let within =
                    all.into_iter().flat_map(|moved| inner.cross_family.range(range(moved)));
                within.flat_map(|(_, lists)| lists).copied().collect()
            }
        };
        lists.extend(cross_family);
        inner.refresh(&other.cx(world), lists);
    }
}
