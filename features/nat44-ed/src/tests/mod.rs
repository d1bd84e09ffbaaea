// SPDX-License-Identifier: Apache-2.0
mod api;
mod errors;
mod limits;
mod logs;
mod mappings;
mod model;
mod mutated;
mod output;
mod sessions;
mod shares;
mod workers;

use crate::PLUGIN;
use ::nat::drive::{ETHERNET, PUBLIC, addr, end, is_dropped, one, packet, seen, sent, syn};
use graph::Plugin;
use net::drive::{Rig, peer_mac, port_mac};
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

/// Ports with 10.0.N.1/24, each with neighbours .2 and above that are known. Users are behind port
/// 0, the world is behind port 1.
fn router(lines: &[&str]) -> Rig {
    let mut rig = bare(2);
    rig.cli("nat44 plugin enable");
    rig.cli("set interface nat44 in p0 out p1");
    lines.iter().for_each(|line| drop(rig.cli(line)));
    rig
}

/// The same without NAT.
fn bare(ports: usize) -> Rig {
    ::nat::drive::bare(PLUGINS, ports)
}

/// With one address for users.
fn with_pool() -> Rig {
    router(&[&format!("nat44 add address {PUBLIC}")])
}
