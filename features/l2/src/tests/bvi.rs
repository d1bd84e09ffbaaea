// SPDX-License-Identifier: Apache-2.0
//! The routed interface of a domain.

use super::*;
use crate::Bridge;
use testkit::pkt;

/// The address of `loop0`.
const BVI: MacAddr = MacAddr([0xde, 0xad, 0, 0, 0, 0]);

/// Ports 0 and 1 and `loop0` with 10.0.0.1/24 in domain 1; port 2 routes, with 10.0.2.1/24.
fn routed() -> (Rig, SwIfIndex) {
    let mut rig = rig(3);
    for line in [
        "create loopback interface",
        "set interface state loop0 up",
        "set interface l2 bridge p0 1",
        "set interface l2 bridge p1 1",
        "set interface l2 bridge loop0 1 bvi",
        "set interface ip address loop0 10.0.0.1/24",
        "set interface ip address p2 10.0.2.1/24",
        "set ip neighbor p2 10.0.2.2 02:aa:00:00:00:16",
    ] {
        rig.cli(line);
    }
    rig.seconds(2);
    rig.sent();
    let bvi = rig.world().get::<Interfaces>().find("loop0").expect("made");
    (rig, bvi)
}

/// A host asks for the router and pings it; the router asks for a host that it doesn't know, and
/// forwards to it.
#[suite::test]
fn hosts_and_the_router_reach_each_other() {
    let (mut rig, bvi) = routed();
    let ask = pkt::arp_request(host(1), "10.0.0.5", "10.0.0.1").pad_to(60).build();
    let sent = rig.pass(0, &ask);
    assert_eq!(
        sent.iter().filter(|(port, _)| *port == 1).collect::<Vec<_>>(),
        [&(1, ask)],
        "flooded"
    );
    let answers: Vec<_> = sent.iter().filter(|(port, _)| *port == 0).collect();
    assert_eq!(answers.len(), 1, "{sent:?}");
    let answer = &answers[0].1;
    assert_eq!(
        (&answer[..6], &answer[6..12], &answer[12..14]),
        (&host(1).octets()[..], &BVI.octets()[..], &[8, 6][..])
    );
    assert_eq!(
        (&answer[20..22], &answer[22..28], &answer[28..32]),
        (&[0, 2][..], &BVI.octets()[..], &[10, 0, 0, 1][..])
    );

    let ping = pkt::ether(host(1), BVI)
        .ip4("10.0.0.5", "10.0.0.1")
        .icmp_echo(7, 9)
        .payload(b"over the bridge")
        .build();
    let sent = rig.pass(0, &ping);
    let [(0, reply)] = &sent[..] else { panic!("{sent:?}") };
    assert_eq!((&reply[..6], &reply[6..12]), (&host(1).octets()[..], &BVI.octets()[..]));
    assert_eq!(
        (&reply[26..30], &reply[30..34], reply[34]),
        (&[10, 0, 0, 1][..], &[10, 0, 0, 5][..], 0)
    );
    assert!(reply.ends_with(b"over the bridge"));
    assert!(rig.packets(bvi).0 >= 2, "counted as received on the BVI");

    // From the routed side to an unknown host on port 1.
    let to_host = pkt::ether(host(22), port_mac(2)).ip4("10.0.2.2", "10.0.0.6").ttl(9);
    let to_host = to_host.udp(1, 2).payload(b"to a bridged host").build();
    let asked = rig.pass(2, &to_host);
    assert_eq!(
        asked.iter().map(|(port, _)| *port).collect::<Vec<_>>(),
        [0, 1],
        "the question is flooded: {asked:?}"
    );
    assert_eq!(asked[0].1, asked[1].1);
    assert_eq!(
        (&asked[0].1[..6], &asked[0].1[12..14], &asked[0].1[38..42]),
        (&[0xff; 6][..], &[8, 6][..], &[10, 0, 0, 6][..])
    );
    let reply = pkt::arp_reply(host(6), "10.0.0.6", BVI, "10.0.0.1").pad_to(60).build();
    rig.receive_all(1, &[reply]);
    rig.seconds(1);
    let sent = rig.sent();
    rig.receive_all(2, std::slice::from_ref(&to_host));
    let sent: Vec<_> = sent.into_iter().chain(rig.sent()).collect();
    assert!(!sent.is_empty());
    for (port, bytes) in &sent {
        assert_eq!(
            (*port, &bytes[..6], &bytes[6..12], bytes[22]),
            (1, &host(6).octets()[..], &BVI.octets()[..], 8)
        );
        assert_eq!(bytes[34..], to_host[34..], "only to the host's port, payload as it was");
    }
    // And back.
    let back = pkt::ether(host(6), BVI)
        .ip4("10.0.0.6", "10.0.2.2")
        .ttl(5)
        .udp(2, 1)
        .payload(b"and back")
        .build();
    let sent = rig.pass(1, &back);
    let [(2, routed)] = &sent[..] else { panic!("{sent:?}") };
    assert_eq!((&routed[..6], routed[22]), (&host(22).octets()[..], 4));
    assert!(routed.ends_with(b"and back"));
}

#[suite::test]
fn a_flood_reaches_the_bvi_and_ports_with_the_same_bytes() {
    let (mut rig, bvi) = routed();
    let before = rig.packets(bvi).0;
    let mut long =
        pkt::ether(host(1), MacAddr::BROADCAST).ip4("10.0.0.5", "255.255.255.255").udp(68, 67);
    long = long.payload_len(1400);
    let frame = long.build();
    let sent = rig.pass(0, &frame);
    assert_eq!(sent.iter().filter(|(port, _)| *port == 1).collect::<Vec<_>>(), [&(1, frame)]);
    assert_eq!(rig.packets(bvi).0, before + 1);
    // Unknown unicast isn't for the BVI.
    let unknown = super::frame(1, 77, 0);
    assert_eq!(rig.pass(0, &unknown), at(&[1], &unknown));
    assert_eq!((rig.packets(bvi).0, rig.count("l2-flood", "BVI L3 mac mismatch")), (before + 1, 1));
}

#[suite::test]
fn all_tags_are_taken_off_for_the_bvi() {
    let (mut rig, _) = routed();
    rig.pass(0, &pkt::arp_request(host(1), "10.0.0.5", "10.0.0.1").pad_to(60).build());
    let mut ping = pkt::ether(host(1), BVI)
        .ip4("10.0.0.5", "10.0.0.1")
        .icmp_echo(7, 9)
        .payload(b"tagged")
        .build();
    ping.splice(12..12, [0x88, 0xa8, 0, 5, 0x81, 0, 0, 9]);
    let sent = rig.pass(0, &ping);
    let [(0, reply)] = &sent[..] else { panic!("{sent:?}") };
    assert!(reply[12..14] == [8, 0] && reply.ends_with(b"tagged"));
    // Tags up to the end of the frame.
    let mut tags = [BVI.octets(), host(1).octets()].concat();
    tags.extend([0x81, 0, 0, 1].repeat(20));
    assert_eq!(rig.pass(0, &tags), []);
}

/// The BVI's group holds back group frames, but not what it asks or sends to one host.
#[suite::test]
fn the_bvis_split_horizon_group_does_not_stop_questions() {
    let mut rig = rig(2);
    for line in [
        "create loopback interface",
        "set interface state loop0 up",
        "set interface l2 bridge p0 1 7",
        "set interface l2 bridge p1 1",
        "set interface l2 bridge loop0 1 bvi 7",
    ] {
        rig.cli(line);
    }
    rig.sent();
    let mut send = |frame: Vec<u8>| {
        rig.bench.send("loop0-tx", &frame, |_| {});
        rig.sent()
    };
    let arp = pkt::arp_request(BVI, "10.0.0.1", "10.0.0.9").pad_to(60).build();
    assert_eq!(send(arp.clone()), at(&[0, 1], &arp));
    let group = frame_to(BVI, MacAddr([1, 0, 0x5e, 0, 0, 5]), 0);
    assert_eq!(send(group.clone()), at(&[1], &group));
    let unicast = frame_to(BVI, host(9), 0);
    assert_eq!(send(unicast.clone()), at(&[0, 1], &unicast));
    let ns = pkt::ether(BVI, MacAddr([0x33, 0x33, 0xff, 0, 0, 9])).ip6("fe80::1", "ff02::1:ff00:9");
    let ns = ns.icmp6(wire::Icmp6Type(135), 0, 0).payload([0; 16]).build();
    assert_eq!(send(ns.clone()), at(&[0, 1], &ns));
}

#[suite::test]
fn a_bvi_has_a_static_entry_that_follows_its_address() {
    let (mut rig, bvi) = routed();
    let world = rig.world();
    let bridge = world.get::<Bridge>();
    let entry = bridge.entry(1, BVI, 0).expect("added");
    assert_eq!((entry.sw_if, entry.is_static, entry.is_bvi), (Some(bvi), true, true));
    assert_eq!(rig.pass(0, &frame_to(BVI, host(1), 0)), [], "nobody else may have it");
    assert_eq!(rig.count("l2-learn", "L2 mac move violations"), 1);
    rig.cli("set interface mac address loop0 02:00:00:00:77:77");
    assert!(bridge.entry(1, BVI, 0).is_none());
    assert!(bridge.entry(1, MacAddr([2, 0, 0, 0, 0x77, 0x77]), 0).is_some_and(|e| e.is_bvi));
    assert_eq!(rig.refused("set interface l2 bridge loop0 1 bvi wrong").0, -1);
    rig.cli("create loopback interface");
    assert_eq!(rig.refused("set interface l2 bridge loop1 1 bvi").0, -152);
    rig.cli("set interface l3 loop0");
    assert!(bridge.entry(1, MacAddr([2, 0, 0, 0, 0x77, 0x77]), 0).is_none());
    rig.cli("set interface l2 bridge loop1 1 bvi");
    rig.cli("delete loopback interface intfc loop1");
    assert_eq!(bridge.domain_info(&world, 1).expect("there").bvi, None);
}

/// A loopback interface that is an ordinary member gets no floods, which would come back in.
#[suite::test]
fn a_loopback_that_is_no_bvi_gets_no_floods() {
    let mut rig = bridged(2);
    rig.cli("create loopback interface");
    rig.cli("set interface state loop0 up");
    rig.cli("set interface l2 bridge loop0 1");
    let loop0 = rig.world().get::<Interfaces>().find("loop0").expect("made");
    let group = frame_to(host(1), MacAddr::BROADCAST, 0);
    assert_eq!(rig.pass(0, &group), at(&[1], &group));
    assert_eq!(rig.packets(loop0), (0, 0));
}
