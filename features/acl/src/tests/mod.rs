// SPDX-License-Identifier: Apache-2.0
mod api;
mod macip;
mod mutated;
mod rules;
mod sessions;
mod switched;

use crate::PLUGIN;
use graph::Plugin;
use net::drive::{Rig, peer, peer_mac, port_mac};
use testkit::pkt::{self, Packet};

static PLUGINS: &[&Plugin] = &[
    &interface::PLUGIN,
    &::ethernet::PLUGIN,
    &fib::PLUGIN,
    &ip::PLUGIN,
    &super_path::PLUGIN,
    &icmp::PLUGIN,
    &l2::PLUGIN,
    &PLUGIN,
];

/// Ports with 10.0.N.1/24 and 2001:db8:N::1/64, each with a neighbour .2 and ::2 that is known.
/// With `graph`, all packets visit the nodes.
fn routers(n: usize, graph: bool) -> Rig {
    let mut rig = Rig::new(PLUGINS, n);
    rig.networks();
    if graph {
        rig.cli("set super-path off");
    }
    rig
}

/// A packet from the neighbour of one port to that of another, without its upper layer.
fn from_to(v6: bool, from: usize, to: usize) -> Packet {
    pkt::ether(peer_mac(from), port_mac(from)).ip(peer(v6, from), peer(v6, to))
}

/// Sends a packet that way; returns true if it has left by the other port, alone.
fn passes(rig: &mut Rig, from: usize, to: usize, packet: &Packet) -> bool {
    rig.passes(from, to, &packet.build())
}
