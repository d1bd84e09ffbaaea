// SPDX-License-Identifier: Apache-2.0
use crate::PLUGIN;
use graph::drive::Bench;
use graph::{Plugin, WorldConfig};
use net::drive::{Rig, peer_mac, port_mac};
use net::{NextHop, NextHops, RouteTables};
use std::collections::BTreeMap;
use testkit::mutate::Mutator;
use testkit::pkt::{self, Packet};
use wire::Ipv4Header;

mod multipoint;

static PLUGINS: &[&Plugin] = &[
    &interface::PLUGIN,
    &ethernet::PLUGIN,
    &fib::PLUGIN,
    &ip::PLUGIN,
    &path_mtu::PLUGIN,
    &teib::PLUGIN,
    &PLUGIN,
];

fn rig(lines: &[&str]) -> Rig {
    rig_of(&WorldConfig::default(), lines)
}

fn rig_of(config: &WorldConfig, lines: &[&str]) -> Rig {
    let mut rig = Rig::of(Bench::configured(config, PLUGINS), 3);
    rig.networks();
    lines.iter().for_each(|line| _ = rig.cli(line));
    rig
}

/// A router whose `ipip0` goes over IPv4 and `ipip1` over IPv6, with routes of both protocols to
/// each.
fn two(flags: &str) -> Rig {
    two_of(&WorldConfig::default(), flags)
}

fn two_of(config: &WorldConfig, flags: &str) -> Rig {
    let lines = [
        &*format!("create ipip tunnel src 10.0.1.1 dst 10.0.1.2 {flags}"),
        &*format!("create ipip tunnel src 2001:db8:2::1 dst 2001:db8:2::2 {flags}"),
        "set interface state ipip0 up",
        "set interface state ipip1 up",
        "enable ip6 interface ipip0",
        "enable ip6 interface ipip1",
        "set interface unnumbered ipip0 use p0",
        "set interface unnumbered ipip1 use p0",
        "ip route add 20.0.0.0/8 via ipip0",
        "ip route add 2002::/16 via ipip0",
        "ip route add 21.0.0.0/8 via ipip1",
        "ip route add 2003::/16 via ipip1",
    ];
    rig_of(config, &lines)
}

/// The header of a packet; [`whole`] is the packet.
fn inner4(to: &str) -> Packet {
    pkt::ip4("10.0.0.9", to).ttl(9).tos(0xb9)
}

fn inner6(to: &str) -> Packet {
    pkt::ip6("2001:db8::9", to).ttl(9).tos(0xb9)
}

fn whole(ip: &Packet) -> Vec<u8> {
    ip.clone().udp(1, 2000).payload_len(100).build()
}

/// The packet with one hop less.
fn hop(packet: &Packet) -> Vec<u8> {
    whole(&packet.clone().ttl(8))
}

fn outer4(inner: &[u8], tos: u8, id: u16, dont_fragment: bool) -> Vec<u8> {
    let mut outer = pkt::ip4("10.0.1.1", "10.0.1.2").ttl(63).tos(tos).id(id).build();
    outer.truncate(20);
    outer[9] = if inner[0] >> 4 == 6 { 41 } else { 4 };
    outer[2..4].copy_from_slice(&(20 + inner.len() as u16).to_be_bytes());
    outer[6] = if dont_fragment { 0x40 } else { 0 };
    Ipv4Header::set_checksum_at(&mut outer);
    [outer, inner.to_vec()].concat()
}

fn outer6(inner: &[u8], class: u8, label: u32) -> Vec<u8> {
    let mut outer = pkt::ip6("2001:db8:2::1", "2001:db8:2::2").ttl(64).build();
    outer.truncate(40);
    outer[..4].copy_from_slice(&(6 << 28 | u32::from(class) << 20 | label).to_be_bytes());
    outer[4..6].copy_from_slice(&(inner.len() as u16).to_be_bytes());
    outer[6] = if inner[0] >> 4 == 6 { 41 } else { 4 };
    [outer, inner.to_vec()].concat()
}

#[suite::test]
fn packets_of_both_protocols_go_in_packets_of_both() {
    let mut rig = two("");
    for (i, inner) in [inner4("20.0.0.1"), inner6("2002::1")].iter().enumerate() {
        assert_eq!(rig.route(&whole(inner)), [(1, outer4(&hop(inner), 0, i as u16, false))]);
    }
    for inner in [inner4("21.0.0.1"), inner6("2003::1")] {
        assert_eq!(rig.route(&whole(&inner)), [(2, outer6(&hop(&inner), 0, 0))]);
    }
    assert_eq!(rig.bench.drops(), 0);
    assert_eq!(rig.count("ipip-encap", "encapsulated"), 4);
    let ipip0 = rig.bench.world.get::<net::Interfaces>().find("ipip0").expect("there");
    let counters = rig.bench.world.get::<net::IfCounters>();
    let bytes = whole(&inner4("20.0.0.1")).len() + whole(&inner6("2002::1")).len() + 40;
    assert_eq!(counters.tx.sum(ipip0.at()), (2, bytes as u64), "with outer headers");
}

#[suite::test]
fn outer_headers_take_over_what_flags_say() {
    let mut rig = two(
        "encap-copy-dscp encap-copy-ecn encap-copy-df encap-copy-hop-limit encap-copy-flow-label",
    );
    let four = inner4("20.0.0.1").df();
    let mut want = outer4(&hop(&four), 0xb9, 0, true);
    want[8] = 8;
    Ipv4Header::set_checksum_at(&mut want);
    assert_eq!(rig.route(&whole(&four)), [(1, want)]);
    let six = inner6("2003::1").flow_label(0x12345);
    let mut want = outer6(&hop(&six), 0xb9, 0x12345);
    want[7] = 8;
    assert_eq!(rig.route(&whole(&six)), [(2, want)]);
    // IPv4 has no flow label: each flow has its own.
    let label = |rig: &mut Rig, port| {
        let sent = rig.route(&pkt::ip4("10.0.0.9", "21.0.0.1").udp(port, 1).build());
        u32::from_be_bytes(*sent[0].1.first_chunk().expect("a header")) & 0xf_ffff
    };
    let first = label(&mut rig, 1);
    assert!(first != 0 && label(&mut rig, 1) == first && label(&mut rig, 2) != first);

    let mut rig = two("encap-set-df dscp 10 hop-limit 33 encap-copy-ecn");
    let mut want = outer4(&hop(&inner4("20.0.0.1")), 10 << 2 | 1, 0, true);
    want[8] = 33;
    Ipv4Header::set_checksum_at(&mut want);
    assert_eq!(rig.route(&whole(&inner4("20.0.0.1"))), [(1, want)]);
}

#[suite::test]
fn what_is_put_in_comes_out() {
    let mut rig = two("decap-copy-ecn");
    rig.cli("ip route add 30.0.0.0/8 via 10.0.2.2 p2");
    rig.cli("ip route add 2004::/16 via 2001:db8:1::2 p1");
    let swap = |outer: Vec<u8>| {
        let mut outer = outer;
        let (at, len) = if outer[0] >> 4 == 4 { (12, 4) } else { (8, 16) };
        let (a, b) = outer[at..at + 2 * len].split_at_mut(len);
        a.swap_with_slice(b);
        outer
    };
    for (inner, port) in [(inner4("30.0.0.1"), 2), (inner6("2004::1"), 1)] {
        for ecn in [0, 3] {
            let want = inner.clone().tos(0xb8 | ecn);
            let four = swap(outer4(&whole(&inner), ecn, 7, false));
            assert_eq!(rig.route(&four), [(port, hop(&want))]);
            let six = swap(outer6(&whole(&inner), ecn, 0));
            assert_eq!(rig.route(&six), [(port, hop(&want))]);
        }
    }
    for node in ["ipip4-input", "ipip6-input"] {
        assert_eq!(rig.count(node, "packets decapsulated"), 4);
    }
    // IPv4 options and extension headers stand in front.
    let inner = inner4("30.0.0.1");
    let mut options = swap(outer4(&whole(&inner), 1, 7, false));
    options.splice(20..20, [1, 1, 1, 0]);
    (options[0], options[3]) = (0x46, options[3] + 4);
    Ipv4Header::set_checksum_at(&mut options);
    assert_eq!(rig.route(&options), [(2, hop(&inner))]);
    let mut extension = swap(outer6(&whole(&inner), 1, 0));
    extension.splice(40..40, [4, 0, 1, 4, 0, 0, 0, 0]);
    (extension[5], extension[6]) = (extension[5] + 8, 60);
    assert_eq!(rig.route(&extension), [(2, hop(&inner))]);
    // From elsewhere, or while the tunnel is down.
    let mut other = swap(outer4(&whole(&inner), 0, 7, false));
    other[15] = 9;
    Ipv4Header::set_checksum_at(&mut other);
    assert_eq!(rig.route(&other), []);
    assert_eq!(rig.count("ipip4-input", "no tunnel"), 1);
    rig.cli("set interface state ipip0 down");
    assert_eq!(rig.route(&swap(outer4(&whole(&inner), 0, 7, false))), []);
    assert_eq!(rig.count("ipip4-input", "down"), 1);
}

#[suite::test]
fn protocols_are_ours_from_the_first_tunnel_on() {
    let mut rig = rig(&[]);
    let mut packet = outer4(&whole(&inner4("30.0.0.1")), 0, 7, false);
    packet[12..20].copy_from_slice(&[10, 0, 1, 2, 10, 0, 1, 1]);
    Ipv4Header::set_checksum_at(&mut packet);
    rig.route(&packet);
    assert_eq!(rig.count("ip4-local", "unknown_protocol"), 1);
    rig.cli("create ipip tunnel src 10.0.1.1 dst 10.0.1.2");
    rig.cli("delete ipip tunnel ipip0");
    rig.route(&packet);
    assert_eq!(rig.count("ip4-local", "unknown_protocol"), 1);
    assert_eq!(rig.count("ipip4-input", "no tunnel"), 1);
}

#[suite::test]
fn the_way_to_the_other_end_is_followed() {
    let mut rig = rig(&[
        "ip route add 30.0.0.0/8 via 10.0.1.2 p1",
        "create ipip tunnel src 10.0.1.1 dst 30.0.0.1",
        "set interface state ipip0 up",
        "set interface unnumbered ipip0 use p0",
        "ip route add 20.0.0.0/8 via ipip0",
    ]);
    let by = |rig: &mut Rig| rig.route(&whole(&inner4("20.0.0.1"))).first().map(|(port, _)| *port);
    assert_eq!(by(&mut rig), Some(1));
    rig.cli("ip route add 30.0.0.1/32 via 10.0.2.2 p2");
    assert_eq!(by(&mut rig), Some(2));
    rig.cli("ip route del 30.0.0.1/32");
    assert_eq!(by(&mut rig), Some(1));
    // Through itself: it ends, is counted, and heals.
    rig.cli("ip route add 30.0.0.1/32 via ipip0");
    assert_eq!(by(&mut rig), None);
    assert_eq!(rig.count("ipip-encap", "nested") + rig.count("ipip-encap", "no_headroom"), 1);
    rig.cli("ip route del 30.0.0.1/32");
    assert_eq!(by(&mut rig), Some(1));
    rig.cli("ip route del 30.0.0.0/8");
    let why = |rig: &mut Rig| rig.cli("show ipip tunnel").split("dscp 0").nth(1).map(String::from);
    let ends = |why: &str| Some(format!(" {why}\n"));
    assert_eq!(why(&mut rig), ends("unresolved (there is no route to 30.0.0.1 in table 0)"));
    assert_eq!(by(&mut rig), None);
    assert_eq!(rig.count("ipip-encap", "no_route"), 1);
    // To one of our own addresses.
    rig.cli("create ipip tunnel src 10.0.1.1 dst 10.0.2.1");
    assert!(
        rig.cli("show ipip tunnel ipip1").ends_with(" unresolved (10.0.2.1 is our own address)\n")
    );
    rig.cli("delete ipip tunnel ipip1");
    // By a next hop that doesn't answer, or an interface that is down.
    rig.cli("ip route add 30.0.0.0/8 via 10.0.1.9 p1");
    assert_eq!(why(&mut rig), ends("").map(|all| all.trim_start_matches(' ').into()));
    let hop = NextHop { sw_if: rig.ports[1], ip: "10.0.1.9".parse().unwrap() };
    rig.bench.world.get::<NextHops>().set(&rig.bench.world, &[hop], "bfd", false);
    assert_eq!(why(&mut rig), ends("resolved, but 10.0.1.9 on p1 doesn't answer (bfd)"));
    // The log of p1's link says that the tunnel is affected.
    let affected = rig.bench.world.get::<RouteTables>().dependents(rig.ports[1]).to_string();
    assert!(
        affected.contains("routes and 1 tunnel or the like, by next hops 10.0.1.2, 10.0.1.9"),
        "{affected}"
    );
    rig.cli("set interface state p1 down");
    assert_eq!(why(&mut rig), ends("unresolved (p1: down)"));
    let json = rig.cli("show ipip tunnel -j");
    assert!(json.contains("\"obstacle\": \"p1: down\""), "{json}");
}

#[suite::test]
fn tunnels_lie_in_tunnels() {
    let mut rig = two("");
    rig.cli("create ipip tunnel src 10.0.0.1 dst 20.0.0.7");
    rig.cli("set interface state ipip2 up");
    rig.cli("set interface unnumbered ipip2 use p0");
    rig.cli("ip route add 40.0.0.0/8 via ipip2");
    let inner = inner4("40.0.0.1");
    let mut middle = outer4(&hop(&inner), 0, 0, false);
    middle[12..20].copy_from_slice(&[10, 0, 0, 1, 20, 0, 0, 7]);
    Ipv4Header::set_checksum_at(&mut middle);
    assert_eq!(rig.route(&whole(&inner)), [(1, outer4(&middle, 0, 1, false))]);
}

/// The tables of tunnels stay as long as these, and no other table takes their place.
#[suite::test]
fn tables_stay_with_their_tunnels() {
    for (line, del) in [("p2mp", "ipip0"), ("dst 10.0.1.2", "ipip0")] {
        let mut rig = rig(&["ip table add 7"]);
        rig.cli(&format!("create ipip tunnel src 10.0.1.1 outer-table-id 7 {line}"));
        assert!(rig.cli("ip table del 7").contains("a feature uses it"), "{line}");
        rig.cli("ip table add 8");
        let tables = |rig: &Rig| {
            let all = rig.bench.world.get::<net::Fib<wire::Ip4>>().list_tables();
            all.into_iter().map(|table| table.id).collect::<Vec<_>>()
        };
        assert_eq!(tables(&rig), [0, 7, 8]);
        rig.cli(&format!("delete ipip tunnel {del}"));
        assert_eq!(tables(&rig), [0, 8], "{line}");
        // One that couldn't be made keeps none.
        rig.cli("ip table add 7");
        rig.refused("create ipip tunnel src 10.0.1.1 outer-table-id 7 dst 224.0.0.1");
        rig.cli("ip table del 7");
        assert_eq!(tables(&rig), [0, 8], "{line}");
    }
}

/// An outer packet that may not be fragmented respects the path MTU of the other end.
#[suite::test]
fn path_mtus_below_1280() {
    let mut rig = two("encap-set-df");
    rig.cli("ip path-mtu 10.0.1.2 800");
    let sized = |len| inner4("20.0.0.1").udp(1, 2000).payload_len(len).build();
    assert_eq!(rig.route(&sized(700)).iter().map(|(_, p)| p.len()).collect::<Vec<_>>(), [748]);
    let sent = rig.route(&sized(900));
    assert!(
        sent.iter().all(|(_, p)| p.len() <= 800 && p[6] & 0x40 == 0) && sent.len() != 1,
        "{sent:?}"
    );
}

/// With two paths to the other end, all packets take one, or each inner flow its own.
#[suite::test]
fn inner_flows_take_ways_of_their_own() {
    for (flag, ways) in [("", 1), ("encap-inner-hash", 2)] {
        let mut rig = rig(&[
            "ip route add 30.0.0.0/8 via 10.0.1.2 p1",
            "ip route add 30.0.0.0/8 via 10.0.2.2 p2",
            &format!("create ipip tunnel src 10.0.1.1 dst 30.0.0.1 {flag}"),
            "set interface state ipip0 up",
            "set interface unnumbered ipip0 use p0",
            "ip route add 20.0.0.0/8 via ipip0",
        ]);
        let mut way = |port| rig.route(&inner4("20.0.0.1").udp(port, 2).build())[0].0;
        let all: Vec<usize> = (0..64).map(&mut way).collect();
        assert_eq!((0..64).map(way).collect::<Vec<_>>(), all);
        assert_eq!(all.iter().collect::<std::collections::BTreeSet<_>>().len(), ways);
    }
}

/// Packets larger than a link are fragmented; packets that may not be are answered by an error with
/// an MTU that works.
#[suite::test]
fn packets_larger_than_links() {
    let mut rig = two("");
    let big = |ip: Packet, len: usize| ip.id(3).udp(1, 2000).payload_len(len).build();
    let sent = rig.route(&big(inner4("20.0.0.1"), 1472));
    assert_eq!(
        sent.iter().map(|(port, p)| (*port, p[9], p.len())).collect::<Vec<_>>(),
        [(1, 4, 40), (1, 4, 1500)]
    );
    let sent = rig.route(&big(inner4("21.0.0.1"), 1472));
    assert_eq!(sent.len(), 2, "fragments of our own packet of IPv6");
    assert!(sent.iter().all(|(port, p)| *port == 2 && p[6] == 44 && p.len() <= 1500));
    // The tunnel's own MTU cuts the packet before it gets a header.
    rig.cli("set interface mtu packet 600 ipip0");
    let sent = rig.route(&big(inner4("20.0.0.1"), 972));
    assert_eq!(sent.len(), 2);
    assert!(
        sent.iter().all(|(_, p)| p.len() <= 620 && p[6] & 0x20 == 0 && p[20 + 9] == 17),
        "whole outer packets"
    );
    assert_eq!(rig.route(&big(inner4("20.0.0.1").df(), 972)), []);
    assert_eq!(rig.count("ip4-rewrite", "mtu_exceeded"), 1);
}

/// A super-packet goes as the segments that it stands for.
#[suite::test]
fn super_packets_are_cut_before_they_get_headers() {
    let mut rig = two("");
    let payload: Vec<u8> = (0..3000_u32).map(|i| i as u8).collect();
    let whole = pkt::ip4("10.0.0.9", "20.0.0.1").ttl(9).id(5).tcp(1, 2).payload(&payload).build();
    let frame = [&port_mac(0).0[..], &peer_mac(0).0, &[8, 0], &whole].concat();
    let rx = rig.ports[0];
    rig.bench.send("ethernet-input", &frame, |b| {
        b.rx_if = rx.0;
        b.flags.insert(buffer::Flags::GSO | buffer::Flags::CSUM_PARTIAL);
        (b.offload.csum_start, b.offload.csum_offset, b.offload.gso_size) = (34, 16, 1000);
    });
    let sent = rig.sent();
    let parts: Vec<_> = sent.iter().map(|(_, frame)| &frame[34..]).collect();
    assert_eq!(parts.len(), 3);
    let mut got = Vec::new();
    let mut parts = parts;
    parts.sort_by_key(|part| u32::from_be_bytes(*part[24..].first_chunk().expect("TCP")));
    for part in parts {
        assert_eq!(wire::l4::verify(part), Ok(wire::l4::Verdict::Valid));
        assert_eq!((part[8], &part[12..20]), (8, &whole[12..20]));
        got.extend_from_slice(&part[40..]);
    }
    assert_eq!(got, payload);
}

/// With the feature `gso` on the link and VPP's behaviour, a super-packet whose segments don't fit
/// it gets its header as a whole, and the outer packet is fragmented; one that may not be is cut as
/// ever. Ours is cut always: the other end of the tunnel gets packets as the sender's link carries
/// them.
#[suite::test]
fn super_packets_stay_whole_if_asked_to() {
    let vpp = WorldConfig { compat_vpp: true, ..WorldConfig::default() };
    let (mut rig, mut own) = (two_of(&vpp, "encap-copy-df"), two("encap-copy-df"));
    let payload: Vec<u8> = (0..9000_u32).map(|i| (i / 7) as u8).collect();
    for rig in [&mut rig, &mut own] {
        rig.cli("set interface feature gso p1");
    }
    let send = |rig: &mut Rig, df: bool| {
        let ip = pkt::ip4("10.0.0.9", "20.0.0.1").ttl(9).id(5);
        let ip = if df { ip.df() } else { ip };
        let mut inner = ip.tcp(1, 2).payload(&payload).build();
        wire::l4::set_partial(&mut inner).expect("TCP");
        let frame = [&port_mac(0).0[..], &peer_mac(0).0, &[8, 0], &inner].concat();
        let rx = rig.ports[0];
        rig.bench.send("ethernet-input", &frame, |b| {
            b.rx_if = rx.0;
            b.flags.insert(buffer::Flags::GSO | buffer::Flags::CSUM_PARTIAL);
            (b.offload.csum_start, b.offload.csum_offset) = (34, 16);
            (b.offload.gso_size, b.offload.gso_kind) = (1460, 1);
        });
        rig.sent().into_iter().map(|(_, frame)| frame[14..].to_vec()).collect::<Vec<_>>()
    };
    let fragments = send(&mut rig, false);
    assert_eq!(fragments.len(), 7, "9060 bytes in pieces of 1480");
    let mut whole = vec![0; 9040];
    for part in &fragments {
        assert!(Ipv4Header::checksum_ok_at(part) && part.len() <= 1500);
        let at = usize::from(u16::from_be_bytes([part[6], part[7]]) & 0x1fff) * 8;
        whole[at..at + part.len() - 20].copy_from_slice(&part[20..]);
    }
    assert_eq!(wire::l4::verify(&whole), Ok(wire::l4::Verdict::Valid));
    assert_eq!((&whole[40..], whole[8]), (&payload[..], 8));
    // With DF outside it is cut as ever: of its segments only the last one fits the link.
    let cut = send(&mut rig, true);
    assert_eq!(cut.iter().map(|p| (p[6], p.len())).collect::<Vec<_>>(), [(0x40, 300)]);
    assert_eq!(cut[0][60..], payload[8760..]);
    assert_eq!(rig.count("ipip-encap", "encapsulated"), 1 + 7);
    // Six segments of 1500 bytes, in two fragments each, and the last one.
    let parts = send(&mut own, false);
    assert_eq!(own.count("ipip-encap", "encapsulated"), 7);
    assert_eq!(parts.len(), 2 * 6 + 1);
    // Outer packets by their identifications, put together.
    let mut outer: BTreeMap<[u8; 2], Vec<u8>> = BTreeMap::new();
    for part in &parts {
        assert!(Ipv4Header::checksum_ok_at(part) && part.len() <= 1500);
        let at = usize::from(u16::from_be_bytes([part[6], part[7]]) & 0x1fff) * 8;
        let whole = outer.entry([part[4], part[5]]).or_default();
        whole.resize(whole.len().max(at + part.len() - 20), 0);
        whole[at..at + part.len() - 20].copy_from_slice(&part[20..]);
    }
    let mut segments: Vec<_> = outer.into_values().collect();
    segments.sort_by_key(|inner| u32::from_be_bytes(*inner[24..].first_chunk().expect("TCP")));
    for inner in &segments {
        assert_eq!(wire::l4::verify(inner), Ok(wire::l4::Verdict::Valid));
        assert!(inner.len() <= 1500, "as the sender's link carries it");
    }
    let got: Vec<u8> = segments.iter().flat_map(|inner| inner[40..].to_vec()).collect();
    assert!(got == payload, "each byte once, in order");
}

/// Super-packets that would become too many segments, and broken packets around broken packets,
/// through tunnels of both modes: each is taken or dropped by name, and every buffer comes back.
#[suite::test]
fn broken_packets_are_taken_or_dropped_by_name() {
    let mut rig = two("encap-copy-dscp encap-copy-flow-label decap-copy-ecn encap-inner-hash");
    for line in [
        "create ipip tunnel src 10.0.1.1 p2mp",
        "set interface state ipip2 up",
        "set interface ip address ipip2 10.9.0.1/24",
        "create teib ipip2 peer 10.9.0.2 nh 10.0.2.2",
        "ip route add 22.0.0.0/8 via 10.9.0.2 ipip2",
        "ip route add 30.0.0.0/8 via 10.0.2.2 p2",
    ] {
        rig.cli(line);
    }
    let reply = |from: u8| {
        let mut outer = outer4(&whole(&inner4("30.0.0.1")), 0, 7, false);
        outer[12..20].copy_from_slice(&[10, 0, from, 2, 10, 0, 1, 1]);
        Ipv4Header::set_checksum_at(&mut outer);
        outer
    };
    let framed = |packet: Vec<u8>| {
        let ethertype: [u8; 2] = if packet[0] >> 4 == 6 { [0x86, 0xdd] } else { [8, 0] };
        [&port_mac(0).0[..], &peer_mac(0).0, &ethertype, &packet].concat()
    };
    let tcp = pkt::ip4("10.0.0.9", "22.0.0.1").ttl(9).tcp(1, 2).payload([7; 900]).build();
    let packets = [
        whole(&inner4("20.0.0.1")),
        whole(&inner6("2003::1")),
        whole(&inner4("22.0.0.1")),
        tcp,
        reply(1),
        reply(2),
    ];
    let bases: Vec<Vec<u8>> = packets.into_iter().map(framed).collect();
    let (mut sent, rx) = (0, rig.ports[0]);
    for (i, bytes) in (0_u16..).zip(Mutator::new(5).frames(&bases, 20_000, 2000)) {
        if i % 2 == 0 {
            sent += rig.pass(0, &bytes).len();
            continue;
        }
        rig.bench.send("ethernet-input", &bytes, |b| {
            b.rx_if = rx.0;
            b.flags.insert(buffer::Flags::GSO | buffer::Flags::CSUM_PARTIAL);
            (b.offload.csum_start, b.offload.csum_offset, b.offload.gso_size) = (34, 16, i % 300);
        });
        sent += rig.sent().len();
    }
    assert!(rig.count("ipip4-input", "packets decapsulated") > 1000 && sent > 5000, "{sent}");
    assert!(rig.count("ipip-encap", "bad_super") > 100 && rig.bench.drops() > 1000);
    let cut = rig.count("ipip-encap", "bad_super");
    let huge =
        framed(pkt::ip4("10.0.0.9", "22.0.0.1").ttl(9).tcp(1, 2).payload(vec![7; 60_000]).build());
    for (size, refused) in [(48, 0), (43, 1)] {
        let before = rig.count("ipip-encap", "encapsulated");
        rig.bench.send("ethernet-input", &huge, |b| {
            b.rx_if = rx.0;
            b.flags.insert(buffer::Flags::GSO | buffer::Flags::CSUM_PARTIAL);
            (b.offload.csum_start, b.offload.csum_offset, b.offload.gso_size) = (34, 16, size);
        });
        assert_eq!(rig.count("ipip-encap", "bad_super") - cut, refused);
        let segments = (1 - refused) * 60_000_u64.div_ceil(48);
        assert_eq!(rig.count("ipip-encap", "encapsulated") - before, segments);
        assert_eq!(rig.sent().len() as u64, segments);
    }
    rig.seconds(10);
    assert_eq!(rig.bench.buffers_out(), 0, "buffers are lost");
}

#[suite::test]
fn wrong_ones_are_refused() {
    let mut rig = rig(&["create ipip tunnel src 10.0.1.1 dst 10.0.1.2 instance 4"]);
    for (line, retval, part) in [
        ("create ipip tunnel src 10.0.1.1 dst 10.0.1.2", -79, "ipip4 has these ends"),
        ("create ipip tunnel src 10.0.1.1 dst 10.0.1.3 instance 4", -147, "there is a ipip4"),
        ("create ipip tunnel src 10.0.1.1 dst 10.0.1.1", -82, "both ends"),
        ("create ipip tunnel src 10.0.1.1 dst 2001:db8::1", -153, "two protocols"),
        ("create ipip tunnel src 10.0.1.1 dst 10.0.1.3 outer-table-id 9", -3, "no table 9"),
        ("create ipip tunnel src 10.0.1.1 dst 10.0.1.3 dscp 64", -1, "63"),
        ("create ipip tunnel src 10.0.1.1 dst 10.0.1.3 p2mp", -58, "create teib"),
        ("create ipip tunnel src 224.0.0.1 dst 10.0.1.3", -57, "not that of one host"),
        ("create ipip tunnel src 10.0.1.1", -1, "dst ADDRESS"),
        ("delete ipip tunnel p0", -6, "no such ipip tunnel"),
        ("delete ipip tunnel sw_if_index 99", -2, "99"),
    ] {
        let (code, text) = rig.refused(line);
        assert!(code == retval && text.contains(part), "{line}: {code} {text}");
    }
    assert_eq!(rig.cli("create ipip tunnel src 10.0.1.1 dst 10.0.1.3"), "ipip0\n");
    let shown = rig.cli("show ipip tunnel");
    assert!(
        shown.starts_with(
            "[4] instance 4 src 10.0.1.1 dst 10.0.1.2 table-ID 0 sw-if-idx 4 flags [] dscp 0\n"
        ),
        "{shown}"
    );
}
