// SPDX-License-Identifier: Apache-2.0
//! Sends the packets of a plan to transmit nodes.

use super::choice::Hops;
use super::exits::{Exits, Out};
use super::owed::Owed;
use super::plan::Plan;
use super::way::{Protocol, Way};
use super::ways::Ways;
use super::{Bits, ETHERNET, To, first};
use crate::headers::BLOCK;
use graph::{Cx, Vector};
use net::{AdjIndex, AdjKind, TAG, Views};
use simd::Isa;
use tables::{Key, Steps};

/// Groups of less than one in so many of the packets left are not sent as groups.
const SMALL_GROUP: u32 = 8;

/// Packets that are sent between two rounds of prefetching.
const CHUNK: usize = 16;

/// Parameters of sending beside a plan.
#[derive(Clone, Copy)]
pub struct Means<'a, 't> {
    pub views: Views<'a>,
    pub cx: &'a Cx<'t, false>,
    /// True if packets are counted for routes.
    pub counting: bool,
}

/// Packets of a plan with their hops, which may differ from the ones looked up for them.
struct Apart<'a, 't, F: Protocol> {
    plan: &'a Plan<F>,
    hops: &'a [u32; BLOCK],
    /// The routes that were followed to these hops.
    vias: &'a [u32; BLOCK],
    means: Means<'a, 't>,
}

/// State of sending.
pub struct Desk {
    pub exits: Exits,
    pub owed: Owed,
    chosen: Hops,
}

impl Desk {
    pub fn new() -> Self {
        Self { exits: Exits::new(), owed: Owed::new(), chosen: Hops::NONE }
    }
}

/// The memory that the lookups of another block will read, prefetched while this one is sent: a few
/// cache lines at a time, so that the prefetches don't wait for each other.
pub struct Ahead<'a, 't, K: Key> {
    steps: Option<Steps<'t, K>>,
    places: std::slice::Iter<'a, u32>,
}

impl<'a, 't, K: Key> Ahead<'a, 't, K> {
    #[inline(always)]
    pub fn new<F: Protocol<Key = K>>(plan: &'a Plan<F>, steps: Option<Steps<'t, K>>) -> Self {
        Self { steps, places: plan.places().iter() }
    }

    #[inline(always)]
    fn some(&mut self) {
        let Some(steps) = self.steps else { return };
        for place in self.places.by_ref().take(CHUNK) {
            steps.fetch(*place);
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

impl<F: Protocol> Ways<F> {
    /// Sends all packets of a plan. Packets that can't be sent stay as they are.
    #[inline(always)]
    #[allow(
        clippy::too_many_arguments,
        reason = "inlined: state of a loop that lives in registers"
    )]
    pub fn send<I: Isa>(
        &self,
        plan: &Plan<F>,
        steps: Option<Steps<'_, F::Key>>,
        ahead: &mut Ahead<'_, '_, F::Key>,
        desk: &mut Desk,
        v: &mut Vector<'_, To>,
        means: Means<'_, '_>,
    ) {
        let n = plan.len();
        if n == 0 {
            return;
        }
        let Means { views, cx, counting } = means;
        let least = self.least(cx);
        // Packets left to be sent, and packets whose hop isn't ordinary.
        let (mut left, mut unusual) = (u64::MAX >> (BLOCK - n), 0);
        if plan.any_longer(least as u32) {
            self.others(plan, left, desk, v, means);
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
            let way = if let Some(adj) = self.adjacencies.ordinaries().get(hop) {
                let exit =
                    self.outward.find(&mut desk.exits, (adj.tx_if.into(), adj.output), views, cx);
                exit.map(|exit| Self::short_way(adj, exit.to))
            } else {
                let Some(adj) = self.adjacencies.get(hop, cx.turn) else { continue };
                if adj.kind == AdjKind::LoadBalance {
                    unusual |= group;
                    continue;
                }
                self.way(adj, &mut desk.exits, views, cx)
            };
            let Some(way) = way else { continue };
            if plan.any_longer(way.mtu) || way.tx_if == plan.rx_if {
                self.others(plan, group, desk, v, means);
                continue;
            }
            let route = plan.routes[first(group)];
            let many_routes = counting && group & !simd::equal_words::<I>(&plan.routes, route) != 0;
            let owed = &mut desk.owed;
            let (packets, bytes) = match (way.tags.count() == 1, many_routes) {
                (false, false) => self.together::<false, false>(way, plan, group, ahead, owed, v),
                (false, true) => self.together::<true, false>(way, plan, group, ahead, owed, v),
                (true, false) => self.together_tagged::<false>(way, plan, group, ahead, owed, v),
                (true, true) => self.together_tagged::<true>(way, plan, group, ahead, owed, v),
            };
            if packets == 0 {
                continue;
            }
            self.received.add(plan.rx_if as usize, packets.into());
            self.count_over(&way, packets.into(), bytes.into());
            if counting {
                if !many_routes {
                    desk.owed.add(route, packets, bytes);
                }
                self.count_via(way.via, packets.into(), bytes.into(), cx);
            }
        }
        let Desk { exits, owed, chosen } = desk;
        if left != 0 {
            let found = Apart { plan, hops: &plan.hops, vias: &[0; BLOCK], means };
            unusual |= self.apart(&found, left, ahead, exits, owed, v);
        }
        if unusual != 0 {
            let which = self.choose(plan, unusual, chosen, v, cx);
            unusual &= !which;
            let chosen = Apart { plan, hops: &chosen.to, vias: &chosen.via, means };
            unusual |= self.apart(&chosen, which, ahead, exits, owed, v);
            self.others(plan, unusual, desk, v, means);
        }
        if counting {
            if let (true, Some(steps)) = (plan.stepping, steps) {
                steps.resolve(desk.owed.routes());
            }
            desk.owed.routes().iter().for_each(|route| self.routes.prefetch(*route));
        }
    }

    /// Sends packets of a plan over one adjacency, none of them too long for it or back to where it
    /// came from; returns the number of packets sent, and their bytes. `TAGGED` if one tag is
    /// put in.
    #[inline(always)]
    fn together<const MANY_ROUTES: bool, const TAGGED: bool>(
        &self,
        way: Way,
        plan: &Plan<F>,
        which: u64,
        ahead: &mut Ahead<'_, '_, F::Key>,
        owed: &mut Owed,
        v: &mut Vector<'_, To>,
    ) -> (u32, u32) {
        let (mut packets, mut bytes) = (which.count_ones(), 0);
        let mut places = Bits(which);
        let head = if TAGGED { way.head() } else { [0; ETHERNET + TAG] };
        while places.0 != 0 {
            ahead.some();
            for i in places.by_ref().take(CHUNK) {
                let (at, onward) = (plan.at(i), plan.onward(i));
                let b = v.get_mut(at);
                let sent = if TAGGED {
                    way.send_tagged::<F, TAG, { ETHERNET + TAG }>(b, onward, &head)
                } else {
                    way.send_on::<F>(b, onward)
                };
                if sent.is_none() {
                    packets -= 1;
                    continue;
                }
                v.set(at, way.to);
                bytes += onward.total;
                if MANY_ROUTES {
                    owed.add(plan.routes[i], 1, onward.total);
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
        way: Way,
        plan: &Plan<F>,
        which: u64,
        ahead: &mut Ahead<'_, '_, F::Key>,
        owed: &mut Owed,
        v: &mut Vector<'_, To>,
    ) -> (u32, u32) {
        self.together::<MANY_ROUTES, true>(way, plan, which, ahead, owed, v)
    }

    /// Sends packets of a plan over many adjacencies, none above the least path MTU. Returns
    /// packets whose hop isn't ordinary.
    #[inline(always)]
    fn apart(
        &self,
        packets: &Apart<'_, '_, F>,
        which: u64,
        ahead: &mut Ahead<'_, '_, F::Key>,
        exits: &mut Exits,
        owed: &mut Owed,
        v: &mut Vector<'_, To>,
    ) -> u64 {
        let (plan, hops) = (packets.plan, packets.hops);
        let records = self.adjacencies.ordinaries();
        // Mostly the others need the same as the first one.
        let ordinary = records.get(AdjIndex(hops[first(which)])).is_some();
        let left = match plan.row(which) {
            Some(from) if ordinary => self.row(packets, from, ahead, exits, owed, v),
            _ => {
                // A small loop of its own, so that cache misses overlap.
                Bits(which).for_each(|i| records.prefetch(AdjIndex(hops[i])));
                which
            }
        };
        if left == 0 {
            return 0;
        }
        self.each(packets, left, ahead, exits, owed, v)
    }

    /// The same for all packets of a plan, in order from index `from` of the vector on, as far as
    /// that is quick. Returns the packets left: all, if some packets of the vector leave with
    /// tags.
    #[inline(always)]
    fn row(
        &self,
        &Apart { plan, hops, vias, means: Means { views, cx, counting } }: &Apart<'_, '_, F>,
        from: usize,
        ahead: &mut Ahead<'_, '_, F::Key>,
        exits: &mut Exits,
        owed: &mut Owed,
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
        self.received.add(plan.rx_if as usize, gone.count_ones().into());
        if !counting {
            return left;
        }
        if left == 0 {
            owed.add_each(plan.routes(), plan.totals());
        } else {
            for i in Bits(gone) {
                owed.add(plan.routes[i], 1, plan.onward(i).total);
            }
        }
        // Most routes follow no other route.
        if vias.iter().chain(&followed).fold(0, |any, via| any | via) != 0 {
            for i in Bits(gone) {
                let total = plan.onward(i).total.into();
                self.count_via(vias[i], 1, total, cx);
                self.count_via(followed[i], 1, total, cx);
            }
        }
        left
    }

    /// Sends packets of a plan, one by one. Returns the packets whose hop isn't ordinary.
    #[inline(always)]
    fn each(
        &self,
        &Apart { plan, hops, vias, means: Means { views, cx, counting } }: &Apart<'_, '_, F>,
        which: u64,
        ahead: &mut Ahead<'_, '_, F::Key>,
        exits: &mut Exits,
        owed: &mut Owed,
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
                    packets -= 1;
                    continue;
                };
                let way = Self::short_way(adj, exit.to);
                let (at, onward) = (plan.at(i), plan.onward(i));
                if way.take::<F>(v.get_mut(at), plan.rx_if, onward).is_none() {
                    packets -= 1;
                    continue;
                }
                let bytes = u64::from(onward.total);
                counters.add(way.counter as usize, 1, bytes);
                exit.count(onward.total + way.header_len as u32);
                if counting {
                    owed.add(plan.routes[i], 1, onward.total);
                    self.count_via(vias[i], 1, bytes, cx);
                    self.count_via(way.via, 1, bytes, cx);
                }
                v.set(at, way.to);
            }
        }
        self.received.add(plan.rx_if as usize, packets - u64::from(others.count_ones()));
        others
    }

    /// Sends all packets of a plan, in order from index `from` of the vector on, as far as hops are
    /// ordinary and their exits are known. Returns the packets left, and stores in `followed`
    /// the route that each of the others has followed to its neighbour.
    ///
    /// A function of its own, and nothing in it that isn't done for each packet: among all the
    /// rest, half of what the loop needs would be kept on the stack. `PADDED` as for
    /// [`Way::send_short`].
    #[inline(never)]
    #[allow(clippy::too_many_arguments, reason = "state of a loop")]
    fn each_in_row<const PADDED: bool>(
        &self,
        plan: &Plan<F>,
        from: usize,
        hops: &[u32; BLOCK],
        mut followed: Option<&mut [u32; BLOCK]>,
        ahead: &mut Ahead<'_, '_, F::Key>,
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
                    && let way = Self::short_way(adj, Out { tx: exit.to.tx, ..Out::default() })
                    && way.takes(rx_if, onward)
                    && way.send_short::<F, PADDED>(b, onward).is_some()
                {
                    counters.add(way.counter as usize, 1, onward.total.into());
                    exit.count(onward.total + ETHERNET as u32);
                    out.go(way.to);
                    if let Some(followed) = &mut followed {
                        followed[i % BLOCK] = way.via;
                    }
                } else {
                    stay |= 1 << (i % BLOCK);
                }
            }
        }
        stay
    }

    /// Sends packets of a plan that need the full adjacency.
    #[inline(always)]
    fn others(
        &self,
        plan: &Plan<F>,
        which: u64,
        Desk { exits, owed, .. }: &mut Desk,
        v: &mut Vector<'_, To>,
        Means { views, cx, counting }: Means<'_, '_>,
    ) {
        for i in Bits(which) {
            let (at, onward) = (plan.at(i), plan.onward(i));
            let b = v.get_mut(at);
            let Some((adj, via)) =
                self.adj(b, AdjIndex(plan.hops[i]), onward.total, plan.table, cx)
            else {
                continue;
            };
            let Some(way) = self.way(adj, exits, views, cx) else { continue };
            if way.take::<F>(b, plan.rx_if, onward).is_none() {
                continue;
            }
            let total = u64::from(onward.total);
            self.received.add(plan.rx_if as usize, 1);
            self.count_over(&way, 1, total);
            if counting {
                owed.add(plan.routes[i], 1, onward.total);
                self.count_via(via, 1, total, cx);
                self.count_via(way.via, 1, total, cx);
            }
            v.set(at, way.to);
        }
    }
}
