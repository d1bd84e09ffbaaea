// SPDX-License-Identifier: Apache-2.0
//! `ip4-udp-lookup`: who takes the datagram.

use crate::protocols::Protocols;
use buffer::Buffer;
use graph::{Build, Cx, Next, Node, NodeIndex, ThreadIndex, Trace, World};
use net::IpMeta;
use std::fmt;
use std::sync::Arc;
use wire::icmp::code4;
use wire::{Header, Icmp4Type, IpHeader, Ipv4Header, UdpHeader};

pub struct UdpLookup(Arc<Protocols>);

#[derive(Next, Clone, Copy, PartialEq, Eq, Debug)]
pub enum To {
    #[dynamic]
    Node(NodeIndex),
    /// no listener on this udp port
    #[next("ip4-icmp-error", count)]
    NoListener,
    /// datagram shorter than its headers
    #[drop]
    TooShort,
}

#[derive(Clone, Copy)]
pub struct UdpTrace {
    source: u16,
    destination: u16,
}

impl Trace for UdpTrace {
    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "UDP: src-port {} dst-port {}", self.source, self.destination)
    }
}

impl Build for UdpLookup {
    fn build(world: &World, _: ThreadIndex) -> Self {
        Self(world.get())
    }
}

impl Node for UdpLookup {
    const NAME: &'static str = "ip4-udp-lookup";
    const DROP: &'static str = "ip4-drop";
    type Next = To;
    type Trace = UdpTrace;

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        let Some(at) = Ipv4Header::view(b.data()).map(IpHeader::header_len) else { return To::TooShort };
        let Some(udp) = UdpHeader::view_at(b.data(), at) else { return To::TooShort };
        let (source, destination) = (udp.src_port.get(), udp.dst_port.get());
        cx.trace(b, UdpTrace { source, destination });
        let Some(node) = self.0.port(destination, cx.turn) else {
            // RFC 1122 4.1.3.1.
            let error = IpMeta::error(Icmp4Type::UNREACHABLE.0, code4::PORT_UNREACHABLE, 0);
            b.set_scratch(error);
            return To::NoListener;
        };
        b.mark_l3();
        if !b.pull(at + UdpHeader::LEN) {
            return To::TooShort;
        }
        To::Node(node)
    }
}
