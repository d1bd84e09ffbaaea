// SPDX-License-Identifier: Apache-2.0
//! `arp-input`: is it ARP for Ethernet and IPv4?

use buffer::Buffer;
use graph::{ArcIndex, Build, Cx, Head, Next, Node, NodeIndex, ThreadIndex, Trace, World};
use ip_neighbor::resolve::Lanes;
use std::fmt;
use wire::describe::{Layer, describe};
use wire::{Arp, ArpOp, EtherType, Header};

pub struct ArpInput {
    rx: Lanes,
    arc: ArcIndex,
}

#[derive(Next, Clone, Copy)]
pub enum To {
    #[dynamic]
    Feature(NodeIndex),
    #[next("arp-disabled")]
    Disabled,
    /// packet is shorter than an ARP header.
    #[drop]
    TooShort,
    /// hardware type is not Ethernet (RFC 826).
    #[drop]
    L2TypeNotEthernet,
    /// protocol type is not IPv4 (RFC 826).
    #[drop]
    L3TypeNotIp4,
    /// address lengths are not 6 and 4 (RFC 826).
    #[drop]
    AddressLength,
}

/// The packet as it came.
#[derive(Clone, Copy)]
pub struct ArpTrace(pub Head);

impl Trace for ArpTrace {
    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", describe(self.0.bytes(), Layer::Arp))
    }
}

impl Build for ArpInput {
    fn build(world: &World, thread: ThreadIndex) -> Self {
        let arc = world.arc("arp").expect("this plugin brings the arc");
        Self { rx: Lanes::rx::<crate::Arp>(world, thread), arc }
    }
}

impl Node for ArpInput {
    const NAME: &'static str = "arp-input";
    type Next = To;
    type Trace = ArpTrace;

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        if TRACED {
            cx.trace(b, ArpTrace(Head::of(b)));
        }
        let Some(arp) = Arp::view(b.data()) else { return To::TooShort };
        if arp.hardware.get() != 1 {
            return To::L2TypeNotEthernet;
        }
        if arp.protocol.get() != EtherType::IP4.0 {
            return To::L3TypeNotIp4;
        }
        if (arp.hardware_len, arp.protocol_len) != (6, 4) {
            return To::AddressLength;
        }
        let rx_if = b.rx_if;
        match arp.op() {
            // One that announces its sender counts as that only.
            _ if arp.is_gratuitous() => self.rx.gratuitous.add(rx_if as usize, 1),
            ArpOp::REQUEST => self.rx.requests.add(rx_if as usize, 1),
            ArpOp::REPLY => self.rx.replies.add(rx_if as usize, 1),
            _ => {}
        }
        cx.start_arc(self.arc, rx_if, b).map_or(To::Disabled, To::Feature)
    }
}
