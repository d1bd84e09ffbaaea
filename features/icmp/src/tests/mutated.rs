// SPDX-License-Identifier: Apache-2.0
//! Broken packets: every error that is sent is right, every packet ends somewhere under a name.

use super::*;
use buffer::Flags;
use net::IpMeta;
use testkit::mutate::Mutator;
use testkit::pkt;
use wire::Icmp4Type;

const FRAMES: usize = 100_000;
const BATCH: usize = 100;

/// Ethernet frames, as the mutator expects them; the nodes get what is behind the header.
fn bases() -> Vec<Vec<u8>> {
    let ether = || pkt::ether("02:00:00:00:00:09", "02:00:00:00:00:01");
    let quote = pkt::ip4("10.0.0.1", "8.8.8.8").icmp_echo(7, 1).payload_len(64).build();
    vec![
        ether().ip4("10.0.0.9", "10.0.0.1").icmp_echo(7, 1).payload_len(56).build(),
        ether().ip4("10.0.0.9", "10.0.0.255").icmp_echo(7, 1).payload_len(3).build(),
        ether()
            .ip4("192.0.2.3", "10.0.0.1")
            .options([7, 7, 4, 0, 0, 0, 0, 0])
            .icmp_echo(7, 1)
            .payload_len(700)
            .build(),
        ether().ip4("8.8.8.8", "10.0.0.1").icmp(Icmp4Type(3), 4, 1400).payload(&quote).build(),
        ether().ip4("8.8.8.8", "10.0.0.1").icmp(Icmp4Type(11), 0, 0).payload(&quote).build(),
        ether().ip4("10.0.0.9", "10.0.0.1").icmp_echo_reply(7, 1).payload_len(56).build(),
        ether().ip4("10.0.0.9", "8.8.8.8").ttl(1).udp(5, 6).payload_len(1200).build(),
        ether().ip4("10.0.0.9", "8.8.8.8").ttl(1).tcp(5, 6).payload_len(40).build(),
        ether()
            .ip4("10.0.0.9", "8.8.8.8")
            .fragment(0, true)
            .icmp_echo(5, 6)
            .payload_len(40)
            .build(),
    ]
}

fn batches(seed: u64, mut f: impl FnMut(Vec<Vec<u8>>)) {
    let (bases, mut mutator) = (bases(), Mutator::new(seed));
    for _ in 0..FRAMES / BATCH {
        let frames = (0..BATCH).map(|_| {
            let mut bytes = Vec::new();
            mutator.next_frame(&bases, &mut bytes);
            bytes.get(14..).unwrap_or_default().iter().copied().take(6000).collect()
        });
        f(frames.collect());
    }
}

/// Checks the rules of RFC 1812 4.3.2.7 and of quoting, independently of the node's code.
fn is_right(error: &[u8], about: &[u8]) {
    let (ip, icmp, quote) = verified(error);
    assert_eq!((icmp.kind, icmp.code, icmp.rest()), (11, 0, 0));
    assert!(error.len() <= 576 && quote.len() >= 20);
    assert!(about.starts_with(quote));
    let total = usize::from(u16::from_be_bytes([about[2], about[3]]));
    let whole = total.min(about.len());
    assert!(
        quote.len() == whole || error.len() == 576 && quote.len() < whole,
        "as much as fits, and no padding"
    );
    assert_eq!((&ip.dst[..], ip.dst[0] % 127 != 0 && ip.dst[0] < 224), (&about[12..16], true));
    assert!(about[16] < 224 || about[16] > 239, "about a multicast");
    assert!(
        ![[255; 4], [10, 0, 0, 255], [10, 0, 0, 0]]
            .contains(about[16..20].first_chunk().expect("4 bytes"))
    );
    assert!(![[10, 0, 0, 255], [10, 0, 0, 0], [192, 0, 2, 15]].contains(&ip.dst));
    assert_eq!((about[6] & 0x1f, about[7]), (0, 0), "about a later fragment");
    if about[9] == 1 {
        let kind = about[usize::from(about[0] & 15) * 4];
        assert!(matches!(kind, 0..=2 | 6..=10 | 13..=18), "about ICMP type {kind}");
    }
    assert!(ip.src == [10, 0, 0, 1] || ip.src == [192, 0, 2, 1]);
}

#[suite::test]
fn errors_about_mutated_packets_are_right() {
    let (mut bench, sw_if, _) = bench();
    run(&mut bench, "set ip icmp error-rate 1000000 burst 65535");
    let (mut sent, mut seen) = (0, 0);
    batches(1, |frames| {
        let out = errors(&mut bench, "ip4-icmp-error", &frames, |b| {
            b.rx_if = sw_if.0;
            b.set_scratch(IpMeta::error(11, 0, 0));
        });
        assert_eq!(out.len(), frames.len());
        seen += out.len();
        let mut errors = out.iter().filter(|o| o.node == "ip4-lookup");
        for o in &out {
            assert!(o.node == "ip4-lookup" || o.node == "ip4-drop" && o.reason.is_some(), "{o:?}");
        }
        // The errors keep the order of the frames, so each belongs to the next frame that begins as
        // it quotes.
        for frame in &frames {
            let Some(next) = errors.clone().next() else { break };
            if frame.starts_with(&next.bytes[28..]) {
                is_right(&next.bytes, frame);
                errors.next();
                sent += 1;
            }
        }
        assert_eq!(errors.count(), 0, "an error about nothing");
        bench.world.clock.adjust(1_000_000_000);
        bench.rt.turn(true);
    });
    assert_eq!(seen, FRAMES);
    assert_eq!(
        (bench.count("ip4-icmp-error", "ttl_expire_sent"), bench.drops()),
        (sent, FRAMES as u64 - sent)
    );
    assert!(sent > FRAMES as u64 / 10, "{sent}");
}

#[suite::test]
fn mutated_messages_are_answered_or_named() {
    let (mut bench, sw_if, _) = bench();
    let lookup = bench.index("ip4-lookup");
    let (mut replies, mut quoted, mut seen) = (0, 0, 0);
    let frames_of = |seed| {
        batches(seed, |frames| {
            for (i, bytes) in frames.iter().enumerate() {
                let mut b = bench.buffer(bytes);
                b.rx_if = sw_if.0;
                // Without the device's checksum flag, nearly all would be dropped for their
                // checksum.
                if i % 2 == 0 {
                    b.flags.insert(Flags::L4_CSUM_OK);
                }
                let node = bench.index("ip4-icmp-input");
                bench.rt.inject(node, b);
            }
            for node in ["ip4-icmp-input", "ip4-icmp-echo-request", "ip4-icmp-quoted"] {
                let node = bench.index(node);
                bench.rt.run_node(node);
            }
            for o in bench.collect() {
                seen += 1;
                if o.node == "ip4-lookup" {
                    replies += 1;
                    assert_eq!(o.bytes[usize::from(o.bytes[0] & 15) * 4], 0, "a reply");
                } else {
                    quoted += usize::from(o.reason.is_some_and(|r| r.starts_with("error about")));
                    assert!(
                        ["ip4-drop", "ip4-punt"].contains(&o.node.as_str()) && o.reason.is_some(),
                        "{o:?}"
                    );
                }
            }
            assert!(bench.rt.waiting(lookup).is_empty());
        })
    };
    [2].into_iter().for_each(frames_of);
    assert_eq!(seen, FRAMES);
    assert!(replies > FRAMES / 10 && quoted > FRAMES / 50, "{replies} replies, {quoted} quoted");
    let counted = bench.count("ip4-icmp-echo-request", "echo_replies_sent");
    let punted = bench.count("ip4-icmp-input", "unknown_type")
        + bench.count("ip4-icmp-quoted", "unknown_protocol");
    assert_eq!(counted, replies as u64);
    assert_eq!(bench.drops() + punted + counted, FRAMES as u64);
}
