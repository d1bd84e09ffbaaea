// SPDX-License-Identifier: Apache-2.0
mod api;
mod b4;
mod errors;
mod fragments;
mod limits;
mod model;
mod mutated;
mod sessions;
mod workers;

use crate::PLUGIN;
use graph::Plugin;
use nat::drive::{Seen, log_all, logs, seen};
use net::drive::{Recorded, Rig, peer_mac, port_mac};
use net::{Neighbor, Neighbors};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use testkit::pkt::{self, Packet};
use wire::{Header, IpHeader, IpProtocol, Ipv6Header, TcpFlags};

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

/// Bytes of an Ethernet header, and of one of IPv6.
const ETHERNET: usize = 14;
const IP6: usize = 40;
/// The address that users get in most tests.
const PUBLIC: &str = "192.0.2.7";
/// The AFTR, and a B4 behind port 0.
const AFTR: &str = "2001:db8:ffff::1";
const B4: &str = "2001:db8::2";
/// A user behind each B4, and a host of the world.
const USER: &str = "192.168.1.2";
const HOST: &str = "10.0.1.2";

/// Gives a router with 10.0.N.1/24 and 2001:db8:N::1/64 neighbours ::2 and above that are known.
/// B4s are behind port 0, the world is behind port 1.
fn neighbors(rig: &mut Rig) {
    rig.networks();
    let world = rig.world();
    for (i, port) in rig.ports.iter().enumerate() {
        for host in 3..90 {
            let peers: [IpAddr; 2] = [
                Ipv4Addr::new(10, 0, i as u8, host).into(),
                Ipv6Addr::new(0x2001, 0xdb8, i as u16, 0, 0, 0, 0, host.into()).into(),
            ];
            for peer in peers {
                let peer = Neighbor::new(*port, peer, peer_mac(i));
                let peer = Neighbor { is_static: true, ..peer };
                world.get::<Neighbors>().set(&world, peer).expect("set");
            }
        }
    }
}

fn router(lines: &[&str]) -> Rig {
    let mut rig = Rig::new(PLUGINS, 2);
    neighbors(&mut rig);
    rig.cli(&format!("dslite set aftr-tunnel-endpoint-address {AFTR}"));
    lines.iter().for_each(|line| drop(rig.cli(line)));
    rig
}

/// With one address for users.
fn with_pool() -> Rig {
    router(&[&format!("dslite add pool address {PUBLIC}")])
}

/// A packet of a user behind a B4, without its upper layer.
fn of_user(b4: &str, from: &str, to: &str) -> Packet {
    pkt::ether(peer_mac(0), port_mac(0)).ip6(b4, AFTR).ip4(from, to)
}

/// A packet of the world.
fn of_world(from: &str, to: &str) -> Packet {
    pkt::ether(peer_mac(1), port_mac(1)).ip4(from, to)
}

fn syn(packet: Packet, from: u16, to: u16) -> Packet {
    packet.tcp(from, to).segment(TcpFlags::SYN, 1, 0)
}

/// A packet that has left to the world, or in a tunnel to this end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Left {
    tunnel: Option<(Ipv6Addr, Ipv6Addr)>,
    seen: Seen,
}

/// Reads a frame, whose checksums have to be right.
fn left((port, frame): &(usize, Vec<u8>)) -> Left {
    let bytes = &frame[ETHERNET..];
    if bytes[0] >> 4 == 4 {
        return Left { tunnel: None, seen: seen(&(*port, frame.clone())) };
    }
    let ip = Ipv6Header::view(bytes).expect("a header");
    assert_eq!((ip.next_header, ip.packet_len()), (IpProtocol::IP4, bytes.len()));
    let inner = [&frame[..ETHERNET], &bytes[IP6..]].concat();
    Left { tunnel: Some((ip.src(), ip.dst())), seen: seen(&(*port, inner)) }
}

/// Sends a packet; returns the packets that have left.
fn sent(rig: &mut Rig, port: usize, packet: &Packet) -> Vec<Left> {
    rig.pass(port, &packet.build()).iter().map(left).collect()
}

/// Sends a packet; returns what has left, if it is one packet.
#[track_caller]
fn one(rig: &mut Rig, port: usize, packet: &Packet) -> Left {
    let all = sent(rig, port, packet);
    assert_eq!(all.len(), 1, "{all:?}");
    all[0]
}

fn is_dropped(rig: &mut Rig, port: usize, packet: &Packet) -> bool {
    sent(rig, port, packet).is_empty()
}

fn addr(text: &str) -> Ipv4Addr {
    text.parse().expect("an address")
}

fn addr6(text: &str) -> Ipv6Addr {
    text.parse().expect("an address")
}

fn end(text: &str, port: u16) -> (Ipv4Addr, u16) {
    (addr(text), port)
}

fn total(rig: &Rig, of: &str) -> u64 {
    rig.bench.world.stats.simple(&format!("/dslite/total-{of}")).sum(0)
}
