// SPDX-License-Identifier: Apache-2.0
//! Files of every flavour, byte by byte, and broken ones.

use super::*;
use proptest::prelude::*;

const SECOND: u64 = 1_000_000_000;

#[suite::test]
fn classic_files_of_both_byte_orders_and_units() {
    let all = [frame(1, 60), frame(2, 1514), vec![7], vec![]];
    for (big_endian, magic, unit) in
        [(false, MICROS, 1000), (true, MICROS, 1000), (false, NANOS, 1), (true, NANOS, 1)]
    {
        // The upper bits of the link type say how long the FCS is.
        let mut file = FileBytes::classic(big_endian, magic, 0x5000_0001);
        for (n, packet) in (0u32..).zip(&all) {
            let len = packet.len() as u32;
            file.u32s(&[1_700_000_000 + n, 999_999 - n, len, len + 4]).raw(packet);
        }
        let (found, error) = packets(&file.bytes);
        assert_eq!(error, None);
        let want: Packets = (0u64..)
            .zip(&all)
            .map(|(n, packet)| {
                let time = (1_700_000_000 + n) * SECOND + (999_999 - n) * unit;
                (time, Link::Ethernet, packet.clone())
            })
            .collect();
        assert_eq!(found, want);
    }
}

#[suite::test]
fn link_types_of_ip_and_others() {
    for (number, link) in [
        (1, Link::Ethernet),
        (12, Link::Ip),
        (14, Link::Ip),
        (101, Link::Ip),
        (228, Link::Ip),
        (229, Link::Ip),
        (113, Link::Other(113)),
    ] {
        let mut file = FileBytes::classic(false, MICROS, number);
        file.u32s(&[1, 0, 1, 1]).raw(&[9]);
        assert_eq!(packets(&file.bytes), (vec![(SECOND, link, vec![9])], None));
    }
}

#[suite::test]
fn sections_interfaces_and_blocks_of_pcapng() {
    let mut file = FileBytes::default();
    file.section(false);
    // Microseconds without an option; nanoseconds; a power of two and an offset.
    file.interface(1, 0, &[]);
    file.interface(1, 0, &[(2, b"eth0"), (9, &[9]), (0, &[])]);
    file.interface(101, 0, &[(9, &[0x80 | 10]), (14, &100i64.to_le_bytes())]);
    file.enhanced(0, 1_500_000, &[1]);
    file.enhanced(1, 2_500_000_000, &frame(3, 99));
    file.enhanced(2, 3 << 10 | 512, &[3]);
    // A block that nobody knows, and options behind a packet.
    let unknown = file.body().raw(b"what").clone();
    file.block(0x0bad_0bad, &unknown);
    let mut body = file.body();
    body.u32s(&[1, 0, 7, 2, 1500]).raw(&[8, 9, 0, 0]).u16s(&[1, 3]).raw(b"abc\0").u32s(&[0]);
    file.block(6, &body);
    // The obsolete packet block: interface and drops of 16 bits.
    let mut body = file.body();
    body.u16s(&[1, 77]).u32s(&[0, 8, 3, 3]).raw(&[1, 2, 3]);
    file.block(2, &body);
    // A section of the other byte order begins anew, with interfaces of its own.
    file.section(true);
    file.interface(1, 4, &[(9, &[3]), (14, &(-1i64).to_be_bytes())]);
    file.enhanced(0, 5000, &[5, 5]);
    // Without a time of its own; the interface keeps four bytes.
    let body = file.body().u32s(&[9]).raw(&[1, 2, 3, 4]).clone();
    file.block(3, &body);
    let (found, error) = packets(&file.bytes);
    assert_eq!(error, None);
    let want = vec![
        (SECOND * 3 / 2, Link::Ethernet, vec![1]),
        (SECOND * 5 / 2, Link::Ethernet, frame(3, 99)),
        (SECOND * 207 / 2, Link::Ip, vec![3]),
        (7, Link::Ethernet, vec![8, 9]),
        (8, Link::Ethernet, vec![1, 2, 3]),
        (4 * SECOND, Link::Ethernet, vec![5, 5]),
        (4 * SECOND, Link::Ethernet, vec![1, 2, 3, 4]),
    ];
    assert_eq!(found, want);
}

#[suite::test]
fn resolutions_without_sense_are_no_panic() {
    for resolution in 0..=255u8 {
        let mut file = FileBytes::default();
        file.section(false).interface(1, 0, &[(9, &[resolution]), (14, &i64::MAX.to_le_bytes())]);
        file.enhanced(0, u64::MAX, &[1]);
        let (found, error) = packets(&file.bytes);
        assert_eq!((found.len(), error), (1, None), "{resolution}");
    }
}

#[suite::test]
fn malformed_files_say_where() {
    let refused = |file: &FileBytes| packets(&file.bytes).1.unwrap_or_default();
    let raw = |bytes: &[u8]| FileBytes { bytes: bytes.to_vec(), big_endian: false };
    assert!(refused(&raw(b"")).contains("within its header"));
    assert!(refused(&raw(b"#!/bin/sh\n")).contains("neither pcap nor pcapng"));
    // Kuznetzov's format has longer records.
    assert!(refused(&FileBytes::classic(false, 0xa1b2_cd34, 1)).contains("neither pcap"));
    let mut version = FileBytes::classic(false, MICROS, 1);
    version.bytes[4] = 3;
    assert!(refused(&version).contains("version"));
    let classic = |words: &[u32], more: &[u8]| {
        let mut file = FileBytes::classic(true, MICROS, 1);
        file.u32s(&[1, 0, 1, 1]).raw(&[1]).u32s(words).raw(more);
        refused(&file)
    };
    assert!(classic(&[1, 0, 5, 5], &[1, 2]).contains("behind packet 1"));
    assert!(classic(&[1, 0], &[]).contains("behind packet 1"));
    assert!(classic(&[1, 1_000_000, 1, 1], &[1]).contains("packet 2: a fraction"));
    assert!(classic(&[1, 5_000_000, 1, 1], &[1]).contains("packet 2: a fraction"));
    assert!(classic(&[1, 0, u32::MAX, 1], &[1]).contains("packet 2: a length"));

    let ng = |kind: u32, body: &[u32]| {
        let mut file = FileBytes::default();
        file.section(true).interface(1, 0, &[]).enhanced(0, 1, &[1]);
        let body = file.body().u32s(body).clone();
        file.block(kind, &body);
        refused(&file)
    };
    assert!(ng(6, &[0, 0, 0, 5, 5, 0]).contains("packet 2"), "longer than its block");
    assert!(ng(6, &[1, 0, 0, 0, 0]).contains("packet 2"), "an interface that isn't there");
    assert!(ng(6, &[0]).contains("packet 2"));
    assert!(ng(3, &[9, 0]).contains("packet 2"));
    assert!(ng(2, &[]).contains("packet 2"));
    assert!(ng(1, &[1]).contains("an interface behind packet 1"));
    // An option beyond the end.
    assert!(ng(1, &[1 << 16, 0, 9 << 16 | 200]).contains("an interface behind packet 1"));
    assert!(ng(0x0a0d_0d0a, &[0]).contains("byte-order magic"));
    let mut lengths = FileBytes::default();
    lengths.section(false).interface(1, 0, &[]).enhanced(0, 1, &[1]);
    let last = lengths.bytes.len() - 4;
    lengths.bytes[last] ^= 4;
    assert!(refused(&lengths).contains("two lengths"));
    for len in [0u32, 8, 13, u32::MAX - 3] {
        let mut file = FileBytes::default();
        file.section(false).u32s(&[9, len, 0, 0]);
        assert!(refused(&file).contains("a block of"), "{len}: {}", refused(&file));
    }
}

/// A file of every kind, to be broken.
fn whole() -> Vec<Vec<u8>> {
    let mut classic = FileBytes::classic(true, NANOS, 1);
    let mut ng = FileBytes::default();
    ng.section(false).interface(1, 96, &[(9, &[9]), (14, &1i64.to_le_bytes())]);
    for n in 0..5 {
        let packet = frame(n, 20 + n);
        let len = packet.len() as u32;
        classic.u32s(&[n as u32, 5, len, len]).raw(&packet);
        ng.enhanced(0, n as u64, &packet);
        let body = ng.body().u32s(&[len]).raw(&packet).clone();
        ng.block(3, &body);
    }
    ng.section(true).interface(101, 0, &[]).enhanced(0, 9, &[0x45; 20]);
    vec![classic.bytes, ng.bytes]
}

#[suite::test]
fn every_cut_ends_cleanly() {
    for file in whole() {
        let (all, error) = packets(&file);
        assert_eq!(error, None);
        for len in 0..file.len() {
            let (found, _) = packets(&file[..len]);
            assert_eq!(found, all[..found.len()], "a part of the packets");
            crate::check_file(&file[..len]);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]
    #[suite::test]
    fn broken_files_end_without_a_panic(
        which in 0usize..2,
        changes in proptest::collection::vec((0usize..600, any::<u8>()), 1..6),
    ) {
        let mut file = whole().swap_remove(which);
        for (at, byte) in changes {
            let len = file.len();
            file[at % len] = byte;
        }
        crate::check_file(&file);
    }

    #[suite::test]
    fn garbage_behind_a_header_ends(
        which in 0usize..2,
        garbage in proptest::collection::vec(any::<u8>(), 0..200),
    ) {
        let mut file = whole().swap_remove(which);
        file.truncate(if which == 0 { 24 } else { 28 });
        file.extend(garbage);
        crate::check_file(&file);
    }
}
