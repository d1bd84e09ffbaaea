// SPDX-License-Identifier: Apache-2.0
//! Packets that are routed to a BVI: the bridge domain's table leads them to a port, as frames that
//! the BVI sends, without a visit to its transmit node and the nodes of layer 2.

use crate::To;
use crate::forwarder::Forwarder;
use crate::next_hop::{NextHop, Protocol};
use buffer::Buffer;
use graph::Cx;
use ip::headers::Onward;
use l2::{Switched, UnicastPath};
use net::{Adj, IfFlags, Views};
use tables::mac::MacKey;

/// The next hop of such packets over one adjacency.
#[derive(Clone, Copy)]
pub struct BridgedHop {
    /// The port's transmit node, by the BVI; the port is its parent.
    pub next_hop: NextHop,
    learns: bool,
}

impl<F: Protocol> Forwarder<F> {
    /// Looks up the port of an adjacency of a BVI; `None` for other adjacencies, and if the graph
    /// has to switch the frames.
    pub fn bridged_hop(
        &self,
        adj: &Adj,
        views: Views<'_>,
        cx: &Cx<'_, false>,
    ) -> Option<BridgedHop> {
        let is_bvi = views.get(adj.tx_if as usize)?.flags.contains(IfFlags::BVI);
        let out = self.outward.out(adj.tx_if, adj.output, views, cx).filter(|_| is_bvi)?;
        let next_hop = self.next_hop_by(adj, out, cx)?;
        let &[d0, d1, d2, d3, d4, d5, s0, s1, s2, s3, s4, s5, ..] =
            adj.rewrite().first_chunk::<{ crate::ETHERNET }>()?;
        let bridge = &self.bridge;
        let origin = bridge.origin(adj.tx_if, &self.interfaces, cx.now(), cx.turn);
        let UnicastPath::Bridged { learns } = origin.unicast_path else { return None };
        if origin.mirrored {
            return None;
        }
        let (macs, domain) = (bridge.view(cx.turn), origin.domain);
        let source = MacKey::new([s0, s1, s2, s3, s4, s5], domain);
        if learns && !macs.find(source).is_some_and(|found| origin.knows(found.entry)) {
            return None;
        }
        let entry = macs.find(MacKey::new([d0, d1, d2, d3, d4, d5], domain))?.entry;
        let view = views.get(entry.port as usize)?;
        let target = bridge.target(entry.port, view, cx.turn);
        if !target.is_open
            || !origin.may_send(entry, &target)
            || target.mirrored
            || !self.outward.is_open(entry.port, target.tx, cx)
        {
            return None;
        }
        let next_hop = NextHop { to: To::Node(target.tx), parent: entry.port, ..next_hop };
        Some(BridgedHop { next_hop, learns })
    }

    /// Counts packets that were sent so, for the nodes of layer 2 too.
    #[inline(always)]
    pub fn count_bridged(&self, hop: &BridgedHop, packets: u64, bytes: u64, cx: &Cx<'_, false>) {
        self.count_exit(&hop.next_hop, packets, bytes);
        let mut switched = Switched::default();
        switched.add_bridged((packets, 0), hop.learns);
        self.bridge.count_switched(switched, cx);
    }
}

impl BridgedHop {
    /// Rewrites a packet as [`NextHop::take`] does, as a frame that its BVI has sent.
    #[inline(always)]
    pub fn take<F: Protocol>(&self, b: &mut Buffer, rx_if: u32, onward: Onward) -> Option<To> {
        let mut flags = b.flags;
        if !flags.count_return() {
            return None;
        }
        self.next_hop.take::<F>(b, rx_if, onward)?;
        b.flags = flags;
        (b.rx_if, b.tx_if) = (self.next_hop.tx_if, self.next_hop.parent);
        b.mark_l2();
        Some(self.next_hop.to)
    }
}
