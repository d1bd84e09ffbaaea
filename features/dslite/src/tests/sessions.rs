// SPDX-License-Identifier: Apache-2.0
//! Sessions of users behind B4s.

use super::*;

/// Packets of a user get the address of the pool, and answers find the user again.
#[suite::test]
fn users_get_an_address_and_answers_come_back() {
    let mut rig = with_pool();
    let out = || of_user(B4, USER, HOST);
    let back = || of_world(HOST, PUBLIC);
    let both = TcpFlags::SYN | TcpFlags::ACK;
    for which in 0..3 {
        let ask = match which {
            0 => syn(out(), 5000, 80),
            1 => out().udp(5000, 53).payload("question"),
            _ => out().icmp_echo(5000, 1),
        };
        let seen = one(&mut rig, 0, &ask);
        assert_eq!((seen.tunnel, seen.seen.port, seen.seen.from.0), (None, 1, addr(PUBLIC)));
        let port = seen.seen.from.1;
        assert!(port >= 1024);
        let answer = match which {
            0 => back().tcp(80, port).segment(both, 1, 2),
            1 => back().udp(53, port).payload("answer"),
            _ => back().icmp_echo_reply(port, 1),
        };
        for _ in 0..2 {
            assert_eq!(one(&mut rig, 0, &ask).seen.from, end(PUBLIC, port));
            let seen = one(&mut rig, 1, &answer);
            assert_eq!(seen.tunnel, Some((addr6(AFTR), addr6(B4))));
            assert_eq!((seen.seen.port, seen.seen.to), (0, end(USER, 5000)));
        }
    }
    assert_eq!((total(&rig, "b4s"), total(&rig, "sessions")), (1, 3));
    assert_eq!(rig.count("dslite-in2out", "valid in2out DS-Lite packets"), 6);
    assert_eq!(rig.count("dslite-in2out-slowpath", "valid in2out DS-Lite packets"), 3);
    assert_eq!(rig.count("dslite-out2in", "valid out2in DS-Lite packets"), 6);
    let shown = rig.cli("show dslite sessions");
    assert!(shown.starts_with("B4 2001:db8::2\n  in 192.168.1.2 port 5000 out 192.0.2.7 port "));
    assert_eq!(shown.matches("total pkts 5, ").count(), 3, "{shown}");
}

/// The bytes of both directions, header by header.
#[suite::test]
fn bytes_of_the_tunnel() {
    let mut rig = with_pool();
    let ask = of_user(B4, USER, HOST).ttl(9).tos(0xb8).udp(5000, 53).payload("question");
    let sent = rig.pass(0, &ask.build());
    let port = left(&sent[0]).seen.from.1;
    let expected = pkt::ether(port_mac(1), peer_mac(1)).ip4(PUBLIC, HOST).ttl(8).tos(0xb8);
    assert_eq!(sent[0].1, expected.udp(port, 53).payload("question").build());
    let answer = of_world(HOST, PUBLIC).ttl(9).tos(0xb8).udp(53, port).payload("answer");
    let sent = rig.pass(1, &answer.build());
    let expected = pkt::ether(port_mac(0), peer_mac(0)).ip6(AFTR, B4).ttl(64).tos(0xb8);
    let expected = expected.ip4(HOST, USER).ttl(8).tos(0xb8).udp(53, 5000).payload("answer");
    assert_eq!(sent[0].1, expected.build());
}

/// Congestion that the tunnel's path has marked reaches the receiver (RFC 6040 4.2).
#[suite::test]
fn congestion_marks_of_the_tunnel() {
    const NOT: u8 = 0;
    const ECT1: u8 = 1;
    const ECT0: u8 = 2;
    const CE: u8 = 3;
    let mut rig = with_pool();
    for (inner, outer, expected) in [
        (NOT, NOT, Some(NOT)),
        (NOT, ECT0, Some(NOT)),
        (NOT, CE, None),
        (ECT0, NOT, Some(ECT0)),
        (ECT0, ECT1, Some(ECT1)),
        (ECT0, CE, Some(CE)),
        (ECT1, ECT0, Some(ECT1)),
        (ECT1, CE, Some(CE)),
        (CE, NOT, Some(CE)),
        (CE, ECT1, Some(CE)),
    ] {
        let tunnel = pkt::ether(peer_mac(0), port_mac(0)).ip6(B4, AFTR).tos(0xb8 | outer);
        let ask = tunnel.ip4(USER, HOST).tos(0x48 | inner).udp(5000, 53).payload("question");
        let sent = rig.pass(0, &ask.build());
        let expected: Vec<_> = expected
            .map(|mark| {
                let port = left(&sent[0]).seen.from.1;
                let out = pkt::ether(port_mac(1), peer_mac(1)).ip4(PUBLIC, HOST).ttl(63);
                (1, out.tos(0x48 | mark).udp(port, 53).payload("question").build())
            })
            .into_iter()
            .collect();
        assert_eq!(sent, expected, "{inner} in {outer}");
    }
    assert_eq!(rig.count("dslite-in2out", "malformed packet inside"), 1);
}

/// Users of different B4s have one address, and one session serves all hosts of the world.
#[suite::test]
fn users_with_one_address_are_told_apart() {
    let mut rig = with_pool();
    let ports: Vec<_> = ["2001:db8::2", "2001:db8::3", "2001:db8::4"]
        .into_iter()
        .map(|b4| {
            let port = one(&mut rig, 0, &of_user(b4, USER, HOST).udp(5000, 53)).seen.from.1;
            let other = one(&mut rig, 0, &of_user(b4, USER, "10.0.1.3").udp(5000, 54));
            assert_eq!(other.seen.from.1, port);
            (b4, port)
        })
        .collect();
    for (b4, port) in ports {
        let seen = one(&mut rig, 1, &of_world("10.0.1.9", PUBLIC).udp(99, port));
        assert_eq!(seen.tunnel, Some((addr6(AFTR), addr6(b4))));
        assert_eq!(seen.seen.to, end(USER, 5000));
    }
    assert_eq!((total(&rig, "b4s"), total(&rig, "sessions")), (3, 3));
}

/// One user reaches another by its address outside.
#[suite::test]
fn users_reach_each_other() {
    let mut rig = with_pool();
    let port = one(&mut rig, 0, &of_user(B4, USER, HOST).udp(5000, 53)).seen.from.1;
    let seen = one(&mut rig, 0, &of_user("2001:db8::3", USER, PUBLIC).udp(6000, port));
    assert_eq!(seen.tunnel, Some((addr6(AFTR), addr6(B4))));
    assert_eq!((seen.seen.from.0, seen.seen.to), (addr(PUBLIC), end(USER, 5000)));
}

/// Sessions end by time: of TCP that was never answered sooner than of one that was.
#[suite::test]
fn sessions_end_by_time() {
    let mut rig = with_pool();
    let port = one(&mut rig, 0, &syn(of_user(B4, USER, HOST), 5000, 80)).seen.from.1;
    one(&mut rig, 0, &syn(of_user(B4, USER, HOST), 5001, 80));
    one(&mut rig, 0, &of_user(B4, USER, HOST).udp(5000, 53));
    one(&mut rig, 0, &of_user(B4, USER, HOST).icmp_echo(7, 1));
    let both = TcpFlags::SYN | TcpFlags::ACK;
    one(&mut rig, 1, &of_world(HOST, PUBLIC).tcp(80, port).segment(both, 1, 2));
    assert_eq!(total(&rig, "sessions"), 4);
    let mut after = |seconds, left| {
        rig.seconds(seconds);
        assert_eq!(total(&rig, "sessions"), left, "after {seconds}");
    };
    after(58, 4);
    after(4, 3);
    after(170, 3);
    after(10, 2);
    after(60, 1);
    log_all(&mut rig);
    // A reset of the connection leaves it the short time.
    let reset = of_world(HOST, PUBLIC).tcp(80, port).segment(TcpFlags::RST, 1, 2);
    one(&mut rig, 1, &reset);
    rig.bench.settle();
    drop(rig.world().get::<Recorded>().take());
    rig.seconds(242);
    assert_eq!((total(&rig, "b4s"), total(&rig, "sessions")), (0, 0));
    let told = logs(&rig.world().get::<Recorded>().take());
    let text = format!(
        "APMDEL [napmap SSUBIX=\"0\" SV6ENC=\"{B4}\" IATYP=\"IPv4\" ISADDR=\"{USER}\" \
         ISPORT=\"5000\" XATYP=\"IPv4\" XSADDR=\"{PUBLIC}\" XSPORT=\"{port}\" PROTO=\"6\"]"
    );
    assert_eq!(told.messages, [text]);
}

/// Packets for the AFTR itself, and packets for nobody.
#[suite::test]
fn other_packets() {
    let mut rig = with_pool();
    let ether = || pkt::ether(peer_mac(0), port_mac(0));
    let ping = rig.pass(0, &ether().ip6(B4, AFTR).icmp6_echo(7, 1).build());
    let reply = Ipv6Header::view(&ping[0].1[ETHERNET..]).copied().expect("a reply");
    assert_eq!(
        (reply.src(), reply.dst(), ping[0].1[ETHERNET + IP6]),
        (addr6(AFTR), addr6(B4), 129)
    );
    let mut dropped = |packet: Packet, node: &str, why: &str| {
        let port = usize::from(node == "dslite-out2in");
        assert!(rig.pass(port, &packet.build()).is_empty(), "{why}");
        assert_eq!(rig.count(node, why), 1, "{why}");
    };
    dropped(ether().ip6(B4, AFTR).udp(1, 2), "dslite-in2out", "bad ip6 protocol");
    dropped(
        of_user(B4, USER, HOST).protocol(IpProtocol::SCTP).payload("x"),
        "dslite-in2out",
        "unsupported protocol",
    );
    dropped(
        of_user(B4, USER, HOST).icmp(wire::Icmp4Type(13), 0, 0),
        "dslite-in2out",
        "unsupported icmp type",
    );
    dropped(
        of_user(B4, USER, HOST).icmp_echo_reply(7, 1),
        "dslite-in2out-slowpath",
        "no translation",
    );
    dropped(
        of_user(B4, USER, HOST).bad_checksum().udp(1, 2),
        "dslite-in2out",
        "malformed packet inside",
    );
    dropped(of_world(HOST, PUBLIC).udp(1, 2), "dslite-out2in", "no translation");
    assert_eq!(total(&rig, "sessions"), 0);
}

/// Sessions end with their address of the pool; without the AFTR's address nothing comes here.
#[suite::test]
fn configuration_changes() {
    let mut rig = with_pool();
    let ask = of_user(B4, USER, HOST).udp(5000, 53);
    let port = one(&mut rig, 0, &ask).seen.from.1;
    rig.cli(&format!("dslite add pool address {PUBLIC} del"));
    assert_eq!(total(&rig, "sessions"), 0);
    // The sender learns that there is no route.
    let back = sent(&mut rig, 1, &of_world(HOST, PUBLIC).udp(53, port));
    assert!(back.iter().all(|left| left.seen.port == 1), "{back:?}");
    assert!(is_dropped(&mut rig, 0, &ask));
    assert_eq!(rig.count("dslite-in2out-slowpath", "out of ports"), 1);
    rig.cli("dslite add pool address 192.0.2.8 - 192.0.2.9");
    assert!(one(&mut rig, 0, &ask).seen.from.0 > addr("192.0.2.7"));
    assert_eq!(rig.cli("show dslite pool"), "DS-Lite pool:\n192.0.2.8\n192.0.2.9\n");
    assert_eq!(rig.cli("show dslite aftr-tunnel-endpoint-address"), format!("{AFTR}\n"));
    rig.cli("dslite set aftr-tunnel-endpoint-address 2001:db8:ffff::2");
    assert!(rig.pass(0, &ask.build()).iter().all(|(port, _)| *port == 0));
    rig.cli("dslite set aftr-tunnel-endpoint-address ::");
    assert_eq!(rig.cli("show dslite aftr-tunnel-endpoint-address"), "none\n");
}
