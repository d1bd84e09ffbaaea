// SPDX-License-Identifier: Apache-2.0
//! Hosts behind a proxy.

use super::*;
use net::drive::port_mac;

const GROUP: &str = "239.1.1.1";

/// Upstream p0, downstream p1 and p2; p3 has nothing to do with it.
fn proxy() -> Rig {
    let mut rig = rig(4);
    for line in [
        "igmp enable host p0",
        "igmp enable router p1",
        "igmp enable router p2",
        "test igmp timers leave 2",
        "igmp proxy-dev add vrf-id 0 p0",
        "igmp proxy-dev itf add vrf-id 0 p1",
        "igmp proxy-dev itf add vrf-id 0 p2",
    ] {
        rig.cli(line);
    }
    sent(&rig);
    rig
}

/// The records that were reported upstream.
fn upstream(rig: &mut Rig) -> Vec<(u8, Vec<Ipv4Addr>)> {
    let to_routers =
        |frame: &Vec<u8>| frame[..12] == [&[1, 0, 0x5e, 0, 0, 22][..], &port_mac(0).0].concat();
    let mut all = Vec::new();
    for frame in sent(rig).iter().filter(|frame| to_routers(frame)) {
        let records = wire::igmp::Igmp3Report::records(&frame[38..]).expect("whole");
        all.extend(records.map(|(r, s)| (r.kind, s.iter().map(|s| Ipv4Addr::from(*s)).collect())));
    }
    rig.seconds(3);
    sent(rig);
    all
}

/// The ports to which a packet from upstream is forwarded.
fn forwarded(rig: &mut Rig, source: &str) -> Vec<usize> {
    let to = wire::MacAddr::ip4_multicast(ip(GROUP));
    let packet = testkit::pkt::ether(peer_mac(0), to)
        .ip4(ip(source).octets(), ip(GROUP).octets())
        .udp(1000, 2000)
        .payload(source.as_bytes())
        .build();
    rig.pass(0, &packet).into_iter().map(|(port, _)| port).collect()
}

#[suite::test]
fn the_upstream_interface_listens_for_all_hosts_and_packets_reach_who_wants_them() {
    let mut rig = proxy();
    let (a, b, c) = (ip("10.9.0.1"), ip("10.9.0.2"), ip("10.9.0.3"));
    assert!(forwarded(&mut rig, "10.9.0.1").is_empty());
    rig.receive_all(1, &[report(1, &[record(Kind::ALLOW, GROUP, &["10.9.0.1", "10.9.0.2"])])]);
    assert_eq!(upstream(&mut rig), [(Kind::ALLOW, vec![a, b])]);
    rig.receive_all(2, &[report(2, &[record(Kind::ALLOW, GROUP, &["10.9.0.1", "10.9.0.3"])])]);
    assert_eq!(upstream(&mut rig), [(Kind::ALLOW, vec![c])]);
    assert_eq!(forwarded(&mut rig, "10.9.0.1"), [1, 2]);
    assert_eq!(forwarded(&mut rig, "10.9.0.2"), [1]);
    assert_eq!(forwarded(&mut rig, "10.9.0.3"), [2]);
    assert!(forwarded(&mut rig, "10.9.0.4").is_empty());
    rig.receive_all(2, &[report(2, &[record(Kind::BLOCK, GROUP, &["10.9.0.3"])])]);
    rig.seconds(2);
    assert_eq!(upstream(&mut rig), [(Kind::BLOCK, vec![c])]);
    assert!(forwarded(&mut rig, "10.9.0.3").is_empty());
    // All sources but one.
    rig.receive_all(2, &[report(2, &[record(Kind::TO_EXCLUDE, GROUP, &["10.9.0.2"])])]);
    let reported = upstream(&mut rig);
    assert_eq!(reported, [(Kind::TO_EXCLUDE, vec![])], "p1 wants that one");
    assert_eq!(forwarded(&mut rig, "10.9.0.2"), [1]);
    assert_eq!(forwarded(&mut rig, "10.9.0.77"), [2]);
    rig.cli("igmp disable router p1");
    assert_eq!(upstream(&mut rig), [(Kind::BLOCK, vec![b])]);
    assert!(forwarded(&mut rig, "10.9.0.2").is_empty());
    assert_eq!(forwarded(&mut rig, "10.9.0.1"), [2]);
    let shown = rig.cli("show igmp config");
    assert!(shown.contains("interface: p0 mode: host\n  proxy: table 0 upstream\n"), "{shown}");
    rig.cli("igmp disable host p0");
    assert_eq!(upstream(&mut rig), [(Kind::TO_INCLUDE, vec![])]);
    assert!(forwarded(&mut rig, "10.9.0.1").is_empty());
    assert!(!rig.cli("show ip mfib").contains(GROUP));
    // Deleted interfaces leave nothing behind.
    let mut rig = proxy();
    rig.receive_all(1, &[report(1, &[record(Kind::ALLOW, GROUP, &["10.9.0.1"])])]);
    rig.delete_port(1);
    assert!(!rig.cli("show ip mfib").contains(GROUP));
    assert!(listed(&rig, 0).is_empty());
    rig.receive_all(2, &[report(2, &[record(Kind::ALLOW, GROUP, &["10.9.0.1"])])]);
    rig.delete_port(0);
    assert!(!rig.cli("show ip mfib").contains(GROUP));
    assert!(igmp(&rig).table().proxies.is_empty());
}

#[suite::test]
fn a_proxy_ends_with_its_table() {
    let mut rig = rig(2);
    rig.cli("igmp enable host p0");
    rig.cli("igmp enable router p1");
    rig.receive_all(1, &[report(1, &[record(Kind::ALLOW, GROUP, &["10.9.0.1"])])]);
    let listens = [(ip(GROUP), ip("10.9.0.1"))];
    // The second table may get the index of the first.
    for _ in 0..2 {
        rig.cli("ip table add 7");
        assert!(!rig.cli("show ip mfib table 7").contains(GROUP));
        rig.cli("igmp proxy-dev add vrf-id 7 p0");
        rig.cli("igmp proxy-dev itf add vrf-id 7 p1");
        assert!(rig.cli("show ip mfib table 7").contains(GROUP));
        assert_eq!(listed(&rig, 0), listens);
        rig.cli("ip table del 7");
        assert_eq!(listed(&rig, 0), []);
        let igmp = igmp(&rig);
        assert!(igmp.table().proxies.is_empty() && igmp.table().installed.is_empty());
    }
    assert_eq!(listed(&rig, 1), listens, "the hosts still listen");
}

#[suite::test]
fn groups_of_a_link_are_never_proxied() {
    let mut rig = proxy();
    rig.receive_all(1, &[report(1, &[record(Kind::TO_EXCLUDE, "224.0.0.251", &[])])]);
    assert_eq!(upstream(&mut rig), []);
    assert_eq!(listed(&rig, 1).len(), 1);
}
