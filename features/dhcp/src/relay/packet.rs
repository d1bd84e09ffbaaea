// SPDX-License-Identifier: Apache-2.0
//! Packets of relayed messages, of both IP versions.

use super::config::Server;
use buffer::{Buffer, Field, Flags, Owned};
use graph::Cx;
use net::{L4, Net};
use wire::{
    Ethernet, Header, Ip4, Ip6, IpHeader, IpProtocol, Ipv4Header, Ipv6Header, MacAddr, U16,
    UdpHeader,
};

/// TTL of relayed messages.
const TTL: u8 = 64;

/// An IP version whose headers relayed messages get.
pub trait Relayed: Net {
    /// A header for a datagram of so many bytes; [`Self::finish`] computes its checksums.
    fn header(src: Self::Addr, dst: Self::Addr, len: u16) -> Self::Header;

    /// Computes the checksums of a datagram that is whole in its first segment.
    fn finish(b: &mut Buffer);
}

impl Relayed for Ip4 {
    #[inline(always)]
    fn header(src: Self::Addr, dst: Self::Addr, len: u16) -> Ipv4Header {
        Ipv4Header { ttl: TTL, ..Ipv4Header::new(src, dst, IpProtocol::UDP, len) }
    }

    /// The datagram has no checksum (RFC 768), as VPP's.
    #[inline(always)]
    fn finish(b: &mut Buffer) {
        if let Some(ip) = Ipv4Header::view_mut(b.data_mut()) {
            ip.set_checksum();
        }
    }
}

impl Relayed for Ip6 {
    #[inline(always)]
    fn header(src: Self::Addr, dst: Self::Addr, len: u16) -> Ipv6Header {
        Ipv6Header { hop_limit: TTL, ..Ipv6Header::new(src, dst, IpProtocol::UDP, len) }
    }

    /// The datagram must have a checksum (RFC 8200 8.1).
    #[inline(always)]
    fn finish(b: &mut Buffer) {
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
}

/// The header fields of a received datagram.
#[derive(Clone, Copy)]
pub struct Received<A> {
    /// The sender.
    pub src: A,
    /// The receiver.
    pub dst: A,
    /// The sender's port.
    pub port: u16,
    /// The sender's MAC address, if the packet came in an Ethernet frame.
    pub mac: Option<[u8; 6]>,
}

/// Reads the headers in front of a packet that begins with the payload of its datagram. Options or
/// extension headers may stand between them.
#[inline(always)]
pub fn received<F: Net>(b: &mut Buffer) -> Option<Received<F::Addr>> {
    let back = b.l3_len();
    if back < F::HEADER_LEN + UdpHeader::LEN || !b.rewind(back) {
        return None;
    }
    let ends = F::Header::view(b.data()).map(|ip| (ip.src(), ip.dst()));
    let port = UdpHeader::view_at(b.data(), back - UdpHeader::LEN).map(|udp| udp.src_port.get());
    let link = b.l2_len();
    let mut mac = None;
    if link >= Ethernet::LEN && b.rewind(link) {
        mac = b.bytes::<6>(6).copied();
        let pulled = b.pull(link);
        debug_assert!(pulled, "these bytes are there");
    }
    let pulled = b.pull(back);
    debug_assert!(pulled, "these bytes are there");
    let (src, dst) = ends?;
    Some(Received { src, dst, port: port?, mac })
}

/// The addresses of a datagram, and its ports: those of the sender first.
#[derive(Clone, Copy)]
pub struct Ends<A> {
    /// The source.
    pub src: A,
    /// The destination.
    pub dst: A,
    /// Ports of source and destination.
    pub ports: (u16, u16),
}

/// Puts an IP header and a UDP header in front of a message, which is whole in its first segment.
/// False without room.
#[inline(always)]
#[must_use]
pub fn put_headers<F: Relayed>(b: &mut Buffer, ends: Ends<F::Addr>) -> bool {
    let udp = UdpHeader::new(ends.ports.0, ends.ports.1, b.len() as u16);
    let ip = F::header(ends.src, ends.dst, (UdpHeader::LEN + b.len()) as u16);
    let Some(headers) = b.push_slice(F::HEADER_LEN + UdpHeader::LEN) else { return false };
    let Some((slot, rest)) = F::Header::split_mut(headers) else { return false };
    *slot = ip;
    let Some(slot) = UdpHeader::view_mut(rest) else { return false };
    *slot = udp;
    F::finish(b);
    true
}

/// Makes a packet one of ours that no device has received.
#[inline(always)]
fn become_own(b: &mut Buffer, l4: Field<L4>) {
    const RECEIVED: Flags = Flags::CSUM_PARTIAL
        .union(Flags::GSO)
        .union(Flags::TABLE)
        .union(Flags::L2_BROADCAST)
        .union(Flags::L2_MULTICAST);
    b.flags.remove(RECEIVED);
    b.flags.insert(Flags::LOCAL.union(Flags::IP4_CSUM_OK).union(Flags::L4_CSUM_OK));
    b.clear_field(l4);
    (b.rx_if, b.flow_hash) = (0, 0);
}

/// Makes a packet one of ours whose destination is looked up in a server's table.
#[inline(always)]
pub fn send_to<A>(b: &mut Buffer, server: &Server<A>, l4: Field<L4>) {
    become_own(b, l4);
    b.flags.insert(Flags::TABLE);
    b.tx_if = server.table.0;
}

/// A copy of a message for another server; `None` without a buffer. Copies of clients' messages
/// take none of the buffers that are kept for the router's own packets.
#[inline(always)]
pub fn copy<F: Relayed, const TRACED: bool>(
    b: &Buffer,
    server: &Server<F::Addr>,
    l4: Field<L4>,
    cx: &mut Cx<'_, TRACED>,
) -> Option<Owned> {
    let mut copy = cx.alloc()?;
    if !copy.set_data(b.data()) {
        cx.free(copy);
        return None;
    }
    if let Some(ip) = F::Header::view_mut(copy.data_mut()) {
        ip.set_dst(server.addr);
    }
    F::finish(&mut copy);
    send_to(&mut copy, server, l4);
    Some(copy)
}

/// Makes a packet one of ours in a frame to all stations of an interface's link. False without
/// room.
#[inline(always)]
#[must_use]
pub fn broadcast<F: Net>(b: &mut Buffer, sw_if: u32, mac: MacAddr, l4: Field<L4>) -> bool {
    b.mark_l3();
    let Some(slot) = b.push::<{ Ethernet::LEN }>() else { return false };
    let Some(slot) = Ethernet::view_mut(slot) else { return false };
    *slot = Ethernet::new(mac, MacAddr::BROADCAST, F::ETHERTYPE);
    become_own(b, l4);
    b.tx_if = sw_if;
    true
}
