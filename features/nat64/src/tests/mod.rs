// SPDX-License-Identifier: Apache-2.0
mod api;
mod errors;
mod fragments;
mod limits;
mod logs;
mod model;
mod mutated;
mod packets;
mod sessions;
mod workers;

use crate::PLUGIN;
use crate::packet::Packet as Read;
use ::nat::drive::{ETHERNET, PUBLIC};
use graph::Plugin;
use net::drive::{Rig, peer_mac, port_mac};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use testkit::pkt::{self, Packet};
use wire::l4::{self, Verdict};
use wire::{Header, IpHeader, IpProtocol, Ipv4Header, Ipv6Header, TcpFlags};

pub static PLUGINS: &[&Plugin] = &[
    &interface::PLUGIN,
    &::ethernet::PLUGIN,
    &fib::PLUGIN,
    &ip::PLUGIN,
    &icmp::PLUGIN,
    &ip_reassembly::PLUGIN,
    &syslog::PLUGIN,
    &ipfix_export::PLUGIN,
    &PLUGIN,
];

/// A user, a host of the world, and that host as users see it.
const USER: &str = "2001:db8:0::2";
const HOST: &str = "10.0.1.2";
const HOST6: &str = "64:ff9b::10.0.1.2";

/// Ports with 10.0.N.1/24 and 2001:db8:N::1/64, each with neighbours ::2 and above that are known.
/// Users are behind port 0, the world is behind port 1.
fn router(lines: &[&str]) -> Rig {
    let mut rig = bare(2);
    rig.cli("nat64 plugin enable");
    rig.cli("set interface nat64 in p0");
    rig.cli("set interface nat64 out p1");
    lines.iter().for_each(|line| drop(rig.cli(line)));
    rig
}

/// The same without NAT64.
fn bare(ports: usize) -> Rig {
    ::nat::drive::bare(PLUGINS, ports)
}

/// With one address for users.
fn with_pool() -> Rig {
    router(&[&format!("nat64 add pool address {PUBLIC}")])
}

/// A packet of IPv6 that comes in by port 0, without its upper layer.
fn of_user(from: &str, to: &str) -> Packet {
    pkt::ether(peer_mac(0), port_mac(0)).ip6(from, to)
}

/// The same of IPv4, by port 1.
fn of_world(from: &str, to: &str) -> Packet {
    pkt::ether(peer_mac(1), port_mac(1)).ip4(from, to)
}

/// A SYN.
fn syn(packet: Packet, from: u16, to: u16) -> Packet {
    packet.tcp(from, to).segment(TcpFlags::SYN, 1, 0)
}

/// An answer to a query of ICMPv6.
fn reply6(packet: Packet, id: u16) -> Packet {
    packet.icmp6(wire::Icmp6Type::ECHO_REPLY, 0, u32::from(id) << 16 | 1)
}

/// The fields of a sent packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Seen {
    port: usize,
    from: (IpAddr, u16),
    to: (IpAddr, u16),
    protocol: IpProtocol,
}

/// Reads a frame, whose checksums have to be right.
fn seen((port, frame): &(usize, Vec<u8>)) -> Seen {
    let bytes = &frame[ETHERNET..];
    let (from, to, protocol, is_fragment);
    if bytes[0] >> 4 == 4 {
        assert!(Ipv4Header::checksum_ok_at(bytes), "IP checksum of {bytes:02x?}");
        let ip = Ipv4Header::view(bytes).expect("an IP header");
        assert_eq!(ip.packet_len(), bytes.len());
        is_fragment = ip.is_fragment();
        let p = Read::<Ipv4Addr>::read(bytes, None, false).ok();
        let ports = p.map_or((0, 0), |p| p.ports);
        (from, to) = ((ip.src().into(), ports.0), (ip.dst().into(), ports.1));
        protocol = ip.protocol;
    } else {
        let ip = Ipv6Header::view(bytes).expect("an IP header");
        assert_eq!(ip.packet_len(), bytes.len());
        is_fragment = ip.next_header == IpProtocol::FRAGMENT;
        let p = Read::<Ipv6Addr>::read(bytes, None, false).ok();
        let ports = p.map_or((0, 0), |p| p.ports);
        (from, to) = ((ip.src().into(), ports.0), (ip.dst().into(), ports.1));
        protocol = ip.next_header;
    }
    use IpProtocol as P;
    if !is_fragment && [P::TCP, P::UDP, P::ICMP, P::ICMP6].contains(&protocol) {
        let verdict = l4::verify(bytes);
        let good = matches!(verdict, Ok(Verdict::Valid | Verdict::Absent));
        assert!(good, "{verdict:?}: {bytes:02x?}");
    }
    Seen { port: *port, from, to, protocol }
}

/// Sends a packet in by a port; returns the packets that have left.
fn sent(rig: &mut Rig, port: usize, packet: &Packet) -> Vec<Seen> {
    rig.pass(port, &packet.build()).iter().map(seen).collect()
}

/// Sends a packet; returns what has left, if it is one packet.
#[track_caller]
fn one(rig: &mut Rig, port: usize, packet: &Packet) -> Seen {
    let all = sent(rig, port, packet);
    assert_eq!(all.len(), 1, "{all:?}");
    all[0]
}

/// The same, with all its bytes behind Ethernet.
#[track_caller]
fn bytes(rig: &mut Rig, port: usize, packet: &Packet) -> Vec<u8> {
    let all = rig.pass(port, &packet.build());
    assert_eq!(all.len(), 1, "{all:?}");
    seen(&all[0]);
    all[0].1[ETHERNET..].to_vec()
}

/// True if a packet leaves nowhere.
fn is_dropped(rig: &mut Rig, port: usize, packet: &Packet) -> bool {
    sent(rig, port, packet).is_empty()
}

fn addr(text: &str) -> IpAddr {
    text.parse().expect("an address")
}

fn end(text: &str, port: u16) -> (IpAddr, u16) {
    (addr(text), port)
}

fn total(rig: &Rig, of: &str) -> u64 {
    rig.bench.world.stats.simple(&format!("/nat64/total-{of}")).sum(0)
}
