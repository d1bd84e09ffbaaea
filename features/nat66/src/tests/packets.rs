// SPDX-License-Identifier: Apache-2.0
//! Packets of all protocols, there and back.

use super::*;
use testkit::pkt::Checksum;
use wire::{IpProtocol, TcpFlags};

/// Upper layers, with the same bytes for any addresses but for their checksums.
fn uppers() -> Vec<fn(Packet) -> Packet> {
    vec![
        |ip| ip.tcp(5000, 80).segment(TcpFlags::SYN, 1, 2).payload("some bytes"),
        |ip| ip.udp(5000, 53).payload("odd"),
        |ip| ip.udp(5000, 53).payload([]),
        |ip| ip.icmp6_echo(7, 9).payload("echo"),
        |ip| ip.gre().payload("tunnel"),
        |ip| ip.protocol(IpProtocol(59)).payload("nothing"),
        |ip| ip.ext(IpProtocol::DEST_OPTIONS, [0, 1, 4, 0, 0, 0, 0]).udp(1, 2).payload("behind"),
    ]
}

/// Packets leave with the other address and valid checksums, and answers as they would have come.
#[suite::test]
fn hosts_have_another_address_outside() {
    let mut rig = router();
    let mut bytes = 0;
    for (upper, state) in uppers().into_iter().flat_map(|upper| [(upper, "on"), (upper, "off")]) {
        rig.cli(&format!("set super-path {state}"));
        let out = upper(packet(0, HOST, WORLD)).build();
        let want = upper(left(1, PUBLIC, WORLD)).build();
        bytes += 2 * (out.len() - ETHERNET) as u64;
        assert_eq!(rig.pass(0, &out), [(1, want)]);
        let back = upper(packet(1, WORLD, PUBLIC)).build();
        let want = upper(left(0, WORLD, HOST)).build();
        assert_eq!(rig.pass(1, &back), [(0, want)]);
    }
    let n = 4 * uppers().len() as u64;
    assert_eq!(counted(&rig), (n, bytes));
    let said = rig.cli("show nat66 static mappings");
    assert!(said.contains(&format!("total pkts {n}, total bytes {bytes}")), "{said}");
}

/// Wrong checksums stay wrong.
#[suite::test]
fn errors_are_not_hidden() {
    let mut rig = router();
    let wrong = packet(0, HOST, WORLD).udp(1, 2).checksum(Checksum::Wrong).payload("x").build();
    let out = rig.pass(0, &wrong);
    assert_eq!(l4::verify(&out[0].1[ETHERNET..]), Ok(Verdict::Invalid));
}

/// Fragments in any order get the address, the checksum in the first.
#[suite::test]
fn fragments_are_translated() {
    let mut rig = router();
    let whole = |ip: Packet| ip.udp(5000, 53).payload_len(40).build();
    let (before, after) = (whole(pkt::ip6(HOST, WORLD)), whole(pkt::ip6(PUBLIC, WORLD)));
    let part = |ip: Packet, body: &[u8], n: usize| {
        let (from, to) = ([0, 24][n], [24, body.len()][n]);
        let fragment = ip.fragment6(9, from as u16, n == 0).protocol(IpProtocol::UDP);
        fragment.payload(&body[from..to]).build()
    };
    for n in [1, 0] {
        let came = part(packet(0, HOST, WORLD), &before[40..], n);
        let want = part(left(1, PUBLIC, WORLD), &after[40..], n);
        assert_eq!(rig.pass(0, &came), [(1, want)], "fragment {n}");
    }
}

/// Packets that don't go to the world, and hosts without a mapping, pass as they are.
#[suite::test]
fn other_packets_pass() {
    let mut rig = bare(3);
    for line in [
        "nat66 plugin enable",
        "set interface nat66 in p0",
        "set interface nat66 out p1",
        &format!("nat66 add static mapping local {HOST} external {PUBLIC}"),
    ] {
        rig.cli(line);
    }
    let udp = |ip: Packet| ip.udp(1, 2).payload("x").build();
    let inside = udp(packet(0, HOST, "2001:db8:2::2"));
    assert_eq!(rig.pass(0, &inside), [(2, udp(left(2, HOST, "2001:db8:2::2")))]);
    let other = udp(packet(0, "2001:db8:0::3", WORLD));
    assert_eq!(rig.pass(0, &other), [(1, udp(left(1, "2001:db8:0::3", WORLD)))]);
    assert_eq!((rig.count(IN2OUT, "no translation"), counted(&rig)), (1, (0, 0)));
    // The router itself answers on both sides.
    let out = rig.pass(0, &packet(0, HOST, "2001:db8:0::1").icmp6_echo(1, 1).build());
    assert_eq!(ends(&out[0].1), (addr("2001:db8:0::1"), addr(HOST)));
    let out = rig.pass(1, &packet(1, WORLD, "2001:db8:1::1").icmp6_echo(1, 1).build());
    assert_eq!(ends(&out[0].1), (addr("2001:db8:1::1"), addr(WORLD)));
    assert_eq!(rig.count(OUT2IN, "no translation"), 1);
}

/// A host in a table of its own, the world in another one.
#[suite::test]
fn tables_are_kept_apart() {
    let mut rig = Rig::new(PLUGINS, 2);
    for line in [
        "ip6 table add 1",
        "ip6 table add 2",
        "set interface ip6 table p0 1",
        "set interface ip6 table p1 2",
    ] {
        rig.cli(line);
    }
    rig.networks();
    for line in [
        "nat66 plugin enable outside-vrf 2",
        "set interface nat66 in p0",
        "set interface nat66 out p1",
        &format!("nat66 add static mapping local {HOST} external {PUBLIC} vrf 1"),
    ] {
        rig.cli(line);
    }
    let udp = |ip: Packet| ip.udp(1, 2).payload("x").build();
    let out = udp(left(1, PUBLIC, WORLD));
    assert_eq!(rig.pass(0, &udp(packet(0, HOST, WORLD))), [(1, out)]);
    let back = udp(left(0, WORLD, HOST));
    assert_eq!(rig.pass(1, &udp(packet(1, WORLD, PUBLIC))), [(0, back)]);
    rig.delete_port(1);
    assert_eq!(rig.cli("show nat66 interfaces"), "NAT66 interfaces:\n p0 in\n");
}
