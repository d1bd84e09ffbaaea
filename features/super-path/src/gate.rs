// SPDX-License-Identifier: Apache-2.0
//! The features of received packets. Those with a [`net::Stage`] are evaluated by the super-path
//! itself; for others it sends packets to the node, and takes them back in front of the next
//! feature with a stage, or behind the last feature.

use crate::Bits;
use buffer::Buffer;
use graph::{ArcIndex, ChainStep, Cx, NodeIndex, ThreadIndex, World};
use ip::{Ip, arc};
use net::{Directed, PacketColumns, Stage};

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

    /// Runs the stages of features in order, as far as these have them. Calls `leave` for each
    /// packet that goes to the node of a feature. Returns the object that the others take instead
    /// of a lookup.
    #[inline(always)]
    pub fn run<'c>(
        &mut self,
        features: impl Iterator<Item = ChainStep<'c>>,
        packets: &mut PacketColumns<'_, F>,
        mut leave: impl FnMut(&mut PacketColumns<'_, F>, usize, ChainStep<'c>),
        cx: &Cx<'_, false>,
    ) -> Option<DirectedBy> {
        for step in features {
            if packets.which == 0 {
                break;
            }
            let stage = self.of(step.node);
            let passing = stage.map_or(0, |stage| stage.pass(packets, step, cx));
            packets.which &= !packets.sent();
            let leaving = packets.which & !passing;
            packets.which &= passing;
            Bits(leaving).for_each(|i| leave(packets, i, step));
            if let Some(directed) = packets.directed() {
                return Some((directed, step.at()));
            }
        }
        None
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
    pub fn open(&self, rx_if: u32, cx: &Cx<'_, false>) -> Open {
        if cx.has_arc(self.unicast, rx_if) { Open::Features } else { Open::Free }
    }

    /// The same for packets that have come back, and stand at this position of their chain.
    #[inline(always)]
    pub fn open_at(&self, at: u32, cx: &Cx<'_, false>) -> Open {
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
        let &mut Self { unicast, lookup, returns, ref mut stages } = self;
        let chain = cx.chain(from.unwrap_or_else(|| cx.chain_start(unicast, packets.sw_if)));
        let features = chain.take_while(|step| step.node != lookup);
        let features = features.filter(|step| step.node != returns);
        let directed = stages.run(
            features,
            packets,
            |packets, i, step| packets.send(i, |b| step.enter(b)),
            cx,
        );
        (packets.which, directed)
    }
}
