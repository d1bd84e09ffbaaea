// SPDX-License-Identifier: Apache-2.0
mod origin;

use crate::api::*;
use crate::{PLUGIN, Udp};
use graph::drive::Bench;
use graph::{Plugin, World};
use net::drive::{Recorded, Recorder, ethernet};
use net::{Adjacencies, Fib, Interfaces, NewInterface};
use std::collections::BTreeSet;
use std::net::IpAddr;
use testkit::mutate::Mutator;
use testkit::pkt::{self, Checksum, Packet};
use wire::{Ip4, MacAddr, l4};

static PLUGINS: &[&Plugin] =
    &[&interface::PLUGIN, &ethernet::PLUGIN, &fib::PLUGIN, &ip::PLUGIN, &PLUGIN];

/// Interfaces t0 to t2 with 10.0.N.1/24 and 2001:db8:N::1/64, and a neighbour .2 on each.
fn router() -> Bench {
    let mut bench = Bench::new(PLUGINS);
    for i in 0..3 {
        let new =
            NewInterface { mtu: 9000, ..ethernet(format!("t{i}"), MacAddr([2, 0, 0, 0, 0, i])) };
        let tx = |world: &World, _, sw_if| Recorder::new(world, sw_if);
        bench.world.get::<Interfaces>().create(&bench.world, new, tx).expect("created");
        for line in [
            format!("set interface state t{i} up"),
            format!("set interface ip address t{i} 10.0.{i}.1/24"),
            format!("set interface ip address t{i} 2001:db8:{i}::1/64"),
            format!("ip neighbor t{i} 10.0.{i}.2 02:00:00:00:01:0{i}"),
            format!("ip neighbor t{i} 2001:db8:{i}::2 02:00:00:00:01:0{i}"),
        ] {
            run(&mut bench, &line);
        }
    }
    bench
}

#[track_caller]
fn run(bench: &mut Bench, line: &str) -> String {
    let text =
        if line.starts_with("ip neighbor") { set_neighbor(bench, line) } else { bench.cli(line) };
    let text = text.unwrap_or_else(|e| panic!("{line}: {e}"));
    bench.settle();
    text
}

/// The command for neighbours is another feature's.
fn set_neighbor(bench: &Bench, line: &str) -> Result<String, cli::Error> {
    let words: Vec<&str> = line.split(' ').collect();
    let sw_if = bench.world.get::<Interfaces>().find(words[2])?;
    let new = net::Neighbor::new(sw_if, addr(words[3]), words[4].parse().expect("an address"));
    let new = net::Neighbor { is_static: true, ..new };
    bench.world.get::<net::Neighbors>().set(&bench.world, new).map(|()| String::new())
}

fn addr(text: &str) -> IpAddr {
    text.parse().expect("an address")
}

/// Packets sent when a packet comes in by t0: interface, and the IP packet behind the Ethernet
/// header.
fn out(bench: &mut Bench, packet: &Packet) -> Vec<(u32, Vec<u8>)> {
    let bytes = packet.build();
    let node = if bytes[0] >> 4 == 4 { "ip4-input" } else { "ip6-input" };
    let rx = bench.world.get::<Interfaces>().find("t0").expect("there").0;
    bench.send(node, &bytes, |b| b.rx_if = rx);
    let sent = bench.world.get::<Recorded>().take();
    sent.into_iter().map(|(sw_if, frame)| (sw_if, frame[14..].to_vec())).collect()
}

fn inner4(port: u16) -> Packet {
    pkt::ip4("10.0.0.9", "20.0.0.1").ttl(9).udp(port, 2000).payload_len(100)
}

fn inner6(port: u16) -> Packet {
    pkt::ip6("2001:db8::9", "2002::1").ttl(9).udp(port, 2000).payload_len(100)
}

/// A datagram of IPv4 around a packet, as it leaves: number `id` of its node.
fn outer4(inner: &Packet, ports: (u16, u16), id: u16) -> Vec<u8> {
    pkt::ip4("10.0.1.1", "10.0.1.2")
        .ttl(254)
        .id(id)
        .udp(ports.0, ports.1)
        .checksum(Checksum::Value(0))
        .payload(inner.build())
        .build()
}

fn outer6(inner: &Packet, ports: (u16, u16)) -> Vec<u8> {
    pkt::ip6("2001:db8:2::1", "2001:db8:2::2")
        .ttl(254)
        .udp(ports.0, ports.1)
        .payload(inner.build())
        .build()
}

#[suite::test]
fn packets_of_both_protocols_go_in_datagrams_of_both() {
    let mut bench = router();
    assert_eq!(run(&mut bench, "udp encap add 10.0.1.1 10.0.1.2 330 440"), "0\n");
    assert_eq!(run(&mut bench, "udp encap add id 7 2001:db8:2::1 2001:db8:2::2 331 441"), "");
    for (encap, id) in [(0, 0), (7, 1)] {
        run(&mut bench, &format!("ip route add 20.0.0.0/8 via udp-encap {encap}"));
        run(&mut bench, &format!("ip route add 2002::/16 via udp-encap {encap}"));
        for inner in [inner4(1), inner6(1)] {
            let (sw_if, got) = out(&mut bench, &inner).pop().expect("sent");
            let want =
                if id == 0 { outer4(&inner, (330, 440), 0) } else { outer6(&inner, (331, 441)) };
            assert_eq!((sw_if, got), (2 + id, want));
        }
        run(&mut bench, &format!("ip route del 20.0.0.0/8 via udp-encap {encap}"));
        run(&mut bench, &format!("ip route del 2002::/16 via udp-encap {encap}"));
    }
    let shown = run(&mut bench, "show udp encap");
    let bytes = inner4(1).build().len() + inner6(1).build().len();
    let want = format!(
        "udp-encap:[0]: ip-fib-index:0 ip:[src:10.0.1.1, dst:10.0.1.2] udp:[src:330, dst:440] flags:none to:[2:{bytes}]]\n"
    );
    assert!(shown.starts_with(&want), "{shown}");
    assert!(run(&mut bench, "show udp encap 7 -j").contains("\"destination_port\": 441"));
    assert_eq!(bench.drops(), 0);
}

#[suite::test]
fn routes_may_be_there_before_what_they_lead_to() {
    let mut bench = router();
    run(&mut bench, "ip route add 20.0.0.0/8 via udp-encap 4");
    assert!(run(&mut bench, "show ip fib 20.0.0.0/8").contains("udp-encap: 4 unresolved"));
    run(&mut bench, "udp encap add id 4 10.0.1.1 10.0.1.2 330 440");
    assert_eq!(out(&mut bench, &inner4(1))[0].1, outer4(&inner4(1), (330, 440), 0));
}

/// Ports follow from flows: packets of one flow have the same, and all ports are RFC 7510's.
#[suite::test]
fn flows_have_ports_of_their_own() {
    let mut bench = router();
    run(&mut bench, "udp encap add id 0 10.0.1.1 10.0.1.2 440 src-port-is-entropy");
    run(&mut bench, "ip route add 20.0.0.0/8 via udp-encap 0");
    let mut port = |flow| {
        let (_, got) = out(&mut bench, &inner4(flow)).pop().expect("sent");
        u16::from_be_bytes([got[20], got[21]])
    };
    let all: Vec<u16> = (0..64).map(&mut port).collect();
    assert!(all.iter().all(|port| *port >= 0xc000));
    assert!(all.iter().collect::<BTreeSet<_>>().len() > 50);
    assert_eq!((0..64).map(port).collect::<Vec<_>>(), all);
}

/// A packet in several segments, whose checksum over IPv6 covers all of them.
#[suite::test]
fn chains_go_in_datagrams() {
    let mut bench = router();
    run(&mut bench, "udp encap add id 0 2001:db8:2::1 2001:db8:2::2 1 2");
    run(&mut bench, "ip route add 20.0.0.0/8 via udp-encap 0");
    let inner = pkt::ip4("10.0.0.9", "20.0.0.1").ttl(9).udp(5, 6).payload_len(5000);
    let (_, got) = out(&mut bench, &inner).pop().expect("sent");
    assert_eq!(got, outer6(&inner, (1, 2)));
    assert_eq!(l4::verify(&got), Ok(l4::Verdict::Valid));
}

#[suite::test]
fn the_way_of_datagrams_is_followed() {
    let mut bench = router();
    run(&mut bench, "ip route add 30.0.0.0/8 via 10.0.1.2 t1");
    run(&mut bench, "udp encap add id 0 10.0.1.1 30.0.0.1 1 2");
    run(&mut bench, "ip route add 20.0.0.0/8 via udp-encap 0");
    let by = |bench: &mut Bench| out(bench, &inner4(1)).first().map(|(sw_if, _)| *sw_if);
    assert_eq!(by(&mut bench), Some(2));
    run(&mut bench, "ip route add 30.0.0.1/32 via 10.0.2.2 t2");
    assert_eq!(by(&mut bench), Some(3));
    run(&mut bench, "set interface state t2 down");
    run(&mut bench, "ip route del 30.0.0.1/32 via 10.0.2.2 t2");
    assert_eq!(by(&mut bench), Some(2));
    // Two paths: flows are spread over them.
    run(&mut bench, "set interface state t2 up");
    run(&mut bench, "ip route add 30.0.0.0/8 via 10.0.2.2 t2");
    run(&mut bench, "udp encap del id 0");
    run(&mut bench, "ip route del 20.0.0.0/8 via udp-encap 0");
    run(&mut bench, "udp encap add id 0 10.0.1.1 30.0.0.1 2 src-port-is-entropy");
    run(&mut bench, "ip route add 20.0.0.0/8 via udp-encap 0");
    let ways: BTreeSet<u32> = (0..64).map(|flow| out(&mut bench, &inner4(flow))[0].0).collect();
    assert_eq!(ways, BTreeSet::from([2, 3]));
    // None: the route to it can't be used, and another one is.
    run(&mut bench, "ip route del 30.0.0.0/8");
    let shown = run(&mut bench, "show udp encap");
    assert!(shown.ends_with(" unresolved (there is no route to 30.0.0.1 in table 0)\n"), "{shown}");
    assert!(run(&mut bench, "show ip fib 20.0.0.0/8").contains("unresolved"));
    run(&mut bench, "ip route add 20.0.0.0/8 via 10.0.1.2 t1");
    assert_eq!(out(&mut bench, &inner4(1))[0].1[8], 8, "the packet itself");
    // Our own address is no path either.
    run(&mut bench, "udp encap add id 1 10.0.1.1 10.0.2.1 1 2");
    let shown = run(&mut bench, "show udp encap 1");
    assert!(shown.ends_with(" unresolved (10.0.2.1 is our own address)\n"), "{shown}");
}

#[suite::test]
fn a_datagram_that_would_go_into_itself_is_not_sent() {
    let mut bench = router();
    run(&mut bench, "ip route add 30.0.0.0/8 via 10.0.1.2 t1");
    run(&mut bench, "udp encap add id 0 10.0.1.1 30.0.0.1 1 2");
    run(&mut bench, "udp encap add id 1 10.0.1.1 20.0.0.1 1 2");
    run(&mut bench, "ip route add 20.0.0.0/8 via udp-encap 0");
    assert_eq!(out(&mut bench, &inner4(1)).len(), 1);
    run(&mut bench, "ip route add 30.0.0.1/32 via udp-encap 0");
    assert!(run(&mut bench, "show ip fib 30.0.0.1/32").contains("looped"));
    assert_eq!(out(&mut bench, &inner4(1)), []);
    run(&mut bench, "ip route del 30.0.0.1/32 via udp-encap 0");
    assert_eq!(out(&mut bench, &inner4(1)).len(), 1, "it heals");
    // One over the other, and back.
    run(&mut bench, "ip route add 30.0.0.1/32 via udp-encap 1");
    assert_eq!(out(&mut bench, &inner4(1)), []);
    run(&mut bench, "ip route del 30.0.0.1/32 via udp-encap 1");
    // A circle over both protocols, made of routes that were usable before.
    run(&mut bench, "udp encap add id 2 2001:db8:2::1 2003::1 1 2");
    run(&mut bench, "udp encap add id 3 10.0.1.1 40.0.0.1 1 2");
    run(&mut bench, "ip route add 2003::/16 via 2001:db8:2::2 t2");
    run(&mut bench, "ip route add 40.0.0.0/8 via udp-encap 2");
    run(&mut bench, "ip route del 20.0.0.0/8");
    run(&mut bench, "ip route add 20.0.0.0/8 via udp-encap 3");
    assert_eq!(out(&mut bench, &inner4(1)).len(), 1);
    run(&mut bench, "ip route add 2003::1/128 via udp-encap 3");
    assert!(run(&mut bench, "show ip6 fib 2003::1/128").contains("looped"));
    assert_eq!(out(&mut bench, &inner4(1)), []);
    run(&mut bench, "ip route del 2003::1/128");
    assert_eq!(out(&mut bench, &inner4(1)).len(), 1);
}

/// IPv4 routes to an encapsulation of IPv6: another path takes over when the route of the datagrams
/// goes.
#[suite::test]
fn paths_fail_over_across_protocols() {
    let mut bench = router();
    run(&mut bench, "udp encap add id 0 2001:db8:2::1 2003::1 1 2");
    run(&mut bench, "ip route add 20.0.0.0/8 via udp-encap 0");
    run(&mut bench, "ip route add 20.0.0.0/8 via 10.0.1.2 t1 preference 1");
    let first = |bench: &mut Bench| {
        out(bench, &inner4(1)).first().map(|(sw_if, packet)| (*sw_if, packet[0] >> 4))
    };
    assert_eq!(first(&mut bench), Some((2, 4)), "no route to the far end");
    run(&mut bench, "ip route add 2003::/16 via 2001:db8:2::2 t2");
    assert_eq!(first(&mut bench), Some((3, 6)));
    run(&mut bench, "set interface state t2 down");
    assert_eq!(first(&mut bench), Some((2, 4)));
    run(&mut bench, "set interface state t2 up");
    assert_eq!(first(&mut bench), Some((3, 6)));
    // Through a second encapsulation of IPv4.
    run(&mut bench, "udp encap add id 1 10.0.1.1 30.0.0.1 1 2");
    run(&mut bench, "ip route add 30.0.0.0/8 via 10.0.1.2 t1");
    run(&mut bench, "ip route del 2003::/16");
    run(&mut bench, "ip route add 2003::/16 via udp-encap 1");
    assert_eq!(first(&mut bench), Some((2, 4)));
    assert_eq!(out(&mut bench, &inner4(1))[0].1.len(), inner4(1).build().len() + 48 + 28);
    run(&mut bench, "ip route del 30.0.0.0/8");
    assert_eq!(
        out(&mut bench, &inner4(1))[0].1.len(),
        inner4(1).build().len(),
        "over three routes"
    );
    run(&mut bench, "ip route add 30.0.0.0/8 via 10.0.1.2 t1");
    assert_eq!(out(&mut bench, &inner4(1))[0].1.len(), inner4(1).build().len() + 48 + 28);
}

/// Two routers whose routes lead into datagrams to each other would pass a packet on for ever.
#[suite::test]
fn a_packet_from_one_datagram_to_the_next_takes_a_hop() {
    let mut bench = router();
    run(&mut bench, "udp encap add id 0 10.0.1.1 10.0.1.2 330 440");
    run(&mut bench, "udp decap add ipv4 440 next-proto ip4");
    run(&mut bench, "ip route add 20.0.0.0/8 via udp-encap 0");
    let mut inner = inner4(1).build();
    for ttl in (1..9).rev() {
        let datagram = pkt::ip4("10.0.0.9", "10.0.0.1").udp(1, 440).payload(&inner);
        let sent = out(&mut bench, &datagram).pop().expect("sent").1;
        inner = sent[28..].to_vec();
        let (_, rest) =
            (0, pkt::ip4("10.0.0.9", "20.0.0.1").ttl(ttl).udp(1, 2000).payload_len(100).build());
        assert_eq!(inner, rest);
    }
    let datagram = pkt::ip4("10.0.0.9", "10.0.0.1").udp(1, 440).payload(&inner);
    assert_eq!(out(&mut bench, &datagram), []);
    assert_eq!(bench.count("udp4o4-encap", "expired"), 1);
}

/// Broken packets and datagrams around broken packets: each is sent once or dropped by name, and
/// every buffer comes back.
#[suite::test]
fn broken_packets_are_sent_or_dropped_by_name() {
    let mut bench = router();
    for line in [
        "udp encap add id 0 10.0.1.1 10.0.1.2 440 src-port-is-entropy",
        "udp encap add id 1 2001:db8:2::1 2001:db8:2::2 1 441",
        "ip route add 20.0.0.0/8 via udp-encap 1",
        "ip route add 2002::/16 via udp-encap 0",
        "udp decap add ipv4 440 next-proto ip4",
        "udp decap add ipv4 441 next-proto ip6",
        "udp decap add ipv6 440 next-proto ip4",
        "udp decap add ipv6 441 next-proto ip6",
    ] {
        run(&mut bench, line);
    }
    let (four, six) = (inner4(1).build(), inner6(1).build());
    let bases = [
        four.clone(),
        six.clone(),
        pkt::ip4("10.0.0.9", "10.0.0.1").udp(1, 440).payload(&four).build(),
        pkt::ip4("10.0.0.9", "10.0.0.1").udp(1, 441).payload(&six).build(),
        pkt::ip6("2001:db8::9", "2001:db8::1").udp(1, 440).payload(&four).build(),
        pkt::ip6("2001:db8::9", "2001:db8::1").udp(1, 441).payload(&six).build(),
    ];
    let rx = bench.world.get::<Interfaces>().find("t0").expect("there").0;
    let (mut mutator, mut packet, mut sent) = (Mutator::new(11), Vec::new(), 0);
    for _ in 0..30_000 {
        mutator.next_frame(&bases, &mut packet);
        let node = if packet.first().is_some_and(|byte| byte >> 4 == 6) {
            "ip6-input"
        } else {
            "ip4-input"
        };
        bench.send(node, &packet, |b| b.rx_if = rx);
        for (_, frame) in bench.world.get::<Recorded>().take() {
            sent += 1;
            let datagram = &frame[14..];
            // Of IPv4 a datagram has no checksum; fragments and what isn't a datagram are no
            // concern here.
            if matches!(datagram[0] >> 4, 6) && datagram[6] == 17 {
                assert_eq!(l4::verify(datagram), Ok(l4::Verdict::Valid));
            }
        }
    }
    assert!(sent > 1000 && bench.drops() > 1000, "{sent} sent, {} dropped", bench.drops());
    bench.world.clock.adjust(10_000_000_000);
    bench.settle();
    assert_eq!(bench.buffers_out(), 0, "buffers are lost");
}

#[suite::test]
fn what_is_deleted_goes_on_for_the_routes_that_lead_to_it() {
    let mut bench = router();
    run(&mut bench, "ip table add 7");
    run(&mut bench, "ip route add table 7 10.0.1.2/32 via 10.0.1.2 t1");
    run(&mut bench, "udp encap add id 0 10.0.1.1 10.0.1.2 1 2 table-id 7");
    run(&mut bench, "ip route add 20.0.0.0/8 via udp-encap 0");
    run(&mut bench, "udp encap del id 0");
    assert_eq!(run(&mut bench, "show udp encap"), "");
    assert_eq!(out(&mut bench, &inner4(1))[0].1, outer4(&inner4(1), (1, 2), 0));
    // So does the table that its datagrams are routed in.
    run(&mut bench, "ip table del 7");
    let fib = bench.world.get::<Fib<Ip4>>();
    assert!(fib.find_table(7).is_ok());
    // Its routes are deleted with it, so there is no path at present.
    let shown = |bench: &mut Bench| run(bench, "show ip fib 20.0.0.0/8");
    assert!(shown(&mut bench).contains("udp-encap: 0 unresolved"));
    run(&mut bench, "ip table add 7");
    run(&mut bench, "ip route add table 7 10.0.1.2/32 via 10.0.1.2 t1");
    assert!(shown(&mut bench).contains("udp-encap: 0 10.0.1.1 10.0.1.2 1 2 table-id 7"));
    run(&mut bench, "ip table del 7");
    // Another one with its number takes its place, also of the other protocol.
    run(&mut bench, "udp encap add id 0 2001:db8:2::1 2001:db8:2::2 5 6");
    assert_eq!(out(&mut bench, &inner4(1))[0].1, outer6(&inner4(1), (5, 6)));
    assert!(fib.find_table(7).is_err(), "nothing uses it");
    run(&mut bench, "udp encap del id 0");
    // The number is free when the last route is gone.
    assert_eq!(run(&mut bench, "udp encap add 10.0.1.1 10.0.1.2 3 4"), "1\n");
    run(&mut bench, "ip route del 20.0.0.0/8 via udp-encap 0");
    assert_eq!(run(&mut bench, "udp encap add 10.0.1.1 10.0.1.2 3 4"), "0\n");
    let count = bench.world.get::<Udp>().counters.sum(0);
    assert_eq!(count, (0, 0), "counted anew");
    assert!(bench.world.get::<Adjacencies>().list().iter().all(|info| info.object.is_none()));
}

#[suite::test]
fn what_is_put_in_comes_out() {
    let mut bench = router();
    run(&mut bench, "udp encap add id 0 10.0.1.1 10.0.1.2 330 440");
    run(&mut bench, "udp encap add id 1 2001:db8:2::1 2001:db8:2::2 331 441");
    for port in ["ipv4 440 next-proto ip4", "ipv6 441 next-proto ip4", "ipv4 442 next-proto ip6"] {
        run(&mut bench, &format!("udp decap add {port}"));
    }
    run(&mut bench, "ip route add 20.0.0.0/8 via 10.0.1.2 t1");
    run(&mut bench, "ip route add 2002::/16 via 2001:db8:2::2 t2");
    let (four, six) = (inner4(1).build(), inner6(1).build());
    for (datagram, want) in [
        (pkt::ip4("10.0.0.9", "10.0.0.1").udp(1, 440).payload(&four), inner4(1)),
        (pkt::ip6("2001:db8::9", "2001:db8::1").udp(1, 441).payload(&four), inner4(1)),
        (pkt::ip4("10.0.0.9", "10.0.0.1").udp(1, 442).payload(&six), inner6(1)),
    ] {
        let got = out(&mut bench, &datagram).pop().expect("sent").1;
        let mut want = want.build();
        let (at, is_v6) = if want[0] >> 4 == 4 { (8, false) } else { (7, true) };
        want[at] -= 1;
        if !is_v6 {
            wire::Ipv4Header::set_checksum_at(&mut want);
        }
        assert_eq!(got, want);
    }
    // Bytes that aren't a packet are dropped, as from the wire.
    let broken = pkt::ip4("10.0.0.9", "10.0.0.1").udp(1, 440).payload([0x45, 0, 0]);
    assert_eq!(out(&mut bench, &broken), []);
    assert!(bench.drops() > 0);
    run(&mut bench, "udp decap del ipv4 440");
    let datagram = pkt::ip4("10.0.0.9", "10.0.0.1").udp(1, 440).payload(&four);
    bench.send("ip4-input", &datagram.build(), |b| b.rx_if = 1);
    assert_eq!(bench.count("ip4-udp-lookup", "no_listener"), 1);
}

#[suite::test]
fn wrong_ones_are_refused() {
    let mut bench = router();
    run(&mut bench, "udp encap add id 3 10.0.1.1 10.0.1.2 1 2");
    for (line, retval, part) in [
        ("udp encap add 10.0.1.1 2001:db8::1 1 2", -153, "two protocols"),
        ("udp encap add 10.0.1.1 10.0.1.2 1 2 table-id 9", -65, "no table 9"),
        ("udp encap add 10.0.1.1 10.0.1.2 0", -7, "port"),
        ("udp encap add 0.0.0.0 10.0.1.2 1 2", -7, "no address to send from"),
        ("udp encap add 10.0.1.1 224.0.0.9 1 2", -7, "no address"),
        ("udp encap add id 3 10.0.1.1 10.0.1.2 1 2", -81, "there is an encapsulation 3"),
        ("udp encap add id 99999999 10.0.1.1 10.0.1.2 1 2", -162, "at most"),
        ("udp encap add 10.0.1.1 10.0.1.2 1 2 src-port-is-entropy", -1, "not both"),
        ("udp encap del id 4", -6, "no encapsulation 4"),
        ("show udp encap 4", -6, "no encapsulation 4"),
        ("udp decap del ipv4 9", -6, "carry no packets"),
        ("udp decap add ipv4 9 next-proto mpls", -1, "MPLS"),
    ] {
        let error = bench.cli(line).expect_err(line);
        assert!(error.to_string().contains(part), "{line}: {error}");
        assert_eq!(error.code(), retval, "{line}");
    }
    run(&mut bench, "udp decap add ipv4 9 next-proto ip4");
    assert_eq!(bench.cli("udp decap add ipv4 9 next-proto ip6").expect_err("taken").code(), -164);
}

#[suite::test]
fn the_same_by_messages() {
    let bench = router();
    let encap = |src: &str, dst: &str, table_id| UdpEncap {
        table_id,
        src_port: 1,
        dst_port: 2,
        src_ip: addr(src).into(),
        dst_ip: addr(dst).into(),
        id: 9,
    };
    let add = |udp_encap| bench.api().call(UdpEncapAdd { udp_encap });
    assert_eq!(add(encap("10.0.1.1", "10.0.1.2", 0)), Ok(UdpEncapAddReply { id: 0 }));
    assert_eq!(add(encap("2001:db8::1", "2001:db8::2", 0)), Ok(UdpEncapAddReply { id: 1 }));
    assert_eq!(add(encap("10.0.1.1", "10.0.1.2", 5)), Err(-65));
    let all: Vec<_> = bench.api().dump(UdpEncapDump {}).into_iter().map(|d| d.udp_encap).collect();
    let want = [encap("10.0.1.1", "10.0.1.2", 0), encap("2001:db8::1", "2001:db8::2", 0)];
    assert_eq!(all, [UdpEncap { id: 0, ..want[0] }, UdpEncap { id: 1, ..want[1] }]);
    assert_eq!(bench.api().call(UdpEncapDel { id: 0 }), Ok(()));
    assert_eq!(bench.api().call(UdpEncapDel { id: 0 }), Err(-6));
    let decap = |is_add, is_ip4, next_proto| {
        let udp_decap = UdpDecap { is_ip4, port: 220, next_proto };
        bench.api().call(UdpDecapAddDel { is_add, udp_decap })
    };
    assert_eq!(decap(true, 1, UdpDecapNextProto::Ip4), Ok(()));
    assert_eq!(decap(true, 0, UdpDecapNextProto::Ip6), Ok(()));
    assert_eq!(decap(true, 0, UdpDecapNextProto::Mpls), Err(-9));
    assert_eq!(decap(false, 1, UdpDecapNextProto::Ip4), Ok(()));
    assert_eq!(decap(false, 1, UdpDecapNextProto::Ip4), Err(-6));
}

/// Any flags of what comes in are those of the datagram no more.
#[suite::test]
fn known_sums_of_datagrams_say_nothing_of_packets() {
    let mut bench = router();
    run(&mut bench, "udp decap add ipv4 440 next-proto ip4");
    let mut inner = inner4(1).build();
    inner[10] ^= 1;
    let datagram = pkt::ip4("10.0.0.9", "10.0.0.1").udp(1, 440).payload(&inner).build();
    let known = buffer::Flags::IP4_CSUM_OK.union(buffer::Flags::L4_CSUM_OK);
    bench.send("ip4-input-no-checksum", &datagram, |b| {
        b.rx_if = 1;
        b.flags.insert(known);
    });
    assert_eq!(bench.count("ip4-input", "bad_checksum"), 1);
}
