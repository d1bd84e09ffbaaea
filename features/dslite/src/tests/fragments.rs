// SPDX-License-Identifier: Apache-2.0
//! Fragments: of users' packets, of packets of IPv6, and of the world's.

use super::*;
use std::collections::BTreeMap;

/// A datagram of a user in fragments of the inner packet: the first one has to come first.
#[suite::test]
fn fragments_of_a_user_are_translated_one_by_one() {
    let mut rig = with_pool();
    let whole = of_user(B4, USER, HOST).udp(5000, 53).payload_len(100).build();
    let upper = whole[ETHERNET + IP6 + 20..].to_vec();
    let part = |b4: &str, id: u16, at: usize, end: usize| {
        let of = of_user(b4, USER, HOST).id(id).protocol(IpProtocol::UDP);
        of.fragment(at as u16, end < upper.len()).payload(&upper[at..end])
    };
    assert!(rig.pass(0, &part(B4, 7, 48, 108).build()).is_empty());
    assert_eq!(rig.count("dslite-in2out", "fragment without the first one"), 1);
    let first = rig.pass(0, &part(B4, 7, 0, 48).build());
    let later = rig.pass(0, &part(B4, 7, 48, 108).build());
    let port = one(&mut rig, 0, &of_user(B4, USER, HOST).udp(5000, 53)).seen.from.1;
    let expected = pkt::ether(port_mac(1), peer_mac(1)).ip4(PUBLIC, HOST).ttl(63);
    let expected = expected.udp(port, 53).payload_len(100).build();
    let joined = [&first[0].1[ETHERNET + 20..], &later[0].1[ETHERNET + 20..]].concat();
    assert_eq!(joined, &expected[ETHERNET + 20..]);
    // Another B4 with the same ends and identification has its own datagrams.
    assert!(rig.pass(0, &part("2001:db8::3", 7, 48, 108).build()).is_empty());
    rig.seconds(6);
    assert!(rig.pass(0, &part(B4, 7, 48, 108).build()).is_empty());
}

/// Packets of IPv6 to the AFTR in fragments are reassembled.
#[suite::test]
fn outer_fragments_are_reassembled() {
    let mut rig = with_pool();
    let whole = of_user(B4, USER, HOST).udp(5000, 53).payload_len(500).build();
    let inner = &whole[ETHERNET + IP6..];
    let part = |at: usize, end: usize| {
        let of = pkt::ether(peer_mac(0), port_mac(0)).ip6(B4, AFTR);
        let of = of.fragment6(77, at as u16, end < inner.len()).protocol(IpProtocol::IP4);
        of.payload(&inner[at..end]).build()
    };
    let sent = rig.pass_all(0, &[part(256, inner.len()), part(0, 256)]);
    assert_eq!(sent.len(), 1, "{sent:?}");
    let port = left(&sent[0]).seen.from.1;
    let expected = pkt::ether(port_mac(1), peer_mac(1)).ip4(PUBLIC, HOST).ttl(63);
    assert_eq!(sent, [(1, expected.udp(port, 53).payload_len(500).build())]);
}

/// Datagrams of the world in fragments reach the user whole, or in fragments of IPv6.
#[suite::test]
fn fragments_of_the_world_are_reassembled() {
    let mut rig = with_pool();
    let port = one(&mut rig, 0, &of_user(B4, USER, HOST).udp(5000, 53)).seen.from.1;
    let whole = of_world(HOST, PUBLIC).udp(53, port).payload_len(1400).build();
    let upper = whole[ETHERNET + 20..].to_vec();
    let part = |at: usize, end: usize| {
        let of = of_world(HOST, PUBLIC).id(9).protocol(IpProtocol::UDP);
        of.fragment(at as u16, end < upper.len()).payload(&upper[at..end]).build()
    };
    let parts = [part(800, upper.len()), part(0, 800)];
    let sent = rig.pass_all(1, &parts);
    assert_eq!(sent.len(), 1);
    let seen = left(&sent[0]);
    assert_eq!((seen.tunnel, seen.seen.to), (Some((addr6(AFTR), addr6(B4))), end(USER, 5000)));
    let expected = pkt::ip4(HOST, USER).udp(53, 5000).payload_len(1400).build();
    assert_eq!(sent[0].1[ETHERNET + IP6 + 20..], expected[20..]);
    rig.cli("set interface mtu packet 1300 p0");
    let sent = rig.pass_all(1, &parts);
    assert_eq!(sent.len(), 2);
    assert!(
        sent.iter().all(|(_, frame)| frame.len() <= ETHERNET + 1300 && frame[ETHERNET + 6] == 44)
    );
    let fragments = sent.iter().map(|(_, frame)| {
        let header = &frame[ETHERNET + IP6..];
        (u16::from_be_bytes([header[2], header[3]]) & !7, header[8..].to_vec())
    });
    let parts: BTreeMap<_, _> = fragments.collect();
    assert_eq!(parts.into_values().flatten().skip(20).collect::<Vec<_>>(), expected[20..]);
}
