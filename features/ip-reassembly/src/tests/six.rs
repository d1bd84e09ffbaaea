// SPDX-License-Identifier: Apache-2.0
//! The parts that are specific to IPv6, and the path of fragments that are for us.

use super::*;
use net::IpMeta;
use testkit::pkt;
use wire::{IpProtocol, Ipv6Header};

const NODE: &str = "ip6-full-reassembly-feature";

fn ip6() -> testkit::pkt::Packet {
    pkt::ip6("2001:db8:9::9", "2001:db8:7::7")
}

fn feature(bench: &mut Bench, sw_if: SwIfIndex, packet: Vec<u8>) -> Outcome {
    let mut out = bench.feature("ip6-unicast", sw_if, &[packet]);
    assert_eq!(out.len(), 1, "{out:?}");
    out.remove(0)
}

#[suite::test]
fn atomic_fragments_are_whole() {
    let (mut bench, sw_if) = bench();
    run(&mut bench, "set interface reassembly t0 ip6");
    let plain = ip6().udp(1, 2).payload_len(50).build();
    let atomic = ip6().fragment6(9, 0, false).udp(1, 2).payload_len(50).build();
    assert_eq!(feature(&mut bench, sw_if, plain.clone()).bytes, plain);
    assert_eq!(feature(&mut bench, sw_if, atomic).bytes, plain);
    // Also while a datagram with that identification is under way.
    let first = ip6().fragment6(9, 0, true).udp(1, 2).payload_len(48).build();
    assert!(bench.feature("ip6-unicast", sw_if, &[first]).is_empty());
    let atomic = ip6().fragment6(9, 0, false).udp(1, 2).payload_len(50).build();
    assert_eq!(feature(&mut bench, sw_if, atomic).bytes, plain);
    assert_eq!(crate::control::under_way(&bench.world, crate::Kind::Full, true), 1);
}

#[suite::test]
fn faults_are_told() {
    let (mut bench, sw_if) = bench();
    run(&mut bench, "set interface reassembly t0 ip6");
    let node = bench.index("ip6-icmp-error");
    let input = bench.index("ip6-input");
    let reassembly = bench.index(NODE);
    let mut said = |packet: Vec<u8>| {
        let mut b = bench.buffer(&packet);
        b.rx_if = sw_if.0;
        bench.rt.inject(input, b);
        bench.rt.run_node(input);
        bench.rt.run_node(reassembly);
        let [b] = &bench.rt.waiting(node)[..] else { panic!("one packet") };
        let meta: IpMeta = b.scratch();
        (meta.icmp_type(), meta.icmp_code(), meta.icmp_rest)
    };
    // RFC 8200 4.5: no multiple of eight, too long, RFC 7112: headers missing.
    assert_eq!(said(ip6().fragment6(1, 0, true).udp(1, 2).payload_len(41).build()), (4, 0, 4));
    assert_eq!(said(ip6().fragment6(1, 0xfff8, false).payload([0; 80]).build()), (4, 0, 42));
    assert_eq!(
        said(ip6().fragment6(1, 0, true).protocol(IpProtocol::TCP).payload([0; 16]).build()),
        (4, 3, 0)
    );
    let cut = ip6()
        .fragment6(1, 0, true)
        .protocol(IpProtocol::DEST_OPTIONS)
        .payload([17, 1, 1, 4, 0, 0, 0, 0]);
    assert_eq!(said(cut.build()), (4, 3, 0));
}

#[suite::test]
fn who_waits_too_long_is_told() {
    let (mut bench, sw_if) = bench();
    run(&mut bench, "set interface reassembly t0 on");
    let first = ip6().fragment6(9, 0, true).udp(1, 2).payload_len(48).build();
    assert!(bench.feature("ip6-unicast", sw_if, &[first]).is_empty());
    pass(&mut bench, 6000);
    assert_eq!(
        (bench.count(NODE, "reass_time_exceeded"), bench.count(NODE, "reass_timeout")),
        (1, 1)
    );
}

#[suite::test]
fn overlapping_fragments_end_their_datagram_and_empty_ones_nothing() {
    let (mut bench, sw_if) = bench();
    run(&mut bench, "set interface reassembly t0 on");
    let part = |at, len| {
        ip6().fragment6(9, at, true).protocol(IpProtocol(253)).payload(vec![7; len]).build()
    };
    let out = bench.feature(
        "ip6-unicast",
        sw_if,
        &[part(0, 200), part(200, 0), part(0, 192), part(200, 80)],
    );
    let reasons: Vec<_> = out.iter().filter_map(|o| o.reason).collect();
    assert_eq!(reasons.len(), 4, "{out:?}");
    let counts = ["reass_overlapping_fragment", "reass_given_up", "reass_invalid_frag_len"];
    assert_eq!(counts.map(|reason| bench.count(NODE, reason)), [1, 2, 1]);
}

#[suite::test]
fn shallow_reassembly_knows_ports_behind_extension_headers() {
    let (mut bench, sw_if) = bench();
    run(&mut bench, "set interface virtual-reassembly t0 ip6");
    let node = bench.index("ip6-sv-reassembly-feature");
    let (input, lookup) = (bench.index("ip6-input"), bench.index("ip6-lookup"));
    let headers = || ip6().ext(IpProtocol::DEST_OPTIONS, [0, 1, 4, 0, 0, 0, 0]);
    let first = headers().fragment6(9, 0, true).tcp(1000, 2000).payload_len(44).build();
    let later = ip6().fragment6(9, 64, false).protocol(IpProtocol::TCP).payload([7; 30]).build();
    for packet in [later, first] {
        let mut b = bench.buffer(&packet);
        b.rx_if = sw_if.0;
        bench.rt.inject(input, b);
    }
    bench.rt.run_node(input);
    bench.rt.run_node(node);
    let l4 = bench.world.field::<net::L4>();
    let known: Vec<_> = bench.rt.waiting(lookup).iter().map(|b| b.field(l4)).collect();
    let seen: Vec<_> =
        known.iter().map(|l4| (l4.src_port, l4.dst_port, l4.offset, l4.later)).collect();
    assert_eq!(seen, [(1000, 2000, 56, false), (1000, 2000, 48, true)]);
}

#[suite::test]
fn datagrams_for_us_come_back_whole() {
    let mut bench = Bench::new(PLUGINS);
    let sw_if = recording(&bench.world);
    // No byte is where another one of its kind would be.
    let payload: Vec<u8> = (0..8000u32).map(|i| (i * 7 + i / 251) as u8).collect();
    let large = pkt::ip4("10.0.0.9", "10.0.0.1").icmp_echo(1, 2).payload(&payload).build();
    let reply = pkt::ip4("10.0.0.1", "10.0.0.9").icmp_echo_reply(1, 2).payload(&payload).build();
    let parts = cut(&large, 1480);
    for bytes in &parts {
        bench.send("ip4-input", bytes, |b| b.rx_if = sw_if.0);
    }
    assert_eq!(bench.count("ip4-local-full-reassembly", "reass_success"), 1);
    let [sent_back] = &sent(&bench.world)[..] else { panic!("one reply") };
    assert_eq!(sent_back[12..20], reply[12..20]);
    assert!(sent_back[20..] == reply[20..], "the reply has other bytes");
    run(&mut bench, "set ip local-reassembly ip4 disable");
    for bytes in &parts {
        bench.send("ip4-input", bytes, |b| b.rx_if = sw_if.0);
    }
    assert_eq!(bench.count("ip4-local", "fragment"), parts.len() as u64);
    sent(&bench.world);

    // And in any order.
    let payload = &payload[..4000];
    let whole = pkt::ip6("2001:db8::9", "2001:db8::1").icmp6_echo(1, 2).payload(payload).build();
    let header = Ipv6Header::view(&whole).expect("a header");
    let upper = &whole[40..];
    for id in 0..4 {
        let mut parts: Vec<_> = upper
            .chunks(1232)
            .enumerate()
            .map(|(i, bytes)| {
                let more = (i + 1) * 1232 < upper.len();
                let part =
                    pkt::ip6(header.src(), header.dst()).fragment6(id, (i * 1232) as u16, more);
                part.protocol(IpProtocol::ICMP6).payload(bytes).build()
            })
            .collect();
        parts.rotate_left(id as usize);
        for part in parts {
            bench.send("ip6-input", &part, |b| b.rx_if = sw_if.0);
        }
        assert_eq!(bench.count("ip6-local-full-reassembly", "reass_success"), u64::from(id) + 1);
        let [reply] = &sent(&bench.world)[..] else { panic!("one reply") };
        assert_eq!(
            (reply[8..24].to_vec(), reply[24..40].to_vec()),
            (whole[24..40].to_vec(), whole[8..24].to_vec())
        );
        // Type 129, and a checksum of its own (RFC 4443 4.2).
        assert!(reply[40] == 129 && reply[44..] == whole[44..], "the reply has other bytes");
        assert_eq!(wire::l4::verify(reply), Ok(wire::l4::Verdict::Valid));
    }
}
