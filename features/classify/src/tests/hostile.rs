// SPDX-License-Identifier: Apache-2.0
//! Broken frames in front of tables of every kind.

use super::*;
use testkit::mutate::Mutator;

/// UDP of both families, half of it with a session of its own, and a frame of neither.
fn bases() -> Vec<Vec<u8>> {
    let mut bases = Vec::new();
    for v6 in [false, true] {
        for port in [7, 8] {
            bases.push(packet(v6, None, &address(v6, 1, 2), (port, port)));
        }
    }
    bases.push(pkt::arp_request(neighbor(0), "10.0.0.2", "10.0.0.1").pad_to(60).build());
    bases
}

/// Two ports that are cross-connected: a frame leaves as it came, or is a drop of the ACLs, or of
/// the classification, or of Ethernet.
#[suite::test]
fn switched_frames_pass_as_they_are_or_are_counted() {
    let mut rig = Rig::new(PLUGINS, 2);
    for line in [
        "set interface l2 xconnect p0 p1",
        "set interface l2 xconnect p1 p0",
        // One behind the other: the last reads past the end of what is short.
        "classify table mask hex ffff000000000000000000000000000000000000000000000000000000000000 acl-miss-next 0",
        "classify table mask l4 dst_port next-table 0",
        "classify table mask l3 ip4 src proto next-table 1",
        "classify table mask l3 ip6 dst l2-input-miss-next drop",
        "classify session table-index 1 match l4 dst_port 7",
        "classify session table-index 2 match l3 ip4 src 10.0.0.2 proto 17 acl-hit-next deny",
        "classify session table-index 3 match l3 ip6 dst 2001:db8:1::2",
        "set interface input acl intfc p0 l2-table 2",
        "set interface output acl intfc p1 l2-table 1",
        "set interface l2 input classify intfc p0 ip6-table 3",
    ] {
        rig.cli(line);
    }
    let (bases, mut mutator) = (bases(), Mutator::new(3));
    let (mut received, mut passed) = (0, 0);
    for _ in 0..12_500 {
        let frames = mutator.frames(&bases, 8, 1500);
        received += frames.len() as u64;
        let sent = rig.pass_all(0, &frames);
        assert!(sent.iter().all(|(port, bytes)| *port == 1 && frames.contains(bytes)), "{sent:?}");
        passed += sent.len() as u64;
    }
    assert_eq!(passed + rig.bench.drops(), received);
    assert!(passed > 1000 && received - passed > 1000, "{passed} of {received}");
    let asked = rig.count("l2-input-acl", "valid input ACL packets");
    let counted = |name: &str| rig.count("l2-input-acl", name);
    assert_eq!(counted("input ACL hits") + counted("input ACL misses"), asked);
}

/// Routed packets, with ACLs in front and behind: those that an ACL was asked about hit or miss.
#[suite::test]
fn routed_packets_hit_or_miss() {
    let mut rig = routers(2);
    for line in [
        "classify table mask l3 ip4 src",
        "classify table mask l3 ip6 src dst",
        "classify table mask l4 src_port dst_port current-data-flag 1",
        "classify session table-index 0 match l3 ip4 src 10.0.0.2 acl-hit-next deny",
        "classify session table-index 1 match l3 ip6 src 2001:db8::2 dst 2001:db8:1::2",
        "set interface input acl intfc p0 ip4-table 0",
        "set interface input acl intfc p0 ip6-table 1",
        "set interface output acl intfc p1 ip4-table 2",
        "set interface output acl intfc p1 ip6-table 2",
    ] {
        rig.cli(line);
    }
    let (bases, mut mutator) = (bases(), Mutator::new(5));
    for round in 0..12_500 {
        let frames = mutator.frames(&bases, 8, 1500);
        rig.pass_all(0, &frames);
        if round % 500 == 0 {
            rig.seconds(1);
        }
    }
    for (node, of) in [("ip4-inacl", "input"), ("ip6-inacl", "input"), ("ip6-outacl", "output")] {
        let counted = |what: &str| rig.count(node, &format!("{of} ACL {what}"));
        assert!(counted("hits") + counted("misses") > 1000, "{node}");
    }
    let denied = rig.count("ip4-input", "inacl_session_deny");
    assert_eq!(denied, rig.count("ip4-inacl", "input ACL hits"), "each of them");
}
