// SPDX-License-Identifier: Apache-2.0
//! `sixrd-encap`: puts an IPv4 header for the site of the destination in front.

use super::state::{COPY_TOS, SixRds, Work};
use buffer::{Buffer, Field, Flags, Owned};
use graph::{Build, Cx, Next, Node, NodeIndex, ThreadIndex, Trace, World};
use net::{IfLanes, L4};
use std::fmt;
use std::net::Ipv4Addr;
use std::sync::Arc;
use tunnel::MAX_NESTED;
use tunnel::segment::{self, Supers};
use wire::{Header, IpHeader, IpProtocol, Ipv4Header, Ipv6Header};
use zerocopy::IntoBytes;

/// Bytes in front of a packet: the IPv4 address of its site.
const LEAD: usize = 4;

/// The TTL of outer packets as they leave.
const TTL: u8 = 63;

/// `sixrd-encap`.
pub struct SixRdEncap {
    tunnels: Arc<SixRds>,
    lanes: Arc<IfLanes>,
    l4: Field<L4>,
    supers: Supers,
    /// Identification of the next packet (RFC 6864 4).
    id: u16,
}

#[derive(Next, Clone, Copy, PartialEq, Eq, Debug)]
pub enum To {
    /// Outer packets are routed as others are.
    #[next("ip4-lookup")]
    Lookup,
    /// This node again, when there are buffers for segments.
    #[dynamic]
    Again(NodeIndex),
    /// Super-packets: cut into segments.
    #[keep]
    Segments,
    /// good packets encapsulated
    #[count]
    Encapsulated,
    /// tunnel is gone
    #[drop]
    Gone,
    /// packet isn't one of IPv6
    #[drop]
    NotIp6,
    /// destination has no IPv4 address of another host embedded
    #[drop]
    NoSite,
    /// no room for another header
    #[drop]
    NoHeadroom,
    /// packet would be longer than 65535 bytes
    #[drop]
    TooLong,
    /// too many tunnels in one another, or a tunnel through itself
    #[drop]
    Nested,
    /// super-packet can't be cut into segments, or into too many
    #[drop]
    BadSuper,
    /// no buffer for a segment
    #[count]
    NoBuffer,
}

tunnel::cuts!(To, Again);

#[derive(Clone, Copy)]
pub struct SixRdTrace {
    instance: u32,
    source: Ipv4Addr,
    destination: Ipv4Addr,
}

impl Trace for SixRdTrace {
    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { instance, source, destination } = self;
        write!(f, "6RD: tunnel {instance} src {source} dst {destination}")
    }
}

impl Build for SixRdEncap {
    fn build(world: &World, thread: ThreadIndex) -> Self {
        Self {
            tunnels: world.get(),
            lanes: IfLanes::of(world, thread),
            l4: world.field(),
            supers: Supers::default(),
            // Far from those of other threads, so that parts of two packets aren't put together.
            id: (thread.at() as u16).wrapping_mul(0x1d05),
        }
    }
}

/// The site of a packet: of its next hop, which stands in front, or else of its destination.
/// Addresses that aren't of one other host have no site (RFC 3964 5.1).
#[inline(always)]
fn site(work: &Work, next_hop: [u8; LEAD], inner: &Ipv6Header) -> Option<Ipv4Addr> {
    let site = match Ipv4Addr::from(next_hop) {
        Ipv4Addr::UNSPECIFIED => work.config.domain.embedded(inner.dst()),
        site => site,
    };
    let is_host = !site.is_multicast() && !site.is_broadcast() && !site.is_unspecified();
    (is_host && !site.is_loopback() && site != work.config.local).then_some(site)
}

impl SixRdEncap {
    #[inline(always)]
    fn send<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        let Some(work) = self.tunnels.work(b.tx_if, cx.turn) else { return To::Gone };
        if b.nesting >= MAX_NESTED {
            return To::Nested;
        }
        let Some(next_hop) = b.bytes::<LEAD>(0).copied() else { return To::NotIp6 };
        let Some(inner) = Ipv6Header::view_at(b.data(), LEAD) else { return To::NotIp6 };
        if inner.version_class_flow.get() >> 28 != 6 {
            return To::NotIp6;
        }
        let Some(site) = site(work, next_hop, inner) else { return To::NoSite };
        let class = (inner.version_class_flow.get() >> 20) as u8;
        if b.flags.contains(Flags::CSUM_PARTIAL) {
            // Left only on a packet too short for the checksum, which its receiver drops.
            driver::finish_checksum(b);
            b.flags.remove(Flags::CSUM_PARTIAL);
        }
        let Ok(len) = u16::try_from(b.packet_len() - LEAD + 20) else { return To::TooLong };
        if !b.pull(LEAD) {
            return To::NotIp6;
        }
        let local = work.config.local;
        let mut header = Ipv4Header::new(local, site, IpProtocol::IP6, 0);
        header.total_len.set(len);
        header.id.set(self.id);
        header.tos = if work.config.tos == COPY_TOS { class } else { work.config.tos };
        // The router takes one from a packet that isn't its own.
        let forwarded = !b.flags.contains(Flags::LOCAL);
        header.ttl = TTL + u8::from(forwarded);
        header.set_checksum();
        let Some(front) = b.push::<20>() else { return To::NoHeadroom };
        front.copy_from_slice(header.as_bytes());
        self.id = self.id.wrapping_add(1);
        self.lanes.tx.unicast(b.tx_if as usize, 0, 20);
        b.nesting += 1;
        b.clear_field(self.l4);
        b.flow_hash = 0;
        b.flags.remove(Flags::L2_BROADCAST | Flags::L2_MULTICAST | Flags::VLAN | Flags::L4_CSUM_OK);
        b.flags.insert(Flags::IP4_CSUM_OK | Flags::TABLE);
        if forwarded {
            b.rx_if = b.tx_if;
        }
        b.tx_if = work.table.0;
        if TRACED {
            let instance = work.end.instance;
            cx.trace(b, SixRdTrace { instance, source: local, destination: site });
        }
        cx.count(To::Encapsulated, 1);
        To::Lookup
    }
}

impl Node for SixRdEncap {
    const NAME: &'static str = "sixrd-encap";
    type Next = To;
    type Trace = SixRdTrace;

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        if b.flags.contains(Flags::GSO) {
            return self.supers.plan(b);
        }
        self.send(b, cx)
    }

    fn keep(&mut self, b: Owned, cx: &mut Cx<'_, false>) {
        let Some(b) = self.supers.take::<To>(b, cx) else { return };
        segment::cut(b, LEAD, false, cx, |part, cx| self.send(part, cx));
    }

    #[inline(always)]
    fn end<const TRACED: bool>(&mut self, _: &mut Cx<'_, TRACED>) {
        self.supers.end();
    }
}
