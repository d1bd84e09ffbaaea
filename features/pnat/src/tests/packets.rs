// SPDX-License-Identifier: Apache-2.0
//! Packets that match, and others.

use super::*;
use testkit::pkt::Checksum;
use wire::{Icmp4Type, TcpFlags};

/// Destinations of received packets and sources of packets that leave are rewritten, in the nodes
/// and in the super-path.
#[suite::test]
fn both_directions_are_rewritten() {
    let mut rig = router(&[
        "set pnat translation interface p0 match dst 192.0.2.9 proto udp dport 53 rewrite dst 10.0.1.2 dport 5353 in",
        "set pnat translation interface p1 match src 10.0.0.2 rewrite src 198.51.100.7 out",
    ]);
    let mut n = 0;
    for state in ["on", "off"] {
        rig.cli(&format!("set super-path {state}"));
        let ask = came("192.0.2.9").udp(4000, 53).payload("odd").build();
        let want = left("198.51.100.7", B).udp(4000, 5353).payload("odd").build();
        assert_eq!(rig.pass(0, &ask), [(1, want)], "{state}");
        n += 1;
        assert_eq!(rig.count("pnat-input", "rewrite"), n);
        // Another port and another protocol don't match on the way in.
        let syn = |ip: Packet| ip.tcp(4000, 53).segment(TcpFlags::SYN, 1, 0).payload("x").build();
        let want = syn(left("198.51.100.7", B));
        assert_eq!(rig.pass(0, &syn(came(B))), [(1, want)]);
        let other = |ip: Packet| ip.gre().payload("tunnel").build();
        assert_eq!(rig.pass(0, &other(came(B))), [(1, other(left("198.51.100.7", B)))]);
        assert_eq!(rig.count("pnat-input", "none"), 2 * n);
        assert_eq!(rig.count("pnat-output", "rewrite"), 3 * n);
    }
}

/// An absent checksum stays absent, and a wrong one wrong.
#[suite::test]
fn checksums_of_udp_are_kept_as_they_are() {
    let mut rig =
        router(&["set pnat translation interface p0 match src 10.0.0.2 rewrite src 10.9.9.9 in"]);
    for how in [Checksum::Value(0), Checksum::Wrong] {
        let udp = |ip: Packet| ip.udp(1, 2).checksum(how).payload("abc").build();
        let out = rig.pass(0, &udp(came(B)));
        let verdict = l4::verify(&out[0].1[ETHERNET..]);
        match how {
            Checksum::Value(_) => assert_eq!(out, [(1, udp(left("10.9.9.9", B)))]),
            _ => assert_eq!(verdict, Ok(Verdict::Invalid)),
        }
    }
}

/// Later fragments match by the ports of their datagram; they have no ports to rewrite.
#[suite::test]
fn fragments_match() {
    let mut rig = router(&[
        "set pnat translation interface p0 match proto udp dport 53 rewrite dst 10.0.1.2 dport 99 in",
    ]);
    let whole = |ip: Packet, port: u16| ip.udp(5000, port).payload_len(60).build();
    let before = whole(pkt::ip4(A, "192.0.2.9"), 53);
    let after = whole(pkt::ip4(A, B), 99);
    let part = |ip: Packet, body: &[u8], n: usize| {
        let (from, to) = ([0, 24][n], [24, body.len()][n]);
        let fragment = ip.id(9).fragment(from as u16, n == 0).protocol(IpProtocol::UDP);
        fragment.payload(&body[from..to]).build()
    };
    let frames = [1, 0].map(|n| part(came("192.0.2.9"), &before[20..], n));
    let mut want = [0, 1].map(|n| (1, part(left(A, B), &after[20..], n)));
    want.sort();
    assert_eq!(rig.pass_all(0, &frames), want);
}

/// A byte is copied and another one cleared, wherever they are, and the checksums are right.
#[suite::test]
fn bytes_are_copied_and_cleared() {
    for (at, what) in [(15, "source"), (1, "TOS"), (33, "payload"), (27, "checksum")] {
        for state in ["on", "off"] {
            // The checksum of a byte that is cleared later would be mended.
            let clear = if at == 27 { "" } else { "clear 31" };
            let copy = format!("copy 19 to {at} {clear}");
            let mut rig = router(&[
                &format!("set super-path {state}"),
                &format!("set pnat translation interface p0 match src 10.0.0.2 rewrite {copy} in"),
            ]);
            let ask = came("10.0.1.2").udp(1, 2).payload([0, 0, 0, 5, 5, 5, 5, 5, 5, 5]).build();
            let out = rig.pass(0, &ask);
            assert_eq!(out.len(), 1, "{what}");
            let bytes = &out[0].1[ETHERNET..];
            assert_eq!(bytes[at], 2, "{what}");
            assert_eq!(bytes[31] == 0, at != 27, "{what}");
            assert!(wire::Ipv4Header::checksum_ok_at(bytes), "{what}");
            // A byte that is written into the checksum itself is what was asked for.
            let valid = l4::verify(bytes) == Ok(Verdict::Valid);
            assert_eq!(valid, at != 27, "{what} {state}");
        }
    }
}

/// A packet without the byte is dropped.
#[suite::test]
fn short_packets_are_dropped() {
    let mut rig = router(&[
        "set pnat translation interface p0 match src 10.0.0.2 rewrite copy 19 to 60 in",
        "set pnat translation interface p1 match src 10.0.0.2 rewrite clear 61 out",
    ]);
    for state in ["on", "off"] {
        rig.cli(&format!("set super-path {state}"));
        let of = |len: usize| came(B).udp(1, 2).payload_len(len).pad_to(100).build();
        assert_eq!(rig.pass(0, &of(32)), [], "byte 60 is padding");
        assert_eq!(rig.pass(0, &of(33)), [], "byte 61 is padding");
        assert_eq!(rig.pass(0, &of(34)).len(), 1);
    }
    assert_eq!(rig.count("pnat-input", "tooshort"), 2);
    assert_eq!(rig.count("pnat-output", "tooshort"), 2);
}

/// ICMP has no ports: its messages match by addresses and keep their identifier.
#[suite::test]
fn icmp_has_no_ports() {
    let mut rig = router(&[
        "pnat binding 0 match src 10.0.0.2 proto udp rewrite src 10.9.9.9 sport 7",
        "pnat binding 1 match src 10.0.0.2 proto 1 rewrite src 10.9.9.8",
        "set interface pnat p0 in binding 0",
        "set interface pnat p0 in binding 1",
    ]);
    let echo = |ip: Packet| ip.icmp_echo(77, 1).payload("echo").build();
    assert_eq!(rig.pass(0, &echo(came(B))), [(1, echo(left("10.9.9.8", B)))]);
    let about = pkt::ip4(B, A).udp(1, 2).build();
    let error = |ip: Packet| ip.icmp(Icmp4Type::UNREACHABLE, 3, 0).payload(&about).build();
    assert_eq!(rig.pass(0, &error(came(B))), [(1, error(left("10.9.9.8", B)))]);
    let udp = |ip: Packet, port| ip.udp(port, 2).payload("x").build();
    assert_eq!(rig.pass(0, &udp(came(B), 1)), [(1, udp(left("10.9.9.9", B), 7))]);
}
