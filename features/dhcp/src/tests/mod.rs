// SPDX-License-Identifier: Apache-2.0
mod client4;
mod client6;
mod machine4;
mod relay4;
mod relay6;

use crate::PLUGIN;
use graph::Plugin;
use net::drive::{Rig, peer_mac, port_mac};

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

/// An instance with so many ports, whose clock only tests move.
fn rig(ports: usize) -> Rig {
    let rig = Rig::new(PLUGINS, ports);
    rig.world().clock.stop();
    rig
}

/// The same, with networks on all ports, once reports of listeners have been sent.
fn networks(ports: usize) -> Rig {
    let mut rig = rig(ports);
    rig.networks();
    rig.seconds(5);
    rig.sent();
    rig
}
