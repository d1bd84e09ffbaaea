// SPDX-License-Identifier: Apache-2.0
mod api;
mod errors;
mod ha;
mod limits;
mod logs;
mod mappings;
mod model;
mod mutated;
mod output;
mod ports;
mod sessions;
mod workers;

use crate::PLUGIN;
use crate::flows::Flows;
use ::nat::drive::{Seen, seen};
use ::nat::packet::ports_of;
use graph::Plugin;
use net::drive::{Rig, peer_mac, port_mac};
use net::{Neighbor, Neighbors};
use std::net::Ipv4Addr;
use testkit::pkt::{self, Packet};
use wire::{Header, IpHeader, IpProtocol, Ipv4Header, TcpFlags};

pub static PLUGINS: &[&Plugin] = &[
    &interface::PLUGIN,
    &::ethernet::PLUGIN,
    &fib::PLUGIN,
    &ip::PLUGIN,
    &icmp::PLUGIN,
    &ip_reassembly::PLUGIN,
    &mss_clamp::PLUGIN,
    &syslog::PLUGIN,
    &ipfix_export::PLUGIN,
    &PLUGIN,
];

/// Bytes of an Ethernet header.
const ETHERNET: usize = 14;
/// The address that users get in most tests.
const PUBLIC: &str = "192.0.2.7";
const SLOW: &str = "nat44-ei-in2out-slowpath";
const BACK: &str = "nat44-ei-out2in";

/// Ports with 10.0.N.1/24, each with neighbours .2 and above that are known. Users are behind port
/// 0, the world is behind port 1.
fn router(lines: &[&str]) -> Rig {
    let mut rig = bare(2);
    rig.cli("nat44 ei plugin enable");
    rig.cli("set interface nat44 ei in p0 out p1");
    lines.iter().for_each(|line| drop(rig.cli(line)));
    rig
}

/// The same without NAT.
fn bare(ports: usize) -> Rig {
    let mut rig = Rig::new(PLUGINS, ports);
    rig.networks();
    let world = rig.world();
    for (i, port) in rig.ports.iter().enumerate() {
        for host in 3..90 {
            let host = Ipv4Addr::new(10, 0, i as u8, host);
            let peer = Neighbor::new(*port, host.into(), peer_mac(i));
            let peer = Neighbor { is_static: true, ..peer };
            world.get::<Neighbors>().set(&world, peer).expect("set");
        }
    }
    rig
}

/// With one address for users.
fn with_pool() -> Rig {
    router(&[&format!("nat44 ei add address {PUBLIC}")])
}

/// A packet that comes in by a port, without its upper layer.
fn packet(port: usize, from: &str, to: &str) -> Packet {
    pkt::ether(peer_mac(port), port_mac(port)).ip4(from, to)
}

/// A SYN.
fn syn(packet: Packet, from: u16, to: u16) -> Packet {
    packet.tcp(from, to).segment(TcpFlags::SYN, 1, 0)
}

/// Sends a packet; returns the packets that have left.
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

/// True if a packet leaves nowhere.
fn is_dropped(rig: &mut Rig, port: usize, packet: &Packet) -> bool {
    sent(rig, port, packet).is_empty()
}

fn addr(text: &str) -> Ipv4Addr {
    text.parse().expect("an address")
}

fn end(text: &str, port: u16) -> (Ipv4Addr, u16) {
    (addr(text), port)
}

/// A counter of the stats segment, of a port or of the instance.
fn stat(rig: &Rig, name: &str, at: usize) -> u64 {
    rig.bench.world.stats.simple(&format!("/nat44-ei/{name}")).sum(at)
}

/// Fails if the thread's users and sessions don't add up.
fn check(rig: &mut Rig) {
    let _ = ::nat::walk::in_parts(&rig.bench.world, |flows: &mut Flows, place, (): &mut ()| {
        flows.check();
        *place = u32::MAX;
    });
    rig.bench.settle();
}

/// The reason why a command is refused.
#[track_caller]
fn refused(rig: &mut Rig, line: &str) -> String {
    let said = rig.bench.cli(line);
    rig.bench.settle();
    said.expect_err("it is refused").to_string()
}
