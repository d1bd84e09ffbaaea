// SPDX-License-Identifier: Apache-2.0
//! Frames compared byte for byte.

use super::rig;
use net::drive::{Rig, at, peer_mac, port_mac};
use testkit::pkt;
use wire::{ArpOp, EtherType, IpProtocol, MacAddr};

const EVERYBODY: MacAddr = MacAddr([0xff; 6]);
/// A station that nobody knows.
const STRANGER: MacAddr = MacAddr([2, 0xaa, 0, 0, 0, 9]);

/// A packet of a neighbour of `p0` to it.
fn to_us(v6: bool) -> pkt::Packet {
    let ether = pkt::ether(peer_mac(0), port_mac(0));
    let ip = if v6 {
        ether.ip6("2001:db8::2", "2001:db8::1")
    } else {
        ether.ip4("10.0.0.2", "10.0.0.1")
    };
    ip.ttl(1)
}

/// A packet of the host to `dst`, at the end of its life.
fn of_host(v6: bool, to: MacAddr, dst: &str) -> pkt::Packet {
    let ether = pkt::ether(port_mac(0), to);
    let ip = if v6 { ether.ip6("2001:db8::1", dst) } else { ether.ip4("10.0.0.1", dst) };
    ip.ttl(1)
}

#[suite::test]
fn what_nobody_takes_goes_to_the_mirror_as_it_came() {
    let mut rig = rig();
    for state in ["on", "off"] {
        rig.cli(&format!("set super-path {state}"));
        for v6 in [false, true] {
            for frame in [
                to_us(v6).udp(5, 7777).payload_len(60).build(),
                to_us(v6).tcp(5, 179).payload_len(90).build(),
                to_us(v6).protocol(IpProtocol(89)).payload([1; 40]).build(),
            ] {
                assert_eq!(rig.pass(0, &frame), at(&[1], &frame), "v6 {v6}, super-path {state}");
            }
        }
    }
    assert_eq!(rig.count("ip4-udp-lookup", "mirrored"), 2);
    // Padding of the frame isn't part of the packet.
    let frame = to_us(false).udp(5, 7777).payload_len(3).build();
    let padded = [&frame[..], &[0; 15]].concat();
    assert_eq!(rig.pass(0, &padded), at(&[1], &frame));
}

#[suite::test]
fn what_is_ours_stays_here() {
    let mut rig = rig();
    let echo = to_us(false).icmp_echo(7, 1).payload_len(32).build();
    let sent = rig.pass(0, &echo);
    assert_eq!((sent.len(), sent[0].0), (1, 0), "answered once, by us");
    // An answer to the host's own ping isn't ours.
    let reply = to_us(false).icmp_echo_reply(7, 1).payload_len(32).build();
    assert_eq!(rig.pass(0, &reply), at(&[1], &reply));
    // An interface without a mirror answers as ever.
    let ether = pkt::ether(peer_mac(2), port_mac(2)).ip4("10.0.2.2", "10.0.2.1");
    let sent = rig.pass(2, &ether.udp(5, 7777).payload_len(60).build());
    assert_eq!((sent.len(), sent[0].0, sent[0].1[34]), (1, 2, 3), "port unreachable");
}

#[suite::test]
fn the_hosts_packets_leave_as_they_are() {
    let mut rig = rig();
    for state in ["on", "off"] {
        rig.cli(&format!("set super-path {state}"));
        for (v6, dst, group, mac) in [
            (false, "10.0.0.2", "224.0.0.5", MacAddr([1, 0, 0x5e, 0, 0, 5])),
            (true, "2001:db8::2", "ff02::5", MacAddr([0x33, 0x33, 0, 0, 0, 5])),
        ] {
            for frame in [
                of_host(v6, peer_mac(0), dst).udp(1, 2).payload_len(50).build(),
                of_host(v6, STRANGER, dst).tcp(179, 5).payload_len(50).build(),
                of_host(v6, mac, group).protocol(IpProtocol(89)).payload([7; 44]).build(),
            ] {
                assert_eq!(rig.pass(1, &frame), at(&[0], &frame), "v6 {v6}, super-path {state}");
            }
        }
    }
    // Neighbour discovery is the host's own.
    let ns = of_host(true, MacAddr([0x33, 0x33, 0xff, 0, 0, 2]), "ff02::1:ff00:2").ttl(255);
    let ns = ns.icmp6(wire::Icmp6Type(135), 0, 0).payload_len(20).build();
    assert_eq!(rig.pass(1, &ns), at(&[0], &ns));
}

#[suite::test]
fn the_hosts_packets_take_the_adjacency_of_their_header() {
    let mut rig = rig();
    let shown = rig.cli("show lcp adj");
    let line =
        |ip: &str| shown.lines().find(|line| line.contains(&format!(" {ip} "))).map(str::to_string);
    let ours = line("10.0.0.2").expect("a neighbour");
    assert!(ours.contains(&peer_mac(0).to_string()) && line("10.0.2.2").is_none(), "{shown}");
    let adj: u32 = ours.split_whitespace().last().and_then(|n| n.parse().ok()).expect("a number");
    let traced = |rig: &mut Rig, to| {
        let frame = of_host(false, to, "10.0.0.2").udp(1, 2).payload_len(50).build();
        let room = graph::TraceLog::room(16);
        rig.bench.rt.trace().order(graph::NodeIndex(999), 1, room, 0);
        rig.bench.arrive_as(rig.ports[1], &frame, |b| graph::drive::Bench::trace(b, 7));
        rig.bench.settle();
        rig.sent();
        let records = rig.bench.rt.trace().records().map(|record| record.to_string());
        let text = records.collect::<Vec<_>>().join("\n");
        let xc = text.lines().filter_map(|line| line.split_once("lcp-xc: itf:1 adj:")).next_back();
        let number = xc.and_then(|(_, n)| n.trim().parse::<u32>().ok());
        number.unwrap_or_else(|| panic!("{text}"))
    };
    assert_eq!(traced(&mut rig, peer_mac(0)), adj);
    assert_ne!(traced(&mut rig, STRANGER), adj, "that of groups");
    let (world, port) = (rig.world(), rig.ports[0]);
    let known: std::net::IpAddr = "10.0.0.2".parse().expect("an address");
    world.get::<net::Neighbors>().remove(&world, port, known).expect("removed");
    assert_ne!(traced(&mut rig, peer_mac(0)), adj);
}

fn arp(op: ArpOp, from: MacAddr, to: MacAddr) -> Vec<u8> {
    let ether = [&to.0[..], &from.0, &[8, 6]].concat();
    let fixed = [0, 1, 8, 0, 6, 4, 0, op.0 as u8];
    [&ether[..], &fixed, &from.0, &[10, 0, 0, 2], &to.0, &[10, 0, 0, 1]].concat()
}

#[suite::test]
fn arp_serves_both() {
    let mut rig = rig();
    // We answer requests, and the host learns from replies too.
    let sent = rig.pass(0, &arp(ArpOp::REQUEST, peer_mac(0), EVERYBODY));
    assert_eq!((sent.len(), sent[0].0, sent[0].1[21]), (1, 0, 2));
    let reply = arp(ArpOp::REPLY, peer_mac(0), port_mac(0));
    assert_eq!(rig.pass(0, &reply), at(&[1], &reply));
    let count = |rig: &Rig, node: &str, what| rig.count(node, what);
    assert_eq!(count(&rig, "linux-cp-arp-phy", "packets"), 2);
    assert_eq!(count(&rig, "linux-cp-arp-phy", "copies"), 1);
    for frame in
        [arp(ArpOp::REQUEST, port_mac(0), EVERYBODY), arp(ArpOp::REPLY, port_mac(0), STRANGER)]
    {
        assert_eq!(rig.pass(1, &frame), at(&[0], &frame));
    }
    assert_eq!(count(&rig, "linux-cp-arp-host", "packets"), 2);
}

#[suite::test]
fn advertisements_of_neighbors_reach_the_host() {
    let mut rig = rig();
    let option = [&[2u8, 1][..], &peer_mac(0).0].concat();
    let target: std::net::Ipv6Addr = "2001:db8::2".parse().expect("an address");
    let na = pkt::ether(peer_mac(0), port_mac(0)).ip6("2001:db8::2", "2001:db8::1").ttl(255);
    let body = [&target.octets()[..], &option].concat();
    let na = na.icmp6(wire::Icmp6Type(136), 0, 0x6000_0000).payload(body).build();
    assert_eq!(rig.pass(0, &na), at(&[1], &na));
}

#[suite::test]
fn enabled_types_cross_both_ways() {
    let mut rig = rig();
    let frame = |from, to, ethertype: u16| {
        let mut frame = pkt::ether(from, to).build();
        frame.truncate(12);
        [&frame[..], &ethertype.to_be_bytes(), &[9; 50]].concat()
    };
    let ptp = EtherType(0x88f7).0;
    let (came, of_host) = (frame(STRANGER, EVERYBODY, ptp), frame(port_mac(0), STRANGER, ptp));
    assert_eq!(rig.pass(0, &came), []);
    rig.cli("lcp ethertype enable PTP");
    assert_eq!(rig.cli("show lcp ethertype"), "0x88f7\n");
    assert_eq!(rig.pass(0, &came), at(&[1], &came));
    assert_eq!(rig.pass(1, &of_host), at(&[0], &of_host));
    assert_eq!(rig.pass(2, &frame(STRANGER, EVERYBODY, ptp)), []);
    assert_eq!(rig.count("linux-cp-punt-xc", "no_pair"), 1);
    rig.cli("lcp ethertype disable 0x88f7");
    assert_eq!(rig.pass(0, &came), []);
}

/// Frames of a VLAN cross between sub-interfaces, each with the tags of its own.
#[suite::test]
fn sub_interfaces_cross() {
    let mut rig = rig();
    for line in [
        "create sub-interfaces p0 100",
        "create sub-interfaces p1 200",
        "set interface state p0.100 up",
        "set interface state p1.200 up",
        "set interface ip address p0.100 10.9.0.1/24",
        "test lcp add phy p0.100 host p1.200",
    ] {
        rig.cli(line);
    }
    let frame = |vlan, from, to, src, dst| {
        pkt::ether(from, to).vlan(vlan).ip4(src, dst).ttl(1).tcp(5, 179).payload_len(20).build()
    };
    assert_eq!(
        rig.pass(0, &frame(100, peer_mac(0), port_mac(0), "10.9.0.2", "10.9.0.1")),
        at(&[1], &frame(200, peer_mac(0), port_mac(0), "10.9.0.2", "10.9.0.1"))
    );
    assert_eq!(
        rig.pass(1, &frame(200, port_mac(0), STRANGER, "10.9.0.1", "10.9.0.2")),
        at(&[0], &frame(100, port_mac(0), STRANGER, "10.9.0.1", "10.9.0.2"))
    );
}

/// Nothing of a pair stands on the path of routed packets.
#[suite::test]
fn transit_isnt_affected() {
    let rig = rig();
    for arc in [
        "device-input",
        "ip4-unicast",
        "ip6-unicast",
        "ip4-output",
        "ip6-output",
        "interface-output",
    ] {
        let arc = rig.bench.world.arc(arc).expect("an arc");
        let features = rig.bench.world.features_of(arc, rig.ports[0]);
        assert!(!features.iter().any(|name| name.starts_with("linux-cp")), "{features:?}");
    }
}
