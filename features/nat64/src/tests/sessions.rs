// SPDX-License-Identifier: Apache-2.0
//! Bindings and sessions.

use super::*;

const SLOW: &str = "nat64-in2out-slowpath";

/// Packets of a user get an address of the pool, and answers find the user again.
#[suite::test]
fn users_reach_the_world_and_answers_come_back() {
    let mut rig = with_pool();
    let out = || of_user(USER, HOST6);
    let asks =
        [syn(out(), 5000, 80), out().udp(5000, 53).payload("question"), out().icmp6_echo(5000, 1)];
    for (kind, ask) in ["tcp", "udp", "icmp"].into_iter().zip(asks) {
        let mut ports = std::collections::BTreeSet::new();
        for _ in 0..3 {
            let out = one(&mut rig, 0, &ask);
            assert_eq!((out.port, out.from.0), (1, addr(PUBLIC)));
            assert_eq!(out.to.0, addr(HOST));
            assert!(out.from.1 >= 1024 && out.from.1 != 5000, "{out:?}");
            ports.insert(out.from.1);
            let back = of_world(HOST, PUBLIC);
            let answer = match kind {
                "tcp" => back.tcp(80, out.from.1).segment(TcpFlags::SYN | TcpFlags::ACK, 1, 2),
                "udp" => back.udp(53, out.from.1).payload("answer"),
                _ => back.icmp_echo_reply(out.from.1, 1),
            };
            let back = one(&mut rig, 1, &answer);
            assert_eq!((back.port, back.from.0, back.to), (0, addr(HOST6), end(USER, 5000)));
        }
        assert_eq!(ports.len(), 1, "a binding keeps its port");
        let count = |name: String, port: usize| {
            rig.bench.world.stats.simple(&name).sum(rig.ports[port].at())
        };
        assert_eq!(count(format!("/nat64/in2out/{kind}"), 0), 3);
        assert_eq!(count(format!("/nat64/out2in/{kind}"), 1), 3);
    }
    assert_eq!((total(&rig, "bibs"), total(&rig, "sessions")), (3, 3));
    let said = rig.cli("show nat64 bib all");
    assert!(said.contains(" 2001:db8::2 5000 192.0.2.7 "), "{said}");
    assert!(said.contains("protocol UDP vrf 0 dynamic 1 sessions"), "{said}");
    let said = rig.cli("show nat64 session table tcp");
    assert!(said.contains("64:ff9b::a00:102 80 192.0.2.7:"), "{said}");
    assert!(said.contains("protocol TCP vrf 0 established timeout in 74"), "{said}");
}

/// A binding serves all hosts of the world (RFC 6146 3.5.1.1), each by a session of its own.
#[suite::test]
fn a_binding_is_one_for_all_hosts() {
    let mut rig = with_pool();
    let first = one(&mut rig, 0, &of_user(USER, HOST6).udp(5000, 53));
    let other = one(&mut rig, 0, &of_user(USER, "64:ff9b::10.0.1.3").udp(5000, 54));
    assert_eq!(first.from, other.from);
    assert_eq!((total(&rig, "bibs"), total(&rig, "sessions")), (1, 2));
    // Any host reaches the user by it.
    let back = one(&mut rig, 1, &of_world("10.0.1.9", PUBLIC).udp(7, first.from.1));
    assert_eq!((back.from, back.to), (end("64:ff9b::10.0.1.9", 7), end(USER, 5000)));
    assert_eq!(total(&rig, "sessions"), 3);
    let another = one(&mut rig, 0, &of_user("2001:db8:0::3", HOST6).udp(5000, 53));
    assert_ne!(first.from, another.from);
    let unknown = of_world(HOST, PUBLIC).udp(53, first.from.1 ^ 1);
    assert!(is_dropped(&mut rig, 1, &unknown));
    assert_eq!(rig.count("nat64-out2in", "no translation"), 1);
}

/// Only a SYN, an echo request or a datagram begins something.
#[suite::test]
fn not_everything_makes_a_session() {
    let mut rig = with_pool();
    let out = || of_user(USER, HOST6);
    assert!(is_dropped(&mut rig, 0, &out().tcp(1, 2).segment(TcpFlags::ACK, 1, 1)));
    assert!(is_dropped(&mut rig, 0, &reply6(out(), 7)));
    assert_eq!(rig.count(SLOW, "no translation"), 2);
    let other = out().icmp6(wire::Icmp6Type::MLD_QUERY, 0, 0).payload_len(16);
    assert!(is_dropped(&mut rig, 0, &other));
    assert_eq!(rig.count(SLOW, "unsupported protocol"), 1);
    // RFC 6146 3.5: the world's own addresses, and those that mean nothing elsewhere.
    assert!(is_dropped(&mut rig, 0, &of_user("64:ff9b::1.2.3.4", HOST6).udp(1, 2)));
    assert_eq!(rig.count(SLOW, "no translation"), 3);
    let drops = rig.bench.world.stats.simple("/nat64/in2out/drops");
    assert_eq!(drops.sum(rig.ports[0].at()), 4);
    assert_eq!(total(&rig, "bibs"), 0);
}

/// Packets that aren't for a host of the world are routed, also those for the router itself.
#[suite::test]
fn other_packets_pass() {
    let mut rig = with_pool();
    let there = one(&mut rig, 0, &of_user(USER, "2001:db8:1::2").udp(5000, 53));
    assert_eq!((there.port, there.from), (1, end(USER, 5000)));
    let pong = one(&mut rig, 0, &of_user(USER, "2001:db8:0::1").icmp6_echo(9, 1));
    assert_eq!((pong.port, pong.to.0), (0, addr(USER)));
    let dhcp = of_world(HOST, "10.0.1.1").udp(67, 68);
    rig.pass(1, &dhcp.build());
    assert_eq!(rig.count("nat64-out2in", "no translation"), 0);
}

/// The prefix of a user's table, else that of table 0, else the well-known one.
#[suite::test]
fn prefixes_go_by_tables() {
    let mut rig = router(&[
        "ip6 table add 10",
        "nat64 add pool address 192.0.2.7",
        "nat64 add prefix 2001:dba:64::/32",
        "nat64 add prefix 2001:db8:122:300::/56 tenant-vrf 10",
    ]);
    let to = |rig: &mut Rig, to: &str| one(rig, 0, &of_user(USER, to).udp(5000, 53)).to.0;
    assert_eq!(to(&mut rig, "2001:dba:a00:102::"), addr(HOST));
    // It was replaced.
    rig.cli("nat64 add prefix 2001:db9::/40");
    assert_eq!(rig.cli("show nat64 prefix").lines().next(), Some(" 2001:db9::/40 tenant-vrf 0"));
    assert_eq!(to(&mut rig, "2001:db9:a:1:2::"), addr(HOST));
    let back = |rig: &mut Rig| {
        let port = one(rig, 0, &of_user(USER, "2001:db9:a:1:2::").udp(5000, 53)).from.1;
        one(rig, 1, &of_world(HOST, PUBLIC).udp(53, port)).from.0
    };
    assert_eq!(back(&mut rig), addr("2001:db9:a:1:2::"));
    rig.cli("nat64 add prefix 2001:db9::/40 del");
    assert_eq!(to(&mut rig, HOST6), addr(HOST));
    assert_eq!(rig.refused("nat64 add prefix 2001:db9::/40 del").0, -6);
    for wrong in ["2001:db9::/33", "2001:db9::/128", "2001:db8:0:0:ff00::/96"] {
        assert_eq!(rig.refused(&format!("nat64 add prefix {wrong}")).0, -7, "{wrong}");
    }
}

/// Users of a table have its addresses, and else those of no table.
#[suite::test]
fn addresses_go_by_tables() {
    let mut rig = router(&[
        "ip6 table add 10",
        "nat64 add pool address 192.0.2.7",
        "nat64 add pool address 192.0.2.8 tenant-vrf 10",
        "nat64 add pool address 192.0.2.9 tenant-vrf 11",
    ]);
    assert_eq!(one(&mut rig, 0, &of_user(USER, HOST6).udp(5, 53)).from.0, addr("192.0.2.7"));
    rig.cli("set interface ip address del p0 2001:db8::1/64");
    rig.cli("set interface ip6 table p0 10");
    rig.cli("set interface ip address p0 2001:db8:5::1/64");
    let seen = one(&mut rig, 0, &of_user("2001:db8:5::2", HOST6).udp(5, 53));
    assert_eq!(seen.from.0, addr("192.0.2.8"));
}

/// A static binding is there at once, for the world too, and stays without sessions.
#[suite::test]
fn static_bindings_stay() {
    let mut rig = with_pool();
    rig.cli("nat64 add static bib 2001:db8::2 80 192.0.2.7 8080 tcp");
    assert_eq!(total(&rig, "bibs"), 1);
    let open = || syn(of_world(HOST, PUBLIC), 4000, 8080);
    assert_eq!(one(&mut rig, 1, &open()).to, end(USER, 80));
    assert!(is_dropped(&mut rig, 1, &of_world("10.0.1.3", PUBLIC).tcp(4000, 8080)));
    let back = of_user(USER, HOST6).tcp(80, 4000).segment(TcpFlags::SYN | TcpFlags::ACK, 1, 1);
    assert_eq!(one(&mut rig, 0, &back).from, end(PUBLIC, 8080));
    for (line, code) in [
        ("nat64 add static bib 2001:db8::2 80 192.0.2.7 8081 tcp", -81),
        ("nat64 add static bib 2001:db8::3 80 192.0.2.7 8080 tcp", -7),
        ("nat64 add static bib 2001:db8::3 80 192.0.2.7 8080 tcp del", -6),
        ("nat64 add static bib 2001:db8::3 80 192.0.2.7 8080 47", -7),
        ("nat64 add static bib 2001:db8::3 0 192.0.2.7 0 udp", -7),
    ] {
        assert_eq!(rig.refused(line).0, code, "{line}");
    }
    // The user's end has a binding of its own; the other end is taken by a user.
    let taken = one(&mut rig, 0, &of_user(USER, HOST6).udp(5, 53)).from.1;
    let line = format!("nat64 add static bib 2001:db8::3 5 192.0.2.7 {taken} udp");
    assert_eq!(rig.refused(&line).0, -7);
    assert_eq!(rig.refused("nat64 add static bib 2001:db8::2 5 192.0.2.7 99 udp").0, -81);
    rig.cli("set nat64 timeout tcp-established 9 tcp-transitory 8 udp 7");
    rig.seconds(12);
    assert_eq!((total(&rig, "bibs"), total(&rig, "sessions")), (1, 0));
    one(&mut rig, 1, &open());
    rig.cli("nat64 add static bib 2001:db8::2 80 192.0.2.7 8080 tcp del");
    rig.bench.settle();
    assert_eq!((total(&rig, "bibs"), total(&rig, "sessions")), (0, 0));
    assert!(is_dropped(&mut rig, 1, &open()));
}

/// Packets between users are translated on their way to the world, and on the way back.
#[suite::test]
fn users_reach_each_other() {
    let mut rig = with_pool();
    rig.cli("nat64 add static bib 2001:db8::3 22 192.0.2.7 4022 tcp");
    let out = syn(of_user(USER, "64:ff9b::192.0.2.7"), 1234, 4022);
    let there = one(&mut rig, 0, &out);
    let (nat, port) = there.from;
    assert_eq!((nat, there.to), (addr("64:ff9b::192.0.2.7"), end("2001:db8::3", 22)));
    let back = of_user("2001:db8::3", "64:ff9b::192.0.2.7").tcp(22, port);
    let seen = one(&mut rig, 0, &back.segment(TcpFlags::SYN | TcpFlags::ACK, 1, 2));
    assert_eq!((seen.from, seen.to), (end("64:ff9b::192.0.2.7", 4022), end(USER, 1234)));
    let count = rig.bench.world.stats.simple("/nat64/in2out/tcp").sum(rig.ports[0].at());
    assert_eq!(count, 2);
    let nobody = of_user(USER, "64:ff9b::192.0.2.7").udp(1, 68);
    assert!(is_dropped(&mut rig, 0, &nobody));
    assert_eq!(rig.count("nat64-hairpin", "no translation"), 1);
}

/// Protocols without ports have an address for themselves: that of the user's other bindings.
#[suite::test]
fn other_protocols_have_an_address() {
    let mut rig = router(&["nat64 add pool address 192.0.2.7 - 192.0.2.8"]);
    let udp = one(&mut rig, 0, &of_user(USER, HOST6).udp(5, 53)).from.0;
    let gre = |from: &str| of_user(from, HOST6).gre().payload("some bytes");
    let first = one(&mut rig, 0, &gre(USER));
    assert_eq!((first.from.0, first.protocol), (udp, IpProtocol::GRE));
    let back = one(&mut rig, 1, &of_world(HOST, &udp.to_string()).gre().payload("more bytes"));
    assert_eq!((back.to.0, back.from.0), (addr(USER), addr(HOST6)));
    let second = one(&mut rig, 0, &gre("2001:db8::3"));
    assert_ne!(second.from.0, udp, "another user's");
    assert!(is_dropped(&mut rig, 0, &gre("2001:db8::4")));
    assert_eq!(rig.count(SLOW, "out of ports"), 1);
    rig.cli("set nat64 timeout udp 5");
    rig.seconds(8);
    one(&mut rig, 0, &gre("2001:db8::4"));
}

/// One interface may lead to both.
#[suite::test]
fn one_arm_is_enough() {
    let mut rig = bare(1);
    for line in [
        "nat64 plugin enable",
        "set interface nat64 in p0",
        "set interface nat64 out p0",
        "nat64 add pool address 192.0.2.7",
    ] {
        rig.cli(line);
    }
    let out = one(&mut rig, 0, &of_user(USER, "64:ff9b::10.0.0.2").udp(5, 53));
    assert_eq!((out.port, out.to), (0, end("10.0.0.2", 53)));
    let back = pkt::ether(peer_mac(0), port_mac(0)).ip4("10.0.0.2", PUBLIC).udp(53, out.from.1);
    assert_eq!(one(&mut rig, 0, &back).to, end(USER, 5));
}

/// The pool follows the address of an interface.
#[suite::test]
fn the_pool_follows_an_interface() {
    let mut rig = router(&["nat64 add interface address p1"]);
    let out = of_user(USER, HOST6).udp(5, 53);
    assert_eq!(one(&mut rig, 0, &out).from.0, addr("10.0.1.1"));
    rig.cli("set interface ip address del p1 10.0.1.1/24");
    assert_eq!(rig.cli("show nat64 pool"), "");
    rig.bench.settle();
    assert_eq!(total(&rig, "bibs"), 0);
    rig.cli("set interface ip address p1 10.0.1.5/24");
    assert_eq!(rig.cli("show nat64 pool"), " 10.0.1.5 of interface p1\n");
    assert_eq!(rig.refused("nat64 add interface address p1").0, -81);
    rig.cli("nat64 add interface address p1 del");
    assert_eq!(rig.refused("nat64 add interface address p1 del").0, -6);
    assert_eq!(rig.cli("show nat64 pool"), "");
    assert!(is_dropped(&mut rig, 0, &out));
}

/// Nothing is left of the feature when it is disabled.
#[suite::test]
fn nothing_is_left_behind() {
    let mut rig = with_pool();
    rig.cli("nat64 add static bib 2001:db8::2 80 192.0.2.7 8080 tcp vrf 9");
    one(&mut rig, 0, &of_user(USER, HOST6).udp(5, 53));
    assert!(rig.cli("show ip fib").contains("192.0.2.7/32"));
    rig.cli("nat64 plugin disable");
    rig.bench.settle();
    assert!(!rig.cli("show ip fib").contains("192.0.2."));
    for (arc, port) in [("ip6-unicast", 0), ("ip4-unicast", 1)] {
        let arc = rig.bench.world.arc(arc).expect("there");
        assert!(rig.bench.world.features_of(arc, rig.ports[port]).is_empty());
    }
    assert_eq!((total(&rig, "bibs"), total(&rig, "sessions")), (0, 0));
    for line in ["nat64 add pool address 192.0.2.7", "set interface nat64 in p0"] {
        assert_eq!(rig.refused(line).0, -126, "{line}");
    }
    assert_eq!(rig.refused("nat64 plugin disable").0, -169);
    rig.cli("nat64 plugin enable");
    assert_eq!(rig.refused("nat64 plugin enable").0, -170);
    assert_eq!(rig.cli("show nat64 bib all"), "");
}
