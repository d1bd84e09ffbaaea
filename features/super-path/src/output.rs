// SPDX-License-Identifier: Apache-2.0
//! Packets that leave by an interface with features, or that isn't up: they get their layer-2
//! header here, and go on where `ip4-rewrite` or `ip6-rewrite` would send them.

use crate::Bits;
use crate::To;
use crate::forwarder::Forwarder;
use crate::l2::bvi::BridgedHop;
use crate::next_hop::{NextHop, Protocol};
use crate::plan::Plan;
use crate::send::{SendContext, SendState};
use buffer::Buffer;
use graph::{Cx, Vector};
use ip::exits::Out;
use ip::headers::Onward;
use net::{Adj, AdjKind, SentTags, Views};

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
        let at_packet = b.pull(next_hop.header_len);
        b.mark_l3();
        let at_header = b.rewind(next_hop.header_len);
        debug_assert!(at_packet && at_header, "the header was just written");
        Some(cx.start_arc(arc, next_hop.tx_if, b).map_or(next_hop.to, To::Node))
    }

    /// Sends packets of a plan over one adjacency so.
    #[inline(never)]
    pub(super) fn output_all(
        &self,
        plan: &Plan<F>,
        (which, via): (u64, u32),
        adj: &Adj,
        SendState { deferred, .. }: &mut SendState<F>,
        v: &mut Vector<'_, To>,
        SendContext { views, cx, counting }: SendContext<'_, '_>,
    ) {
        let Some(hop) = self.indirect(adj, views, cx) else { return };
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
