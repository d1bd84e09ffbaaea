// SPDX-License-Identifier: Apache-2.0
//! Sessions of all protocols.

use super::*;
use wire::Icmp4Type;

/// From `lan` anything may begin, from `wan` nothing.
fn inside(graph: bool) -> Rig {
    let mut rig = zones(graph);
    rig.cli("firewall policy from lan to wan default accept log");
    rig
}

fn total(rig: &mut Rig) -> String {
    rig.cli("show firewall sessions").lines().next().unwrap_or_default().to_string()
}

#[suite::test]
fn answers_pass_and_nothing_else_comes_back() {
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
                from_to(v6, 1, 0).udp(1000, 53),
            ] {
                assert!(!passes(&mut rig, 1, 0, &other), "{other:?}");
            }
            assert_eq!(total(&mut rig), "1 sessions, 0 half-open TCP");
            rig.seconds(299);
            assert!(passes(&mut rig, 1, 0, &answer), "answered sessions last");
            rig.seconds(302);
            assert!(!passes(&mut rig, 1, 0, &answer), "it has ended");
            assert_eq!(total(&mut rig), "0 sessions, 0 half-open TCP");
        }
    }
}

#[suite::test]
fn echo_answers_pass_by_their_identifier() {
    let mut rig = inside(false);
    let (ask, answer) =
        (from_to(false, 0, 1).icmp_echo(7, 1), from_to(false, 1, 0).icmp_echo_reply(7, 1));
    assert!(!passes(&mut rig, 1, 0, &answer) && passes(&mut rig, 0, 1, &ask));
    assert!(passes(&mut rig, 1, 0, &answer));
    assert!(!passes(&mut rig, 1, 0, &from_to(false, 1, 0).icmp_echo_reply(8, 1)));
    assert!(!passes(&mut rig, 1, 0, &from_to(false, 1, 0).icmp_echo(8, 1)));
    // An answer that nobody has asked for begins nothing.
    assert!(!passes(&mut rig, 0, 1, &from_to(false, 0, 1).icmp_echo_reply(9, 1)));
    assert_eq!(rig.count(OUT, "no_session"), 1);
    assert!(passes(&mut rig, 0, 1, &from_to(true, 0, 1).icmp6_echo(7, 1)));
}

/// An error passes if it quotes a packet of a session that went the other way.
#[suite::test]
fn errors_quote_a_packet_of_a_session() {
    let mut rig = inside(false);
    let ask = from_to(false, 0, 1).udp(1000, 53).payload_len(20);
    let quote = |packet: &Packet| packet.build()[14..].to_vec();
    let error = |about: &Packet| {
        from_to(false, 1, 0).icmp(Icmp4Type::UNREACHABLE, 3, 0).payload(quote(about))
    };
    assert!(!passes(&mut rig, 1, 0, &error(&ask)));
    assert!(passes(&mut rig, 0, 1, &ask));
    assert!(passes(&mut rig, 1, 0, &error(&ask)));
    assert!(!passes(&mut rig, 1, 0, &error(&from_to(false, 0, 1).udp(1001, 53).payload_len(20))));
    let cut = from_to(false, 1, 0).icmp(Icmp4Type::UNREACHABLE, 3, 0).payload(&quote(&ask)[..20]);
    assert!(!passes(&mut rig, 1, 0, &cut), "no ports are quoted");
    assert_eq!(rig.count(OUT, "icmp_error"), 3);
}

/// Later fragments go with their first one.
#[suite::test]
fn fragments_go_with_their_session() {
    for graph in [false, true] {
        let mut rig = zones(graph);
        rig.cli("firewall policy from lan to wan");
        rig.cli("firewall rule from lan to wan 1 accept proto udp dport 53");
        let first =
            |port| from_to(false, 0, 1).id(port).fragment(0, true).udp(1, port).payload_len(40);
        let later = |id| {
            let packet = from_to(false, 0, 1).id(id).protocol(wire::IpProtocol::UDP);
            packet.fragment(48, false).payload_len(40)
        };
        assert!(passes(&mut rig, 0, 1, &first(53)) && passes(&mut rig, 0, 1, &later(53)));
        assert!(!passes(&mut rig, 0, 1, &first(54)) && !passes(&mut rig, 0, 1, &later(54)));
    }
}

/// When rules change, a session stays as long as its first packet would make one: it is judged at
/// its next packet, or in the background.
#[suite::test]
fn sessions_are_judged_again_when_rules_change() {
    for graph in [false, true] {
        let mut rig = inside(graph);
        let asks = [1, 2].map(|port| from_to(false, 0, 1).udp(port, 53));
        let answers = [1, 2].map(|port| from_to(false, 1, 0).udp(53, port));
        assert!(asks.iter().all(|ask| passes(&mut rig, 0, 1, ask)));
        rig.cli("firewall rule from lan to wan 1 drop sport 2");
        assert!(passes(&mut rig, 1, 0, &answers[0]), "still permitted");
        assert!(passes(&mut rig, 1, 0, &answers[1]), "a rule may take the place of another soon");
        rig.seconds(1);
        assert!(!passes(&mut rig, 1, 0, &answers[1]), "revoked");
        assert!(!passes(&mut rig, 0, 1, &asks[1]));
        assert_eq!(total(&mut rig), "1 sessions, 0 half-open TCP");
        let log = rig.cli("show firewall log");
        assert!(
            log.contains("delete udp 10.0.0.2:2 -> 10.0.1.2:53 from lan to wan: revoked"),
            "{log}"
        );
        assert!(log.contains("create udp 10.0.0.2:1 -> 10.0.1.2:53"), "{log}");
        // A commit is whole: it decides at once.
        rig.cli("firewall begin");
        rig.cli("firewall draft rule from lan to wan 1 drop sport 1");
        rig.cli("firewall commit");
        assert!(!passes(&mut rig, 1, 0, &answers[0]), "revoked");
        rig.cli("firewall rule from lan to wan 1 del");
        assert!(passes(&mut rig, 0, 1, &asks[0]));
        // Nothing is sent, but the interface has left its zone.
        rig.cli("set interface firewall zone p2 lan");
        rig.cli("set interface firewall zone p0 none");
        rig.seconds(2);
        assert_eq!(total(&mut rig), "0 sessions, 0 half-open TCP");
    }
}

#[suite::test]
fn sessions_are_shown_and_cleared_by_filters() {
    let mut rig = inside(false);
    for port in 1..=3 {
        assert!(passes(&mut rig, 0, 1, &from_to(false, 0, 1).udp(port, 53)));
    }
    assert!(passes(&mut rig, 0, 1, &from_to(true, 0, 1).udp(9, 80)));
    assert!(passes(&mut rig, 1, 0, &from_to(false, 1, 0).udp(53, 3)));
    let count = |rig: &mut Rig, filter: &str| {
        rig.cli(&format!("show firewall sessions {filter}")).lines().count() - 1
    };
    for (filter, n) in [
        ("", 4),
        ("port 53", 3),
        ("port 2", 1),
        ("src 10.0.0.0/24", 3),
        ("dst 2001:db8:1::/64", 1),
        ("host 10.0.1.2 port 1", 1),
        ("proto tcp", 0),
        ("from lan to wan", 4),
        ("from wan", 0),
        ("zone wan", 4),
        ("state answered", 1),
        ("verbose 2 port 53", 2),
    ] {
        assert_eq!(count(&mut rig, filter), n, "{filter}");
    }
    let json = rig.cli("show firewall sessions state answered -j");
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    let session = &json["sessions"][0];
    assert_eq!((&session["in"], &session["packets_back"]), (&"p0".into(), &1.into()));
    assert_eq!(rig.cli("clear firewall sessions port 53 src 10.0.0.2"), "3 sessions cleared\n");
    assert_eq!(count(&mut rig, ""), 1);
    assert!(!passes(&mut rig, 1, 0, &from_to(false, 1, 0).udp(53, 3)));
    assert!(rig.refused("show firewall sessions state open").1.contains("expected one of"));
}

/// A thread looks at its sessions in parts, and at all of them.
#[suite::test]
fn all_of_many_sessions_are_shown_and_cleared() {
    let mut rig = inside(false);
    let asks = |v6| (1..=3000).map(move |port| from_to(v6, 0, 1).udp(port, 53).build());
    for v6 in [false, true] {
        assert_eq!(rig.pass_all(0, &asks(v6).collect::<Vec<_>>()).len(), 3000);
    }
    let shown = rig.cli("show firewall sessions verbose 10000 dst 2001:db8:1::2");
    assert_eq!(shown.lines().next(), Some("6000 sessions, 0 half-open TCP"));
    assert_eq!(shown.lines().count(), 3001);
    assert_eq!(rig.cli("show firewall sessions verbose 10").lines().count(), 11);
    assert_eq!(rig.cli("clear firewall sessions src 10.0.0.2"), "3000 sessions cleared\n");
    assert_eq!(rig.cli("clear firewall sessions"), "3000 sessions cleared\n");
    assert_eq!(total(&mut rig), "0 sessions, 0 half-open TCP");
}

/// Records of packets that a rule drops, or no policy is for.
#[suite::test]
fn records_name_what_happened() {
    let mut rig = zones(false);
    assert!(!passes(&mut rig, 0, 1, &from_to(false, 0, 1).udp(5, 6)));
    rig.cli("firewall policy from lan to wan");
    rig.cli("firewall rule from lan to wan 7 reject name \"no telnet\" proto tcp dport 23 log");
    let syn = from_to(false, 0, 1).tcp(9, 23).segment(wire::TcpFlags::SYN, 1, 0);
    rig.pass(0, &syn.build());
    let json = rig.cli("show firewall log -j");
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    let records = json["records"].as_array().expect("records");
    let seen: Vec<_> = records
        .iter()
        .map(|r| (r["event"].as_str(), r["reason"].as_str(), r["rule_name"].as_str()))
        .collect();
    let wanted = [
        (Some("deny"), Some("no policy"), None),
        (Some("deny"), Some("policy"), Some("no telnet")),
    ];
    assert_eq!(seen, wanted);
    assert_eq!(json["lost"], 0);
    // A record is shown at once, also while the process that takes records rests.
    rig.pass(0, &syn.build());
    assert_eq!(rig.cli("show firewall log").lines().count(), 4);
}
