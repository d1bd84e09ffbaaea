// SPDX-License-Identifier: Apache-2.0
//! Limits of sessions.

use super::*;
use wire::TcpFlags;

fn inside() -> Rig {
    let mut rig = zones(false);
    rig.cli("firewall policy from lan to wan default accept");
    rig.cli("ip route add 10.5.0.0/16 via 10.0.0.2 p0");
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

/// A UDP packet of a host behind the neighbour of port 0.
fn udp_of(host: u8, port: u16) -> Packet {
    let ether = pkt::ether(peer_mac(0), port_mac(0));
    ether.ip4(&*format!("10.5.0.{host}"), "10.0.1.2").udp(port, 53)
}

/// Sends an answer to it. True if it has passed.
fn answers(rig: &mut Rig, host: u8, port: u16) -> bool {
    let ether = pkt::ether(peer_mac(1), port_mac(1));
    let answer = ether.ip4("10.0.1.2", &*format!("10.5.0.{host}")).udp(53, port);
    passes(rig, 1, 0, &answer)
}

/// A flow that is answered: it lasts. True if it has begun.
fn lasts(rig: &mut Rig, host: u8, port: u16) -> bool {
    passes(rig, 0, 1, &udp_of(host, port)) && answers(rig, host, port)
}

/// A host that fills the table with sessions that last leaves room to others, and loses none to
/// its own new flows.
#[suite::test]
fn in_a_full_table_each_host_has_a_share() {
    let mut rig = inside();
    rig.cli("firewall limit sessions 8");
    assert_eq!((1..=20).filter(|port| lasts(&mut rig, 2, *port)).count(), 8);
    // Hosts whose hashes are equal are one, and the seed of hashes is random.
    let other = (3..=66).find(|host| lasts(&mut rig, *host, 1));
    let other = other.expect("not all hashes are equal");
    assert_eq!((21..=30).filter(|port| lasts(&mut rig, 2, *port)).count(), 0);
    // So does IPv6, which has the same limit; and its session is the first to make room.
    assert!(passes(&mut rig, 0, 1, &from_to(true, 0, 1).udp(1, 53)));
    assert!(lasts(&mut rig, other, 2));
    assert_eq!(rig.cli("show firewall sessions verbose 0"), "8 sessions, 0 half-open TCP\n");
    assert!((1..=2).all(|port| !answers(&mut rig, 2, port)), "the oldest have gone");
    assert!((3..=8).all(|port| answers(&mut rig, 2, port)));
}

/// Flows that don't last make room for others: those of the host that has most of them.
#[suite::test]
fn a_flood_of_one_host_ends_only_its_own() {
    let mut rig = inside();
    rig.cli("firewall limit sessions 10");
    assert!(passes(&mut rig, 0, 1, &udp_of(3, 1)));
    (1..=500).for_each(|port| assert!(passes(&mut rig, 0, 1, &udp_of(2, port))));
    let of = |rig: &mut Rig, host: u8| {
        let shown = rig.cli(&format!("show firewall sessions src 10.5.0.{host}"));
        shown.lines().count() - 1
    };
    // Unless both hashes are equal, which they are once in 256 times.
    assert!((of(&mut rig, 2), of(&mut rig, 3)) == (9, 1) || of(&mut rig, 2) == 10);
}

/// Where the limit is lower than before, sessions go until it is met.
#[suite::test]
fn a_lower_limit_is_met_by_and_by() {
    let mut rig = inside();
    (1..=20).for_each(|port| assert!(passes(&mut rig, 0, 1, &udp_of(2, port))));
    rig.cli("firewall limit sessions 10");
    (21..=40).for_each(|port| assert!(passes(&mut rig, 0, 1, &udp_of(2, port))));
    assert_eq!(rig.cli("show firewall sessions verbose 0"), "10 sessions, 0 half-open TCP\n");
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

/// A rule accepts as many new flows in a second as its rate; others are dropped, not left to the
/// rules behind it, and flows that are there go on.
#[suite::test]
fn a_rule_has_a_rate() {
    let mut rig = zones(false);
    rig.cli("firewall policy from lan to wan");
    rig.cli("firewall rule from lan to wan 10 accept proto udp rate 3 log");
    rig.cli("firewall rule from lan to wan 20 accept");
    let udp = |port| from_to(false, 0, 1).udp(port, 53);
    for second in 0..3 {
        rig.seconds(1);
        let ports = second * 100 + 1..=second * 100 + 10;
        let began: Vec<u16> = ports.filter(|port| passes(&mut rig, 0, 1, &udp(*port))).collect();
        assert_eq!(began.len(), 3);
        assert!(began.iter().all(|port| passes(&mut rig, 0, 1, &udp(*port))), "sessions go on");
    }
    assert_eq!(rig.count(OUT, "rule_rate"), 21);
    let log = rig.cli("show firewall log");
    assert!(log.contains("rate of rule"), "{log}");
    // Messages that neither ask nor answer have no session: each counts.
    rig.cli("firewall rule from lan to wan 5 accept proto icmp rate 2");
    let solicitation = from_to(false, 0, 1).icmp(wire::Icmp4Type(10), 0, 0);
    assert_eq!((0..5).filter(|_| passes(&mut rig, 0, 1, &solicitation)).count(), 2);
    // The same rule again has its count, another rate begins anew.
    rig.seconds(1);
    assert_eq!((400..410).filter(|port| passes(&mut rig, 0, 1, &udp(*port))).count(), 3);
    rig.cli("firewall rule from lan to wan 10 accept proto udp rate 3 log");
    assert!(!passes(&mut rig, 0, 1, &udp(420)));
    rig.cli("firewall rule from lan to wan 10 accept proto udp rate 4 log");
    assert_eq!((430..440).filter(|port| passes(&mut rig, 0, 1, &udp(*port))).count(), 4);
    let why = rig.cli("firewall explain 10.0.0.2 10.0.1.2 udp dport 53 from lan to wan");
    assert!(why.contains("accepted by rule 10") && why.contains(", 4 in a second"), "{why}");
    for (line, what) in [("10 drop rate 5", "expected accept"), ("10 accept rate 0", "rate")] {
        let error = rig.refused(&format!("firewall rule from lan to wan {line}")).1;
        assert!(error.contains(what), "{error}");
    }
}
