// SPDX-License-Identifier: Apache-2.0
//! Frames into the whole graph, frames out of it.

use super::*;
use ::graph::counters::VECTORS;
use net::{Fib, Neighbor, Neighbors, Path, PathKind, Source, TableIndex};
use std::net::Ipv6Addr;
use testkit::mutate::Mutator;
use testkit::pkt::{self, Packet};
use wire::icmp::{code4, code6};
use wire::{EtherType, Ethernet, Icmp4Type, Icmp6Type};

const HOST: MacAddr = MacAddr([2, 0, 0, 0, 0, 9]);
const OWN: MacAddr = MacAddr([2, 0, 0, 0, 0, 1]);

/// `t0` as in [`bench`]; `t1` is 172.16.1.1/24. 20.0.0.0/8 lies behind 172.16.1.2, 30.0.0.0/8
/// behind 10.0.0.2.
fn router() -> (Bench, SwIfIndex) {
    let (bench, t0, t1) = bench();
    let world = &bench.world;
    for sw_if in [t0, t1] {
        world.get::<Interfaces>().set_admin(world, sw_if, true).expect("up");
    }
    let address = "172.16.1.1/24".parse().expect("a prefix");
    world.get::<Addresses<Ip4>>().add(world, t1, address).expect("added");
    let fib = world.get::<Fib<Ip4>>();
    for (sw_if, ip) in
        [(t0, [10, 0, 0, 9]), (t0, [10, 0, 0, 2]), (t0, [192, 0, 2, 9]), (t1, [172, 16, 1, 2])]
    {
        let known = Neighbor { is_static: true, ..Neighbor::new(sw_if, ip.into(), HOST) };
        world.get::<Neighbors>().set(world, known).expect("set");
    }
    for (prefix, sw_if, nexthop) in
        [("20.0.0.0/8", t1, [172, 16, 1, 2]), ("30.0.0.0/8", t0, [10, 0, 0, 2])]
    {
        let via = Path::new(PathKind::Neighbor { sw_if, nexthop: nexthop.into() });
        let prefix = prefix.parse().expect("a prefix");
        fib.set(world, TableIndex::DEFAULT, prefix, Source::Cli, &[via]).expect("set");
    }
    (bench, t0)
}

fn from_host() -> Packet {
    pkt::ether(HOST, OWN)
}

/// Returns the frames that leave when this frame comes in, each with its interface.
fn forward(bench: &mut Bench, sw_if: SwIfIndex, frame: &[u8]) -> Vec<(u32, Vec<u8>)> {
    bench.send("ethernet-input", frame, |b| b.rx_if = sw_if.0);
    bench.world.get::<Recorded>().take()
}

/// Returns the message in the one frame that leaves, which has to go to the host.
fn answer(
    bench: &mut Bench,
    sw_if: SwIfIndex,
    packet: Packet,
) -> (Ipv4Header, IcmpHeader, Vec<u8>) {
    let mut out = forward(bench, sw_if, &packet.build());
    assert_eq!(out.len(), 1, "{out:x?}");
    let (tx_if, frame) = out.remove(0);
    let ether = Ethernet::view(&frame).expect("a header");
    assert_eq!(
        (tx_if, ether.dst, ether.src, ether.ethertype()),
        (sw_if.0, HOST, OWN, EtherType::IP4)
    );
    let (ip, icmp, rest) = verified(&frame[14..]);
    (ip, icmp, rest.to_vec())
}

#[suite::test]
fn a_router_answers() {
    let (mut bench, t0) = router();
    let host = |dst: &str| from_host().ip4("10.0.0.9", dst);
    let (ip, icmp, data) =
        answer(&mut bench, t0, host("10.0.0.1").icmp_echo(3, 4).payload_len(600).pad_to(60));
    assert_eq!(
        (ip.src, ip.dst, icmp.kind, icmp.rest(), data.len()),
        ([10, 0, 0, 1], [10, 0, 0, 9], 0, 0x3_0004, 600)
    );
    // Another address of ours answers as well.
    let (ip, icmp, _) = answer(&mut bench, t0, host("172.16.1.1").icmp_echo(3, 4).pad_to(60));
    assert_eq!((ip.src, icmp.kind), ([172, 16, 1, 1], 0));
    let one = [10, 0, 0, 1];
    for (packet, source, kind, code, rest) in [
        (host("20.0.0.1").ttl(1).udp(1, 2).pad_to(60), one, 11, 0, 0),
        (host("99.0.0.1").udp(1, 2), one, 3, code4::NET_UNREACHABLE, 0),
        (
            host("10.0.0.1").protocol(IpProtocol(253)).payload_len(30),
            one,
            3,
            code4::PROTOCOL_UNREACHABLE,
            0,
        ),
        (
            host("172.16.1.1").udp(1, 9999).payload_len(9),
            [172, 16, 1, 1],
            3,
            code4::PORT_UNREACHABLE,
            0,
        ),
        (
            host("20.0.0.1").df().udp(1, 2).payload_len(2000),
            one,
            3,
            code4::FRAGMENTATION_NEEDED,
            1500,
        ),
    ] {
        let about = packet.build();
        let (ip, icmp, quote) = answer(&mut bench, t0, packet);
        assert_eq!((ip.src, icmp.kind, icmp.code, icmp.rest()), (source, kind, code, rest));
        let len = usize::from(u16::from_be_bytes([about[16], about[17]])).min(548);
        assert_eq!(quote, about[14..14 + len]);
    }
}

/// All bytes of the error that a route calls for: RFC 1812 5.2.7.1 (host unreachable 1,
/// administratively prohibited 10), RFC 4443 3.1 (no route 0, administratively prohibited 1).
#[suite::test]
fn routes_that_refuse_say_so() {
    let (mut bench, t0) = router();
    run(&mut bench, "set interface ip address t0 2001:db8::1/64");
    let neighbor: Ipv6Addr = "2001:db8::9".parse().expect("an address");
    let known = Neighbor { is_static: true, ..Neighbor::new(t0, neighbor.into(), HOST) };
    bench.world.get::<Neighbors>().set(&bench.world, known).expect("set");
    for (route, dst, code) in [
        ("41.0.0.0/8 via unreach", "41.0.0.1", code4::HOST_UNREACHABLE),
        ("42.0.0.0/8 via prohibit", "42.0.0.1", code4::HOST_PROHIBITED),
    ] {
        run(&mut bench, &format!("ip route add {route}"));
        let packet = from_host().ip4("10.0.0.9", dst).udp(1, 2).payload(*b"refused").build();
        let out = forward(&mut bench, t0, &packet);
        let id = u16::from_be_bytes([out[0].1[18], out[0].1[19]]);
        let answer = pkt::ether(OWN, HOST).ip4("10.0.0.1", "10.0.0.9").ttl(255).tos(0xc0).id(id);
        let want = answer.icmp(Icmp4Type::UNREACHABLE, code, 0).payload(&packet[14..]).build();
        assert_eq!(out, [(t0.0, want)], "{route}");
    }
    for (route, dst, code) in [
        ("4100::/16 via unreach", "4100::1", code6::NO_ROUTE),
        ("4200::/16 via prohibit", "4200::1", code6::ADMIN_PROHIBITED),
    ] {
        run(&mut bench, &format!("ip route add {route}"));
        let packet = from_host().ip6("2001:db8::9", dst).udp(1, 2).payload(*b"refused").build();
        let answer = pkt::ether(OWN, HOST).ip6("2001:db8::1", "2001:db8::9").ttl(255).tos(0xc0);
        let want = answer.icmp6(Icmp6Type::UNREACHABLE, code, 0).payload(&packet[14..]).build();
        assert_eq!(forward(&mut bench, t0, &packet), [(t0.0, want)], "{route}");
    }
}

#[suite::test]
fn who_takes_a_detour_is_told_if_that_is_wanted() {
    let (mut bench, t0) = router();
    let packet = from_host().ip4("10.0.0.9", "30.0.0.1").ttl(9).udp(1, 2).payload_len(100).build();
    assert_eq!(forward(&mut bench, t0, &packet).len(), 1);
    assert_eq!(bench.count("ip4-rewrite", "same_interface"), 0);
    run(&mut bench, "set ip icmp redirect t0 enable");
    bench.world.clock.adjust(1_000_000_000);
    let mut out = forward(&mut bench, t0, &packet);
    assert_eq!(out.len(), 2, "the packet and the redirect");
    out.sort_by_key(|(_, frame)| frame[23]);
    let (ip, icmp, quote) = verified(&out[0].1[14..]);
    assert_eq!((ip.src, ip.dst, icmp.kind, icmp.code), ([10, 0, 0, 1], [10, 0, 0, 9], 5, 1));
    assert_eq!((icmp.rest(), quote), (0x0a00_0002, &packet[14..]));
    assert_eq!((out[1].0, out[1].1[22], &out[1].1[26..]), (t0.0, 8, &packet[26..]), "it goes on");
    // Not to a host of another network.
    let other = from_host().ip4("192.0.2.9", "30.0.0.1").ttl(9).udp(1, 2).payload_len(100).build();
    bench.world.clock.adjust(1_000_000_000);
    assert_eq!(forward(&mut bench, t0, &other).len(), 1);
}

#[suite::test]
fn there_are_no_errors_about_errors_in_the_graph() {
    let (mut bench, t0) = router();
    let quote = pkt::ip4("20.0.0.9", "10.0.0.9").udp(1, 2).payload_len(20).build();
    for kind in [3, 11, 12, 5] {
        let error = |dst: &str| {
            from_host().ip4("10.0.0.9", dst).ttl(1).icmp(Icmp4Type(kind), 0, 0).payload(&quote)
        };
        assert_eq!(forward(&mut bench, t0, &error("20.0.0.9").build()), []);
        assert_eq!(forward(&mut bench, t0, &error("99.0.0.9").build()), []);
        assert_eq!(forward(&mut bench, t0, &error("10.0.0.1").build()), []);
    }
    assert_eq!(bench.count("ip4-icmp-error", "icmp_error"), 8);
}

#[suite::test]
fn mutated_frames_get_right_answers() {
    let (mut bench, t0) = router();
    run(&mut bench, "set ip icmp error-rate 1000000 burst 65535");
    let host = |dst: &str| from_host().ip4("10.0.0.9", dst);
    let bases = vec![
        host("10.0.0.1").icmp_echo(7, 1).payload_len(56).build(),
        host("20.0.0.1").ttl(1).udp(5, 6).payload_len(30).build(),
        host("20.0.0.1").df().udp(5, 6).payload_len(1600).build(),
        host("30.0.0.1").ttl(7).icmp_echo(5, 6).payload_len(30).build(),
        host("99.0.0.1").tcp(5, 6).payload_len(30).build(),
        host("10.0.0.1").udp(5, 6).payload_len(30).build(),
        host("10.0.0.1").protocol(IpProtocol(200)).payload_len(30).build(),
        host("10.0.0.1")
            .icmp(Icmp4Type(3), 1, 0)
            .payload(pkt::ip4("10.0.0.1", "8.8.8.8").icmp_echo(7, 1).build())
            .build(),
    ];
    let mut mutator = Mutator::new(3);
    let (input, mut replies, mut errors) = (bench.index("ethernet-input"), 0u64, 0u64);
    for _ in 0..1000 {
        for _ in 0..100 {
            let mut frame = Vec::new();
            mutator.next_frame(&bases, &mut frame);
            let mut b = bench.buffer(&frame[..frame.len().min(9000)]);
            b.rx_if = t0.0;
            bench.rt.inject(input, b);
        }
        bench.settle();
        bench.world.clock.adjust(1_000_000_000);
        for (_, frame) in bench.world.get::<Recorded>().take() {
            // A forwarded packet has another TTL, even if its source is an address of ours.
            let ip = Ipv4Header::view(&frame[14..]).expect("a header");
            let ours = [[10, 0, 0, 1], [192, 0, 2, 1], [172, 16, 1, 1]].contains(&ip.src);
            if !ours
                || ![64, 255].contains(&ip.ttl)
                || ip.protocol != IpProtocol::ICMP
                || frame[14] != 0x45
            {
                continue;
            }
            let (ip, icmp, quote) = verified(&frame[14..]);
            assert!(ip.dst[0] != 0 && ip.dst[0] != 127 && ip.dst[0] < 224, "to {:?}", ip.dst);
            match icmp.kind {
                0 => replies += 1,
                3 | 5 | 11 | 12 => {
                    errors += 1;
                    assert!(frame.len() <= 14 + 576 && Ipv4Header::checksum_ok_at(quote));
                    let about = Ipv4Header::view(quote).expect("a header");
                    assert_eq!((about.src, about.fragment_offset()), (ip.dst, 0));
                    let inner = quote.get(about.header_len()).copied().unwrap_or_default();
                    assert!(
                        about.protocol != IpProtocol::ICMP || !Icmp4Type(inner).is_error(),
                        "about {inner}"
                    );
                }
                kind => panic!("ICMP type {kind} was sent"),
            }
        }
    }
    assert!(replies > 1000 && errors > 20_000, "{replies} replies, {errors} errors");
    // Each packet into a node leaves it with a counted reason, or is counted by the next node.
    let vectors = bench.world.stats.simple(VECTORS);
    let came = |node: &str| vectors.sum(bench.index(node).at());
    let counted = |node: &str| -> u64 {
        let reasons = bench.world.reasons();
        reasons.iter().filter(|r| &*r.node == node).map(|r| bench.count(node, r.reason)).sum()
    };
    assert_eq!(came("ip4-icmp-error"), counted("ip4-icmp-error"));
    assert_eq!(came("ip4-icmp-echo-request"), counted("ip4-icmp-echo-request"));
    assert_eq!(came("ip4-icmp-quoted"), counted("ip4-icmp-quoted"));
    let further = came("ip4-icmp-echo-request") + came("ip4-icmp-quoted");
    assert_eq!(came("ip4-icmp-input"), counted("ip4-icmp-input") + further);
}
