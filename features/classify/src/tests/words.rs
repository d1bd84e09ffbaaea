// SPDX-License-Identifier: Apache-2.0
//! Masks and matches in commands.

use crate::words::{Mask, hex, mask, mask_usage, match_usage, matched, to_hex};
use cli::{Command, Output, Tree};

const COMMANDS: &[Command<()>] = &[Command {
    path: "both",
    usage: concat!("([", mask_usage!(), "] [", match_usage!(), "])"),
    help: "Both",
    run: |(), m| {
        let text = |bytes: Option<Vec<u8>>| bytes.map_or("none".into(), |bytes| to_hex(&bytes));
        Ok(Output::text(format!("{} {}", text(mask(m)?), text(matched(m)?))))
    },
}];

fn both(line: &str) -> Result<String, String> {
    let tree = Tree::new(COMMANDS).expect("well-formed");
    tree.answer(&(), &format!("both {line}"))
        .map(|text| text.trim_end().to_string())
        .map_err(|e| e.to_string())
}

/// Zeros for so many bytes.
fn z(n: usize) -> String {
    "00".repeat(n)
}

#[suite::test]
fn fields_become_bytes_behind_the_ethernet_header() {
    for (line, mask, matched) in [
        ("", "none".to_string(), "none".to_string()),
        ("mask l2 src dst", "ff".repeat(12), "none".into()),
        ("mask l2 proto", z(12) + "ffff", "none".into()),
        ("mask l2 tag1 proto", z(14) + "0fffffff", "none".into()),
        ("mask l2 cos1", z(14) + "e0", "none".into()),
        ("mask l2 tag2 cos2 tag1 cos1 proto", z(14) + "efff" + &z(2) + "efffffff", "none".into()),
        ("mask l2 dot1ad proto", z(20) + "ffff", "none".into()),
        ("mask l3 ip4 src", z(14 + 12) + "ffffffff", "none".into()),
        ("mask l3 ip4 version hdr_length", z(14) + "ff", "none".into()),
        ("mask l3 ip4 dst src proto", z(14 + 9) + "ff0000" + &"ff".repeat(8), "none".into()),
        ("mask l3 ip4 ttl tos length", z(14) + "00ffffff00000000ff", "none".into()),
        (
            "mask l2 ignore-tag1 l3 ip4 fragment_id checksum",
            z(18 + 4) + "ffff00000000ffff",
            "none".into(),
        ),
        ("mask l3 ip6 src", z(14 + 8) + &"ff".repeat(16), "none".into()),
        ("mask l3 ip6 traffic-class", z(14) + "0ff00000", "none".into()),
        ("mask l3 ip6 version flow-label hop_limit", z(14) + "f00fffff000000ff", "none".into()),
        ("mask l3 ip6 dst l4 dst_port", z(14 + 24) + &"ff".repeat(16) + "0000ffff", "none".into()),
        ("mask l4 src_port", z(34) + "ffff", "none".into()),
        (
            "mask l3 ip4 proto l4 tcp dst_port src_port",
            z(23) + "ff" + &z(10) + "ffffffff",
            "none".into(),
        ),
        ("mask hex 00ff0", "none".into(), "none".into()),
        ("match l3 ip4 src 1.2.3.4 mask l3 ip4 src", z(26) + "ffffffff", z(26) + "01020304"),
        ("match l2 src 02:00:00:00:00:01", "none".into(), z(6) + "020000000001"),
        ("match l2 proto ip6", "none".into(), z(12) + "86dd"),
        ("match l2 proto 0x86dd", "none".into(), z(12) + "86dd"),
        ("match l2 tag1 257 cos1 7 proto arp", "none".into(), z(14) + "e1010806"),
        (
            "match l3 ip4 proto udp dst 10.0.0.1",
            "none".into(),
            z(14 + 9) + "110000" + &z(4) + "0a000001",
        ),
        ("match l3 ip4 proto 6 l4 dst_port 80", "none".into(), z(23) + "06" + &z(12) + "0050"),
        (
            "match l3 ip6 src 2001:db8::1 traffic-class 255 flow-label 0xfffff hop_limit 1",
            "none".into(),
            z(14) + "0fffffff00000001" + "20010db8000000000000000000000001",
        ),
        ("match hex ff01", "none".into(), "ff01".into()),
        (
            "mask l2 src match l2 src 02:00:00:00:00:01 l3 ip4 src 1.1.1.1",
            z(6) + &"ff".repeat(6),
            z(6) + "020000000001" + &z(14) + "01010101",
        ),
    ] {
        let mask = if line == "mask hex 00ff0" { "00ff00".to_string() } else { mask };
        assert_eq!(both(line), Ok(format!("{mask} {matched}")), "{line}");
    }
    for line in [
        "mask",
        "mask l3",
        "mask l3 ip4",
        "mask hex",
        "mask hex xyz",
        "match l3 ip4 src 1.2.3",
        "match l3 ip4 src 2001:db8::1",
        "match l2 proto nothing",
        "match l3 ip4 proto 256",
        "match l2 cos1 8",
    ] {
        assert!(both(line).is_err(), "{line}: {:?}", both(line));
    }
    let long = format!("mask hex {}", "f".repeat(10_000));
    assert!(both(&long).is_err_and(|e| e.contains("4096")), "{:?}", both(&long));
}

#[suite::test]
fn vectors_of_a_mask() {
    let of = |text: &str| {
        Mask::of(&hex(text).expect("hexadecimal")).map(|mask| (mask.skip, to_hex(&mask.bytes)))
    };
    assert_eq!(of("ff").ok(), Some((0, "ff".to_string() + &z(15))));
    assert_eq!(of(&(z(16) + "01")).ok(), Some((1, "01".to_string() + &z(15))));
    assert_eq!(of(&(z(31) + "01" + &z(100))).ok(), Some((1, z(15) + "01")));
    assert_eq!(of(&(z(15) + "0102")).ok(), Some((0, z(15) + "0102" + &z(15))));
    assert!(of(&z(50)).is_err(), "no bit");
    assert!(of(&("ff".to_string() + &z(79) + "ff")).is_err(), "six vectors");
    let within =
        |text: &str, skip, vectors| Mask::within(&hex(text).expect("hexadecimal"), skip, vectors);
    assert_eq!(within("ff", 0, 2).expect("fits").bytes.len(), 32);
    assert_eq!(within("00", 3, 1).expect("fits").bytes, [0; 16]);
    for (text, skip, vectors) in
        [("ff", 1, 1), ("ff", 0, 0), ("ff", 0, 6), ("ff", u32::MAX, 1), ("ff", 0, usize::MAX)]
    {
        assert!(
            within(text, skip, vectors).is_err_and(|e| e.code() == -7),
            "{text} {skip} {vectors}"
        );
    }
    assert!(within(&(z(16) + "ff"), 0, 1).is_err());
}
