// SPDX-License-Identifier: Apache-2.0
//! ICMPv6 errors.

use super::*;
use wire::Icmp6Type;

fn error(ip: Packet, about: &[u8]) -> Packet {
    ip.icmp6(Icmp6Type::PACKET_TOO_BIG, 0, 1280).payload(about)
}

/// An error of the world, or of a router there, finds the host, with the packet that it has sent.
#[suite::test]
fn errors_of_the_world_find_the_host() {
    let mut rig = router();
    let sent = |from: &str| pkt::ip6(from, WORLD).ttl(60).udp(5000, 80).payload_len(30).build();
    for (from, len) in [(WORLD, 100), ("2001:db8:1::9", 48), (WORLD, 44), (WORLD, 40)] {
        let about = |of: &str| sent(of)[..len.min(78)].to_vec();
        let came = error(packet(1, from, PUBLIC), &about(PUBLIC)).build();
        let want = error(left(0, from, HOST), &about(HOST)).build();
        assert_eq!(rig.pass(1, &came), [(0, want)], "{from} {len}");
    }
}

/// An error of a host has the address that the world knows; a router inside keeps its own.
#[suite::test]
fn errors_of_hosts_are_translated() {
    let mut rig = router();
    let got = |to: &str| pkt::ip6(WORLD, to).ttl(60).tcp(80, 5000).payload_len(30).build();
    let came = error(packet(0, HOST, WORLD), &got(HOST)).build();
    assert_eq!(rig.pass(0, &came), [(1, error(left(1, PUBLIC, WORLD), &got(PUBLIC)).build())]);
    let between = "2001:db8:0::9";
    let came = error(packet(0, between, WORLD), &got(HOST)).build();
    assert_eq!(rig.pass(0, &came), [(1, error(left(1, between, WORLD), &got(PUBLIC)).build())]);
    assert_eq!(counted(&rig).0, 1, "the packet of the host");
}

/// Hops that are used up are answered in front of the translation: the host knows its packet.
#[suite::test]
fn hops_are_counted_in_front() {
    let mut rig = router();
    let last = packet(0, HOST, WORLD).ttl(1).udp(1, 2).payload("x").build();
    let out = rig.pass(0, &last);
    assert_eq!((out.len(), out[0].0), (1, 0));
    assert_eq!(ends(&out[0].1).1, addr(HOST));
    assert_eq!(out[0].1[ETHERNET + 48..], last[ETHERNET..]);
    assert_eq!(rig.count(IN2OUT, "time_exceeded"), 1);
}
