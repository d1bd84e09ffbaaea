// SPDX-License-Identifier: Apache-2.0
use super::*;
use buffer::Flags;
use net::IpMeta;
use testkit::pkt;
use wire::Icmp4Type;
use wire::icmp::code4;

const TTL: (u8, u8, u32) = (11, 0, 0);

fn send(
    bench: &mut Bench,
    sw_if: SwIfIndex,
    packet: &[u8],
    says: (u8, u8, u32),
    prepare: impl Fn(&mut Buffer),
) -> Outcome {
    one(errors(bench, "ip4-icmp-error", &[packet.to_vec()], |b| {
        b.rx_if = sw_if.0;
        b.set_scratch(IpMeta::error(says.0, says.1, says.2));
        prepare(b);
    }))
}

#[suite::test]
fn an_error_quotes_the_packet_and_goes_back() {
    let (mut bench, sw_if, _) = bench();
    let packet =
        pkt::ip4("10.0.0.9", "8.8.8.8").ttl(1).tos(0xb9).udp(4000, 53).payload_len(200).build();
    let out = send(&mut bench, sw_if, &packet, TTL, |_| {});
    assert_eq!((out.node.as_str(), out.rx_if, out.tx_if), ("ip4-lookup", sw_if.0, u32::MAX));
    let (ip, icmp, quote) = verified(&out.bytes);
    assert_eq!((ip.src, ip.dst, ip.ttl), ([10, 0, 0, 1], [10, 0, 0, 9], 255));
    assert_eq!(
        (ip.tos, ip.flags_fragment.get()),
        (0xd8, 0),
        "precedence 6, the TOS bits of 0xb9, no ECN; no DF"
    );
    assert_eq!((icmp.kind, icmp.code, icmp.rest()), (11, 0, 0));
    assert_eq!(quote, packet, "a packet that fits is quoted whole");
    assert_eq!(bench.count("ip4-icmp-error", "ttl_expire_sent"), 1);
    let trace = {
        bench.rt.receive();
        bench.rt.trace().order(::graph::NodeIndex(999), 1, ::graph::TraceLog::room(4), 0);
        send(&mut bench, sw_if, &packet, TTL, |b| Bench::trace(b, 5));
        bench.rt.trace().records().map(|r| r.to_string()).collect::<String>()
    };
    assert!(trace.contains("10.0.0.1 -> 10.0.0.9") && trace.contains("time_exceeded"), "{trace}");
}

#[suite::test]
fn the_message_is_576_bytes_at_most_whatever_the_segments() {
    let (mut bench, sw_if, _) = bench();
    for payload in [519, 520, 521, 1400, 6000] {
        let mut packet =
            pkt::ip4("192.0.2.2", "8.8.8.8").df().udp(1, 2).payload_len(payload).build();
        let says = (3, code4::FRAGMENTATION_NEEDED, 1400);
        let len = packet.len();
        // Padding of the frame isn't quoted.
        packet.extend([0xee; 30]);
        let out = send(&mut bench, sw_if, &packet, says, |b| {
            b.flags.insert(Flags::CSUM_PARTIAL | Flags::GSO)
        });
        let (ip, icmp, quote) = verified(&out.bytes);
        assert_eq!(out.bytes.len(), 576.min(28 + len));
        assert_eq!(
            (ip.src, icmp.kind, icmp.code),
            ([192, 0, 2, 1], 3, 4),
            "the address of the source's network"
        );
        assert_eq!((icmp.id.get(), icmp.seq.get()), (0, 1400), "the next hop's MTU (RFC 1191 4)");
        assert_eq!(quote, &packet[..quote.len()]);
    }
    // Segments of a few bytes each.
    let packet = pkt::ip4("10.0.0.9", "8.8.8.8").udp(1, 2).payload_len(900).build();
    let mut b = bench.buffer(&packet[..33]);
    for chunk in packet[33..].chunks(211) {
        let segment = bench.buffer(chunk);
        assert!(b.append_segment(segment).is_ok());
    }
    b.rx_if = sw_if.0;
    b.set_scratch(IpMeta::error(TTL.0, TTL.1, TTL.2));
    let node = bench.index("ip4-icmp-error");
    bench.rt.inject(node, b);
    bench.rt.run_node(node);
    let (dropped, errors): (Vec<_>, Vec<_>) =
        bench.collect().into_iter().partition(|o| o.node == "ip4-drop");
    assert_eq!(verified(&one(errors).bytes).2, &packet[..548]);
    assert_eq!(one(dropped).bytes, packet, "with all its segments");
}

#[suite::test]
fn about_some_packets_there_is_no_error() {
    let (mut bench, sw_if, bare) = bench();
    let from = |source: &str| pkt::ip4(source, "8.8.8.8").udp(1, 2).payload_len(20).build();
    let to =
        |destination: &str| pkt::ip4("10.0.0.9", destination).udp(1, 2).payload_len(20).build();
    let icmp = |kind: u8| {
        pkt::ip4("10.0.0.9", "8.8.8.8").icmp(Icmp4Type(kind), 0, 0).payload_len(40).build()
    };
    let mut cases = vec![
        (
            pkt::ip4("10.0.0.9", "8.8.8.8")
                .fragment(8, true)
                .protocol(IpProtocol::UDP)
                .payload_len(64)
                .build(),
            "fragment",
        ),
        (pkt::ip4("10.0.0.9", "8.8.8.8").protocol(IpProtocol::ICMP).build(), "icmp_error"),
    ];
    cases.extend([3, 4, 5, 11, 12, 19, 200].map(|kind| (icmp(kind), "icmp_error")));
    cases.extend(
        ["224.0.0.5", "255.255.255.255", "10.0.0.255", "192.0.2.15"].map(|a| (to(a), "broadcast")),
    );
    cases.extend(
        [
            "0.0.0.0",
            "0.1.2.3",
            "127.0.0.1",
            "224.0.0.1",
            "240.0.0.1",
            "255.255.255.255",
            "10.0.0.255",
            "192.0.2.0",
        ]
        .map(|a| (from(a), "source")),
    );
    for (packet, reason) in cases {
        let before = bench.count("ip4-icmp-error", reason);
        let out = send(&mut bench, sw_if, &packet, TTL, |_| {});
        assert_eq!(out.node, "ip4-drop", "{reason}: {packet:x?}");
        assert_eq!(
            bench.count("ip4-icmp-error", reason),
            before + 1,
            "{:?}: {packet:x?}",
            out.reason
        );
        assert_eq!(out.bytes, packet, "it is dropped as it was");
    }
    let good = from("10.0.0.9");
    for flag in [Flags::L2_BROADCAST, Flags::L2_MULTICAST] {
        let out = send(&mut bench, sw_if, &good, TTL, |b| b.flags.insert(flag));
        assert_eq!(
            out.reason,
            Some("no error about a link-layer broadcast or multicast (RFC 1812 4.3.2.7)")
        );
    }
    for sw_if in [bare, SwIfIndex(77), SwIfIndex::NONE] {
        let out = send(&mut bench, sw_if, &good, TTL, |_| {});
        assert_eq!(
            out.reason,
            Some("interface has no address to send errors from (RFC 1812 4.3.2.4)")
        );
    }
    let mut few_words = good.clone();
    few_words[0] = 0x44;
    let short = pkt::ip4("10.0.0.9", "8.8.8.8").length(19).build();
    let options = pkt::ip4("10.0.0.9", "8.8.8.8").options([1; 8]).build();
    for packet in [&good[..19], &few_words, &short, &options[..27]] {
        assert_eq!(
            send(&mut bench, sw_if, packet, TTL, |_| {}).reason,
            Some("packet is shorter than its IP header")
        );
    }
    for kind in [0, 4, 8] {
        let out = send(&mut bench, sw_if, &good, (kind, 0, 0), |_| {});
        assert_eq!(out.reason, Some("not an error that a router sends"));
    }
    // The first fragment, and a message that is no error, are answered.
    let first = pkt::ip4("10.0.0.9", "8.8.8.8").fragment(0, true).udp(1, 2).payload_len(64).build();
    for packet in [first, icmp(8), icmp(0), icmp(13)] {
        assert_eq!(send(&mut bench, sw_if, &packet, TTL, |_| {}).node, "ip4-lookup");
    }
}

#[suite::test]
fn who_speaks_depends_on_who_noticed() {
    let (mut bench, sw_if, bare) = bench();
    let packet = pkt::ip4("10.0.0.9", "203.0.113.5").udp(1, 2).payload_len(20).build();
    for says in [(3, 2, 0), (3, 3, 0), (11, 1, 0)] {
        let out = send(&mut bench, bare, &packet, says, |_| {});
        assert_eq!(verified(&out.bytes).0.src, [203, 0, 113, 5], "the address that was asked");
    }
    let out = one(errors(&mut bench, "ip4-icmp-error", std::slice::from_ref(&packet), |b| {
        b.rx_if = sw_if.0;
        b.set_scratch(IpMeta::error(11, 1, 0).on_the_way());
    }));
    assert_eq!(verified(&out.bytes).0.src, [10, 0, 0, 1], "a router that did the host's work");
    let local = pkt::ip4("192.0.2.1", "8.8.8.8").udp(1, 2).payload_len(20).build();
    let out = one(errors(&mut bench, "ip4-icmp-error", &[local], |b| {
        (b.rx_if, b.flags) = (0, Flags::LOCAL);
        b.set_scratch(IpMeta::error(3, 1, 0).in_table(7));
    }));
    assert_eq!((out.tx_if, out.rx_if), (7, 0), "in the table that it went out in");
    let (ip, ..) = verified(&out.bytes);
    assert_eq!(
        (ip.src, ip.dst),
        ([192, 0, 2, 1], [192, 0, 2, 1]),
        "our own packet: we tell ourselves"
    );
    let out = send(&mut bench, sw_if, &packet, (12, 0, 20 << 24), |_| {});
    assert_eq!(verified(&out.bytes).1.rest(), 20 << 24, "the pointer");
    assert_eq!(bench.count("ip4-icmp-error", "param_problem_sent"), 1);
}

#[suite::test]
fn each_kind_has_its_rate() {
    let (mut bench, sw_if, _) = bench();
    run(&mut bench, "set ip icmp error-rate 10 burst 3");
    let packet = pkt::ip4("10.0.0.9", "8.8.8.8").udp(1, 2).payload_len(20).build();
    let many = |bench: &mut Bench, says: (u8, u8, u32)| {
        let out = errors(bench, "ip4-icmp-error", &vec![packet.clone(); 12], |b| {
            b.rx_if = sw_if.0;
            b.set_scratch(IpMeta::error(says.0, says.1, says.2));
        });
        out.iter().filter(|o| o.node == "ip4-lookup").count()
    };
    assert_eq!(many(&mut bench, TTL), 3);
    assert_eq!(many(&mut bench, TTL), 0);
    assert_eq!(many(&mut bench, (3, 1, 0)), 3, "another kind");
    assert_eq!(bench.count("ip4-icmp-error", "rate_limited"), 9 + 12 + 9);
    bench.world.clock.adjust(200_000_000);
    bench.rt.turn(true);
    assert_eq!(many(&mut bench, TTL), 2);
    run(&mut bench, "set ip icmp error-rate 0");
    bench.world.clock.adjust(60_000_000_000);
    bench.rt.turn(true);
    assert_eq!(many(&mut bench, TTL), 0);
}

#[suite::test]
fn redirects_name_the_gateway() {
    let (mut bench, sw_if, bare) = bench();
    let packet = pkt::ip4("10.0.0.9", "8.8.8.8").ttl(9).udp(1, 2).payload_len(20).build();
    let says = (5, code4::REDIRECT_HOST, 0x0a00_0002);
    let out = send(&mut bench, sw_if, &packet, says, |_| {});
    let (ip, icmp, quote) = verified(&out.bytes);
    assert_eq!((ip.src, ip.dst, icmp.kind, icmp.code), ([10, 0, 0, 1], [10, 0, 0, 9], 5, 1));
    assert_eq!((icmp.rest(), quote), (0x0a00_0002, &packet[..]));
    assert!(run(&mut bench, "show ip icmp").ends_with("redirect disabled\n"));
    run(&mut bench, "set ip icmp redirect t0 enable");
    run(&mut bench, "set ip icmp redirect t1 enable");
    assert!(run(&mut bench, "show ip icmp").ends_with("redirect enabled on t0 t1\n"));
    assert!(bench.cli("set ip icmp redirect t9 enable").is_err());
    let world = bench.world.clone();
    world.get::<Interfaces>().delete(&world, bare).expect("deleted");
    assert!(run(&mut bench, "show ip icmp").ends_with("redirect enabled on t0\n"));
}
