// SPDX-License-Identifier: Apache-2.0
//! Packets of switched frames, and frames without IP.

use super::*;
use net::drive::at;
use wire::MacAddr;

fn host(n: u8) -> MacAddr {
    MacAddr([2, 0xbb, 0, 0, 0, n])
}

/// Ports of one domain, with host N behind port N.
fn bridged(ports: usize) -> Rig {
    let mut rig = Rig::new(PLUGINS, ports);
    for i in 0..ports {
        rig.cli(&format!("set interface l2 bridge p{i} 1"));
    }
    for i in 0..ports {
        rig.pass(i, &pkt::ether(host(i as u8), host(99)).payload([0; 46]).build());
    }
    rig
}

fn frame(from: u8, to: u8) -> Packet {
    pkt::ether(host(from), host(to))
}

#[suite::test]
fn acls_see_packets_of_switched_frames() {
    for direction in ["input", "output"] {
        let mut rig = bridged(2);
        rig.cli("set acl-plugin acl permit proto 17 dport 7, permit src ::/0 dst ::/0 proto 6");
        let port = if direction == "input" { "p0" } else { "p1" };
        rig.cli(&format!("set acl-plugin interface {port} {direction} acl 0"));
        let (a, b) = ("10.0.0.1", "10.0.0.2");
        for (packet, pass) in [
            (frame(0, 1).ip4(a, b).udp(1, 7), true),
            (frame(0, 1).ip4(a, b).udp(1, 8), false),
            (frame(0, 1).vlan(9).ip4(a, b).udp(1, 7), true),
            (frame(0, 1).vlan(9).ip4(a, b).udp(1, 8), false),
            (frame(0, 1).ip6("2001:db8::1", "2001:db8::2").tcp(1, 8), true),
            (frame(0, 1).ip6("2001:db8::1", "2001:db8::2").udp(1, 7), false),
            // Frames without IP pass: nothing names their types.
            (frame(0, 1).ethertype(wire::EtherType(0x88b5)).payload([7; 60]), true),
        ] {
            let bytes = packet.build();
            let wanted = if pass { at(&[1], &bytes) } else { Vec::new() };
            assert_eq!(rig.pass(0, &bytes), wanted, "{direction}: {packet:?}");
        }
        let node = format!("acl-plugin-{}-ip4-l2", direction.trim_end_matches("put"));
        assert_eq!(rig.count(&node, "checked packets"), 4);
        rig.cli(&format!("set acl-plugin interface {port} {direction} acl 0 del"));
        let bytes = frame(0, 1).ip4(a, b).udp(1, 8).build();
        assert_eq!(rig.pass(0, &bytes), at(&[1], &bytes));
    }
}

#[suite::test]
fn sessions_answer_through_a_bridge() {
    let mut rig = bridged(2);
    rig.cli("set acl-plugin acl permit+reflect proto 6");
    rig.cli("set acl-plugin acl deny");
    rig.cli("set acl-plugin interface p0 input acl 0");
    rig.cli("set acl-plugin interface p0 output acl 1");
    let ask = frame(0, 1).ip4("10.0.0.1", "10.0.0.2").tcp(1, 80).build();
    let answer = frame(1, 0).ip4("10.0.0.2", "10.0.0.1").tcp(80, 1).build();
    assert_eq!(rig.pass(1, &answer), []);
    assert_eq!(rig.pass(0, &ask), at(&[1], &ask));
    assert_eq!(rig.pass(1, &answer), at(&[0], &answer));
    assert_eq!(rig.count("acl-plugin-out-ip4-l2", "existing session packets"), 1);
}

#[suite::test]
fn whitelists_are_for_frames_without_ip() {
    let mut rig = bridged(2);
    rig.cli("set acl-plugin interface whitelist p0 input 0806 88b5 output 0806");
    let other =
        |from, to, kind| frame(from, to).ethertype(wire::EtherType(kind)).payload([1; 60]).build();
    let ip = frame(0, 1).ip4("10.0.0.1", "10.0.0.2").udp(1, 8).build();
    for bytes in [other(0, 1, 0x88b5), other(0, 1, 0x0806), ip] {
        assert_eq!(rig.pass(0, &bytes), at(&[1], &bytes));
    }
    assert_eq!(rig.pass(0, &other(0, 1, 0x88cc)), []);
    assert_eq!(rig.pass(1, &other(1, 0, 0x88b5)), []);
    assert_eq!(
        rig.count("acl-plugin-in-nonip-l2", "permitted inbound whitelisted non-ip packets"),
        2
    );
    assert_eq!(
        rig.count("acl-plugin-in-nonip-l2", "dropped inbound non-whitelisted non-ip packets"),
        1
    );
    assert_eq!(
        rig.count("acl-plugin-out-nonip-l2", "dropped outbound non-whitelisted non-ip packets"),
        1
    );
    rig.cli("set acl-plugin interface whitelist p0 del");
    let bytes = other(0, 1, 0x88cc);
    assert_eq!(rig.pass(0, &bytes), at(&[1], &bytes));
}
