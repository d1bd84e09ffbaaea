// SPDX-License-Identifier: Apache-2.0
//! Messages of the client leave the router: by broadcast on the link, along the arc `ip4-output` as
//! other packets of the interface do, or by unicast to the server that a route leads to.

use super::message::{CLIENT_PORT, SERVER_PORT};
use crate::output;
use buffer::Flags;
use graph::{SwIfIndex, World};
use net::{Interface, IpBinding};
use stats::Simple;
use std::net::Ipv4Addr;
use wire::{EtherType, Ethernet, Header, Ip4, IpProtocol, Ipv4Header, MacAddr, UdpHeader};
use zerocopy::IntoBytes;

/// TTL of the client's packets.
const TTL: u8 = 128;

/// A datagram from our port to the server's, from its IP header on. It has no checksum (RFC 768):
/// VPP sends none.
pub fn datagram(src: Ipv4Addr, dst: Ipv4Addr, tos: u8, message: &[u8]) -> Vec<u8> {
    let udp = UdpHeader::new(CLIENT_PORT, SERVER_PORT, message.len() as u16);
    let len = (UdpHeader::LEN + message.len()) as u16;
    let mut ip = Ipv4Header::new(src, dst, IpProtocol::UDP, len);
    (ip.tos, ip.ttl) = (tos, TTL);
    ip.set_checksum();
    [ip.as_bytes(), udp.as_bytes(), message].concat()
}

/// Sends a packet to all stations of a link.
pub fn broadcast(world: &World, interface: &Interface, packet: &[u8], unsent: &Simple) {
    let ethernet = Ethernet::new(interface.mac, MacAddr::BROADCAST, EtherType::IP4);
    let frame = [ethernet.as_bytes(), packet].concat();
    output::send::<Ip4>(world, interface.sw_if, frame, unsent);
}

/// Sends a packet where the routes of an interface's table lead it.
pub fn unicast(world: &World, sw_if: SwIfIndex, packet: Vec<u8>, unsent: &Simple) {
    let table = IpBinding::of(world, sw_if).table::<Ip4>();
    output::inject(world, "ip4-lookup", sw_if, packet, unsent, move |b| {
        b.mark_l3();
        b.tx_if = table.0;
        b.flags.insert(Flags::TABLE);
    });
}
