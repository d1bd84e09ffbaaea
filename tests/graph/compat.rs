// SPDX-License-Identifier: Apache-2.0
//! `compat { vpp }`: VPP's behaviour on the wire and for clients, beside our own on the same input.

use daemon::plugins;
use graph::WorldConfig;
use graph::drive::Bench;
use net::drive::{Rig, peer_mac, port_mac};
use testkit::pkt;
use wire::{IpProtocol, MacAddr};

/// A router with three networks that behaves as VPP, and one that behaves as itself.
fn routers() -> [Rig; 2] {
    [true, false].map(|compat_vpp| {
        let config = WorldConfig { compat_vpp, ..WorldConfig::default() };
        let mut rig = Rig::of(Bench::configured(&config, plugins::ALL), 3);
        rig.networks();
        // Addresses of IPv6 are in use once no duplicate is detected.
        rig.seconds(5);
        rig.sent();
        rig
    })
}

const IP4: &[u8] = &[8, 0];

/// A frame from the neighbour on port 0.
fn frame(to: MacAddr, ethertype: &[u8], packet: &[u8]) -> Vec<u8> {
    [&to.0[..], &peer_mac(0).0, ethertype, packet].concat()
}

fn udp(from: &str, to: &str, ttl: u8) -> Vec<u8> {
    pkt::ip4(from, to).ttl(ttl).udp(7, 9).payload_len(20).build()
}

#[test]
fn a_packet_without_a_route_gets_no_error() {
    let [mut vpp, mut own] = routers();
    let packets = [
        udp("10.0.0.2", "192.0.2.1", 9),
        pkt::ip6("2001:db8:0::2", "2001:db8:77::1").ttl(9).udp(7, 9).payload_len(20).build(),
    ];
    for packet in packets {
        assert_eq!(own.route(&packet).len(), 1);
        assert_eq!(vpp.route(&packet), []);
    }
    // A route that says so still has its errors.
    vpp.cli("ip route add 192.0.2.0/24 via unreach");
    assert_eq!(vpp.route(&udp("10.0.0.2", "192.0.2.1", 9)).len(), 1);
}

#[test]
fn errors_have_no_type_of_service_and_no_identification() {
    let [mut vpp, mut own] = routers();
    let marked =
        pkt::ip4("10.0.0.2", "10.0.1.2").tos(0x48).ttl(1).udp(7, 9).payload_len(20).build();
    let error = |rig: &mut Rig| rig.route(&marked).pop().expect("an error").1;
    assert_eq!(error(&mut vpp)[1..6], [0, 0, 76, 0, 0]);
    assert_eq!(error(&mut own)[1], 0xc8);
    let six = pkt::ip6("2001:db8:0::2", "2001:db8:1::2").ttl(1).udp(7, 9).payload_len(20).build();
    let class = |rig: &mut Rig| rig.route(&six).pop().expect("an error").1[..2].to_vec();
    assert_eq!((class(&mut vpp), class(&mut own)), (vec![0x60, 0], vec![0x6c, 0]));
}

#[test]
fn a_request_takes_the_place_of_the_packet() {
    let [mut vpp, mut own] = routers();
    let packet = udp("10.0.0.2", "10.0.1.77", 9);
    let answer = |rig: &mut Rig| {
        let to =
            frame_of_arp(2, ([2, 9, 9, 9, 9, 9], [10, 0, 1, 77]), (port_mac(1).0, [10, 0, 1, 1]));
        rig.pass(1, &to)
    };
    for rig in [&mut vpp, &mut own] {
        let sent = rig.route(&packet);
        assert_eq!(sent.len(), 1, "a request");
    }
    // One a millisecond here; there, the next after a second.
    for rig in [&mut vpp, &mut own] {
        rig.bench.world.clock.adjust(1_000_000);
    }
    assert_eq!(vpp.route(&packet).len(), 1);
    assert_eq!(vpp.count("ip4-glean", "replaced"), 2);
    assert_eq!(answer(&mut vpp), [], "no packet has waited");
    assert_eq!(answer(&mut own).len(), 1);
    assert_eq!(vpp.route(&packet).len(), 1);
    // A host that never answers: no error to the sender, and no further request by itself.
    for (rig, errors) in [(&mut vpp, 0), (&mut own, 1)] {
        let sent = rig.route(&udp("10.0.0.2", "10.0.2.88", 9));
        assert_eq!(sent.len(), 1);
        rig.seconds(10);
        let sent = rig.sent();
        let icmp = sent.iter().filter(|(port, frame)| *port == 0 && frame[12..14] == *IP4);
        assert_eq!(icmp.count(), errors);
        let arp = sent.iter().filter(|(port, frame)| *port == 2 && frame[12..14] == [8, 6]);
        assert_eq!(arp.count(), 2 * errors, "questions that are repeated");
    }
}

/// An ARP packet (1: a request, 2: a reply) from one station to another.
fn frame_of_arp(kind: u8, from: ([u8; 6], [u8; 4]), to: ([u8; 6], [u8; 4])) -> Vec<u8> {
    let head = [0, 1, 8, 0, 6, 4, 0, kind];
    [&to.0[..], &from.0, &[8, 6], &head, &from.0, &from.1, &to.0, &to.1].concat()
}

#[test]
fn addresses_are_not_defended() {
    for (rig, announced) in routers().iter_mut().zip([0, 1]) {
        let other = frame_of_arp(1, ([2, 9, 9, 9, 9, 9], [10, 0, 1, 1]), ([0; 6], [10, 0, 1, 1]));
        let sent = rig.pass(1, &[&[0xff; 6], &other[6..]].concat());
        assert_eq!(sent.len(), announced);
    }
}

#[test]
fn fragments_without_ports_are_dropped_by_shallow_reassembly() {
    for (rig, forwarded) in routers().iter_mut().zip([0, 2]) {
        rig.cli("set interface virtual-reassembly p0 on");
        let mut part = |offset, more| {
            let ip = pkt::ip4("10.0.0.2", "10.0.1.2").id(7).protocol(IpProtocol(9));
            rig.route(&ip.fragment(offset, more).payload_len(800).build()).len()
        };
        let sent = part(0, true) + part(800, false);
        assert_eq!(sent, forwarded);
    }
}

#[test]
fn packets_in_frames_to_several_stations_are_forwarded() {
    let [mut vpp, mut own] = routers();
    let packet = udp("10.0.0.2", "10.0.1.2", 9);
    let sent = frame(MacAddr::BROADCAST, IP4, &packet);
    let mut after = udp("10.0.0.2", "10.0.1.2", 8);
    after[4..6].copy_from_slice(&packet[4..6]);
    let after = [&peer_mac(1).0[..], &port_mac(1).0, IP4, &after].concat();
    assert_eq!(vpp.pass(0, &sent), [(1, after)]);
    assert_eq!(own.pass(0, &sent), []);
}

#[test]
fn a_sub_interface_goes_up_after_its_parent() {
    let [mut vpp, mut own] = routers();
    for rig in [&mut vpp, &mut own] {
        rig.cli("create sub-interfaces p1 7");
        rig.cli("set interface state p1 down");
    }
    own.cli("set interface state p1.7 up");
    let (retval, why) = vpp.refused("set interface state p1.7 up");
    assert_eq!(retval, -1);
    assert!(why.contains("p1 is down: set it up before p1.7"), "{why}");
    // As a line of a saved configuration it is taken: the parent may have gone down later.
    let world = vpp.world();
    world.restore(|| vpp.cli("set interface state p1.7 up"));
    vpp.cli("set interface state p1.7 down");
    vpp.cli("set interface state p1 up");
    vpp.cli("set interface state p1.7 up");
}

#[test]
fn outer_headers_have_no_identification() {
    let inner = udp("10.0.0.2", "192.0.2.1", 9);
    for (rig, zero) in routers().iter_mut().zip([true, false]) {
        rig.cli("create ipip tunnel src 10.0.1.1 dst 10.0.1.2");
        rig.cli("set interface state ipip0 up");
        rig.cli("set interface ip address ipip0 172.16.0.1/24");
        rig.cli("ip route add 192.0.2.0/24 via ipip0");
        let ids: Vec<_> =
            (0..3).flat_map(|_| rig.route(&inner)).map(|(_, b)| [b[4], b[5]]).collect();
        assert_eq!(ids.len(), 3);
        assert_eq!(ids.iter().all(|id| *id == [0, 0]), zero, "{ids:?}");
    }
}

#[test]
fn neighbours_stay() {
    let [vpp, own] = routers();
    let config = |rig: &Rig| {
        let config = rig.world().get::<net::Neighbors>().config(false);
        (config.age, config.confirm, config.retry)
    };
    assert_eq!((config(&vpp), config(&own)), ((0, 0, 0), (1200, 30, 5)));
    let lines = |rig: &Rig| {
        rig.world().running_config().into_iter().map(|line| line.text).collect::<Vec<_>>()
    };
    assert!(lines(&vpp).iter().all(|line| !line.contains("neighbor-config")));
}

#[test]
fn a_next_hop_on_an_interface_that_is_down_is_never_solicited() {
    for (rig, requests) in routers().iter_mut().zip([0, 1]) {
        rig.cli("set interface state p1 down");
        rig.cli("ip route add 192.0.2.0/24 via 10.0.1.77 p1");
        rig.cli("set interface state p1 up");
        rig.seconds(1);
        let all = rig.sent();
        let asks = |frame: &[u8]| frame[12..14] == [8, 6] && frame[38..42] == [10, 0, 1, 77];
        assert_eq!(all.iter().filter(|(_, frame)| asks(frame)).count(), requests);
        // It is once packets are to go there.
        assert_eq!(rig.route(&udp("10.0.0.2", "192.0.2.1", 9)).len(), 1);
    }
}

#[test]
fn groups_of_the_reserved_scope_are_forwarded() {
    let packet = |ttl| pkt::ip6("2001:db8:0::2", "ff00::1").ttl(ttl).udp(7, 9).payload_len(20);
    let to = MacAddr([0x33, 0x33, 0, 0, 0, 1]);
    let sent = frame(to, &[0x86, 0xdd], &packet(9).build());
    let after = [&to.0[..], &port_mac(1).0, &[0x86, 0xdd], &packet(8).build()].concat();
    for (rig, want) in routers().iter_mut().zip([vec![(1, after)], vec![]]) {
        rig.cli("ip mroute add ff00::1 via p0 Accept via p1 Forward");
        assert_eq!(rig.pass(0, &sent), want);
    }
}
