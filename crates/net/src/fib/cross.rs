// SPDX-License-Identifier: Apache-2.0
//! Next hops of the other protocol that are reached by a route of that: packets go to the neighbours that the other route comes to.
//!
//! The other route's own next hops are of its protocol, or neighbours. So a change of one protocol's routes is known to those of
//! the other after one step, and routes can't lead to each other in a circle.

use super::control::Inner;
use super::list::{PathList, State};
use super::{Fib, Net, Path, PathKind, PathState, RouteIndex, TableIndex};
use crate::NextHop;
use graph::{Shared, World};
use std::net::IpAddr;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Maximum recursion depth.
const DEPTH: usize = 16;

/// Per family, the number of path lists with a next hop of the other family.
#[derive(Default)]
pub(super) struct Crossing([AtomicUsize; 2]);

impl Shared for Crossing {
    fn make(_: &World) -> Self {
        Self::default()
    }
}

impl Crossing {
    pub fn set<F: Net>(&self, lists: usize) {
        self.0[usize::from(F::IS_V6)].store(lists, Ordering::Relaxed);
    }

    fn any<F: Net>(&self) -> bool {
        self.0[usize::from(F::IS_V6)].load(Ordering::Relaxed) > 0
    }
}

/// Whether a path follows a route of the other protocol.
pub(super) fn crosses<A>(path: &Path<A>) -> bool {
    matches!(path.kind, PathKind::RecursiveOther { .. })
}

impl<F: Net> Inner<F> {
    /// The neighbours that packets for `addr` come to by this list; `None` if its paths follow routes of the other protocol.
    fn neighbors(
        &self,
        list: &PathList<F>,
        addr: F::Addr,
        depth: usize,
        hops: &mut Vec<NextHop>,
    ) -> Option<()> {
        if let State::Attached(sw_if) = list.now.state {
            hops.push(NextHop { sw_if, ip: addr.into() });
            return Some(());
        }
        let usable = |state: &PathState| matches!(state, PathState::Resolved | PathState::Down);
        let paths = || list.paths.iter().zip(&list.now.states).filter(|(_, state)| usable(state));
        let best = paths().map(|(path, _)| path.preference).min();
        for (path, _) in paths().filter(|(path, _)| Some(path.preference) == best) {
            match path.kind {
                PathKind::Neighbor { sw_if, nexthop } => hops.push(NextHop { sw_if, ip: nexthop }),
                PathKind::Recursive { table, nexthop } if depth > 0 => {
                    let (_, id) = self.covering(table, nexthop, F::BITS)?;
                    self.neighbors(self.lists.get(id)?, nexthop, depth - 1, hops)?;
                }
                PathKind::RecursiveOther { .. } => return None,
                _ => {}
            }
        }
        Some(())
    }
}

impl<F: Net> Fib<F> {
    /// Resolves a next hop for the other family: the covering route and its neighbours.
    pub(super) fn neighbors_of(
        &self,
        table: TableIndex,
        nexthop: IpAddr,
    ) -> Option<(RouteIndex, Vec<NextHop>)> {
        let (inner, addr) = (self.inner(), F::of_ip(nexthop)?);
        let (route, id) = inner.covering(table, addr, F::BITS)?;
        let mut hops = Vec::new();
        inner.neighbors(inner.lists.get(id)?, addr, DEPTH, &mut hops)?;
        Some((route, hops)).filter(|(_, hops)| !hops.is_empty())
    }

    /// Whether a path of the other protocol's routes looks a next hop up in this table.
    pub(super) fn is_crossed_to(&self, world: &World, table: TableIndex) -> bool {
        if !self.crossing.any::<F::Other>() {
            return false;
        }
        let other = world.get::<Fib<F::Other>>();
        let inner = other.inner();
        let names =
            |path: &Path<_>| matches!(path.kind, PathKind::RecursiveOther { table: t, .. } if t == table);
        inner.crossing.iter().filter_map(|id| inner.lists.get(*id)).any(|list| list.paths.iter().any(names))
    }

    /// Routes have changed: those of the other protocol that follow them do too. Not to be called while routes are locked.
    pub(super) fn tell_other(&self, world: &World) {
        if self.crossing.any::<F::Other>() {
            let other = world.get::<Fib<F::Other>>();
            let mut inner = other.inner();
            let lists = inner.crossing.clone();
            inner.refresh(&other.cx(world), lists);
        }
    }
}
