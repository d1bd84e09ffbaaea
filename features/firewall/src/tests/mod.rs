// SPDX-License-Identifier: Apache-2.0
mod api;
mod connections;
mod fast;
mod limits;
mod model;
mod mutated;
mod oracle;
mod policies;
mod sessions;

use crate::PLUGIN;
use graph::Plugin;
use net::drive::{Rig, peer, peer_mac, port_mac};
use testkit::pkt::{self, Packet};

static PLUGINS: &[&Plugin] = &[
    &interface::PLUGIN,
    &::ethernet::PLUGIN,
    &fib::PLUGIN,
    &ip::PLUGIN,
    &ip_reassembly::PLUGIN,
    &super_path::PLUGIN,
    &icmp::PLUGIN,
    &::tcp::PLUGIN,
    &l2::PLUGIN,
    &acl::PLUGIN,
    &PLUGIN,
];

/// Ports with 10.0.N.1/24 and 2001:db8:N::1/64, each with a neighbour .2 and ::2 that is known;
/// port 0 is in the zone `lan`, port 1 in `wan`. With `graph`, all packets visit the nodes.
fn zones(graph: bool) -> Rig {
    let mut rig = Rig::new(PLUGINS, 3);
    rig.networks();
    if graph {
        rig.cli("set super-path off");
    }
    for line in [
        "firewall zone lan",
        "firewall zone wan",
        "set interface firewall zone p0 lan",
        "set interface firewall zone p1 wan",
    ] {
        rig.cli(line);
    }
    rig
}

/// A packet from the neighbour of one port to an address, without its upper layer.
fn from_to_address(v6: bool, from: usize, destination: &str) -> Packet {
    let destination = destination.parse().expect("an address");
    pkt::ether(peer_mac(from), port_mac(from)).ip(peer(v6, from), destination)
}

/// A packet from the neighbour of one port to that of another, without its upper layer.
fn from_to(v6: bool, from: usize, to: usize) -> Packet {
    pkt::ether(peer_mac(from), port_mac(from)).ip(peer(v6, from), peer(v6, to))
}

/// Sends a packet that way; returns true if it has left by the other port, alone.
fn passes(rig: &mut Rig, from: usize, to: usize, packet: &Packet) -> bool {
    rig.passes(from, to, &packet.build())
}

/// The node of packets that leave.
const OUT: &str = "ip4-firewall-output";
/// The node of packets to the router.
const LOCAL: &str = "ip4-firewall-local";
