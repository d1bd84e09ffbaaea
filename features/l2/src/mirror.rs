// SPDX-License-Identifier: Apache-2.0
//! Port mirroring: where the feature that copies frames attaches itself.

use crate::bridge::Bridge;
use crate::features::{Features, NODES};
use crate::meta::L2Meta;
use crate::state::{NO_DOMAIN, Port};
use buffer::Buffer;
use graph::{NodeIndex, SwIfIndex, World};

/// Which frames of an interface are mirrored while they are switched.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Mirrored {
    /// Frames that the interface receives.
    pub received: bool,
    /// Frames that the interface sends.
    pub sent: bool,
}

/// The nodes that copy frames.
#[derive(Clone, Copy, Debug)]
pub struct Nodes {
    input: NodeIndex,
    output: NodeIndex,
}

/// Sends received frames of mirrored interfaces from `l2-input` to the node `input`, in front of all other features, and frames that
/// mirrored interfaces send to the node `output`, behind tag rewriting and the EFP filter. [`InputSteps`] has the next nodes of `input`;
/// that of `output` is the output of the interface.
///
/// # Errors
/// A node that doesn't exist; another feature that has registered before.
pub fn register_mirror(world: &World, input: &str, output: &str) -> Result<(), String> {
    let nodes = Nodes { input: world.link("l2-input", input)?, output: world.link("l2-output", output)? };
    world.link("l2-efp-filter", output)?;
    for (_, node) in NODES {
        if node != input && world.node(node).is_some() {
            world.link(input, node)?;
        }
    }
    let set = world.get::<Bridge>().mirror.set(nodes);
    set.map_err(|_| "switched frames are mirrored by another feature".to_string())
}

impl Bridge {
    /// Mirrors switched frames of an interface, or ends that.
    pub fn set_mirrored(&self, world: &World, sw_if: SwIfIndex, mirrored: Mirrored) {
        let mut control = self.control();
        match mirrored == Mirrored::default() {
            true => _ = control.mirrored.remove(&sw_if),
            false => _ = control.mirrored.insert(sw_if, mirrored),
        }
        self.publish_known_port(world, &control, sw_if);
    }

    /// The node that copies received frames of a port, if they are mirrored.
    #[inline(always)]
    pub(crate) fn mirrors_input(&self, port: &Port) -> Option<NodeIndex> {
        if port.features.has(Features::SPAN) { self.mirror.get().map(|nodes| nodes.input) } else { None }
    }

    /// The node that copies frames that a port sends, if they are mirrored.
    #[inline(always)]
    pub(crate) fn mirrors_output(&self, port: &Port) -> Option<NodeIndex> {
        if port.mirrors_sent { self.mirror.get().map(|nodes| nodes.output) } else { None }
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
            nodes[feature.0.ilog2() as usize] = world.node(name).unwrap_or(drop);
        }
        Self { nodes, drop }
    }

    /// The node behind `feature` for a frame that `l2-input` has classified.
    #[inline(always)]
    pub fn behind(&self, feature: Features, b: &Buffer) -> NodeIndex {
        let rest = b.scratch::<L2Meta>().features().behind(feature);
        rest.0.checked_ilog2().map_or(self.drop, |bit| self.nodes[bit as usize])
    }
}

/// Prepares a copy of a switched frame for `l2-output`, which sends it to this interface whatever domain that is in. The copy keeps its
/// split-horizon group.
#[inline(always)]
pub fn address_mirror_copy(copy: &mut Buffer, to: u32) {
    let shg = copy.scratch::<L2Meta>().shg();
    copy.tx_if = to;
    copy.set_scratch(L2Meta::bridged(Features::NONE, NO_DOMAIN, shg, 0));
}
