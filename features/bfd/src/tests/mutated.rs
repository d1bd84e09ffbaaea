// SPDX-License-Identifier: Apache-2.0
//! Mutated packets: each is counted once, and none but a right one changes a session.

use super::*;
use testkit::mutate::Mutator;

/// Bytes of an Ethernet header.
const ETHERNET: usize = 14;
const REASONS: [&str; 15] = [
    "none",
    "bad",
    "version",
    "length",
    "detect_multi",
    "multi_point",
    "my_disc",
    "your_disc",
    "admin_down",
    "no_session",
    "failed_verification",
    "src_mismatch",
    "dst_mismatch",
    "ttl",
    "total",
];

#[suite::test]
fn a_hundred_thousand_mutated_packets() {
    let mut total = [0u64; 2];
    for (i, v6) in [false, true].into_iter().enumerate() {
        let node = if v6 { "bfd-udp6-input" } else { "bfd-udp4-input" };
        let mut rig = rig(1);
        rig.cli("bfd key set conf-key-id 1 type meticulous-keyed-sha1 secret 0102");
        rig.cli("bfd udp echo-source set interface p0");
        add(&mut rig, v6, 0, "");
        let disc = up(&mut rig, v6, 0);
        let polls = Control { poll: true, ..packet(State::Up, disc) };
        let signed = Control {
            auth: Some(crate::packet::Section { kind: 4, len: 28, key_id: 1, sequence: 9 }),
            ..packet(State::Up, disc)
        };
        let echo = pkt::ether(peer_mac(0), port_mac(0))
            .ip(peer(v6, 0), own(v6, 0))
            .udp(1, 3785)
            .payload([7; 20])
            .build();
        let bases = [
            frame(v6, 0, &packet(State::Up, disc)),
            frame(v6, 0, &packet(State::Down, 0)),
            frame(v6, 0, &polls),
            frame(v6, 0, &signed),
            echo,
        ];
        let mut mutator = Mutator::new(0xbfd + u64::from(v6));
        for round in 0..500u32 {
            let frames = mutator.vector(&bases, 100, ETHERNET);
            let frames: Vec<_> = frames
                .into_iter()
                .map(|mut frame| {
                    frame.truncate(2000);
                    frame
                })
                .collect();
            rig.receive_all(0, &frames);
            total[i] += frames.len() as u64;
            for (_, sent) in rig.sent() {
                assert!(sent.len() >= ETHERNET + 20, "{sent:02x?}");
            }
            pass(&mut rig, 1);
            if round % 100 == 99 {
                rig.cli("show bfd sessions");
            }
        }
        let counted: u64 = REASONS[..14].iter().map(|reason| rig.count(node, reason)).sum();
        // Most frames get as far as here: others have a bad header, checksum or port.
        assert!(counted > 15_000, "{counted}");
        let seen = REASONS[..14].iter().filter(|reason| rig.count(node, reason) > 0).count();
        assert!(seen >= 4, "{seen} reasons");
        rig.cli(&format!("bfd udp session del {}", words(v6, 0)));
        // Errors of ICMP wait for neighbours that don't exist.
        rig.seconds(10);
        rig.sent();
        assert_eq!(rig.bench.buffers_out(), 0);
    }
    assert_eq!(total, [50_000; 2]);
}
