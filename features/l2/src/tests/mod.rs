// SPDX-License-Identifier: Apache-2.0
mod api;
mod broken;
mod bvi;
mod domain;
mod fib;
mod flood;
mod learn;
mod mac_events;
mod mode;
mod pbb;
mod snoop;
mod storm;
mod tags;
mod termination;
mod topology;

use crate::PLUGIN;
use graph::drive::Bench;
use graph::{Plugin, SwIfIndex, World};
use net::Interfaces;
use net::drive::{Recorder, Rig, at, ethernet, port_mac};
use std::sync::Arc;
use wire::MacAddr;

const SECOND: u64 = 1_000_000_000;

static PLUGINS: &[&Plugin] = &[
    &interface::PLUGIN,
    &ethernet::PLUGIN,
    &::fib::PLUGIN,
    &ip::PLUGIN,
    &icmp::PLUGIN,
    &ip_neighbor::PLUGIN,
    &arp::PLUGIN,
    &PLUGIN,
];

/// The address of a host.
fn host(n: u8) -> MacAddr {
    MacAddr([2, 0xaa, 0, 0, 0, n])
}

/// A frame whose payload differs with `n` in each byte.
fn frame_to(src: MacAddr, dst: MacAddr, n: u8) -> Vec<u8> {
    let payload = (0..100u8).map(|i| i.wrapping_mul(7).wrapping_add(n));
    let header = [dst.octets(), src.octets()].concat();
    header.into_iter().chain([0x88, 0xb5]).chain(payload).collect()
}

/// A frame from one host to another.
fn frame(src: u8, dst: u8, n: u8) -> Vec<u8> {
    frame_to(host(src), host(dst), n)
}

/// Ports and nothing else.
fn rig(ports: usize) -> Rig {
    Rig::new(PLUGINS, ports)
}

/// Ports that are members of domain 1.
fn bridged(ports: usize) -> Rig {
    let mut rig = rig(ports);
    rig.cli("create bridge-domain 1");
    for i in 0..ports {
        rig.cli(&format!("set interface l2 bridge p{i} 1"));
    }
    rig
}
