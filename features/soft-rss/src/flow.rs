// SPDX-License-Identifier: Apache-2.0
//! The bytes of a frame that tell its flow.

use crate::toeplitz::INPUT;
use wire::{EtherType, IpProtocol};

/// The fields of a packet that are hashed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Fields {
    /// Addresses, and ports of TCP, UDP and SCTP.
    #[default]
    FourTuple,
    /// Addresses.
    TwoTuple,
    /// The source address.
    Source,
    /// The destination address.
    Destination,
    /// None: packets stay together.
    Disabled,
}

impl Fields {
    /// All, with their words in commands.
    pub const WORDS: [(&'static str, Self); 5] = [
        ("4-tuple", Self::FourTuple),
        ("2-tuple", Self::TwoTuple),
        ("src-ip", Self::Source),
        ("dst-ip", Self::Destination),
        ("disabled", Self::Disabled),
    ];

    /// The word in commands.
    pub fn word(self) -> &'static str {
        Self::WORDS.iter().find(|(_, fields)| *fields == self).map_or("", |(word, _)| word)
    }
}

/// Input of the hash: bytes, and how many of them.
pub type Input = ([u8; INPUT], usize);

/// Tags of one frame that are skipped.
const TAGS: usize = 2;

/// The fields that are hashed, and where a frame begins.
#[derive(Clone, Copy, Debug)]
pub struct Selection {
    /// Fields of IPv4 packets.
    pub ip4: Fields,
    /// Fields of IPv6 packets.
    pub ip6: Fields,
    /// Bytes in front of the Ethernet header.
    pub l2_offset: usize,
}

/// The packets of an arc on which they are spread.
pub trait Content: Send + 'static {
    /// The arc.
    const ARC: &'static str;
    /// The node that spreads them.
    const NODE: &'static str;

    /// The flow of a packet; `None` for a packet without one: no IP, fragments, IPv4 options,
    /// headers that are cut off.
    fn flow(packet: &[u8], selection: Selection) -> Option<Input>;
}

/// Frames that a device receives.
pub struct OfDevice;
/// Frames that are taken out of a tunnel.
pub struct Frames;
/// IPv4 packets that are taken out of a tunnel.
pub struct Packets4;
/// The same of IPv6.
pub struct Packets6;

impl Content for OfDevice {
    const ARC: &'static str = "device-input";
    const NODE: &'static str = "soft-rss";

    #[inline(always)]
    fn flow(packet: &[u8], selection: Selection) -> Option<Input> {
        of_frame(packet, selection)
    }
}

impl Content for Frames {
    const ARC: &'static str = "tunnel-input-ethernet";
    const NODE: &'static str = "soft-rss-tunnel-ethernet";

    #[inline(always)]
    fn flow(packet: &[u8], selection: Selection) -> Option<Input> {
        of_frame(packet, selection)
    }
}

impl Content for Packets4 {
    const ARC: &'static str = "tunnel-input-ip4";
    const NODE: &'static str = "soft-rss-tunnel-ip4";

    #[inline(always)]
    fn flow(packet: &[u8], selection: Selection) -> Option<Input> {
        of_ip4(packet, selection.ip4)
    }
}

impl Content for Packets6 {
    const ARC: &'static str = "tunnel-input-ip6";
    const NODE: &'static str = "soft-rss-tunnel-ip6";

    #[inline(always)]
    fn flow(packet: &[u8], selection: Selection) -> Option<Input> {
        of_ip6(packet, selection.ip6)
    }
}

#[inline(always)]
fn of_frame(data: &[u8], Selection { ip4, ip6, l2_offset: at }: Selection) -> Option<Input> {
    let mut at = at.checked_add(12)?;
    let ether_type =
        |at: usize| Some(EtherType(u16::from_be_bytes(*data.get(at..)?.first_chunk()?)));
    let mut kind = ether_type(at)?;
    for _ in 0..TAGS {
        if kind.is_vlan() {
            at += 4;
            kind = ether_type(at)?;
        }
    }
    let packet = data.get(at + 2..)?;
    match kind {
        EtherType::IP4 => of_ip4(packet, ip4),
        EtherType::IP6 => of_ip6(packet, ip6),
        _ => None,
    }
}

/// True if the bytes behind an IP header begin with two ports.
#[inline(always)]
fn has_ports(protocol: IpProtocol) -> bool {
    matches!(protocol, IpProtocol::TCP | IpProtocol::UDP | IpProtocol::SCTP)
}

#[inline(always)]
fn of_ip4(packet: &[u8], fields: Fields) -> Option<Input> {
    let header: &[u8; 20] = packet.first_chunk()?;
    // RFC 791 3.1: version 4 and five words, so no options; offset 0 and no more fragments.
    let fragment = u16::from_be_bytes([header[6], header[7]]) & 0x3fff != 0;
    if header[0] != 0x45 || fragment {
        return None;
    }
    let ports = packet.get(20..).filter(|_| has_ports(IpProtocol(header[9])));
    select(&header[12..16], &header[16..20], ports, fields)
}

#[inline(always)]
fn of_ip6(packet: &[u8], fields: Fields) -> Option<Input> {
    let header: &[u8; 40] = packet.first_chunk()?;
    let next = IpProtocol(header[6]);
    // RFC 8200 4.5.
    if header[0] >> 4 != 6 || next == IpProtocol::FRAGMENT {
        return None;
    }
    let ports = packet.get(40..).filter(|_| has_ports(next));
    select(&header[8..24], &header[24..40], ports, fields)
}

#[inline(always)]
fn select(from: &[u8], to: &[u8], ports: Option<&[u8]>, fields: Fields) -> Option<Input> {
    let (mut input, mut len) = ([0; INPUT], 0);
    let mut add = |bytes: &[u8]| {
        if let Some(room) = input.get_mut(len..len + bytes.len()) {
            room.copy_from_slice(bytes);
            len += bytes.len();
        }
    };
    match fields {
        Fields::Disabled => return None,
        Fields::Source => add(from),
        Fields::Destination => add(to),
        Fields::TwoTuple | Fields::FourTuple => {
            add(from);
            add(to);
        }
    }
    if fields == Fields::FourTuple
        && let Some(ports) = ports.and_then(<[u8]>::first_chunk::<4>)
    {
        add(ports);
    }
    Some((input, len))
}
