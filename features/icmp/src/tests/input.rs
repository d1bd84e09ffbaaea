// SPDX-License-Identifier: Apache-2.0
use super::*;
use crate::{register_icmp_error, register_icmp_type};
use buffer::Flags;
use testkit::pkt;
use wire::Icmp4Type;

fn send(bench: &mut Bench, packet: &[u8], prepare: impl Fn(&mut Buffer)) -> Outcome {
    one(bench.node("ip4-icmp-input", &[packet.to_vec()], prepare))
}

fn message(kind: u8, payload: usize) -> Vec<u8> {
    pkt::ip4("10.0.0.9", "10.0.0.1").icmp(Icmp4Type(kind), 0, 0).payload_len(payload).build()
}

#[suite::test]
fn messages_go_to_who_takes_their_type() {
    let (mut bench, ..) = bench();
    bench.world.add_node("taker", |world, _| Recorder::new(world, SwIfIndex(0))).expect("room");
    register_icmp_type::<Ip4>(&bench.world, Icmp4Type::ECHO_REPLY.0, "taker").expect("free");
    let error = register_icmp_type::<Ip4>(&bench.world, Icmp4Type::ECHO_REPLY.0, "ip4-icmp-quoted")
        .expect_err("taken");
    assert!(error.contains("taken by taker"), "{error}");
    assert!(register_icmp_type::<Ip4>(&bench.world, 99, "nobody").is_err());
    let quote = pkt::ip4("10.0.0.1", "8.8.8.8").icmp_echo(7, 1).payload_len(8).build();
    let quoting =
        |kind| pkt::ip4("8.8.8.8", "10.0.0.1").icmp(Icmp4Type(kind), 0, 0).payload(&quote).build();
    for (packet, node, reason) in [
        (message(0, 0), "taker", None),
        (message(8, 1200), "ip4-icmp-echo-request", None),
        (message(8, 5000), "ip4-icmp-echo-request", None),
        (quoting(3), "ip4-icmp-quoted", None),
        (quoting(11), "ip4-icmp-quoted", None),
        (quoting(12), "ip4-icmp-quoted", None),
        (quoting(5), "ip4-drop", Some("redirect ignored by a router (RFC 1812 5.2.7.2)")),
        (quoting(4), "ip4-drop", Some("source quench ignored (RFC 6633 4)")),
        (message(13, 12), "ip4-punt", Some("unknown type")),
        (message(17, 4), "ip4-punt", Some("unknown type")),
        (message(99, 0), "ip4-punt", Some("unknown type")),
    ] {
        for n in [1, 20] {
            let out = bench.node("ip4-icmp-input", &vec![packet.clone(); n], |_| {});
            assert_eq!(out.len(), n);
            for o in out {
                assert_eq!((o.node.as_str(), o.reason, &o.bytes), (node, reason, &packet));
            }
        }
    }
}

#[suite::test]
fn broken_messages_are_dropped_by_name() {
    let (mut bench, ..) = bench();
    let short = Some("payload length too small for type");
    for (kind, payload) in [(3, 27), (11, 0), (12, 20), (13, 11), (17, 3)] {
        assert_eq!(send(&mut bench, &message(kind, payload), |_| {}).reason, short, "{kind}");
    }
    let good = message(8, 100);
    for len in [0, 19, 20, 27, 127] {
        assert_eq!(send(&mut bench, &good[..len], |_| {}).reason, short, "{len}");
    }
    // Bytes beyond the packet's length are padding.
    let mut padded = good.clone();
    padded.extend([7; 9]);
    assert_eq!(send(&mut bench, &padded, |_| {}).node, "ip4-icmp-echo-request");
    for at in [20, 24, 60, 127] {
        let mut bad = good.clone();
        bad[at] ^= if at == 20 { 8 } else { 0x40 };
        assert_eq!(send(&mut bench, &bad, |_| {}).reason, Some("bad ICMP checksum"), "{at}");
        if at != 20 {
            for trust in [Flags::L4_CSUM_OK, Flags::CSUM_PARTIAL] {
                assert_eq!(
                    send(&mut bench, &bad, |b| b.flags.insert(trust)).node,
                    "ip4-icmp-echo-request"
                );
            }
        }
    }
    let mut long = message(8, 5000);
    long[4000] ^= 1;
    assert_eq!(
        send(&mut bench, &long, |_| {}).reason,
        Some("bad ICMP checksum"),
        "in a later segment"
    );
    let fragment =
        pkt::ip4("10.0.0.9", "10.0.0.1").fragment(0, true).icmp_echo(1, 1).payload_len(64).build();
    assert_eq!(send(&mut bench, &fragment, |_| {}).reason, Some("fragment of an ICMP message"));
    let out = send(&mut bench, &good, |b| b.flags.insert(Flags::GSO));
    assert_eq!(out.reason, Some("ICMP message with segmentation pending"));
}

#[suite::test]
fn checksums_cross_odd_segments() {
    let (mut bench, ..) = bench();
    let node = bench.index("ip4-icmp-input");
    for sizes in [[28, 1, 1], [33, 7, 0], [61, 2, 5]] {
        for broken in [false, true] {
            let mut packet = message(8, 301);
            packet[250] ^= u8::from(broken);
            let mut b = bench.buffer(&packet[..sizes[0]]);
            let mut at = sizes[0];
            for size in sizes[1..].iter().copied().chain([packet.len()]) {
                let end = (at + size).min(packet.len());
                let segment = bench.buffer(&packet[at..end]);
                assert!(b.append_segment(segment).is_ok());
                at = end;
            }
            bench.rt.inject(node, b);
            bench.rt.run_node(node);
            let out = one(bench.collect());
            assert_eq!(out.node, if broken { "ip4-drop" } else { "ip4-icmp-echo-request" });
        }
    }
}

#[suite::test]
fn errors_go_to_who_sent_the_packet() {
    let (mut bench, ..) = bench();
    bench.world.add_node("taker", |world, _| Recorder::new(world, SwIfIndex(0))).expect("room");
    register_icmp_error::<Ip4>(&bench.world, IpProtocol::ICMP, "taker").expect("free");
    assert!(register_icmp_error::<Ip4>(&bench.world, IpProtocol::ICMP, "taker").is_err());
    let about = |quote: &[u8]| {
        pkt::ip4("8.8.8.8", "10.0.0.1").icmp(Icmp4Type(11), 0, 0).payload(quote).build()
    };
    let echo = pkt::ip4("10.0.0.1", "8.8.4.4").icmp_echo(7, 1).payload_len(8).build();
    let udp = pkt::ip4("10.0.0.1", "8.8.4.4").udp(7, 1).payload_len(8).build();
    let foreign = pkt::ip4("10.0.0.2", "8.8.4.4").icmp_echo(7, 1).payload_len(8).build();
    let six = pkt::ip4("10.0.0.1", "8.8.4.4").version(6).icmp_echo(7, 1).payload_len(8).build();
    let mut options = pkt::ip4("10.0.0.1", "8.8.4.4").options([1; 40]).icmp_echo(7, 1).build();
    for (quote, node, reason) in [
        (&echo[..], "taker", None),
        (&echo[..28], "taker", None),
        (&options[..], "taker", None),
        (&udp, "ip4-punt", Some("error about a protocol that nothing here speaks")),
        (&foreign, "ip4-drop", Some("error about a packet that we didn't send")),
        (&six, "ip4-drop", Some("error about a packet that we didn't send")),
        (&echo[..27], "ip4-drop", Some("quoted packet is too short or malformed")),
        (&options[..60], "ip4-drop", Some("quoted packet is too short or malformed")),
    ] {
        let out = one(bench.node("ip4-icmp-quoted", &[about(quote)], |_| {}));
        assert_eq!((out.node.as_str(), out.reason), (node, reason), "{quote:x?}");
    }
    options[0] = 0x44;
    assert_eq!(
        one(bench.node("ip4-icmp-quoted", &[about(&options)], |_| {})).reason,
        Some("quoted packet is too short or malformed")
    );
    let (ip, inner) = (about(&echo), 48);
    assert_eq!(
        crate::quoted::<Ip4>(&ip).map(|q| (q.ip.dst, &q.inner[..])),
        Some(([8, 8, 4, 4], &ip[inner..inner + 8]))
    );
}
