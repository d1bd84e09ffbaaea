// SPDX-License-Identifier: Apache-2.0
mod api;
mod model;
mod mutated;
mod packets;

use crate::PLUGIN;
use graph::Plugin;
use net::drive::{Rig, peer_mac, port_mac};
use testkit::pkt::{self, Packet};
use wire::l4::{self, Verdict};
use wire::{IpProtocol, UpperLayer};

pub static PLUGINS: &[&Plugin] = &[
    &interface::PLUGIN,
    &::ethernet::PLUGIN,
    &fib::PLUGIN,
    &ip::PLUGIN,
    &ip_reassembly::PLUGIN,
    &super_path::PLUGIN,
    &PLUGIN,
];

/// Bytes of an Ethernet header.
const ETHERNET: usize = 14;
/// The neighbours of the ports.
const A: &str = "10.0.0.2";
const B: &str = "10.0.1.2";

/// Ports N with 10.0.N.1/24 and the neighbour .2.
fn router(lines: &[&str]) -> Rig {
    let mut rig = Rig::new(PLUGINS, 2);
    rig.networks();
    lines.iter().for_each(|line| drop(rig.cli(line)));
    rig
}

/// From A to `to`, as it comes in by port 0.
fn came(to: &str) -> Packet {
    pkt::ether(peer_mac(0), port_mac(0)).ip4(A, to)
}

/// As it leaves by port 1.
fn left(from: &str, to: &str) -> Packet {
    pkt::ether(port_mac(1), peer_mac(1)).ip4(from, to).ttl(63)
}
