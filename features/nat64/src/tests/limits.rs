// SPDX-License-Identifier: Apache-2.0
//! Full tables and pools: nobody can use up what is there for all.

use super::*;
use std::collections::BTreeSet;

const SLOW: &str = "nat64-in2out-slowpath";

fn small() -> Rig {
    let mut rig = bare(2);
    for line in [
        "nat64 plugin enable bib-buckets 2 st-buckets 4",
        "set interface nat64 in p0",
        "set interface nat64 out p1",
        "nat64 add pool address 192.0.2.7",
        "set nat64 timeout udp 5",
    ] {
        rig.cli(line);
    }
    rig
}

/// A user, any address of whose network is the same share.
fn ask(network: u16, host: u16, port: u16) -> Packet {
    of_user(&format!("2001:db8:1{network:03x}::{host:x}"), HOST6).udp(port, 53)
}

/// One network can't keep others from bindings, whatever number of addresses it has.
#[suite::test]
fn bindings_are_shared() {
    let mut rig = small();
    for host in 0..20 {
        one(&mut rig, 0, &ask(1, host, 5000));
    }
    assert!(is_dropped(&mut rig, 0, &ask(1, 77, 5000)));
    assert_eq!(rig.count(SLOW, "maximum BIB entries exceeded"), 1);
    one(&mut rig, 0, &ask(1, 3, 5000));
    // Another one gets what it is owed, up to an equal share.
    for port in 0..10 {
        one(&mut rig, 0, &ask(2, 9, 6000 + port));
    }
    assert!(is_dropped(&mut rig, 0, &ask(2, 9, 7000)));
    assert_eq!(total(&rig, "bibs"), 20);
    // The oldest are gone.
    let left = rig.cli("show nat64 bib udp");
    assert!(!left.contains(" 2001:db8:1001::9 5000 "), "{left}");
    assert!(left.contains(" 2001:db8:1001::a 5000 "), "{left}");
    rig.seconds(8);
    assert_eq!((total(&rig, "bibs"), total(&rig, "sessions")), (0, 0));
    one(&mut rig, 0, &ask(1, 77, 5000));
}

/// The same for sessions: those of one binding to many hosts.
#[suite::test]
fn sessions_are_shared() {
    let mut rig = small();
    let to = |network: u16, port: u16| {
        of_user(&format!("2001:db8:1{network:03x}::1"), HOST6).udp(5000, port)
    };
    for port in 0..40 {
        one(&mut rig, 0, &to(1, port));
    }
    assert!(is_dropped(&mut rig, 0, &to(1, 99)));
    assert_eq!(rig.count(SLOW, "maximum sessions exceeded"), 1);
    for port in 0..20 {
        one(&mut rig, 0, &to(2, port));
    }
    assert!(is_dropped(&mut rig, 0, &to(2, 99)));
    assert_eq!((total(&rig, "bibs"), total(&rig, "sessions")), (2, 40));
    rig.seconds(8);
    assert_eq!((total(&rig, "bibs"), total(&rig, "sessions")), (0, 0));
}

/// A user that is refused a session has no binding either.
#[suite::test]
fn a_refusal_leaves_nothing() {
    let mut rig = small();
    for port in 0..40 {
        one(&mut rig, 0, &of_user(USER, HOST6).udp(5000, port));
    }
    assert!(is_dropped(&mut rig, 0, &of_user(USER, HOST6).udp(5001, 1)));
    assert_eq!((total(&rig, "bibs"), total(&rig, "sessions")), (1, 40));
}

/// All ports of an address are given, each once; then a network with all of them loses one to
/// another network, and a port that is returned is given again.
#[suite::test]
fn the_last_port_is_given() {
    let mut rig = bare(2);
    for line in [
        "nat64 plugin enable bib-buckets 20000 st-buckets 20000",
        "set interface nat64 in p0",
        "set interface nat64 out p1",
        "nat64 add pool address 192.0.2.7",
    ] {
        rig.cli(line);
    }
    let mut ports = BTreeSet::new();
    let mut user = 0_u32;
    let all = 65_536 - 1024;
    while ports.len() < all {
        let frames: Vec<_> = (0..256.min(all - ports.len()))
            .map(|_| {
                user += 1;
                ask(1, user as u16, 5000 + (user >> 16) as u16).build()
            })
            .collect();
        let left = rig.pass_all(0, &frames);
        assert_eq!(left.len(), frames.len(), "at {}", ports.len());
        for packet in &left {
            assert!(ports.insert(seen(packet).from.1), "a port was given twice");
        }
    }
    assert!(ports.iter().next() >= Some(&1024));
    assert!(is_dropped(&mut rig, 0, &ask(1, 7, 9)));
    assert_eq!(rig.count(SLOW, "out of ports"), 1);
    one(&mut rig, 0, &ask(2, 7, 9));
    assert_eq!(total(&rig, "bibs"), all as u64);
    // Other protocols have ports of their own, and another address has all of them.
    one(&mut rig, 0, &of_user(USER, HOST6).icmp6_echo(5, 1));
    rig.cli("nat64 add pool address 192.0.2.8");
    assert_eq!(one(&mut rig, 0, &ask(1, 7, 9)).from.0, addr("192.0.2.8"));
    rig.cli("nat64 add pool address 192.0.2.7 del");
    (0..100).for_each(|_| rig.bench.settle());
    assert_eq!(total(&rig, "bibs"), 1);
}
