// SPDX-License-Identifier: Apache-2.0
//! Bytes of packets.

use super::*;
use crate::packet::{self, Advertisement, Fault};
use wire::checksum::Sum;
use wire::{Ip4, Ip6, Ipv4Header};

#[suite::test]
fn bytes_of_an_advertisement_over_ip4() {
    let frame = Content {
        id: 7,
        priority: 100,
        interval: 0x123,
        addresses: &[ip("10.0.0.9"), ip("10.0.0.10")],
        is_plain: false,
    }
    .frame(MacAddr([0, 0, 0x5e, 0, 1, 7]), ip("10.0.0.1"));
    #[rustfmt::skip]
    let expected = [
        0x01, 0, 0x5e, 0, 0, 0x12, 0, 0, 0x5e, 0, 1, 7, 8, 0,
        0x45, 0xc0, 0, 36, 0, 0, 0, 0, 255, 112, 0xd0, 0x96, 10, 0, 0, 1, 224, 0, 0, 18,
        0x31, 7, 100, 2, 1, 0x23, 0x6b, 0x2c, 10, 0, 0, 9, 10, 0, 0, 10,
    ];
    assert_eq!(frame, expected, "{frame:02x?}");
    let read = Advertisement {
        id: 7,
        priority: 100,
        count: 2,
        interval: 0x123,
        from: ip("10.0.0.1"),
        is_plain: false,
    };
    assert_eq!(packet::read::<Ip4>(&frame[14..]), Ok(read));
    // The reserved bits in front of the interval are ignored.
    let mut reserved = frame[14..].to_vec();
    reserved[24] |= 0xf0;
    set_checksum(&mut reserved, true);
    assert_eq!(packet::read::<Ip4>(&reserved), Ok(read));
    // RFC 9568 5.2.8: the message alone.
    set_checksum(&mut reserved, false);
    assert_eq!(packet::read::<Ip4>(&reserved), Ok(Advertisement { is_plain: true, ..read }));
}

/// Writes the checksum of the message behind a header of 20 bytes, with its pseudo-header or not.
fn set_checksum(packet: &mut [u8], with_pseudo: bool) {
    packet[26..28].fill(0);
    let mut sum = Sum::of(&packet[20..]);
    if with_pseudo {
        sum = sum.with(&packet[12..20]).with_u16(112).with_u16(packet.len() as u16 - 20);
    }
    let checksum = sum.finish().to_be_bytes();
    packet[26..28].copy_from_slice(&checksum);
}

#[suite::test]
fn bytes_of_an_advertisement_over_ip6() {
    let content =
        Content { id: 7, priority: 0, interval: 100, addresses: &[ip("fe80::9")], is_plain: true };
    let frame = content.frame(MacAddr([0, 0, 0x5e, 0, 2, 7]), ip("fe80::1"));
    #[rustfmt::skip]
    let expected = [
        0x33, 0x33, 0, 0, 0, 0x12, 0, 0, 0x5e, 0, 2, 7, 0x86, 0xdd,
        0x6c, 0, 0, 0, 0, 24, 112, 255,
        0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1,
        0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x12,
        0x31, 7, 0, 1, 0, 100, 0xd1, 0xea,
        0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9,
    ];
    assert_eq!(frame, expected, "{frame:02x?}");
    let read = packet::read::<Ip6>(&frame[14..]).expect("good");
    assert_eq!((read.id, read.priority, read.is_plain), (7, 0, false));
    // Of IPv6 the pseudo-header always counts (RFC 8200 8.1).
    let mut alone = frame[14..].to_vec();
    alone[46..48].fill(0);
    let checksum = Sum::of(&alone[40..]).finish().to_be_bytes();
    alone[46..48].copy_from_slice(&checksum);
    assert_eq!(packet::read::<Ip6>(&alone), Err(Fault::Checksum));
}

#[suite::test]
fn faults_are_told_apart() {
    let good = advertisement(7, 100, "10.0.0.2", "10.0.0.9")[14..].to_vec();
    let with = |at: usize, value: u8| {
        let mut bad = good.clone();
        bad[at] = value;
        set_checksum(&mut bad, true);
        packet::read::<Ip4>(&bad)
    };
    assert!(packet::read::<Ip4>(&good).is_ok());
    assert_eq!(with(8, 254), Err(Fault::Ttl));
    assert_eq!(with(20, 0x21), Err(Fault::Version));
    assert_eq!(with(20, 0x32), Err(Fault::Kind));
    assert_eq!(with(23, 2), Err(Fault::Size));
    assert_eq!(with(23, 0), Err(Fault::Size));
    let mut bad = good.clone();
    bad[22] ^= 1;
    assert_eq!(packet::read::<Ip4>(&bad), Err(Fault::Checksum));
    for len in 0..good.len() {
        let mut short = good[..len].to_vec();
        assert_eq!(packet::read::<Ip4>(&short), Err(Fault::Size), "{len}");
        if len >= 20 {
            short[2..4].copy_from_slice(&(len as u16).to_be_bytes());
            Ipv4Header::set_checksum_at(&mut short);
            assert_eq!(packet::read::<Ip4>(&short), Err(Fault::Size), "{len}");
        }
    }
}

#[suite::test]
fn bytes_of_reports_and_announcements() {
    let mac = MacAddr([2, 0, 0, 0, 0, 1]);
    #[rustfmt::skip]
    let igmp = [
        0x01, 0, 0x5e, 0, 0, 22, 2, 0, 0, 0, 0, 1, 8, 0,
        0x46, 0xc0, 0, 40, 0, 0, 0, 0, 1, 2, 0x39, 0xf9, 10, 0, 0, 1, 224, 0, 0, 22, 0x94, 4, 0, 0,
        0x22, 0, 0xf9, 0xeb, 0, 0, 0, 1, 4, 0, 0, 0, 224, 0, 0, 18,
    ];
    let reports = packet::reports(mac, ip("10.0.0.1"), &[ip("10.0.0.9")]);
    assert_eq!(reports, [igmp], "{reports:02x?}");
    let reports = packet::reports(mac, ip("fe80::1"), &[ip("fe80::9"), ip("2001:db8::12:3456")]);
    let [report] = &reports[..] else { panic!("{reports:02x?}") };
    #[rustfmt::skip]
    let records = [
        4, 0, 0, 0, 0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x12,
        4, 0, 0, 0, 0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xff, 0, 0, 9,
        4, 0, 0, 0, 0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xff, 0x12, 0x34, 0x56,
    ];
    assert_eq!((report[..6].to_vec(), report[62]), (vec![0x33, 0x33, 0, 0, 0, 0x16], 143));
    assert_eq!(report[70..], records);
    let key = VrKey { sw_if: graph::SwIfIndex(1), v6: false, id: 7 };
    #[rustfmt::skip]
    let arp = [
        255, 255, 255, 255, 255, 255, 0, 0, 0x5e, 0, 1, 7, 8, 6,
        0, 1, 8, 0, 6, 4, 0, 1, 0, 0, 0x5e, 0, 1, 7, 10, 0, 0, 9,
        255, 255, 255, 255, 255, 255, 10, 0, 0, 9,
    ];
    assert_eq!(packet::announcement(key, ip("10.0.0.9")), arp);
    let advert = packet::announcement(VrKey { v6: true, ..key }, ip("2001:db8::9"));
    assert_eq!(advert[..12], [0x33, 0x33, 0, 0, 0, 1, 0, 0, 0x5e, 0, 2, 7]);
    // Router and override; the target's link-layer address is the virtual one.
    assert_eq!((advert[54], advert[58]), (136, 0xa0));
    assert_eq!(advert[78..], [2, 1, 0, 0, 0x5e, 0, 2, 7]);
}

#[suite::test]
fn reports_of_many_addresses_fit_into_packets() {
    let address = |n: u16| std::net::Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, n);
    let addresses: Vec<_> = (1..=90).map(|n| IpAddr::from(address(n))).collect();
    let reports = packet::reports(MacAddr([2, 0, 0, 0, 0, 1]), ip("fe80::1"), &addresses);
    assert!(reports.iter().all(|frame| frame.len() <= 14 + 1280));
    let groups = reports.iter().flat_map(|frame| {
        let records = wire::mld::Mld2Report::records(&frame[62..]);
        records.map(|record| std::net::Ipv6Addr::from(record.group)).collect::<Vec<_>>()
    });
    let solicited = (1..=90).map(|n| wire::nd::solicited_node(address(n)));
    let expected: Vec<_> = std::iter::once(packet::GROUP6).chain(solicited).collect();
    assert_eq!(groups.collect::<Vec<_>>(), expected);
}

#[suite::test]
fn a_fragment_is_no_advertisement() {
    let mut frame = advertisement(7, 100, "10.0.0.2", "10.0.0.9");
    let bytes = &mut frame[14..];
    assert!(packet::read::<Ip4>(bytes).is_ok());
    // The first fragment, and a later one.
    for flags_and_offset in [[0x20, 0], [0, 1]] {
        bytes[6..8].copy_from_slice(&flags_and_offset);
        assert_eq!(packet::read::<Ip4>(bytes), Err(Fault::Size));
    }
}
