// SPDX-License-Identifier: Apache-2.0
//! The hash against a slow parser of its key, and fields that the hash must not depend on.

use super::*;
use crate::hash::{choose, hash};
use crate::model::Balance;
use graph::drive::Bench;
use proptest::prelude::*;
use testkit::pkt::{self, Packet};

/// The bytes that the hash may depend on, found byte by byte.
fn key(frame: &[u8], balance: Balance) -> Vec<u8> {
    let macs = frame.get(..12).unwrap_or_default().to_vec();
    let mut at = 12;
    let mut kind = frame.get(at..at + 2).map(|b| u16::from_be_bytes([b[0], b[1]]));
    for _ in 0..2 {
        if matches!(kind, Some(0x8100 | 0x88a8 | 0x9100 | 0x9200)) {
            at += 4;
            kind = frame.get(at..at + 2).map(|b| u16::from_be_bytes([b[0], b[1]]));
        }
    }
    at += 2;
    let rest = frame.get(at..).unwrap_or_default();
    let (addresses, ports) = match kind {
        Some(0x800) if rest.len() >= 20 && rest[0] >> 4 == 4 && rest[0] & 0xf >= 5 => {
            let len = usize::from(rest[0] & 0xf) * 4;
            let fragment = rest[6] & 0x3f != 0 || rest[7] != 0;
            (&rest[12..20], (matches!(rest[9], 6 | 17) && !fragment).then_some(len))
        }
        Some(0x86dd) if rest.len() >= 40 && rest[0] >> 4 == 6 => {
            (&rest[8..40], matches!(rest[6], 6 | 17).then_some(40))
        }
        _ => return macs,
    };
    let ports = ports.and_then(|at| rest.get(at..at + 4)).unwrap_or_default();
    match balance {
        Balance::L2 => macs,
        Balance::L23 => [&macs[..], addresses].concat(),
        _ => [addresses, ports].concat(),
    }
}

const HASHES: [Balance; 3] = Balance::HASHES;

fn hash_of(bench: &mut Bench, frame: &[u8], balance: Balance) -> u64 {
    let b = bench.buffer(frame);
    let hash = hash(&b, balance);
    bench.rt.cache().free(b);
    hash
}

fn packet(v6: bool, tags: u8, n: [u8; 4]) -> Packet {
    let [mac, a, b, port] = n;
    let mut packet = pkt::ether(host(mac), host(200));
    for tag in 0..tags {
        packet = packet.vlan(u16::from(tag) + 5);
    }
    let packet = match v6 {
        true => packet.ip6(&*format!("2001:db8::{a:x}"), &*format!("2001:db8:1::{b:x}")),
        false => packet.ip4(&*format!("10.0.0.{a}"), &*format!("10.1.0.{b}")),
    };
    packet.udp(u16::from(port), 53).payload_len(40)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// Frames with the same key have the same hash, others nearly never: checked over many pairs of
    /// frames that differ in little.
    #[suite::test]
    fn the_hash_depends_on_the_key_and_on_nothing_else(
        fields in prop::collection::vec((any::<bool>(), 0u8..4, [0u8..2, 0..2, 0..2, 0..2], 0usize..80, any::<u8>(), 0usize..110), 2..24)
    ) {
        let mut bench = Bench::new(PLUGINS);
        let frames: Vec<Vec<u8>> = fields
            .iter()
            .map(|(v6, tags, n, at, byte, len)| {
                let mut frame = packet(*v6, *tags, *n).build();
                if *at < frame.len() {
                    frame[*at] ^= byte & 0x81;
                }
                frame.truncate((*len).max(14).min(frame.len()));
                frame
            })
            .collect();
        for balance in HASHES {
            let all: Vec<_> = frames.iter().map(|f| (key(f, balance), hash_of(&mut bench, f, balance))).collect();
            for (i, (key, hash)) in all.iter().enumerate() {
                for (other, theirs) in &all[..i] {
                    prop_assert_eq!(key == other, hash == theirs, "{:?} {:x?} {:x?}", balance, key, other);
                }
            }
        }
    }
}

#[suite::test]
fn options_tags_and_fragments() {
    let mut bench = Bench::new(PLUGINS);
    let mut l34 = |packet: Packet| hash_of(&mut bench, &packet.build(), Balance::L34);
    let base = || pkt::ether(host(1), host(2)).ip4("10.0.0.1", "10.0.0.2");
    let plain = l34(base().udp(7, 8).payload_len(30));
    // Tags have no influence, up to two.
    for tagged in [
        pkt::ether(host(1), host(2)).vlan(5).ip4("10.0.0.1", "10.0.0.2").udp(7, 8).payload_len(30),
        pkt::ether(host(1), host(2))
            .vlan(5)
            .vlan(6)
            .ip4("10.0.0.1", "10.0.0.2")
            .udp(7, 8)
            .payload_len(30),
    ] {
        assert_eq!(l34(tagged), plain);
    }
    // Other MAC addresses neither; ports do.
    assert_eq!(
        l34(pkt::ether(host(9), host(8)).ip4("10.0.0.1", "10.0.0.2").udp(7, 8).payload_len(3)),
        plain
    );
    assert_ne!(l34(base().udp(9, 8).payload_len(30)), plain);
    // Behind options, ports are where the header ends.
    let mut frame = base().udp(7, 8).payload_len(30).build();
    frame[14] = 0x46;
    frame.splice(34..34, [1, 1, 1, 1]);
    assert_eq!(hash_of(&mut bench, &frame, Balance::L34), plain);
    // All fragments have the same hash, with any payload.
    let fragment = |offset: u16, bytes: u8| {
        let mut frame = base().udp(7, 8).payload_len(30).build();
        frame[20..22].copy_from_slice(&offset.to_be_bytes());
        frame[34..].fill(bytes);
        frame
    };
    let first = hash_of(&mut bench, &fragment(0x2000, 1), Balance::L34);
    assert_eq!(hash_of(&mut bench, &fragment(0x2005, 2), Balance::L34), first);
    assert_eq!(hash_of(&mut bench, &fragment(0x0009, 3), Balance::L34), first);
}

/// Over many flows each member gets about its part.
#[suite::test]
fn hashes_spread() {
    let mut bench = Bench::new(PLUGINS);
    for n in 2..9 {
        let mut counts = vec![0; n];
        for flow in 0..2000u16 {
            let frame = packet(false, 0, [1, (flow >> 8) as u8, 2, flow as u8]).build();
            counts[choose(hash_of(&mut bench, &frame, Balance::L34), n)] += 1;
        }
        let part = 2000 / n;
        assert!(counts.iter().all(|c| c * 10 > part * 8 && c * 10 < part * 12), "{n}: {counts:?}");
    }
}
