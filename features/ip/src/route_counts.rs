// SPDX-License-Identifier: Apache-2.0
//! Counters of routes: `/net/route/to` for the route that was looked up, `/net/route/via` for the
//! routes that it follows.

use graph::{ThreadIndex, World};
use net::{Adjacencies, RouteIndex, Routes};
use stats::CombinedLane;
use std::sync::Arc;
use sync::Turn;

/// Recursive routes in a row that packets are counted for, at most.
const DEPTH: usize = 8;

/// One thread's counters.
pub struct RouteCounts {
    routes: Arc<Routes>,
    adjacencies: Arc<Adjacencies>,
    to: CombinedLane,
    via: CombinedLane,
}

impl RouteCounts {
    /// The counters of one thread.
    pub fn new(world: &World, thread: ThreadIndex) -> Self {
        let routes = world.get::<Routes>();
        let (to, via) = (routes.to.lane(thread.at()), routes.via.lane(thread.at()));
        Self { routes, adjacencies: world.get(), to, via }
    }

    /// Returns true if packets are counted for routes.
    #[inline(always)]
    pub fn counting(&self) -> bool {
        self.routes.counting()
    }

    /// Prefetches the counter of a route.
    #[inline(always)]
    pub fn prefetch(&self, route: u32) {
        self.to.prefetch(route as usize);
    }

    /// Counts for a route that was looked up.
    #[inline(always)]
    pub fn to(&self, route: u32, packets: u64, bytes: u64) {
        self.to.add(route as usize, packets, bytes);
    }

    /// Counts for the route that a recursive one follows ([`net::Adj::via`]), and for the one that
    /// this follows, and so on.
    #[inline(never)]
    pub fn via(&self, via: u32, packets: u64, bytes: u64, turn: &Turn<'_>) {
        let mut via = RouteIndex(via);
        for _ in 0..DEPTH {
            self.via.add(via.at(), packets, bytes);
            match self.adjacencies.get(self.routes.adj(via), turn) {
                Some(adj) if adj.via != 0 => via = RouteIndex(adj.via),
                _ => return,
            }
        }
    }
}
