// SPDX-License-Identifier: Apache-2.0
//! Messages of a zebra that isn't there, and peers that are none.

mod frr;
mod message;
mod model;
mod peers;

use crate::process::Fpm;
use crate::{PLUGIN, Stream};
use graph::Plugin;
use net::drive::Rig;
use std::collections::BTreeMap;

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
const FIRST: u32 = 3;

/// An instance with as many ports, whose mirrors are the kernel's interfaces 3, 4 …, and a peer.
fn rig(ports: usize) -> (Rig, Stream) {
    let mut rig = Rig::new(PLUGINS, ports);
    rig.networks();
    // A command that fails is reported from now on.
    Fpm::loaded(&rig.world());
    let links: BTreeMap<_, _> = (FIRST..).zip(rig.ports.iter().copied()).collect();
    let stream = Stream::new(&rig.world(), links);
    (rig, stream)
}
