// SPDX-License-Identifier: Apache-2.0
//! The header of IPv6 around a packet of IPv4 (RFC 2473, RFC 6333 5, 6).

use buffer::{Buffer, Cache, Field, Flags};
use net::{L4, TableIndex};
use std::net::Ipv6Addr;
use wire::{Header, IpHeader, IpProtocol, Ipv4Header, Ipv6Header, UpperLayer};
use zerocopy::IntoBytes as _;

/// Bytes of the header.
const HEADER: usize = 40;
/// The longest payload.
const LONGEST: usize = u16::MAX as usize;

/// The payload of a packet of IPv6 to an end of the tunnel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Payload {
    /// A packet of IPv4, so many bytes into it.
    Ip4(usize),
    /// A message of ICMPv6.
    Icmp,
    /// A part of it: it is to be reassembled.
    Fragment,
    /// Something else, or nothing that can be read.
    Other,
}

/// Reads a packet of IPv6: its source and what it carries.
#[inline(always)]
pub fn read(b: &Buffer) -> Option<(Ipv6Addr, Payload)> {
    let source = Ipv6Header::view(b.data())?.src();
    let Ok(upper) = UpperLayer::find6(b.data()) else { return Some((source, Payload::Other)) };
    let payload = match upper.protocol {
        _ if upper.fragment_offset != 0 || upper.more_fragments => Payload::Fragment,
        IpProtocol::IP4 => Payload::Ip4(upper.offset),
        IpProtocol::ICMP6 => Payload::Icmp,
        _ => Payload::Other,
    };
    Some((source, payload))
}

/// Takes the header off a packet of IPv4, `at` bytes into the buffer. Returns false if there is no
/// sound packet behind it (RFC 1812 5.2.2): then it is as it was, or is to be dropped.
#[must_use]
pub fn take(b: &mut Buffer, at: usize, l4: Field<L4>, cache: &mut Cache) -> bool {
    ip::finish_checksum(b);
    let Some(inner) = b.data().get(at..) else { return false };
    let Some(header) = Ipv4Header::view(inner) else { return false };
    let len = header.packet_len();
    let is_sound = header.version_ihl >> 4 == 4
        && header.header_len() >= 20
        && header.header_len() <= inner.len()
        && len >= header.header_len()
        && at + len <= b.packet_len()
        && Ipv4Header::checksum_ok_at(inner);
    if !is_sound || !b.pull(at) || !b.trim_packet(len, cache) {
        return false;
    }
    // These flags describe the packet of IPv6.
    const OF_OUTER: Flags = Flags::L4_CSUM_OK
        .union(Flags::CSUM_PARTIAL)
        .union(Flags::LOCAL)
        .union(Flags::TABLE)
        .union(Flags::L2_BROADCAST)
        .union(Flags::L2_MULTICAST);
    b.flags.remove(OF_OUTER);
    b.flags.insert(Flags::IP4_CSUM_OK);
    b.flow_hash = 0;
    b.clear_field(l4);
    b.mark_l3();
    true
}

/// Puts the header in front of a packet of IPv4, and has it looked up in a table. DSCP and ECN are
/// copied (RFC 2983, RFC 6040). The router may cut the packet up: both ends of the tunnel
/// reassemble (RFC 6333 5.3). Returns false if there is no room, or the packet is too long.
#[must_use]
pub fn put(
    b: &mut Buffer,
    (from, to): (Ipv6Addr, Ipv6Addr),
    table: TableIndex,
    l4: Field<L4>,
) -> bool {
    ip::finish_checksum(b);
    b.flags.remove(Flags::CSUM_PARTIAL);
    let len = b.packet_len();
    let Some(inner) = Ipv4Header::view(b.data()) else { return false };
    let (tos, ttl) = (inner.tos, inner.ttl());
    if len > LONGEST {
        return false;
    }
    let mut header = Ipv6Header::new(from, to, IpProtocol::IP4, len as u16);
    header.set_traffic_class(tos);
    header.hop_limit = ttl.max(MIN_HOPS);
    let Some(front) = b.push_slice(HEADER) else { return false };
    front.copy_from_slice(header.as_bytes());
    b.clear_field(l4);
    b.flags.remove(Flags::L2_BROADCAST | Flags::L2_MULTICAST | Flags::L4_CSUM_OK);
    b.flags.insert(Flags::LOCAL | Flags::TABLE);
    (b.tx_if, b.flow_hash) = (table.0, 0);
    b.mark_l3();
    true
}

/// Hops of the packet of IPv6 at least: it has a path of its own, and what the packet of IPv4 has
/// left needn't be enough for it.
const MIN_HOPS: u8 = 64;
