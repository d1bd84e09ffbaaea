// SPDX-License-Identifier: Apache-2.0
//! Packets of one version as packets of the other (RFC 7915).

use crate::key::End;
use crate::packet::{FRAGMENT, HEADER4, HEADER6, ICMP_ID, Packet};
use buffer::{Buffer, Flags};
use nat::quoted::sum;
use std::net::{Ipv4Addr, Ipv6Addr};
use wire::checksum::{Sum, update, update_udp};
use wire::{
    Header, Icmp4Type, Icmp6Type, Ip6Fragment, IpProtocol, Ipv4Header, Ipv6Header, U16, U32,
};

/// Offsets of the checksums of TCP, UDP and ICMP.
const TCP_CHECKSUM: usize = 16;
const UDP_CHECKSUM: usize = 6;
pub const ICMP_CHECKSUM: usize = 2;
/// IPv4 packets up to this length may be fragmented: IPv6 has no link that they don't fit (RFC 7915
/// 5.1).
pub const MAY_FRAGMENT: usize = 1260;
/// virtio's numbers for super-packets of TCP over IPv4 and IPv6.
const GSO_TCP: [u8; 2] = [1, 4];

/// The two ends of a packet of a version, with the ports.
pub type Ends<A> = ((A, u16), (A, u16));

/// The ends that a packet of a user gets.
pub fn ends4(from: End, to: End) -> Ends<Ipv4Addr> {
    ((from.addr, from.port), (to.addr, to.port))
}

fn put(bytes: &mut [u8], at: usize, value: u16) {
    if let Some(two) = bytes.get_mut(at..at + 2) {
        two.copy_from_slice(&value.to_be_bytes());
    }
}

fn get(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..at + 2).map(|two| u16::from_be_bytes([two[0], two[1]]))
}

fn sum4(ends: &Ends<Ipv4Addr>) -> Sum {
    Sum::ZERO.with_u32(ends.0.0.to_bits()).with_u32(ends.1.0.to_bits())
}

fn sum6(ends: &Ends<Ipv6Addr>) -> Sum {
    Sum::of(&ends.0.0.octets()).with(&ends.1.0.octets())
}

/// The rest of the pseudo-header of ICMPv6, which ICMP has none of.
fn pseudo_icmp6(len: usize) -> Sum {
    Sum::ZERO.with_u32(len as u32).with_u32(IpProtocol::ICMP6.0.into())
}

/// The IPv4 header of a packet with `payload` bytes behind it.
pub fn header4(
    p: &Packet<Ipv6Addr>,
    ends: &Ends<Ipv4Addr>,
    (payload, id): (usize, u16),
) -> Ipv4Header {
    let total = HEADER4 + payload;
    let (id, flags) = match p.part {
        Some(part) => {
            let more = if part.more { Ipv4Header::MF } else { 0 };
            (part.id as u16, (part.offset / 8) | more)
        }
        // IPv6 has no link that it doesn't fit: it may be fragmented on the way.
        None if total <= MAY_FRAGMENT => (id, 0),
        None => (0, Ipv4Header::DF),
    };
    let mut header = Ipv4Header::new(ends.0.0, ends.1.0, p.protocol, payload as u16);
    (header.tos, header.ttl) = (p.class, p.hops);
    (header.id, header.flags_fragment) = (U16::new(id), U16::new(flags));
    header.set_checksum();
    header
}

/// Writes the IPv6 header of a packet with `payload` bytes behind it, and the fragment header if it
/// is a fragment. Returns the bytes written.
pub fn header6(
    bytes: &mut [u8],
    p: &Packet<Ipv4Addr>,
    ends: &Ends<Ipv6Addr>,
    payload: usize,
) -> usize {
    let protocol = if p.protocol == IpProtocol::ICMP { IpProtocol::ICMP6 } else { p.protocol };
    let len = head6(p);
    let next = if p.part.is_some() { IpProtocol::FRAGMENT } else { protocol };
    let payload = (len - HEADER6 + payload) as u16;
    let mut header = Ipv6Header::new(ends.0.0, ends.1.0, next, payload);
    header.set_traffic_class(p.class);
    header.hop_limit = p.hops;
    if let Some(of) = Ipv6Header::view_mut(bytes) {
        *of = header;
    }
    if let Some(part) = p.part
        && let Some(of) = bytes.get_mut(HEADER6..).and_then(Ip6Fragment::view_mut)
    {
        *of = Ip6Fragment {
            next_header: protocol,
            reserved: 0,
            offset_more: U16::new(part.offset | u16::from(part.more)),
            id: U32::new(part.id),
        };
    }
    len
}

/// Bytes of the headers of an IPv6 packet.
pub fn head6(p: &Packet<Ipv4Addr>) -> usize {
    HEADER6 + if p.part.is_some() { FRAGMENT } else { 0 }
}

/// Gives TCP or UDP other ports, and mends the checksum, which covers the addresses too. With
/// `partial` it covers nothing but the pseudo-header so far.
fn change_ports(
    upper: &mut [u8],
    (protocol, partial): (IpProtocol, bool),
    (removed, old): (Sum, (u16, u16)),
    (added, new): (Sum, (u16, u16)),
) {
    put(upper, 0, new.0);
    put(upper, 2, new.1);
    let is_udp = protocol == IpProtocol::UDP;
    let at = if is_udp { UDP_CHECKSUM } else { TCP_CHECKSUM };
    let Some(checksum) = get(upper, at) else { return };
    let with = |sum: Sum, ports: (u16, u16)| sum.with_u16(ports.0).with_u16(ports.1);
    let changed = match (partial, is_udp) {
        (true, _) => !update(!checksum, removed, added),
        (_, true) => update_udp(checksum, with(removed, old), with(added, new)),
        _ => update(checksum, with(removed, old), with(added, new)),
    };
    put(upper, at, changed);
}

/// Gives an ICMP query the type and the identifier of the other version.
fn change_query(upper: &mut [u8], kind: u8, id: u16, (removed, added): (Sum, Sum)) {
    let (Some(&[was, code]), Some(old)) = (upper.first_chunk(), get(upper, ICMP_ID)) else {
        return;
    };
    let first = |kind: u8| u16::from_be_bytes([kind, code]);
    upper[0] = kind;
    put(upper, ICMP_ID, id);
    let Some(checksum) = get(upper, ICMP_CHECKSUM) else { return };
    let removed = removed.with_u16(first(was)).with_u16(old);
    let added = added.with_u16(first(kind)).with_u16(id);
    put(upper, ICMP_CHECKSUM, update(checksum, removed, added));
}

/// The type of a query in the other version.
pub fn query4(kind: u8) -> u8 {
    if kind == Icmp6Type::ECHO_REQUEST.0 {
        Icmp4Type::ECHO_REQUEST.0
    } else {
        Icmp4Type::ECHO_REPLY.0
    }
}

/// The same for a query of IPv4.
pub fn query6(kind: u8) -> u8 {
    if kind == Icmp4Type::ECHO_REQUEST.0 {
        Icmp6Type::ECHO_REQUEST.0
    } else {
        Icmp6Type::ECHO_REPLY.0
    }
}

/// Changes the upper layer of a packet of a user, or of one that is quoted.
pub fn upper4(upper: &mut [u8], p: &Packet<Ipv6Addr>, new: &Ends<Ipv4Addr>, partial: bool) {
    let old = ((p.from, p.ports.0), (p.to, p.ports.1));
    let (removed, added) = (sum6(&old), sum4(new));
    match p.protocol {
        IpProtocol::TCP | IpProtocol::UDP => {
            let ports = (new.0.1, new.1.1);
            change_ports(upper, (p.protocol, partial), (removed, p.ports), (added, ports));
        }
        IpProtocol::ICMP => {
            let removed = removed + pseudo_icmp6(p.end - p.upper);
            change_query(upper, query4(p.kind), new.0.1, (removed, Sum::ZERO));
        }
        _ => {}
    }
}

/// The same for a packet of the world; of a query, both ends have the identifier.
pub fn upper6(upper: &mut [u8], p: &Packet<Ipv4Addr>, new: &Ends<Ipv6Addr>, partial: bool) {
    let old = ((p.from, p.ports.0), (p.to, p.ports.1));
    let (removed, added) = (sum4(&old), sum6(new));
    match p.protocol {
        IpProtocol::TCP | IpProtocol::UDP => {
            let ports = (new.0.1, new.1.1);
            change_ports(upper, (p.protocol, partial), (removed, p.ports), (added, ports));
        }
        IpProtocol::ICMP => {
            let added = added + pseudo_icmp6(p.end - p.upper);
            change_query(upper, query6(p.kind), new.1.1, (Sum::ZERO, added));
        }
        _ => {}
    }
}

/// True if the upper layer's checksum is to be completed by a device.
fn is_partial(b: &Buffer, upper: usize) -> bool {
    b.flags.contains(Flags::CSUM_PARTIAL) && usize::from(b.offload.csum_start) == upper
}

/// Makes a super-packet one of the other version.
fn change_gso(b: &mut Buffer, from: usize, to: usize) {
    let kind = b.offload.gso_kind;
    if b.flags.contains(Flags::GSO) && kind & 0x7f == GSO_TCP[from] {
        b.offload.gso_kind = kind & 0x80 | GSO_TCP[to];
    }
}

/// Takes what belongs to the old version off the packet.
fn forget_version(b: &mut Buffer) {
    b.flow_hash = 0;
    b.flags.remove(Flags::TABLE | Flags::IP4_CSUM_OK);
}

/// Makes a packet of a user one of IPv4 between these ends. Returns false if it hasn't the bytes.
#[inline(always)]
pub fn to4(b: &mut Buffer, p: &Packet<Ipv6Addr>, new: &Ends<Ipv4Addr>, id: u16) -> bool {
    let partial = is_partial(b, p.upper);
    if p.end - p.upper + HEADER4 > usize::from(u16::MAX) {
        return false;
    }
    if !p.is_later()
        && let Some(upper) = b.data_mut().get_mut(p.upper..)
    {
        upper4(upper, p, new, partial);
    }
    let header = header4(p, new, (p.end - p.upper, id));
    if !b.pull(p.upper - HEADER4) {
        return false;
    }
    let Some(of) = Ipv4Header::view_mut(b.data_mut()) else { return false };
    *of = header;
    change_gso(b, 1, 0);
    forget_version(b);
    true
}

/// Makes a packet of the world one of IPv6 between these ends. Returns false if it can't be.
#[inline(always)]
pub fn to6(b: &mut Buffer, p: &Packet<Ipv4Addr>, new: &Ends<Ipv6Addr>) -> bool {
    let partial = is_partial(b, p.upper);
    if !p.is_later()
        && let Some(upper) = b.data_mut().get_mut(p.upper..)
    {
        let had_none = p.protocol == IpProtocol::UDP && get(upper, UDP_CHECKSUM) == Some(0);
        upper6(upper, p, new, partial);
        if had_none && !partial && !add_checksum(b, p, new) {
            return false;
        }
    }
    let len = head6(p);
    if !b.pull(p.upper) || b.push_slice(len).is_none() {
        return false;
    }
    header6(b.data_mut(), p, new, p.end - p.upper);
    change_gso(b, 0, 1);
    forget_version(b);
    true
}

/// Gives a datagram of UDP the checksum that IPv6 asks for (RFC 7915 4.5). That of fragments isn't
/// known.
#[cold]
fn add_checksum(b: &mut Buffer, p: &Packet<Ipv4Addr>, new: &Ends<Ipv6Addr>) -> bool {
    if p.part.is_some() || b.packet_len() < p.end {
        return false;
    }
    let len = p.end - p.upper;
    let pseudo = sum6(new).with_u32(len as u32).with_u32(IpProtocol::UDP.0.into());
    let checksum = (pseudo + sum(b, p.upper..p.end)).finish_udp();
    let Some(upper) = b.data_mut().get_mut(p.upper..) else { return false };
    put(upper, UDP_CHECKSUM, checksum);
    true
}
