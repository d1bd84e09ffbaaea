// SPDX-License-Identifier: Apache-2.0
//! Zones, policies, rules, sets, drafts.

use super::*;
use wire::{
    Header, Icmp6Type, IcmpHeader, IpProtocol, Ipv4Header, Ipv6Header, TcpFlags, TcpHeader,
};

#[suite::test]
fn between_zones_a_policy_decides_and_without_one_packets_are_dropped() {
    for graph in [false, true] {
        for v6 in [false, true] {
            let mut rig = zones(graph);
            let udp = |port| from_to(v6, 0, 1).udp(1000, port);
            assert!(!passes(&mut rig, 0, 1, &udp(53)), "no policy");
            // An interface in no zone isn't checked.
            assert!(passes(&mut rig, 0, 2, &from_to(v6, 0, 2).udp(1, 2)));
            assert!(passes(&mut rig, 2, 1, &from_to(v6, 2, 1).udp(1, 2)));
            rig.cli("firewall policy from lan to wan");
            rig.cli("firewall rule from lan to wan 10 accept proto udp dport 53");
            assert!(passes(&mut rig, 0, 1, &udp(53)) && !passes(&mut rig, 0, 1, &udp(54)));
            rig.cli("firewall rule from lan to wan 5 drop dport 53");
            rig.cli("firewall rule from lan to wan 4 accept sport 1000 dport 54");
            rig.seconds(1);
            assert!(!passes(&mut rig, 0, 1, &udp(53)) && passes(&mut rig, 0, 1, &udp(54)));
            rig.cli("firewall rule from lan to wan 5 del");
            assert!(passes(&mut rig, 0, 1, &udp(53)));
            // The other direction has no policy: answers pass, nothing else.
            assert!(passes(&mut rig, 1, 0, &from_to(v6, 1, 0).udp(53, 1000)));
            assert!(!passes(&mut rig, 1, 0, &from_to(v6, 1, 0).udp(53, 1001)));
            let node = if v6 { "ip6-firewall-output" } else { OUT };
            assert_eq!(rig.count(node, "no_policy"), 2);
            assert_eq!(rig.count(node, "policy"), 2);
            rig.cli("set interface firewall zone p1 none");
            assert!(passes(&mut rig, 0, 1, &udp(55)), "no zone");
        }
    }
}

#[suite::test]
fn within_a_zone_packets_pass_unless_it_has_a_policy() {
    let mut rig = zones(false);
    rig.cli("set interface firewall zone p1 lan");
    let udp = |port| from_to(false, 0, 1).udp(1, port);
    assert!(passes(&mut rig, 0, 1, &udp(53)));
    rig.cli("firewall policy from lan to lan");
    rig.cli("firewall rule from lan to lan 1 accept dport 53");
    assert!(passes(&mut rig, 0, 1, &udp(53)) && !passes(&mut rig, 0, 1, &udp(54)));
    assert!(passes(&mut rig, 1, 0, &from_to(false, 1, 0).udp(53, 1)));
}

/// The router is a zone; its errors and what keeps links going pass always.
#[suite::test]
fn the_router_is_a_zone() {
    for graph in [false, true] {
        let mut rig = zones(graph);
        let ping = from_to_address(false, 0, "10.0.0.1").icmp_echo(7, 1);
        assert!(rig.pass(0, &ping.build()).is_empty());
        assert_eq!(rig.count(LOCAL, "no_policy"), 1);
        rig.cli("firewall policy from lan to self");
        rig.cli("firewall rule from lan to self 1 accept proto icmp icmp 8");
        assert!(passes(&mut rig, 0, 0, &ping), "the answer is of its session");
        assert_eq!(rig.count(OUT, "session"), 1);
        // Neighbour discovery reaches the router, an echo of IPv6 doesn't.
        let icmp6 = |kind| {
            from_to_address(true, 0, "2001:db8::1").ttl(255).icmp6(kind, 0, 0).payload_len(16)
        };
        rig.pass(0, &icmp6(Icmp6Type::NEIGHBOR_SOLICITATION).build());
        assert_eq!(rig.count("ip6-firewall-local", "policy"), 0);
        rig.pass(0, &icmp6(Icmp6Type::ECHO_REQUEST).build());
        assert_eq!(rig.count("ip6-firewall-local", "policy"), 1);
        // An error of the router about a packet that nobody asked for.
        let expired = from_to(false, 0, 2).ttl(1).udp(1, 2).build();
        assert_eq!(rig.pass(0, &expired).len(), 1);
    }
}

#[suite::test]
fn a_rejected_sender_is_told() {
    for graph in [false, true] {
        for v6 in [false, true] {
            let mut rig = zones(graph);
            rig.cli("firewall policy from lan to wan default reject");
            let offset = if v6 { 14 + Ipv6Header::LEN } else { 14 + 20 };
            let sent = rig.pass(0, &from_to(v6, 0, 1).udp(1, 2).payload_len(20).build());
            let [(0, frame)] = &sent[..] else { panic!("{sent:?}") };
            let icmp = IcmpHeader::view(&frame[offset..]).expect("ICMP");
            // RFC 1812 5.2.7.1, RFC 4443 3.1: communication administratively prohibited.
            assert_eq!((icmp.kind, icmp.code), if v6 { (1, 1) } else { (3, 13) });
            let syn = from_to(v6, 0, 1).tcp(1000, 80).segment(TcpFlags::SYN, 77, 0);
            let sent = rig.pass(0, &syn.build());
            let [(0, frame)] = &sent[..] else { panic!("{sent:?}") };
            let tcp = TcpHeader::view(&frame[offset..]).expect("TCP");
            assert_eq!((tcp.src_port.get(), tcp.dst_port.get()), (80, 1000));
            assert_eq!(tcp.flags, TcpFlags::RST | TcpFlags::ACK);
            assert_eq!(tcp.ack.get(), 78);
            if !v6 {
                let ip = Ipv4Header::view(&frame[14..]).expect("IPv4");
                assert_eq!(ip.protocol, IpProtocol::TCP);
            }
        }
    }
}

/// Rules with sets follow their members.
#[suite::test]
fn sets_change_without_their_rules() {
    for v6 in [false, true] {
        let mut rig = zones(false);
        for line in [
            "firewall set servers add network 192.0.2.0/24",
            "firewall set ports add port 53 100-200",
            "firewall set ways add interface p2",
            "firewall policy from lan to wan",
            "firewall rule from lan to wan 1 accept proto udp dst servers dport ports",
            "firewall rule from lan to wan 2 accept proto udp out ways",
        ] {
            rig.cli(line);
        }
        let udp = |port| from_to(v6, 0, 1).udp(1, port);
        assert!(!passes(&mut rig, 0, 1, &udp(53)));
        let network = if v6 { "2001:db8:1::/48" } else { "10.0.1.2" };
        rig.cli(&format!("firewall set servers add network {network}"));
        assert!(passes(&mut rig, 0, 1, &udp(53)) && passes(&mut rig, 0, 1, &udp(200)));
        assert!(!passes(&mut rig, 0, 1, &udp(99)) && !passes(&mut rig, 0, 1, &udp(201)));
        rig.cli("firewall set ports remove port 53");
        rig.seconds(1);
        assert!(!passes(&mut rig, 0, 1, &udp(53)), "the session is judged again");
        rig.cli("firewall set ways add interface p1");
        assert!(passes(&mut rig, 0, 1, &udp(53)));
        let refused = [
            ("firewall set ways del", "rule 2 from lan to wan names set ways"),
            ("firewall set ways add port 1", "is a set of interfaces, not of ports"),
            ("firewall rule from lan to wan 3 drop src none-such", "there is no set none-such"),
            ("firewall rule from lan to wan 3 drop src ways", "expected one of networks"),
            ("firewall set self.1 add network 10.0.0.1/8", "has bits behind its prefix"),
            ("firewall rule from lan to wan 3 drop dport 5 proto gre", "expected proto tcp or udp"),
            ("firewall rule from lan to wan 3 drop src 10.0.0.1 dst ::1", "two IP versions"),
        ];
        for (line, why) in refused {
            let error = rig.refused(line).1;
            assert!(error.contains(why), "{line}: {error}");
        }
        // An interface that is deleted is in no set and in no zone.
        rig.delete_port(1);
        assert!(!rig.cli("show firewall sets ways").contains("p1"));
        assert!(!rig.cli("show firewall zones").contains("p1"));
        rig.cli("firewall policy from lan to wan del");
        rig.cli("firewall zone wan del");
    }
}

/// Changes of a draft come into force together; rules that stay keep their counters.
#[suite::test]
fn a_draft_comes_into_force_as_a_whole() {
    let mut rig = zones(false);
    rig.cli("firewall policy from lan to wan");
    rig.cli("firewall rule from lan to wan 1 accept dport 53");
    rig.cli("firewall rule from lan to wan 2 drop dport 54");
    let udp = |port| from_to(false, 0, 1).udp(1, port);
    assert!(passes(&mut rig, 0, 1, &udp(53)) && !passes(&mut rig, 0, 1, &udp(54)));
    rig.cli("firewall begin");
    assert!(rig.refused("firewall begin").1.contains("a draft is open"));
    rig.cli("firewall draft rule from lan to wan all del");
    rig.cli("firewall draft rule from lan to wan 1 accept dport 53");
    rig.cli("firewall draft rule from lan to wan 2 accept dport 54");
    rig.cli("firewall draft set web add port 80");
    rig.cli("firewall draft rule from lan to wan 3 accept dport web");
    assert!(!passes(&mut rig, 0, 1, &udp(54)) && !passes(&mut rig, 0, 1, &udp(80)));
    let shown = rig.cli("show firewall policies draft");
    assert!(shown.contains("from lan to wan (draft):"), "{shown}");
    rig.cli("firewall commit");
    assert!(passes(&mut rig, 0, 1, &udp(54)) && passes(&mut rig, 0, 1, &udp(80)));
    let json: serde_json::Value =
        serde_json::from_str(&rig.cli("show firewall policies -j")).expect("JSON");
    let packets: Vec<_> =
        json[0]["rules"].as_array().expect("rules").iter().map(|rule| &rule["packets"]).collect();
    assert_eq!(packets, [1, 1, 1], "{json}");
    assert_eq!(json[0]["rules"][0]["last_s_ago"], 0);
    rig.cli("firewall begin");
    rig.cli("firewall draft policy from lan to wan del");
    rig.cli("firewall abort");
    assert!(passes(&mut rig, 0, 1, &udp(53)));
    assert!(rig.refused("firewall commit").1.contains("no draft is open"));
}

#[suite::test]
fn explain_names_the_rule() {
    let mut rig = zones(false);
    for line in [
        "firewall set web add port 80 443",
        "firewall policy from lan to wan default reject",
        "firewall rule from lan to wan 10 accept name web proto tcp dport web",
        "firewall rule from lan to wan 20 drop src 10.0.0.0/24 proto icmp",
    ] {
        rig.cli(line);
    }
    for (packet, wanted) in [
        ("10.0.0.2 10.0.1.2 tcp dport 80 from lan to wan", "accepted by rule 10 (web) of"),
        ("2001:db8::1 2001:db8:1::2 tcp dport 443 from p0 to p1", "accepted by rule 10 (web) of"),
        ("10.0.0.2 10.0.1.2 icmp from p0 to wan", "dropped by rule 20 of the policy"),
        ("10.0.0.2 10.0.1.2 udp dport 53 from lan to wan", "rejected by the default"),
        ("10.0.0.2 10.0.1.2 udp from wan to lan", "dropped: there is no policy from wan to lan"),
        ("10.0.0.2 10.0.1.2 udp from lan to lan", "not checked: within zone lan"),
        ("10.0.0.2 10.0.1.2 udp from p2 to wan", "not checked: an interface is in no zone"),
    ] {
        let said = rig.cli(&format!("firewall explain {packet}"));
        assert!(said.contains(wanted), "{packet}: {said}");
    }
    let json = rig.cli("firewall explain 10.0.0.2 10.0.1.2 tcp dport 80 from lan to wan -j");
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!((&json["rule"], &json["action"]), (&10.into(), &"accept".into()));
    let refused = rig.refused("firewall explain 10.0.0.2 ::1 tcp from lan to wan");
    assert!(refused.1.contains("two IP versions"), "{refused:?}");
}
