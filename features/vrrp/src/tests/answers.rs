// SPDX-License-Identifier: Apache-2.0
//! Requests for addresses of virtual routers.

use super::*;
use net::drive::port_mac;
use wire::{Arp, ArpOp, EtherType, Ethernet};
use zerocopy::IntoBytes;

fn request(target: [u8; 4]) -> Vec<u8> {
    let peer = (peer_mac(0), [10, 0, 0, 2].into());
    let arp = Arp::new(ArpOp::REQUEST, peer, (MacAddr::ZERO, target.into()));
    let ethernet = Ethernet::new(peer.0, MacAddr::BROADCAST, EtherType::ARP);
    [ethernet.as_bytes(), arp.as_bytes()].concat()
}

#[suite::test]
fn the_master_answers_arp_by_the_virtual_mac_address() {
    let mut rig = rig(1);
    rig.cli("vrrp vr add p0 vr_id 7 10.0.0.9");
    let ours = |rig: &mut Rig, target| {
        let sent = rig.pass(0, &request(target));
        sent.into_iter().map(|(_, frame)| frame).collect::<Vec<_>>()
    };
    assert!(ours(&mut rig, [10, 0, 0, 9]).is_empty(), "not started");
    rig.cli("vrrp proto start p0 vr_id 7");
    rig.sent();
    assert!(ours(&mut rig, [10, 0, 0, 9]).is_empty(), "a backup");
    assert_eq!(rig.count("vrrp4-arp-input", "backup"), 1);
    let own = ours(&mut rig, [10, 0, 0, 1]);
    assert_eq!(own[0][6..12], port_mac(0).0, "its own address");
    pass(&mut rig, 400);
    rig.sent();
    let vmac = MacAddr([0, 0, 0x5e, 0, 1, 7]);
    let ethernet = Ethernet::new(vmac, peer_mac(0), EtherType::ARP);
    let peer = (peer_mac(0), [10, 0, 0, 2].into());
    let arp = Arp::new(ArpOp::REPLY, (vmac, [10, 0, 0, 9].into()), peer);
    assert_eq!(ours(&mut rig, [10, 0, 0, 9]), [[ethernet.as_bytes(), arp.as_bytes()].concat()]);
    assert_eq!(ours(&mut rig, [10, 0, 0, 1])[0][6..12], port_mac(0).0);
    assert_eq!(rig.count("vrrp4-arp-input", "VRRP packets processed"), 1);
}

#[suite::test]
fn a_request_from_a_group_is_not_answered_to_the_group() {
    let mut rig = rig(1);
    rig.cli("vrrp vr add p0 vr_id 7 10.0.0.9");
    rig.cli("vrrp proto start p0 vr_id 7");
    pass(&mut rig, 400);
    rig.sent();
    let mut bad = request([10, 0, 0, 9]);
    bad[22..28].copy_from_slice(&MacAddr::BROADCAST.0);
    assert!(rig.pass(0, &bad).is_empty());
    assert_eq!(rig.count("vrrp4-arp-input", "VRRP packets processed"), 0);
    assert_eq!(rig.pass(0, &request([10, 0, 0, 9])).len(), 1);
}

#[suite::test]
fn a_unicast_master_answers_by_the_new_mac_address_of_its_interface() {
    let mut rig = rig(1);
    rig.cli("vrrp vr add p0 vr_id 7 unicast interval 10 10.0.0.9");
    rig.cli("vrrp peers p0 vr_id 7 10.0.0.2");
    rig.cli("vrrp proto start p0 vr_id 7");
    pass(&mut rig, 40);
    let new = MacAddr([2, 0, 0, 0, 0, 0x99]);
    for mac in [port_mac(0), new] {
        rig.cli(&format!("set interface mac address p0 {mac}"));
        rig.sent();
        let answers = rig.pass(0, &request([10, 0, 0, 9]));
        let arp = Arp::new(
            ArpOp::REPLY,
            (mac, [10, 0, 0, 9].into()),
            (peer_mac(0), [10, 0, 0, 2].into()),
        );
        let ethernet = Ethernet::new(mac, peer_mac(0), EtherType::ARP);
        assert_eq!(answers, [(0, [ethernet.as_bytes(), arp.as_bytes()].concat())]);
    }
}

#[suite::test]
fn packets_for_the_virtual_mac_address_are_forwarded_by_the_master() {
    let mut rig = rig(2);
    rig.cli("vrrp vr add p0 vr_id 7 10.0.0.9");
    rig.cli("vrrp proto start p0 vr_id 7");
    let packet = testkit::pkt::ether(peer_mac(0), MacAddr([0, 0, 0x5e, 0, 1, 7]))
        .ip4([10, 0, 0, 2], [10, 0, 1, 2])
        .udp(1000, 2000)
        .payload("to the other network")
        .build();
    rig.sent();
    assert!(rig.pass(0, &packet).is_empty(), "a backup drops it");
    assert_eq!(rig.count("ethernet-input", "l3 mac mismatch"), 1);
    pass(&mut rig, 400);
    rig.sent();
    assert!(rig.passes(0, 1, &packet));
}

#[suite::test]
fn the_master_answers_solicitations_by_the_virtual_mac_address() {
    let mut rig = rig(1);
    let (peer, target) = ("2001:db8::2", "2001:db8::9");
    let ip6 = |text: &str| text.parse::<std::net::Ipv6Addr>().expect("an address");
    let solicitation =
        ip6_nd::compose::solicitation(peer_mac(0), ip6(peer), ip6(target), None).to_vec();
    rig.cli("vrrp vr add p0 vr_id 7 ipv6 2001:db8::9");
    rig.cli("vrrp proto start p0 vr_id 7 ipv6");
    rig.sent();
    assert!(rig.pass(0, &solicitation).is_empty());
    assert_eq!(rig.count("vrrp6-nd-input", "backup"), 1);
    pass(&mut rig, 400);
    rig.sent();
    let answers = rig.pass(0, &solicitation);
    let [(0, answer)] = &answers[..] else { panic!("{answers:02x?}") };
    assert_eq!(answer[..6], peer_mac(0).0);
    assert_eq!(answer[6..12], [0, 0, 0x5e, 0, 2, 7]);
    assert_eq!(answer[22..38], ip6(target).octets());
    assert_eq!(answer[38..54], ip6(peer).octets());
    // Router, solicited, override.
    assert_eq!((answer[54], answer[58]), (136, 0xe0));
    assert_eq!(answer[78..], [2, 1, 0, 0, 0x5e, 0, 2, 7]);
    assert_eq!(wire::l4::verify(&answer[14..]), Ok(wire::l4::Verdict::Valid));
    // A host that wants the address learns that it is taken.
    let probe = ip6_nd::compose::packet(
        ip6("::"),
        wire::nd::solicited_node(ip6(target)),
        wire::nd::NeighborMessage::solicitation(ip6(target)),
        wire::nd::NdOptionKind::TARGET_LINK,
        peer_mac(0),
    );
    let ethernet = [&[0x33, 0x33, 0xff, 0, 0, 9], &peer_mac(0).0[..], &[0x86, 0xdd]].concat();
    let answers = rig.pass(0, &[&ethernet[..], &probe].concat());
    assert_eq!(answers[0].1[..6], [0x33, 0x33, 0, 0, 0, 1]);
    assert_eq!(answers[0].1[58], 0xa0, "nobody asked");
    // A wrong checksum isn't ours to answer.
    let mut broken = solicitation;
    broken[60] ^= 1;
    assert!(rig.pass(0, &broken).is_empty());
    assert_eq!(rig.count("vrrp6-nd-input", "VRRP packets processed"), 2);
}
