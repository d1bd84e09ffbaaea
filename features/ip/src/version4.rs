// SPDX-License-Identifier: Apache-2.0
//! IPv4, in what it differs from IPv6.

use crate::family::{Class, Errors, Fields, InputEdges, Ip, Refusal, Upper, Words, words};
use crate::flow;
use crate::headers::bit;
use crate::template::Template4;
use buffer::{Buffer, Cache};
use graph::{Next, NodeIndex};
use simd::ip4_header_sum;
use std::net::Ipv4Addr;
use wire::describe::Layer;
use wire::icmp::code4;
use wire::{Header, Icmp4Type, Ip4, Ip4Prefix, IpHeader, IpProtocol, Ipv4Header, U16};

/// Bytes of a header without options.
const HEADER: usize = 20;

/// The next nodes of `ip4-input`.
#[derive(Next, Clone, Copy, PartialEq, Eq, Debug)]
pub enum Input4 {
    #[next("ip4-lookup")]
    Lookup,
    #[next("ip4-mfib-forward-lookup")]
    Multicast,
    /// ip4 options present
    #[next("ip4-options", count)]
    Options,
    #[dynamic]
    Feature(NodeIndex),
    /// ip4 length < 20 bytes
    #[drop]
    TooShort,
    /// ip4 version != 4
    #[drop]
    Version,
    /// ip4 header length < 20 bytes or > packet length
    #[drop]
    HdrTooShort,
    /// ip4 length < header length or > l2 length
    #[drop]
    BadLength,
    /// bad ip4 checksum
    #[drop]
    BadChecksum,
    /// ip4 fragment offset == 1
    #[drop]
    FragmentOffsetOne,
    /// ip4 source is on network 0
    #[drop]
    SourceThisNetwork,
    /// ip4 source is on network 127
    #[drop]
    SourceLoopback,
    /// ip4 source is multicast
    #[drop]
    SourceMulticast,
    /// ip4 source is broadcast or reserved
    #[drop]
    SourceReserved,
    /// no buffer for a copy of what other packets share, to cut it
    #[drop]
    NoBuffer,
}

impl InputEdges for Input4 {
    const LOOKUP: Self = Self::Lookup;
    const MULTICAST: Self = Self::Multicast;
    const OPTIONS: Self = Self::Options;
    const NO_BUFFER: Self = Self::NoBuffer;
    #[inline(always)]
    fn feature(node: NodeIndex) -> Self {
        Self::Feature(node)
    }
}

/// The sum of a word's halves.
#[inline(always)]
fn halves(word: u32) -> u32 {
    (word & 0xffff) + (word >> 16)
}

impl Ip for Ip4 {
    const LAYER: Layer = Layer::Ip4;
    const ERRORS: Errors = Errors {
        // RFC 1812 5.2.7.1: the network can't be reached, if there is no route at all.
        no_route: (Icmp4Type::UNREACHABLE.0, code4::NET_UNREACHABLE),
        unreachable: (Icmp4Type::UNREACHABLE.0, code4::HOST_UNREACHABLE),
        // Of the destination; 13 is of filters (RFC 1812 5.2.7.1).
        prohibited: (Icmp4Type::UNREACHABLE.0, code4::HOST_PROHIBITED),
        // RFC 1122 3.2.2.1.
        unknown_protocol: (Icmp4Type::UNREACHABLE.0, code4::PROTOCOL_UNREACHABLE),
        port_unreachable: (Icmp4Type::UNREACHABLE.0, code4::PORT_UNREACHABLE),
        expired: (Icmp4Type::TIME_EXCEEDED.0, code4::TTL_IN_TRANSIT),
        too_big: (Icmp4Type::UNREACHABLE.0, code4::FRAGMENTATION_NEEDED),
    };
    type Input = Input4;
    type Template = Template4;

    #[inline(always)]
    fn destination(b: &Buffer) -> u32 {
        b.bytes::<HEADER>(0).map_or(0, |h| u32::from_be_bytes([h[16], h[17], h[18], h[19]]))
    }

    #[inline(always)]
    fn source(b: &Buffer) -> u32 {
        b.bytes::<HEADER>(0).map_or(0, |h| u32::from_be_bytes([h[12], h[13], h[14], h[15]]))
    }

    #[inline(always)]
    fn words(b: &Buffer) -> Words {
        let header = b.bytes::<HEADER>(0).unwrap_or(&[0; HEADER]);
        words(header.as_chunks().0, 4)
    }

    #[inline(always)]
    fn total(first: [u32; 4]) -> u32 {
        first[0] >> 24 | (first[0] >> 8 & 0xff00)
    }

    /// RFC 1812 5.2.2 and 5.3.7: version, lengths, checksum, source; no options, to one host.
    #[inline(always)]
    fn wrong<const VERIFY: bool>((words, destination): Words, have: u32) -> u32 {
        let [first, second, third, source] = words;
        let total = Self::total(words);
        let mut is_wrong = bit(first & 0xff != u32::from(Ipv4Header::PLAIN))
            | bit(total < HEADER as u32)
            | bit(total > have)
            // The fragment's offset is 1, in the order of the wire.
            | bit(second & 0xff1f_0000 == 0x0100_0000)
            | bit(source & 0xff == 0)
            | bit(source & 0xff == 127)
            | bit(source & 0xff >= 224)
            | bit(destination & 0xf0 == 0xe0);
        if VERIFY {
            let sum = halves(first)
                + halves(second)
                + halves(third)
                + halves(source)
                + halves(destination);
            is_wrong |= bit(halves(halves(sum)) != 0xffff);
        }
        is_wrong
    }

    const CHANGES: usize = 8;

    /// TTL, protocol and checksum. As [`IpHeader::decrement_ttl`], which says why.
    #[inline(always)]
    fn onward(first: [u32; 4]) -> (u32, u32) {
        let (word, sum) = (first[2], first[2] >> 16);
        let sum = sum + 1 + bit(sum >= 0xfffe);
        ((word & 0xffff).wrapping_sub(1) & 0xffff | sum << 16, bit(word & 0xff <= 1))
    }

    #[inline(always)]
    fn usual<const VERIFY: bool>(b: &Buffer) -> Option<usize> {
        let header = b.bytes::<HEADER>(0)?;
        let total = usize::from(u16::from_be_bytes([header[2], header[3]]));
        let usual = header[0] == Ipv4Header::PLAIN
            && total >= HEADER
            && total <= b.packet_len()
            && u16::from_be_bytes([header[6], header[7]]) & 0x1fff != 1
            && (1..224).contains(&header[12])
            && header[12] != 127
            && header[16] & 0xf0 != 0xe0
            && (!VERIFY || ip4_header_sum::<simd::V1>(header) == 0xffff);
        usual.then_some(total)
    }

    /// RFC 1812 5.2.2.
    fn check(b: &mut Buffer, verify: bool, _: bool, cache: &mut Cache) -> Result<Class, Input4> {
        let len = b.packet_len();
        // 5.2.2 (1): the length that the link layer reports holds a minimum header.
        let header = b.bytes::<HEADER>(0).ok_or(Input4::TooShort)?;
        // 5.2.2 (3): the version is 4.
        if header[0] >> 4 != 4 {
            return Err(Input4::Version);
        }
        // 5.2.2 (4): the header length holds a minimum header; and it is there in one piece.
        let ihl = usize::from(header[0] & 15) * 4;
        if ihl < HEADER || ihl > b.len() {
            return Err(Input4::HdrTooShort);
        }
        // 5.2.2 (5): the total length holds the header. And the packet holds the total length.
        let total = usize::from(u16::from_be_bytes([header[2], header[3]]));
        if total < ihl || total > len {
            return Err(Input4::BadLength);
        }
        // 5.2.2 (2): the checksum is right.
        if verify && !Ipv4Header::checksum_ok_at(b.data()) {
            return Err(Input4::BadChecksum);
        }
        // A fragment that overwrites the transport header of the first (RFC 1858 4).
        if u16::from_be_bytes([header[6], header[7]]) & 0x1fff == 1 {
            return Err(Input4::FragmentOffsetOne);
        }
        let (source, destination) = (&header[12..16], &header[16..20]);
        // 5.3.7: a source that no host has. Senders without an address (DHCP, IGMP queries) send to
        // groups only.
        let to_all = destination == [255; 4];
        let to_group = destination[0] >> 4 == 0xe;
        match source[0] {
            0 if source == [0; 4] && (to_all || to_group) => {}
            0 => return Err(Input4::SourceThisNetwork),
            127 => return Err(Input4::SourceLoopback),
            224..240 => return Err(Input4::SourceMulticast),
            240.. => return Err(Input4::SourceReserved),
            _ => {}
        }
        if !b.trim_packet(total, cache) {
            return Err(Input4::NoBuffer);
        }
        Ok(if ihl > HEADER {
            Class::Options
        } else if to_group {
            Class::Multicast
        } else {
            Class::Unicast
        })
    }

    #[inline(always)]
    fn pass(b: &mut Buffer) -> bool {
        match b.bytes_mut::<HEADER>(0).and_then(|header| Ipv4Header::view_mut(header)) {
            Some(header) if header.ttl > 1 => {
                header.decrement_ttl();
                true
            }
            _ => false,
        }
    }

    fn decrement(b: &mut Buffer) {
        if let Some(header) = Ipv4Header::view_mut(b.data_mut()) {
            header.decrement_ttl();
        }
    }

    fn is_confined(_: &Buffer) -> bool {
        false
    }

    fn may_fragment(b: &Buffer) -> bool {
        Ipv4Header::view(b.data()).is_some_and(|ip| !ip.dont_fragment())
    }

    #[inline(always)]
    fn upper(b: &Buffer) -> Result<Upper, Refusal> {
        let ip = Ipv4Header::view(b.data()).ok_or(Refusal::TooShort)?;
        let offset = ip.header_len();
        if b.len() < offset {
            return Err(Refusal::TooShort);
        }
        if ip.is_fragment() {
            return Err(Refusal::Fragment);
        }
        Ok(Upper { protocol: ip.protocol, offset, named_at: 0 })
    }

    #[inline(always)]
    fn fields(b: &Buffer, begin: usize) -> Fields {
        let Some(header) = b.bytes::<HEADER>(begin) else { return Fields::default() };
        let word = |at: usize| {
            u64::from(u32::from_le_bytes([
                header[at],
                header[at + 1],
                header[at + 2],
                header[at + 3],
            ]))
        };
        let whole = u16::from_be_bytes([header[6], header[7]]) & 0x3fff == 0;
        let at =
            if header[0] == Ipv4Header::PLAIN { HEADER } else { usize::from(header[0] & 15) * 4 };
        let protocol = header[9];
        let ports = if whole { flow::ports(b, protocol, begin + at) } else { 0 };
        Fields { source: word(12), destination: word(16), ports, protocol, label: 0 }
    }

    #[inline(always)]
    fn is_group(addr: Ipv4Addr, own: &[Ip4Prefix]) -> bool {
        addr.is_multicast() || addr.is_broadcast() || is_directed(addr, own)
    }

    /// Not 0/8, 127/8, class D or E, or the broadcast of a connected network.
    #[inline(always)]
    fn is_host(addr: Ipv4Addr, own: &[Ip4Prefix]) -> bool {
        let [first, ..] = addr.octets();
        !matches!(first, 0 | 127 | 224..) && !is_directed(addr, own)
    }

    #[inline(always)]
    fn whole(from: Ipv4Addr, to: Ipv4Addr, protocol: IpProtocol, len: u16) -> Ipv4Header {
        let mut header = Ipv4Header::new(from, to, protocol, len);
        // Never in parts: its identification means nothing (RFC 6864 4.1).
        header.flags_fragment = U16::new(Ipv4Header::DF);
        header.set_checksum();
        header
    }
}

/// Returns true for the first and the last address of a network: its broadcast addresses, old and
/// new form (RFC 1812 5.3.5); networks of two addresses (RFC 3021) have none.
#[inline(always)]
fn is_directed(addr: Ipv4Addr, own: &[Ip4Prefix]) -> bool {
    own.iter().any(|p| p.len() < 31 && (addr == p.last() || addr == p.network().addr()))
}
