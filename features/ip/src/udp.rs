// SPDX-License-Identifier: Apache-2.0
//! `ip4-udp-lookup`, `ip6-udp-lookup`: send a datagram to the node of its port.

use crate::family::{Ip, error};
use crate::protocols::Protocols;
use buffer::Buffer;
use graph::{Build, Cx, Next, Node, NodeIndex, ThreadIndex, Trace, World};
use net::{IfFlags, Interfaces};
use std::fmt;
use std::sync::Arc;
use sync::Turn;
use wire::{Header, UdpHeader, UpperLayer};

pub struct UdpLookup<F> {
    protocols: Arc<Protocols<F>>,
    interfaces: Arc<Interfaces>,
}

#[derive(Next, Clone, Copy, PartialEq, Eq, Debug)]
pub enum To {
    #[dynamic]
    Node(NodeIndex),
    /// no listener on this udp port
    #[next("{ip}-icmp-error", reason)]
    NoListener,
    /// {ip} datagrams to a udp port without a listener, punted to the interface's mirror
    #[punt]
    Mirrored,
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

impl<F: Ip> Build for UdpLookup<F> {
    fn build(world: &World, _: ThreadIndex) -> Self {
        Self { protocols: world.get(), interfaces: world.get() }
    }
}

impl<F: Ip> Node for UdpLookup<F> {
    const NAME: &'static str = "{ip}-udp-lookup";
    const DROP: &'static str = "{ip}-drop";
    const PUNT: &'static str = "{ip}-punt";
    const V6: Option<bool> = Some(F::IS_V6);
    type Next = To;
    type Trace = UdpTrace;

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        let Ok(UpperLayer { offset, .. }) = UpperLayer::of::<F>(b.data()) else {
            return To::TooShort;
        };
        let Some(udp) = UdpHeader::view_at(b.data(), offset) else { return To::TooShort };
        let (source, destination) = (udp.src_port.get(), udp.dst_port.get());
        cx.trace(b, UdpTrace { source, destination });
        if let Some(node) = enter(&self.protocols, b, offset, cx.turn) {
            return To::Node(node);
        }
        let view = self.interfaces.views(cx.turn).get(b.rx_if as usize);
        if view.is_some_and(|view| view.flags.contains(IfFlags::MIRRORED)) {
            return To::Mirrored;
        }
        // RFC 1122 4.1.3.1, RFC 4443 3.1.
        b.set_scratch(error(F::ERRORS.port_unreachable, 0));
        To::NoListener
    }
}

/// The node that takes the datagram whose UDP header stands `at` bytes behind its IP header. The
/// packet begins behind both then, and the IP header is marked. `None`, and the packet unchanged,
/// if no node takes its port.
#[inline(always)]
pub fn enter<F: Ip>(
    protocols: &Protocols<F>,
    b: &mut Buffer,
    at: usize,
    turn: &Turn<'_>,
) -> Option<NodeIndex> {
    let node = protocols.port(UdpHeader::view_at(b.data(), at)?.dst_port.get(), turn)?;
    b.mark_l3();
    let pulled = b.pull(at + UdpHeader::LEN);
    debug_assert!(pulled, "the header was seen");
    Some(node)
}
