// SPDX-License-Identifier: Apache-2.0
mod commands;
mod mutated;
mod requests;

use crate::PLUGIN;
use graph::Plugin;
use ip6_nd::compose;
use net::drive::{Rig, peer_mac, port_mac};
use std::net::{Ipv4Addr, Ipv6Addr};
use wire::nd::{NdOptionKind, NeighborMessage};
use wire::{Arp, ArpOp, EtherType, Ethernet, MacAddr};
use zerocopy::IntoBytes;

static PLUGINS: &[&Plugin] = &[
    &interface::PLUGIN,
    &ethernet::PLUGIN,
    &fib::PLUGIN,
    &ip::PLUGIN,
    &mfib::PLUGIN,
    &icmp::PLUGIN,
    &ip_neighbor::PLUGIN,
    &arp::PLUGIN,
    &ip6_nd::PLUGIN,
    &PLUGIN,
];

/// An instance with ports of the networks of [`Rig::networks`], whose own packets of the start
/// were sent.
fn rig(ports: usize) -> Rig {
    let mut rig = Rig::new(PLUGINS, ports);
    rig.networks();
    rig.seconds(10);
    rig.sent();
    rig
}

/// An ARP frame from a station to another.
fn arp_frame(op: ArpOp, from: (MacAddr, [u8; 4]), to: (MacAddr, [u8; 4]), dst: MacAddr) -> Vec<u8> {
    let [sender, target] = [from, to].map(|(mac, ip)| (mac, Ipv4Addr::from(ip)));
    let ethernet = Ethernet::new(from.0, dst, EtherType::ARP);
    [ethernet.as_bytes(), Arp::new(op, sender, target).as_bytes()].concat()
}

/// The reply of a station that has an address, to port 0.
fn reply(mac: MacAddr, ip: [u8; 4]) -> Vec<u8> {
    let own = (port_mac(0), [10, 0, 0, 1]);
    arp_frame(ArpOp::REPLY, (mac, ip), own, own.0)
}

/// The solicited advertisement of a station that has an address, to port 0; `option` is its
/// target's link-layer address.
fn advertisement(mac: MacAddr, ip: &str, option: bool) -> Vec<u8> {
    let ip: Ipv6Addr = ip.parse().expect("an address");
    let message =
        NeighborMessage::advertisement(NeighborMessage::SOLICITED | NeighborMessage::OVERRIDE, ip);
    let own = "2001:db8::1".parse().expect("an address");
    let mut packet = compose::packet(ip, own, message, NdOptionKind::TARGET_LINK, mac).to_vec();
    if !option {
        packet.truncate(40 + 24);
        packet[4..6].copy_from_slice(&24u16.to_be_bytes());
        packet[42..44].fill(0);
        compose::write_header(&mut packet, ip, own);
    }
    let ethernet = Ethernet::new(mac, port_mac(0), EtherType::IP6);
    [ethernet.as_bytes(), &packet].concat()
}

const OTHER: MacAddr = MacAddr([2, 9, 9, 9, 9, 9]);
