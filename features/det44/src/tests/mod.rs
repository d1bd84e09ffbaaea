// SPDX-License-Identifier: Apache-2.0
mod api;
mod errors;
mod limits;
mod maps;
mod mutated;
mod sessions;
mod workers;

use crate::PLUGIN;
use crate::settings::{IN2OUT, OUT2IN};
use ::nat::drive::{ETHERNET, PUBLIC, addr, end, is_dropped, one, packet, seen};
use graph::Plugin;
use net::drive::Rig;
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
    &syslog::PLUGIN,
    &ipfix_export::PLUGIN,
    &PLUGIN,
];

/// Ports of a user of it.
const PORTS: u32 = 64_512 / 256;

/// Ports with 10.0.N.1/24, each with neighbours .2 and above that are known. Users are behind port
/// 0, the world is behind port 1; all users share an address.
fn router() -> Rig {
    let mut rig = bare(2);
    for line in [
        "det44 plugin enable",
        "det44 add in 10.0.0.0/24 out 192.0.2.7/32",
        "set interface det44 inside p0 outside p1",
    ] {
        rig.cli(line);
    }
    rig
}

/// The same without NAT.
fn bare(ports: usize) -> Rig {
    ::nat::drive::bare(PLUGINS, ports)
}

/// The port of a user that its own port gets when it is free.
fn port_of(host: u8, own: u16) -> u16 {
    (1024 + PORTS * u32::from(host) + u32::from(own) % PORTS) as u16
}

/// A segment.
fn tcp(packet: Packet, ports: (u16, u16), flags: TcpFlags) -> Packet {
    packet.tcp(ports.0, ports.1).segment(flags, 1, 1)
}

/// Number of sessions.
fn total(rig: &Rig) -> u64 {
    rig.bench.world.stats.simple("/det44/total-sessions").sum(0)
}
