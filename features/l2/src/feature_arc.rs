// SPDX-License-Identifier: Apache-2.0
//! Arcs of switched frames, by what they carry: `l2-input-ip4`, `l2-input-ip6`, `l2-input-nonip`
//! for received frames, and the same with `output` for sent ones. The node that starts them has a
//! bit in the frames' bitmaps, like any other feature: it is on for interfaces that have a feature
//! on one of the arcs.

use crate::attach::{InputSteps, OutputFeatures, OutputSteps, register_input, register_output};
use crate::bridge::Bridge;
use crate::features::{Features, NODES};
use buffer::Buffer;
use graph::{ArcDef, ArcIndex, Build, Cx, Next, Node, NodeIndex, SwIfIndex, ThreadIndex, World};
use wire::{EtherType, Ethernet};

/// The arcs.
pub const ARCS: &[ArcDef] = &[
    of_input("l2-input-ip4"),
    of_input("l2-input-ip6"),
    of_input("l2-input-nonip"),
    of_output("l2-output-ip4"),
    of_output("l2-output-ip6"),
    of_output("l2-output-nonip"),
];

const fn of_input(name: &'static str) -> ArcDef {
    ArcDef { name, starts: &[FeatureArc::<false>::NAME], end: FeatureArcEnd::<false>::NAME }
}

const fn of_output(name: &'static str) -> ArcDef {
    ArcDef { name, starts: &[FeatureArc::<true>::NAME], end: FeatureArcEnd::<true>::NAME }
}

/// The names of a direction's arcs.
fn names(tx: bool) -> impl Iterator<Item = &'static str> {
    ARCS.iter().map(|arc| arc.name).filter(move |name| name.starts_with("l2-output") == tx)
}

/// The nodes behind the arcs.
enum Behind {
    Input(InputSteps),
    Output(Box<OutputSteps>),
}

impl Behind {
    fn new(world: &World, tx: bool) -> Self {
        if tx {
            Self::Output(Box::new(OutputSteps::new(world)))
        } else {
            Self::Input(InputSteps::new(world))
        }
    }

    #[inline(always)]
    fn next<const TRACED: bool>(&self, b: &Buffer, cx: &Cx<'_, TRACED>) -> To {
        To::Node(match self {
            Self::Input(steps) => steps.behind(Features::FEATURE_ARC, b),
            Self::Output(steps) => steps.behind(OutputFeatures::FEATURE_ARC, b, cx.turn),
        })
    }
}

#[derive(Next, Clone, Copy, PartialEq, Eq, Debug)]
pub enum To {
    /// The first feature of an arc, or the next feature of the bitmap.
    #[dynamic]
    Node(NodeIndex),
}

/// `l2-input-feat-arc`, `l2-output-feat-arc`: starts the arc of what a frame carries.
pub struct FeatureArc<const TX: bool> {
    ip4: ArcIndex,
    ip6: ArcIndex,
    other: ArcIndex,
    behind: Behind,
}

impl<const TX: bool> Build for FeatureArc<TX> {
    fn build(world: &World, _: ThreadIndex) -> Self {
        let mut arcs = names(TX).map(|name| world.arc(name).expect("an arc of this plugin"));
        let mut arc = || arcs.next().expect("three arcs");
        Self { ip4: arc(), ip6: arc(), other: arc(), behind: Behind::new(world, TX) }
    }
}

impl<const TX: bool> Node for FeatureArc<TX> {
    const NAME: &'static str = if TX { "l2-output-feat-arc" } else { "l2-input-feat-arc" };
    type Next = To;
    type Trace = ();

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        let sw_if = if TX { b.tx_if } else { b.rx_if };
        let arc = match Ethernet::l3_at(b.data()) {
            Some((_, EtherType::IP4)) => self.ip4,
            Some((_, EtherType::IP6)) => self.ip6,
            _ => self.other,
        };
        match cx.start_arc(arc, sw_if, b) {
            Some(node) => To::Node(node),
            None => self.behind.next(b, cx),
        }
    }
}

/// `l2-input-feat-arc-end`, `l2-output-feat-arc-end`: frames that have passed an arc.
pub struct FeatureArcEnd<const TX: bool>(Behind);

impl<const TX: bool> Build for FeatureArcEnd<TX> {
    fn build(world: &World, _: ThreadIndex) -> Self {
        Self(Behind::new(world, TX))
    }
}

impl<const TX: bool> Node for FeatureArcEnd<TX> {
    const NAME: &'static str = if TX { "l2-output-feat-arc-end" } else { "l2-input-feat-arc-end" };
    type Next = To;
    type Trace = ();

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        self.0.next(b, cx)
    }
}

/// Registers the nodes, and follows the features of the arcs.
pub fn start(world: &World) -> Result<(), String> {
    register_input(world, Features::FEATURE_ARC, FeatureArc::<false>::NAME)?;
    register_output(world, OutputFeatures::FEATURE_ARC, FeatureArc::<true>::NAME)?;
    for (feature, node) in NODES {
        if feature.bits() < Features::FEATURE_ARC.bits() && world.node(node).is_some() {
            world.link(FeatureArcEnd::<false>::NAME, node)?;
        }
    }
    world.link(FeatureArcEnd::<true>::NAME, "l2-efp-filter")?;
    world.watch_features(follow);
    Ok(())
}

/// Switches the bit of an interface when the first feature of an arc is enabled there, or the last
/// one disabled.
fn follow(world: &World, changed: ArcIndex, sw_if: SwIfIndex) {
    for tx in [false, true] {
        let arcs: Vec<_> = names(tx).filter_map(|name| world.arc(name)).collect();
        if !arcs.contains(&changed) {
            continue;
        }
        let on = arcs.iter().any(|arc| !world.features_of(*arc, sw_if).is_empty());
        let bridge = world.get::<Bridge>();
        if tx {
            bridge.set_output_feature(world, sw_if, OutputFeatures::FEATURE_ARC, on);
        } else {
            bridge.set_input_feature(world, sw_if, Features::FEATURE_ARC, on);
        }
    }
}
