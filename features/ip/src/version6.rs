// SPDX-License-Identifier: Apache-2.0
//! IPv6, in what it differs from IPv4.

use crate::extension;
use crate::family::{Class, Errors, Fields, InputEdges, Ip, Refusal, Upper, Words, words};
use crate::flow;
use crate::headers::bit;
use crate::template::Template6;
use buffer::{Buffer, Cache, Flags};
use graph::{Next, NodeIndex};
use std::net::Ipv6Addr;
use wire::describe::Layer;
use wire::icmp::code6;
use wire::{Header, Icmp6Type, Ip6, Ip6Prefix, IpHeader, IpProtocol, Ipv6Header, UpperLayer};

/// Bytes of a header without extensions.
const HEADER: usize = 40;

/// The next nodes of `ip6-input`.
#[derive(Next, Clone, Copy, PartialEq, Eq, Debug)]
pub enum Input6 {
    #[next("ip6-lookup")]
    Lookup,
    #[next("ip6-mfib-forward-lookup")]
    Multicast,
    /// ip6 hop-by-hop options present
    #[next("ip6-hop-by-hop", count)]
    HopByHop,
    #[dynamic]
    Feature(NodeIndex),
    /// ip6 length < 40 bytes
    #[drop]
    TooShort,
    /// ip6 version != 6
    #[drop]
    Version,
    /// ip6 length > l2 length
    #[drop]
    BadLength,
    /// ip6 source is multicast
    #[drop]
    SourceMulticast,
    /// ip6 source is the loopback address
    #[drop]
    SourceLoopback,
    /// ip6 source is unspecified, destination is one host
    #[drop]
    SourceUnspecified,
    /// ip6 group of scope 0, which is reserved (RFC 4291 2.7)
    #[drop]
    GroupScope,
    /// no buffer for a copy of what other packets share, to cut it
    #[drop]
    NoBuffer,
}

impl InputEdges for Input6 {
    const LOOKUP: Self = Self::Lookup;
    const MULTICAST: Self = Self::Multicast;
    const OPTIONS: Self = Self::HopByHop;
    const NO_BUFFER: Self = Self::NoBuffer;
    #[inline(always)]
    fn feature(node: NodeIndex) -> Self {
        Self::Feature(node)
    }
}

/// Returns true if the source is valid on its own link only.
#[inline(always)]
fn is_from_link(header: &[u8; HEADER]) -> bool {
    header[8] == 0xfe && header[9] & 0xc0 == 0x80
}

impl Ip for Ip6 {
    const LAYER: Layer = Layer::Ip6;
    const ERRORS: Errors = Errors {
        // RFC 4443 3.1 has no code for what a route calls unreachable: it is no route.
        no_route: (Icmp6Type::UNREACHABLE.0, code6::NO_ROUTE),
        unreachable: (Icmp6Type::UNREACHABLE.0, code6::NO_ROUTE),
        prohibited: (Icmp6Type::UNREACHABLE.0, code6::ADMIN_PROHIBITED),
        unknown_protocol: (Icmp6Type::PARAMETER_PROBLEM.0, code6::UNKNOWN_NEXT_HEADER),
        port_unreachable: (Icmp6Type::UNREACHABLE.0, code6::PORT_UNREACHABLE),
        expired: (Icmp6Type::TIME_EXCEEDED.0, code6::HOP_LIMIT_IN_TRANSIT),
        too_big: (Icmp6Type::PACKET_TOO_BIG.0, 0),
    };
    type Input = Input6;
    type Template = Template6;

    #[inline(always)]
    fn destination(b: &Buffer) -> u128 {
        b.bytes::<16>(24).map_or(0, |destination| u128::from_be_bytes(*destination))
    }

    #[inline(always)]
    fn source(b: &Buffer) -> u128 {
        b.bytes::<16>(8).map_or(0, |source| u128::from_be_bytes(*source))
    }

    #[inline(always)]
    fn words(b: &Buffer) -> Words {
        let header = b.bytes::<HEADER>(0).unwrap_or(&[0; HEADER]);
        words(header.as_chunks().0, 6)
    }

    #[inline(always)]
    fn total(first: [u32; 4]) -> u32 {
        HEADER as u32 + (first[1] >> 8 & 0xff | (first[1] & 0xff) << 8)
    }

    /// RFC 8200 3, RFC 4291 2.5 and 2.7: version, length, source; no hop-by-hop options, to one
    /// host.
    #[inline(always)]
    fn wrong<const VERIFY: bool>((words, destination): Words, have: u32) -> u32 {
        let [first, second, third, fourth] = words;
        bit(first & 0xf0 != 0x60)
            | bit(Self::total(words) > have)
            | bit(second >> 16 & 0xff == u32::from(IpProtocol::HOP_BY_HOP.0))
            | bit(third & 0xff == 0xff)
            // Unspecified, loopback, and others that are hardly ever seen.
            | bit(third | fourth == 0)
            | bit(destination & 0xff == 0xff)
    }

    const CHANGES: usize = 4;

    /// Payload length, next header and hop limit. Packets from a source valid on its link only (RFC
    /// 4291 2.5.6) stay there.
    #[inline(always)]
    fn onward(first: [u32; 4]) -> (u32, u32) {
        let word = first[1];
        (word.wrapping_sub(1 << 24), bit(word >> 24 <= 1) | bit(first[2] & 0xc0ff == 0x80fe))
    }

    fn check(b: &mut Buffer, _: bool, any_scope: bool, cache: &mut Cache) -> Result<Class, Input6> {
        let len = b.packet_len();
        let header = b
            .bytes::<HEADER>(0)
            .and_then(|header| Ipv6Header::view(header))
            .ok_or(Input6::TooShort)?;
        if header.version() != 6 {
            return Err(Input6::Version);
        }
        let total = header.packet_len();
        if total > len {
            return Err(Input6::BadLength);
        }
        let (source, destination) = (header.src(), header.dst());
        let to_group = destination.is_multicast();
        if source.is_multicast() {
            return Err(Input6::SourceMulticast);
        }
        if source.is_loopback() {
            return Err(Input6::SourceLoopback);
        }
        // A sender without an address yet sends to groups only (RFC 4862 5.4).
        if source.is_unspecified() && !to_group {
            return Err(Input6::SourceUnspecified);
        }
        // For scope 1, the node's own, the MFIB entry decides.
        if to_group && header.dst[1] & 15 == 0 && !any_scope {
            return Err(Input6::GroupScope);
        }
        let has_options = header.next_header == IpProtocol::HOP_BY_HOP;
        if !b.trim_packet(total, cache) {
            return Err(Input6::NoBuffer);
        }
        Ok(if has_options {
            Class::Options
        } else if to_group {
            Class::Multicast
        } else {
            Class::Unicast
        })
    }

    #[inline(always)]
    fn pass(b: &mut Buffer) -> bool {
        match b.bytes_mut::<HEADER>(0) {
            Some(header) if header[7] > 1 && !is_from_link(header) => {
                header[7] -= 1;
                true
            }
            _ => false,
        }
    }

    fn decrement(b: &mut Buffer) {
        if let Some(header) = Ipv6Header::view_mut(b.data_mut()) {
            header.decrement_ttl();
        }
    }

    fn is_confined(b: &Buffer) -> bool {
        b.bytes::<HEADER>(0).is_some_and(is_from_link)
    }

    /// Only the sender of a packet fragments it (RFC 8200 4.5).
    fn may_fragment(b: &Buffer) -> bool {
        b.flags.contains(Flags::LOCAL)
    }

    #[inline(always)]
    fn upper(b: &Buffer) -> Result<Upper, Refusal> {
        let header = b.bytes::<HEADER>(0).ok_or(Refusal::TooShort)?;
        let protocol = IpProtocol(header[6]);
        if protocol.is_ip6_extension() || protocol == IpProtocol::NO_NEXT {
            return extension::upper(b.data());
        }
        Ok(Upper { protocol, offset: HEADER, named_at: 6 })
    }

    #[inline(always)]
    fn fields(b: &Buffer, begin: usize) -> Fields {
        let Some(header) = b.bytes::<HEADER>(begin).and_then(|header| Ipv6Header::view(header))
        else {
            return Fields::default();
        };
        let fields = Fields {
            source: flow::shorten(header.src_bits()),
            destination: flow::shorten(header.dst_bits()),
            ports: 0,
            protocol: header.next_header.0,
            label: header.flow_label(),
        };
        if header.next_header.is_ip6_extension() {
            return behind_extensions(b, begin, fields);
        }
        Fields { ports: flow::ports(b, fields.protocol, begin + HEADER), ..fields }
    }

    #[inline(always)]
    fn is_group(addr: Ipv6Addr, _: &[Ip6Prefix]) -> bool {
        addr.is_multicast()
    }

    #[inline(always)]
    fn is_host(addr: Ipv6Addr, _: &[Ip6Prefix]) -> bool {
        !(addr.is_multicast() || addr.is_unspecified() || addr.is_loopback())
    }

    #[inline(always)]
    fn whole(from: Ipv6Addr, to: Ipv6Addr, protocol: IpProtocol, len: u16) -> Ipv6Header {
        Ipv6Header::new(from, to, protocol, len)
    }
}

#[cold]
#[inline(never)]
fn behind_extensions(b: &Buffer, begin: usize, fields: Fields) -> Fields {
    let packet = b.data().get(begin..).unwrap_or_default();
    let Ok(upper) = UpperLayer::find6(packet) else { return fields };
    let protocol = upper.protocol.0;
    if upper.is_fragment() {
        // Only the first has a transport header: all fragments hash without its protocol and ports.
        return Fields { protocol: IpProtocol::FRAGMENT.0, ..fields };
    }
    Fields { ports: flow::ports(b, protocol, begin + upper.offset), protocol, ..fields }
}
