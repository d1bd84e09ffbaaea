// SPDX-License-Identifier: Apache-2.0
//! The differences between ICMP and ICMPv6.

use crate::model::{ErrorHeader, Refusal};
use buffer::Buffer;
use ip::Ip;
use std::net::{Ipv4Addr, Ipv6Addr};
use wire::checksum::{Sum, update16, update32};
use wire::icmp::{code4, code6};
use wire::{
    Header, Icmp4Type, Icmp6Type, Ip4, Ip4OptionKind, Ip4Prefix, Ip6, Ip6Prefix, IpHeader,
    IpProtocol, Ipv4Header, Ipv6Header, U16, UpperLayer,
};

/// The kind of an ICMP error, each with a rate limit of its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Class {
    /// Destination unreachable.
    Unreachable,
    /// Packet too big.
    TooBig,
    /// Time exceeded.
    TimeExceeded,
    /// Parameter problem.
    ParameterProblem,
    /// Redirect.
    Redirect,
}

/// ICMP of an IP version.
pub trait Icmp: Ip {
    /// Maximum length of an error in bytes, its IP header included.
    const MAX_LEN: usize;
    /// Type of an echo request.
    const ECHO_REQUEST: u8;
    /// Type of an echo reply.
    const ECHO_REPLY: u8;
    /// Types of errors about packets that we sent.
    const ABOUT_OURS: &'static [u8];
    /// True if echo requests to groups are answered by default.
    const ECHO_GROUPS: bool;

    /// Returns the kind of an error of this type; `None` if a router sends none.
    fn class(kind: u8) -> Option<Class>;
    /// Returns true if the destination host itself sends this error: the packet got there.
    fn by_destination(says: ErrorHeader) -> bool;
    /// Returns the IP header of an error about a packet with the header `about`; `len` bytes
    /// follow. With this identification and the type of service that the packet's gives; `None`
    /// for VPP's zeros.
    fn header(from: Self::Addr, about: &Self::Header, len: u16, id: Option<u16>) -> Self::Header;
    /// Returns the initial value of the checksum over `len` bytes: in IPv6 the pseudo header's sum.
    fn pseudo(ip: &Self::Header, len: usize) -> Sum;
    /// Returns the minimum length of a message of this type in bytes.
    fn min_len(kind: u8) -> usize;

    /// Checks that an error may be sent about the packet at offset `at`, whose header is `ip`.
    fn may_tell(b: &Buffer, at: usize, ip: &Self::Header) -> Result<(), Refusal>;
    /// Returns true if we are a member of the group, on an interface with these addresses.
    fn is_member(group: Self::Addr, own: &[wire::Prefix<Self::Addr>]) -> bool;

    /// Returns true if the echo request has a source route: it isn't answered.
    fn is_routed(packet: &[u8]) -> bool;
    /// Turns the IP header of a request into that of the reply, in place: from `from` to the
    /// request's source. `at` is the offset of the ICMP message. `None` if the header can't be
    /// written.
    fn turn(b: &mut Buffer, at: usize, from: Self::Addr) -> Option<()>;
    /// Returns the ICMP checksum of a reply from `from`, given that of the request to `asked`.
    fn reply_sum(request: u16, asked: Self::Addr, from: Self::Addr) -> u16;
}

/// TTL of a reply.
const TTL: u8 = 64;
/// TTL of an error: the maximum.
const FAR: u8 = 255;

/// Precedence 6, internetwork control, and the type of service of the packet it is about (RFC 1812
/// 4.3.2.5), but never its ECN bits: they are not this message's (RFC 3168 5).
fn tos(about: u8) -> u8 {
    0xc0 | about & 0x1c
}

/// The last ICMP type that the rules know; types above it may be errors.
const LAST_KNOWN: u8 = 18;

impl Icmp for Ip4 {
    /// RFC 1812 4.3.2.3.
    const MAX_LEN: usize = 576;
    const ECHO_REQUEST: u8 = Icmp4Type::ECHO_REQUEST.0;
    const ECHO_REPLY: u8 = Icmp4Type::ECHO_REPLY.0;
    const ABOUT_OURS: &'static [u8] =
        &[Icmp4Type::UNREACHABLE.0, Icmp4Type::TIME_EXCEEDED.0, Icmp4Type::PARAMETER_PROBLEM.0];
    const ECHO_GROUPS: bool = false;

    #[inline(always)]
    fn class(kind: u8) -> Option<Class> {
        Some(match Icmp4Type(kind) {
            Icmp4Type::UNREACHABLE => Class::Unreachable,
            Icmp4Type::TIME_EXCEEDED => Class::TimeExceeded,
            Icmp4Type::PARAMETER_PROBLEM => Class::ParameterProblem,
            Icmp4Type::REDIRECT => Class::Redirect,
            _ => return None,
        })
    }

    /// RFC 1812 4.3.3.1; RFC 1122 3.2.2.1, 3.2.2.4.
    #[inline(always)]
    fn by_destination(says: ErrorHeader) -> bool {
        match Icmp4Type(says.kind) {
            Icmp4Type::UNREACHABLE => {
                matches!(says.code, code4::PROTOCOL_UNREACHABLE | code4::PORT_UNREACHABLE)
            }
            Icmp4Type::TIME_EXCEEDED => says.code == code4::REASSEMBLY,
            _ => false,
        }
    }

    fn header(from: Ipv4Addr, about: &Ipv4Header, len: u16, id: Option<u16>) -> Ipv4Header {
        let mut header = Ipv4Header::new(from, about.src(), IpProtocol::ICMP, len);
        header.ttl = FAR;
        header.tos = id.map_or(0, |_| tos(about.tos));
        // The message may be fragmented (a link may be narrower than 576 bytes), so the
        // identification has to differ from that of other messages (RFC 6864 4.3).
        header.id = U16::new(id.unwrap_or(0));
        header.set_checksum();
        header
    }

    #[inline(always)]
    fn pseudo(_: &Ipv4Header, _: usize) -> Sum {
        Sum::ZERO
    }

    /// RFC 792, RFC 950, RFC 1256.
    #[inline(always)]
    fn min_len(kind: u8) -> usize {
        match Icmp4Type(kind) {
            // A header, an IP header, and 8 bytes of what was in it.
            kind if kind.is_error() => 36,
            Icmp4Type::TIMESTAMP_REQUEST | Icmp4Type::TIMESTAMP_REPLY => 20,
            // Address mask.
            Icmp4Type(17 | 18) => 12,
            _ => 8,
        }
    }

    #[inline(always)]
    fn may_tell(b: &Buffer, at: usize, ip: &Ipv4Header) -> Result<(), Refusal> {
        if ip.fragment_offset() != 0 {
            return Err(Refusal::Fragment);
        }
        if ip.protocol == IpProtocol::ICMP {
            let mut kind = [0];
            let known = b.copy_out(at + ip.header_len(), &mut kind) == 1 && kind[0] <= LAST_KNOWN;
            if !known || Icmp4Type(kind[0]).is_error() {
                return Err(Refusal::IcmpError);
            }
        }
        Ok(())
    }

    #[inline(always)]
    fn is_member(_: Ipv4Addr, _: &[Ip4Prefix]) -> bool {
        true
    }

    #[inline(always)]
    fn is_routed(packet: &[u8]) -> bool {
        packet.first() != Some(&Ipv4Header::PLAIN) && has_source_route(packet)
    }

    /// Options stay as they are.
    #[inline(always)]
    fn turn(b: &mut Buffer, _: usize, from: Ipv4Addr) -> Option<()> {
        let header = Ipv4Header::view_mut(b.data_mut())?;
        let ip = *header;
        let mut checksum = ip.checksum.get();
        (header.src, header.dst) = (from.octets(), ip.src);
        // Exchanged addresses leave the sum as it was.
        if from.octets() != ip.dst {
            checksum = update32(checksum, ip.dst_bits(), from.to_bits());
        }
        header.ttl = TTL;
        checksum = update16(checksum, u16::from(ip.ttl) << 8, u16::from(TTL) << 8);
        // The type of service is the request's (RFC 1812 4.3.2.5); a congestion mark is not.
        header.tos = ip.tos & !3;
        header.checksum = U16::new(update16(checksum, ip.tos.into(), header.tos.into()));
        Some(())
    }

    #[inline(always)]
    fn reply_sum(request: u16, _: Ipv4Addr, _: Ipv4Addr) -> u16 {
        // A reply of nothing but zeros needs all ones, which the update can't tell from none (RFC
        // 1624 3); elsewhere the two are the same number.
        match update16(request, u16::from(Icmp4Type::ECHO_REQUEST.0) << 8, 0) {
            0 => 0xffff,
            sum => sum,
        }
    }
}

#[cold]
fn has_source_route(packet: &[u8]) -> bool {
    let route = [Ip4OptionKind::LOOSE_SOURCE_ROUTE, Ip4OptionKind::STRICT_SOURCE_ROUTE];
    Ipv4Header::options(packet).any(|o| o.is_ok_and(|o| route.contains(&o.kind)))
}

impl Icmp for Ip6 {
    /// RFC 4443 2.4 (c).
    const MAX_LEN: usize = 1280;
    const ECHO_REQUEST: u8 = Icmp6Type::ECHO_REQUEST.0;
    const ECHO_REPLY: u8 = Icmp6Type::ECHO_REPLY.0;
    const ABOUT_OURS: &'static [u8] = &[
        Icmp6Type::UNREACHABLE.0,
        Icmp6Type::PACKET_TOO_BIG.0,
        Icmp6Type::TIME_EXCEEDED.0,
        Icmp6Type::PARAMETER_PROBLEM.0,
    ];
    /// RFC 4443 4.2.
    const ECHO_GROUPS: bool = true;

    #[inline(always)]
    fn class(kind: u8) -> Option<Class> {
        Some(match Icmp6Type(kind) {
            Icmp6Type::UNREACHABLE => Class::Unreachable,
            Icmp6Type::PACKET_TOO_BIG => Class::TooBig,
            Icmp6Type::TIME_EXCEEDED => Class::TimeExceeded,
            Icmp6Type::PARAMETER_PROBLEM => Class::ParameterProblem,
            _ => return None,
        })
    }

    #[inline(always)]
    fn by_destination(says: ErrorHeader) -> bool {
        match Icmp6Type(says.kind) {
            Icmp6Type::UNREACHABLE => says.code == code6::PORT_UNREACHABLE,
            Icmp6Type::TIME_EXCEEDED => says.code == code6::REASSEMBLY,
            // Only the destination looks at the next header.
            Icmp6Type::PARAMETER_PROBLEM => says.code == code6::UNKNOWN_NEXT_HEADER,
            _ => false,
        }
    }

    fn header(from: Ipv6Addr, about: &Ipv6Header, len: u16, id: Option<u16>) -> Ipv6Header {
        let mut header = Ipv6Header::new(from, about.src(), IpProtocol::ICMP6, len);
        header.hop_limit = FAR;
        header.set_traffic_class(id.map_or(0, |_| tos(about.traffic_class())));
        header
    }

    #[inline(always)]
    fn pseudo(ip: &Ipv6Header, len: usize) -> Sum {
        ip.pseudo_sum(IpProtocol::ICMP6, len as u32)
    }

    /// RFC 4443, RFC 2710, RFC 4861.
    #[inline(always)]
    fn min_len(kind: u8) -> usize {
        match Icmp6Type(kind) {
            // A header and an IP header.
            kind if kind.is_error() => 48,
            Icmp6Type::MLD_QUERY | Icmp6Type::MLD_REPORT | Icmp6Type::MLD_DONE => 24,
            Icmp6Type::ROUTER_ADVERTISEMENT => 16,
            Icmp6Type::NEIGHBOR_SOLICITATION | Icmp6Type::NEIGHBOR_ADVERTISEMENT => 24,
            Icmp6Type::REDIRECT => 40,
            _ => 8,
        }
    }

    /// RFC 4443 2.4 (e).
    #[inline(always)]
    fn may_tell(b: &Buffer, at: usize, ip: &Ipv6Header) -> Result<(), Refusal> {
        if ip.next_header != IpProtocol::ICMP6 && !ip.next_header.is_ip6_extension() {
            return Ok(());
        }
        // Behind headers that we can't walk may be anything.
        let packet = b.data().get(at..).unwrap_or_default();
        let Ok(upper) = UpperLayer::find6(packet) else { return Err(Refusal::IcmpError) };
        if upper.protocol != IpProtocol::ICMP6 {
            return Ok(());
        }
        if upper.fragment_offset != 0 {
            return Err(Refusal::Fragment);
        }
        let mut kind = [0];
        let known = b.copy_out(at + upper.offset, &mut kind) == 1;
        let kind = Icmp6Type(kind[0]);
        if !known || kind.is_error() || kind == Icmp6Type::REDIRECT {
            return Err(Refusal::IcmpError);
        }
        Ok(())
    }

    /// RFC 4291 2.7.1 and 2.8: all nodes, all routers, solicited-node groups.
    #[inline(always)]
    fn is_member(group: Ipv6Addr, own: &[Ip6Prefix]) -> bool {
        let solicited =
            |p: &Ip6Prefix| 0xff02 << 112 | 0x1_ff00_0000 | p.addr().to_bits() & 0xff_ffff;
        let everybody = [0xff02 << 112 | 1, 0xff02 << 112 | 2, 0xff05 << 112 | 2];
        everybody.contains(&group.to_bits()) || own.iter().any(|p| solicited(p) == group.to_bits())
    }

    #[inline(always)]
    fn is_routed(_: &[u8]) -> bool {
        false
    }

    /// Extension headers are the request's alone.
    #[inline(always)]
    fn turn(b: &mut Buffer, at: usize, from: Ipv6Addr) -> Option<()> {
        let request = *Ipv6Header::view(b.data())?;
        let len = (request.packet_len() - at) as u16;
        let mut header = Ipv6Header::new(from, request.src(), IpProtocol::ICMP6, len);
        header.set_traffic_class(request.traffic_class() & !3);
        if !b.pull(at) {
            return None;
        }
        let room = b.push::<{ Ipv6Header::LEN }>()?;
        *Ipv6Header::view_mut(room)? = header;
        Some(())
    }

    #[inline(always)]
    fn reply_sum(request: u16, asked: Ipv6Addr, from: Ipv6Addr) -> u16 {
        let kinds = [Self::ECHO_REQUEST, Self::ECHO_REPLY].map(|kind| u16::from(kind) << 8);
        let mut sum = update16(request, kinds[0], kinds[1]);
        if asked != from {
            for (old, new) in asked.segments().into_iter().zip(from.segments()) {
                sum = update16(sum, old, new);
            }
        }
        sum
    }
}
