// SPDX-License-Identifier: Apache-2.0
//! Packets that leave by an interface with features, or that isn't up: they get their layer-2
//! header here, and go on where `ip4-rewrite` or `ip6-rewrite` would send them.

use crate::Bits;
use crate::To;
use crate::forwarder::Forwarder;
use crate::next_hop::{NextHop, Protocol};
use crate::plan::Plan;
use crate::send::{SendContext, SendState};
use buffer::Buffer;
use graph::{Cx, Vector};
use ip::exits::Out;
use ip::headers::Onward;
use net::{Adj, AdjKind, SentTags};

impl<F: Protocol> Forwarder<F> {
    /// The [`NextHop`] of packets that take the output node of an adjacency, which counts them and
    /// puts tags in.
    #[inline(always)]
    pub(super) fn to_output<const TRACED: bool>(
        &self,
        adj: &Adj,
        cx: &Cx<'_, TRACED>,
    ) -> Option<NextHop> {
        let out = Out { tx: adj.output, parent: 0, tags: SentTags::default() };
        if adj.kind == AdjKind::Rewrite { self.next_hop_by(adj, out, cx) } else { None }
    }

    /// Sends a packet to the first output feature of its interface, or to the output node; `None`,
    /// and nothing changed, if the graph has to handle it.
    #[inline(always)]
    pub(super) fn output<const TRACED: bool>(
        &self,
        next_hop: &NextHop,
        b: &mut Buffer,
        rx_if: u32,
        onward: Onward,
        cx: &Cx<'_, TRACED>,
    ) -> Option<To> {
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
        SendContext { cx, counting, .. }: SendContext<'_, '_>,
    ) {
        let Some(next_hop) = self.to_output(adj, cx) else { return };
        let (mut packets, mut bytes) = (0, 0);
        for i in Bits(which) {
            let (at, onward) = (plan.at(i), plan.onward(i));
            let to = self.output(&next_hop, v.get_mut(at), plan.rx_if, onward, cx);
            let Some(to) = to else { continue };
            v.set(at, to);
            packets += 1;
            bytes += u64::from(onward.total);
            if counting {
                deferred.add(plan.routes[i], 1, onward.total);
            }
        }
        self.count_received(plan, packets);
        self.counters.add(next_hop.counter as usize, packets, bytes);
        if counting {
            self.count_via(via, packets, bytes, cx);
            self.count_via(next_hop.via, packets, bytes, cx);
        }
    }
}
