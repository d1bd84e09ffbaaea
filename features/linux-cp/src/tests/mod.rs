// SPDX-License-Identifier: Apache-2.0
//! Pairs of ports without the kernel: `p0` is mirrored by `p1`, `p2` is another interface.

mod frames;
mod verbs;

use crate::PLUGIN;
use graph::Plugin;
use net::drive::Rig;

static PLUGINS: &[&Plugin] = &[
    &interface::PLUGIN,
    &::ethernet::PLUGIN,
    &fib::PLUGIN,
    &::ip::PLUGIN,
    &::super_path::PLUGIN,
    &icmp::PLUGIN,
    &tcp::PLUGIN,
    &::punt::PLUGIN,
    &ip_neighbor::PLUGIN,
    &::arp::PLUGIN,
    &ip6_nd::PLUGIN,
    &PLUGIN,
];

/// Three ports with networks and neighbours, the first two a pair.
fn rig() -> Rig {
    let mut rig = Rig::new(PLUGINS, 3);
    rig.networks();
    rig.cli("set interface ip address del p1 10.0.1.1/24");
    rig.cli("set interface ip address del p1 2001:db8:1::1/64");
    rig.cli("test lcp add phy p0 host p1");
    for i in 0..3 {
        rig.cli(&format!("ip6 nd p{i} ra-suppress"));
    }
    // Until each interface has reported its groups (RFC 3810 6.1).
    rig.seconds(10);
    rig.sent();
    rig
}
