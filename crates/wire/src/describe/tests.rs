// SPDX-License-Identifier: Apache-2.0

use super::*;
use crate::{
    Ethernet, Gre, IcmpHeader, Ipv4Header, Ipv6Header, MacAddr, MplsLabel, TcpFlags, TcpHeader,
    U16, U32, UdpHeader, VlanTag, Vxlan, VxlanGpe,
};
use proptest::{collection::vec, prelude::*};
use zerocopy::IntoBytes;

const A: MacAddr = MacAddr([2, 0xfe, 0, 0, 0, 1]);
const B: MacAddr = MacAddr([2, 0xfe, 0, 0, 0, 2]);

fn ethernet(ethertype: EtherType) -> Vec<u8> {
    Ethernet::new(A, B, ethertype).as_bytes().to_vec()
}

fn ip4(protocol: IpProtocol, body: &[u8]) -> Vec<u8> {
    let ip =
        Ipv4Header::new([10, 0, 0, 1].into(), [10, 0, 0, 2].into(), protocol, body.len() as u16);
    [ip.as_bytes(), body].concat()
}

#[suite::test]
fn udp_in_a_vlan() {
    let udp = UdpHeader::new(1234, 5678, 0);
    let tag = VlanTag::new(100, 3, false, EtherType::IP4);
    let ip = ip4(IpProtocol::UDP, udp.as_bytes());
    let frame = [&ethernet(EtherType::VLAN)[..], tag.as_bytes(), &ip].concat();
    let text = "  IP4: 02:fe:00:00:00:01 -> 02:fe:00:00:00:02 802.1q vlan 100 priority 3
  UDP: 10.0.0.1 -> 10.0.0.2
    tos 0x00, ttl 64, length 28, checksum 0x66cf dscp CS0 ecn NON_ECN
    fragment id 0x0000
  UDP: 1234 -> 5678
    length 8, checksum 0x0000";
    assert_eq!(describe(&frame, Layer::Ethernet).indent(2).to_string(), text);
    let one = describe(&frame, Layer::Ethernet).layers(1).to_string();
    assert_eq!(one, text.lines().next().unwrap().trim_start());
}

#[suite::test]
fn an_icmp_error_quotes_a_tcp_segment() {
    let mut tcp = TcpHeader {
        src_port: U16::new(80),
        flags: TcpFlags::SYN | TcpFlags::ACK,
        ..Default::default()
    };
    tcp.data_offset = 0x80;
    tcp.seq = U32::new(0x1020304);
    let options = [2, 4, 5, 0xb4, 4, 2, 3, 3, 7, 1, 99, 1];
    let mut quoted = ip4(IpProtocol::TCP, &[tcp.as_bytes(), &options].concat());
    quoted[1] = 0xb9;
    quoted[6] = 0x60;
    quoted[7] = 1;
    let error = IcmpHeader::new(3, 4, 1400);
    let packet = ip4(IpProtocol::ICMP, &[error.as_bytes(), &quoted].concat());
    let text = describe(&packet, Layer::Ip).to_string();
    let expected = "ICMP: 10.0.0.1 -> 10.0.0.2
  tos 0x00, ttl 64, length 80, checksum 0x66ab dscp CS0 ecn NON_ECN
  fragment id 0x0000
ICMP destination_unreachable code 4 checksum 0x0000 mtu 1400
TCP: 10.0.0.1 -> 10.0.0.2
  tos 0xb9, ttl 64, length 52, checksum 0x66c2 (should be 0x0608) dscp EF ecn ECT_1
  fragment id 0x0000, offset 8, MORE_FRAGMENTS, DONT_FRAGMENT";
    assert_eq!(text, expected);
    quoted[7] = 0;
    let packet = ip4(IpProtocol::ICMP, &[error.as_bytes(), &quoted].concat());
    let text = describe(&packet, Layer::Ip).to_string();
    let expected = "TCP: 80 -> 0
  seq 0x01020304 ack 0x00000000
  flags SYN ACK, header length 32
  window 0, checksum 0x0000
  options: mss 1460, sack permitted, window scale 7, malformed option at byte 10";
    assert!(text.ends_with(expected), "{text}");
}

#[suite::test]
fn ip6_extensions() {
    let (a, b) = ("2001:db8::1".parse().unwrap(), "2001:db8::2".parse().unwrap());
    let rest = [58, 0, 0, 1, 0, 0, 0, 9, 128, 0, 0xab, 0xcd, 0, 1, 0, 2];
    let mut packet = [Ipv6Header::new(a, b, IpProtocol::FRAGMENT, 16).as_bytes(), &rest].concat();
    let text = describe(&packet, Layer::Ip6).to_string();
    let expected = "IPV6_FRAGMENTATION: 2001:db8::1 -> 2001:db8::2
  tos 0x00, flow label 0x0, hop limit 64, payload length 16 dscp CS0 ecn NON_ECN
  IPV6_FRAGMENTATION: next ICMP6, length 8, id 0x00000009, offset 0, MORE_FRAGMENTS
ICMP6 echo_request checksum 0xabcd id 1 seq 2";
    assert_eq!(text, expected);
    packet[43] = 8;
    let text = describe(&packet, Layer::Ip6).to_string();
    assert!(text.ends_with("id 0x00000009, offset 8"), "{text}");
    assert!(
        describe(&packet[..46], Layer::Ip).to_string().ends_with("IPV6_FRAGMENTATION: header cut")
    );
}

#[suite::test]
fn tunnels() {
    let inner = [ethernet(EtherType::ARP), vec![0; 28]].concat();
    let udp = UdpHeader::new(1, Vxlan::PORT, inner.len() as u16 + 8);
    let vxlan = [udp.as_bytes(), Vxlan::new(77).as_bytes(), &inner].concat();
    let text = describe(&vxlan, Layer::Udp).to_string();
    let expected = "UDP: 1 -> 4789
  length 58, checksum 0x0000
VXLAN: vni 77 flags 0x08
ARP: 02:fe:00:00:00:01 -> 02:fe:00:00:00:02
operation 0, type 0/0x0000, address size 0/0";
    assert_eq!(text, expected);

    let ip = ip4(IpProtocol::OSPF, &[]);
    for (port, header, line) in [
        (
            VxlanGpe::PORT,
            VxlanGpe::new(77, VxlanGpe::IP4).as_bytes().to_vec(),
            "VXLAN-GPE: vni 77 flags 0x0c next-protocol 1",
        ),
        (
            Geneve::PORT,
            vec![1, 0, 8, 0, 0, 0, 77, 0, 1, 2, 3, 4],
            "GENEVE: vni 77 IP4 version 0 flags 0x00 options 4 bytes",
        ),
        (Gtpu::PORT, Gtpu::with_qfi(77, 9), "GTP-U: teid 77 flags 0x34 type 255 length 0 qfi 9"),
    ] {
        let udp = UdpHeader::new(1, port, (8 + header.len() + ip.len()) as u16);
        let packet = [udp.as_bytes(), &header, &ip].concat();
        let text = describe(&packet, Layer::Udp).to_string();
        let lines: Vec<_> = text.lines().collect();
        assert_eq!((lines[2], lines[3]), (line, "OSPF: 10.0.0.1 -> 10.0.0.2"), "{text}");
    }

    let labels = [MplsLabel::new(16, 0, false, 9), MplsLabel::new(17, 5, true, 8)];
    let gre = Gre { flags: U16::new(Gre::CHECKSUM | Gre::KEY), protocol: EtherType::MPLS.into() };
    let words = [0, 0, 0, 0, 0, 0, 0, 42];
    let packet = [gre.as_bytes(), &words, labels.as_bytes(), &ip4(IpProtocol::OSPF, &[])].concat();
    let text = describe(&packet, Layer::Gre).to_string();
    let expected = "GRE: MPLS flags 0xa000 key 42
MPLS: label 16 exp 0 ttl 9
MPLS: label 17 exp 5 ttl 8 bottom of stack
OSPF: 10.0.0.1 -> 10.0.0.2\n";
    assert!(text.starts_with(expected), "{text}");
}

#[suite::test]
fn odd_frames() {
    let cut = describe(&ethernet(EtherType::IP4)[..9], Layer::Ethernet).to_string();
    assert_eq!(cut, "ETHERNET: header cut after 9 bytes");
    assert_eq!(describe(&[], Layer::Ethernet).to_string(), "");
    assert_eq!(describe(&[0x75], Layer::Ip).to_string(), "IP version 7");
    let stp = [&ethernet(EtherType(39))[..], &[0x42, 0x42, 3]].concat();
    let text = describe(&stp, Layer::Ethernet).to_string();
    assert_eq!(text, "STP: 02:fe:00:00:00:01 -> 02:fe:00:00:00:02 length 39");
    let snap = [&ethernet(EtherType(36))[..], &[0xaa, 0xaa, 3, 0, 0, 0, 8, 6], &[0; 28]].concat();
    let text = describe(&snap, Layer::Ethernet).to_string();
    assert!(text.starts_with("SNAP: ") && text.contains("address size"), "{text}");
    let mut options = ip4(IpProtocol::IGMP, &[148, 4, 0, 0]);
    options[0] = 0x46;
    let text = describe(&options, Layer::Ip4).to_string();
    assert!(
        text.contains("version 4, header length 24") && text.ends_with("options: router-alert"),
        "{text}"
    );
}

#[suite::test]
fn discovery() {
    use crate::nd::{LinkOption, NdOptionKind, NeighborMessage, PrefixInfo, RouterAdvertisement};
    let na = NeighborMessage::advertisement(
        NeighborMessage::ROUTER | NeighborMessage::SOLICITED,
        "fe80::1".parse().unwrap(),
    );
    let link = LinkOption::new(NdOptionKind::TARGET_LINK, A);
    let bytes = [na.as_bytes(), link.as_bytes(), &[9, 0]].concat();
    let text = describe(&bytes, Layer::Icmp6).to_string();
    let expected = "ICMP6 neighbor_advertisement checksum 0x0000
  target address fe80::1 router solicited
  target link-layer address 02:fe:00:00:00:01
  option of length zero";
    assert_eq!(text, expected);
    let ra = RouterAdvertisement {
        kind: 134,
        code: 0,
        checksum: U16::ZERO,
        hop_limit: 64,
        flags: RouterAdvertisement::MANAGED,
        lifetime: U16::new(600),
        reachable: U32::ZERO,
        retransmit: U32::ZERO,
    };
    let prefix =
        PrefixInfo::new("2001:db8::/64".parse().unwrap(), PrefixInfo::AUTONOMOUS, u32::MAX, 60);
    let text = describe(&[ra.as_bytes(), prefix.as_bytes()].concat(), Layer::Icmp6).to_string();
    let expected = "ICMP6 router_advertisement checksum 0x0000
  hop limit 64, lifetime 600 managed
  preference 0, reachable 0 ms, retransmit 0 ms
  prefix 2001:db8::/64 valid infinite preferred 60 autonomous";
    assert_eq!(text, expected);
    let report =
        [0x8f, 0, 0, 0, 0, 0, 0, 1, 4, 0, 0, 0, 0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2];
    let text = describe(&report, Layer::Icmp6).to_string();
    assert!(text.ends_with("\n  to-exclude group ff02::2, 0 sources"), "{text}");
}

const LAYERS: [Layer; 15] = [
    Layer::Ethernet,
    Layer::Arp,
    Layer::Mpls,
    Layer::Ip,
    Layer::Ip4,
    Layer::Ip6,
    Layer::Icmp4,
    Layer::Icmp6,
    Layer::Udp,
    Layer::Tcp,
    Layer::Gre,
    Layer::Vxlan,
    Layer::VxlanGpe,
    Layer::Geneve,
    Layer::Gtpu,
];

/// Bytes that lead deeper than random ones do: types, versions and lengths that the parsers know.
fn telling_byte() -> impl Strategy<Value = u8> {
    prop_oneof![
        any::<u8>(),
        proptest::sample::select(
            &[
                0u8, 1, 3, 4, 5, 6, 8, 17, 41, 43, 44, 47, 51, 58, 60, 0x45, 0x4f, 0x60, 0x81,
                0x86, 0xdd, 0xaa, 24, 25, 31, 133, 134, 135, 137, 143
            ][..]
        )
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]
    #[suite::test]
    fn any_bytes(bytes in vec(telling_byte(), 0..200), layer in proptest::sample::select(&LAYERS[..]), indent in 0usize..5) {
        let text = describe(&bytes, layer).indent(indent).to_string();
        prop_assert_eq!(text.is_empty(), bytes.is_empty());
        for line in text.lines() {
            let columns = line.len() - line.trim_start().len();
            prop_assert!(columns == indent || columns == indent + 2, "{}", text);
            prop_assert!(!line.ends_with(' '), "{}", text);
        }
        prop_assert!(text.lines().count() < 200);
    }
}
