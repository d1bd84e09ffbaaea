// SPDX-License-Identifier: Apache-2.0
//! Static mappings, and packets between users.

use super::*;

/// A host with an address of its own: all protocols, both ways.
#[suite::test]
fn addresses_are_mapped() {
    let mut rig = router(&["nat44 ei add static mapping local 10.0.0.2 external 192.0.2.9"]);
    let out = || packet(0, "10.0.0.2", "10.0.1.2");
    let back = || packet(1, "10.0.1.2", "192.0.2.9");
    for (ask, answer) in [
        (syn(out(), 5000, 80), back().tcp(80, 5000).segment(TcpFlags::ACK, 1, 2)),
        (out().udp(5000, 53).payload("question"), back().udp(53, 5000).payload("answer")),
        (out().icmp_echo(5000, 1), back().icmp_echo_reply(5000, 1)),
    ] {
        assert_eq!(one(&mut rig, 0, &ask).from, end("192.0.2.9", 5000));
        assert_eq!(one(&mut rig, 1, &answer).to, end("10.0.0.2", 5000));
    }
    // The world begins; it pings; protocols without ports make no sessions.
    assert_eq!(one(&mut rig, 1, &syn(back(), 4000, 22)).to, end("10.0.0.2", 22));
    assert_eq!(one(&mut rig, 1, &back().icmp_echo(77, 1)).to, end("10.0.0.2", 77));
    let reply = packet(0, "10.0.0.2", "10.0.1.2").icmp_echo_reply(77, 1);
    assert_eq!(one(&mut rig, 0, &reply).from, end("192.0.2.9", 77));
    assert_eq!(stat(&rig, "total-sessions", 0), 5);
    assert_eq!(one(&mut rig, 0, &out().gre().payload("x")).from.0, addr("192.0.2.9"));
    assert_eq!(one(&mut rig, 1, &back().gre().payload("x")).to.0, addr("10.0.0.2"));
    assert_eq!(stat(&rig, "total-sessions", 0), 5);
    assert_eq!(stat(&rig, "in2out/slowpath/other", rig.ports[0].at()), 1);
    let said = rig.cli("show nat44 ei sessions");
    assert!(said.contains("10.0.0.2: 0 dynamic translations, 5 static translations"), "{said}");
    rig.cli("nat44 ei add static mapping local 10.0.0.2 external 192.0.2.9 del");
    assert_eq!(stat(&rig, "total-sessions", 0), 0, "they end with their mapping");
    check(&mut rig);
}

/// A port of a host: its external address is one of the pool.
#[suite::test]
fn ports_are_mapped() {
    let mut rig = with_pool();
    let line = "nat44 ei add static mapping tcp local 10.0.0.2 8080 external 192.0.2.8 80";
    assert!(refused(&mut rig, line).contains("isn't in the pool"));
    // A session of the host's own port ends, and the port of the world goes to the mapping.
    one(&mut rig, 0, &syn(packet(0, "10.0.0.2", "10.0.1.2"), 8080, 80));
    one(&mut rig, 0, &syn(packet(0, "10.0.0.2", "10.0.1.2"), 8081, 80));
    rig.cli("nat44 ei add static mapping tcp local 10.0.0.2 8080 external 192.0.2.7 80");
    assert_eq!(stat(&rig, "total-sessions", 0), 1);
    let seen = one(&mut rig, 1, &syn(packet(1, "10.0.1.2", PUBLIC), 4000, 80));
    assert_eq!(seen.to, end("10.0.0.2", 8080));
    let seen = one(&mut rig, 0, &syn(packet(0, "10.0.0.2", "10.0.1.2"), 8080, 4000));
    assert_eq!(seen.from, end(PUBLIC, 80));
    assert!(is_dropped(&mut rig, 1, &packet(1, "10.0.1.2", PUBLIC).udp(4000, 80)));
    let json = rig.cli("show nat44 ei static mappings -j");
    assert!(
        json.contains("\"external_port\":80") || json.contains("\"external_port\": 80"),
        "{json}"
    );
}

/// A new mapping of an address ends all sessions of the host's own packets.
#[suite::test]
fn mappings_end_the_hosts_own_sessions() {
    let mut rig = with_pool();
    for port in [1, 2, 3] {
        one(&mut rig, 0, &packet(0, "10.0.0.2", "10.0.1.2").udp(port, 53));
    }
    one(&mut rig, 0, &packet(0, "10.0.0.3", "10.0.1.2").udp(1, 53));
    rig.cli("nat44 ei add static mapping local 10.0.0.2 external 192.0.2.9");
    assert_eq!((stat(&rig, "total-users", 0), stat(&rig, "total-sessions", 0)), (1, 1));
    assert_eq!(
        one(&mut rig, 0, &packet(0, "10.0.0.2", "10.0.1.2").udp(1, 53)).from,
        end("192.0.2.9", 1)
    );
}

/// Packets of an identity mapping pass as they are, without sessions.
#[suite::test]
fn identities_pass() {
    let mut rig = with_pool();
    rig.cli("nat44 ei add identity mapping 10.0.0.2");
    let seen = one(&mut rig, 0, &packet(0, "10.0.0.2", "10.0.1.2").udp(5000, 53));
    assert_eq!(seen.from, end("10.0.0.2", 5000));
    let seen = one(&mut rig, 1, &packet(1, "10.0.1.2", "10.0.0.2").udp(53, 5000));
    assert_eq!((seen.port, seen.to), (0, end("10.0.0.2", 5000)));
    assert_eq!(stat(&rig, "total-sessions", 0), 0);
}

/// Two users reach each other by the addresses that the world knows (RFC 4787 6).
#[suite::test]
fn users_reach_each_other() {
    let mut rig = with_pool();
    rig.cli("nat44 ei add static mapping tcp local 10.0.0.30 8080 external 192.0.2.7 80");
    let seen = one(&mut rig, 0, &syn(packet(0, "10.0.0.2", PUBLIC), 5000, 80));
    assert_eq!((seen.port, seen.from.0, seen.to), (0, addr(PUBLIC), end("10.0.0.30", 8080)));
    assert_ne!(seen.from.1, 5000);
    let both = TcpFlags::SYN | TcpFlags::ACK;
    let answer = packet(0, "10.0.0.30", PUBLIC).tcp(8080, seen.from.1).segment(both, 1, 2);
    let back = one(&mut rig, 0, &answer);
    assert_eq!((back.from, back.to), (end(PUBLIC, 80), end("10.0.0.2", 5000)));
    assert_eq!(stat(&rig, "hairpinning", rig.ports[0].at()), 2);
    // By the port of a session too: anybody who knows it reaches its user.
    let port = one(&mut rig, 0, &packet(0, "10.0.0.2", "10.0.1.2").udp(6000, 53)).from.1;
    let seen = one(&mut rig, 0, &packet(0, "10.0.0.3", PUBLIC).udp(6000, port));
    assert_eq!((seen.from.0, seen.to), (addr(PUBLIC), end("10.0.0.2", 6000)));
    let back = one(&mut rig, 0, &packet(0, "10.0.0.2", PUBLIC).udp(6000, seen.from.1));
    assert_eq!((back.from, back.to), (end(PUBLIC, port), end("10.0.0.3", 6000)));
    check(&mut rig);
}

/// The same with mapped addresses, for all protocols.
#[suite::test]
fn mapped_hosts_reach_each_other() {
    let mut rig = with_pool();
    rig.cli("nat44 ei add static mapping local 10.0.0.30 external 192.0.2.30");
    rig.cli("nat44 ei add static mapping local 10.0.0.31 external 192.0.2.31");
    let ask = || packet(0, "10.0.0.30", "192.0.2.31");
    for (packet, to) in [
        (syn(ask(), 5000, 80), 80),
        (ask().udp(5000, 53), 53),
        (ask().icmp_echo(5000, 1), 5000),
        (ask().gre().payload("x"), 0),
    ] {
        let seen = one(&mut rig, 0, &packet);
        assert_eq!((seen.from.0, seen.to), (addr("192.0.2.30"), end("10.0.0.31", to)));
    }
    // A user pings a mapped host, whose reply has the identifier that the user has chosen.
    let seen = one(&mut rig, 0, &packet(0, "10.0.0.2", "192.0.2.31").icmp_echo(7, 1));
    assert_eq!(seen.to.0, addr("10.0.0.31"));
    // The reply belongs to the session that the request has made, if the host has one.
    rig.cli("nat44 ei add static mapping local 10.0.0.4 external 10.0.0.1");
    let loops = syn(packet(0, "10.0.0.2", "10.0.0.1"), 1, 2);
    let seen = one(&mut rig, 0, &loops);
    assert_eq!(seen.to, end("10.0.0.4", 2));
}

/// A mapping of an address to itself doesn't lead round for ever.
#[suite::test]
fn a_mapping_to_itself_ends() {
    let mut rig = with_pool();
    rig.cli("nat44 ei add static mapping local 10.0.0.1 external 10.0.0.1");
    assert!(sent(&mut rig, 0, &syn(packet(0, "10.0.0.2", "10.0.0.1"), 1, 2)).len() < 2);
}

/// The pool and mappings follow the first address of an interface.
#[suite::test]
fn addresses_of_interfaces_are_followed() {
    let mut rig = router(&["nat44 ei add interface address p1"]);
    rig.cli("nat44 ei add static mapping tcp local 10.0.0.2 8080 external p1 80");
    assert_eq!(
        one(&mut rig, 0, &packet(0, "10.0.0.2", "10.0.1.2").udp(1, 2)).from.0,
        addr("10.0.1.1")
    );
    let ask = |to| syn(packet(1, "10.0.1.2", to), 4000, 80);
    assert_eq!(one(&mut rig, 1, &ask("10.0.1.1")).to, end("10.0.0.2", 8080));
    rig.cli("set interface ip address p1 10.0.1.9/24");
    rig.cli("set interface ip address del p1 10.0.1.1/24");
    assert_eq!(stat(&rig, "total-sessions", 0), 0);
    assert_eq!(one(&mut rig, 1, &ask("10.0.1.9")).to, end("10.0.0.2", 8080));
    rig.cli("set interface ip address del p1 10.0.1.9/24");
    assert!(rig.cli("show nat44 ei addresses").lines().count() == 1);
}

/// Static mappings alone: with sessions, or without any.
#[suite::test]
fn static_mappings_alone() {
    for tracking in [true, false] {
        let mut rig = bare(2);
        let more = if tracking { " connection-tracking" } else { "" };
        rig.cli(&format!("nat44 ei plugin enable static-mapping-only{more}"));
        rig.cli("set interface nat44 ei in p0 out p1");
        rig.cli("nat44 ei add static mapping udp local 10.0.0.2 5000 external 192.0.2.9 53");
        rig.cli("nat44 ei add static mapping local 10.0.0.3 external 192.0.2.10");
        assert!(refused(&mut rig, "nat44 ei add address 192.0.2.7").contains("alone"));
        let seen = one(&mut rig, 0, &packet(0, "10.0.0.2", "10.0.1.2").udp(5000, 9));
        assert_eq!(seen.from, end("192.0.2.9", 53));
        let seen = one(&mut rig, 1, &packet(1, "10.0.1.2", "192.0.2.9").udp(9, 53));
        assert_eq!(seen.to, end("10.0.0.2", 5000));
        let seen = one(&mut rig, 1, &packet(1, "10.0.1.2", "192.0.2.10").icmp_echo(9, 53));
        assert_eq!(seen.to, end("10.0.0.3", 9));
        assert!(is_dropped(&mut rig, 0, &packet(0, "10.0.0.4", "10.0.1.2").udp(5000, 9)));
        assert_eq!(rig.count(SLOW, "no translation"), 1);
        assert!(is_dropped(&mut rig, 1, &packet(1, "10.0.1.2", "192.0.2.9").udp(9, 54)));
        let sessions = if tracking { 2 } else { 0 };
        assert_eq!(stat(&rig, "total-sessions", 0), sessions);
    }
}

/// Packets of the world come by routes to the pool, where no interface has the role "out".
#[suite::test]
fn the_world_comes_by_routes() {
    let mut rig = bare(2);
    rig.cli("nat44 ei plugin enable out2in-dpo");
    rig.cli("set interface nat44 ei in p0");
    rig.cli("nat44 ei add address 192.0.2.7");
    assert!(refused(&mut rig, "set interface nat44 ei out p1").contains("out2in-dpo"));
    let seen = one(&mut rig, 0, &packet(0, "10.0.0.2", "10.0.1.2").udp(5000, 53));
    assert_eq!((seen.port, seen.from.0), (1, addr(PUBLIC)));
    let back = one(&mut rig, 1, &packet(1, "10.0.1.2", PUBLIC).udp(53, seen.from.1));
    assert_eq!((back.port, back.to), (0, end("10.0.0.2", 5000)));
    assert!(is_dropped(&mut rig, 1, &packet(1, "10.0.1.2", PUBLIC).udp(53, 1)));
    rig.cli("nat44 ei plugin disable");
    assert!(!rig.cli("show ip fib").contains("192.0.2.7"));
}
