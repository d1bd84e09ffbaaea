// SPDX-License-Identifier: Apache-2.0
//! The parts of packets that rules are held against.

use crate::rule::Match;
use std::sync::atomic::{AtomicU64, Ordering};
use wire::{Address, Header, Ip6Fragment, IpHeader, IpProtocol};

/// Bytes of an upper layer that have ports, or type and code, with all else of its first 8 bytes.
const LEAST: usize = 8;
/// Bytes of a TCP header up to its flags.
const FLAGS_END: usize = 14;
/// Extension headers that are skipped at most.
const MOST_HEADERS: usize = 8;

/// The part of an upper layer that a packet has.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub enum Part {
    /// Ports and flags, or type and code, if the protocol has them.
    Whole,
    /// Nothing: the packet is a fragment, and not the first.
    LaterFragment,
    /// Less than the fields that rules are held against.
    Cut,
}

/// The upper layer of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct PacketUpper {
    /// Its protocol.
    pub protocol: u8,
    /// The part of it that is there.
    pub part: Part,
    /// Flags of TCP, else 0.
    pub flags: u8,
    /// Source port, or type of ICMP; 0 if there is none.
    pub source: u16,
    /// Destination port, or code of ICMP; 0 if there is none.
    pub destination: u16,
}

impl PacketUpper {
    /// Of no packet.
    pub const NONE: Self =
        Self { protocol: 0, part: Part::Cut, flags: 0, source: 0, destination: 0 };

    fn of_part(protocol: u8, part: Part) -> Self {
        Self { protocol, part, ..Self::NONE }
    }

    /// Reads the upper layer that begins with these bytes.
    #[inline(always)]
    fn read(protocol: u8, bytes: &[u8]) -> Self {
        let whole = |source, destination, flags| Self {
            protocol,
            part: Part::Whole,
            flags,
            source,
            destination,
        };
        let of = IpProtocol(protocol);
        if of != IpProtocol::TCP && of != IpProtocol::UDP {
            if of != IpProtocol::ICMP && of != IpProtocol::ICMP6 {
                return whole(0, 0, 0);
            }
            return match bytes {
                [kind, code, ..] if bytes.len() >= LEAST => {
                    whole((*kind).into(), (*code).into(), 0)
                }
                _ => Self::of_part(protocol, Part::Cut),
            };
        }
        let Some(first) = bytes.first_chunk::<LEAST>() else {
            return Self::of_part(protocol, Part::Cut);
        };
        let (source, destination) =
            (u16::from_be_bytes([first[0], first[1]]), u16::from_be_bytes([first[2], first[3]]));
        if of == IpProtocol::UDP {
            return whole(source, destination, 0);
        }
        match bytes.get(FLAGS_END - 1) {
            Some(flags) => whole(source, destination, *flags),
            None => Self::of_part(protocol, Part::Cut),
        }
    }

    /// True if both directions of a flow have the same ports, exchanged.
    pub fn has_ports(&self) -> bool {
        matches!(IpProtocol(self.protocol), IpProtocol::TCP | IpProtocol::UDP)
    }
}

/// The parts of a packet that rules are held against.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Tuple<A> {
    /// Its source.
    pub source: A,
    /// Its destination.
    pub destination: A,
    /// Its upper layer.
    pub upper: PacketUpper,
}

impl<A: Address> Tuple<A> {
    /// Of no packet.
    pub const NOTHING: Self =
        Self { source: A::ZERO, destination: A::ZERO, upper: PacketUpper::NONE };
}

/// Extension headers of IPv6 that are skipped on the way to the upper layer, a bit for each
/// protocol number.
#[derive(Debug)]
pub struct Skipped([AtomicU64; 4]);

/// Protocol numbers that are skipped at first: hop-by-hop options, routing, fragment, destination
/// options, mobility, HIP, Shim6, and two for experiments.
const SKIPPED: [u8; 9] = [0, 43, 44, 60, 135, 139, 140, 253, 254];

impl Default for Skipped {
    fn default() -> Self {
        let all = Self([const { AtomicU64::new(0) }; 4]);
        for number in SKIPPED {
            all.set(number, true);
        }
        all
    }
}

impl Skipped {
    /// True if an extension header is skipped.
    #[inline(always)]
    pub fn has(&self, number: u8) -> bool {
        self.0[usize::from(number >> 6)].load(Ordering::Relaxed) >> (number & 63) & 1 != 0
    }

    /// Sets whether an extension header is skipped.
    pub fn set(&self, number: u8, on: bool) {
        let (word, bit) = (&self.0[usize::from(number >> 6)], 1_u64 << (number & 63));
        if on {
            word.fetch_or(bit, Ordering::Relaxed);
        } else {
            word.fetch_and(!bit, Ordering::Relaxed);
        }
    }

    /// The numbers whose setting isn't that of the start.
    pub fn changed(&self) -> impl Iterator<Item = (u8, bool)> {
        (0..=u8::MAX)
            .map(|number| (number, self.has(number)))
            .filter(|(number, on)| *on != SKIPPED.contains(number))
    }
}

/// A protocol whose packets are read.
pub trait Read: Match {
    /// Reads the upper layer of the packet whose IP header is at `packet[0]`.
    fn upper(packet: &[u8], skipped: &Skipped) -> PacketUpper;
}

/// Reads the packet whose IP header is at `packet[0]`; `None` if it has less than that.
#[inline(always)]
pub fn read<F: Read>(packet: &[u8], skipped: &Skipped) -> Option<Tuple<F::Addr>> {
    let ip = F::Header::view(packet)?;
    let upper = F::upper(packet, skipped);
    Some(Tuple { source: ip.src(), destination: ip.dst(), upper })
}

impl Read for wire::Ip4 {
    #[inline(always)]
    fn upper(packet: &[u8], _: &Skipped) -> PacketUpper {
        if let Some(upper) = ordinary_upper(packet) {
            return upper;
        }
        let Some(ip) = wire::Ipv4Header::view(packet) else { return PacketUpper::NONE };
        let protocol = ip.protocol().0;
        if ip.fragment_offset() != 0 {
            return PacketUpper::of_part(protocol, Part::LaterFragment);
        }
        let end = packet.len().min(ip.packet_len());
        PacketUpper::read(protocol, packet.get(ip.header_len()..end).unwrap_or_default())
    }
}

/// The upper layer of most packets: TCP or UDP behind an IPv4 header without options, neither a
/// fragment nor cut.
#[inline(always)]
fn ordinary_upper(packet: &[u8]) -> Option<PacketUpper> {
    const HEADER: usize = 20;
    let bytes = packet.first_chunk::<{ HEADER + FLAGS_END }>()?;
    let number = |at| u16::from_be_bytes([bytes[at], bytes[at + 1]]);
    let (total, offset, protocol) = (number(2), number(6) & 0x1fff, bytes[9]);
    let is_tcp = protocol == IpProtocol::TCP.0;
    if bytes[0] != 0x45
        || usize::from(total) < HEADER + FLAGS_END
        || offset != 0
        || !(is_tcp || protocol == IpProtocol::UDP.0)
    {
        return None;
    }
    Some(PacketUpper {
        protocol,
        part: Part::Whole,
        flags: if is_tcp { bytes[HEADER + FLAGS_END - 1] } else { 0 },
        source: number(HEADER),
        destination: number(HEADER + 2),
    })
}

impl Read for wire::Ip6 {
    #[inline(always)]
    fn upper(packet: &[u8], skipped: &Skipped) -> PacketUpper {
        let Some(ip) = wire::Ipv6Header::view(packet) else { return PacketUpper::NONE };
        let (protocol, end) = (ip.protocol().0, packet.len().min(ip.packet_len()));
        let rest = packet.get(40..end).unwrap_or_default();
        match IpProtocol(protocol) {
            IpProtocol::TCP | IpProtocol::UDP | IpProtocol::ICMP6 => {
                PacketUpper::read(protocol, rest)
            }
            _ => behind_headers(protocol, rest, skipped),
        }
    }
}

/// Reads the upper layer behind extension headers.
#[cold]
fn behind_headers(mut protocol: u8, mut rest: &[u8], skipped: &Skipped) -> PacketUpper {
    for _ in 0..MOST_HEADERS {
        if !skipped.has(protocol) {
            return PacketUpper::read(protocol, rest);
        }
        let &[next, units, ..] = rest else { return PacketUpper::of_part(protocol, Part::Cut) };
        // RFC 8200 4.5: a fragment header has 8 bytes, without a length.
        let len = if IpProtocol(protocol) == IpProtocol::FRAGMENT {
            let Some(fragment) = Ip6Fragment::view(rest) else {
                return PacketUpper::of_part(protocol, Part::Cut);
            };
            if fragment.offset() != 0 {
                return PacketUpper::of_part(next, Part::LaterFragment);
            }
            8
        } else {
            (usize::from(units) + 1) * 8
        };
        let Some(behind) = rest.get(len..) else { return PacketUpper::of_part(next, Part::Cut) };
        (protocol, rest) = (next, behind);
    }
    PacketUpper::of_part(protocol, Part::Cut)
}
