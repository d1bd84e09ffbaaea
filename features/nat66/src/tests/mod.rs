// SPDX-License-Identifier: Apache-2.0
mod api;
mod errors;
mod mutated;
mod packets;

use crate::PLUGIN;
use crate::nodes::{IN2OUT, OUT2IN};
use graph::Plugin;
use net::drive::{Rig, peer_mac, port_mac};
use std::net::Ipv6Addr;
use testkit::pkt::{self, Packet};
use wire::l4::{self, Verdict};
use wire::{Header, IpHeader, Ipv6Header, UpperLayer};

pub static PLUGINS: &[&Plugin] = &[
    &interface::PLUGIN,
    &::ethernet::PLUGIN,
    &fib::PLUGIN,
    &ip::PLUGIN,
    &icmp::PLUGIN,
    &super_path::PLUGIN,
    &PLUGIN,
];

/// Bytes of an Ethernet header.
const ETHERNET: usize = 14;
/// A host inside, the same as the world sees it, and a host of the world.
const HOST: &str = "2001:db8:0::2";
const PUBLIC: &str = "2001:db8:f::77";
const WORLD: &str = "2001:db8:1::2";

/// Ports N with 2001:db8:N::1/64 and the neighbour ::2. Hosts are behind port 0, the world is
/// behind port 1.
fn router() -> Rig {
    let mut rig = bare(2);
    for line in [
        "nat66 plugin enable",
        "set interface nat66 in p0",
        "set interface nat66 out p1",
        &format!("nat66 add static mapping local {HOST} external {PUBLIC}"),
    ] {
        rig.cli(line);
    }
    rig
}

/// The same without NAT.
fn bare(ports: usize) -> Rig {
    let mut rig = Rig::new(PLUGINS, ports);
    rig.networks();
    rig
}

/// A packet that comes in by a port, without its upper layer.
fn packet(port: usize, from: &str, to: &str) -> Packet {
    pkt::ether(peer_mac(port), port_mac(port)).ip6(from, to)
}

/// The same as it leaves by a port.
fn left(port: usize, from: &str, to: &str) -> Packet {
    pkt::ether(port_mac(port), peer_mac(port)).ip6(from, to).ttl(63)
}

fn addr(text: &str) -> Ipv6Addr {
    text.parse().expect("an address")
}

/// Source and destination of a frame, whose checksum has to be right.
fn ends(frame: &[u8]) -> (Ipv6Addr, Ipv6Addr) {
    let bytes = &frame[ETHERNET..];
    let ip = Ipv6Header::view(bytes).expect("an IP header");
    let verdict = l4::verify(bytes);
    assert!(matches!(verdict, Ok(Verdict::Valid | Verdict::Absent)), "{verdict:?}: {bytes:02x?}");
    (ip.src(), ip.dst())
}

/// Packets and bytes of the first mapping.
fn counted(rig: &Rig) -> (u64, u64) {
    rig.bench.world.stats.combined(crate::nodes::COUNTERS).sum(0)
}
