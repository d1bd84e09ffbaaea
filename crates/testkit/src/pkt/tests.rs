// SPDX-License-Identifier: Apache-2.0

use super::*;
use wire::{
    Header,
    describe::{Layer as Start, describe},
    l4::{self, Verdict},
};

const A: &str = "02:fe:00:00:00:01";
const B: &str = "02:fe:00:00:00:02";

#[suite::test]
fn a_known_frame() {
    let frame = ether(A, B)
        .ip4("10.0.0.1", "10.0.0.2")
        .udp(1234, 5678)
        .checksum(Checksum::Value(0))
        .build();
    let bytes = [
        2, 0xfe, 0, 0, 0, 2, 2, 0xfe, 0, 0, 0, 1, 8, 0, 0x45, 0, 0, 28, 0, 0, 0, 0, 64, 17, 0x66,
        0xcf, 10, 0, 0, 1, 10, 0, 0, 2, 4, 210, 22, 46, 0, 8, 0, 0,
    ];
    assert_eq!(frame, bytes);
}

#[suite::test]
fn every_transport_has_its_checksum() {
    let v4 = || ip4([10, 0, 0, 1], [10, 0, 0, 2]).options([148, 4, 0, 0, 1]);
    let v6 =
        || ip6("2001:db8::1", "2001:db8::2").ext(IpProtocol::DEST_OPTIONS, [0, 1, 4, 0, 0, 0, 0]);
    for base in [v4(), v6()] {
        for packet in [base.clone().udp(1, 2), base.clone().tcp(1, 2).options([2, 4, 5, 0xb4])] {
            let right = packet.clone().payload(b"abc").pad_to(100).build();
            assert_eq!(l4::verify(&right), Ok(Verdict::Valid));
            let wrong = packet.clone().bad_checksum().payload(b"abc").build();
            assert_eq!(l4::verify(&wrong), Ok(Verdict::Invalid));
            let mut partial = packet.checksum(Checksum::Partial).payload(b"abc").build();
            assert_eq!(l4::verify(&partial), Ok(Verdict::Invalid));
            let upper = wire::UpperLayer::find(&partial).unwrap();
            let offset = if upper.protocol == IpProtocol::TCP { 16 } else { 6 };
            assert!(l4::finish_partial(&mut partial, upper.offset, offset));
            assert_eq!(l4::verify(&partial), Ok(Verdict::Valid));
        }
    }
    assert!(Ipv4Header::checksum_ok_at(&v4().build()));
    assert!(!Ipv4Header::checksum_ok_at(&v4().bad_checksum().build()));
    assert_eq!(l4::verify(&v4().icmp_echo(1, 2).payload(b"x").build()), Ok(Verdict::Valid));
    assert_eq!(
        l4::verify(&v4().icmp_echo_reply(1, 2).bad_checksum().build()),
        Ok(Verdict::Invalid)
    );
    assert_eq!(l4::verify(&v6().icmp6_echo(1, 2).payload(b"x").build()), Ok(Verdict::Valid));
}

#[suite::test]
fn types_follow_from_what_follows() {
    let frame = ether(A, B)
        .qinq(5)
        .vlan(6)
        .pcp(3)
        .mpls(16)
        .mpls(17)
        .ttl(9)
        .ip4("10.0.0.1", "10.0.0.2")
        .gre()
        .ip6("2001:db8::1", "2001:db8::2")
        .tos(0xb8)
        .fragment6(7, 0, true)
        .udp(9, Vxlan::PORT)
        .vxlan(77)
        .ether(B, A)
        .arp(Arp::new(ArpOp::REPLY, (A.arg(), "10.0.0.1".arg()), (B.arg(), "10.0.0.2".arg())))
        .build();
    let text = describe(&frame, Start::Ethernet).layers(20).to_string();
    let heads: Vec<_> = text.lines().filter(|line| !line.starts_with(' ')).collect();
    let expected = [
        "MPLS: 02:fe:00:00:00:01 -> 02:fe:00:00:00:02 802.1ad vlan 5 802.1q vlan 6 priority 3",
        "MPLS: label 16 exp 0 ttl 64",
        "MPLS: label 17 exp 0 ttl 9 bottom of stack",
        "GRE: 10.0.0.1 -> 10.0.0.2",
        "GRE: IP6 flags 0x0000",
        "IPV6_FRAGMENTATION: 2001:db8::1 -> 2001:db8::2",
        "UDP: 9 -> 4789",
        "VXLAN: vni 77 flags 0x08",
        "ARP: 02:fe:00:00:00:02 -> 02:fe:00:00:00:01",
        "reply, type ethernet/IP4, address size 6/4",
        "02:fe:00:00:00:01/10.0.0.1 -> 02:fe:00:00:00:02/10.0.0.2",
    ];
    assert_eq!(heads, expected, "{text}");
    assert!(!text.contains("should be"));
}

#[suite::test]
fn arp_frames() {
    let request = arp_request(A, "10.0.0.1", "10.0.0.2").pad_to(60).build();
    assert_eq!(request.len(), 60);
    assert!(wire::Ethernet::view(&request).unwrap().dst.is_broadcast());
    let arp = Arp::view_at(&request, 14).unwrap();
    assert!(arp.is_ethernet_ip4() && arp.op() == ArpOp::REQUEST && arp.target_mac.is_zero());
    let reply = arp_reply(B, "10.0.0.2", A, "10.0.0.1").build();
    let arp = Arp::view_at(&reply, 14).unwrap();
    assert_eq!(
        (arp.op(), arp.sender_mac.to_string(), arp.target_ip()),
        (ArpOp::REPLY, B.into(), "10.0.0.1".arg())
    );
}

#[suite::test]
fn wrong_on_purpose() {
    let packet = ip4("10.0.0.1", "10.0.0.2")
        .version(5)
        .header_words(4)
        .length(9)
        .protocol(IpProtocol(200))
        .tos(1)
        .id(2)
        .df()
        .fragment(16, true)
        .checksum(Checksum::Value(0xbeef))
        .udp(1, 2)
        .length(3)
        .truncate(27)
        .build();
    assert_eq!(packet[..12], [0x54, 1, 0, 9, 0, 2, 0x60, 2, 64, 200, 0xbe, 0xef]);
    assert_eq!(packet[24..], [0, 3, packet[26]]);
    let v6 = ip6("::1", "::2").version(7).flow_label(0xabcde).length(99).ttl(3).build();
    assert_eq!(v6[..8], [0x70, 0x0a, 0xbc, 0xde, 0, 99, 253, 3]);
    let llc = ether(A, B).ethertype(EtherType(3)).payload([0x42, 0x42, 3]).build();
    assert_eq!(llc[12..], [0, 3, 0x42, 0x42, 3]);
    let syn = ip4("10.0.0.1", "10.0.0.2")
        .tcp(1, 2)
        .segment(TcpFlags::SYN, 5, 6)
        .window(7)
        .header_words(15)
        .build();
    let tcp = TcpHeader::view_at(&syn, 20).unwrap();
    assert_eq!((tcp.flags, tcp.seq.get(), tcp.ack.get()), (TcpFlags::SYN, 5, 6));
    assert_eq!((tcp.window.get(), tcp.header_len()), (7, 60));
}

#[suite::test]
#[should_panic(expected = "ttl: the last layer has no such field")]
fn a_field_of_another_layer() {
    let _ = ip4("10.0.0.1", "10.0.0.2").udp(1, 2).ttl(3);
}
