// SPDX-License-Identifier: Apache-2.0
//! Everything that reads headers, over any bytes: no panic, and what is found lies within the
//! bytes.

use wire::checksum::{self, Sum};
use wire::{
    Arp, Ethernet, ExtHeaders, Geneve, Gre, Gtpu, Header, IcmpHeader, Ip6Options, Ipv4Header,
    Ipv6Header, MAX_EXT_HEADERS, MplsLabel, Options, TcpHeader, UdpHeader, UpperLayer, VlanTag,
    Vxlan, VxlanGpe,
};
use wire::{gso, l4};

fn within(bytes: &[u8], offset: usize, part: &[u8]) {
    assert_eq!(&bytes[offset..offset + part.len()], part);
}

fn options(bytes: &[u8]) {
    let mut steps = 0;
    for option in Options::new(bytes) {
        steps += 1;
        assert!(steps <= bytes.len());
        match option {
            Ok(option) => within(bytes, option.offset + 2, option.data),
            Err(error) => assert!(error.offset < bytes.len()),
        }
    }
}

/// Options of hop-by-hop and destination headers: in order, none over another, and none beyond the
/// header.
fn options6(header: &[u8]) {
    let mut end = 2;
    for option in Ip6Options::new(header) {
        match option {
            Ok(option) => {
                assert!(option.offset >= end);
                within(header, option.offset + 2, option.data);
                end = option.offset + 2 + option.data.len();
            }
            Err(error) => assert!((end..header.len()).contains(&error.offset)),
        }
    }
}

/// A checksum that was patched for a change is that of the changed bytes.
fn patched(bytes: &[u8]) {
    let even = &bytes[..bytes.len() & !1];
    let Some((removed, rest)) = even.split_first_chunk::<4>() else { return };
    let added = removed.map(|b| b.wrapping_mul(167).wrapping_add(13));
    let before = Sum::of(even).finish();
    let after = Sum::of_parts([&added[..], rest]).finish();
    let patched =
        checksum::update32(before, u32::from_be_bytes(*removed), u32::from_be_bytes(added));
    // All-zero data has two representations of its sum.
    assert!(patched == after || (patched ^ after) == 0xffff && (after == 0 || after == 0xffff));
}

/// A checksum that was written is found right, and segments carry every byte of the payload once,
/// each with a right checksum.
fn transport(packet: &[u8]) {
    let mut own = packet.to_vec();
    if l4::finish(&mut own).is_ok() {
        assert_eq!(l4::verify(&own), Ok(l4::Verdict::Valid));
    }
    let mut partial = packet.to_vec();
    if let Ok((start, offset)) = l4::set_partial(&mut partial) {
        assert!(start + offset + 2 <= packet.len());
    }
    if let Some((size, frame)) = packet.split_first() {
        let mut carried = Vec::new();
        let count = gso::segment(frame, 0, u16::from(*size), |headers, payload| {
            assert!(!headers.is_empty());
            carried.extend_from_slice(payload);
        });
        if let (Ok(count), Ok(upper)) = (count, UpperLayer::find(frame)) {
            assert!(count >= 1);
            assert!(frame[..upper.end].ends_with(&carried));
        }
    }
}

/// One input.
pub fn run(packet: &[u8]) {
    if let Ok(upper) = UpperLayer::find(packet) {
        assert!(upper.offset <= upper.end);
        let _ = (upper.is_fragment(), upper.payload_len());
    }
    let mut headers = ExtHeaders::new(packet);
    for (seen, header) in headers.by_ref().enumerate() {
        assert!(seen <= MAX_EXT_HEADERS);
        if let Ok(header) = header {
            within(packet, header.offset, header.bytes);
            options6(header.bytes);
        }
    }
    assert!(headers.offset() <= packet.len().max(40));

    if let Some(header) = Ipv4Header::header_bytes(packet) {
        within(packet, 0, header);
        let mut own = packet.to_vec();
        Ipv4Header::set_checksum_at(&mut own);
        assert!(Ipv4Header::checksum_ok_at(&own));
    }
    let _ = Ipv4Header::options(packet).count();
    let _ = TcpHeader::options(packet).count();
    options(packet);
    options6(packet);
    patched(packet);
    transport(packet);
    tunnels(packet);

    let _ = format!("{:?}", Ethernet::view(packet));
    let _ = format!("{:?}", VlanTag::view(packet));
    let _ = format!("{:?}", Arp::view(packet));
    let _ = format!("{:?}", Ipv4Header::view(packet));
    let _ = format!("{:?}", Ipv6Header::view(packet));
    let _ = format!("{:?}", TcpHeader::view(packet));
    let _ = format!("{:?}", UdpHeader::view(packet));
    let _ = format!("{:?}", IcmpHeader::view(packet));
    let _ = format!("{:?}", Gre::view(packet));
    let _ = format!("{:?}", MplsLabel::view(packet));
    let _ = format!("{:?}", Vxlan::view(packet));
    let _ = format!("{:?}", VxlanGpe::view(packet));
}

/// Headers of tunnels with a length of their own.
fn tunnels(packet: &[u8]) {
    if let Some(geneve) = Geneve::view(packet) {
        assert!((8..=260).contains(&geneve.header_len()) && geneve.vni() >> 24 == 0);
    }
    if let Ok(headers) = Gtpu::headers(packet) {
        assert!((8..=packet.len()).contains(&headers.len) && headers.len % 4 == 0);
        assert!(headers.qfi.is_none_or(|qfi| qfi < 64));
        // Bytes behind the headers don't matter.
        assert_eq!(Gtpu::headers(&packet[..headers.len]), Ok(headers));
    }
}
