// SPDX-License-Identifier: Apache-2.0
//! An instance as a router.

use super::*;
use crate::api::*;
use crate::event::{FilterMode, IgmpEvent};
use crate::packet::Numbers;
use crate::router::Query;
use msg::Loopback;
use net::drive::{Recorder, ethernet};
use net::{IfKind, Interfaces, NewInterface};

const GENERAL: Numbers = Numbers { response: 100, interval: 60 };

#[suite::test]
fn a_router_asks_and_tells_clients_what_hosts_listen_to() {
    let mut rig = rig(1);
    let world = rig.world();
    let mut client = Loopback::new(&*world, &world.api);
    assert_eq!(client.call(WantIgmpEvents { enable: 1, pid: 7 }), Ok(()));
    let join = report(0, &[record(Kind::ALLOW, "239.1.1.1", &["10.9.0.1", "10.9.0.2"])]);
    rig.receive_all(0, std::slice::from_ref(&join));
    assert_eq!(rig.count("igmp-input", "IGMP not enabled on this interface"), 1);
    rig.cli("igmp enable router p0");
    assert_eq!(sent(&rig), packet::queries(own(0), 1500, GENERAL, None));
    rig.receive_all(0, std::slice::from_ref(&join));
    assert_eq!(rig.count("igmp-parse-report", "valid igmp packets"), 1);
    rig.seconds(59);
    assert!(sent(&rig).is_empty());
    rig.seconds(1);
    assert_eq!(sent(&rig).len(), 1);
    let group = ip("239.1.1.1");
    assert_eq!(listed(&rig, 0), [(group, ip("10.9.0.1")), (group, ip("10.9.0.2"))]);
    let events = |client: &mut Loopback<'_, graph::World>| {
        let all = client.events::<IgmpEvent>().into_iter();
        all.map(|(_, e)| (e.filter, e.saddr.0, e.gaddr.0[3])).collect::<Vec<_>>()
    };
    use FilterMode::{Exclude, Include};
    let (a, b, all) = ([10, 9, 0, 1], [10, 9, 0, 2], [0; 4]);
    assert_eq!(events(&mut client), [(Include, a, 1), (Include, b, 1)]);
    // One is refreshed, the other is forgotten after 180 s.
    rig.receive_all(0, &[report(0, &[record(Kind::IS_INCLUDE, "239.1.1.1", &["10.9.0.2"])])]);
    rig.seconds(121);
    assert_eq!(events(&mut client), [(Exclude, a, 1)]);
    sent(&rig);
    // A leave: asked for at once and after half of the time.
    rig.cli("test igmp timers leave 4");
    rig.receive_all(0, &[report(0, &[record(Kind::BLOCK, "239.1.1.1", &["10.9.0.2"])])]);
    let query = Query { group, sources: set(&["10.9.0.2"]) };
    let asked = packet::queries(own(0), 1500, Numbers { response: 40, interval: 60 }, Some(&query));
    assert_eq!(sent(&rig), asked);
    rig.seconds(2);
    assert_eq!(sent(&rig), asked);
    rig.seconds(2);
    assert_eq!(events(&mut client), [(Exclude, b, 1)]);
    assert!(listed(&rig, 0).is_empty());
    // All sources; and a report for nobody counts as a leave.
    rig.receive_all(0, &[report(0, &[record(Kind::TO_EXCLUDE, "239.1.1.2", &[])])]);
    rig.receive_all(0, &[report(0, &[record(Kind::ALLOW, "239.1.1.4", &[])])]);
    assert_eq!(events(&mut client), [(Include, all, 2)]);
    rig.receive_all(0, &[report(0, &[record(Kind::IS_INCLUDE, "239.1.1.2", &[])])]);
    rig.seconds(4);
    assert_eq!(events(&mut client), [(Exclude, all, 2)]);
    // Several records about a group are one change.
    let two = [
        record(Kind::ALLOW, "239.1.1.1", &["10.9.0.1"]),
        record(Kind::ALLOW, "239.1.1.1", &["10.9.0.2"]),
    ];
    rig.receive_all(0, &[report(0, &two)]);
    assert_eq!(events(&mut client), [(Include, a, 1), (Include, b, 1)]);
    rig.cli("clear igmp int p0");
    assert_eq!(events(&mut client), [(Exclude, a, 1), (Exclude, b, 1)]);
}

#[suite::test]
fn hosts_of_older_versions_are_heard() {
    let mut rig = rig(1);
    rig.cli("igmp enable router p0");
    rig.cli("test igmp timers leave 2");
    let old = |kind: u8, group: &str| {
        let mut message = vec![kind, 0, 0, 0];
        message.extend(ip(group).octets());
        wire::igmp::set_checksum(&mut message);
        let header = wire::igmp::ip_header(peer(0).ip, ip(group), 8);
        let to = wire::MacAddr::ip4_multicast(ip(group)).0;
        [&to[..], &peer_mac(0).0, &[8, 0], &header, &message].concat()
    };
    rig.receive_all(0, &[old(0x16, "239.1.1.1"), old(0x12, "239.1.1.2"), old(0x16, "232.1.1.1")]);
    let all = Ipv4Addr::UNSPECIFIED;
    assert_eq!(listed(&rig, 0), [(ip("239.1.1.1"), all), (ip("239.1.1.2"), all)]);
    rig.receive_all(0, &[old(0x17, "239.1.1.1")]);
    rig.seconds(2);
    assert_eq!(listed(&rig, 0), [(ip("239.1.1.2"), all)]);
    rig.receive_all(0, &[old(0x99, "239.1.1.1")]);
    assert_eq!(rig.count("igmp-input", "unknown igmp message type"), 1);
}

#[suite::test]
fn of_two_routers_the_one_with_the_lower_address_asks() {
    let mut rig = rig(1);
    rig.cli("igmp enable router p0");
    sent(&rig);
    let asks = |from: From| packet::queries(from, 1500, GENERAL, None);
    // 10.0.0.2 is higher: we go on.
    rig.receive_all(0, &asks(peer(0)));
    rig.seconds(60);
    assert_eq!(sent(&rig).len(), 1);
    let lower = From { ip: ip("10.0.0.0"), ..peer(0) };
    rig.receive_all(0, &asks(lower));
    rig.seconds(125);
    assert!(sent(&rig).is_empty(), "the other one asks");
    rig.receive_all(0, &[report(0, &[record(Kind::ALLOW, "239.1.1.1", &["10.9.0.1"])])]);
    rig.receive_all(0, &asks(lower));
    rig.receive_all(0, &[report(0, &[record(Kind::BLOCK, "239.1.1.1", &["10.9.0.1"])])]);
    assert!(sent(&rig).is_empty(), "it asks for those that leave, too");
    rig.seconds(190);
    assert!(!sent(&rig).is_empty(), "it is gone");
}

#[suite::test]
fn source_specific_groups_have_named_sources_only() {
    let mut rig = rig(1);
    rig.cli("igmp enable router p0");
    let reports = [
        report(0, &[record(Kind::TO_EXCLUDE, "232.1.1.1", &[])]),
        report(0, &[record(Kind::ALLOW, "232.1.1.2", &["10.9.0.1", "224.0.0.1", "0.0.0.0"])]),
    ];
    rig.receive_all(0, &reports);
    assert_eq!(listed(&rig, 0), [(ip("232.1.1.2"), ip("10.9.0.1"))]);
    rig.cli("igmp group-prefix 232.1.0.0/16 asm");
    rig.receive_all(0, &reports[..1]);
    assert_eq!(listed(&rig, 0).len(), 2);
    assert_eq!(rig.cli("show igmp ssm-ranges"), "232.0.0.0/8 ssm\n232.1.0.0/16 asm\n");
    rig.cli("igmp group-prefix 232.1.0.0/16 ssm");
    assert_eq!(rig.cli("show igmp ssm-ranges"), "232.0.0.0/8 ssm\n");
    assert_eq!(rig.refused("igmp group-prefix 10.0.0.0/8 ssm").0, -7);
}

#[suite::test]
fn records_without_room_are_counted() {
    let mut rig = rig(2);
    rig.cli("igmp enable router p0");
    rig.cli("igmp enable router p1");
    let group = ip("239.1.1.1");
    let sources =
        |i: u32| (0..300).map(|n| Ipv4Addr::from(0x0a09_0000 + 300 * i + n)).collect::<Sources>();
    let all: Vec<_> = (0..4)
        .map(|i| report(0, &[Record { kind: Kind::ALLOW, group, sources: sources(i) }]))
        .collect();
    rig.receive_all(0, &all);
    let expected: Vec<_> = (0..3).flat_map(sources).map(|source| (group, source)).collect();
    assert_eq!(listed(&rig, 0), expected);
    let counter = rig.world().stats.simple("/net/igmp/rx/no-room");
    let count = |i: usize| counter.of_control(rig.ports[i].0 as usize);
    assert_eq!([count(0), count(1)], [1, 0]);
}

#[suite::test]
fn an_interface_without_ethernet_frames_sends_none() {
    let mut rig = rig(0);
    let world = rig.world();
    let new = NewInterface { kind: IfKind::Ip, ..ethernet("tun0", wire::MacAddr::ZERO) };
    let made = world.get::<Interfaces>().create(&world, new, |w, _, sw_if| Recorder::new(w, sw_if));
    made.expect("created");
    rig.cli("set interface state tun0 up");
    rig.cli("set interface ip address tun0 10.9.0.1/24");
    rig.cli("igmp enable router tun0");
    rig.seconds(70);
    assert!(sent(&rig).is_empty());
}
