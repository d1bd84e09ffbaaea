// SPDX-License-Identifier: Apache-2.0
//! Changes of a kernel that isn't there.

mod changes;
mod model;

use crate::PLUGIN;
use crate::engine::Engine;
use graph::Plugin;
use net::drive::Rig;

static PLUGINS: &[&Plugin] = &[
    &interface::PLUGIN,
    &ethernet::PLUGIN,
    &fib::PLUGIN,
    &ip::PLUGIN,
    &icmp::PLUGIN,
    &mfib::PLUGIN,
    &punt::PLUGIN,
    &ip_neighbor::PLUGIN,
    &arp::PLUGIN,
    &ip6_nd::PLUGIN,
    &linux_cp::PLUGIN,
    &PLUGIN,
];

/// Index of the kernel's interface of port 0; the others follow.
const FIRST: u32 = 100;

/// An instance with as many ports, whose mirrors are the kernel's interfaces 100, 101 …
fn rig(ports: usize) -> (Rig, Engine) {
    let mut rig = Rig::new(PLUGINS, ports);
    rig.networks();
    let mut engine = Engine::new(&rig.world());
    for (n, port) in (0..).zip(&rig.ports) {
        engine.set_link(FIRST + n, Some(*port));
    }
    (rig, engine)
}
