// SPDX-License-Identifier: Apache-2.0
//! From a destination to a [`NextHop`]: lookups, in steps.

use crate::next_hop::{Ends, NextHop, Protocol};
use crate::plan::Plan;
use crate::{ETHERNET, To};
use buffer::Buffer;
use graph::{Cx, ThreadIndex, World};
use ip::RouteCounts;
use ip::exits::{Exits, Out, Outward};
use l2::Bridge;
use net::PathMtus;
use net::{
    Adj, AdjIndex, AdjKind, Adjacencies, Fib, Interfaces, Mirrors, Ordinary, TAG, TableIndex, Views,
};
use simd::Isa;
use stats::{CombinedLane, Lane};
use std::sync::Arc;
use sync::Turn;
use tables::SplitLookup;

/// The route of packets that take no route: it has no counters.
pub const NO_ROUTE: u32 = u32::MAX;

/// Routes of one protocol, and their counters.
pub struct Forwarder<F: Protocol> {
    pub(super) fib: Arc<Fib<F>>,
    pub(super) adjacencies: Arc<Adjacencies>,
    path_mtus: Arc<PathMtus<F>>,
    pub(super) outward: Outward,
    pub(super) interfaces: Arc<Interfaces>,
    pub(super) bridge: Arc<Bridge>,
    pub(super) received: Lane,
    /// By adjacency.
    pub(super) counters: CombinedLane,
    pub(super) routes: RouteCounts,
}

impl<F: Protocol> Forwarder<F> {
    pub fn new(world: &World, thread: ThreadIndex, received: Lane) -> Self {
        let adjacencies = world.get::<Adjacencies>();
        Self {
            fib: world.get(),
            path_mtus: world.get(),
            outward: Outward::new::<F>(world, thread).with_mirrors(Mirrors::new(world, thread)),
            interfaces: world.get(),
            bridge: world.get(),
            received,
            counters: adjacencies.counters.lane(thread.at()),
            routes: RouteCounts::new(world, thread),
            adjacencies,
        }
    }

    /// Returns true if packets are counted for routes.
    #[inline(always)]
    pub fn counting(&self) -> bool {
        self.routes.counting()
    }

    /// The least path MTU: a larger packet may not fit on its whole path.
    #[inline(always)]
    pub(super) fn least(&self, cx: &Cx<'_, false>) -> usize {
        self.path_mtus.known(cx.turn).least()
    }

    /// Returns the [`NextHop`] of packets over an adjacency that is no load-balance; `None` if the
    /// graph handles them.
    #[inline(always)]
    pub(super) fn next_hop(
        &self,
        adj: &Adj,
        exits: &mut Exits,
        views: Views<'_>,
        cx: &Cx<'_, false>,
    ) -> Option<NextHop> {
        if adj.kind != AdjKind::Rewrite {
            return None;
        }
        let exit = self.outward.find(exits, (adj.tx_if, adj.output), views, cx)?;
        self.next_hop_by(adj, exit.to, cx)
    }

    /// The same, if the exit of the interface is known.
    #[inline(always)]
    pub(super) fn next_hop_by(&self, adj: &Adj, out: Out, cx: &Cx<'_, false>) -> Option<NextHop> {
        let (tags, header_len) = (out.tags, usize::from(adj.rewrite_len));
        // A link of IP has no header.
        let ends = if header_len == 0 { [[0; 8]; 2] } else { adj.short_rewrite()? };
        // Output counts multicast frames separately. Tags are put into Ethernet headers alone.
        if ends[0][0] & 1 != 0 || tags.count() != 0 && header_len != ETHERNET {
            return None;
        }
        Some(NextHop {
            to: To::Node(out.tx),
            tx_if: adj.tx_if,
            mtu: usize::from(adj.mtu).min(self.least(cx)) as u32,
            counter: adj.counter,
            via: adj.via,
            ends: Ends::of(ends),
            header_len: header_len + TAG * tags.count(),
            tags,
            parent: out.parent,
        })
    }

    /// The same for most adjacencies, without looking at [`Self::least`].
    #[inline(always)]
    pub(super) fn short_next_hop(adj: Ordinary, out: Out) -> NextHop {
        NextHop {
            to: To::Node(out.tx),
            tx_if: adj.tx_if.into(),
            mtu: adj.mtu.into(),
            counter: adj.counter,
            via: adj.via,
            ends: Ends::of(adj.ends),
            header_len: ETHERNET + TAG * out.tags.count(),
            tags: out.tags,
            parent: out.parent,
        }
    }

    /// Returns the adjacency that a route leads to, for a packet of so many bytes: the flow selects
    /// a member of a load-balance; and the route that was followed to the load-balance
    /// ([`Adj::via`]).
    #[inline(always)]
    pub(super) fn adj<'t>(
        &'t self,
        b: &mut Buffer,
        hop: AdjIndex,
        total: u32,
        table: u32,
        cx: &Cx<'t, false>,
    ) -> Option<(&'t Adj, u32)> {
        let adj = self.adjacencies.get(hop, cx.turn)?;
        if adj.kind != AdjKind::LoadBalance {
            return Some((adj, 0));
        }
        let hash = Self::hash(b, total, self.fib.flow(TableIndex(table), cx.turn));
        let (member, via) = self.member(hop, hash, cx)?;
        Some((self.adjacencies.get(member, cx.turn)?, via))
    }

    /// Split-phase lookups in a table.
    #[inline(always)]
    pub fn steps<'t>(&'t self, table: u32, turn: &'t Turn<'_>) -> Option<SplitLookup<'t, F::Key>> {
        Some(self.fib.table(TableIndex(table), turn)?.steps(turn))
    }

    /// Prefetches the first memory that the lookups for a plan read.
    #[inline(always)]
    pub fn touch(&self, plan: &Plan<F>, steps: Option<SplitLookup<'_, F::Key>>) {
        if let Some(steps) = steps {
            steps.prefetch_nodes(plan.keys());
        }
    }

    /// Begins the lookups for a plan, and completes the simple ones.
    #[inline(always)]
    pub fn approach<I: Isa>(&self, plan: &mut Plan<F>, steps: Option<SplitLookup<'_, F::Key>>) {
        if let Some((to, _)) = plan.directed {
            let (_, hops, routes) = plan.columns();
            hops.fill(to.adj.0);
            return routes.fill(NO_ROUTE);
        }
        let Some(steps) = steps else { return plan.clear() };
        let (keys, hops, routes) = plan.columns();
        if keys.first() == keys.last()
            && keys.iter().fold(true, |same, key| same & (*key == keys[0]))
        {
            // One destination, or none. With several, the first and the last mostly differ.
            if let Some(key) = keys.first() {
                let leaf = steps.lookup(*key);
                hops.fill(leaf.hop);
                routes.fill(leaf.route);
            }
        } else {
            steps.locate::<I>(keys, hops);
            plan.stepping = true;
        }
    }

    /// Completes the lookups; with `counting`, all but the part of [`SplitLookup::resolve`].
    #[inline(always)]
    pub fn arrive<I: Isa>(
        &self,
        plan: &mut Plan<F>,
        steps: Option<SplitLookup<'_, F::Key>>,
        counting: bool,
    ) {
        let (true, Some(steps)) = (plan.stepping, steps) else { return };
        let (keys, hops, routes) = plan.columns();
        if counting {
            steps.read_leaves::<I, true>(keys, hops, routes);
        } else {
            steps.read_leaves::<I, false>(keys, hops, &mut []);
        }
    }

    /// Counts packets of a plan, which have gone on to another node, as received.
    #[inline(always)]
    pub(super) fn count_received(&self, plan: &Plan<F>, packets: u64) {
        plan.gone.set(plan.gone.get() + packets);
        self.received.add(plan.rx_if as usize, packets * plan.fresh);
    }

    /// Counts for the adjacency, and for the interface that packets leave by and its parent.
    #[inline(always)]
    pub(super) fn count_over(&self, next_hop: &NextHop, packets: u64, bytes: u64) {
        self.counters.add(next_hop.counter as usize, packets, bytes);
        self.count_exit(next_hop, packets, bytes);
    }

    /// Counts for the interface that packets leave by and its parent.
    #[inline(always)]
    pub(super) fn count_exit(&self, next_hop: &NextHop, packets: u64, bytes: u64) {
        let bytes = bytes + packets * next_hop.header_len as u64;
        self.outward.lanes.tx.unicast(next_hop.tx_if as usize, packets, bytes);
        if next_hop.parent != 0 {
            self.outward.lanes.tx.unicast(next_hop.parent as usize, packets, bytes);
        }
    }

    /// Counts for the routes that were followed to a load-balance and to a neighbour, if there are
    /// any, and for the routes that these follow.
    #[inline(always)]
    pub(super) fn count_vias(&self, vias: [u32; 2], packets: u64, bytes: u64, cx: &Cx<'_, false>) {
        for via in vias.into_iter().filter(|via| *via != 0) {
            self.routes.via(via, packets, bytes, cx.turn);
        }
    }

    /// True if frames of the vector have copies to be made.
    #[inline(always)]
    pub fn mirrors(&self) -> bool {
        self.outward.mirrors.as_ref().is_some_and(Mirrors::in_use)
    }
}
