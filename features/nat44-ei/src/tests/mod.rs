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
    ::nat::drive::bare(PLUGINS, ports)
}

/// With one address for users.
fn with_pool() -> Rig {
    router(&[&format!("nat44 ei add address {PUBLIC}")])
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
