// SPDX-License-Identifier: Apache-2.0
//! ICMPv6: differences to ICMP for IPv4.

use super::*;
use buffer::Flags;
use net::{IpMeta, LinkLocals};
use testkit::mutate::Mutator;
use testkit::pkt;
use wire::{Icmp6Type, Ip6, Ipv6Header};

/// As [`bench`], with 2001:db8::1/64 on the first interface and IPv6 enabled on both.
fn bench6() -> (Bench, SwIfIndex, SwIfIndex) {
    let (bench, with, without) = bench();
    let addresses: Arc<Addresses<Ip6>> = bench.world.get();
    addresses.add(&bench.world, with, "2001:db8::1/64".parse().expect("a prefix")).expect("added");
    addresses.enable(&bench.world, without, true).expect("enabled");
    (bench, with, without)
}

/// Header and message of a packet without extensions, with length and checksum verified.
fn verified6(bytes: &[u8]) -> (Ipv6Header, IcmpHeader, &[u8]) {
    let ip = *Ipv6Header::view(bytes).expect("a header");
    assert_eq!(
        (ip.version(), ip.packet_len(), ip.next_header),
        (6, bytes.len(), IpProtocol::ICMP6)
    );
    assert_eq!(wire::l4::verify(bytes), Ok(wire::l4::Verdict::Valid));
    let (icmp, rest) = IcmpHeader::split(&bytes[40..]).expect("a message");
    (ip, *icmp, rest)
}

fn addr(text: &str) -> std::net::Ipv6Addr {
    text.parse().expect("an address")
}

fn send(
    bench: &mut Bench,
    sw_if: SwIfIndex,
    packet: &[u8],
    says: (u8, u8, u32),
    prepare: impl Fn(&mut Buffer),
) -> Outcome {
    one(errors(bench, "ip6-icmp-error", &[packet.to_vec()], |b| {
        b.rx_if = sw_if.0;
        b.set_scratch(IpMeta::error(says.0, says.1, says.2));
        prepare(b);
    }))
}

const EXPIRED: (u8, u8, u32) = (3, 0, 0);

#[suite::test]
fn errors_quote_as_much_as_makes_1280_bytes() {
    let (mut bench, sw_if, _) = bench6();
    for payload in [10, 1183, 1184, 1185, 1400, 6000] {
        let mut packet = pkt::ip6("2001:db8::9", "3000::1").udp(1, 2).payload_len(payload).build();
        let len = packet.len();
        packet.extend([0xee; 30]);
        let out = send(&mut bench, sw_if, &packet, (2, 0, 1400), |_| {});
        let (ip, icmp, quote) = verified6(&out.bytes);
        assert_eq!((out.node.as_str(), out.bytes.len()), ("ip6-lookup", 1280.min(48 + len)));
        assert_eq!(
            (ip.src(), ip.dst(), ip.hop_limit),
            (addr("2001:db8::1"), addr("2001:db8::9"), 255)
        );
        assert_eq!((icmp.kind, icmp.code, icmp.rest()), (2, 0, 1400));
        assert_eq!(quote, &packet[..quote.len()]);
    }
    assert_eq!(bench.count("ip6-icmp-error", "packet_too_big_sent"), 6);
}

#[suite::test]
fn where_errors_come_from() {
    let (mut bench, with, without) = bench6();
    let from = |bench: &mut Bench, sw_if, from: &str, to: &str, says| {
        let packet = pkt::ip6(from, to).udp(1, 2).build();
        verified6(&send(bench, sw_if, &packet, says, |_| {}).bytes).0.src()
    };
    assert_eq!(from(&mut bench, with, "3000::9", "4000::1", EXPIRED), addr("2001:db8::1"));
    assert_eq!(
        from(&mut bench, with, "2001:db8::9", "2001:db8::1", (1, 4, 0)),
        addr("2001:db8::1"),
        "no port"
    );
    assert_eq!(
        from(&mut bench, with, "2001:db8::9", "5000::1", (1, 4, 0)),
        addr("5000::1"),
        "who was asked"
    );
    let link = bench.world.get::<LinkLocals>().address(without).expect("enabled");
    assert_eq!(from(&mut bench, without, "fe80::9", "4000::1", EXPIRED), link);
    assert_eq!(
        from(&mut bench, without, "3000::9", "4000::1", EXPIRED),
        addr("2001:db8::1"),
        "another link's"
    );
}

#[suite::test]
fn about_what_no_error_is_sent() {
    let (mut bench, sw_if, _) = bench6();
    let to = |to: &str| pkt::ip6("2001:db8::9", to);
    let error = to("3000::1").icmp6(Icmp6Type(1), 0, 0).payload_len(60).build();
    let redirect = to("3000::1").icmp6(Icmp6Type(137), 0, 0).payload_len(60).build();
    let behind = to("3000::1").ext(IpProtocol::DEST_OPTIONS, [0, 1, 4, 0, 0, 0, 0]).icmp6(
        Icmp6Type(3),
        0,
        0,
    );
    let later = to("3000::1").fragment6(7, 64, false).icmp6_echo(1, 2).payload_len(8).build();
    let group = to("ff0e::1").udp(1, 2).build();
    let nobody = pkt::ip6("::", "3000::1").udp(1, 2).build();
    for (packet, says, reason) in [
        (&error, EXPIRED, "no error about an ICMP error (RFC 4443 2.4)"),
        (&redirect, EXPIRED, "no error about an ICMP error (RFC 4443 2.4)"),
        (&behind.build(), EXPIRED, "no error about an ICMP error (RFC 4443 2.4)"),
        (&later, EXPIRED, "no error about a fragment other than the first (RFC 4443 2.4)"),
        (&group, EXPIRED, "no error about a packet to several hosts (RFC 4443 2.4)"),
        (&group, (4, 1, 6), "no error about a packet to several hosts (RFC 4443 2.4)"),
        (&nobody, EXPIRED, "no error to a source that is no single host (RFC 4443 2.4)"),
        (&nobody, (5, 0, 0), "not an error that a router sends"),
    ] {
        let out = send(&mut bench, sw_if, packet, says, |_| {});
        assert_eq!((out.node.as_str(), out.reason), ("ip6-drop", Some(reason)));
    }
    // These errors are also sent about packets to groups.
    for says in [(2, 0, 1280), (4, 2, 42)] {
        let out = send(&mut bench, sw_if, &group, says, |b| b.flags.insert(Flags::L2_MULTICAST));
        assert_eq!(
            (out.node.as_str(), verified6(&out.bytes).0.src()),
            ("ip6-lookup", addr("2001:db8::1"))
        );
    }
    let unicast = to("3000::1").udp(1, 2).build();
    let out = send(&mut bench, sw_if, &unicast, EXPIRED, |b| b.flags.insert(Flags::L2_MULTICAST));
    assert_eq!(
        out.reason,
        Some("no error about a link-layer broadcast or multicast (RFC 4443 2.4)")
    );
    run(&mut bench, "set ip6 icmp error-rate 0");
    let out = send(&mut bench, sw_if, &unicast, EXPIRED, |_| {});
    assert_eq!(out.reason, Some("error rate limit reached (RFC 4443 2.4)"));
}

fn echo(bench: &mut Bench, sw_if: SwIfIndex, packet: Vec<u8>) -> Outcome {
    one(bench.node("ip6-icmp-echo-request", &[packet], |b| b.rx_if = sw_if.0))
}

#[suite::test]
fn echo_requests_are_answered() {
    let (mut bench, sw_if, _) = bench6();
    let link = bench.world.get::<LinkLocals>().address(sw_if).expect("enabled");
    for (from, to, answers) in [
        ("2001:db8::9", "2001:db8::1", addr("2001:db8::1")),
        ("3000::9", "ff02::1", addr("2001:db8::1")),
        ("fe80::9", "ff02::2", link),
    ] {
        for len in [0, 1, 56, 3000] {
            let mut packet = pkt::ip6(from, to).icmp6_echo(7, 9).payload_len(len).build();
            packet[0] |= 0xb;
            packet[1] = 0x90;
            packet[3] = 5;
            let out = echo(&mut bench, sw_if, packet.clone());
            assert_eq!((out.node.as_str(), out.tx_if), ("ip6-lookup", u32::MAX));
            let (ip, icmp, rest) = verified6(&out.bytes);
            assert_eq!(
                (ip.src(), ip.dst(), ip.hop_limit, ip.flow_label()),
                (answers, addr(from), 64, 0)
            );
            assert_eq!(ip.traffic_class(), 0xb8, "the request's, without a congestion mark");
            assert_eq!((icmp.kind, icmp.id.get(), icmp.seq.get()), (129, 7, 9));
            assert_eq!(rest, &packet[48..]);
        }
    }
    let options =
        pkt::ip6("2001:db8::9", "2001:db8::1").ext(IpProtocol::DEST_OPTIONS, [0, 1, 4, 0, 0, 0, 0]);
    let out = echo(&mut bench, sw_if, options.icmp6_echo(7, 9).payload_len(3).build());
    assert_eq!(verified6(&out.bytes).2.len(), 3, "without the request's extension headers");
    let groups = [("ff02::1:ff00:1", true), ("ff02::1:ff00:2", false), ("ff02::5", false)];
    for (group, ours) in groups {
        let out = echo(&mut bench, sw_if, pkt::ip6("3000::9", group).icmp6_echo(1, 2).build());
        assert_eq!(out.node == "ip6-lookup", ours, "{group}");
    }
    run(&mut bench, "set ip6 icmp echo-multicast disable");
    assert!(run(&mut bench, "show ip6 icmp").contains("echo-multicast disabled"));
    let group = pkt::ip6("fe80::9", "ff02::1").icmp6_echo(1, 2).build();
    assert_eq!(
        echo(&mut bench, sw_if, group).reason,
        Some("echo request to several hosts ignored")
    );
    run(&mut bench, "set ip6 icmp echo disable");
    let asked = pkt::ip6("fe80::9", "2001:db8::1").icmp6_echo(1, 2).build();
    assert_eq!(echo(&mut bench, sw_if, asked).reason, Some("echo requests are not answered"));
}

#[suite::test]
fn messages_are_whole() {
    let (mut bench, sw_if, _) = bench6();
    let packet = || pkt::ip6("2001:db8::9", "2001:db8::1");
    let mut went = |packet: Vec<u8>| {
        let out = one(bench.node("ip6-icmp-input", &[packet], |b| b.rx_if = sw_if.0));
        (out.node, out.reason)
    };
    assert_eq!(went(packet().icmp6_echo(1, 2).build()).0, "ip6-icmp-echo-request");
    let mut wrong = packet().icmp6_echo(1, 2).payload_len(9).build();
    wrong[50] ^= 4;
    assert_eq!(went(wrong).1, Some("bad ICMP checksum"));
    assert_eq!(
        went(packet().icmp6(Icmp6Type(135), 0, 0).payload_len(15).build()).1,
        Some("payload length too small for type")
    );
    assert_eq!(went(packet().icmp6(Icmp6Type(135), 0, 0).payload_len(16).build()).0, "ip6-punt");
    assert_eq!(
        went(packet().icmp6(Icmp6Type(137), 0, 0).payload_len(32).build()).1,
        Some("redirect ignored by a router (RFC 4861 8.2)")
    );
    assert_eq!(
        went(packet().fragment6(1, 0, true).icmp6_echo(1, 2).build()).1,
        Some("fragment of an ICMP message")
    );
    let quote = pkt::ip6("2001:db8::1", "3000::1").udp(1, 2).payload_len(8).build();
    let about = packet().icmp6(Icmp6Type(2), 0, 1400).payload(&quote).build();
    assert_eq!(went(about.clone()).0, "ip6-icmp-quoted");
    let out = one(bench.node("ip6-icmp-quoted", &[about], |_| {}));
    assert_eq!(out.reason, Some("error about a protocol that nothing here speaks"));
}

const FRAMES: usize = 100_000;

/// Checks the rules of RFC 4443 2.4, independently of the node's code.
fn is_right(error: &[u8], about: &[u8]) {
    let (ip, icmp, quote) = verified6(error);
    assert_eq!((icmp.kind, icmp.code, icmp.rest()), (3, 0, 0));
    assert!(error.len() <= 1280 && about.starts_with(quote));
    let whole = about.len().min(40 + usize::from(u16::from_be_bytes([about[4], about[5]])));
    assert!(
        quote.len() == whole || error.len() == 1280 && quote.len() < whole,
        "as much as fits, and no padding"
    );
    assert_eq!(ip.dst, about[8..24]);
    assert!(about[24] != 0xff && about[8] != 0xff && !(about[8..23] == [0; 15] && about[23] <= 1));
    if about[6] == 58 {
        assert!(about[40] >= 128 && about[40] != 137);
    }
}

#[suite::test]
fn errors_about_mutated_packets_are_right() {
    let (mut bench, sw_if, _) = bench6();
    run(&mut bench, "set ip6 icmp error-rate 1000000 burst 65535");
    let ether = || pkt::ether("02:00:00:00:00:09", "02:00:00:00:00:01");
    let quote = pkt::ip6("2001:db8::1", "3000::1").icmp6_echo(7, 1).payload_len(64).build();
    let bases = [
        ether().ip6("2001:db8::9", "2001:db8::1").icmp6_echo(7, 1).payload_len(56).build(),
        ether().ip6("2001:db8::9", "ff02::1").icmp6_echo(7, 1).payload_len(3).build(),
        ether()
            .ip6("3000::9", "2001:db8::1")
            .ext(IpProtocol::DEST_OPTIONS, [0, 1, 4, 0, 0, 0, 0])
            .icmp6_echo(7, 1)
            .payload_len(700)
            .build(),
        ether().ip6("3000::9", "2001:db8::1").icmp6(Icmp6Type(1), 0, 0).payload(&quote).build(),
        ether().ip6("3000::9", "2001:db8::1").icmp6(Icmp6Type(2), 0, 1400).payload(&quote).build(),
        ether().ip6("3000::9", "4000::1").udp(5, 6).payload_len(1300).build(),
        ether().ip6("3000::9", "4000::1").fragment6(9, 0, true).udp(5, 6).payload_len(100).build(),
        ether()
            .ip6("3000::9", "4000::1")
            .fragment6(9, 800, false)
            .tcp(5, 6)
            .payload_len(100)
            .build(),
    ];
    let mut mutator = Mutator::new(6);
    let (mut sent, mut answered) = (0, 0);
    for round in 0..FRAMES / 100 {
        let frames: Vec<Vec<u8>> = (0..100)
            .map(|_| {
                let mut bytes = Vec::new();
                mutator.next_frame(&bases, &mut bytes);
                bytes.get(14..).unwrap_or_default().iter().copied().take(6000).collect()
            })
            .collect();
        if round % 2 == 0 {
            let out = errors(&mut bench, "ip6-icmp-error", &frames, |b| {
                b.rx_if = sw_if.0;
                b.set_scratch(IpMeta::error(3, 0, 0));
            });
            assert_eq!(out.len(), frames.len());
            let mut errors = out.iter().filter(|o| o.node == "ip6-lookup");
            assert!(
                out.iter()
                    .all(|o| o.node == "ip6-lookup" || o.node == "ip6-drop" && o.reason.is_some())
            );
            for frame in &frames {
                if let Some(next) =
                    errors.clone().next().filter(|next| frame.starts_with(&next.bytes[48..]))
                {
                    is_right(&next.bytes, frame);
                    errors.next();
                    sent += 1;
                }
            }
            assert_eq!(errors.count(), 0, "an error about nothing");
        } else {
            // Without the device's checksum flag, nearly all would be dropped for their checksum.
            let prepare = |b: &mut Buffer| {
                b.rx_if = sw_if.0;
                b.flags.insert(Flags::L4_CSUM_OK);
            };
            let nodes = ["ip6-icmp-input", "ip6-icmp-echo-request", "ip6-icmp-quoted"]
                .map(|n| bench.index(n));
            for frame in &frames {
                let mut b = bench.buffer(frame);
                prepare(&mut b);
                bench.rt.inject(nodes[0], b);
            }
            nodes.into_iter().for_each(|node| bench.rt.run_node(node));
            let out = bench.collect();
            assert_eq!(out.len(), frames.len());
            for o in out {
                match o.node.as_str() {
                    "ip6-lookup" => {
                        assert_eq!(o.bytes[40], 129);
                        answered += 1;
                    }
                    node => assert!(
                        ["ip6-drop", "ip6-punt"].contains(&node) && o.reason.is_some(),
                        "{node}"
                    ),
                }
            }
        }
        bench.world.clock.adjust(1_000_000_000);
        bench.rt.turn(true);
    }
    assert!(sent > FRAMES / 20 && answered > FRAMES / 20, "{sent} {answered}");
    assert_eq!(bench.count("ip6-icmp-error", "ttl_expire_sent"), sent as u64);
    assert_eq!(bench.count("ip6-icmp-echo-request", "echo_replies_sent"), answered as u64);
}
