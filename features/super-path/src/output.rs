// SPDX-License-Identifier: Apache-2.0
//! Packets that leave by an interface with features, or that isn't up: they get their layer-2
//! header here, and go on where `ip4-rewrite` or `ip6-rewrite` would send them. Features with a
//! [`net::Stage`] are run here, as far as they stand in front of all others: packets that pass them
//! all go past the interface's output node.

use crate::features::OfPlan;
use crate::forwarder::Forwarder;
use crate::l2::bvi::BridgedHop;
use crate::next_hop::{NextHop, Protocol};
use crate::plan::Plan;
use crate::send::{SendContext, SendState};
use crate::{Bits, ETHERNET, To};
use buffer::Buffer;
use graph::{Cx, Vector};
use ip::exits::Out;
use ip::headers::BLOCK;
use ip::headers::Onward;
use net::{Adj, AdjKind, PacketColumns, SentTags, TableIndex, Views};

/// The next hop of packets over an adjacency whose interface has no exit.
#[derive(Clone, Copy)]
pub enum Indirect {
    /// To its first output feature, or its output node, which counts packets and puts tags in.
    Output(NextHop),
    /// Through a bridge domain.
    Bridged(BridgedHop),
}

impl Indirect {
    pub fn next_hop(&self) -> &NextHop {
        match self {
            Self::Output(next_hop) | Self::Bridged(BridgedHop { next_hop, .. }) => next_hop,
        }
    }
}

/// The position of packets that have passed all features.
const NOWHERE: u32 = u32::MAX;

/// Notes where the packet begins behind its layer-2 header, for features.
#[inline(always)]
fn mark_packet(b: &mut Buffer, header_len: usize) {
    let at_packet = b.pull(header_len);
    b.mark_l3();
    let at_header = b.rewind(header_len);
    debug_assert!(at_packet && at_header, "the header was just written");
}

impl<F: Protocol> Forwarder<F> {
    /// Finds it.
    #[inline(always)]
    pub(super) fn indirect<const TRACED: bool>(
        &self,
        adj: &Adj,
        views: Views<'_>,
        cx: &Cx<'_, TRACED>,
    ) -> Option<Indirect> {
        if adj.kind != AdjKind::Rewrite {
            return None;
        }
        if let Some(hop) = self.bridged_hop(adj, views, cx) {
            return Some(Indirect::Bridged(hop));
        }
        let out = Out { tx: adj.output, parent: 0, tags: SentTags::default() };
        self.next_hop_by(adj, out, cx).map(Indirect::Output)
    }

    /// Sends a packet to it; `None`, and nothing changed, if the graph has to handle it.
    #[inline(always)]
    pub(super) fn output<const TRACED: bool>(
        &self,
        hop: &Indirect,
        b: &mut Buffer,
        rx_if: u32,
        onward: Onward,
        cx: &Cx<'_, TRACED>,
    ) -> Option<To> {
        let next_hop = match hop {
            Indirect::Output(next_hop) => next_hop,
            Indirect::Bridged(hop) => return hop.take::<F>(b, rx_if, onward),
        };
        next_hop.take::<F>(b, rx_if, onward)?;
        let arc = self.outward.features;
        if !cx.has_arc(arc, next_hop.tx_if) {
            return Some(next_hop.to);
        }
        mark_packet(b, next_hop.header_len);
        Some(cx.start_arc(arc, next_hop.tx_if, b).map_or(next_hop.to, To::Node))
    }

    /// Sends packets of a plan over one adjacency so.
    #[inline(never)]
    pub(super) fn output_all(
        &self,
        plan: &Plan<F>,
        (which, via): (u64, u32),
        adj: &Adj,
        state: &mut SendState<F>,
        v: &mut Vector<'_, To>,
        context: SendContext<'_, '_>,
    ) {
        let SendContext { views, cx, counting } = context;
        let Some(hop) = self.indirect(adj, views, cx) else { return };
        let which = match &hop {
            Indirect::Output(next_hop) => {
                self.output_by_stages(plan, (which, via), (adj, next_hop), state, v, context)
            }
            Indirect::Bridged(_) => which,
        };
        let deferred = &mut state.deferred;
        let (mut packets, mut bytes) = (0, 0);
        for i in Bits(which) {
            let (at, onward) = (plan.at(i), plan.onward(i));
            let to = self.output(&hop, v.get_mut(at), plan.rx_if, onward, cx);
            let Some(to) = to else { continue };
            v.set(at, to);
            packets += 1;
            bytes += u64::from(onward.total);
            if counting {
                deferred.add(plan.routes[i], 1, onward.total);
            }
        }
        self.count_received(plan, packets);
        self.count_indirect(&hop, packets, bytes, cx);
        if counting {
            self.count_via(via, packets, bytes, cx);
            self.count_via(hop.next_hop().via, packets, bytes, cx);
        }
    }

    /// Lets packets of a plan over one adjacency pass the stages of the features of packets that
    /// leave, and sends them: past the interface's output node, or to the node of the feature that
    /// has to handle them. Returns the packets for which nothing was done.
    fn output_by_stages(
        &self,
        plan: &Plan<F>,
        (which, via): (u64, u32),
        (adj, next_hop): (&Adj, &NextHop),
        SendState { deferred, stages, .. }: &mut SendState<F>,
        v: &mut Vector<'_, To>,
        SendContext { views, cx, counting }: SendContext<'_, '_>,
    ) -> u64 {
        let at_start = cx.chain_start(self.outward.features, next_hop.tx_if);
        let features = || cx.chain(at_start).take_while(|step| step.node != adj.output);
        if features().next().is_none_or(|first| stages.of(first.node).is_none()) {
            return which;
        }
        let behind = self
            .outward
            .out_behind_features(next_hop.tx_if, adj.output, views, cx)
            .and_then(|out| self.next_hop_by(adj, out, cx));
        let header_len = behind.map_or(0, |behind| behind.header_len).max(next_hop.header_len);
        let mut fitting = 0;
        for i in Bits(which) {
            let b = v.get_mut(plan.at(i));
            let fits =
                next_hop.takes(plan.rx_if, plan.onward(i)) && b.headroom() + ETHERNET >= header_len;
            fitting |= u64::from(fits) << i;
        }
        let sources = plan.sources(v);
        let mut buffers = OfPlan { v: &mut *v, at: plan.places_in_vector() };
        let of = (next_hop.tx_if, TableIndex(plan.table));
        let columns = (&sources[..plan.len()], plan.totals());
        let packets = PacketColumns::new(of, fitting, columns, &mut buffers);
        let mut packets = packets.received_by(plan.rx_if);
        // Positions of the features that packets go to.
        let mut entered = [NOWHERE; BLOCK];
        for step in features() {
            if packets.which == 0 {
                break;
            }
            let stage = stages.of(step.node);
            let passing = stage.map_or(0, |stage| stage.pass(&mut packets, step, cx));
            for i in Bits(packets.which & !passing) {
                entered[i % BLOCK] = step.at();
            }
            packets.which &= passing;
        }
        debug_assert!(packets.sent() == 0 && packets.directed().is_none(), "packets leave here");
        let changed = packets.changed();

        let (mut past, mut through) = ([0; 2], [0; 2]);
        for i in Bits(fitting) {
            let (at, mut onward) = (plan.at(i), plan.onward(i));
            let b = v.get_mut(at);
            if changed >> i & 1 != 0
                && let Some((words, _)) = F::look(b)
            {
                onward.word = F::onward(words.0).0;
            }
            let step = cx.chain(entered[i % BLOCK]).next();
            let (hop, counts) = match behind {
                Some(behind) if step.is_none() => (behind, &mut past),
                _ => (*next_hop, &mut through),
            };
            let sent = hop.send_on::<F>(b, onward);
            debug_assert!(sent.is_some(), "there is room for the header");
            if step.is_some() || behind.is_none() {
                mark_packet(b, hop.header_len);
            }
            let to = step.map_or(hop.to, |step| To::Node(step.enter(b)));
            v.set(at, to);
            counts[0] += 1;
            counts[1] += u64::from(onward.total);
            if counting {
                deferred.add(plan.routes[i], 1, onward.total);
            }
        }
        self.count_received(plan, past[0] + through[0]);
        self.counters.add(next_hop.counter as usize, through[0], through[1]);
        if let Some(behind) = behind {
            self.count_over(&behind, past[0], past[1]);
        }
        if counting {
            let [packets, bytes] = [past[0] + through[0], past[1] + through[1]];
            self.count_via(via, packets, bytes, cx);
            self.count_via(next_hop.via, packets, bytes, cx);
        }
        which & !fitting
    }

    /// Counts packets for the adjacency and, if no output node does, for interfaces.
    #[inline(always)]
    pub(super) fn count_indirect<const TRACED: bool>(
        &self,
        hop: &Indirect,
        packets: u64,
        bytes: u64,
        cx: &Cx<'_, TRACED>,
    ) {
        self.counters.add(hop.next_hop().counter as usize, packets, bytes);
        if let Indirect::Bridged(hop) = hop {
            self.count_bridged(hop, packets, bytes, cx);
        }
    }
}
