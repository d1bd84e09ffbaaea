// SPDX-License-Identifier: Apache-2.0
//! Packets and the features of the interface that has received them. Packets that the super-path
//! can't handle to the end go on in front of what is left to do, and never twice through a stage.

use crate::forwarder::Forwarder;
use crate::gate::{Gate, Open};
use crate::next_hop::Protocol;
use crate::plan::Plan;
use crate::rx::Rx;
use crate::{Bits, To};
use buffer::Buffer;
use graph::{Cx, Vector};
use ip::headers::BLOCK;
use net::{Buffers, PacketColumns, TableIndex};

/// The packets of a plan.
pub struct OfPlan<'a, 'v> {
    pub v: &'a mut Vector<'v, To>,
    pub at: &'a [u8; BLOCK],
}

impl Buffers for OfPlan<'_, '_> {
    fn get(&mut self, i: usize) -> &mut Buffer {
        self.v.get_mut(self.at[i % BLOCK].into())
    }
}

impl<F: Protocol> Forwarder<F> {
    /// Lets the packets of a plan pass the features of their interface, if it has any. In the plan
    /// stay those that have passed all.
    #[inline(always)]
    pub fn pass_features(
        &self,
        plan: &mut Plan<F>,
        rx: &Rx,
        gate: &mut Gate<F>,
        v: &mut Vector<'_, To>,
        cx: &Cx<'_, false>,
    ) {
        if rx.open::<F>() == Open::Features && plan.len() != 0 {
            self.pass_all(plan, gate, v, cx);
        }
    }

    #[inline(never)]
    fn pass_all(
        &self,
        plan: &mut Plan<F>,
        gate: &mut Gate<F>,
        v: &mut Vector<'_, To>,
        cx: &Cx<'_, false>,
    ) {
        let n = plan.len();
        let (sources, all) = (plan.sources(v), u64::MAX >> (BLOCK - n));
        let mut buffers = OfPlan { v: &mut *v, at: plan.places_in_vector() };
        let (of, columns) = ((plan.rx_if, TableIndex(plan.table)), (&sources[..n], plan.totals()));
        let packets = &mut PacketColumns::new(of, all, columns, &mut buffers).behind(plan.front);
        let (passing, directed) = gate.pass(packets, plan.chain, cx);
        let changed = packets.changed() & passing;
        let (gone, nodes) = (packets.sent(), packets.nodes());
        debug_assert_eq!(gone, all & !passing, "each has passed, or has a node");
        for i in Bits(gone) {
            v.set(plan.at(i), To::Node(nodes[i % BLOCK]));
        }
        self.count_received(plan, gone.count_ones().into());
        plan.read_again(v, changed);
        if gone != 0 {
            plan.keep(passing);
        }
        (plan.passed, plan.directed) = (true, directed);
        plan.gone.set(0);
    }

    /// Ends a plan whose packets have passed features. Those that weren't sent go to the lookup, or
    /// where [`Gate::leave`] says.
    #[inline(always)]
    pub fn leave(
        &self,
        plan: &Plan<F>,
        gate: &Gate<F>,
        v: &mut Vector<'_, To>,
        cx: &Cx<'_, false>,
    ) {
        if plan.passed {
            self.leave_passed(plan, gate, v, cx);
        }
    }

    #[inline(never)]
    fn leave_passed(
        &self,
        plan: &Plan<F>,
        gate: &Gate<F>,
        v: &mut Vector<'_, To>,
        cx: &Cx<'_, false>,
    ) {
        let gone = plan.gone.get();
        if let Some((directed, _)) = plan.directed {
            cx.count_for(directed.counter, gone);
        }
        if gone == plan.len() as u64 {
            return;
        }
        let mut left = 0;
        for i in 0..plan.len() {
            let at = plan.at(i);
            if v.is(at, To::Aside) {
                let b = v.get_mut(at);
                plan.front.strip(b, plan.onward(i).total);
                let node = gate.leave(plan.directed, b, cx);
                v.set(at, To::Node(node));
                left += 1;
            }
        }
        self.count_received(plan, left);
    }
}
