// SPDX-License-Identifier: Apache-2.0
//! The header of IPv6 around a packet of IPv4 (RFC 2473, RFC 6333 5, 6).

use buffer::{Buffer, Cache, Field, Flags};
use net::{L4, TableIndex};
use std::net::Ipv6Addr;
use wire::checksum::update16;
use wire::{Ecn, Header, IpHeader, IpProtocol, Ipv4Header, Ipv6Header, UpperLayer};
use zerocopy::IntoBytes as _;

/// Bytes of the header.
const HEADER: usize = 40;
/// The longest payload.
const LONGEST: usize = u16::MAX as usize;

/// The payload of a packet of IPv6 to an end of the tunnel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Payload {
    /// A packet of IPv4, at this offset.
    Ip4(usize),
    /// A message of ICMPv6.
    Icmp,
    /// A fragment of a payload: it is to be reassembled.
    Fragment,
    /// Another protocol, or a header that can't be read.
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

/// The congestion mark of a packet that leaves the tunnel, from its own mark and that of the outer
/// header (RFC 6040 4.2). `None` for congestion of which the packet can't inform its receiver.
#[inline(always)]
const fn decapsulated(inner: Ecn, outer: Ecn) -> Option<Ecn> {
    match (inner, outer) {
        (Ecn::NotEct, Ecn::Ce) => None,
        (Ecn::Ect0 | Ecn::Ect1, Ecn::Ce) => Some(Ecn::Ce),
        (Ecn::Ect0, Ecn::Ect1) => Some(Ecn::Ect1),
        _ => Some(inner),
    }
}

/// Takes the header off a packet of IPv4, `at` bytes into the buffer, which gets the congestion
/// mark of the tunnel. Returns false if there is no sound packet behind the header (RFC 1812
/// 5.2.2), or none that can have the mark: then it is to be dropped.
#[must_use]
pub fn take(b: &mut Buffer, at: usize, l4: Field<L4>, cache: &mut Cache) -> bool {
    ip::finish_checksum(b);
    let Some(outer) = Ipv6Header::view(b.data()).map(IpHeader::ecn) else { return false };
    let Some(inner) = b.data().get(at..) else { return false };
    let Some(header) = Ipv4Header::view(inner) else { return false };
    let Some(mark) = decapsulated(header.ecn(), outer) else { return false };
    let (len, is_marked) = (header.packet_len(), mark != header.ecn());
    let is_sound = header.version_ihl >> 4 == 4
        && header.header_len() >= 20
        && header.header_len() <= inner.len()
        && len >= header.header_len()
        && at + len <= b.packet_len()
        && Ipv4Header::checksum_ok_at(inner);
    if !is_sound || !b.pull(at) || !b.trim_packet(len, cache) {
        return false;
    }
    if is_marked && let Some(header) = Ipv4Header::view_mut(b.data_mut()) {
        let word = |tos| u16::from_be_bytes([header.version_ihl, tos]);
        let tos = header.tos & !3 | mark as u8;
        let sum = update16(header.checksum.get(), word(header.tos), word(tos));
        header.tos = tos;
        header.checksum.set(sum);
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
/// copied (RFC 2983 4.1, RFC 6040 4.1). The router may fragment the packet: both ends of the tunnel
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

/// Hop limit of the packet of IPv6 at least: its path may have more hops than the packet of IPv4
/// has left.
const MIN_HOPS: u8 = 64;
