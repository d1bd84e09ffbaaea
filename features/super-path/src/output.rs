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
use graph::{ChainStep, Cx, Vector};
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

/// Packets of a plan that have passed stages.
struct Staged {
    /// To the output node.
    next_hop: NextHop,
    /// Past it, if there is nothing to do there.
    behind: Option<NextHop>,
    /// The packets that fit. For the others nothing was done.
    fitting: u64,
    /// The packets that stages have changed.
    changed: u64,
    /// Positions of the features that packets go to.
    entered: [u32; BLOCK],
}

impl Staged {
    /// Sends packet `i`: past the interface's output node (1) or not (0); `None` if the graph has
    /// to handle it.
    #[inline(always)]
    fn output<F: Protocol>(
        &self,
        b: &mut Buffer,
        i: usize,
        mut onward: Onward,
        cx: &Cx<'_, false>,
    ) -> Option<(To, u64)> {
        if self.fitting >> i & 1 == 0 {
            return None;
        }
        if self.changed >> i & 1 != 0
            && let Some((words, _)) = F::look(b)
        {
            onward.word = F::onward(words.0).0;
        }
        let step = cx.chain(self.entered[i % BLOCK]).next();
        let past = self.behind.filter(|_| step.is_none());
        let hop = past.unwrap_or(self.next_hop);
        let sent = hop.send_on::<F>(b, onward);
        debug_assert!(sent.is_some(), "there is room for the header");
        if past.is_none() {
            mark_packet(b, hop.header_len);
        }
        Some((step.map_or(hop.to, |step| To::Node(step.enter(b))), past.is_some().into()))
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
    pub(super) fn indirect(
        &self,
        adj: &Adj,
        views: Views<'_>,
        cx: &Cx<'_, false>,
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
    pub(super) fn output(
        &self,
        hop: &Indirect,
        b: &mut Buffer,
        rx_if: u32,
        onward: Onward,
        cx: &Cx<'_, false>,
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
        let followed = hop.next_hop().via;
        let staged = match &hop {
            Indirect::Output(next_hop) => {
                self.pass_output(plan, which, (adj, next_hop), state, v, context)
            }
            Indirect::Bridged(_) => None,
        };
        // Packets and bytes that leave past the output node, and of all.
        let (mut past, mut all) = ([0; 2], [0; 2]);
        for i in Bits(which) {
            let (at, onward) = (plan.at(i), plan.onward(i));
            let b = v.get_mut(at);
            let counts = [1, u64::from(onward.total)];
            let to = match &staged {
                Some(staged) => staged.output::<F>(b, i, onward, cx).map(|(to, is_past)| {
                    past = [past[0] + counts[0] * is_past, past[1] + counts[1] * is_past];
                    to
                }),
                None => self.output(&hop, b, plan.rx_if, onward, cx),
            };
            let Some(to) = to else { continue };
            v.set(at, to);
            all = [all[0] + counts[0], all[1] + counts[1]];
            if counting {
                state.deferred.add(plan.routes[i], 1, onward.total);
            }
        }
        let [packets, bytes] = all;
        self.count_received(plan, packets);
        self.count_indirect(&hop, packets, bytes, cx);
        if let Some(behind) = staged.and_then(|staged| staged.behind) {
            self.count_exit(&behind, past[0], past[1]);
        }
        if counting {
            self.count_vias([via, followed], packets, bytes, cx);
        }
    }

    /// Lets packets of a plan over one adjacency pass the stages of the features of packets that
    /// leave; `None` if there are none in front of all other features.
    fn pass_output(
        &self,
        plan: &Plan<F>,
        which: u64,
        (adj, next_hop): (&Adj, &NextHop),
        SendState { stages, .. }: &mut SendState<F>,
        v: &mut Vector<'_, To>,
        SendContext { views, cx, .. }: SendContext<'_, '_>,
    ) -> Option<Staged> {
        let at_start = cx.chain_start(self.outward.features, next_hop.tx_if);
        let features = || cx.chain(at_start).take_while(|step| step.node != adj.output);
        if features().next().is_none_or(|first| stages.of(first.node).is_none()) {
            return None;
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
        let enter = |_: &mut PacketColumns<'_, F>, i, step: ChainStep<'_>| {
            entered[i % BLOCK] = step.at();
        };
        let directed = stages.run(features(), &mut packets, enter, cx);
        debug_assert!(packets.sent() == 0 && directed.is_none(), "packets leave here");
        let changed = packets.changed();
        Some(Staged { next_hop: *next_hop, behind, fitting, changed, entered })
    }

    /// Counts packets for the adjacency and, if no output node does, for interfaces.
    #[inline(always)]
    pub(super) fn count_indirect(
        &self,
        hop: &Indirect,
        packets: u64,
        bytes: u64,
        cx: &Cx<'_, false>,
    ) {
        self.counters.add(hop.next_hop().counter as usize, packets, bytes);
        if let Indirect::Bridged(hop) = hop {
            self.count_bridged(hop, packets, bytes, cx);
        }
    }
}
