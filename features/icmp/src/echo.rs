// SPDX-License-Identifier: Apache-2.0
//! `ip4-icmp-echo-request`: the request becomes the reply, in place (RFC 1812 4.3.3.6).

use crate::input::IcmpTrace;
use crate::rules;
use crate::state::Icmp;
use buffer::{Buffer, Flags};
use graph::{Build, Cx, Head, Next, Node, ThreadIndex, World};
use net::{Addresses, IpMeta};
use std::sync::Arc;
use wire::checksum::{update16, update32};
use wire::{Header, Icmp4Type, IcmpHeader, Ip4, Ip4OptionKind, IpHeader, Ipv4Header, U16};

/// TTL of a reply.
const TTL: u8 = 64;

pub struct EchoRequest {
    icmp: Arc<Icmp>,
    addresses: Arc<Addresses<Ip4>>,
}

#[derive(Next, Clone, Copy)]
pub enum To {
    /// echo replies sent
    #[next("ip4-lookup", count)]
    Replied,
    /// echo requests are not answered
    #[drop]
    Disabled,
    /// echo request to several hosts ignored (RFC 1122 3.2.2.6)
    #[drop]
    Broadcast,
    /// echo request from what is no single host
    #[drop]
    Source,
    /// echo request with a source route
    #[drop]
    SourceRoute,
    /// interface has no address to answer from
    #[drop]
    NoAddress,
    /// payload length too small for type
    #[drop]
    TooShort,
}

impl Build for EchoRequest {
    fn build(world: &World, _: ThreadIndex) -> Self {
        Self { icmp: world.get(), addresses: world.get() }
    }
}

impl EchoRequest {
    #[inline(always)]
    fn reply<const TRACED: bool>(&self, b: &mut Buffer, cx: &Cx<'_, TRACED>) -> To {
        let settings = &self.icmp.applied(cx.turn).settings;
        if !settings.echo {
            return To::Disabled;
        }
        let (flags, own) = (b.flags, self.addresses.of(b.rx_if, cx.turn));
        let Some(&ip) = Ipv4Header::view(b.data()) else { return To::TooShort };
        let (peer, at) = (ip.src(), ip.header_len());
        if !ip.is_plain() && has_source_route(b.data()) {
            return To::SourceRoute;
        }
        if !rules::is_host(peer, own) {
            return To::Source;
        }
        let to_link = flags.any(Flags::L2_BROADCAST.with(Flags::L2_MULTICAST));
        let group = rules::is_group(ip.dst(), own);
        if (to_link || group) && !settings.echo_broadcast {
            return To::Broadcast;
        }
        // The address that was asked answers, if it is one's own.
        let from = if group { rules::source(own, peer) } else { Some(ip.dst()) };
        let Some(from) = from else { return To::NoAddress };

        let Some(icmp) = IcmpHeader::view_at_mut(b.data_mut(), at) else { return To::TooShort };
        icmp.kind = Icmp4Type::ECHO_REPLY.0;
        // A partial checksum is summed up later, over the type as well.
        if !flags.has(Flags::CSUM_PARTIAL) {
            let request = u16::from(Icmp4Type::ECHO_REQUEST.0) << 8;
            // A reply of nothing but zeros needs all ones, which the update can't tell from none (RFC 1624 3); elsewhere the
            // two are the same number.
            let sum = update16(icmp.checksum.get(), request, 0);
            icmp.checksum = U16::new(if sum == 0 { 0xffff } else { sum });
        }
        let Some(header) = Ipv4Header::view_mut(b.data_mut()) else { return To::TooShort };
        let mut checksum = ip.checksum.get();
        // Exchanged addresses leave the sum as it was.
        (header.src, header.dst) = (from.octets(), ip.src);
        if group {
            checksum = update32(checksum, ip.dst_bits(), from.to_bits());
        }
        header.ttl = TTL;
        checksum = update16(checksum, u16::from(ip.ttl) << 8, u16::from(TTL) << 8);
        // The type of service is the request's (RFC 1812 4.3.2.5); a congestion mark is not.
        header.tos = ip.tos & !3;
        header.checksum = U16::new(update16(checksum, ip.tos.into(), header.tos.into()));

        b.flags
            .clear(Flags::L2_BROADCAST.with(Flags::L2_MULTICAST).with(Flags::NOT_FOR_US).with(Flags::VLAN));
        b.flags.set(Flags::LOCAL.with(Flags::IP4_CSUM_OK));
        (b.tx_if, b.flow_hash) = (u32::MAX, 0);
        if flags.has(Flags::LOCAL) {
            // We asked ourselves: back in the table that the request went out in.
            b.tx_if = b.scratch::<IpMeta>().fib;
            b.flags.set(Flags::TABLE);
        }
        To::Replied
    }
}

#[cold]
fn has_source_route(packet: &[u8]) -> bool {
    let route = [Ip4OptionKind::LOOSE_SOURCE_ROUTE, Ip4OptionKind::STRICT_SOURCE_ROUTE];
    Ipv4Header::options(packet).any(|o| o.is_ok_and(|o| route.contains(&o.kind)))
}

impl Node for EchoRequest {
    const NAME: &'static str = "ip4-icmp-echo-request";
    const DROP: &'static str = "ip4-drop";
    const PUNT: &'static str = "ip4-punt";
    type Next = To;
    type Trace = IcmpTrace;

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        let to = self.reply(b, cx);
        if TRACED {
            cx.trace(b, IcmpTrace(Head::of(b)));
        }
        to
    }
}
