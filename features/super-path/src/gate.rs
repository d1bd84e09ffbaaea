// SPDX-License-Identifier: Apache-2.0
//! The features of received packets. Those with a [`net::Stage`] are evaluated by the super-path
//! itself; for others it sends packets to the node, and takes them back in front of the next
//! feature with a stage, or behind the last feature.

use crate::Bits;
use buffer::Buffer;
use graph::{ArcIndex, Cx, NodeIndex, ThreadIndex, World};
use ip::{Ip, arc};
use net::{Buffers, Directed, PacketColumns, Stage};

/// The condition on which the super-path may take packets that an interface receives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Open {
    /// No: the interface is down, or switches frames.
    No,
    /// Yes, all: the interface has no feature.
    Free,
    /// They pass the features first, or those that they haven't passed yet.
    Features,
}

/// The forwarding object that packets take instead of a lookup, and the position of the feature in
/// the chain that has chosen it: packets that can't be forwarded go to its node.
pub type DirectedBy = (Directed, u32);

/// The stages of a thread, by the nodes of their features.
pub struct Stages<F: Ip>(Vec<Option<Box<dyn Stage<F>>>>);

impl<F: Ip> Stages<F> {
    pub fn new(world: &World, thread: ThreadIndex) -> Self {
        let mut stages: Vec<Option<Box<dyn Stage<F>>>> = Vec::new();
        for def in world.stages() {
            if let Some(stage) = def.make(world, thread)
                && let Some(node) = world.node(def.node())
            {
                stages.resize_with(stages.len().max(node.at() + 1), || None);
                stages[node.at()] = Some(stage);
            }
        }
        Self(stages)
    }

    #[inline(always)]
    pub fn of(&mut self, node: NodeIndex) -> Option<&mut dyn Stage<F>> {
        match self.0.get_mut(node.at()) {
            Some(Some(stage)) => Some(&mut **stage),
            _ => None,
        }
    }
}

/// The arc of received packets of one protocol.
pub struct Gate<F: Ip> {
    unicast: ArcIndex,
    /// The node behind the last feature.
    lookup: NodeIndex,
    /// The super-path's own node on the arc.
    returns: NodeIndex,
    stages: Stages<F>,
}

impl<F: Ip> Gate<F> {
    pub fn new(world: &World, thread: ThreadIndex) -> Self {
        let node = |name| world.node(&graph::filled(name, F::IS_V6)).expect("plugins bring nodes");
        let (lookup, returns) = (node("{ip}-lookup"), node("super-path-{ip}-passed"));
        let stages = Stages::new(world, thread);
        Self { unicast: arc::<F>(world, "{ip}-unicast"), lookup, returns, stages }
    }

    #[inline(always)]
    pub fn open<const TRACED: bool>(&self, rx_if: u32, cx: &Cx<'_, TRACED>) -> Open {
        if cx.has_arc(self.unicast, rx_if) { Open::Features } else { Open::Free }
    }

    /// The same for packets that have come back, and stand at this position of their chain.
    #[inline(always)]
    pub fn open_at<const TRACED: bool>(&self, at: u32, cx: &Cx<'_, TRACED>) -> Open {
        let next = cx.chain(at).next();
        if next.is_some_and(|step| step.node != self.lookup) { Open::Features } else { Open::Free }
    }

    /// The node of packets that have passed all features and can't be forwarded: the lookup, or the
    /// node of the feature that has directed them.
    pub fn leave(&self, by: Option<DirectedBy>, b: &mut Buffer, cx: &Cx<'_, false>) -> NodeIndex {
        let chosen = by.and_then(|(_, at)| cx.chain(at).next());
        chosen.map_or(self.lookup, |step| step.enter(b))
    }

    /// Runs the stages of an interface on packets, as far as its features have them, from a
    /// position of their chain on, or all. The others are sent to the nodes of the features that
    /// have to handle them. Returns a mask of the packets that have passed all features, and the
    /// object that they take instead of a lookup.
    #[inline(never)]
    pub fn pass(
        &mut self,
        packets: &mut PacketColumns<'_, F>,
        from: Option<u32>,
        cx: &Cx<'_, false>,
    ) -> (u64, Option<DirectedBy>) {
        for step in cx.chain(from.unwrap_or_else(|| cx.chain_start(self.unicast, packets.sw_if))) {
            if step.node == self.lookup || packets.which == 0 {
                break;
            }
            if step.node == self.returns {
                continue;
            }
            let stage = self.stages.of(step.node);
            let passing = stage.map_or(0, |stage| stage.pass(packets, step, cx));
            packets.which &= !packets.sent();
            let leaving = packets.which & !passing;
            packets.which &= passing;
            for i in Bits(leaving) {
                packets.send(i, |b| step.enter(b));
            }
            if let Some(directed) = packets.directed() {
                return (packets.which, Some((directed, step.at())));
            }
        }
        (packets.which, None)
    }
}

/// One packet.
pub struct One<'a>(pub &'a mut Buffer);

impl Buffers for One<'_> {
    fn get(&mut self, _: usize) -> &mut Buffer {
        self.0
    }
}
