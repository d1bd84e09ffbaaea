// SPDX-License-Identifier: Apache-2.0
//! Sessions of users.

use super::*;

const SYN: TcpFlags = TcpFlags::SYN;
const ACK: TcpFlags = TcpFlags::ACK;
const FIN: TcpFlags = TcpFlags::FIN;

/// Packets of a user get its address and port, and answers find the user again.
#[suite::test]
fn users_get_their_port_and_answers_come_back() {
    let mut rig = router();
    let out = || packet(0, "10.0.0.2", "10.0.1.2");
    let back = || packet(1, "10.0.1.2", PUBLIC);
    let port = port_of(2, 5000);
    for (ask, answer) in [
        (tcp(out(), (5000, 80), SYN), tcp(back(), (80, port), SYN | ACK)),
        (out().udp(5000, 53).payload("question"), back().udp(53, port).payload("answer")),
        (out().icmp_echo(5000, 1), back().icmp_echo_reply(port, 1)),
    ] {
        assert!(is_dropped(&mut rig, 1, &answer), "nobody has asked");
        for _ in 0..2 {
            let seen = one(&mut rig, 0, &ask);
            assert_eq!((seen.port, seen.from), (1, end(PUBLIC, port)));
            let seen = one(&mut rig, 1, &answer);
            assert_eq!((seen.port, seen.to), (0, end("10.0.0.2", 5000)));
        }
    }
    assert_eq!(rig.count(OUT2IN, "No translation"), 3);
    assert_eq!(rig.count(IN2OUT, "Good in2out packets processed"), 6);
    assert_eq!(rig.count(OUT2IN, "Good out2in packets processed"), 6);
    assert_eq!(total(&rig), 3);
    let said = rig.cli("show det44 sessions");
    let row = format!(
        " in 10.0.0.2:5000 out 192.0.2.7:{port} external host 10.0.1.2:53 state: udp-active expire: "
    );
    assert!(said.contains(&row), "{said}");
    assert!(rig.cli("show det44 mappings").contains("  sessions number: 3\n"));
}

/// A port that the user has towards a remote end isn't given again towards it; others get the next.
#[suite::test]
fn ports_of_a_user_serve_many_remote_ends() {
    let mut rig = router();
    let ask = |own: u16, to: &str| packet(0, "10.0.0.2", to).udp(own, 53);
    let first = one(&mut rig, 0, &ask(5000, "10.0.1.2"));
    // Another port that stands for the same one.
    let other = 5000 + PORTS as u16;
    let next = one(&mut rig, 0, &ask(other, "10.0.1.2"));
    let elsewhere = one(&mut rig, 0, &ask(other, "10.0.1.3"));
    assert_eq!((first.from.1, elsewhere.from.1), (port_of(2, 5000), port_of(2, 5000)));
    assert_eq!(next.from.1, port_of(2, 5001));
    let back = one(&mut rig, 1, &packet(1, "10.0.1.2", PUBLIC).udp(53, next.from.1));
    assert_eq!(back.to, end("10.0.0.2", other));
    // Every user has ports of its own.
    let neighbour = one(&mut rig, 0, &packet(0, "10.0.0.3", "10.0.1.2").udp(5000, 53));
    assert_eq!(neighbour.from, end(PUBLIC, port_of(3, 5000)));
}

/// A connection ends with the last acknowledgement, whoever ends it first.
#[suite::test]
fn connections_end() {
    for inside_first in [true, false] {
        let mut rig = router();
        let port = port_of(2, 5000);
        let out = |flags| (0, tcp(packet(0, "10.0.0.2", "10.0.1.2"), (5000, 80), flags));
        let back = |flags| (1, tcp(packet(1, "10.0.1.2", PUBLIC), (80, port), flags));
        let mut state = |(side, packet): (usize, Packet), state: &str| {
            one(&mut rig, side, &packet);
            let said = rig.cli("show det44 sessions");
            assert!(said.contains(&format!("state: {state} ")), "{state}: {said}");
        };
        state(out(SYN), "tcp-syn-sent");
        state(back(SYN | ACK), "tcp-syn-sent");
        state(out(ACK), "tcp-established");
        match inside_first {
            true => {
                state(out(FIN | ACK), "tcp-fin-wait");
                state(back(ACK), "tcp-fin-wait");
                state(back(FIN | ACK), "tcp-closing");
                state(back(FIN | ACK), "tcp-closing");
                one(&mut rig, 0, &out(ACK).1);
            }
            false => {
                state(back(FIN), "tcp-close-wait");
                state(out(ACK), "tcp-close-wait");
                state(out(FIN | ACK), "tcp-last-ack");
                state(out(ACK), "tcp-last-ack");
                one(&mut rig, 1, &back(ACK).1);
            }
        }
        assert_eq!(total(&rig), 0);
        assert!(is_dropped(&mut rig, 1, &back(ACK).1));
    }
}

/// A reset makes a connection transitory, and a SYN of the user begins another one.
#[suite::test]
fn connections_are_reset_and_begin_again() {
    let mut rig = router();
    rig.cli("set det44 timeouts tcp established 100 tcp transitory 5");
    let port = port_of(2, 5000);
    let out = |flags| tcp(packet(0, "10.0.0.2", "10.0.1.2"), (5000, 80), flags);
    let back = |flags| tcp(packet(1, "10.0.1.2", PUBLIC), (80, port), flags);
    let open = |rig: &mut Rig| {
        one(rig, 0, &out(SYN));
        one(rig, 1, &back(SYN | ACK));
        one(rig, 0, &out(ACK));
    };
    open(&mut rig);
    rig.seconds(90);
    one(&mut rig, 1, &back(ACK));
    one(&mut rig, 1, &back(TcpFlags::RST));
    assert!(rig.cli("show det44 sessions").contains("state: tcp-closed "));
    open(&mut rig);
    assert_eq!(total(&rig), 1);
    rig.seconds(90);
    one(&mut rig, 0, &out(TcpFlags::RST));
    rig.seconds(6);
    assert_eq!(total(&rig), 0);
    // Without an answer a connection isn't established.
    one(&mut rig, 0, &out(SYN));
    one(&mut rig, 0, &out(ACK));
    rig.seconds(6);
    assert_eq!(total(&rig), 0);
    // A connection that began before is taken up.
    one(&mut rig, 0, &out(ACK));
    one(&mut rig, 1, &back(ACK));
    one(&mut rig, 0, &out(ACK));
    rig.seconds(90);
    one(&mut rig, 1, &back(ACK));
}

/// Sessions end by their timeouts; other timeouts are those of running sessions too.
#[suite::test]
fn sessions_end_in_time() {
    let mut rig = router();
    let ask = |own| packet(0, "10.0.0.2", "10.0.1.2").udp(own, 53);
    one(&mut rig, 0, &ask(1));
    one(&mut rig, 0, &packet(0, "10.0.0.2", "10.0.1.2").icmp_echo(5000, 53));
    rig.seconds(70);
    assert_eq!(total(&rig), 1);
    rig.cli("set det44 timeouts udp 80");
    rig.seconds(8);
    assert_eq!(total(&rig), 1);
    rig.seconds(4);
    assert_eq!(total(&rig), 0);
    assert!(is_dropped(&mut rig, 1, &packet(1, "10.0.1.2", PUBLIC).udp(53, port_of(2, 1))));
    assert!(rig.cli("show det44 mappings").contains("sessions number: 0"));
}

/// Packets that don't go to the world pass as they are.
#[suite::test]
fn packets_that_do_not_go_to_the_world_pass() {
    let mut rig = bare(3);
    for line in [
        "det44 plugin enable",
        "det44 add in 10.0.0.0/24 out 192.0.2.7/32",
        "set interface det44 inside p0 outside p1",
    ] {
        rig.cli(line);
    }
    let seen = one(&mut rig, 0, &packet(0, "10.0.0.2", "10.0.2.2").udp(1, 2));
    assert_eq!((seen.port, seen.from), (2, end("10.0.0.2", 1)));
    // The router itself answers.
    let seen = one(&mut rig, 0, &packet(0, "10.0.0.2", "10.0.0.1").icmp_echo(7, 1));
    assert_eq!((seen.port, seen.to), (0, end("10.0.0.2", 7)));
    let seen = one(&mut rig, 1, &packet(1, "10.0.1.2", "10.0.1.1").icmp_echo(7, 1));
    assert_eq!((seen.port, seen.to), (1, end("10.0.1.2", 7)));
    assert_eq!(total(&rig), 0);
    // A user without a map doesn't reach the world.
    rig.cli("det44 add in 10.0.0.0/24 out 192.0.2.7/32 del");
    assert!(is_dropped(&mut rig, 0, &packet(0, "10.0.0.2", "10.0.1.2").udp(1, 2)));
    assert_eq!(rig.count(IN2OUT, "No translation"), 1);
}

/// Only TCP, UDP and ICMP queries are translated.
#[suite::test]
fn not_everything_is_translated() {
    let mut rig = router();
    let out = || packet(0, "10.0.0.2", "10.0.1.2");
    assert!(is_dropped(&mut rig, 0, &out().gre().payload("tunnel")));
    assert_eq!(rig.count(IN2OUT, "Unsupported protocol"), 1);
    assert!(is_dropped(&mut rig, 0, &out().icmp_echo_reply(1, 1)));
    assert!(is_dropped(&mut rig, 0, &out().icmp(wire::Icmp4Type(13), 0, 0).payload([0; 12])));
    assert_eq!(rig.count(IN2OUT, "unsupported ICMP type"), 2);
    assert!(is_dropped(&mut rig, 1, &packet(1, "10.0.1.2", PUBLIC).gre().payload("tunnel")));
    assert_eq!(rig.count(OUT2IN, "Unsupported protocol"), 1);
    // Hops that are used up are answered in front of the translation (RFC 1812 5.3.1).
    let seen = one(&mut rig, 0, &out().ttl(1).udp(1, 2));
    assert_eq!((seen.port, seen.to.0, total(&rig)), (0, addr("10.0.0.2"), 0));
}

/// Fragments in any order leave with the address that their datagram gets.
#[suite::test]
fn fragments_are_translated_in_any_order() {
    for order in [[0, 1, 2], [2, 1, 0], [1, 2, 0]] {
        let mut rig = router();
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
        let port = port_of(2, 5000);
        let datagram = pkt::ip4(PUBLIC, "10.0.1.2").udp(port, 53).payload_len(60).build();
        assert_eq!(again, datagram[20..], "{order:?}");
    }
}

/// Users and the world in tables of their own; an interface may have both roles.
#[suite::test]
fn tables_and_roles_are_kept_apart() {
    let mut rig = Rig::new(PLUGINS, 2);
    for line in [
        "ip table add 1",
        "ip table add 2",
        "set interface ip table p0 1",
        "set interface ip table p1 2",
    ] {
        rig.cli(line);
    }
    rig.networks();
    for line in [
        "det44 plugin enable inside vrf 1 outside vrf 2",
        "det44 add in 10.0.0.0/24 out 192.0.2.7/32",
        "set interface det44 inside p0 outside p1",
    ] {
        rig.cli(line);
    }
    let seen = one(&mut rig, 0, &packet(0, "10.0.0.2", "10.0.1.2").udp(5000, 53));
    assert_eq!((seen.port, seen.from), (1, end(PUBLIC, port_of(2, 5000))));
    let answer = packet(1, "10.0.1.2", PUBLIC).udp(53, seen.from.1);
    assert_eq!(one(&mut rig, 1, &answer).to, end("10.0.0.2", 5000));
    // With the table the sessions go, and with the interface its roles.
    rig.delete_port(0);
    assert_eq!(rig.cli("show det44 interfaces"), "DET44 interfaces:\n p1 out\n");
    rig.cli("det44 plugin disable");
    rig.bench.settle();
    assert_eq!(total(&rig), 0);

    let mut rig = bare(1);
    for line in [
        "det44 plugin enable",
        "det44 add in 10.0.0.0/26 out 192.0.2.7/32",
        "set interface det44 inside p0 outside p0",
    ] {
        rig.cli(line);
    }
    assert_eq!(rig.cli("show det44 interfaces"), "DET44 interfaces:\n p0 in out\n");
    let ask = packet(0, "10.0.0.2", "10.0.0.80").udp(5000, 53);
    let port = (1024 + 64_512 / 64 * 2 + 5000 % (64_512 / 64)) as u16;
    assert_eq!(one(&mut rig, 0, &ask).from, end(PUBLIC, port));
    let answer = packet(0, "10.0.0.80", PUBLIC).udp(53, port);
    assert_eq!(one(&mut rig, 0, &answer).to, end("10.0.0.2", 5000));
}

/// The router answers for the addresses of maps as long as there are an interface and a map.
#[suite::test]
fn addresses_are_local_where_the_world_is() {
    let mut rig = router();
    assert!(rig.cli("show ip fib").contains("192.0.2.7"));
    rig.cli("set interface det44 outside p1 del");
    assert!(!rig.cli("show ip fib").contains("192.0.2.7"));
    rig.cli("set interface det44 outside p1");
    assert!(rig.cli("show ip fib").contains("192.0.2.7"));
    rig.cli("det44 plugin disable");
    assert!(!rig.cli("show ip fib").contains("192.0.2.7"));
}
