// SPDX-License-Identifier: Apache-2.0
//! Packets for us: they go to the node of their protocol or UDP port.

use crate::forwarder::Forwarder;
use crate::next_hop::Protocol;
use crate::plan::Plan;
use crate::send::{SendContext, SendState};
use crate::{Bits, ETHERNET, To, first};
use buffer::Buffer;
use graph::{Cx, Vector};
use ip::Local;
use net::{Adj, AdjIndex, Front, IpMeta};

impl<F: Protocol> Forwarder<F> {
    /// Sends a packet for us of so many bytes, which was looked up in a table, to the node that
    /// takes it; `None`, and nothing changed, if the graph has to check it.
    #[inline(always)]
    pub(super) fn deliver_one(
        b: &mut Buffer,
        (front, total): (Front, u32),
        (hop, table): (AdjIndex, u32),
        local: &mut Local<F>,
        cx: &Cx<'_, false>,
    ) -> Option<To> {
        let len = b.len();
        front.strip(b, total);
        b.set_scratch(IpMeta::of(hop, table));
        let taker = local.taker(b, cx);
        if taker.is_none() {
            let rewound = b.rewind(ETHERNET);
            debug_assert!(rewound, "it was pulled");
            b.set_len(len);
        }
        taker.map(To::Node)
    }

    /// The same for packets of a plan over one adjacency.
    #[inline(never)]
    pub(super) fn deliver(
        &self,
        plan: &Plan<F>,
        which: u64,
        (hop, adj): (AdjIndex, &Adj),
        SendState { local, deferred, .. }: &mut SendState<F>,
        v: &mut Vector<'_, To>,
        SendContext { cx, counting, .. }: SendContext<'_, '_>,
    ) {
        let (mut packets, mut bytes) = (0, 0);
        let (mut route, mut of_route) = (plan.routes[first(which)], (0, 0));
        for i in Bits(which) {
            let (at, total) = (plan.at(i), plan.onward(i).total);
            let front = (plan.front, total);
            let to = Self::deliver_one(v.get_mut(at), front, (hop, plan.table), local, cx);
            let Some(to) = to else { continue };
            v.set(at, to);
            packets += 1;
            bytes += u64::from(total);
            if counting && plan.routes[i] != route {
                deferred.add(route, of_route.0, of_route.1);
                (route, of_route) = (plan.routes[i], (0, 0));
            }
            of_route.0 += 1;
            of_route.1 += total;
        }
        if packets == 0 {
            return;
        }
        self.count_received(plan, packets);
        self.counters.add(adj.counter as usize, packets, bytes);
        if counting {
            deferred.add(route, of_route.0, of_route.1);
            self.count_vias([0, adj.via], packets, bytes, cx);
        }
    }
}
