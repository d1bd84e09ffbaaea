// SPDX-License-Identifier: Apache-2.0
//! Packets by themselves: those of small vectors, and those of a block that aren't like the others.

use crate::forwarder::{Forwarder, NO_ROUTE};
use crate::gate::{DirectedBy, Gate, Open};
use crate::next_hop::Protocol;
use crate::plan::Plan;
use crate::rx::Rx;
use crate::send::{SendContext, SendState};
use crate::{Bits, ETHERNET, To};
use buffer::Buffer;
use graph::{Cx, Vector};
use ip::headers::Onward;
use net::{AdjIndex, AdjKind, Buffers, Front, PacketColumns};

/// A packet whose headers are ordinary, and which was looked up.
#[derive(Clone, Copy)]
pub struct Single {
    pub hop: AdjIndex,
    pub route: u32,
    pub table: u32,
    /// The interface that it came in by.
    pub rx_if: u32,
    /// See [`Rx::fresh`].
    pub fresh: u64,
    pub front: Front,
    pub onward: Onward,
}

/// Its buffer.
struct One<'a>(&'a mut Buffer);

impl Buffers for One<'_> {
    fn get(&mut self, _: usize) -> &mut Buffer {
        self.0
    }
}

impl<F: Protocol> Forwarder<F> {
    /// Sends a packet of a small vector; `None` if the graph handles it.
    #[inline(always)]
    pub fn one(
        &self,
        b: &mut Buffer,
        rx: &Rx,
        gate: &mut Gate<F>,
        state: &mut SendState<F>,
        context: SendContext<'_, '_>,
    ) -> Option<To> {
        let (words, _) = F::look(b)?;
        let (_, stays) = F::onward(words.0);
        if F::wrong::<true>(words, (b.len() - ETHERNET) as u32) | stays != 0 {
            return None;
        }
        if rx.open::<F>() == Open::Free {
            return self.forward(b, rx, None, state, context);
        }
        let (total, cx) = (F::total(words.0), context.cx);
        let to = match self.pass_one(b, (rx, total), gate, cx) {
            Err(to) => to,
            Ok(by) => match self.forward(b, rx, by, state, context) {
                Some(to) => {
                    by.iter().for_each(|(directed, _)| cx.count_for(directed.counter, 1));
                    return Some(to);
                }
                None => {
                    rx.front().strip(b, total);
                    To::Node(gate.leave(by, b, cx))
                }
            },
        };
        self.received.add(rx.rx_if as usize, rx.fresh());
        Some(to)
    }

    /// As [`Self::pass_features`]: the object that the packet takes instead of a lookup, or `Err`
    /// with its next node if a feature's node has to handle it.
    #[inline(never)]
    fn pass_one(
        &self,
        b: &mut Buffer,
        (rx, total): (&Rx, u32),
        gate: &mut Gate<F>,
        cx: &Cx<'_, false>,
    ) -> Result<Option<DirectedBy>, To> {
        let columns = (&[F::frame_source(b)][..], &[total][..]);
        let (of, mut buffers) = ((b.rx_if, rx.table::<F>()), One(b));
        let mut packets = PacketColumns::new(of, 1, columns, &mut buffers).behind(rx.front());
        let (passing, directed) = gate.pass(&mut packets, rx.chain, cx);
        if passing != 0 {
            return Ok(directed);
        }
        let [node, ..] = packets.nodes();
        Err(To::Node(node))
    }

    /// Sends a packet that has passed all features, and whose header is right, by an object or by
    /// its route.
    #[inline(always)]
    fn forward(
        &self,
        b: &mut Buffer,
        rx: &Rx,
        directed: Option<DirectedBy>,
        state: &mut SendState<F>,
        context: SendContext<'_, '_>,
    ) -> Option<To> {
        let (words, key) = F::look(b)?;
        let (word, _) = F::onward(words.0);
        let (table, turn) = (rx.table::<F>(), context.cx.turn);
        let (hop, route) = match directed {
            Some((directed, _)) => (directed.adj, NO_ROUTE),
            None => {
                let leaf = self.fib.table(table, turn)?.lookup(key, turn);
                (AdjIndex(leaf.hop), leaf.route)
            }
        };
        let single = Single {
            hop,
            route,
            table: table.0,
            rx_if: rx.rx_if,
            fresh: rx.fresh(),
            front: rx.front(),
            onward: Onward { word, total: F::total(words.0) },
        };
        self.send_one(b, single, state, context)
    }

    /// Sends a packet by its hop; `None`, and nothing changed, if the graph handles it.
    #[inline(always)]
    pub(super) fn send_one(
        &self,
        b: &mut Buffer,
        Single { hop, route, table, rx_if, fresh, front, onward }: Single,
        SendState { exits, local, deferred, .. }: &mut SendState<F>,
        SendContext { views, cx, counting }: SendContext<'_, '_>,
    ) -> Option<To> {
        let (adj, via) = self.adj(b, hop, onward.total, table, cx)?;
        let bytes = u64::from(onward.total);
        let (to, followed) = if adj.kind == AdjKind::Receive && via == 0 {
            let to = Self::deliver_one(b, (front, onward.total), (hop, table), local, cx)?;
            self.counters.add(adj.counter as usize, 1, bytes);
            (to, adj.via)
        } else if let Some(next_hop) = self.next_hop(adj, exits, views, cx) {
            next_hop.take::<F>(b, rx_if, onward)?;
            self.count_over(&next_hop, 1, bytes);
            (next_hop.to, next_hop.via)
        } else {
            let hop = self.indirect(adj, views, cx)?;
            let to = self.output(&hop, b, rx_if, onward, cx)?;
            self.count_indirect(&hop, 1, bytes, cx);
            (to, hop.next_hop().via)
        };
        self.received.add(rx_if as usize, fresh);
        if counting {
            deferred.add(route, 1, onward.total);
            self.count_vias([via, followed], 1, bytes, cx);
        }
        Some(to)
    }

    /// Sends packets of a plan that need the full adjacency.
    #[inline(always)]
    pub(super) fn others(
        &self,
        plan: &Plan<F>,
        which: u64,
        state: &mut SendState<F>,
        v: &mut Vector<'_, To>,
        context: SendContext<'_, '_>,
    ) {
        let &Plan { table, rx_if, fresh, front, .. } = plan;
        // A small loop of its own, so that cache misses overlap.
        let hops =
            Bits(which).map(|i| self.adjacencies.get(AdjIndex(plan.hops[i]), context.cx.turn));
        hops.flatten().for_each(simd::prefetch_read);
        for i in Bits(which) {
            let (at, onward) = (plan.at(i), plan.onward(i));
            let (hop, route) = (AdjIndex(plan.hops[i]), plan.routes[i]);
            let single = Single { hop, route, table, rx_if, fresh, front, onward };
            if let Some(to) = self.send_one(v.get_mut(at), single, state, context) {
                v.set(at, to);
                plan.gone.set(plan.gone.get() + 1);
            }
        }
    }
}
