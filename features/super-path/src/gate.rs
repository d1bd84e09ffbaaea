// SPDX-License-Identifier: Apache-2.0
//! The features of received packets. Those with a [`net::Stage`] are evaluated by the super-path
//! itself; for others it sends packets to the node, and takes them back behind the last feature.

use crate::Bits;
use buffer::Buffer;
use graph::{ArcIndex, Cx, NodeIndex, ThreadIndex, World};
use ip::{Ip, arc};
use net::{Buffers, PacketColumns, Stage};

/// The condition on which the super-path may take packets that an interface receives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Open {
    /// No: the interface is down, or switches frames.
    No,
    /// Yes, all: the interface has no feature.
    Free,
    /// They pass the features first. Behind the last one stands this super-path's node again.
    Features,
}

/// The arc of received packets of one protocol.
pub struct Gate<F: Ip> {
    unicast: ArcIndex,
    /// The node behind the last feature.
    lookup: NodeIndex,
    /// By node.
    stages: Vec<Option<Box<dyn Stage<F>>>>,
}

impl<F: Ip> Gate<F> {
    pub fn new(world: &World, thread: ThreadIndex) -> Self {
        let lookup = world
            .node(&graph::filled("{ip}-lookup", F::IS_V6))
            .expect("the plugin brings its nodes");
        let mut stages: Vec<Option<Box<dyn Stage<F>>>> = Vec::new();
        for def in world.stages() {
            if let Some(stage) = def.make(world, thread)
                && let Some(node) = world.node(def.node())
            {
                stages.resize_with(stages.len().max(node.at() + 1), || None);
                stages[node.at()] = Some(stage);
            }
        }
        Self { unicast: arc::<F>(world, "{ip}-unicast"), lookup, stages }
    }

    #[inline(always)]
    pub fn open<const TRACED: bool>(&self, rx_if: u32, cx: &Cx<'_, TRACED>) -> Open {
        if cx.has_arc(self.unicast, rx_if) { Open::Features } else { Open::Free }
    }

    /// The node behind the last feature.
    pub fn lookup(&self) -> NodeIndex {
        self.lookup
    }

    /// Runs the stages of an interface on packets, as far as its features have them. The others are
    /// sent to the nodes of the features that have to handle them. Returns a mask of the packets
    /// that have passed all features.
    #[inline(never)]
    pub fn pass(&mut self, packets: &mut PacketColumns<'_, F>, cx: &Cx<'_, false>) -> u64 {
        for step in cx.chain(self.unicast, packets.rx_if) {
            if step.node == self.lookup || packets.which == 0 {
                break;
            }
            let passing = match self.stages.get_mut(step.node.at()) {
                Some(Some(stage)) => stage.pass(packets, step, cx),
                _ => 0,
            };
            packets.which &= !packets.sent();
            let leaving = packets.which & !passing;
            packets.which &= passing;
            for i in Bits(leaving) {
                packets.send(i, |b| step.enter(b));
            }
        }
        packets.which
    }
}

/// One packet.
pub struct One<'a>(pub &'a mut Buffer);

impl Buffers for One<'_> {
    fn get(&mut self, _: usize) -> &mut Buffer {
        self.0
    }
}
