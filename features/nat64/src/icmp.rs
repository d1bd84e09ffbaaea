// SPDX-License-Identifier: Apache-2.0
//! Errors of ICMP and ICMPv6, with the packets that they quote (RFC 7915 4.2, 4.3, 5.2, 5.3).

use crate::packet::{HEADER4, HEADER6, Packet};
use crate::translate::{Ends, ICMP_CHECKSUM, head6, header4, header6, upper4, upper6};
use buffer::Buffer;
use nat::quoted::sum;
use std::net::{Ipv4Addr, Ipv6Addr};
use wire::checksum::Sum;
use wire::icmp::{code4, code6};
use wire::{Header, Icmp4Type, Icmp6Type, IcmpHeader, IpProtocol, Ipv4Header};

/// Bytes of an ICMP header.
pub const ICMP: usize = 8;
/// Every link of IPv6 carries as many bytes, and no error is longer (RFC 4443 2.4).
const MIN_MTU6: usize = 1280;
/// Bytes by which a packet of IPv6 is longer.
const LONGER: u32 = (HEADER6 - HEADER4) as u32;
/// MTUs of links, for routers that don't tell theirs (RFC 1191 7.1).
const PLATEAUS: [u16; 10] = [32000, 17914, 8166, 4352, 2002, 1492, 1006, 508, 296, 68];

/// Type, code and last word of an error.
pub type Error = (u8, u8, u32);

/// Fields of IPv4's header by the byte that a pointer names, as bytes of IPv6's: (first, last,
/// other).
const POINTERS4: [(u32, u32, u32); 7] =
    [(0, 0, 0), (1, 1, 1), (2, 3, 4), (8, 8, 7), (9, 9, 6), (12, 15, 8), (16, 19, 24)];
/// The other way round.
const POINTERS6: [(u32, u32, u32); 7] =
    [(0, 0, 0), (1, 1, 1), (4, 5, 2), (6, 6, 9), (7, 7, 8), (8, 23, 12), (24, 39, 16)];

fn pointer(of: &[(u32, u32, u32)], at: u32) -> Option<u32> {
    let mut all = of.iter();
    all.find(|(first, last, _)| (*first..=*last).contains(&at)).map(|(_, _, other)| *other)
}

/// An error of ICMPv6 as one of ICMP; `None` for one that has no counterpart.
pub fn error4((kind, code, rest): Error) -> Option<Error> {
    let unreachable = |code| Some((Icmp4Type::UNREACHABLE.0, code, 0));
    match (Icmp6Type(kind), code) {
        (Icmp6Type::UNREACHABLE, code6::ADMIN_PROHIBITED) => unreachable(code4::ADMIN_PROHIBITED),
        (Icmp6Type::UNREACHABLE, code6::PORT_UNREACHABLE) => unreachable(code4::PORT_UNREACHABLE),
        (
            Icmp6Type::UNREACHABLE,
            code6::NO_ROUTE | code6::BEYOND_SCOPE | code6::ADDRESS_UNREACHABLE,
        ) => unreachable(code4::HOST_UNREACHABLE),
        (Icmp6Type::PACKET_TOO_BIG, _) => {
            let mtu = rest.saturating_sub(LONGER).clamp(68, u16::MAX.into());
            Some((Icmp4Type::UNREACHABLE.0, code4::FRAGMENTATION_NEEDED, mtu))
        }
        (Icmp6Type::TIME_EXCEEDED, code) => Some((Icmp4Type::TIME_EXCEEDED.0, code, 0)),
        (Icmp6Type::PARAMETER_PROBLEM, 0) => {
            let at = pointer(&POINTERS6, rest)?;
            Some((Icmp4Type::PARAMETER_PROBLEM.0, 0, at << 24))
        }
        (Icmp6Type::PARAMETER_PROBLEM, 1) => unreachable(code4::PROTOCOL_UNREACHABLE),
        _ => None,
    }
}

/// An error of ICMP as one of ICMPv6; `quoted` is the length of the packet that it quotes.
pub fn error6((kind, code, rest): Error, quoted: usize) -> Option<Error> {
    let unreachable = |code| Some((Icmp6Type::UNREACHABLE.0, code, 0));
    match (Icmp4Type(kind), code) {
        (Icmp4Type::UNREACHABLE, code4::PROTOCOL_UNREACHABLE) => {
            // The pointer names the next header.
            Some((Icmp6Type::PARAMETER_PROBLEM.0, 1, 6))
        }
        (Icmp4Type::UNREACHABLE, code4::PORT_UNREACHABLE) => unreachable(code6::PORT_UNREACHABLE),
        (Icmp4Type::UNREACHABLE, code4::FRAGMENTATION_NEEDED) => {
            let mtu = match rest as u16 {
                0 => *PLATEAUS.iter().find(|mtu| usize::from(**mtu) < quoted).unwrap_or(&68),
                mtu => mtu,
            };
            let mtu = (u32::from(mtu) + LONGER).max(MIN_MTU6 as u32);
            Some((Icmp6Type::PACKET_TOO_BIG.0, 0, mtu))
        }
        (Icmp4Type::UNREACHABLE, 9 | 10 | code4::ADMIN_PROHIBITED | 15) => {
            unreachable(code6::ADMIN_PROHIBITED)
        }
        (Icmp4Type::UNREACHABLE, 0 | 1 | 5..=8 | 11 | 12) => unreachable(code6::NO_ROUTE),
        (Icmp4Type::TIME_EXCEEDED, code) => Some((Icmp6Type::TIME_EXCEEDED.0, code, 0)),
        (Icmp4Type::PARAMETER_PROBLEM, 0 | 2) => {
            let at = pointer(&POINTERS4, rest >> 24)?;
            Some((Icmp6Type::PARAMETER_PROBLEM.0, 0, at))
        }
        _ => None,
    }
}

/// The ICMP header at an offset.
pub fn header(b: &Buffer, at: usize) -> Option<&IcmpHeader> {
    b.data().get(at..).and_then(IcmpHeader::view)
}

/// True if the checksum of the ICMPv6 message is right.
pub fn is_intact6(b: &Buffer, p: &Packet<Ipv6Addr>) -> bool {
    let len = p.end - p.upper;
    let pseudo = Sum::of(&p.from.octets()).with(&p.to.octets());
    let pseudo = pseudo.with_u32(len as u32).with_u32(IpProtocol::ICMP6.0.into());
    p.end <= b.packet_len() && len >= ICMP && (pseudo + sum(b, p.upper..p.end)).is_valid()
}

/// The end of the quoted packet: extensions of the error (RFC 4884) are left out where the length
/// of the quotation is known, in units of `unit` bytes.
fn quote_end(p: usize, end: usize, units: u8, unit: usize, b: &Buffer) -> usize {
    let cut = p + ICMP + usize::from(units) * unit;
    if units == 0 || b.is_chained() || cut >= end { end } else { cut }
}

/// Makes an error of a user one of IPv4: `q` is the packet that it quotes, `ends` are the error's
/// and those of the quoted packet. Returns false if it can't be.
pub fn to4(
    b: &mut Buffer,
    (p, q): (&Packet<Ipv6Addr>, &Packet<Ipv6Addr>),
    (outer, inner): (&Ends<Ipv4Addr>, &Ends<Ipv4Addr>),
    (error, id): (Error, u16),
) -> bool {
    const FRONT: usize = HEADER4 + ICMP + HEADER4;
    let at = p.upper + ICMP + q.upper;
    let Some(old) = header(b, p.upper) else { return false };
    // RFC 4884 4.4: in words of 64 bits, of types 1 and 3.
    let may_extend = matches!(Icmp6Type(p.kind), Icmp6Type::UNREACHABLE | Icmp6Type::TIME_EXCEEDED);
    let units = if may_extend { (old.rest() >> 24) as u8 } else { 0 };
    let end = quote_end(p.upper, p.end, units, 8, b).max(at);
    let Some(upper) = b.data_mut().get_mut(at..) else { return false };
    upper4(upper, q, inner, false);
    if !b.is_chained() {
        b.truncate(end);
    }
    let payload = end - at + FRONT - HEADER4;
    let front = [header4(p, outer, (payload, id)), header4(q, inner, (q.end - q.upper, id))];
    if !b.pull(at - FRONT) {
        return false;
    }
    write(b, HEADER4, error, 0);
    let [first, quoted] = front;
    for (at, header) in [(0, first), (HEADER4 + ICMP, quoted)] {
        let Some(of) = b.data_mut().get_mut(at..).and_then(Ipv4Header::view_mut) else {
            return false;
        };
        *of = header;
    }
    let checksum = sum(b, HEADER4..HEADER4 + payload).finish();
    write(b, HEADER4, error, checksum);
    true
}

/// Makes an error of the world one of IPv6, in the same way.
pub fn to6(
    b: &mut Buffer,
    (p, q): (&Packet<Ipv4Addr>, &Packet<Ipv4Addr>),
    (outer, inner): (&Ends<Ipv6Addr>, &Ends<Ipv6Addr>),
    error: Error,
) -> bool {
    let at = p.upper + ICMP + q.upper;
    let Some(old) = header(b, p.upper) else { return false };
    // RFC 4884 4.1: in words of 32 bits.
    let units = (old.rest() >> 16) as u8;
    let mut end = quote_end(p.upper, p.end, units, 4, b).max(at);
    let Some(upper) = b.data_mut().get_mut(at..) else { return false };
    upper6(upper, q, inner, false);
    let front = HEADER6 + ICMP + head6(q);
    if !b.is_chained() {
        end = end.min(at + MIN_MTU6 - front);
        b.truncate(end);
    }
    let payload = end - at + front - HEADER6;
    if !b.pull(at) || b.push_slice(front).is_none() {
        return false;
    }
    header6(b.data_mut(), p, outer, payload);
    write(b, HEADER6, error, 0);
    let Some(quoted) = b.data_mut().get_mut(HEADER6 + ICMP..) else { return false };
    header6(quoted, q, inner, q.end - q.upper);
    let pseudo = Sum::of(&outer.0.0.octets()).with(&outer.1.0.octets());
    let pseudo = pseudo.with_u32(payload as u32).with_u32(IpProtocol::ICMP6.0.into());
    let checksum = (pseudo + sum(b, HEADER6..HEADER6 + payload)).finish();
    write(b, HEADER6, error, checksum);
    true
}

/// Writes an ICMP header.
fn write(b: &mut Buffer, at: usize, (kind, code, rest): Error, checksum: u16) {
    let Some(of) = b.data_mut().get_mut(at..).and_then(IcmpHeader::view_mut) else { return };
    *of = IcmpHeader::new(kind, code, rest);
    let Some(two) = b.data_mut().get_mut(at + ICMP_CHECKSUM..at + ICMP_CHECKSUM + 2) else {
        return;
    };
    two.copy_from_slice(&checksum.to_be_bytes());
}
