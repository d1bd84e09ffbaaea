// SPDX-License-Identifier: Apache-2.0
mod api;
mod macip;
mod mutated;
mod rules;
mod sessions;
mod switched;

use crate::PLUGIN;
use graph::Plugin;
use net::drive::{Rig, peer_mac, port_mac};
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

/// The address of a port's neighbour.
fn peer(v6: bool, port: usize) -> String {
    if v6 { format!("2001:db8:{port}::2") } else { format!("10.0.{port}.2") }
}

/// A packet from the neighbour of one port to that of another, without its upper layer.
fn from_to(v6: bool, from: usize, to: usize) -> Packet {
    let ether = pkt::ether(peer_mac(from), port_mac(from));
    let (source, destination) = (peer(v6, from), peer(v6, to));
    if v6 { ether.ip6(&*source, &*destination) } else { ether.ip4(&*source, &*destination) }
}

/// Sends a packet that way; returns true if it has left by the other port, alone.
fn passes(rig: &mut Rig, from: usize, to: usize, packet: &Packet) -> bool {
    let sent = rig.pass(from, &packet.build());
    assert!(sent.iter().all(|(port, _)| *port == to), "{sent:?}");
    sent.len() == 1
}
