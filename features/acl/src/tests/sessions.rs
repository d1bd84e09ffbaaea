// SPDX-License-Identifier: Apache-2.0
//! Sessions.

use super::*;
use wire::TcpFlags;

const IN: &str = "acl-plugin-in-ip4-fa";
const OUT: &str = "acl-plugin-out-ip4-fa";

/// Flows that begin behind port 0 may be answered; nothing else comes back.
fn inside(graph: bool) -> Rig {
    let mut rig = routers(2, graph);
    rig.cli("set acl-plugin acl permit+reflect, permit+reflect src ::/0 dst ::/0");
    rig.cli("set acl-plugin acl deny, deny src ::/0");
    rig.cli("set acl-plugin interface p0 input acl 0");
    rig.cli("set acl-plugin interface p0 output acl 1");
    rig
}

fn total(rig: &mut Rig) -> String {
    rig.cli("show acl-plugin sessions").lines().next().unwrap_or_default().to_string()
}

#[suite::test]
fn answers_pass_by_the_session_of_their_flow() {
    for graph in [false, true] {
        for v6 in [false, true] {
            let mut rig = inside(graph);
            let ask = from_to(v6, 0, 1).udp(1000, 53);
            let answer = from_to(v6, 1, 0).udp(53, 1000);
            assert!(!passes(&mut rig, 1, 0, &answer), "nobody has asked");
            for _ in 0..3 {
                assert!(passes(&mut rig, 0, 1, &ask) && passes(&mut rig, 1, 0, &answer));
            }
            for other in [
                from_to(v6, 1, 0).udp(54, 1000),
                from_to(v6, 1, 0).udp(53, 1001),
                from_to(v6, 1, 0).tcp(53, 1000),
                // The same ports the other way round.
                from_to(v6, 1, 0).udp(1000, 53),
            ] {
                assert!(!passes(&mut rig, 1, 0, &other), "{other:?}");
            }
            if !v6 {
                let count = |node, counter| rig.count(node, counter);
                assert_eq!(count(IN, "new sessions added"), 1);
                assert_eq!(count(IN, "existing session packets"), 2);
                assert_eq!(count(OUT, "existing session packets"), 3);
                assert_eq!(count(OUT, "ACL deny packets"), 5);
            }
            assert_eq!(total(&mut rig), "Sessions total: add 1 - del 0 = 1");
            rig.cli("clear acl-plugin sessions p0");
            assert!(!passes(&mut rig, 1, 0, &answer));
            assert_eq!(total(&mut rig), "Sessions total: add 1 - del 1 = 0");
        }
    }
}

/// Requests of ICMP make sessions for their answers; errors pass by rules alone.
#[suite::test]
fn echo_answers_pass_and_requests_from_outside_do_not() {
    let mut rig = inside(false);
    let answer = from_to(false, 1, 0).icmp_echo_reply(1, 1);
    assert!(!passes(&mut rig, 1, 0, &answer));
    assert!(passes(&mut rig, 0, 1, &from_to(false, 0, 1).icmp_echo(1, 1)));
    assert!(passes(&mut rig, 1, 0, &answer));
    assert!(!passes(&mut rig, 1, 0, &from_to(false, 1, 0).icmp_echo(1, 1)));
    // A message that asks nothing passes without a session.
    assert!(passes(&mut rig, 0, 1, &from_to(false, 0, 1).icmp_echo_reply(7, 1)));
    assert_eq!(total(&mut rig), "Sessions total: add 1 - del 0 = 1");
}

#[suite::test]
fn sessions_end_when_nothing_was_sent_for_their_time() {
    for graph in [false, true] {
        let mut rig = inside(graph);
        for line in ["udp idle 5", "tcp idle 20", "tcp transient 3"] {
            rig.cli(&format!("set acl-plugin session timeout {line}"));
        }
        let (ask, answer) = (from_to(false, 0, 1).udp(1, 2), from_to(false, 1, 0).udp(2, 1));
        assert!(passes(&mut rig, 0, 1, &ask));
        for _ in 0..4 {
            rig.seconds(4);
            assert!(passes(&mut rig, 1, 0, &answer), "an answer renews the time");
        }
        rig.seconds(6);
        assert!(!passes(&mut rig, 1, 0, &answer));
        let syn = from_to(false, 0, 1).tcp(1, 2).segment(TcpFlags::SYN, 1, 0);
        let both = from_to(false, 1, 0).tcp(2, 1).segment(TcpFlags::SYN | TcpFlags::ACK, 1, 2);
        let ack = from_to(false, 0, 1).tcp(1, 2).segment(TcpFlags::ACK, 2, 2);
        let fin = from_to(false, 0, 1).tcp(1, 2).segment(TcpFlags::FIN | TcpFlags::ACK, 2, 2);
        // Without an answer it is transient; established, it lasts; then transient again.
        assert!(passes(&mut rig, 0, 1, &syn));
        rig.seconds(4);
        assert!(!passes(&mut rig, 1, 0, &both));
        assert!(passes(&mut rig, 0, 1, &syn) && passes(&mut rig, 1, 0, &both));
        assert!(passes(&mut rig, 0, 1, &ack));
        rig.seconds(18);
        assert!(passes(&mut rig, 1, 0, &both));
        assert!(passes(&mut rig, 0, 1, &fin));
        rig.seconds(4);
        assert!(!passes(&mut rig, 1, 0, &both));
        let sessions = total(&mut rig);
        assert_eq!(sessions, "Sessions total: add 3 - del 3 = 0");
    }
}

/// In a full table the oldest TCP session that isn't established makes room; without one a new flow
/// is dropped, and those that are there go on.
#[suite::test]
fn a_full_table_keeps_established_sessions() {
    let mut rig = inside(false);
    rig.cli("set acl-plugin session table max-entries 3");
    let udp = |port| from_to(false, 0, 1).udp(port, 53);
    let syn = |port| from_to(false, 0, 1).tcp(port, 80).segment(TcpFlags::SYN, 1, 0);
    assert!(passes(&mut rig, 0, 1, &udp(1)));
    for port in 1..=9 {
        assert!(passes(&mut rig, 0, 1, &syn(port)));
    }
    assert_eq!(total(&mut rig), "Sessions total: add 10 - del 7 = 3");
    assert!(passes(&mut rig, 0, 1, &udp(2)) && passes(&mut rig, 0, 1, &udp(3)));
    assert!(!passes(&mut rig, 0, 1, &udp(4)) && !passes(&mut rig, 0, 1, &syn(10)));
    assert_eq!(rig.count(IN, "too many sessions to add new"), 2);
    assert!((1..=3).all(|port| passes(&mut rig, 0, 1, &udp(port))));
}

/// A host that fills the table with sessions that last leaves room to others, and loses none to
/// its own new flows.
#[suite::test]
fn in_a_full_table_each_host_has_a_share() {
    let mut rig = inside(false);
    rig.cli("set acl-plugin session table max-entries 8");
    let from = |host: u8, port| {
        let ether = pkt::ether(peer_mac(0), port_mac(0));
        ether.ip4(&*format!("10.0.0.{host}"), "10.0.1.2").udp(port, 53)
    };
    let greedy = |rig: &mut Rig, ports: std::ops::RangeInclusive<u16>| {
        ports.filter(|port| passes(rig, 0, 1, &from(2, *port))).count()
    };
    assert_eq!(greedy(&mut rig, 1..=20), 8);
    // Hosts whose hashes are equal are one, and the seed of hashes is random.
    let other = (3..=66).find(|host| passes(&mut rig, 0, 1, &from(*host, 1)));
    let other = other.expect("not all hashes are equal");
    assert_eq!(greedy(&mut rig, 21..=30), 0);
    // So does IPv6, which has the same limit.
    assert!(passes(&mut rig, 0, 1, &from_to(true, 0, 1).udp(1, 53)));
    assert_eq!(total(&mut rig), "Sessions total: add 10 - del 2 = 8");
    let answered = |rig: &mut Rig, port| passes(rig, 1, 0, &from_to(false, 1, 0).udp(53, port));
    assert!((1..=2).all(|port| !answered(&mut rig, port)), "the oldest have gone");
    assert!((3..=8).all(|port| answered(&mut rig, port)));
    assert!(passes(&mut rig, 0, 1, &from(other, 1)));
    assert_eq!(total(&mut rig), "Sessions total: add 10 - del 2 = 8", "it has its session");
}

/// When lists change, a session stays as long as its first packet would make one.
#[suite::test]
fn sessions_are_judged_again_when_lists_change() {
    for graph in [false, true] {
        let mut rig = inside(graph);
        let asks = [1, 2].map(|port| from_to(false, 0, 1).udp(port, 53));
        let answers = [1, 2].map(|port| from_to(false, 1, 0).udp(53, port));
        assert!(asks.iter().all(|ask| passes(&mut rig, 0, 1, ask)));
        rig.cli("set acl-plugin acl index 0 deny proto 17 sport 2, permit+reflect");
        assert!(passes(&mut rig, 1, 0, &answers[0]), "still permitted");
        assert!(!passes(&mut rig, 1, 0, &answers[1]), "revoked");
        assert!(!passes(&mut rig, 0, 1, &asks[1]));
        // A rule that permits without a session ends sessions.
        rig.cli("set acl-plugin acl index 0 permit");
        assert!(!passes(&mut rig, 1, 0, &answers[0]));
        assert!(passes(&mut rig, 0, 1, &asks[0]));
    }
}

/// Sessions of an interface are none of another.
#[suite::test]
fn sessions_belong_to_an_interface() {
    let mut rig = inside(false);
    rig.cli("set acl-plugin interface p1 input acl 1");
    assert!(passes(&mut rig, 0, 1, &from_to(false, 0, 1).udp(1, 2)));
    assert!(!passes(&mut rig, 1, 0, &from_to(false, 1, 0).udp(2, 1)));
    assert_eq!(rig.count(IN, "ACL deny packets"), 1);
}
