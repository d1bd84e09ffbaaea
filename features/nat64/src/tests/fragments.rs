// SPDX-License-Identifier: Apache-2.0
//! Fragments, and packets that are too long.

use super::*;
use testkit::Rng;
use wire::Ip6Fragment;

/// The datagram of fragments that have left, from its upper layer on.
fn joined(all: &[(usize, Vec<u8>)]) -> Vec<u8> {
    let mut parts: Vec<(usize, bool, Vec<u8>)> = Vec::new();
    for packet in all {
        seen(packet);
        let bytes = &packet.1[ETHERNET..];
        if bytes[0] >> 4 == 4 {
            let ip = Ipv4Header::view(bytes).expect("a header");
            parts.push((ip.fragment_offset(), ip.more_fragments(), bytes[20..].to_vec()));
        } else {
            let of = Ip6Fragment::view(&bytes[40..]).expect("a fragment");
            parts.push((of.offset(), of.more_fragments(), bytes[48..].to_vec()));
        }
    }
    parts.sort();
    let mut whole = Vec::new();
    let n = parts.len();
    for (i, (at, more, bytes)) in parts.into_iter().enumerate() {
        assert_eq!(at, whole.len(), "a gap");
        assert_eq!(more, i + 1 < n);
        whole.extend(bytes);
    }
    whole
}

/// A datagram of UDP with its checksum for these ends, from its UDP header on.
fn datagram(packet: &Packet, header: usize) -> Vec<u8> {
    packet.build()[ETHERNET + header..].to_vec()
}

/// The fragments of a datagram, in pieces of these lengths.
fn cut(bytes: &[u8], lens: &[usize], make: impl Fn(u16, bool, &[u8]) -> Packet) -> Vec<Vec<u8>> {
    let mut at = 0;
    let of = |len: &usize| {
        let end = (at + len).min(bytes.len());
        let part = make(at as u16, end < bytes.len(), &bytes[at..end]);
        at = end;
        part.build()
    };
    lens.iter().map(of).collect()
}

/// Fragments in any order are fragments of the other version, and the datagram is whole.
#[suite::test]
fn fragments_are_translated_in_any_order() {
    let mut rig = with_pool();
    let mut rng = Rng::new(5);
    for round in 0..40 {
        let ask = of_user(USER, HOST6).udp(5000, 53).payload_len(900 + round);
        let whole = datagram(&ask, 40);
        let make = |at: u16, more: bool, part: &[u8]| {
            let of = of_user(USER, HOST6).fragment6(round as u32 + 70_000, at, more);
            of.protocol(IpProtocol::UDP).payload(part)
        };
        let mut frames = cut(&whole, &[400, 296, 2000], make);
        let mut other = Vec::new();
        while !frames.is_empty() {
            let at = rng.below(frames.len());
            other.push(frames.remove(at));
        }
        let left = rig.pass_all(0, &other);
        assert_eq!(left.len(), 3);
        let id = |packet: &(usize, Vec<u8>)| {
            Ipv4Header::view(&packet.1[ETHERNET..]).map(|ip| (ip.id.get(), ip.dont_fragment()))
        };
        assert!(left.iter().all(|of| id(of) == Some(((round as u32 + 70_000) as u16, false))));
        let out = joined(&left);
        let port = u16::from_be_bytes([out[0], out[1]]);
        let check = pkt::ip4(PUBLIC, HOST).udp(port, 53).payload(&out[8..]).build();
        assert_eq!(out[..], check[20..], "ports and checksum");
        // And back.
        let answer = of_world(HOST, PUBLIC).udp(53, port).payload_len(800 + round);
        let make = |at: u16, more: bool, part: &[u8]| {
            let of = of_world(HOST, PUBLIC).id(round as u16).fragment(at, more);
            of.protocol(IpProtocol::UDP).payload(part)
        };
        let mut frames = cut(&datagram(&answer, 20), &[304, 400, 2000], make);
        frames.reverse();
        let left = rig.pass_all(1, &frames);
        let back = joined(&left);
        let check = pkt::ip6(HOST6, USER).udp(53, 5000).payload(&back[8..]).build();
        assert_eq!(back[..], check[40..]);
    }
}

/// A packet that routers may fragment arrives in fragments that fit every link (RFC 7915 4).
#[suite::test]
fn long_packets_are_fragmented() {
    let mut rig = with_pool();
    let port = one(&mut rig, 0, &of_user(USER, HOST6).udp(5000, 53)).from.1;
    for len in [1233, 1300, 1472] {
        let answer = of_world(HOST, PUBLIC).id(9).udp(53, port).payload_len(len);
        let left = rig.pass(1, &answer.build());
        assert!(left.len() > 1 && left.iter().all(|(_, frame)| frame.len() <= ETHERNET + 1280));
        let back = joined(&left);
        let check = pkt::ip6(HOST6, USER).udp(53, 5000).payload(&back[8..]).build();
        assert_eq!((back.len(), &back[..]), (8 + len, &check[40..]));
    }
    // One that just fits, and long fragments, which become smaller ones.
    let answer = of_world(HOST, PUBLIC).udp(53, port).payload_len(1232);
    assert_eq!(rig.pass(1, &answer.build()).len(), 1);
    let answer = of_world(HOST, PUBLIC).udp(53, port).payload_len(2400);
    let make = |at: u16, more: bool, part: &[u8]| {
        let of = of_world(HOST, PUBLIC).id(77).fragment(at, more);
        of.protocol(IpProtocol::UDP).payload(part)
    };
    let left = rig.pass_all(1, &cut(&datagram(&answer, 20), &[1480, 2000], make));
    assert_eq!((left.len(), joined(&left).len()), (3, 2408));
}

/// The sender of a packet that routers must not fragment gets to know the MTU, of its own version.
#[suite::test]
fn senders_get_to_know_the_mtu() {
    let mut rig = with_pool();
    let mtu = |packet: &(usize, Vec<u8>), at: usize| {
        let rest = &packet.1[ETHERNET + at + 4..][..4];
        u32::from_be_bytes(rest.try_into().expect("four bytes"))
    };
    let port = one(&mut rig, 0, &of_user(USER, HOST6).udp(5000, 53)).from.1;
    let long = of_world(HOST, PUBLIC).df().udp(53, port).payload_len(1472);
    let left = rig.pass(1, &long.build());
    assert_eq!((left.len(), left[0].0, mtu(&left[0], 20)), (1, 1, 1480));
    assert_eq!(seen(&left[0]).to.0, addr(HOST));
    let fits = of_world(HOST, PUBLIC).df().udp(53, port).payload_len(1452);
    assert_eq!(one(&mut rig, 1, &fits).port, 0);
    rig.cli("set interface mtu ip4 1400 p1");
    let long = of_user(USER, HOST6).udp(5000, 53).payload_len(1400);
    let left = rig.pass(0, &long.build());
    assert_eq!((left.len(), left[0].0, mtu(&left[0], 40)), (1, 0, 1420));
    assert_eq!(one(&mut rig, 0, &of_user(USER, HOST6).udp(5000, 53).payload_len(1372)).port, 1);
}
