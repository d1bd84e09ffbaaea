// SPDX-License-Identifier: Apache-2.0
//! Features that received packets pass: which of them the super-path asks itself, and which need the graph.

use crate::family::{Ip, arc};
use graph::{ArcIndex, Cx, NodeIndex, World};
use net::{Arrivals, Checks};
use std::sync::Arc;

/// Whether packets that an interface receives may be taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Open {
    /// The graph has to see them all.
    No,
    /// No feature is in the way.
    Free,
    /// Every feature is a [`net::Check`], which has to be asked.
    Checked,
}

/// The features of one protocol.
pub struct Gate<F: Ip> {
    unicast: ArcIndex,
    /// The node behind the last feature.
    lookup: NodeIndex,
    checks: Arc<Checks<F>>,
}

impl<F: Ip> Gate<F> {
    pub fn new(world: &World) -> Self {
        let lookup =
            world.node(&graph::filled("{ip}-lookup", F::IS_V6)).expect("the plugin brings its nodes");
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
        let behind = features.find(|step| self.checks.of(step.node, cx.turn).is_none());
        behind.is_some_and(|step| step.node == self.lookup)
    }

    /// Bit `i` says that packet `i` passes every feature of its interface; for [`Open::Checked`].
    #[inline(never)]
    pub fn passing<const TRACED: bool>(&self, packets: &Arrivals<'_, F>, cx: &Cx<'_, TRACED>) -> u64 {
        let mut passing = u64::MAX;
        for step in cx.chain(self.unicast, packets.rx_if) {
            let Some(check) = self.checks.of(step.node, cx.turn) else { break };
            passing &= check.passing(packets, step, cx.turn);
        }
        passing
    }
}
