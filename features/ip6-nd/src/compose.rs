// SPDX-License-Identifier: Apache-2.0
//! Messages that go out, as frames.

use std::net::Ipv6Addr;
use wire::checksum::Sum;
use wire::mld::{ALL_MLD2_ROUTERS, Mld2Record, Mld2Report};
use wire::nd::{self, LinkOption, NdOptionKind, NeighborMessage, solicited_node};
use wire::{
    EtherType, Ethernet, Header, IcmpHeader, IpHeader, IpProtocol, Ipv6Header, MacAddr, U16,
};
use zerocopy::IntoBytes;

/// Offset of the end of the IPv6 header in a frame without tags.
const BODY: usize = Ethernet::LEN + Ipv6Header::LEN;
/// Bytes of a neighbour solicitation or advertisement with a link-layer address, without its IPv6
/// header.
const MESSAGE: usize = NeighborMessage::LEN + LinkOption::LEN;
/// Bytes of such a frame.
pub const FRAME: usize = BODY + MESSAGE;
/// Bytes of such a packet.
pub const PACKET: usize = Ipv6Header::LEN + MESSAGE;
/// Maximum number of records in one report: a packet of 1280 bytes holds them.
pub const RECORDS: usize = 60;

/// Source and destination of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Envelope {
    pub src_mac: MacAddr,
    pub dst_mac: MacAddr,
    pub src: Ipv6Addr,
    pub dst: Ipv6Addr,
}

impl Envelope {
    /// To a group.
    #[inline(always)]
    pub fn multicast(src_mac: MacAddr, src: Ipv6Addr, dst: Ipv6Addr) -> Self {
        Self { src_mac, dst_mac: MacAddr::ip6_multicast(dst), src, dst }
    }
}

/// Writes an IPv6 header in front of an ICMPv6 message, and the message's checksum. The packet has
/// room for the header.
#[inline(always)]
pub fn write_header(packet: &mut [u8], src: Ipv6Addr, dst: Ipv6Addr) {
    let len = packet.len() - Ipv6Header::LEN;
    let mut ip = Ipv6Header::new(src, dst, IpProtocol::ICMP6, len as u16);
    ip.hop_limit = nd::HOP_LIMIT;
    let checksum =
        ip.pseudo_sum(IpProtocol::ICMP6, len as u32).with(&packet[Ipv6Header::LEN..]).finish();
    if let Some((slot, body)) = Ipv6Header::split_mut(packet) {
        *slot = ip;
        if let Some(icmp) =
            body.get_mut(IcmpHeader::CHECKSUM_OFFSET..IcmpHeader::CHECKSUM_OFFSET + 2)
        {
            icmp.copy_from_slice(&checksum.to_be_bytes());
        }
    }
}

/// A neighbour solicitation or advertisement with the link-layer address of its sender or target.
#[inline(always)]
pub fn packet(
    src: Ipv6Addr,
    dst: Ipv6Addr,
    message: NeighborMessage,
    kind: NdOptionKind,
    mac: MacAddr,
) -> [u8; PACKET] {
    let mut packet = [0; PACKET];
    if let Some((slot, rest)) = NeighborMessage::split_mut(&mut packet[Ipv6Header::LEN..]) {
        *slot = message;
        if let Some(option) = LinkOption::view_mut(rest) {
            *option = LinkOption::new(kind, mac);
        }
    }
    write_header(&mut packet, src, dst);
    packet
}

/// A solicitation for `target`: to its solicited-node group, or to one station.
#[inline(always)]
pub fn solicitation(
    mac: MacAddr,
    src: Ipv6Addr,
    target: Ipv6Addr,
    to: Option<MacAddr>,
) -> [u8; FRAME] {
    let dst = if to.is_some() { target } else { solicited_node(target) };
    let dst_mac = to.unwrap_or(MacAddr::ip6_multicast(dst));
    let message = NeighborMessage::solicitation(target);
    let mut frame = [0; FRAME];
    frame[Ethernet::LEN..].copy_from_slice(&packet(
        src,
        dst,
        message,
        NdOptionKind::SOURCE_LINK,
        mac,
    ));
    if let Some(ethernet) = Ethernet::view_mut(&mut frame) {
        *ethernet = Ethernet::new(mac, dst_mac, EtherType::IP6);
    }
    frame
}

/// An ICMPv6 message in its frame, with a hop limit of 255.
pub(crate) fn frame(to: Envelope, body: &[u8]) -> Vec<u8> {
    let mut frame = vec![0; BODY + body.len()];
    frame[BODY..].copy_from_slice(body);
    write_header(&mut frame[Ethernet::LEN..], to.src, to.dst);
    if let Some(ethernet) = Ethernet::view_mut(&mut frame) {
        *ethernet = Ethernet::new(to.src_mac, to.dst_mac, EtherType::IP6);
    }
    frame
}

/// A solicitation that detects if another node has `target`; `nonce` identifies our own (RFC 4862
/// 5.4.2, RFC 7527 4).
pub(crate) fn duplicate_probe(mac: MacAddr, target: Ipv6Addr, nonce: [u8; 6]) -> Vec<u8> {
    let to = Envelope::multicast(mac, Ipv6Addr::UNSPECIFIED, solicited_node(target));
    let mut body = NeighborMessage::solicitation(target).as_bytes().to_vec();
    body.extend([NdOptionKind::NONCE.0, 1]);
    body.extend(nonce);
    frame(to, &body)
}

/// An unsolicited advertisement of `target` to all nodes (RFC 4861 7.2.6).
pub fn announcement(mac: MacAddr, target: Ipv6Addr) -> Vec<u8> {
    let flags = NeighborMessage::ROUTER | NeighborMessage::OVERRIDE;
    let mut body = NeighborMessage::advertisement(flags, target).as_bytes().to_vec();
    body.extend(LinkOption::new(NdOptionKind::TARGET_LINK, mac).as_bytes());
    frame(Envelope::multicast(mac, target, nd::ALL_NODES), &body)
}

/// A message of multicast listener discovery: with the router alert option, and never beyond the
/// link (RFC 3810 5).
pub fn listener(mac: MacAddr, src: Ipv6Addr, dst: Ipv6Addr, body: &[u8]) -> Vec<u8> {
    // Next header ICMPv6, router alert for MLD (RFC 2711), and two bytes of padding.
    const ALERT: [u8; 8] = [IpProtocol::ICMP6.0, 0, 5, 2, 0, 0, 1, 0];
    let mut ip =
        Ipv6Header::new(src, dst, IpProtocol::HOP_BY_HOP, (ALERT.len() + body.len()) as u16);
    ip.hop_limit = 1;
    let sum: Sum = ip.pseudo_sum(IpProtocol::ICMP6, body.len() as u32).with(body);
    let mut message = body.to_vec();
    if let Some(icmp) = IcmpHeader::view_mut(&mut message) {
        icmp.checksum = U16::new(sum.finish());
    }
    let ethernet = Ethernet::new(mac, MacAddr::ip6_multicast(dst), EtherType::IP6);
    [ethernet.as_bytes(), ip.as_bytes(), &ALERT, &message].concat()
}

/// A report of MLD version 2: the kinds and groups of at most [`RECORDS`] records.
pub fn report(mac: MacAddr, src: Ipv6Addr, records: &[(u8, Ipv6Addr)]) -> Vec<u8> {
    let mut body = Mld2Report::new(records.len() as u16).as_bytes().to_vec();
    for (kind, group) in records {
        body.extend(Mld2Record::new(*kind, *group).as_bytes());
    }
    listener(mac, src, ALL_MLD2_ROUTERS, &body)
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;
    use wire::l4::{self, Verdict};

    const MAC: MacAddr = MacAddr([2, 0, 0, 0, 0, 1]);

    #[suite::test]
    fn checksums_are_right_and_frames_go_where_they_should() {
        let (us, target): (Ipv6Addr, Ipv6Addr) =
            ("fe80::1".parse().unwrap(), "2001:db8::12:3456".parse().unwrap());
        let report = wire::mld::Mld2Report::new(0);
        let all = [
            (solicitation(MAC, us, target, None).to_vec(), [0x33, 0x33, 0xff, 0x12, 0x34, 0x56]),
            (solicitation(MAC, us, target, Some(MacAddr([9; 6]))).to_vec(), [9; 6]),
            (
                duplicate_probe(MAC, target, [1, 2, 3, 4, 5, 6]),
                [0x33, 0x33, 0xff, 0x12, 0x34, 0x56],
            ),
            (announcement(MAC, target), [0x33, 0x33, 0, 0, 0, 1]),
            (listener(MAC, us, ALL_MLD2_ROUTERS, report.as_bytes()), [0x33, 0x33, 0, 0, 0, 0x16]),
        ];
        for (frame, station) in all {
            assert_eq!(frame[..6], station);
            assert_eq!((&frame[6..12], &frame[12..14]), (&MAC.0[..], &[0x86, 0xdd][..]));
            assert_eq!(l4::verify(&frame[14..]), Ok(Verdict::Valid), "{frame:02x?}");
            let ip = Ipv6Header::view(&frame[14..]).unwrap();
            assert_eq!(ip.packet_len(), frame.len() - 14);
        }
    }
}
