// SPDX-License-Identifier: Apache-2.0
//! Route indices, for workers: the adjacency of each route, and its counters.

use super::RouteTables;
use crate::AdjIndex;
use graph::{Shared, World};
use mem::Reserve;
use stats::Combined;
use std::collections::VecDeque;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use sync::{GraceTicket, Qsbr};

/// Index of a route, that is of a table's entry. Dense over the tables of both protocols; 0 is
/// none. It is the index into `/net/route/to` and `/net/route/via`; the binary API calls it
/// `stats_index`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
#[repr(transparent)]
pub struct RouteIndex(pub u32);

impl RouteIndex {
    /// As an index of an array.
    #[inline(always)]
    pub const fn at(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for RouteIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Number of counters that are reset at a time.
const CHUNK: usize = 4096;
/// [`Routes::settle`] gives memory back when more routes than this were removed, and more than are
/// left.
const MANY: usize = 1 << 16;

/// Maximum number of routes: reserves address space, not memory.
const MAX: usize = tables::Leaf::ROUTES as usize;

/// The routes of all tables: the adjacency and the counters of each.
pub struct Routes {
    /// By route, the [`AdjIndex`] that it leads to: packets are counted along a chain of recursive
    /// routes by it.
    leads: Reserve<AtomicU32>,
    /// `/net/route/to`: packets and bytes whose lookup found the route.
    pub to: Arc<Combined>,
    /// `/net/route/via`: packets and bytes of recursive routes that follow the route.
    pub via: Arc<Combined>,
    off: AtomicBool,
    domain: Arc<Qsbr>,
    numbers: Mutex<Numbers>,
}

#[derive(Default)]
struct Numbers {
    /// The highest index allocated so far; the first is 1.
    end: u32,
    /// Free indices with counters at zero, the lowest last.
    free: Vec<RouteIndex>,
    /// Free indices whose counters aren't reset yet, the lowest last.
    cooled: Vec<RouteIndex>,
    /// Released indices that workers may still use until the grace period is over.
    cooling: VecDeque<(GraceTicket, Vec<RouteIndex>)>,
    /// Indices released since the last grace period began.
    hot: Vec<RouteIndex>,
    /// Number of indices in use; and its maximum since [`Routes::settle`] last gave memory back.
    used: usize,
    most: usize,
}

impl Shared for Routes {
    fn make(world: &World) -> Self {
        Self {
            leads: Reserve::new(MAX).expect("address space for routes (is `ulimit -v' set?)"),
            to: world.stats.combined("/net/route/to"),
            via: world.stats.combined("/net/route/via"),
            off: AtomicBool::new(false),
            domain: world.qsbr.clone(),
            numbers: Mutex::default(),
        }
    }
}

impl Routes {
    /// The adjacency of a route; [`AdjIndex::NO_ROUTE`] if there is no such route.
    #[inline(always)]
    pub fn adj(&self, route: RouteIndex) -> AdjIndex {
        AdjIndex(
            self.leads.as_slice().get(route.at()).map_or(0, |cell| cell.load(Ordering::Acquire)),
        )
    }

    /// Returns true if packets are counted by route.
    #[inline(always)]
    pub fn counting(&self) -> bool {
        !self.off.load(Ordering::Relaxed)
    }

    /// Turns counting by route on or off: with many routes in use, the counters cost more than the
    /// rest of the lookup. Large tables are rebuilt for it, and lookups are slower meanwhile.
    pub fn set_counting(world: &World, on: bool) {
        world.get::<Self>().off.store(!on, Ordering::Relaxed);
        world.get::<RouteTables>().suit_counting();
    }

    /// Sets the adjacency of a route.
    pub(super) fn point_to(&self, route: RouteIndex, adj: AdjIndex) {
        self.leads[route.at()].store(adj.0, Ordering::Release);
    }

    /// Allocates an index for a new route, with counters at zero; `None` if there is none left.
    pub(super) fn allocate(&self) -> Option<RouteIndex> {
        let mut numbers = self.numbers.lock().expect("no panic inside");
        if numbers.free.is_empty() {
            numbers.free = numbers.again(&self.domain);
            let again = numbers.free.iter().map(|route| route.at());
            self.to.restart(again.clone());
            self.via.restart(again);
        }
        let route = match numbers.free.pop() {
            Some(route) => route,
            None if numbers.end as usize + 1 < MAX => {
                numbers.end += 1;
                let route = RouteIndex(numbers.end);
                self.to.start(route.at());
                self.via.start(route.at());
                route
            }
            None => return None,
        };
        numbers.used += 1;
        numbers.most = numbers.most.max(numbers.used);
        Some(route)
    }

    /// Releases an index that no lookup finds any more.
    pub(super) fn free(&self, route: RouteIndex) {
        let mut numbers = self.numbers.lock().expect("no panic inside");
        numbers.hot.push(route);
        numbers.used -= 1;
    }

    /// Gives memory back to the system if many routes were removed since the last call. Called
    /// periodically. Returns true if it did.
    pub fn settle(&self) -> bool {
        let mut numbers = self.numbers.lock().expect("no panic inside");
        let gone = numbers.most - numbers.used;
        let much = gone > MANY.max(numbers.used);
        if much {
            numbers.most = numbers.used;
            mem::trim_heap();
        }
        much
    }
}

impl Numbers {
    /// Takes some released indices that no worker can use any more, the lowest last.
    fn again(&mut self, domain: &Arc<Qsbr>) -> Vec<RouteIndex> {
        if self.cooled.is_empty() {
            // One grace period for all indices released meanwhile.
            if !self.hot.is_empty() {
                self.cooling.push_back((domain.grace(), std::mem::take(&mut self.hot)));
            }
            if let Some((_, cooled)) = self.cooling.pop_front_if(|(ticket, _)| ticket.is_over()) {
                self.cooled = cooled;
                self.cooled.sort_unstable_by(|a, b| b.cmp(a));
            }
        }
        self.cooled.split_off(self.cooled.len().saturating_sub(CHUNK))
    }
}
