// SPDX-License-Identifier: Apache-2.0
//! Sessions of users.

use super::*;

const SLOW: &str = "nat44-ed-in2out-slowpath";
const SLOW_BACK: &str = "nat44-ed-out2in-slowpath";

/// Packets of a user get the address of the pool, and answers find the user again.
#[suite::test]
fn users_get_an_address_and_answers_come_back() {
    let mut rig = with_pool();
    let out = || packet(0, "10.0.0.2", "10.0.1.2");
    let back = || packet(1, "10.0.1.2", PUBLIC);
    for (ask, answer) in [
        (syn(out(), 5000, 80), back().tcp(80, 5000).segment(TcpFlags::SYN | TcpFlags::ACK, 1, 2)),
        (out().udp(5000, 53).payload("question"), back().udp(53, 5000).payload("answer")),
        (out().icmp_echo(5000, 1), back().icmp_echo_reply(5000, 1)),
    ] {
        assert!(is_dropped(&mut rig, 1, &answer), "nobody has asked");
        for _ in 0..2 {
            let seen = one(&mut rig, 0, &ask);
            assert_eq!((seen.port, seen.from), (1, end(PUBLIC, 5000)));
            let seen = one(&mut rig, 1, &answer);
            assert_eq!((seen.port, seen.to), (0, end("10.0.0.2", 5000)));
        }
    }
    assert_eq!(rig.count(SLOW_BACK, "no translation"), 3);
    let count = |name: &str| rig.bench.world.stats.simple(name).sum(rig.ports[0].at());
    for kind in ["tcp", "udp", "icmp"] {
        assert_eq!(count(&format!("/nat44-ed/in2out/slowpath/{kind}")), 1);
        assert_eq!(count(&format!("/nat44-ed/in2out/fastpath/{kind}")), 1);
    }
    let total = rig.bench.world.stats.simple("/nat44-ed/total-sessions").sum(0);
    assert_eq!(total, 3);
    let said = rig.cli("show nat44 sessions");
    assert!(said.contains("  i2o 10.0.0.2 proto TCP port 5000 fib 0\n"), "{said}");
    assert!(said.contains("o2i flow: match: saddr 10.0.1.2 sport 53 daddr 192.0.2.7 dport 5000 proto UDP fib_idx 0 rewrite: daddr 10.0.0.2"), "{said}");
    assert!(rig.cli("show nat44 summary").contains("total sessions: 3 (timed out: 0)"));
    let said = rig.cli("show nat44 sessions filter i2o proto udp filter o2i dport 5000");
    assert!(said.contains("proto UDP") && !said.contains("proto TCP"), "{said}");
    assert_eq!(rig.cli("clear nat44 ed sessions"), "ended sessions: 3\n");
    assert!(is_dropped(&mut rig, 1, &back().udp(53, 5000)));
}

/// Two users with one port get two ports towards one remote end, and one towards different ones.
#[suite::test]
fn ports_are_kept_where_they_are_free() {
    let mut rig = with_pool();
    let ask = |user: &str, to: &str| packet(0, user, to).udp(5000, 53);
    let first = one(&mut rig, 0, &ask("10.0.0.2", "10.0.1.2"));
    let other = one(&mut rig, 0, &ask("10.0.0.3", "10.0.1.2"));
    let elsewhere = one(&mut rig, 0, &ask("10.0.0.3", "10.0.1.3"));
    assert_eq!((first.from.1, elsewhere.from.1), (5000, 5000));
    assert!(other.from.1 != 5000 && other.from.1 >= 1024, "{other:?}");
    // Ports that aren't given to users aren't kept.
    let low = one(&mut rig, 0, &packet(0, "10.0.0.2", "10.0.1.2").udp(7, 53));
    assert!(low.from.1 >= 1024, "{low:?}");
    let back = one(&mut rig, 1, &packet(1, "10.0.1.2", PUBLIC).udp(53, other.from.1));
    assert_eq!(back.to, end("10.0.0.3", 5000));
}

/// Only a SYN, an echo request or a datagram makes a session.
#[suite::test]
fn not_everything_makes_a_session() {
    let mut rig = with_pool();
    let out = || packet(0, "10.0.0.2", "10.0.1.2");
    let ack = out().tcp(1, 2).segment(TcpFlags::ACK, 1, 1);
    let both = out().tcp(1, 2).segment(TcpFlags::SYN | TcpFlags::ACK, 1, 1);
    assert!(is_dropped(&mut rig, 0, &ack) && is_dropped(&mut rig, 0, &both));
    assert_eq!(rig.count(SLOW, "non-SYN packet try to create session"), 2);
    assert!(is_dropped(&mut rig, 0, &out().icmp_echo_reply(1, 1)));
    assert_eq!(rig.count(SLOW, "unsupported ICMP type"), 1);
    let drops = rig.bench.world.stats.simple("/nat44-ed/in2out/slowpath/drops");
    assert_eq!(drops.sum(rig.ports[0].at()), 3);
    // Hops that are used up are answered in front of the translation (RFC 1812 5.3.1).
    let last = out().ttl(1).udp(1, 2);
    let seen = one(&mut rig, 0, &last);
    assert_eq!((seen.port, seen.to.0), (0, addr("10.0.0.2")));
    assert_eq!(
        rig.cli("show nat44 summary").lines().nth(1),
        Some("total sessions: 0 (timed out: 0)")
    );
}

/// Packets that aren't for the world pass as they are.
#[suite::test]
fn packets_that_do_not_go_to_the_world_pass() {
    let mut rig = bare(3);
    for line in
        ["nat44 plugin enable", "set interface nat44 in p0 out p1", "nat44 add address 192.0.2.7"]
    {
        rig.cli(line);
    }
    let seen = one(&mut rig, 0, &packet(0, "10.0.0.2", "10.0.2.2").udp(1, 2));
    assert_eq!((seen.port, seen.from), (2, end("10.0.0.2", 1)));
    // The router itself answers.
    let seen = one(&mut rig, 0, &packet(0, "10.0.0.2", "10.0.0.1").icmp_echo(7, 1));
    assert_eq!((seen.port, seen.to), (0, end("10.0.0.2", 7)));
    let seen = one(&mut rig, 1, &packet(1, "10.0.1.2", "10.0.1.1").icmp_echo(7, 1));
    assert_eq!((seen.port, seen.to), (1, end("10.0.1.2", 7)));
}

/// With forwarding on, what has no mapping passes as it is, and so do its answers.
#[suite::test]
fn forwarding_lets_packets_pass() {
    let mut rig = router(&["nat44 add address 192.0.2.7", "nat44 forwarding enable"]);
    let ask = packet(1, "10.0.1.2", "10.0.0.2").udp(1000, 53);
    let answer = packet(0, "10.0.0.2", "10.0.1.2").udp(53, 1000);
    assert_eq!(one(&mut rig, 1, &ask).to, end("10.0.0.2", 53));
    assert_eq!(one(&mut rig, 0, &answer).from, end("10.0.0.2", 53));
    let said = rig.cli("show nat44 sessions");
    assert!(said.contains("forwarding-bypass") && said.contains("total pkts 2"), "{said}");
    rig.cli("nat44 forwarding disable");
    assert!(is_dropped(&mut rig, 1, &ask));
    assert_eq!(one(&mut rig, 0, &answer).from.0, addr(PUBLIC));
}

/// TCP lasts while it is established; FIN or RST makes it transitory, and SYN and ACK both ways
/// open it again.
#[suite::test]
fn connections_begin_end_and_begin_again() {
    let mut rig = with_pool();
    rig.cli("set nat timeout tcp-established 100 tcp-transitory 5");
    let out = |flags| packet(0, "10.0.0.2", "10.0.1.2").tcp(5000, 80).segment(flags, 1, 1);
    let back = |flags| packet(1, "10.0.1.2", PUBLIC).tcp(80, 5000).segment(flags, 1, 1);
    let (syn, ack, fin) = (TcpFlags::SYN, TcpFlags::ACK, TcpFlags::FIN | TcpFlags::ACK);
    let open = |rig: &mut Rig| {
        one(rig, 0, &out(syn));
        one(rig, 1, &back(syn | ack));
        one(rig, 0, &out(ack));
    };
    open(&mut rig);
    rig.seconds(90);
    one(&mut rig, 1, &back(ack));
    one(&mut rig, 0, &out(TcpFlags::RST));
    one(&mut rig, 0, &out(ack));
    rig.seconds(6);
    assert!(is_dropped(&mut rig, 1, &back(ack)), "it is over");
    assert_eq!(rig.count(SLOW_BACK, "drops due to TCP in transitory timeout"), 1);
    assert!(is_dropped(&mut rig, 0, &out(ack)));
    open(&mut rig);
    one(&mut rig, 0, &out(fin));
    one(&mut rig, 1, &back(fin));
    // One side alone doesn't open it.
    one(&mut rig, 0, &out(syn));
    one(&mut rig, 1, &back(ack));
    rig.seconds(6);
    assert!(is_dropped(&mut rig, 0, &out(ack)));
    open(&mut rig);
    one(&mut rig, 0, &out(fin));
    one(&mut rig, 1, &back(syn));
    one(&mut rig, 0, &out(syn | ack));
    one(&mut rig, 1, &back(ack));
    let said = rig.cli("show nat44 sessions");
    assert!(said.contains("total pkts 1,"), "counted from zero: {said}");
    rig.seconds(60);
    one(&mut rig, 0, &out(ack));
}

/// A session whose time has ended is shown for a while, is none any more, and goes.
#[suite::test]
fn sessions_end() {
    let mut rig = with_pool();
    rig.cli("set nat timeout udp 5 icmp 2");
    one(&mut rig, 0, &packet(0, "10.0.0.2", "10.0.1.2").udp(5000, 53));
    one(&mut rig, 0, &packet(0, "10.0.0.2", "10.0.1.2").icmp_echo(5000, 53));
    rig.seconds(3);
    assert!(rig.cli("show nat44 summary").contains("total sessions: 2 (timed out: 1)"));
    assert!(is_dropped(&mut rig, 1, &packet(1, "10.0.1.2", PUBLIC).icmp_echo_reply(5000, 53)));
    rig.seconds(3);
    // Its port is free at once.
    assert_eq!(one(&mut rig, 0, &packet(0, "10.0.0.3", "10.0.1.2").udp(5000, 53)).from.1, 5000);
    rig.seconds(30);
    assert!(rig.cli("show nat44 summary").contains("total sessions: 0 (timed out: 0)"));
    assert_eq!(rig.bench.world.stats.simple("/nat44-ed/total-sessions").sum(0), 0);
}

/// Protocols without ports get an address; answers find the user by it.
#[suite::test]
fn other_protocols_get_an_address() {
    let mut rig = with_pool();
    let seen = one(&mut rig, 0, &packet(0, "10.0.0.2", "10.0.1.2").gre().payload("tunnel"));
    assert_eq!(seen.from.0, addr(PUBLIC));
    let seen = one(&mut rig, 1, &packet(1, "10.0.1.2", PUBLIC).gre().payload("tunnel"));
    assert_eq!((seen.port, seen.to.0), (0, addr("10.0.0.2")));
    // Another user would need another address.
    assert!(is_dropped(&mut rig, 0, &packet(0, "10.0.0.3", "10.0.1.2").gre()));
    assert_eq!(rig.count(SLOW, "out of ports"), 1);
    one(&mut rig, 0, &packet(0, "10.0.0.3", "10.0.1.3").gre());
}

/// Fragments in any order leave with the address that their datagram gets.
#[suite::test]
fn fragments_are_translated_in_any_order() {
    for order in [[0, 1, 2], [2, 1, 0], [1, 2, 0]] {
        let mut rig = with_pool();
        let whole = packet(0, "10.0.0.2", "10.0.1.2").id(9).udp(5000, 53).payload_len(60).build();
        let body = &whole[ETHERNET + 20..];
        let part = |n: usize| {
            let (from, to) = ([0, 24, 48][n], [24, 48, body.len()][n]);
            packet(0, "10.0.0.2", "10.0.1.2")
                .id(9)
                .fragment(from as u16, n < 2)
                .protocol(IpProtocol::UDP)
                .payload(&body[from..to])
                .build()
        };
        let frames: Vec<_> = order.iter().map(|n| part(*n)).collect();
        let left = rig.pass_all(0, &frames);
        assert_eq!(left.len(), 3);
        let mut again = vec![0; body.len()];
        for (port, frame) in &left {
            let ip = Ipv4Header::view(&frame[ETHERNET..]).expect("an IP header");
            assert!(Ipv4Header::checksum_ok_at(&frame[ETHERNET..]));
            assert_eq!((*port, ip.src(), ip.dst()), (1, addr(PUBLIC), addr("10.0.1.2")));
            let at = ip.fragment_offset();
            let part = &frame[ETHERNET + 20..ETHERNET + ip.packet_len()];
            again[at..at + part.len()].copy_from_slice(part);
        }
        let datagram = pkt::ip4(PUBLIC, "10.0.1.2").udp(5000, 53).payload_len(60).build();
        assert_eq!(again, datagram[20..], "{order:?}");
    }
}

/// The MSS of connections is lowered where they are translated.
#[suite::test]
fn the_mss_is_clamped() {
    let mut rig = with_pool();
    rig.cli("nat mss-clamping 1000");
    let ask = packet(0, "10.0.0.2", "10.0.1.2").tcp(5000, 80).options([2, 4, 0x05, 0xb4]).segment(
        TcpFlags::SYN,
        1,
        0,
    );
    let left = rig.pass(0, &ask.build());
    assert_eq!(seen(&left[0]).from, end(PUBLIC, 5000));
    assert_eq!(left[0].1[ETHERNET + 42..ETHERNET + 44], 1000_u16.to_be_bytes());
}
