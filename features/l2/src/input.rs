// SPDX-License-Identifier: Apache-2.0
//! `l2-input`: which features a frame passes.

use crate::bridge::Bridge;
use crate::features::{Features, steps};
use crate::meta::{DomainBits, L2Meta};
use crate::state::{NO_DOMAIN, Port, Role, generation};
use crate::trace::Addresses;
use buffer::Buffer;
use graph::{Build, Cx, Node, NodeIndex, Prefetch, ThreadIndex, Trace, Vector, World};
use simd::Isa;
use std::fmt;
use std::sync::Arc;
use sync::Turn;
use tables::mac::{MacKey, MacView};
use wire::{EtherType, Ethernet, IpProtocol};

/// Bytes of the Ethernet header.
pub const HEADER: usize = 14;

pub struct L2Input {
    bridge: Arc<Bridge>,
}

steps! {
    pub enum To {
        /// The node of a feature of another plugin.
        #[dynamic]
        Node(NodeIndex),
        /// interface is not in layer-2 mode, or the frame is shorter than an Ethernet header
        #[drop]
        #[counter("L2 input drops")]
        NoMode,
        /// frames received by layer-2 switching
        #[count]
        #[counter("L2 input packets")]
        Packets,
    }
}

#[derive(Clone, Copy)]
pub struct InputTrace {
    sw_if: u32,
    addresses: Addresses,
    features: Features,
}

impl Trace for InputTrace {
    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sw_if_index {} {} [{}]", self.sw_if, self.addresses, self.features)
    }
}

impl Build for L2Input {
    fn build(world: &World, _: ThreadIndex) -> Self {
        Self { bridge: world.get() }
    }
}

/// A port and its domain, looked up once for frames of one port that follow each other.
struct Origin {
    rx_if: u32,
    port: Option<Port>,
    /// Features of the port that its domain has too.
    features: Features,
    domain_bits: DomainBits,
    generation: u16,
    /// The node that all frames go to first, if that is a feature of another plugin.
    attached: Option<NodeIndex>,
}

impl Origin {
    #[inline(always)]
    fn new(rx_if: u32, bridge: &Bridge, turn: &Turn<'_>) -> Self {
        let port = bridge.ports.get(rx_if, turn).copied().filter(|port| port.role != Role::Left);
        let domain = port.and_then(|port| bridge.domains.get(port.domain.into(), turn));
        let (features, generation) = match (port, domain) {
            (Some(port), Some(domain)) => {
                // Tag rewriting and features of other plugins don't depend on the domain.
                let own = port.features & (Features::VTR | Features::ATTACHED);
                (
                    port.features & domain.features | own,
                    generation(domain.generation, port.generation),
                )
            }
            _ => (Features::empty(), 0),
        };
        let attached = port.and_then(|port| bridge.first_attached(&port));
        let domain_bits = port.map_or(DomainBits::of(NO_DOMAIN, false), |port| {
            DomainBits::of(port.domain, port.is_limited)
        });
        Self { rx_if, port, features, domain_bits, generation, attached }
    }

    /// Returns the first node of a frame that passes these features.
    #[inline(always)]
    fn first(&self, features: Features) -> To {
        self.attached.map_or_else(|| features.next().into(), To::Node)
    }
}

/// Returns true if a group frame of the BVI is a neighbour request: it goes to all members,
/// whatever the split-horizon group.
#[inline(always)]
fn asks(b: &Buffer) -> bool {
    const ARP_REQUEST: [u8; 2] = [0, 1];
    // Behind the Ethernet header: the IPv6 header, in which the next header is at 6, then the type
    // of ICMPv6.
    match b.bytes::<HEADER>(0) {
        Some([.., 8, 6]) => b.bytes::<2>(HEADER + 6) == Some(&ARP_REQUEST),
        Some([.., 0x86, 0xdd]) => {
            b.bytes::<1>(HEADER + 6) == Some(&[58]) && b.bytes::<1>(HEADER + 40) == Some(&[135])
        }
        _ => false,
    }
}

/// Returns the [`Features::QUESTIONS`] (ARP termination, unicast forwarding of ARP) that don't
/// apply to a frame to a group.
#[inline(never)]
fn not_asked(b: &Buffer) -> Features {
    match Ethernet::l3_at(b.data()) {
        Some((_, EtherType::ARP)) => Features::empty(),
        // The next header of the IPv6 header.
        Some((at, EtherType::IP6)) if b.bytes::<1>(at + 6) == Some(&[IpProtocol::ICMP6.0]) => {
            Features::ARP_UFWD
        }
        _ => Features::QUESTIONS,
    }
}

impl L2Input {
    #[inline(always)]
    fn classify(b: &mut Buffer, from: &Origin, macs: MacView<'_>) -> (To, Features) {
        let (Some(port), Some(header)) = (from.port, b.bytes::<HEADER>(0)) else {
            return (To::NoMode, Features::empty());
        };
        if let Role::Crossed(peer) = port.role {
            b.tx_if = peer;
            b.set_scratch(L2Meta::crossed(port.features));
            return (from.first(port.features), port.features);
        }
        let &[d0, d1, d2, d3, d4, d5, s0, s1, s2, s3, s4, s5, ..] = header;
        let is_group = d0 & 1 != 0;
        let (mut features, mut shg) = (from.features, port.shg);
        if is_group {
            features -= Features::UNICAST;
            if features.intersects(Features::QUESTIONS) {
                features -= not_asked(b);
            }
        } else {
            features -= Features::QUESTIONS;
            macs.prefetch(MacKey::new([d0, d1, d2, d3, d4, d5], port.domain));
        }
        if port.role == Role::Bvi && (!is_group || asks(b)) {
            shg = 0;
        }
        if features.contains(Features::LEARN) {
            macs.prefetch(MacKey::new([s0, s1, s2, s3, s4, s5], port.domain));
        }
        b.set_scratch(L2Meta::bridged(features, from.domain_bits, shg, from.generation));
        (from.first(features), features)
    }
}

impl Node for L2Input {
    const NAME: &'static str = "l2-input";
    const PREFETCH: Prefetch = Prefetch::Packet;
    const HOT: bool = true;
    type Next = To;
    type Trace = InputTrace;

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        let from = Origin::new(b.rx_if, &self.bridge, cx.turn);
        cx.count(To::Packets, 1);
        let (to, features) = Self::classify(b, &from, self.bridge.view(cx.turn));
        if TRACED {
            cx.trace(b, InputTrace { sw_if: b.rx_if, addresses: Addresses::of(b), features });
        }
        to
    }

    #[inline(always)]
    fn stages<I: Isa>(&mut self, v: &mut Vector<'_, To>, cx: &mut Cx<'_, false>) {
        cx.count(To::Packets, v.len() as u64);
        let macs = self.bridge.view(cx.turn);
        let mut from = Origin::new(v.get(0).rx_if, &self.bridge, cx.turn);
        for (b, out) in v.packets_ahead() {
            if b.rx_if != from.rx_if {
                from = Origin::new(b.rx_if, &self.bridge, cx.turn);
            }
            out.go(Self::classify(b, &from, macs).0);
        }
    }
}
