// SPDX-License-Identifier: Apache-2.0
//! Sends the packets of a plan to transmit nodes.

use crate::choice::Hops;
use crate::deferred::DeferredCounts;
use crate::forwarder::Forwarder;
use crate::gate::Stages;
use crate::next_hop::{NextHop, Protocol};
use crate::plan::Plan;
use crate::{Bits, ETHERNET, To, first};
use graph::{Build, Cx, ThreadIndex, Vector, World};
use ip::Local;
use ip::exits::{Exits, Out};
use ip::headers::BLOCK;
use net::{AdjIndex, AdjKind, Mirrors, TAG, Views};
use simd::Isa;
use tables::{Key, SplitLookup};

/// Groups of less than one in so many of the packets left are not sent as groups.
const SMALL_GROUP: u32 = 8;

/// Packets that are sent between two rounds of prefetching.
const CHUNK: usize = 16;

/// Parameters of sending beside a plan.
#[derive(Clone, Copy)]
pub struct SendContext<'a, 't> {
    pub views: Views<'a>,
    pub cx: &'a Cx<'t, false>,
    /// True if packets are counted for routes.
    pub counting: bool,
}

/// Packets of a plan with their hops, which may differ from the ones looked up for them.
struct Chosen<'a, 't, F: Protocol> {
    plan: &'a Plan<F>,
    hops: &'a [u32; BLOCK],
    /// The routes that were followed to these hops.
    vias: &'a [u32; BLOCK],
    context: SendContext<'a, 't>,
}

/// State of sending.
pub struct SendState<F: Protocol> {
    pub exits: Exits,
    pub local: Local<F>,
    pub deferred: DeferredCounts,
    /// Of the features of packets that leave.
    pub stages: Stages<F>,
    chosen: Hops,
}

impl<F: Protocol> SendState<F> {
    pub fn new(world: &World, thread: ThreadIndex) -> Self {
        Self {
            exits: Exits::new(),
            local: Local::build(world, thread),
            deferred: DeferredCounts::new(),
            stages: Stages::new(world, thread),
            chosen: Hops::NONE,
        }
    }
}

/// The memory that the lookups of another block will read, prefetched while this one is sent: a few
/// cache lines at a time, so that the prefetches don't wait for each other.
pub struct Prefetcher<'a, 't, K: Key> {
    steps: Option<SplitLookup<'t, K>>,
    places: std::slice::Iter<'a, u32>,
}

impl<'a, 't, K: Key> Prefetcher<'a, 't, K> {
    #[inline(always)]
    pub fn new<F: Protocol<Key = K>>(plan: &'a Plan<F>, steps: Option<SplitLookup<'t, K>>) -> Self {
        Self { steps, places: plan.places().iter() }
    }

    #[inline(always)]
    fn some(&mut self) {
        let Some(steps) = self.steps else { return };
        for place in self.places.by_ref().take(CHUNK) {
            steps.prefetch_leaf(*place);
        }
    }

    /// Prefetches the rest.
    #[inline(always)]
    pub fn all(mut self) {
        while self.places.len() > 0 {
            self.some();
        }
    }
}

impl<F: Protocol> Forwarder<F> {
    /// Sends all packets of a plan. Packets that can't be sent stay as they are.
    #[inline(always)]
    #[allow(
        clippy::too_many_arguments,
        reason = "inlined: state of a loop that lives in registers"
    )]
    pub fn send<I: Isa>(
        &self,
        plan: &Plan<F>,
        steps: Option<SplitLookup<'_, F::Key>>,
        ahead: &mut Prefetcher<'_, '_, F::Key>,
        state: &mut SendState<F>,
        v: &mut Vector<'_, To>,
        context: SendContext<'_, '_>,
    ) {
        let n = plan.len();
        if n == 0 {
            return;
        }
        let SendContext { views, cx, counting } = context;
        let least = self.least(cx);
        // Packets left to be sent, and packets whose hop isn't ordinary.
        let (mut left, mut unusual) = (u64::MAX >> (BLOCK - n), 0);
        if plan.any_longer(least as u32) {
            self.others(plan, left, state, v, context);
            left = 0;
        }
        // Packets over one adjacency together, as long as that makes large groups.
        while left != 0 {
            let hop = plan.hops[first(left)];
            let group = left & simd::equal_words::<I>(&plan.hops, hop);
            if group.count_ones() * SMALL_GROUP < left.count_ones() {
                break;
            }
            left &= !group;
            let hop = AdjIndex(hop);
            let next_hop = if let Some(adj) = self.adjacencies.ordinaries().get(hop)
                && let over = (adj.tx_if.into(), adj.output)
                && let Some(exit) = self.outward.find(&mut state.exits, over, views, cx)
            {
                Self::short_next_hop(adj, exit.to)
            } else {
                let Some(adj) = self.adjacencies.get(hop, cx.turn) else { continue };
                if adj.kind == AdjKind::LoadBalance {
                    unusual |= group;
                    continue;
                }
                if adj.kind == AdjKind::Receive {
                    self.deliver(plan, group, (hop, adj), state, v, context);
                    continue;
                }
                let Some(next_hop) = self.next_hop(adj, &mut state.exits, views, cx) else {
                    self.output_all(plan, (group, 0), adj, state, v, context);
                    continue;
                };
                next_hop
            };
            if plan.any_longer(next_hop.mtu) || next_hop.tx_if == plan.rx_if {
                self.others(plan, group, state, v, context);
                continue;
            }
            let route = plan.routes[first(group)];
            let many_routes = counting && group & !simd::equal_words::<I>(&plan.routes, route) != 0;
            let deferred = &mut state.deferred;
            let (packets, bytes) = match (next_hop.tags.count() == 1, many_routes) {
                (false, false) => {
                    self.together::<false, false>(next_hop, plan, group, ahead, deferred, v)
                }
                (false, true) => {
                    self.together::<true, false>(next_hop, plan, group, ahead, deferred, v)
                }
                (true, false) => {
                    self.together_tagged::<false>(next_hop, plan, group, ahead, deferred, v)
                }
                (true, true) => {
                    self.together_tagged::<true>(next_hop, plan, group, ahead, deferred, v)
                }
            };
            if packets == 0 {
                continue;
            }
            self.count_received(plan, packets.into());
            self.count_over(&next_hop, packets.into(), bytes.into());
            if counting {
                if !many_routes {
                    state.deferred.add(route, packets, bytes);
                }
                self.count_vias([0, next_hop.via], packets.into(), bytes.into(), cx);
            }
        }
        let SendState { exits, deferred, chosen, .. } = state;
        if left != 0 {
            let found = Chosen { plan, hops: &plan.hops, vias: &[0; BLOCK], context };
            unusual |= self.apart(&found, left, ahead, exits, deferred, v);
        }
        if unusual != 0 {
            let which = self.choose(plan, unusual, chosen, v, cx);
            unusual &= !which;
            let chosen = Chosen { plan, hops: &chosen.to, vias: &chosen.via, context };
            unusual |= self.apart(&chosen, which, ahead, exits, deferred, v);
            self.others(plan, unusual, state, v, context);
        }
        if counting {
            if let (true, Some(steps)) = (plan.stepping, steps) {
                steps.resolve(state.deferred.routes());
            }
            state.deferred.routes().iter().for_each(|route| self.routes.prefetch(*route));
        }
    }

    /// Sends packets of a plan over one adjacency, none of them too long for it or back to where it
    /// came from; returns the number of packets sent, and their bytes. `TAGGED` if one tag is
    /// put in.
    #[inline(always)]
    fn together<const MANY_ROUTES: bool, const TAGGED: bool>(
        &self,
        next_hop: NextHop,
        plan: &Plan<F>,
        which: u64,
        ahead: &mut Prefetcher<'_, '_, F::Key>,
        deferred: &mut DeferredCounts,
        v: &mut Vector<'_, To>,
    ) -> (u32, u32) {
        let (mut packets, mut bytes) = (which.count_ones(), 0);
        let mut places = Bits(which);
        let head = if TAGGED { next_hop.head() } else { [0; ETHERNET + TAG] };
        while places.0 != 0 {
            ahead.some();
            for i in places.by_ref().take(CHUNK) {
                let (at, onward) = (plan.at(i), plan.onward(i));
                let b = v.get_mut(at);
                let sent = if TAGGED {
                    next_hop.send_tagged::<F, TAG, { ETHERNET + TAG }>(b, onward, &head)
                } else {
                    next_hop.send_on::<F>(b, onward)
                };
                if sent.is_none() {
                    packets -= 1;
                    continue;
                }
                v.set(at, next_hop.to);
                bytes += onward.total;
                if MANY_ROUTES {
                    deferred.add(plan.routes[i], 1, onward.total);
                }
            }
        }
        (packets, bytes)
    }

    /// The same with one tag. A function of its own, so that it takes nothing from the loops for
    /// frames without tags.
    #[inline(never)]
    fn together_tagged<const MANY_ROUTES: bool>(
        &self,
        next_hop: NextHop,
        plan: &Plan<F>,
        which: u64,
        ahead: &mut Prefetcher<'_, '_, F::Key>,
        deferred: &mut DeferredCounts,
        v: &mut Vector<'_, To>,
    ) -> (u32, u32) {
        self.together::<MANY_ROUTES, true>(next_hop, plan, which, ahead, deferred, v)
    }

    /// Sends packets of a plan over many adjacencies, none above the least path MTU. Returns
    /// packets whose hop isn't ordinary.
    #[inline(always)]
    fn apart(
        &self,
        packets: &Chosen<'_, '_, F>,
        which: u64,
        ahead: &mut Prefetcher<'_, '_, F::Key>,
        exits: &mut Exits,
        deferred: &mut DeferredCounts,
        v: &mut Vector<'_, To>,
    ) -> u64 {
        let (plan, hops) = (packets.plan, packets.hops);
        let records = self.adjacencies.ordinaries();
        // Mostly the others need the same as the first one.
        let ordinary = records.get(AdjIndex(hops[first(which)])).is_some();
        let left = match plan.row(which) {
            Some(from) if ordinary => self.row(packets, from, ahead, exits, deferred, v),
            _ => {
                // A small loop of its own, so that cache misses overlap.
                Bits(which).for_each(|i| records.prefetch(AdjIndex(hops[i])));
                which
            }
        };
        if left == 0 {
            return 0;
        }
        self.each(packets, left, ahead, exits, deferred, v)
    }

    /// The same for all packets of a plan, in order from index `from` of the vector on, as far as
    /// that is quick. Returns the packets left: all, if some packets of the vector leave with
    /// tags.
    #[inline(always)]
    fn row(
        &self,
        &Chosen { plan, hops, vias, context: SendContext { views, cx, counting } }: &Chosen<
            '_,
            '_,
            F,
        >,
        from: usize,
        ahead: &mut Prefetcher<'_, '_, F::Key>,
        exits: &mut Exits,
        deferred: &mut DeferredCounts,
        v: &mut Vector<'_, To>,
    ) -> u64 {
        if exits.is_empty() {
            let records = self.adjacencies.ordinaries();
            for adj in hops[..plan.len()].iter().filter_map(|hop| records.get(AdjIndex(*hop))) {
                self.outward.find(exits, (adj.tx_if.into(), adj.output), views, cx);
            }
        }
        if exits.any_tagged() {
            return u64::MAX >> (BLOCK - plan.len());
        }
        let mut followed = [0; BLOCK];
        let pass = if plan.padded { Self::each_in_row::<true> } else { Self::each_in_row::<false> };
        let left = pass(self, plan, from, hops, counting.then_some(&mut followed), ahead, exits, v);
        let gone = u64::MAX >> (BLOCK - plan.len()) & !left;
        self.count_received(plan, gone.count_ones().into());
        if !counting {
            return left;
        }
        if left == 0 {
            deferred.add_each(plan.routes(), plan.totals());
        } else {
            for i in Bits(gone) {
                deferred.add(plan.routes[i], 1, plan.onward(i).total);
            }
        }
        // Most routes follow no other route.
        if vias.iter().chain(&followed).fold(0, |any, via| any | via) != 0 {
            for i in Bits(gone) {
                let total = plan.onward(i).total.into();
                self.count_vias([vias[i], followed[i]], 1, total, cx);
            }
        }
        left
    }

    /// Sends packets of a plan, one by one. Returns the packets whose hop isn't ordinary.
    #[inline(always)]
    fn each(
        &self,
        &Chosen { plan, hops, vias, context: SendContext { views, cx, counting } }: &Chosen<
            '_,
            '_,
            F,
        >,
        which: u64,
        ahead: &mut Prefetcher<'_, '_, F::Key>,
        exits: &mut Exits,
        deferred: &mut DeferredCounts,
        v: &mut Vector<'_, To>,
    ) -> u64 {
        let (records, counters) = (self.adjacencies.ordinaries(), self.counters.cells());
        let (mut packets, mut others) = (u64::from(which.count_ones()), 0u64);
        let mut places = Bits(which);
        while places.0 != 0 {
            ahead.some();
            for i in places.by_ref().take(CHUNK) {
                let Some(adj) = records.get(AdjIndex(hops[i])) else {
                    others |= 1 << i;
                    continue;
                };
                let exit = self.outward.find(exits, (adj.tx_if.into(), adj.output), views, cx);
                let Some(exit) = exit else {
                    others |= 1 << i;
                    continue;
                };
                let next_hop = Self::short_next_hop(adj, exit.to);
                let (at, onward) = (plan.at(i), plan.onward(i));
                if next_hop.take::<F>(v.get_mut(at), plan.rx_if, onward).is_none() {
                    packets -= 1;
                    continue;
                }
                let bytes = u64::from(onward.total);
                counters.add(next_hop.counter as usize, 1, bytes);
                exit.count(onward.total + next_hop.header_len as u32);
                if counting {
                    deferred.add(plan.routes[i], 1, onward.total);
                    self.count_vias([vias[i], next_hop.via], 1, bytes, cx);
                }
                v.set(at, next_hop.to);
            }
        }
        self.count_received(plan, packets - u64::from(others.count_ones()));
        others
    }

    /// Sends all packets of a plan, in order from index `from` of the vector on, as far as hops are
    /// ordinary and their exits are known. Returns the packets left, and stores in `followed`
    /// the route that each of the others has followed to its neighbour.
    ///
    /// A function of its own, and nothing in it that isn't done for each packet: among all the
    /// rest, half of what the loop needs would be kept on the stack. `PADDED` as for
    /// [`NextHop::send_short`].
    #[inline(never)]
    #[allow(clippy::too_many_arguments, reason = "state of a loop")]
    fn each_in_row<const PADDED: bool>(
        &self,
        plan: &Plan<F>,
        from: usize,
        hops: &[u32; BLOCK],
        mut followed: Option<&mut [u32; BLOCK]>,
        ahead: &mut Prefetcher<'_, '_, F::Key>,
        exits: &mut Exits,
        v: &mut Vector<'_, To>,
    ) -> u64 {
        let (records, counters) = (self.adjacencies.ordinaries(), self.counters.cells());
        let (n, rx_if, mut stay) = (plan.len(), plan.rx_if, 0);
        for first in (0..n).step_by(CHUNK) {
            ahead.some();
            let end = n.min(first + CHUNK);
            for (i, (b, out)) in (first..end).zip(v.range_packets(from + first, from + end)) {
                let onward = plan.onward(i);
                let adj = records.get(AdjIndex(hops[i % BLOCK]));
                if let Some(adj) = adj
                    && let Some(exit) = exits.known(adj.tx_if.into(), adj.output)
                    && let next_hop =
                        Self::short_next_hop(adj, Out { tx: exit.to.tx, ..Out::default() })
                    && next_hop.takes(rx_if, onward)
                    && next_hop.send_short::<F, PADDED>(b, onward).is_some()
                {
                    counters.add(next_hop.counter as usize, 1, onward.total.into());
                    exit.count(onward.total + ETHERNET as u32);
                    out.go(next_hop.to);
                    if let Some(followed) = &mut followed {
                        followed[i % BLOCK] = next_hop.via;
                    }
                } else {
                    stay |= 1 << (i % BLOCK);
                }
            }
        }
        stay
    }

    /// Adds the counts that were deferred in a vector, and forgets its interfaces: they may change
    /// after it.
    #[inline(always)]
    pub fn settle(&self, state: &mut SendState<F>) {
        state.deferred.settle(&self.routes);
        state.exits.settle(&self.outward.lanes);
        state.local.forget();
        self.outward.mirrors.iter().for_each(Mirrors::end);
    }
}
