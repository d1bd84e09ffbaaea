// SPDX-License-Identifier: Apache-2.0
//! The features of received packets. The super-path evaluates checks itself; all other features
//! need the graph.

use graph::{ArcIndex, Cx, NodeIndex, World};
use ip::{Ip, arc};
use net::{Checks, PacketColumns};
use std::sync::Arc;

/// The condition on which the super-path may take packets that an interface receives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Open {
    /// No: some feature needs the graph, or the interface is down.
    No,
    /// Yes, all: the interface has no feature.
    Free,
    /// Yes, if they pass: every feature has a [`net::Check`].
    Checked,
}

/// The features of received packets of one protocol.
pub struct Gate<F: Ip> {
    unicast: ArcIndex,
    /// The node behind the last feature.
    lookup: NodeIndex,
    checks: Arc<Checks<F>>,
}

impl<F: Ip> Gate<F> {
    pub fn new(world: &World) -> Self {
        let lookup = world
            .node(&graph::filled("{ip}-lookup", F::IS_V6))
            .expect("the plugin brings its nodes");
        Self { unicast: arc::<F>(world, "{ip}-unicast"), lookup, checks: world.get() }
    }

    #[inline(always)]
    pub fn open<const TRACED: bool>(&self, rx_if: u32, cx: &Cx<'_, TRACED>) -> Open {
        if !cx.has_arc(self.unicast, rx_if) {
            Open::Free
        } else if self.is_all_checks(rx_if, cx) {
            Open::Checked
        } else {
            Open::No
        }
    }

    #[inline(never)]
    fn is_all_checks<const TRACED: bool>(&self, rx_if: u32, cx: &Cx<'_, TRACED>) -> bool {
        let mut features = cx.chain(self.unicast, rx_if);
        let end = features.find(|step| self.checks.of(step.node, cx.turn).is_none());
        end.is_some_and(|step| step.node == self.lookup)
    }

    /// A mask of the packets that pass every feature of their interface; for [`Open::Checked`].
    #[inline(never)]
    pub fn passing<const TRACED: bool>(
        &self,
        packets: &PacketColumns<'_, F>,
        cx: &Cx<'_, TRACED>,
    ) -> u64 {
        let mut passing = u64::MAX;
        for step in cx.chain(self.unicast, packets.rx_if) {
            let Some(check) = self.checks.of(step.node, cx.turn) else {
                // Control may have enabled a feature that needs the graph since the vector began.
                return if step.node == self.lookup { passing } else { 0 };
            };
            passing &= check.passing(packets, step, cx.turn);
        }
        passing
    }
}
