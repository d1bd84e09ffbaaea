// SPDX-License-Identifier: Apache-2.0
//! IPv6 and UDP headers of relayed messages.

use buffer::Buffer;
use std::net::Ipv6Addr;
use wire::{Header, IpHeader, IpProtocol, Ipv6Header, U16, UdpHeader};

/// Bytes of both headers.
pub const HEADERS: usize = Ipv6Header::LEN + UdpHeader::LEN;

/// The ends of a datagram.
#[derive(Clone, Copy)]
pub struct Ends {
    /// The source.
    pub src: Ipv6Addr,
    /// The destination.
    pub dst: Ipv6Addr,
    /// Ports of source and destination.
    pub ports: (u16, u16),
}

/// Puts an IPv6 header and a UDP header, with its checksum (RFC 8200 8.1), in front of a message,
/// which is whole in its first segment. False without room.
#[inline(always)]
#[must_use]
pub fn put_headers(b: &mut Buffer, ends: Ends) -> bool {
    let len = b.len();
    let datagram = (UdpHeader::LEN + len) as u16;
    let mut ip = Ipv6Header::new(ends.src, ends.dst, IpProtocol::UDP, datagram);
    ip.hop_limit = 64;
    let udp = UdpHeader::new(ends.ports.0, ends.ports.1, len as u16);
    let Some(headers) = b.push::<HEADERS>() else { return false };
    let Some((slot, rest)) = Ipv6Header::split_mut(headers) else { return false };
    *slot = ip;
    let Some(slot) = UdpHeader::view_mut(rest) else { return false };
    *slot = udp;
    set_checksum(b);
    true
}

/// Computes the checksum of a datagram that is whole in its first segment.
#[inline(always)]
pub fn set_checksum(b: &mut Buffer) {
    let Some((ip, datagram)) = Ipv6Header::split_mut(b.data_mut()) else { return };
    let sum = ip.pseudo_sum(IpProtocol::UDP, datagram.len() as u32);
    if let Some(udp) = UdpHeader::view_mut(datagram) {
        udp.checksum = U16::ZERO;
    }
    let checksum = sum.with(datagram).finish_udp();
    if let Some(udp) = UdpHeader::view_mut(datagram) {
        udp.checksum = U16::new(checksum);
    }
}

/// The header fields of a received datagram whose payload the packet begins with.
#[derive(Clone, Copy)]
pub struct Received {
    /// The sender.
    pub src: Ipv6Addr,
    /// The sender's port.
    pub port: u16,
    /// The sender's MAC address, if the packet came in an Ethernet frame.
    pub mac: Option<[u8; 6]>,
}

/// Reads the headers in front of a packet that begins with the payload of its datagram; extension
/// headers may stand between them.
#[inline(always)]
pub fn received(b: &mut Buffer) -> Option<Received> {
    let back = b.l3_len();
    if back < HEADERS || !b.rewind(back) {
        return None;
    }
    let src = Ipv6Header::view(b.data()).map(IpHeader::src);
    let port = UdpHeader::view_at(b.data(), back - UdpHeader::LEN).map(|udp| udp.src_port.get());
    let link = b.l2_len();
    let mut mac = None;
    if link >= wire::Ethernet::LEN && b.rewind(link) {
        mac = b.bytes::<6>(6).copied();
        let pulled = b.pull(link);
        debug_assert!(pulled, "these bytes are there");
    }
    let pulled = b.pull(back);
    debug_assert!(pulled, "these bytes are there");
    Some(Received { src: src?, port: port?, mac })
}
