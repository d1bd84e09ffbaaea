// SPDX-License-Identifier: Apache-2.0

use super::*;
use crate::{Ipv4Header, Ipv6Header, l4};
use proptest::prelude::*;
use zerocopy::IntoBytes;

/// A TCP segment with options, or a UDP datagram.
fn upper(protocol: IpProtocol, options: usize, payload: usize) -> Vec<u8> {
    let mut bytes = vec![0; payload + if protocol == IpProtocol::TCP { 20 + options } else { 8 }];
    if protocol == IpProtocol::TCP {
        bytes[12] = (((20 + options) / 4) << 4) as u8;
        bytes[13] = 0x10;
    }
    bytes
}

fn ip4(protocol: IpProtocol, upper: &[u8]) -> Vec<u8> {
    let header =
        Ipv4Header::new([10, 0, 0, 1].into(), [10, 0, 0, 2].into(), protocol, upper.len() as u16);
    let mut packet = [header.as_bytes(), upper].concat();
    Ipv4Header::set_checksum_at(&mut packet);
    // Neither ICMP nor others have the sum of a pseudo-header.
    let _ = l4::set_partial(&mut packet);
    packet
}

/// With eight bytes of destination options.
fn ip6(protocol: IpProtocol, upper: &[u8]) -> Vec<u8> {
    let (a, b) = ("2001:db8::1".parse().unwrap(), "2001:db8::2".parse().unwrap());
    let header = Ipv6Header::new(a, b, IpProtocol::DEST_OPTIONS, upper.len() as u16 + 8);
    [header.as_bytes(), &[protocol.0, 0, 1, 4, 0, 0, 0, 0], upper].concat()
}

/// Behind an Ethernet header and so many tags.
fn link(ethertype: EtherType, tags: usize, packet: &[u8]) -> Vec<u8> {
    let mut frame = vec![2; 12];
    frame.extend([0x81, 0, 0, 7].repeat(tags));
    frame.extend(ethertype.0.to_be_bytes());
    frame.extend(packet);
    frame
}

fn partial(start: usize, offset: u16) -> Offload {
    Offload { csum: Csum::Partial { start: start as u16, offset }, gso: None }
}

fn segments(kind: GsoKind, start: usize, offset: u16, size: u16) -> Offload {
    Offload { gso: Some(Gso { kind, ecn: false, size, hdr_len: 0 }), ..partial(start, offset) }
}

fn check(offload: Offload, frame: &[u8]) -> Result<(), OffloadError> {
    offload.check(frame, frame.len(), false)
}

#[suite::test]
fn what_linux_hands_over_passes() {
    for tags in 0..3 {
        let l3 = 14 + 4 * tags;
        let tcp = upper(IpProtocol::TCP, 12, 60_000);
        let udp = upper(IpProtocol::UDP, 0, 1000);
        let four = |upper: &[u8], protocol| link(EtherType::IP4, tags, &ip4(protocol, upper));
        let six = |upper: &[u8], protocol| link(EtherType::IP6, tags, &ip6(protocol, upper));
        let (tcp4, tcp6) = (four(&tcp, IpProtocol::TCP), six(&tcp, IpProtocol::TCP));
        assert_eq!(check(segments(GsoKind::TcpV4, l3 + 20, 16, 1448), &tcp4), Ok(()));
        assert_eq!(check(segments(GsoKind::TcpV6, l3 + 48, 16, 1428), &tcp6), Ok(()));
        // The lowest MSS, 12 of which are options.
        assert_eq!(check(segments(GsoKind::TcpV4, l3 + 20, 16, 36), &tcp4), Ok(()));
        assert_eq!(check(partial(l3 + 20, 16), &tcp4), Ok(()));
        let (udp4, udp6) = (four(&udp, IpProtocol::UDP), six(&udp, IpProtocol::UDP));
        for size in [8, 100, 1000, 5000] {
            assert_eq!(check(segments(GsoKind::UdpL4, l3 + 20, 6, size), &udp4), Ok(()), "{size}");
            assert_eq!(check(segments(GsoKind::UdpL4, l3 + 48, 6, size), &udp6), Ok(()), "{size}");
        }
        assert_eq!(check(partial(l3 + 48, 6), &udp6), Ok(()));
        // 128 bytes that came one by one.
        let typed = four(&upper(IpProtocol::TCP, 0, 128), IpProtocol::TCP);
        assert_eq!(check(segments(GsoKind::TcpV4, l3 + 20, 16, 1), &typed), Ok(()));
        // A TCP segment in a tunnel over UDP, its checksum partial; ICMP; an unknown protocol;
        // MPLS.
        assert_eq!(check(partial(l3 + 28 + 50, 16), &udp4), Ok(()));
        assert_eq!(check(partial(l3 + 20, 2), &four(&[0; 40], IpProtocol::ICMP)), Ok(()));
        assert_eq!(check(partial(l3 + 20, 4), &four(&[0; 40], IpProtocol::GRE)), Ok(()));
        assert_eq!(check(partial(l3 + 24, 16), &link(EtherType(0x8847), tags, &[0; 60])), Ok(()));
    }
    let packet = ip6(IpProtocol::TCP, &upper(IpProtocol::TCP, 0, 3000));
    assert_eq!(segments(GsoKind::TcpV6, 48, 16, 1428).check(&packet, packet.len(), true), Ok(()));
    // The first buffer of a chain is enough.
    assert_eq!(
        segments(GsoKind::TcpV6, 48, 16, 1428).check(&packet[..68], packet.len(), true),
        Ok(())
    );
    assert_eq!(Offload::NONE.check(&[], 0, false), Ok(()));
}

#[suite::test]
fn checksums_elsewhere_are_refused() {
    let tcp = link(EtherType::IP4, 0, &ip4(IpProtocol::TCP, &upper(IpProtocol::TCP, 0, 100)));
    let len = tcp.len() as u16;
    // Addresses, fragment offset, ports, sequence number, beyond the end, in front of the packet.
    let bad = [
        (14, 16),
        (14, 12),
        (14, 6),
        (34, 0),
        (34, 2),
        (34, 4),
        (33, 17),
        (34, len - 35),
        (0, 30),
        (0xffff, 16),
        (34, 0xffff),
    ];
    for (start, offset) in bad {
        assert_eq!(
            check(partial(start, offset), &tcp),
            Err(OffloadError::Checksum),
            "{start}+{offset}"
        );
    }
    let udp = ip4(IpProtocol::UDP, &upper(IpProtocol::UDP, 0, 100));
    assert_eq!(partial(20, 2).check(&udp, udp.len(), true), Err(OffloadError::Checksum), "a port");
    assert_eq!(partial(22, 0).check(&udp, udp.len(), true), Err(OffloadError::Checksum), "a port");
    // In the padding behind the packet.
    let mut padded = udp.clone();
    padded.extend([0; 20]);
    assert_eq!(
        partial(100, udp.len() as u16 - 100).check(&padded, padded.len(), true),
        Err(OffloadError::Checksum)
    );
    // An IPv6 extension header.
    let six = ip6(IpProtocol::TCP, &upper(IpProtocol::TCP, 0, 100));
    assert_eq!(partial(40, 16).check(&six, six.len(), true), Err(OffloadError::Checksum));
    // A fragment, headers that aren't there, no IP.
    let mut fragment = udp;
    fragment[6] = 0x20;
    assert_eq!(partial(20, 6).check(&fragment, fragment.len(), true), Err(OffloadError::Checksum));
    assert_eq!(partial(20, 6).check(&[0x45; 10], 10, true), Err(OffloadError::Checksum));
    assert_eq!(
        check(partial(12, 0), &link(EtherType(0x8847), 0, &[0; 60])),
        Err(OffloadError::Checksum)
    );
    assert_eq!(
        check(partial(34, 16), &link(EtherType::IP4, 3, &[0; 60])),
        Err(OffloadError::Checksum)
    );
}

#[suite::test]
fn segmentation_that_makes_no_sense_is_refused() {
    let tcp = link(EtherType::IP4, 0, &ip4(IpProtocol::TCP, &upper(IpProtocol::TCP, 12, 64_000)));
    let with = |kind, size| check(segments(kind, 34, 16, size), &tcp);
    for size in [1, 8, 35] {
        assert_eq!(with(GsoKind::TcpV4, size), Err(OffloadError::Size), "{size}");
    }
    assert_eq!(with(GsoKind::TcpV6, 1448), Err(OffloadError::Headers));
    assert_eq!(with(GsoKind::UdpL4, 1448), Err(OffloadError::Headers));
    assert_eq!(check(segments(GsoKind::TcpV4, 54, 0, 1448), &tcp), Err(OffloadError::Checksum));
    let udp = ip4(IpProtocol::UDP, &upper(IpProtocol::UDP, 0, 1290));
    assert_eq!(
        segments(GsoKind::UdpL4, 20, 6, 10).check(&udp, udp.len(), true),
        Err(OffloadError::Size)
    );
    assert_eq!(segments(GsoKind::UdpL4, 20, 6, 11).check(&udp, udp.len(), true), Ok(()));
    let mut changed = tcp.clone();
    changed[46] = 0x40;
    assert_eq!(
        check(segments(GsoKind::TcpV4, 34, 16, 1448), &changed),
        Err(OffloadError::Headers),
        "16 bytes"
    );
    let short = &tcp[..60];
    assert_eq!(
        segments(GsoKind::TcpV4, 34, 16, 1448).check(short, tcp.len(), false),
        Err(OffloadError::Headers)
    );
    let mut long = tcp.clone();
    long[16..18].copy_from_slice(&65_500u16.to_be_bytes());
    assert_eq!(
        check(segments(GsoKind::TcpV4, 34, 16, 1448), &long),
        Err(OffloadError::Headers),
        "beyond the end"
    );
    long[20] = 0x20;
    assert_eq!(
        check(segments(GsoKind::TcpV4, 34, 16, 1448), &long),
        Err(OffloadError::Checksum),
        "a fragment"
    );
    let none = Offload { csum: Csum::None, ..segments(GsoKind::TcpV4, 0, 0, 1448) };
    assert_eq!(check(none, &long), Err(OffloadError::Headers));
    assert_eq!(check(none, &tcp), Ok(()), "the whole checksum is computed anew");
    assert_eq!(check(none, &link(EtherType::ARP, 0, &[0; 60])), Err(OffloadError::Headers));
}

proptest! {
    /// Whatever a peer says: nothing in front of the upper layer changes, nor ports, and there
    /// aren't many segments of few bytes.
    #[suite::test]
    fn what_passes_does_no_harm(
        v6: bool, tcp: bool, payload in 0usize..4000, start: u16, near in 0usize..80, offset in 0u16..60, size in 1u16..200,
        kind in prop_oneof![Just(GsoKind::TcpV4), Just(GsoKind::TcpV6), Just(GsoKind::UdpL4)], gso: bool, exact: bool,
    ) {
        let protocol = if tcp { IpProtocol::TCP } else { IpProtocol::UDP };
        let bytes = upper(protocol, 0, payload);
        let packet = if v6 { ip6(protocol, &bytes) } else { ip4(protocol, &bytes) };
        let l4 = if v6 { 48 } else { 20 };
        let own = if tcp { 16 } else { 6 };
        let (start, offset) = if exact { (l4, own) } else if gso { (near, offset) } else { (usize::from(start) % 200, offset) };
        let offload = if gso { segments(kind, start, offset, size) } else { partial(start, offset) };
        if offload.check(&packet, packet.len(), true).is_ok() {
            let (field, behind) = (start + usize::from(offset), l4 + if tcp { 20 } else { 8 });
            prop_assert!(field == l4 + usize::from(own) || field >= behind);
            prop_assert!(field + 2 <= packet.len());
            if gso {
                prop_assert!(size >= 48 || payload.div_ceil(size.into()) <= 128);
                prop_assert_eq!((kind == GsoKind::UdpL4, kind == GsoKind::TcpV6), (!tcp, tcp && v6));
                let plan = crate::gso::Plan::new(&packet, 0, packet.len(), size);
                prop_assert!(plan.is_ok());
            }
        } else if exact {
            let own_kind = kind == if !tcp { GsoKind::UdpL4 } else if v6 { GsoKind::TcpV6 } else { GsoKind::TcpV4 };
            prop_assert!(gso && (!own_kind || payload.div_ceil(size.into()) > 128));
        }
    }
}
