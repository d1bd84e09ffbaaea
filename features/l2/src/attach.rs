// SPDX-License-Identifier: Apache-2.0
//! Features of other plugins in the path of switched frames.
//!
//! Each has a bit in the bitmap of received or of sent frames, and a node. The features see
//! received frames before tag rewriting, sent frames behind it. Frames pass them from the highest
//! bit to the lowest.

use crate::bridge::Bridge;
use crate::features::{Features, NODES};
use crate::meta::L2Meta;
use crate::state::Port;
use bitflags::bitflags;
use buffer::Buffer;
use graph::{NodeIndex, SwIfIndex, World};
use net::Interfaces;
use std::sync::{Arc, OnceLock};
use sync::Turn;

/// Name of the EFP filter node, which sent frames pass between other features.
const EFP_FILTER_NODE: &str = "l2-efp-filter";

bitflags! {
    /// Features of frames that a port sends, each a bit at VPP's position.
    #[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
    pub struct OutputFeatures: u32 {
        /// The end of every bitmap: the output of the interface.
        const OUTPUT = 1 << 0;
        /// Frames are copied to mirror ports.
        const SPAN = 1 << 1;
        /// Output ACL.
        const ACL = 1 << 4;
        /// The EFP filter.
        const EFP_FILTER = 1 << 6;
        /// The classifier's tables are looked up.
        const CLASSIFY = 1 << 10;
        /// The arcs of what frames carry.
        const FEATURE_ARC = 1 << 11;
        /// Cross-connects that put bytes in front of frames.
        const XCRW = 1 << 13;
        /// A client may switch on any bit.
        const _ = !0;
    }
}

/// Features of other plugins that an interface has.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Attached {
    /// Features of received frames.
    pub input: Features,
    /// Features of sent frames.
    pub output: OutputFeatures,
}

/// The nodes of features of other plugins, by bit.
#[derive(Default)]
pub struct AttachedNodes {
    pub(crate) input: [OnceLock<NodeIndex>; 32],
    pub(crate) output: [OnceLock<NodeIndex>; 32],
}

impl AttachedNodes {
    /// Features of this build that a client may switch for an interface, whether or not a plugin
    /// has them configured there. The node of XCRW drops frames that it has no bytes for.
    pub fn switched(&self) -> (Features, OutputFeatures) {
        let bits = |nodes: &[OnceLock<NodeIndex>; 32]| {
            (0..)
                .zip(nodes)
                .fold(0, |all, (bit, node)| all | u32::from(node.get().is_some()) << bit)
        };
        let output = OutputFeatures::from_bits_retain(bits(&self.output));
        (Features::from_bits_retain(bits(&self.input)), output - OutputFeatures::XCRW)
    }
}

/// Sends received frames of interfaces that have the feature to this node. [`InputSteps`] has the
/// node's next nodes.
///
/// # Errors
/// A node that doesn't exist; another node that has registered for the feature; a bit that isn't
/// one of [`Features::ATTACHED`].
pub fn register_input(world: &World, feature: Features, node: &str) -> Result<(), String> {
    if !Features::ATTACHED.contains(feature) || feature.bits().count_ones() != 1 {
        return Err(format!("{node}: no such feature of received frames"));
    }
    let index = world.link("l2-input", node)?;
    for (other, name) in NODES {
        if other.bits() < feature.bits() && world.node(name).is_some() {
            world.link(node, name)?;
        } else if other.bits() > feature.bits()
            && Features::ATTACHED.contains(other)
            && world.node(name).is_some()
        {
            world.link(name, node)?;
        }
    }
    set(&world.get::<Bridge>().attached.input, feature.bits(), index, node)
}

/// Sends frames that interfaces with the feature send to this node. [`OutputSteps`] has the node's
/// next nodes.
///
/// # Errors
/// A node that doesn't exist; another node that has registered for the feature; no feature of sent
/// frames.
pub fn register_output(world: &World, feature: OutputFeatures, node: &str) -> Result<(), String> {
    let (filter, output) = (OutputFeatures::EFP_FILTER, OutputFeatures::OUTPUT);
    if feature.bits().count_ones() != 1 || feature == filter || feature == output {
        return Err(format!("{node}: no such feature of sent frames"));
    }
    let index = world.link("l2-output", node)?;
    if feature.bits() > filter.bits() {
        world.link(node, EFP_FILTER_NODE)?;
    } else {
        world.link(EFP_FILTER_NODE, node)?;
    }
    let nodes = &world.get::<Bridge>().attached.output;
    for (bit, other) in (0..).zip(nodes) {
        let Some(other) = other.get() else { continue };
        let other = world.node_name(*other);
        if 1 << bit > feature.bits() {
            world.link(&other, node)?
        } else {
            world.link(node, &other)?
        };
    }
    set(nodes, feature.bits(), index, node)
}

fn set(
    nodes: &[OnceLock<NodeIndex>; 32],
    bit: u32,
    index: NodeIndex,
    name: &str,
) -> Result<(), String> {
    let set = nodes[bit.ilog2() as usize].set(index);
    set.map_err(|_| format!("{name}: another node has registered for the feature"))
}

impl Bridge {
    /// Gives an interface a feature of received frames, or takes it.
    pub fn set_input_feature(&self, world: &World, sw_if: SwIfIndex, feature: Features, on: bool) {
        self.attach(world, sw_if, |attached| {
            attached.input.set(feature & Features::ATTACHED, on);
        });
    }

    /// Gives an interface a feature of sent frames, or takes it.
    pub fn set_output_feature(
        &self,
        world: &World,
        sw_if: SwIfIndex,
        feature: OutputFeatures,
        on: bool,
    ) {
        self.attach(world, sw_if, |attached| attached.output.set(feature, on));
    }

    fn attach(&self, world: &World, sw_if: SwIfIndex, change: impl FnOnce(&mut Attached)) {
        let mut control = self.control();
        let attached = control.attached.entry(sw_if).or_default();
        change(attached);
        if *attached == Attached::default() {
            control.attached.remove(&sw_if);
        }
        self.publish_known_port(world, &control, sw_if);
    }

    /// The first node of received frames, if a feature of another plugin is first.
    #[inline(always)]
    pub(crate) fn first_attached(&self, port: &Port) -> Option<NodeIndex> {
        let bit = (port.features & Features::ATTACHED).bits().checked_ilog2()?;
        self.attached.input[bit as usize].get().copied()
    }

    /// The first node behind a feature for frames that a port sends, if it isn't the output of the
    /// interface. For frames of `l2-output`, `behind` is 0.
    #[inline(always)]
    pub(crate) fn next_attached(&self, port: &Port, behind: OutputFeatures) -> Option<NodeIndex> {
        let bit = (port.sent.bits() & behind.bits().wrapping_sub(1)).checked_ilog2()?;
        self.attached.output[bit as usize].get().copied()
    }
}

/// The nodes of features of received frames, by bit.
#[derive(Clone, Copy, Debug)]
pub struct InputSteps {
    nodes: [NodeIndex; 32],
    /// For a frame without any feature.
    drop: NodeIndex,
}

impl InputSteps {
    /// Looks the nodes up.
    pub fn new(world: &World) -> Self {
        let drop = world.node("feature-bitmap-drop").unwrap_or_default();
        let mut nodes = [drop; 32];
        for (feature, name) in NODES {
            nodes[feature.bits().ilog2() as usize] = world.node(name).unwrap_or(drop);
        }
        Self { nodes, drop }
    }

    /// The node behind `feature` for a frame that `l2-input` has classified.
    #[inline(always)]
    pub fn behind(&self, feature: Features, b: &Buffer) -> NodeIndex {
        let rest = b.scratch::<L2Meta>().features().behind(feature);
        rest.bits().checked_ilog2().map_or(self.drop, |bit| self.nodes[bit as usize])
    }
}

/// The nodes of features of sent frames.
pub struct OutputSteps {
    bridge: Arc<Bridge>,
    interfaces: Arc<Interfaces>,
    filter: NodeIndex,
}

impl OutputSteps {
    /// Looks the nodes up.
    pub fn new(world: &World) -> Self {
        let filter = world.node(EFP_FILTER_NODE).unwrap_or_default();
        Self { bridge: world.get(), interfaces: world.get(), filter }
    }

    /// The node behind `feature` for a frame that leaves by `b.tx_if`.
    #[inline(always)]
    pub fn behind(&self, feature: OutputFeatures, b: &Buffer, turn: &Turn<'_>) -> NodeIndex {
        let port = self.bridge.ports.get(b.tx_if, turn);
        if feature.bits() > OutputFeatures::EFP_FILTER.bits()
            && port.is_some_and(|port| port.filter.is_some())
        {
            return self.filter;
        }
        let next = port.and_then(|port| self.bridge.next_attached(port, feature));
        next.unwrap_or_else(|| {
            self.interfaces.views(turn).get(b.tx_if as usize).unwrap_or_default().output
        })
    }
}
