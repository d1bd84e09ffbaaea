// SPDX-License-Identifier: Apache-2.0
mod acl;
mod api;
mod exact;
mod filters;
mod hostile;
mod limits;
mod oracle;
mod redirect;
mod show;
mod switched;
mod words;

use crate::{PLUGIN, REDIRECT};
use graph::Plugin;
use net::drive::{Rig, port_mac};
use net::{Neighbor, Neighbors};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use testkit::pkt;
use wire::MacAddr;

static PLUGINS: &[&Plugin] = &[
    &interface::PLUGIN,
    &::ethernet::PLUGIN,
    &fib::PLUGIN,
    &ip::PLUGIN,
    &icmp::PLUGIN,
    &punt::PLUGIN,
    &udp::PLUGIN,
    &l2::PLUGIN,
    &::trace::PLUGIN,
    &PLUGIN,
    &REDIRECT,
];

fn neighbor(i: usize) -> MacAddr {
    MacAddr([2, 0xaa, 0, 0, 0, i as u8])
}

/// The address of a port (`host` 1) or of its neighbour (2).
fn address(v6: bool, port: usize, host: u8) -> String {
    if v6 { format!("2001:db8:{port}::{host}") } else { format!("10.0.{port}.{host}") }
}

/// A UDP packet from the neighbour of `p0`, as it comes in there, or as it leaves by another port.
fn packet(v6: bool, leaves: Option<usize>, to: &str, ports: (u16, u16)) -> Vec<u8> {
    let (ether, ttl) = match leaves {
        None => (pkt::ether(neighbor(0), port_mac(0)), 64),
        Some(i) => (pkt::ether(port_mac(i), neighbor(i)), 63),
    };
    let from = address(v6, 0, 2);
    let ip = if v6 { ether.ip6(&*from, to) } else { ether.ip4(&*from, to) };
    ip.ttl(ttl).udp(ports.0, ports.1).payload_len(100).build()
}

/// Ports with 10.0.N.1/24 and 2001:db8:N::1/64, each with a neighbour .2 and ::2 that is known.
fn routers(n: usize) -> Rig {
    let mut rig = Rig::new(PLUGINS, n);
    for i in 0..n {
        rig.cli(&format!("set interface ip address p{i} {}/24", address(false, i, 1)));
        rig.cli(&format!("set interface ip address p{i} {}/64", address(true, i, 1)));
        let ip6 = Ipv6Addr::new(0x2001, 0xdb8, i as u16, 0, 0, 0, 0, 2);
        for ip in [IpAddr::from(Ipv4Addr::new(10, 0, i as u8, 2)), ip6.into()] {
            let known = Neighbor::new(rig.ports[i], ip, neighbor(i));
            let world = rig.world();
            world.get::<Neighbors>().set(&world, known).expect("set");
        }
    }
    rig
}

/// Hits of the session at an index of a table.
fn hits(rig: &Rig, table: u32, at: u32) -> u64 {
    rig.world().get::<crate::state::Classifier>().session(table, at).expect("a session").hits
}
