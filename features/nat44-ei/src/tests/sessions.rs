// SPDX-License-Identifier: Apache-2.0
//! Sessions of users.

use super::*;

/// A user's port has one port of the world for all hosts of the world, and each of them reaches the
/// user by it.
#[suite::test]
fn mapping_and_filtering_do_not_depend_on_the_remote_end() {
    let mut rig = with_pool();
    let out = || packet(0, "10.0.0.2", "10.0.1.2");
    let first = one(&mut rig, 0, &out().udp(5000, 53).payload("question"));
    assert_eq!((first.port, first.from.0), (1, addr(PUBLIC)));
    assert!(first.from.1 >= 1024 && first.from.1 != 5000, "{first:?}");
    for (host, port) in [("10.0.1.2", 54), ("10.0.1.3", 53), ("10.0.1.4", 9)] {
        let seen = one(&mut rig, 0, &packet(0, "10.0.0.2", host).udp(5000, port));
        assert_eq!(seen.from, first.from, "to {host}:{port}");
    }
    // Also from hosts that it hasn't sent to.
    for (host, port) in [("10.0.1.2", 53), ("10.0.1.9", 7)] {
        let seen = one(&mut rig, 1, &packet(1, host, PUBLIC).udp(port, first.from.1));
        assert_eq!((seen.port, seen.from), (0, end(host, port)));
        assert_eq!(seen.to, end("10.0.0.2", 5000));
    }
    assert_eq!((stat(&rig, "total-users", 0), stat(&rig, "total-sessions", 0)), (1, 1));
    check(&mut rig);
}

#[suite::test]
fn answers_come_back_and_are_counted() {
    let mut rig = with_pool();
    let out = || packet(0, "10.0.0.2", "10.0.1.2");
    let back = || packet(1, "10.0.1.2", PUBLIC);
    assert!(is_dropped(&mut rig, 1, &back().udp(53, 5000)), "nobody has asked");
    assert_eq!(rig.count(BACK, "no translation"), 1);
    for ask in [syn(out(), 5000, 80), out().udp(5000, 53), out().icmp_echo(5000, 1)] {
        let port = one(&mut rig, 0, &ask).from.1;
        assert_eq!(one(&mut rig, 0, &ask).from.1, port);
        let answer = match port {
            _ if ask.build()[ETHERNET + 9] == 6 => {
                back().tcp(80, port).segment(TcpFlags::SYN | TcpFlags::ACK, 1, 2)
            }
            _ if ask.build()[ETHERNET + 9] == 17 => back().udp(53, port).payload("answer"),
            _ => back().icmp_echo_reply(port, 1),
        };
        for _ in 0..2 {
            let seen = one(&mut rig, 1, &answer);
            assert_eq!((seen.port, seen.to), (0, end("10.0.0.2", 5000)));
        }
    }
    let (inside, outside) = (rig.ports[0].at(), rig.ports[1].at());
    for kind in ["tcp", "udp", "icmp"] {
        assert_eq!(stat(&rig, &format!("in2out/slowpath/{kind}"), inside), 1);
        assert_eq!(stat(&rig, &format!("in2out/fastpath/{kind}"), inside), 1);
        // Packets of the world count as those of the slow path.
        assert_eq!(stat(&rig, &format!("out2in/slowpath/{kind}"), outside), 2);
    }
    assert_eq!((stat(&rig, "total-users", 0), stat(&rig, "total-sessions", 0)), (1, 3));
    let said = rig.cli("show nat44 ei sessions");
    assert!(said.contains("  10.0.0.2: 3 dynamic translations, 0 static translations\n"), "{said}");
    let said = rig.cli("show nat44 ei sessions detail filter saddr 10.0.0.2");
    assert!(said.contains("    i2o 10.0.0.2 proto TCP port 5000 fib 0\n"), "{said}");
    assert!(said.contains("external host 10.0.1.2:80") && said.contains("total pkts 4"), "{said}");
    assert_eq!(rig.cli("show nat44 ei sessions filter saddr 10.0.0.3 -j"), "[]\n");
    assert_eq!(rig.cli("clear nat44 ei sessions"), "ended sessions: 3\n");
    assert_eq!((stat(&rig, "total-users", 0), stat(&rig, "total-sessions", 0)), (0, 0));
}

/// Any segment of TCP makes a session; of ICMP only a request does.
#[suite::test]
fn what_makes_a_session() {
    let mut rig = with_pool();
    let out = || packet(0, "10.0.0.2", "10.0.1.2");
    one(&mut rig, 0, &out().tcp(1, 2).segment(TcpFlags::ACK, 1, 1));
    assert!(is_dropped(&mut rig, 0, &out().icmp_echo_reply(1, 1)));
    assert_eq!(rig.count(SLOW, "unsupported ICMP type"), 1);
    assert!(is_dropped(&mut rig, 0, &out().gre().payload("tunnel")));
    assert_eq!(rig.count(SLOW, "unsupported protocol"), 1);
    assert!(is_dropped(&mut rig, 1, &packet(1, "10.0.1.2", PUBLIC).gre()));
    assert_eq!(rig.count(BACK, "unsupported protocol"), 1);
    // The world doesn't ping users.
    let id = one(&mut rig, 0, &out().icmp_echo(9, 1)).from.1;
    assert!(is_dropped(&mut rig, 1, &packet(1, "10.0.1.2", PUBLIC).icmp_echo(id, 1)));
    assert_eq!(rig.count(BACK, "unsupported ICMP type"), 1);
    assert_eq!(stat(&rig, "in2out/slowpath/drops", rig.ports[0].at()), 2);
}

/// Hops that are used up are answered in front of the translation (RFC 1812 5.3.1), both ways.
#[suite::test]
fn used_up_hops_are_answered() {
    let mut rig = with_pool();
    let seen = one(&mut rig, 0, &packet(0, "10.0.0.2", "10.0.1.2").ttl(1).udp(1, 2));
    assert_eq!((seen.port, seen.to.0), (0, addr("10.0.0.2")));
    assert_eq!(stat(&rig, "total-sessions", 0), 0);
    let port = one(&mut rig, 0, &packet(0, "10.0.0.2", "10.0.1.2").udp(1, 2)).from.1;
    let late = packet(1, "10.0.1.2", PUBLIC).ttl(1).udp(2, port);
    let seen = one(&mut rig, 1, &late);
    assert_eq!((seen.port, seen.from.0, seen.to.0), (1, addr("10.0.1.1"), addr("10.0.1.2")));
}

/// Packets that aren't for the world pass as they are, also from a port that has a session.
#[suite::test]
fn packets_that_do_not_go_to_the_world_pass() {
    let mut rig = bare(3);
    for line in [
        "nat44 ei plugin enable",
        "set interface nat44 ei in p0 out p1",
        "nat44 ei add address 192.0.2.7",
    ] {
        rig.cli(line);
    }
    one(&mut rig, 0, &packet(0, "10.0.0.2", "10.0.1.2").udp(1, 2));
    let seen = one(&mut rig, 0, &packet(0, "10.0.0.2", "10.0.2.2").udp(1, 2));
    assert_eq!((seen.port, seen.from), (2, end("10.0.0.2", 1)));
    // The router itself answers.
    let seen = one(&mut rig, 0, &packet(0, "10.0.0.2", "10.0.0.1").icmp_echo(7, 1));
    assert_eq!((seen.port, seen.to), (0, end("10.0.0.2", 7)));
    let seen = one(&mut rig, 1, &packet(1, "10.0.1.2", "10.0.1.1").icmp_echo(7, 1));
    assert_eq!((seen.port, seen.to), (1, end("10.0.1.2", 7)));
}

/// With forwarding on, what has no mapping passes as it is.
#[suite::test]
fn forwarding_lets_packets_pass() {
    let mut rig = router(&["nat44 ei add address 192.0.2.7", "nat44 ei forwarding enable"]);
    let ask = packet(1, "10.0.1.2", "10.0.0.2").udp(1000, 53);
    let answer = packet(0, "10.0.0.2", "10.0.1.2").udp(53, 1000);
    assert_eq!(one(&mut rig, 1, &ask).to, end("10.0.0.2", 53));
    assert_eq!(one(&mut rig, 0, &answer).from, end("10.0.0.2", 53));
    rig.cli("nat44 ei forwarding disable");
    assert!(is_dropped(&mut rig, 1, &ask));
    assert_eq!(one(&mut rig, 0, &answer).from.0, addr(PUBLIC));
}

/// An established connection lasts; a reset makes it transitory. What has ended is gone, and its
/// port is free.
#[suite::test]
fn sessions_end_by_their_timeouts() {
    let mut rig = with_pool();
    rig.cli("set nat44 ei timeout udp 5 icmp 2 tcp-established 100 tcp-transitory 3");
    let out = |flags| packet(0, "10.0.0.2", "10.0.1.2").tcp(5000, 80).segment(flags, 1, 1);
    let (syn, ack) = (TcpFlags::SYN, TcpFlags::ACK);
    let port = one(&mut rig, 0, &out(syn)).from.1;
    let back = |flags| packet(1, "10.0.1.2", PUBLIC).tcp(80, port).segment(flags, 1, 1);
    one(&mut rig, 1, &back(syn | ack));
    one(&mut rig, 0, &out(ack));
    one(&mut rig, 0, &packet(0, "10.0.0.2", "10.0.1.2").udp(5000, 53));
    one(&mut rig, 0, &packet(0, "10.0.0.2", "10.0.1.2").icmp_echo(5000, 53));
    assert_eq!(stat(&rig, "total-sessions", 0), 3);
    rig.seconds(4);
    assert_eq!(stat(&rig, "total-sessions", 0), 2, "the query");
    rig.seconds(3);
    assert_eq!(stat(&rig, "total-sessions", 0), 1, "the datagram");
    rig.seconds(60);
    assert_eq!(one(&mut rig, 1, &back(ack)).to, end("10.0.0.2", 5000));
    one(&mut rig, 0, &out(TcpFlags::RST));
    rig.seconds(5);
    assert!(is_dropped(&mut rig, 1, &back(ack)));
    assert_eq!((stat(&rig, "total-users", 0), stat(&rig, "total-sessions", 0)), (0, 0));
}

/// Fragments in any order leave with the ends that their datagram gets, both ways.
#[suite::test]
fn fragments_are_translated_in_any_order() {
    for order in [[0, 1, 2], [2, 1, 0], [1, 2, 0]] {
        let mut rig = with_pool();
        let port = one(&mut rig, 0, &packet(0, "10.0.0.2", "10.0.1.2").udp(5000, 53)).from.1;
        for (side, from, to, ends, wanted) in [
            (0, "10.0.0.2", "10.0.1.2", (5000, 53), (PUBLIC, "10.0.1.2", port, 53)),
            (1, "10.0.1.2", PUBLIC, (53, port), ("10.0.1.2", "10.0.0.2", 53, 5000)),
        ] {
            let whole = packet(side, from, to).id(9).udp(ends.0, ends.1).payload_len(60).build();
            let body = &whole[ETHERNET + 20..];
            let part = |n: usize| {
                let (start, stop) = ([0, 24, 48][n], [24, 48, body.len()][n]);
                packet(side, from, to)
                    .id(9)
                    .fragment(start as u16, n < 2)
                    .protocol(IpProtocol::UDP)
                    .payload(&body[start..stop])
                    .build()
            };
            let frames: Vec<_> = order.iter().map(|n| part(*n)).collect();
            let left = rig.pass_all(side, &frames);
            assert_eq!(left.len(), 3);
            let mut again = vec![0; body.len()];
            for (port, frame) in &left {
                let ip = Ipv4Header::view(&frame[ETHERNET..]).expect("an IP header");
                assert!(Ipv4Header::checksum_ok_at(&frame[ETHERNET..]));
                assert_eq!((*port, ip.src(), ip.dst()), (1 - side, addr(wanted.0), addr(wanted.1)));
                let at = ip.fragment_offset();
                let part = &frame[ETHERNET + 20..ETHERNET + ip.packet_len()];
                again[at..at + part.len()].copy_from_slice(part);
            }
            let datagram =
                pkt::ip4(wanted.0, wanted.1).udp(wanted.2, wanted.3).payload_len(60).build();
            assert_eq!(again, datagram[20..], "{order:?}");
        }
    }
}

/// The MSS of connections is lowered where they are translated.
#[suite::test]
fn the_mss_is_clamped() {
    let mut rig = with_pool();
    rig.cli("nat44 ei mss-clamping 1000");
    let ask = packet(0, "10.0.0.2", "10.0.1.2").tcp(5000, 80).options([2, 4, 0x05, 0xb4]).segment(
        TcpFlags::SYN,
        1,
        0,
    );
    let left = rig.pass(0, &ask.build());
    assert_eq!(seen(&left[0]).from.0, addr(PUBLIC));
    assert_eq!(left[0].1[ETHERNET + 42..ETHERNET + 44], 1000_u16.to_be_bytes());
}

/// Sessions and users end by name.
#[suite::test]
fn sessions_end_by_name() {
    let mut rig = with_pool();
    let port = one(&mut rig, 0, &packet(0, "10.0.0.2", "10.0.1.2").udp(5000, 53)).from.1;
    one(&mut rig, 0, &packet(0, "10.0.0.2", "10.0.1.2").udp(5001, 53));
    one(&mut rig, 0, &syn(packet(0, "10.0.0.2", "10.0.1.2"), 5001, 53));
    rig.cli("nat44 ei del session in 10.0.0.2:5001 udp");
    rig.cli(&format!("nat44 ei del session out {PUBLIC}:{port} udp external-host 10.0.1.2:53"));
    assert_eq!(stat(&rig, "total-sessions", 0), 1);
    assert!(refused(&mut rig, "nat44 ei del session in 10.0.0.2:5001 udp").contains("no such"));
    rig.cli("nat44 ei del user 10.0.0.2");
    assert_eq!((stat(&rig, "total-users", 0), stat(&rig, "total-sessions", 0)), (0, 0));
    assert!(refused(&mut rig, "nat44 ei del user 10.0.0.2").contains("no such"));
}

/// An interface to users and to the world.
#[suite::test]
fn one_interface_has_both_roles() {
    let mut rig = bare(1);
    for line in [
        "nat44 ei plugin enable",
        "set interface nat44 ei in p0",
        "set interface nat44 ei out p0",
        "nat44 ei add address 192.0.2.7",
    ] {
        rig.cli(line);
    }
    let seen = one(&mut rig, 0, &packet(0, "10.0.0.2", "10.0.0.9").udp(5000, 53));
    assert_eq!((seen.port, seen.from.0), (0, addr(PUBLIC)));
    let back = one(&mut rig, 0, &packet(0, "10.0.0.9", PUBLIC).udp(53, seen.from.1));
    assert_eq!(back.to, end("10.0.0.2", 5000));
    for reason in ["next in2out", "next out2in"] {
        assert_eq!(rig.count("nat44-ei-classify", reason), 1);
    }
}
