// SPDX-License-Identifier: Apache-2.0
//! Rules of routed packets, in the fast path and in the nodes.

use super::*;
use wire::{Icmp4Type, IpProtocol, TcpFlags};

#[suite::test]
fn the_first_rule_decides_and_without_one_packets_are_dropped() {
    for graph in [false, true] {
        for direction in ["input", "output"] {
            let mut rig = routers(2, graph);
            let port = if direction == "input" { "p0" } else { "p1" };
            let said = rig.cli(
                "set acl-plugin acl deny src 10.0.0.0/16 dst 10.0.1.2/32 proto udp dport 53, \
                 permit proto 17 sport 1000-2000 dport 1-100, permit src 10.0.0.2/32 dst 0.0.0.0/0 proto 6",
            );
            assert_eq!(said, "ACL index:0\n");
            rig.cli("set acl-plugin counters enable");
            rig.cli(&format!("set acl-plugin interface {port} {direction} acl 0"));
            let udp = |from, to| from_to(false, 0, 1).udp(from, to).payload_len(40);
            for (packet, pass) in [
                (udp(1000, 53), false),
                (udp(1000, 54), true),
                (udp(999, 54), false),
                (udp(2000, 100), true),
                (udp(2001, 100), false),
                (udp(1500, 101), false),
                (from_to(false, 0, 1).tcp(5, 53), true),
                (from_to(false, 0, 1).icmp_echo(1, 1), false),
                // A list of IPv4 rules drops all IPv6.
                (from_to(true, 0, 1).tcp(5, 53), false),
            ] {
                assert_eq!(passes(&mut rig, 0, 1, &packet), pass, "{direction} {packet:?}");
            }
            let node = format!("acl-plugin-{}-ip4-fa", direction.trim_end_matches("put"));
            let count = |counter| rig.count(&node, counter);
            assert_eq!(
                (count("checked packets"), count("ACL permit packets"), count("ACL deny packets")),
                (8, 3, 5),
            );
            let matches = rig.world().stats.combined("/acl/0/matches");
            assert_eq!([0, 1, 2].map(|rule| matches.sum(rule).0), [1, 2, 1]);
            rig.cli(&format!("set acl-plugin interface {port} {direction} acl 0 del"));
            assert!(
                passes(&mut rig, 0, 1, &udp(1000, 53))
                    && passes(&mut rig, 0, 1, &from_to(true, 0, 1).tcp(5, 53))
            );
        }
    }
}

/// Several ACLs are one list; a rule that is replaced decides at once.
#[suite::test]
fn lists_are_asked_in_order_and_replaced_as_a_whole() {
    let mut rig = routers(2, false);
    rig.cli("set acl-plugin acl permit proto 17 dport 7");
    rig.cli("set acl-plugin acl deny proto 17 dport 7-8, permit");
    rig.cli("set acl-plugin interface p0 input acl 1");
    let udp = |port| from_to(false, 0, 1).udp(1, port);
    assert!(!passes(&mut rig, 0, 1, &udp(7)) && passes(&mut rig, 0, 1, &udp(9)));
    rig.cli("set acl-plugin interface p0 input acl 0");
    assert!(!passes(&mut rig, 0, 1, &udp(7)), "the ACL that was there is asked first");
    rig.cli("set acl-plugin interface p0 input acl 1 del");
    rig.cli("set acl-plugin interface p0 input acl 1");
    assert!(passes(&mut rig, 0, 1, &udp(7)) && !passes(&mut rig, 0, 1, &udp(8)));
    rig.cli("set acl-plugin acl index 1 permit proto 17 dport 8 tag other");
    assert!(passes(&mut rig, 0, 1, &udp(8)) && !passes(&mut rig, 0, 1, &udp(9)));
    let text = rig.cli("show acl-plugin acl");
    assert!(text.contains("acl-index 1 count 1 tag {other}"), "{text}");
    assert!(text.contains("applied inbound on sw_if_index: 1"), "{text}");
    assert_eq!(rig.refused("delete acl-plugin acl index 1").0, -142);
    assert_eq!(rig.refused("set acl-plugin interface p0 input acl 1").0, -142);
    assert_eq!(rig.refused("set acl-plugin interface p0 output acl 1 del").0, -6);
    // An interface that is deleted holds nothing.
    rig.delete_port(0);
    rig.cli("delete acl-plugin acl index 1");
    assert_eq!(rig.refused("delete acl-plugin acl index 1").0, -6);
}

/// Types and codes of ICMP, flags of TCP.
#[suite::test]
fn icmp_and_flags_are_compared() {
    for graph in [false, true] {
        let mut rig = routers(2, graph);
        rig.cli(
            "set acl-plugin acl permit proto 1 sport 8 dport 0, permit proto 1 sport 3 dport 2-4, \
             permit proto 6 tcpflags 2 mask 18, permit src ::/0 dst ::/0 proto 58 sport 128-129 dport 0",
        );
        rig.cli("set acl-plugin interface p0 input acl 0");
        let icmp =
            |kind: u8, code| from_to(false, 0, 1).icmp(Icmp4Type(kind), code, 0).payload_len(28);
        let tcp = |flags| from_to(false, 0, 1).tcp(1, 2).segment(flags, 1, 1);
        for (packet, pass) in [
            (icmp(8, 0), true),
            (icmp(8, 1), false),
            (icmp(0, 0), false),
            (icmp(3, 4), true),
            (icmp(3, 1), false),
            (tcp(TcpFlags::SYN), true),
            (tcp(TcpFlags::SYN | TcpFlags::ACK), false),
            (tcp(TcpFlags::ACK), false),
            (from_to(true, 0, 1).icmp6_echo(1, 1), true),
            (from_to(true, 0, 1).udp(128, 0), false),
        ] {
            assert_eq!(passes(&mut rig, 0, 1, &packet), pass, "{packet:?}");
        }
    }
}

/// Fragments behind the first have no ports; a packet that is cut within its upper header matches
/// no rule with a protocol; IPv6 is searched behind its extension headers.
#[suite::test]
fn fragments_cut_packets_and_extension_headers() {
    for graph in [false, true] {
        let mut rig = routers(2, graph);
        rig.cli("set acl-plugin acl permit proto 17 dport 53, permit src ::/0 dst ::/0 proto 17 dport 53");
        rig.cli("set acl-plugin interface p0 input acl 0");
        let first = from_to(false, 0, 1).fragment(0, true).udp(1, 53).payload_len(40);
        let later =
            from_to(false, 0, 1).protocol(IpProtocol::UDP).fragment(64, false).payload_len(40);
        let other =
            from_to(false, 0, 1).protocol(IpProtocol::TCP).fragment(64, false).payload_len(40);
        let short = from_to(false, 0, 1).protocol(IpProtocol::UDP).payload([0, 1, 0, 53]);
        let bare = from_to(false, 0, 1).udp(1, 53);
        for (packet, pass) in
            [(&first, true), (&later, true), (&other, false), (&short, false), (&bare, true)]
        {
            assert_eq!(passes(&mut rig, 0, 1, packet), pass, "{packet:?}");
        }
        let options = |number| from_to(true, 0, 1).ext(IpProtocol(number), [0; 7]).udp(1, 53);
        let first6 = from_to(true, 0, 1).fragment6(1, 0, true).udp(1, 53).payload_len(8);
        let later6 =
            from_to(true, 0, 1).fragment6(1, 64, false).protocol(IpProtocol::UDP).payload_len(8);
        assert!(passes(&mut rig, 0, 1, &options(60)));
        assert!(passes(&mut rig, 0, 1, &first6));
        assert!(passes(&mut rig, 0, 1, &later6));
        rig.cli("set acl-plugin skip-ipv6-extension-header 60 0");
        assert!(!passes(&mut rig, 0, 1, &options(60)));
        rig.cli("set acl-plugin l4-match-nonfirst-fragment 0");
        assert!(!passes(&mut rig, 0, 1, &later) && passes(&mut rig, 0, 1, &first));
        assert!(!passes(&mut rig, 0, 1, &later6));
    }
}

/// Packets in one vector are judged together, in the fast path and in the nodes.
#[suite::test]
fn vectors_are_judged_packet_by_packet() {
    for (graph, direction, reflect) in [
        (false, "input", ""),
        (true, "input", ""),
        (true, "output", ""),
        (false, "input", "+reflect"),
        (true, "output", "+reflect"),
    ] {
        let mut rig = routers(2, graph);
        rig.cli(&format!(
            "set acl-plugin acl permit{reflect} proto 17 dport 0-99, deny proto 17 dport 100-149, \
             permit proto 17 sport 3"
        ));
        let port = if direction == "input" { "p0" } else { "p1" };
        rig.cli(&format!("set acl-plugin interface {port} {direction} acl 0"));
        let packet = |port: u16| from_to(false, 0, 1).udp(port % 4, port).payload([port as u8; 9]);
        let frames: Vec<_> = (0..200).map(|port| packet(port).build()).collect();
        let wanted = (0..200).filter(|port| *port < 100 || *port >= 150 && port % 4 == 3).count();
        for n in 1..=2 {
            let sent = rig.pass_all(0, &frames);
            assert_eq!(sent.len(), wanted, "{graph} {direction} {reflect}");
            let node = format!("acl-plugin-{}-ip4-fa", direction.trim_end_matches("put"));
            let counts = ["ACL permit packets", "ACL deny packets", "checked packets"];
            let counts = counts.map(|counter| rig.count(&node, counter));
            assert_eq!(counts, [wanted as u64 * n, (200 - wanted as u64) * n, 200 * n]);
        }
    }
}

#[suite::test]
fn tags_with_blanks_and_quotes_come_back() {
    let mut rig = routers(1, false);
    for (n, (written, tag)) in
        [("'a b'", "a b"), ("'say \"no\"'", "say \"no\""), ("\"it's\"", "it's"), ("''", "")]
            .into_iter()
            .enumerate()
    {
        rig.cli(&format!("set acl-plugin acl permit tag {written}"));
        let text = rig.cli(&format!("show acl-plugin acl index {n}"));
        assert!(text.contains(&format!("count 1 tag {{{tag}}}")), "{text}");
        let world = rig.world();
        let acl = world.get::<crate::control::Acls>().get(n as u32).expect("an ACL");
        assert_eq!(acl.tag, tag);
    }
}

#[suite::test]
fn words_are_read_and_errors_say_where() {
    let mut rig = routers(1, false);
    for (line, code, text) in [
        (
            "set acl-plugin acl permitt src 10.0.0.0/8 dst 10.0.0.0/8",
            -1,
            "expected permit, deny or permit+reflect",
        ),
        ("set acl-plugin acl permit src 10.0.0.0 dst 10.0.0.0/8", -1, "expected a network"),
        ("set acl-plugin acl permit src 10.0.0.1/8 dst 10.0.0.0/8", -57, "bits behind its prefix"),
        ("set acl-plugin acl permit src 10.0.0.0/8 dst 10.0.0.1/8", -58, "bits behind its prefix"),
        ("set acl-plugin acl permit src 10.0.0.0/8 dst 2001:db8::/32", -57, "two protocols"),
        ("set acl-plugin acl permit sport 9-3", -8, "the lower number first"),
        ("set acl-plugin acl permit proto 300", -1, "expected a protocol's number"),
        ("set acl-plugin acl permit sport", -1, "at the end of the line"),
        ("set acl-plugin acl permit colour 5", -1, "expected a word of a rule"),
        ("set acl-plugin acl index 9 permit", -6, "there is no ACL 9"),
        ("set acl-plugin interface p0 input acl 9", -6, "there is no ACL 9"),
        ("show acl-plugin acl index 9", -6, "there is no ACL 9"),
    ] {
        let (is, said) = rig.refused(line);
        assert_eq!(is, code, "{line}: {said}");
        assert!(said.contains(text), "{line}: {said}");
    }
}
