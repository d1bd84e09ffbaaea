// SPDX-License-Identifier: Apache-2.0
//! The ports and addresses that users get.

use super::*;
use std::collections::BTreeSet;

/// Ports of a port set identifier alone.
#[suite::test]
fn map_e_ports() {
    let mut rig = router(&[
        "nat44 ei add address 192.0.2.7 - 192.0.2.9",
        "nat44 ei addr-port-assignment-alg map-e psid 10 psid-offset 6 psid-len 6",
    ]);
    let mut all = BTreeSet::new();
    for n in 0..63 * 16 {
        let seen = one(&mut rig, 0, &packet(0, "10.0.0.2", "10.0.1.2").udp(1 + n, 53));
        assert_eq!((seen.from.0, seen.from.1 >> 6 & 63), (addr(PUBLIC), 10), "{seen:?}");
        assert!(seen.from.1 & 63 != 0 && all.insert(seen.from.1));
        let back = one(&mut rig, 1, &packet(1, "10.0.1.2", PUBLIC).udp(53, seen.from.1));
        assert_eq!(back.to, end("10.0.0.2", 1 + n));
    }
    assert!(is_dropped(&mut rig, 0, &packet(0, "10.0.0.2", "10.0.1.2").udp(9999, 53)));
    assert_eq!(rig.count(SLOW, "out of ports"), 1);
    let said = rig.cli("show nat44 ei addr-port-assignment-alg");
    assert!(said.contains("psid 10 psid-offset 6 psid-len 6"), "{said}");
    for (psid, offset, length) in [(64, 6, 6), (1, 0, 6), (1, 10, 7), (1, 255, 255)] {
        let words = format!("psid {psid} psid-offset {offset} psid-len {length}");
        refused(&mut rig, &format!("nat44 ei addr-port-assignment-alg map-e {words}"));
    }
}

/// Ports of a range; all come back when their sessions end.
#[suite::test]
fn ports_of_a_range() {
    let mut rig = router(&[
        "nat44 ei add address 192.0.2.7",
        "nat44 ei addr-port-assignment-alg port-range 1025 - 1027",
    ]);
    for _ in 0..3 {
        let ask = |n: u16| syn(packet(0, "10.0.0.2", "10.0.1.2"), 10_000 + n, 80);
        let ports: BTreeSet<_> = (0..3).map(|n| one(&mut rig, 0, &ask(n)).from.1).collect();
        assert_eq!(ports, BTreeSet::from([1025, 1026, 1027]));
        assert!(is_dropped(&mut rig, 0, &ask(3)));
        rig.cli("nat44 ei del user 10.0.0.2");
    }
    refused(&mut rig, "nat44 ei addr-port-assignment-alg port-range 9 - 8");
}

/// All ports of a plan serve, and one more isn't there; a mapping's isn't given.
#[suite::test]
fn all_ports_serve() {
    let mut rig = router(&[
        "nat44 ei add address 192.0.2.7",
        "nat44 ei addr-port-assignment-alg port-range 1024 - 5119",
        "nat44 ei add static mapping udp local 10.0.0.9 53 external 192.0.2.7 2000",
    ]);
    let mut ports = vec![false; 1 << 16];
    let ask = |n: u32| packet(0, "10.0.0.2", "10.0.1.2").udp(n as u16, 53).build();
    for first in (1..4096).step_by(256) {
        let frames: Vec<_> = (first..4096.min(first + 256)).map(ask).collect();
        for left in rig.pass_all(0, &frames) {
            let port = usize::from(seen(&left).from.1);
            assert!(!std::mem::replace(&mut ports[port], true), "{port} twice");
        }
    }
    let given = |from: usize, to: usize| ports[from..to].iter().filter(|given| **given).count();
    assert_eq!((given(0, 1 << 16), given(1024, 5120), ports[2000]), (4095, 4095, false));
    assert!(rig.pass(0, &ask(9000)).is_empty());
    assert_eq!(rig.count(SLOW, "out of ports"), 1);
    // Another user, who has none, gets one of those of the user who has most.
    one(&mut rig, 0, &packet(0, "10.0.0.3", "10.0.1.2").udp(1, 53));
    assert_eq!(rig.count(SLOW, "sessions ended for users with fewer"), 1);
    check(&mut rig);
}

/// The address of a user, by VPP's formulas.
#[suite::test]
fn users_are_spread_over_addresses() {
    let mut rig = router(&["nat44 ei add address 192.0.2.0 - 192.0.2.6"]);
    for host in 2..40_u8 {
        let user = Ipv4Addr::new(10, 0, 0, host);
        let ask = pkt::ether(peer_mac(0), port_mac(0)).ip4(user, "10.0.1.2").udp(1, 2);
        let at = (u32::from_le_bytes(user.octets()) % 7 + 6) % 7;
        assert_eq!(one(&mut rig, 0, &ask).from.0.octets()[3], at as u8, "{user}");
    }
    // Addresses of the user's own table come first.
    rig.cli("nat44 ei add address 192.0.2.100 - 192.0.2.101 tenant-vrf 0");
    let user = Ipv4Addr::new(10, 0, 0, 50);
    let ask = pkt::ether(peer_mac(0), port_mac(0)).ip4(user, "10.0.1.2").udp(1, 2);
    let first = u32::from_le_bytes(user.octets()) % 9;
    let at = if first == 8 { 101 } else { 100 };
    assert_eq!(one(&mut rig, 0, &ask).from.0.octets()[3], at);
}
