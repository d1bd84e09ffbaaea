// SPDX-License-Identifier: Apache-2.0
//! `ip4-icmp-quoted`: an error about a packet that we sent goes to who sent it (RFC 1122 3.2.2).

use crate::input::IcmpTrace;
use crate::state::Icmp;
use buffer::Buffer;
use graph::{Build, Cx, Head, Next, Node, NodeIndex, ThreadIndex, World};
use std::sync::Arc;
use wire::{Header, IcmpHeader, IpHeader, Ipv4Header};

pub struct Quoted {
    icmp: Arc<Icmp>,
}

#[derive(Next, Clone, Copy)]
pub enum To {
    #[dynamic]
    Node(NodeIndex),
    /// error about a protocol that nothing here speaks
    #[punt]
    UnknownProtocol,
    /// error about a packet that we didn't send
    #[drop]
    NotOurs,
    /// quoted packet is too short
    #[drop]
    TooShort,
}

impl Build for Quoted {
    fn build(world: &World, _: ThreadIndex) -> Self {
        Self { icmp: world.get() }
    }
}

/// The quoted packet of an ICMP error that starts at its IP header: its own IP header, and the 8 bytes that were in it. `None`
/// if they aren't there.
pub fn quoted(packet: &[u8]) -> Option<(&Ipv4Header, &[u8; 8])> {
    let at = Ipv4Header::view(packet)?.header_len() + IcmpHeader::LEN;
    let quoted = packet.get(at..)?;
    let ip = Ipv4Header::view(quoted)?;
    let inner = quoted.get(Ipv4Header::header_bytes(quoted)?.len()..)?.first_chunk()?;
    Some((ip, inner))
}

impl Node for Quoted {
    const NAME: &'static str = "ip4-icmp-quoted";
    const DROP: &'static str = "ip4-drop";
    const PUNT: &'static str = "ip4-punt";
    type Next = To;
    type Trace = IcmpTrace;

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        if TRACED {
            cx.trace(b, IcmpTrace(Head::of(b)));
        }
        let Some(outer) = Ipv4Header::view(b.data()) else { return To::TooShort };
        let Some((ip, _)) = quoted(b.data()) else { return To::TooShort };
        // It comes back to the address that the packet went out from.
        if ip.src != outer.dst || ip.version() != 4 {
            return To::NotOurs;
        }
        match self.icmp.quoted(ip.protocol, cx.turn) {
            Some(node) => To::Node(node),
            None => To::UnknownProtocol,
        }
    }
}
