// SPDX-License-Identifier: Apache-2.0
//! From the wire to the host: `linux-cp-punt`, `linux-cp-punt-xc`, `linux-cp-punt-l3`.

use crate::header::restore;
use crate::pairs::Pairs;
use buffer::{Buffer, Flags};
use cli::Error;
use graph::{Build, Cx, Next, Node, NodeIndex, SwIfIndex, ThreadIndex, Trace, World, name_of};
use net::{Interfaces, ObjectInterface, ObjectType};
use std::fmt;
use std::sync::Arc;
use wire::EtherType;

/// The object of punted packets' adjacency: the mirror of an interface, by which it sends.
pub static MIRROR: ObjectType = ObjectType {
    name: "lcp",
    words: "lcp",
    interface: Some(ObjectInterface::Sends),
    node: |world, _, host| {
        world.get::<Interfaces>().check(SwIfIndex(host))?;
        world.node(name_of::<Punt>()).ok_or_else(|| Error::unsupported("there is no node for it"))
    },
    describe: |world, host| world.get::<Interfaces>().name(SwIfIndex(host)),
    ..ObjectType::PLAIN
};

/// Sends packets that an interface has received to its mirror.
struct ToMirror {
    pairs: Arc<Pairs>,
    interfaces: Arc<Interfaces>,
}

impl ToMirror {
    fn new(world: &World) -> Self {
        Self { pairs: world.get(), interfaces: world.get() }
    }
}

/// `linux-cp-punt`. Packets begin at their IP header.
pub struct Punt(ToMirror);

#[derive(Next, Clone, Copy, PartialEq, Eq, Debug)]
pub enum To {
    /// The output of the other interface.
    #[dynamic]
    Output(NodeIndex),
    /// interface has no mirror
    #[drop]
    NoPair,
    /// packet has no Ethernet header that it was received with
    #[drop]
    NoHeader,
}

/// The interfaces of a packet that goes to the host.
#[derive(Clone, Copy)]
pub struct PuntTrace {
    phy: u32,
    host: u32,
}

impl Trace for PuntTrace {
    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "lip-punt: {} -> {}", self.phy, self.host)
    }
}

impl Build for Punt {
    fn build(world: &World, _: ThreadIndex) -> Self {
        Self(ToMirror::new(world))
    }
}

impl Node for Punt {
    const NAME: &'static str = "linux-cp-punt";
    type Next = To;
    type Trace = PuntTrace;

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        let Some(peer) = self.0.pairs.peer(b.rx_if, cx.turn).filter(|peer| !peer.is_mirror) else {
            return To::NoPair;
        };
        if TRACED {
            cx.trace(b, PuntTrace { phy: b.rx_if, host: peer.other });
        }
        let is_ip6 = b.data().first().is_some_and(|first| first >> 4 == 6);
        let ethertype = if is_ip6 { EtherType::IP6 } else { EtherType::IP4 };
        if !peer.is_tun && !restore(b, Some(ethertype)) {
            return To::NoHeader;
        }
        b.tx_if = peer.other;
        let view = self.0.interfaces.views(cx.turn).get(peer.other as usize);
        view.map_or(To::NoPair, |view| To::Output(view.output))
    }
}

/// `linux-cp-punt-xc`: frames of enabled types cross between an interface and its mirror, both
/// ways. Packets begin behind the Ethernet header.
pub struct PuntXc(ToMirror);

/// The interfaces of a frame that crosses a pair.
#[derive(Clone, Copy)]
pub struct XcTrace {
    from: u32,
    to: u32,
    is_mirror: bool,
}

impl Trace for XcTrace {
    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = if self.is_mirror { "lip-xc" } else { "lip-punt" };
        write!(f, "{what}: {} -> {}", self.from, self.to)
    }
}

impl Build for PuntXc {
    fn build(world: &World, _: ThreadIndex) -> Self {
        Self(ToMirror::new(world))
    }
}

impl Node for PuntXc {
    const NAME: &'static str = "linux-cp-punt-xc";
    type Next = To;
    type Trace = XcTrace;

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        let Some(peer) = self.0.pairs.peer(b.rx_if, cx.turn).filter(|peer| !peer.is_tun) else {
            return To::NoPair;
        };
        if TRACED {
            cx.trace(b, XcTrace { from: b.rx_if, to: peer.other, is_mirror: peer.is_mirror });
        }
        if !restore(b, None) {
            return To::NoHeader;
        }
        b.tx_if = peer.other;
        let view = self.0.interfaces.views(cx.turn).get(peer.other as usize);
        view.map_or(To::NoPair, |view| To::Output(view.output))
    }
}

/// `linux-cp-punt-l3`: on the punt arc of interfaces whose mirror carries IP packets. The packet
/// has reached its destination: no hop counts.
pub struct PuntL3;

#[derive(Next, Clone, Copy, PartialEq, Eq, Debug)]
pub enum L3To {
    #[next_feature]
    Continue,
}

impl Build for PuntL3 {
    fn build(_: &World, _: ThreadIndex) -> Self {
        Self
    }
}

impl Node for PuntL3 {
    const NAME: &'static str = "linux-cp-punt-l3";
    type Next = L3To;
    type Trace = ();

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, _: &mut Cx<'_, TRACED>) -> L3To {
        b.flags.insert(Flags::LOCAL);
        L3To::Continue
    }
}
