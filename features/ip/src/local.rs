// SPDX-License-Identifier: Apache-2.0
//! `ip4-local`, `ip4-local-end-of-arc`: packets for us.

use crate::input::{Ip4Trace, arc};
use crate::protocols::Protocols;
use buffer::{Buffer, Flags};
use graph::{ArcIndex, Build, Cx, Head, Next, Node, NodeIndex, ThreadIndex, World};
use net::{AdjKind, Adjacencies, Fib, Interfaces, IpMeta, TableIndex};
use std::net::Ipv4Addr;
use std::sync::Arc;
use sync::Turn;
use wire::icmp::code4;
use wire::l4::{self, L4Error, Verdict};
use wire::{Header, Icmp4Type, Ip4, IpHeader, IpProtocol, Ipv4Header};

#[derive(Next, Clone, Copy, PartialEq, Eq, Debug)]
pub enum To {
    /// To who takes the protocol, or to the first feature.
    #[dynamic]
    Node(NodeIndex),
    /// unknown ip protocol
    #[next("ip4-icmp-error", count)]
    UnknownProtocol,
    /// bad tcp checksum
    #[drop]
    TcpChecksum,
    /// bad udp checksum
    #[drop]
    UdpChecksum,
    /// inconsistent udp/ip lengths
    #[drop]
    UdpLength,
    /// ip4 spoofed local-address packet drops
    #[drop]
    SpoofedLocalPackets,
    /// ip4 source lookup miss
    #[drop]
    SrcLookupMiss,
    /// ip4 fragments for us are not reassembled
    #[drop]
    Fragment,
    /// ip4 length < header length
    #[drop]
    TooShort,
}

/// What follows when all is well.
struct Deliver {
    protocols: Arc<Protocols>,
}

impl Deliver {
    #[inline(always)]
    fn to(&self, b: &mut Buffer, turn: &Turn<'_>) -> To {
        let Some(ip) = Ipv4Header::view(b.data()) else { return To::TooShort };
        match self.protocols.protocol(ip.protocol, turn) {
            Some(node) => To::Node(node),
            None => {
                // RFC 1122 3.2.2.1.
                let error = IpMeta::error(Icmp4Type::UNREACHABLE.0, code4::PROTOCOL_UNREACHABLE, 0);
                b.set_scratch(error);
                To::UnknownProtocol
            }
        }
    }
}

pub struct Local {
    deliver: Deliver,
    fib: Arc<Fib<Ip4>>,
    adjacencies: Arc<Adjacencies>,
    interfaces: Arc<Interfaces>,
    arc: ArcIndex,
}

impl Build for Local {
    fn build(world: &World, _: ThreadIndex) -> Self {
        Self {
            deliver: Deliver { protocols: world.get() },
            fib: world.get(),
            adjacencies: world.get(),
            interfaces: world.get(),
            arc: arc(world, "ip4-local"),
        }
    }
}

impl Local {
    #[inline(always)]
    fn check<const TRACED: bool>(&self, b: &Buffer, cx: &Cx<'_, TRACED>) -> Result<(), To> {
        let ip = Ipv4Header::view(b.data()).ok_or(To::TooShort)?;
        if b.len() < ip.header_len() {
            return Err(To::TooShort);
        }
        if ip.is_fragment() {
            return Err(To::Fragment);
        }
        check_transport(b, ip)?;
        // Our own packets come from us, and who asks all may have no address yet.
        let to_many = ip.dst().is_broadcast() || ip.dst().is_multicast();
        if b.flags.has(Flags::LOCAL) || to_many {
            return Ok(());
        }
        self.check_source(b, ip.src(), cx.turn)
    }

    /// A source that is us, or that no answer would reach.
    #[inline(always)]
    fn check_source(&self, b: &Buffer, source: Ipv4Addr, turn: &Turn<'_>) -> Result<(), To> {
        let fib = self.interfaces.views(turn).get(b.rx_if as usize).map_or(0, |view| view.fib4);
        let index = self.fib.adj(TableIndex(fib), source, turn).ok_or(To::SrcLookupMiss)?;
        let adj = self.adjacencies.get(index, turn);
        match adj.map(|adj| adj.kind) {
            Some(AdjKind::Receive) => Err(To::SpoofedLocalPackets),
            None | Some(AdjKind::NoRoute | AdjKind::Drop | AdjKind::Martian) => Err(To::SrcLookupMiss),
            _ => Ok(()),
        }
    }
}

/// Checks the checksum of TCP or UDP, unless somebody has, or nobody is to (RFC 1122 4.1.3.4, 4.2.2.7).
#[inline(always)]
fn check_transport(b: &Buffer, ip: &Ipv4Header) -> Result<(), To> {
    let bad = match ip.protocol {
        IpProtocol::TCP => To::TcpChecksum,
        IpProtocol::UDP => To::UdpChecksum,
        _ => return Ok(()),
    };
    if b.flags.any(Flags::L4_CSUM_OK.with(Flags::CSUM_PARTIAL)) {
        return Ok(());
    }
    match l4::verify_parts(b.data(), b.segments().skip(1)) {
        Ok(Verdict::Valid | Verdict::Absent) => Ok(()),
        Ok(Verdict::Invalid) => Err(bad),
        Err(L4Error::Length) => Err(To::UdpLength),
        Err(_) => Err(To::TooShort),
    }
}

impl Node for Local {
    const NAME: &'static str = "ip4-local";
    const DROP: &'static str = "ip4-drop";
    type Next = To;
    type Trace = Ip4Trace;

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        if TRACED {
            cx.trace(b, Ip4Trace(Head::of(b)));
        }
        if let Err(why) = self.check(b, cx) {
            return why;
        }
        match cx.start_arc(self.arc, b.rx_if, b) {
            Some(feature) => To::Node(feature),
            None => self.deliver.to(b, cx.turn),
        }
    }
}

/// Behind the features.
pub struct EndOfArc(Deliver);

impl Build for EndOfArc {
    fn build(world: &World, _: ThreadIndex) -> Self {
        Self(Deliver { protocols: world.get() })
    }
}

impl Node for EndOfArc {
    const NAME: &'static str = "ip4-local-end-of-arc";
    const DROP: &'static str = "ip4-drop";
    type Next = To;
    type Trace = Ip4Trace;

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        if TRACED {
            cx.trace(b, Ip4Trace(Head::of(b)));
        }
        self.0.to(b, cx.turn)
    }
}
