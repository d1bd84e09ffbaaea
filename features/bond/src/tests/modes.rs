// SPDX-License-Identifier: Apache-2.0
//! Frames sent and received by bonds of each mode.

use super::*;
use graph::drive::Bench;
use testkit::mutate::Mutator;
use testkit::pkt;

fn ports(sent: &[(usize, Vec<u8>)]) -> Vec<usize> {
    sent.iter().map(|(port, _)| *port).collect()
}

#[suite::test]
fn round_robin_takes_the_members_in_turn() {
    let mut rig = routed("round-robin", 3);
    let bond = find(&rig, "BondEthernet0");
    let before = rig.packets(bond).1;
    let all: Vec<_> = (0..9).map(|n| to_bond(3, n)).collect();
    let sent = rig.pass_all(3, &all);
    assert_eq!(ports(&sent), [0, 0, 0, 1, 1, 1, 2, 2, 2]);
    let mut bytes: Vec<_> = sent.into_iter().map(|(_, bytes)| bytes).collect();
    bytes.sort();
    assert_eq!(bytes, (0..9).map(|n| from_bond(port_mac(0), n)).collect::<Vec<_>>());
    assert_eq!(rig.packets(bond).1, before + 9, "counted at the bond too");
    rig.cli("set interface state p1 down");
    assert_eq!(ports(&rig.pass_all(3, &all[..4])), [0, 0, 2, 2]);
}

#[suite::test]
fn broadcast_sends_by_all_members() {
    let mut rig = routed("broadcast", 3);
    assert_eq!(rig.pass(3, &to_bond(3, 7)), at(&[0, 1, 2], &from_bond(port_mac(0), 7)));
    rig.cli("set interface state p0 down");
    rig.cli("set interface state p2 down");
    assert_eq!(rig.pass(3, &to_bond(3, 8)), at(&[1], &from_bond(port_mac(0), 8)));
    // More copies than a vector makes at once, and vectors of many frames.
    rig.cli("set interface state p0 up");
    rig.cli("set interface state p2 up");
    let all: Vec<_> = (0..700).map(|n| to_bond(3, n)).collect();
    let sent = rig.pass_all(3, &all);
    assert_eq!(sent.len(), 2100);
    for (port, part) in sent.chunks(700).enumerate() {
        let mut want: Vec<_> = (0..700).map(|n| (port, from_bond(port_mac(0), n))).collect();
        want.sort();
        assert_eq!(part, want);
    }
}

#[suite::test]
fn a_flow_takes_one_member_and_flows_take_all() {
    let mut rig = routed("xor load-balance l34", 4);
    let flows: Vec<_> = (0..64).map(|n| to_bond(4, n)).collect();
    let sent = rig.pass_all(4, &flows);
    let want: Vec<_> = (0..64).map(|n| from_bond(port_mac(0), n)).collect();
    let bytes = |sent: &[(usize, Vec<u8>)]| {
        let mut bytes: Vec<_> = sent.iter().map(|(_, bytes)| bytes.clone()).collect();
        bytes.sort();
        bytes
    };
    assert_eq!(bytes(&sent), want);
    assert!(
        (0..4).all(|port| ports(&sent).iter().filter(|p| **p == port).count() > 5),
        "{:?}",
        ports(&sent)
    );
    // One by one as in a vector.
    let mut single: Vec<_> = flows.iter().flat_map(|flow| rig.pass(4, flow)).collect();
    single.sort();
    assert_eq!(single, sent);
    // A link that fails moves its flows, and the bond has fewer members then.
    rig.cli("set interface state p2 down");
    let now = rig.pass_all(4, &flows);
    assert_eq!(bytes(&now), want);
    assert!(now.iter().all(|(port, _)| *port != 2));
}

#[suite::test]
fn without_a_member_frames_are_dropped_by_name() {
    let mut rig = routed("xor", 1);
    let bond = find(&rig, "BondEthernet0");
    let frame = frame(port_mac(0), host(2), 1);
    assert_eq!(
        rig.bench.node("BondEthernet0-tx", std::slice::from_ref(&frame), |_| {})[0].node,
        "p0-output"
    );
    rig.cli("bond del p0");
    let dropped = rig.bench.node("BondEthernet0-tx", std::slice::from_ref(&frame), |_| {});
    assert_eq!((dropped[0].reason, &dropped[0].bytes), (Some("no member is active"), &frame));
    assert_eq!(rig.count("BondEthernet0-tx", "no member"), 1);
    rig.cli("set interface state BondEthernet0 down");
    rig.bench.node("BondEthernet0-tx", &[frame], |_| {});
    assert_eq!(rig.count("BondEthernet0-tx", "interface down"), 1);
    assert!(!rig.world().get::<Interfaces>().get(bond).expect("there").link_up);
}

/// The bond answers, and forwards what its members receive.
#[suite::test]
fn what_members_receive_is_the_bonds() {
    for mode in ["round-robin", "xor", "broadcast"] {
        let mut rig = routed(mode, 2);
        let bond = find(&rig, "BondEthernet0");
        let before = rig.packets(bond).0;
        let packet = |n: u16| {
            let packet = pkt::ether(host(2), port_mac(0)).ip4("10.0.0.2", "10.9.0.2").ttl(7);
            packet.udp(n, 9).payload(n.to_be_bytes().repeat(9)).build()
        };
        let want = |n: u16| {
            let packet = pkt::ether(port_mac(2), host(9)).ip4("10.0.0.2", "10.9.0.2").ttl(6);
            packet.udp(n, 9).payload(n.to_be_bytes().repeat(9)).build()
        };
        for port in [0, 1] {
            let n = port as u16 + 1;
            assert_eq!(rig.pass(port, &packet(n)), at(&[2], &want(n)), "{mode}");
        }
        assert_eq!(rig.packets(bond).0, before + 2, "{mode}");
        assert_eq!(rig.count("bond-input", "no error"), 2);
        let ask = pkt::arp_request(host(7), "10.0.0.7", "10.0.0.1").pad_to(60).build();
        let sent = rig.pass(1, &ask);
        assert_eq!(sent.len(), if mode == "broadcast" { 2 } else { 1 }, "{mode}: {sent:?}");
        assert_eq!(&sent[0].1[6..12], &port_mac(0).octets(), "{mode}: from the bond's address");
    }
}

/// A device may bring frames in while its interface is admin down.
#[suite::test]
fn members_that_are_down_take_no_frames() {
    for mode in ["round-robin", "active-backup", "xor", "broadcast"] {
        let mut rig = routed(mode, 2);
        rig.cli("set interface state p1 down");
        let packet = pkt::ether(host(2), port_mac(0)).ip4("10.0.0.2", "10.9.0.2").ttl(7).udp(1, 9);
        let packet = packet.payload(b"down").build();
        assert_eq!(rig.pass(1, &packet), [], "{mode}");
        assert_eq!(rig.count("bond-input", "interface down"), 1, "{mode}");
        assert_eq!(rig.pass(0, &packet).len(), 1, "{mode}");
    }
}

/// A tagged frame belongs to a sub-interface of the bond, and what that sends has its tag.
#[suite::test]
fn sub_interfaces_of_a_bond_work() {
    let mut rig = routed("xor", 2);
    for line in [
        "create sub-interfaces BondEthernet0 10",
        "set interface state BondEthernet0.10 up",
        "set interface ip address BondEthernet0.10 10.10.0.1/24",
        "set ip neighbor BondEthernet0.10 10.10.0.2 02:aa:00:00:00:0a",
    ] {
        rig.cli(line);
    }
    rig.seconds(2);
    rig.sent();
    let out = pkt::ether(host(9), port_mac(2))
        .ip4("10.9.0.2", "10.10.0.2")
        .ttl(9)
        .udp(1, 2)
        .payload(b"out");
    let want =
        pkt::ether(port_mac(0), host(10)).vlan(10).ip4("10.9.0.2", "10.10.0.2").ttl(8).udp(1, 2);
    let sent = rig.pass(2, &out.build());
    let [(port, bytes)] = &sent[..] else { panic!("{sent:?}") };
    assert!(*port < 2);
    assert_eq!(*bytes, want.payload(b"out").build());
    let back =
        pkt::ether(host(10), port_mac(0)).vlan(10).ip4("10.10.0.2", "10.9.0.2").ttl(9).udp(2, 1);
    let want = pkt::ether(port_mac(2), host(9)).ip4("10.10.0.2", "10.9.0.2").ttl(8).udp(2, 1);
    assert_eq!(
        rig.pass(1, &back.payload(b"back").build()),
        at(&[2], &want.payload(b"back").build())
    );
}

#[suite::test]
fn a_bond_is_a_port_of_a_bridge() {
    let mut rig = Rig::new(PLUGINS, 3);
    for line in [
        "create bond mode xor",
        "bond add BondEthernet0 p0",
        "bond add BondEthernet0 p1",
        "set interface state BondEthernet0 up",
        "set interface l2 bridge BondEthernet0 1",
        "set interface l2 bridge p2 1",
    ] {
        rig.cli(line);
    }
    rig.sent();
    let in_by_bond = frame(host(1), host(2), 3);
    assert_eq!(rig.pass(1, &in_by_bond), at(&[2], &in_by_bond), "for another station");
    let out = frame(host(2), host(1), 4);
    let sent = rig.pass(2, &out);
    let [(port, bytes)] = &sent[..] else { panic!("{sent:?}") };
    assert!(*port < 2 && *bytes == out);
    rig.cli("clear l2fib");
    let flooded = rig.pass(2, &frame(host(2), host(1), 5));
    assert_eq!(flooded.len(), 1, "one copy for the bond");
}

/// Frames of the link stay with the member, tagged or not.
#[suite::test]
fn frames_of_the_link_stay_with_the_member() {
    let mut rig = routed("xor", 2);
    let lldp = [
        &[1, 0x80, 0xc2, 0, 0, 0xe, 2, 0xaa, 0, 0, 0, 9, 0x88, 0xcc][..],
        &[2, 2, 7, b'a', 4, 2, 7, b'b', 6, 2, 0, 9, 0, 0],
    ]
    .concat();
    rig.cli("set interface lldp p1");
    rig.sent();
    rig.receive_all(1, std::slice::from_ref(&lldp));
    assert!(rig.cli("show lldp").contains(" active"));
    assert_eq!(rig.count("bond-input", "pass through (CDP, LLDP, slow protocols)"), 1);
    let slow =
        [&[1, 0x80, 0xc2, 0, 0, 2, 2, 0xaa, 0, 0, 0, 9, 0x88, 9, 1, 1][..], &[0; 60]].concat();
    let cdp = [
        &[
            1, 0, 0xc, 0xcc, 0xcc, 0xcc, 2, 0xaa, 0, 0, 0, 9, 0, 40, 0xaa, 0xaa, 3, 0, 0, 0xc,
            0x20, 0,
        ][..],
        &[0; 40],
    ]
    .concat();
    let mut tagged = lldp.clone();
    tagged.splice(12..12, [0x81, 0, 0, 5]);
    let mut twice = slow.clone();
    twice.splice(12..12, [0x88, 0xa8, 0, 5, 0x81, 0, 0, 6]);
    let member = find(&rig, "p1");
    let passed = [slow, cdp.clone(), tagged, twice];
    for out in rig.bench.feature("device-input", member, &passed) {
        assert_eq!((out.node.as_str(), out.rx_if), ("ethernet-input", member.0));
    }
    assert_eq!(rig.count("bond-input", "pass through (CDP, LLDP, slow protocols)"), 5);
    // The same LLC protocol to another group is traffic.
    let bond = find(&rig, "BondEthernet0");
    let mut other = cdp;
    other[5] = 0xcd;
    for out in rig.bench.feature(
        "device-input",
        member,
        &[other, lldp[..13].to_vec(), vec![1, 2, 3], vec![]],
    ) {
        assert_eq!(out.rx_if, bond.0, "{out:?}");
    }
}

/// A mirror of a member has its frames, one of the bond those of all members; the super-path works
/// on bonds.
#[suite::test]
fn features_of_member_and_bond_see_the_frame() {
    for super_path in ["on", "off"] {
        let mut rig = routed("xor", 3);
        rig.cli(&format!("set super-path {super_path}"));
        rig.add_port(4);
        rig.add_port(5);
        rig.cli("set interface span p1 destination p4 rx");
        rig.cli("set interface span BondEthernet0 destination p5 rx");
        let packet = pkt::ether(host(2), port_mac(0))
            .ip4("10.0.0.2", "10.9.0.2")
            .ttl(7)
            .udp(1, 9)
            .payload(b"seen");
        let want = pkt::ether(port_mac(3), host(9))
            .ip4("10.0.0.2", "10.9.0.2")
            .ttl(6)
            .udp(1, 9)
            .payload(b"seen");
        let (packet, want) = (packet.build(), want.build());
        let copies = |ports: &[usize]| [at(&[3], &want), at(ports, &packet)].concat();
        assert_eq!(rig.pass(1, &packet), copies(&[4, 5]));
        assert_eq!(rig.pass(2, &packet), copies(&[5]));
    }
}

/// Returns true if a frame stays with the member, by a byte-wise parser.
fn stays(frame: &[u8]) -> bool {
    let kind = |at: usize| frame.get(at..at + 2).map(|b| u16::from_be_bytes([b[0], b[1]]));
    let mut at = 12;
    while at < 20 && matches!(kind(at), Some(0x8100 | 0x88a8 | 0x9100 | 0x9200)) {
        at += 4;
    }
    let snap = [0xaa, 0xaa, 3, 0, 0, 0xc, 0x20, 0];
    let is_cdp = || {
        frame[..6] == [1, 0, 0xc, 0xcc, 0xcc, 0xcc]
            && frame.get(at + 2..at + 10).is_some_and(|b| b == snap)
    };
    matches!(kind(at), Some(0x8809 | 0x88cc))
        || kind(at).is_some_and(|kind| kind < 0x600) && is_cdp()
}

/// Each broken frame goes on as it is, from the bond or from the member, and leaves by one member,
/// or by all.
#[suite::test]
fn broken_frames_go_on_as_they_are() {
    let ip4 =
        pkt::ether(host(9), host(2)).vlan(7).ip4("10.0.0.2", "10.0.0.3").udp(1, 2).payload_len(30);
    let ip6 = pkt::ether(host(9), host(2))
        .vlan(7)
        .ip6("2001:db8::2", "2001:db8::3")
        .tcp(1, 2)
        .payload_len(30);
    let cdp = [
        &[
            1, 0, 0xc, 0xcc, 0xcc, 0xcc, 2, 0xaa, 0, 0, 0, 9, 0, 40, 0xaa, 0xaa, 3, 0, 0, 0xc,
            0x20, 0,
        ][..],
        &[0; 40],
    ];
    let lldp =
        [&[1, 0x80, 0xc2, 0, 0, 0xe, 2, 0xaa, 0, 0, 0, 9, 0x81, 0, 0, 9, 0x88, 0xcc][..], &[2; 40]];
    let bases = [ip4.build(), ip6.build(), cdp.concat(), lldp.concat()];
    for mode in ["xor load-balance l2", "xor load-balance l23", "xor load-balance l34", "broadcast"]
    {
        let mut rig = routed(mode, 2);
        let (bond, member) = (find(&rig, "BondEthernet0"), rig.ports[1]);
        let copies = if mode == "broadcast" { 2 } else { 1 };
        let mut mutator = Mutator::new(0xb04d);
        let (mut frame, mut kept) = (Vec::new(), 0);
        for _ in 0..10_000 {
            mutator.next_frame(&bases, &mut frame);
            frame.truncate(1500);
            let frames = std::slice::from_ref(&frame);
            let taken = rig.bench.feature("device-input", member, frames);
            let [out] = &taken[..] else { panic!("{taken:?}") };
            let want = if stays(&frame) { member } else { bond };
            assert_eq!((&out.bytes, out.rx_if), (&frame, want.0), "{out:?}");
            kept += u32::from(want == member);
            let sent = rig.bench.node("BondEthernet0-tx", frames, |_| {});
            assert!(
                sent.iter().all(|out| out.bytes == frame && out.node.ends_with("-output")),
                "{sent:?}"
            );
            assert_eq!(sent.len(), copies);
        }
        assert!((2_000..8_000).contains(&kept), "{kept}");
    }
}

#[suite::test]
fn traces_name_bond_and_member() {
    let mut rig = routed("xor load-balance l34", 2);
    rig.bench.rt.trace().order(graph::NodeIndex(999), 2, graph::TraceLog::room(32), 0);
    let ports = rig.ports.clone();
    rig.bench.arrive_as(ports[2], &to_bond(2, 1), |b| Bench::trace(b, 7));
    let back = pkt::ether(host(2), port_mac(0))
        .ip4("10.0.0.2", "10.9.0.2")
        .udp(1, 9)
        .payload_len(20)
        .build();
    rig.bench.arrive_as(ports[1], &back, |b| Bench::trace(b, 8));
    rig.bench.settle();
    let text =
        rig.bench.rt.trace().records().map(|record| record.to_string() + "\n").collect::<String>();
    let bond = find(&rig, "BondEthernet0").0;
    assert!(text.contains(&format!("sw_if_index {} -> {bond}", ports[1])), "{text}");
    let member =
        ports[..2].iter().find(|port| text.contains(&format!("sw_if_index {bond} l34 -> {port}")));
    assert!(member.is_some(), "{text}");
}
