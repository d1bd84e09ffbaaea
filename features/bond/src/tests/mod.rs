// SPDX-License-Identifier: Apache-2.0
mod active_backup;
mod api;
mod hash;
mod modes;
mod settings;

use crate::model::MemberInfo;
use crate::{Bonds, Lacp, PLUGIN, register_lacp};
use graph::{Plugin, SwIfIndex, World};
use net::Interfaces;
use net::drive::{Rig, at, port_mac};
use wire::MacAddr;

static PLUGINS: &[&Plugin] = &[
    &interface::PLUGIN,
    &ethernet::PLUGIN,
    &fib::PLUGIN,
    &ip::PLUGIN,
    &::super_path::PLUGIN,
    &icmp::PLUGIN,
    &lldp::PLUGIN,
    &ip_neighbor::PLUGIN,
    &arp::PLUGIN,
    &ip6_nd::PLUGIN,
    &l2::PLUGIN,
    &span::PLUGIN,
    &PLUGIN,
    &trace::PLUGIN,
];

/// Ports, and a bond `BondEthernet0` of the first `members` of them, up, with 10.0.0.1/24 and a
/// neighbour 10.0.0.2; the last port is no member and has 10.9.0.1/24.
fn routed(mode: &str, members: usize) -> Rig {
    let mut rig = Rig::new(PLUGINS, members + 1);
    let last = members;
    rig.cli(&format!("create bond mode {mode}"));
    (0..members).for_each(|i| _ = rig.cli(&format!("bond add BondEthernet0 p{i}")));
    for line in [
        "set interface state BondEthernet0 up",
        "set interface ip address BondEthernet0 10.0.0.1/24",
        "set interface ip address BondEthernet0 2001:db8::1/64",
        "set ip neighbor BondEthernet0 10.0.0.2 02:aa:00:00:00:02",
        &format!("set interface ip address p{last} 10.9.0.1/24"),
        &format!("set ip neighbor p{last} 10.9.0.2 02:aa:00:00:00:09"),
    ] {
        rig.cli(line);
    }
    rig.seconds(2);
    rig.sent();
    rig
}

/// The address of a host.
fn host(n: u8) -> MacAddr {
    MacAddr([2, 0xaa, 0, 0, 0, n])
}

fn find(rig: &Rig, name: &str) -> SwIfIndex {
    rig.world().get::<Interfaces>().find(name).expect("there")
}

/// A packet from the network of the last port to the bond's neighbour, as it comes in; its payload
/// differs with `n`.
fn to_bond(last: usize, n: u16) -> Vec<u8> {
    let packet = testkit::pkt::ether(host(9), port_mac(last)).ip4("10.9.0.2", "10.0.0.2").ttl(9);
    packet.udp(1000 + n, 53).payload(n.to_be_bytes().repeat(20)).build()
}

/// The same packet, as the bond sends it.
fn from_bond(bond: MacAddr, n: u16) -> Vec<u8> {
    let packet = testkit::pkt::ether(bond, host(2)).ip4("10.9.0.2", "10.0.0.2").ttl(8);
    packet.udp(1000 + n, 53).payload(n.to_be_bytes().repeat(20)).build()
}

/// A frame of an unknown type.
fn frame(src: MacAddr, dst: MacAddr, n: u8) -> Vec<u8> {
    let payload = (0..100u8).map(|i| i.wrapping_mul(7).wrapping_add(n));
    [dst.octets(), src.octets()].concat().into_iter().chain([0x88, 0xb5]).chain(payload).collect()
}
