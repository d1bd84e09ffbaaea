// SPDX-License-Identifier: Apache-2.0
//! Limits of sessions.

use super::*;
use wire::TcpFlags;

fn inside() -> Rig {
    let mut rig = zones(false);
    rig.cli("firewall policy from lan to wan default accept");
    rig
}

fn syn(port: u16) -> Packet {
    from_to(false, 0, 1).tcp(port, 80).segment(TcpFlags::SYN, 1, 0).window(1000)
}

/// Opens a connection.
fn open(rig: &mut Rig, port: u16) {
    let both = TcpFlags::SYN | TcpFlags::ACK;
    let answer = from_to(false, 1, 0).tcp(80, port).segment(both, 100, 2).window(1000);
    let ack = data(port);
    assert!(passes(rig, 0, 1, &syn(port)) && passes(rig, 1, 0, &answer));
    assert!(passes(rig, 0, 1, &ack));
}

fn data(port: u16) -> Packet {
    from_to(false, 0, 1).tcp(port, 80).segment(TcpFlags::ACK, 2, 101).window(1000)
}

/// The oldest half-open connection makes room, and what is established stays.
#[suite::test]
fn a_flood_of_requests_ends_none_that_is_established() {
    let mut rig = inside();
    rig.cli("firewall limit half-open 10");
    rig.cli("firewall limit sessions 20");
    (1..=5).for_each(|port| open(&mut rig, port));
    for port in 100..1100 {
        assert!(passes(&mut rig, 0, 1, &syn(port)));
        if port % 100 == 0 {
            assert!((1..=5).all(|port| passes(&mut rig, 0, 1, &data(port))));
        }
    }
    let total = rig.cli("show firewall sessions verbose 0");
    assert_eq!(total, "15 sessions, 10 half-open TCP\n");
    rig.cli("firewall limit half-open 1000");
    (2000..2100).for_each(|port| assert!(passes(&mut rig, 0, 1, &syn(port))));
    assert_eq!(rig.cli("show firewall sessions verbose 0"), "20 sessions, 15 half-open TCP\n");
    // Established ones take the place of half-open ones, and then nothing may go.
    (6..=20).for_each(|port| open(&mut rig, port));
    assert!(!passes(&mut rig, 0, 1, &syn(21)));
    assert_eq!(rig.count(OUT, "full"), 1);
    assert!((1..=20).all(|port| passes(&mut rig, 0, 1, &data(port))));
}

#[suite::test]
fn a_host_and_a_zone_have_limits() {
    let mut rig = inside();
    let udp = |port| from_to(false, 0, 1).udp(port, 53);
    rig.cli("firewall limit source-sessions 3");
    let passed = (1..=10).filter(|port| passes(&mut rig, 0, 1, &udp(*port))).count();
    assert_eq!((passed, rig.count(OUT, "source_limit")), (3, 7));
    rig.cli("clear firewall sessions");
    assert!(passes(&mut rig, 0, 1, &udp(20)));
    rig.cli("firewall limit source-sessions 0");
    rig.cli("firewall limit source-rate 2");
    rig.seconds(1);
    for _ in 0..2 {
        let passed = (30..40).filter(|port| passes(&mut rig, 0, 1, &udp(*port))).count();
        assert_eq!(passed, 2);
        rig.cli("clear firewall sessions");
        rig.seconds(1);
    }
    rig.cli("firewall limit source-rate 0");
    rig.cli("firewall zone lan sessions 4");
    let passed = (1..=10).filter(|port| passes(&mut rig, 0, 1, &udp(*port))).count();
    assert_eq!((passed, rig.count(OUT, "zone_limit")), (4, 6));
    let zones = rig.cli("show firewall zones");
    assert!(
        zones.lines().any(|line| line.split_whitespace().eq(["lan", "p0", "4", "4", "0"])),
        "{zones}"
    );
    rig.seconds(40);
    assert!(passes(&mut rig, 0, 1, &udp(50)), "the sessions have ended");
    rig.cli("clear firewall sessions");
    rig.cli("firewall zone lan rate 2");
    rig.seconds(1);
    let passed = (1..=10).filter(|port| passes(&mut rig, 0, 1, &udp(*port))).count();
    assert_eq!(passed, 2);
}
