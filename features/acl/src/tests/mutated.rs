// SPDX-License-Identifier: Apache-2.0
//! Broken packets in front of ACLs of every kind: each is sent as it came, or as the router sends
//! it, or is counted as a drop.

use super::*;
use testkit::mutate::Mutator;
use wire::MacAddr;

/// Both protocols with upper layers of all kinds, extension headers, fragments and tags.
fn bases(ether: &dyn Fn(bool) -> Packet) -> Vec<Vec<u8>> {
    let mut bases = Vec::new();
    for v6 in [false, true] {
        for host in ["2", "77"] {
            let ip = || {
                let from = if v6 { "2001:db8::" } else { "10.0.0." };
                let from = format!("{from}{host}").parse().expect("an address");
                ether(v6).ip(from, peer(v6, 1))
            };
            bases.push(ip().udp(7, 8).payload_len(40).build());
            bases.push(ip().tcp(7, 80).payload_len(30).build());
            bases.push(if v6 { ip().icmp6_echo(1, 1) } else { ip().icmp_echo(1, 1) }.build());
        }
    }
    bases
}

/// Frames that were sent and frames that were dropped, of as many.
fn counted(rig: &mut Rig, bases: &[Vec<u8>], seed: u64) -> (u64, u64) {
    let mut mutator = Mutator::new(seed);
    let (mut received, mut sent) = (0, 0);
    for round in 0..6000 {
        let frames = mutator.frames(bases, 8, 1500);
        received += frames.len() as u64;
        sent += rig.pass_all(0, &frames).len() as u64;
        if round % 500 == 0 {
            // Timers end sessions, and rules change while sessions are there.
            rig.seconds(100);
            let last = if round % 1000 == 0 { "permit" } else { "permit+reflect" };
            rig.cli(&format!(
                "set acl-plugin acl index 0 deny proto 17 dport 9-65535, deny src ::/0 proto 6 \
                 dport 81-65535, permit+reflect proto 6, {last}, {last} src ::/0 dst ::/0"
            ));
        }
    }
    (sent, received)
}

fn with_acls(rig: &mut Rig) {
    for line in [
        "set acl-plugin acl permit, permit src ::/0 dst ::/0",
        "set acl-plugin acl deny proto 47, permit+reflect, permit src ::/0 dst ::/0",
        "set acl-plugin interface p0 input acl 0",
        "set acl-plugin interface p1 output acl 1",
        "set acl-plugin interface whitelist p0 input 0806 86dd",
        "set acl-plugin macip acl deny ip 10.0.0.66/32 mac 00:00:00:00:00:00 mask 0, \
         permit ip 0.0.0.0/0 mac 00:00:00:00:00:00 mask 0, permit ip ::/0 mac 00:00:00:00:00:00 mask 0",
        "set acl-plugin macip interface p0 acl 0",
        "set acl-plugin session table max-entries 500",
    ] {
        rig.cli(line);
    }
}

/// Cross-connected ports: what leaves is what came.
#[suite::test]
fn switched_frames_pass_as_they_are_or_are_dropped() {
    let mut rig = Rig::new(PLUGINS, 2);
    rig.cli("set interface l2 bridge p0 1");
    rig.cli("set interface l2 bridge p1 1");
    with_acls(&mut rig);
    let (a, b) = (MacAddr([2, 0xbb, 0, 0, 0, 1]), MacAddr([2, 0xbb, 0, 0, 0, 2]));
    let mut bases = bases(&|v6| if v6 { pkt::ether(a, b).vlan(9) } else { pkt::ether(a, b) });
    bases.push(pkt::arp_request(a, "10.0.0.2", "10.0.0.1").pad_to(60).build());
    let (sent, received) = counted(&mut rig, &bases, 3);
    assert_eq!(sent + rig.bench.drops(), received);
    assert!(sent > 10_000 && received - sent > 5000, "{sent} of {received}");
}

/// Routed packets, through the nodes alone and through the super-path: all that ACLs check is
/// permitted or denied.
#[suite::test]
fn routed_packets_are_permitted_or_denied() {
    for graph in [false, true] {
        let mut rig = routers(2, graph);
        with_acls(&mut rig);
        let bases = bases(&|_| pkt::ether(peer_mac(0), port_mac(0)));
        let (sent, received) = counted(&mut rig, &bases, 5);
        assert!(sent > 10_000, "{sent} of {received}");
        for node in ["acl-plugin-in-ip4-fa", "acl-plugin-in-ip6-fa", "acl-plugin-out-ip4-fa"] {
            let counted = |what: &str| rig.count(node, what);
            let (permit, deny) = (counted("ACL permit packets"), counted("ACL deny packets"));
            let full = counted("too many sessions to add new");
            assert_eq!(permit + deny + full, counted("checked packets"), "{node}");
            assert!(permit > 5000, "{node}: {permit}");
        }
    }
}
