// SPDX-License-Identifier: Apache-2.0
//! Full tables and pools.

use super::*;
use std::collections::BTreeSet;

const SLOW: &str = "nat44-ed-in2out-slowpath";

fn ask(user: &str, port: u16) -> Packet {
    packet(0, user, "10.0.1.2").udp(port, 53)
}

/// A full table refuses new sessions only, and sessions whose time has ended make room.
#[suite::test]
fn a_full_table_refuses_new_sessions() {
    let mut rig = bare(2);
    for line in [
        "nat44 plugin enable sessions 10",
        "set interface nat44 in p0 out p1",
        "nat44 add address 192.0.2.7",
        "set nat timeout udp 5",
    ] {
        rig.cli(line);
    }
    for port in 0..10 {
        one(&mut rig, 0, &ask("10.0.0.2", 5000 + port));
    }
    assert!(is_dropped(&mut rig, 0, &ask("10.0.0.2", 6000)));
    assert_eq!(rig.count(SLOW, "maximum sessions exceeded"), 1);
    one(&mut rig, 0, &ask("10.0.0.2", 5003));
    rig.seconds(6);
    for port in 0..10 {
        one(&mut rig, 0, &ask("10.0.0.2", 7000 + port));
    }
    assert!(is_dropped(&mut rig, 0, &ask("10.0.0.2", 6000)));
}

/// Users of a table have a limit of their own.
#[suite::test]
fn users_of_a_table_have_a_limit() {
    let mut rig = with_pool();
    rig.cli("set nat44 session limit 3 vrf 0");
    for port in 0..3 {
        one(&mut rig, 0, &ask("10.0.0.2", 5000 + port));
    }
    assert!(is_dropped(&mut rig, 0, &ask("10.0.0.2", 6000)));
    rig.cli("set nat44 session limit off");
    one(&mut rig, 0, &ask("10.0.0.2", 6000));
    let (code, _) = rig.refused("set nat44 session limit 3 vrf 99");
    assert_eq!(code, -1);
}

/// All ports serve one remote end, each once; then users are refused, others not, and a port that
/// is returned is given again.
#[suite::test]
fn the_last_port_is_given() {
    let mut rig = bare(2);
    for line in [
        "nat44 plugin enable sessions 200000",
        "set interface nat44 in p0 out p1",
        "nat44 add address 192.0.2.7",
    ] {
        rig.cli(line);
    }
    let mut ports = BTreeSet::new();
    // Ports below 1024 aren't kept: one at random is in the way of a later one.
    let mut own = 1..=u16::MAX;
    let all = 65_536 - 1024;
    while ports.len() < all {
        let frames: Vec<_> = (own.by_ref().take(256.min(all - ports.len())))
            .map(|port| ask("11.0.0.1", port).build())
            .collect();
        let left = rig.pass_all(0, &frames);
        assert_eq!(left.len(), frames.len(), "at {}", ports.len());
        for packet in &left {
            assert!(ports.insert(seen(packet).from.1), "a port was given twice");
        }
    }
    assert!(ports.iter().next() >= Some(&1024));
    let mut new = || ask("11.0.0.1", own.next().expect("one more"));
    assert!(is_dropped(&mut rig, 0, &new()));
    assert_eq!(rig.count(SLOW, "out of ports"), 1);
    one(&mut rig, 0, &packet(0, "11.0.0.1", "10.0.1.3").udp(5000, 53));
    let said = rig.cli("nat44 del session in 11.0.0.1:300 udp external-host 10.0.1.2:53");
    assert_eq!(said, "");
    one(&mut rig, 0, &new());
    assert!(is_dropped(&mut rig, 0, &new()));
    // Without any address left, and with another one.
    rig.cli("nat44 add address 192.0.2.8");
    assert_eq!(one(&mut rig, 0, &new()).from.0, addr("192.0.2.8"));
    rig.cli("nat44 add address 192.0.2.7 del");
    rig.cli("nat44 add address 192.0.2.8 del");
    assert!(is_dropped(&mut rig, 0, &ask("10.0.0.4", 5000)));
}

/// Users are spread over the addresses of the pool by VPP's formula.
#[suite::test]
fn users_are_spread_over_the_pool() {
    let mut rig = router(&["nat44 add address 192.0.2.1 - 192.0.2.64"]);
    let mut users = std::collections::BTreeMap::<_, u32>::new();
    for n in 2..102_u32 {
        let seen = one(&mut rig, 0, &ask(&format!("172.16.1.{n}"), 7000));
        let word = u32::from_le_bytes([172, 16, 1, n as u8]);
        let k = word.wrapping_add(word >> 8).wrapping_add(word >> 16).wrapping_add(word >> 24) % 64;
        let want = (k + 63) % 64 + 1;
        assert_eq!(seen.from.0, Ipv4Addr::new(192, 0, 2, want as u8), "{n}");
        *users.entry(seen.from.0).or_default() += 1;
    }
    assert!(users.values().all(|n| (1..=2).contains(n)), "{users:?}");
}

/// Nothing is left of the feature when it is disabled.
#[suite::test]
fn nothing_is_left_behind() {
    let mut rig = with_pool();
    rig.cli("nat44 add static mapping tcp local 10.0.0.2 8080 external 192.0.2.9 80");
    one(&mut rig, 0, &ask("10.0.0.2", 5000));
    assert!(rig.cli("show ip fib").contains("192.0.2.7/32"));
    rig.cli("nat44 plugin disable");
    assert!(!rig.cli("show ip fib").contains("192.0.2."));
    assert!(
        rig.bench
            .world
            .features_of(rig.bench.world.arc("ip4-unicast").unwrap(), rig.ports[0])
            .is_empty()
    );
    assert_eq!(one(&mut rig, 0, &ask("10.0.0.2", 5000)).from, end("10.0.0.2", 5000));
    for line in
        ["nat44 forwarding enable", "nat44 add address 192.0.2.7", "set interface nat44 in p0"]
    {
        assert_eq!(rig.refused(line).0, -126, "{line}");
    }
    assert_eq!(rig.refused("nat44 plugin disable").0, -169);
    rig.cli("nat44 plugin enable");
    assert_eq!(rig.refused("nat44 plugin enable").0, -170);
    assert!(rig.cli("show nat44 sessions").contains(": 0 sessions"));
    assert_eq!(rig.cli("show nat44 static mappings"), "");
}
