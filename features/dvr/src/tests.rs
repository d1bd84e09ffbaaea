// SPDX-License-Identifier: Apache-2.0
//! Routes that keep the layer-2 header of packets.

mod control;
mod frames;

use crate::PLUGIN;
use graph::Plugin;
use net::drive::{Rig, at, port_mac};
use testkit::pkt;
use wire::MacAddr;

static PLUGINS: &[&Plugin] = &[
    &interface::PLUGIN,
    &ethernet::PLUGIN,
    &fib::PLUGIN,
    &ip::PLUGIN,
    &::super_path::PLUGIN,
    &icmp::PLUGIN,
    &l2::PLUGIN,
    &trace::PLUGIN,
    &classify::PLUGIN,
    &PLUGIN,
];

/// The host that sends.
const HOST: MacAddr = MacAddr([2, 0xaa, 0, 0, 0, 9]);
/// The address of `loop0`.
const BVI: MacAddr = MacAddr([0xde, 0xad, 0, 0, 0, 0]);

/// A datagram with these MAC address and tags for a destination of DVR routes, at the end of its
/// life.
fn frame(v6: bool, to: MacAddr, tags: &[u16], port: u16) -> Vec<u8> {
    let ether = tags.iter().fold(pkt::ether(HOST, to), |ether, id| ether.vlan(*id));
    let ip = if v6 {
        ether.ip6("2001:db8::5", "2001:db8:9::7")
    } else {
        ether.ip4("10.0.0.5", "192.0.2.7")
    };
    ip.ttl(1).udp(port, 4321).payload(format!("steered by a route, {port}")).build()
}

/// The prefix that [`frame`]s go to.
const fn prefix(v6: bool) -> &'static str {
    if v6 { "2001:db8:9::/48" } else { "192.0.2.0/24" }
}

/// `p0` routes, with addresses; `p1` and `p2` are in a bridge domain whose BVI `loop0` has
/// addresses; others have no mode and no address.
fn rig(ports: usize) -> Rig {
    let mut rig = Rig::new(PLUGINS, ports);
    for line in [
        "set interface ip address p0 10.0.0.1/24",
        "set interface ip address p0 2001:db8::1/64",
        "create loopback interface",
        "set interface state loop0 up",
        "set interface l2 bridge loop0 1 bvi",
        "set interface l2 bridge p1 1",
        "set interface l2 bridge p2 1",
        "set interface ip address loop0 10.0.1.1/24",
        "set interface ip address loop0 2001:db8:1::1/64",
    ] {
        rig.cli(line);
    }
    rig.sent();
    rig
}

/// Routes the packets of both protocols by an interface.
fn steer(rig: &mut Rig, by: &str) {
    for v6 in [false, true] {
        rig.cli(&format!("ip route add {} via dvr {by}", prefix(v6)));
    }
}

/// Makes a sub-interface that is up.
fn sub(rig: &mut Rig, line: &str) {
    let name = rig.cli(&format!("create sub-interfaces {line}"));
    rig.cli(&format!("set interface state {} up", name.trim_end()));
}
