// SPDX-License-Identifier: Apache-2.0
//! `l2-output`: whether a port may send a frame.

use crate::attach::OutputFeatures;
use crate::bridge::Bridge;
use crate::meta::L2Meta;
use crate::pbb::Backbone;
use crate::state::{NO_DOMAIN, Port, Role};
use crate::trace::{Addresses, FrameTrace};
use buffer::Buffer;
use graph::{Build, Cx, Next, Node, NodeIndex, ThreadIndex, Vector, World};
use net::{Interfaces, Tagged};
use simd::Isa;
use std::sync::Arc;
use sync::Turn;

pub struct L2Output {
    bridge: Arc<Bridge>,
    interfaces: Arc<Interfaces>,
}

#[derive(Next, Clone, Copy, PartialEq, Eq, Debug)]
pub enum To {
    /// The interface's output.
    #[dynamic]
    Node(NodeIndex),
    #[next("l2-output-bad-intf")]
    BadInterface,
    /// interface was never in layer-2 mode
    #[drop]
    #[counter("L2 Output interface not valid")]
    NotValid,
    #[next("l2-efp-filter")]
    EfpFilter,
    /// frame has fewer tags than the port takes off, or no backbone header
    #[drop]
    #[counter("L2 output tag rewrite drops")]
    TooFewTags,
    /// frame hasn't the tags that the port gives to frames that it receives
    #[drop]
    #[counter("L2 EFP filter pre-rewrite drops")]
    OtherTags,
    /// frame came from a port of the same split-horizon group
    #[drop]
    #[counter("L2 split horizon drops")]
    SplitHorizon,
    /// frames for a port
    #[count]
    #[counter("L2 output packets")]
    Packets,
}

impl Build for L2Output {
    fn build(world: &World, _: ThreadIndex) -> Self {
        Self { bridge: world.get(), interfaces: world.get() }
    }
}

/// The state of a port, looked up once for consecutive frames to it.
struct Target {
    tx_if: u32,
    port: Option<Port>,
    /// The interface's output, or the node of a feature in front of it.
    node: NodeIndex,
    /// The port's backbone rewrite.
    backbone: Option<Backbone>,
}

impl L2Output {
    #[inline(always)]
    fn target(&self, tx_if: u32, turn: &Turn<'_>) -> Target {
        let view = self.interfaces.views(turn).get(tx_if as usize).unwrap_or_default();
        let port = self.bridge.ports.get(tx_if, turn).copied();
        let attached =
            port.and_then(|port| self.bridge.next_attached(&port, OutputFeatures::default()));
        let has_backbone =
            port.and_then(|port| port.rewrites).is_some_and(|rewrites| rewrites.is_backbone);
        let backbone =
            if has_backbone { self.bridge.backbones.get(tx_if, turn).copied() } else { None };
        Target { tx_if, port, node: attached.unwrap_or(view.output), backbone }
    }

    #[inline(always)]
    fn send(b: &mut Buffer, target: &Target) -> To {
        let meta = b.scratch::<L2Meta>();
        let Some(port) = target.port else { return To::NotValid };
        let is_crossed = meta.domain() == NO_DOMAIN;
        match port.role {
            Role::Left => To::BadInterface,
            // Nothing switched is sent there: `l2-fwd` and `l2-flood` have other edges for the BVI
            // of the domain.
            Role::Bvi => To::NotValid,
            // An operator's entry for a port that is no longer in the domain.
            _ if !is_crossed && port.domain != meta.domain() => To::BadInterface,
            _ if meta.shg() != 0 && meta.shg() == port.shg => To::SplitHorizon,
            _ if port.rewrites.is_some() || port.filter.is_some() => Self::retag(b, &port, target),
            _ => To::Node(target.node),
        }
    }
}

impl L2Output {
    /// Rewrites the tags of a frame for a port.
    #[inline(always)]
    fn retag(b: &mut Buffer, port: &Port, target: &Target) -> To {
        if let Some(rewrites) = &port.rewrites {
            if port.filter.is_some() && !rewrites.may_leave(b) {
                return To::OtherTags;
            }
            let done = match &target.backbone {
                Some(backbone) => backbone.send(b),
                None => rewrites.output.apply(b),
            };
            if !done {
                return To::TooFewTags;
            }
            b.mark_l2();
        }
        // Classification comes before the filter, and sends frames there.
        let filtered = port.filter.is_some() && !port.sent.contains(OutputFeatures::CLASSIFY);
        if filtered { To::EfpFilter } else { To::Node(target.node) }
    }
}

impl Node for L2Output {
    const NAME: &'static str = "l2-output";
    const HOT: bool = true;
    type Next = To;
    type Trace = FrameTrace;

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        cx.count(To::Packets, 1);
        if TRACED {
            let domain = b.scratch::<L2Meta>().domain();
            cx.trace(b, FrameTrace { sw_if: b.tx_if, addresses: Addresses::of(b), domain });
        }
        Self::send(b, &self.target(b.tx_if, cx.turn))
    }

    #[inline(always)]
    fn stages<I: Isa>(&mut self, v: &mut Vector<'_, To>, cx: &mut Cx<'_, false>) {
        cx.count(To::Packets, v.len() as u64);
        let mut target = self.target(v.get(0).tx_if, cx.turn);
        for (b, out) in v.packets() {
            if b.tx_if != target.tx_if {
                target = self.target(b.tx_if, cx.turn);
            }
            out.go(Self::send(b, &target));
        }
    }
}

/// `l2-output-bad-intf`: frames for an interface that has left layer-2 mode, or the domain.
pub struct L2OutputBadIntf;

#[derive(Next, Clone, Copy)]
pub enum BadTo {
    /// interface has left layer-2 mode or the bridge domain
    #[drop]
    #[counter("L2 output to interface not in L2 mode or deleted")]
    Left,
}

impl Build for L2OutputBadIntf {
    fn build(_: &World, _: ThreadIndex) -> Self {
        Self
    }
}

impl Node for L2OutputBadIntf {
    const NAME: &'static str = "l2-output-bad-intf";
    type Next = BadTo;
    type Trace = ();

    fn packet<const TRACED: bool>(&mut self, _: &mut Buffer, _: &mut Cx<'_, TRACED>) -> BadTo {
        BadTo::Left
    }
}

/// `l2-efp-filter`: drops frames that the sub-interface wouldn't receive with these tags.
pub struct L2EfpFilter {
    bridge: Arc<Bridge>,
    interfaces: Arc<Interfaces>,
}

#[derive(Next, Clone, Copy, PartialEq, Eq, Debug)]
pub enum EfpTo {
    /// The interface's output.
    #[dynamic]
    Node(NodeIndex),
    /// frame's tags are those of another sub-interface
    #[drop]
    #[counter("L2 EFP filter post-rewrite drops")]
    OtherTags,
    /// frames that were looked at
    #[count]
    #[counter("L2 EFP filter packets")]
    Packets,
}

impl Build for L2EfpFilter {
    fn build(world: &World, _: ThreadIndex) -> Self {
        Self { bridge: world.get(), interfaces: world.get() }
    }
}

impl Node for L2EfpFilter {
    const NAME: &'static str = "l2-efp-filter";
    type Next = EfpTo;
    type Trace = FrameTrace;

    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> EfpTo {
        cx.count(EfpTo::Packets, 1);
        if TRACED {
            let domain = b.scratch::<L2Meta>().domain();
            cx.trace(b, FrameTrace { sw_if: b.tx_if, addresses: Addresses::of(b), domain });
        }
        let port = self.bridge.ports.get(b.tx_if, cx.turn);
        let parent = port.and_then(|port| port.filter);
        let owner = parent.zip(Tagged::of(b));
        let owner =
            owner.and_then(|(parent, tagged)| self.interfaces.sub_of(parent, tagged.tags, cx.turn));
        let view = self.interfaces.views(cx.turn).get(b.tx_if as usize).unwrap_or_default();
        let behind = OutputFeatures::EFP_FILTER;
        let attached = port.and_then(|port| self.bridge.next_attached(port, behind));
        let node = attached.unwrap_or(view.output);
        if owner == Some(b.tx_if) { EfpTo::Node(node) } else { EfpTo::OtherTags }
    }
}
