// SPDX-License-Identifier: Apache-2.0
//! Checksums and segmentation that one guest leaves to the other end: passed on to a guest that
//! takes them, done for one that doesn't.

use super::pair::{guests, rig, wanted, warm};
use super::peer::{Dir, Guest, plain, until};
use crate::proto::Features;
use wire::offload::{Csum, Gso, GsoKind, Offload};

/// Ones' complement sum of 16-bit words.
fn sum(bytes: &[u8], start: u32) -> u32 {
    let words = bytes.chunks(2).map(|c| u32::from(c[0]) << 8 | u32::from(*c.get(1).unwrap_or(&0)));
    let mut sum = words.fold(start, |sum, word| sum + word);
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum
}

/// Sum of the pseudo-header (RFC 9293 3.1).
fn pseudo(ip: &[u8], len: usize) -> u32 {
    sum(&ip[12..20], 6 + len as u32)
}

const HEADERS: usize = 14 + 20 + 20;

/// A TCP segment over IPv4 whose checksum has to be completed.
fn partial(payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0];
    let len = (40 + payload.len()) as u16;
    frame.extend([0x45, 0, (len >> 8) as u8, len as u8, 0, 1, 0x40, 0, 64, 6, 0, 0]);
    frame.extend([10, 0, 0, 1, 10, 0, 0, 2]);
    let check = !sum(&frame[14..34], 0) as u16;
    frame[24..26].copy_from_slice(&check.to_be_bytes());
    // Ports, sequence, acknowledgment, data offset 5, ACK, window.
    frame.extend([0x10, 0, 0x20, 0, 0, 0, 0, 7, 0, 0, 0, 9, 0x50, 0x10, 1, 0, 0, 0, 0, 0]);
    let check = pseudo(&frame[14..34], 20 + payload.len()) as u16;
    frame[50..52].copy_from_slice(&check.to_be_bytes());
    frame.extend(payload);
    frame
}

fn payload(len: usize) -> Vec<u8> {
    (0..len).map(|i| (i as u8).wrapping_mul(13) ^ (i >> 8) as u8).collect()
}

/// Checks both checksums of a segment; returns its sequence number and payload.
fn checked(frame: &[u8]) -> (u32, &[u8]) {
    let (ip, tcp) = (&frame[14..34], &frame[34..]);
    assert_eq!(usize::from(u16::from_be_bytes([ip[2], ip[3]])), 20 + tcp.len());
    assert_eq!(sum(ip, 0), 0xffff, "the IP header's checksum");
    assert_eq!(sum(tcp, pseudo(ip, tcp.len())), 0xffff, "TCP's checksum");
    (u32::from_be_bytes([tcp[4], tcp[5], tcp[6], tcp[7]]), &frame[HEADERS..])
}

fn header(offload: Offload) -> [u8; 12] {
    let mut header = [0; 12];
    header[..10].copy_from_slice(&offload.to_vnet());
    header
}

const PARTIAL: Csum = Csum::Partial { start: 34, offset: 16 };

fn receive(guest: &mut Guest, count: usize) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut all = Vec::new();
    until(&format!("{count} packets"), || {
        all.extend(guest.rx[0].take());
        all.len() >= count
    });
    all
}

#[suite::test]
fn checksums_and_segments_are_left_or_done() {
    let all = plain() | Features::GSO;
    // As DPDK's driver: neither UDP nor ECN.
    let tso = plain() | Features::GUEST_CSUM | Features::GUEST_TSO4 | Features::GUEST_TSO6;
    for takes in [plain(), plain() | Features::GUEST_CSUM, tso, all] {
        let Some((_lab, _netns, rig)) = rig(0) else { return };
        let dir = Dir::new("offload");
        let (one, two) = (wanted(all, 1, 64, 1, false), wanted(takes, 1, 64, 1, false));
        let (mut a, mut b) = guests(&rig, &dir, one, two, "gso");
        warm(&mut a, &mut b);
        // A checksum.
        let small = partial(&payload(1001));
        let offload = Offload { csum: PARTIAL, gso: None };
        assert!(a.tx[0].send(header(offload), &small));
        let came = receive(&mut b, 1);
        if takes.contains(Features::GUEST_CSUM) {
            assert_eq!(came[0].0[..10], offload.to_vnet());
            assert_eq!(came[0].1, small);
        } else {
            assert_eq!(came[0].0[..10], [0; 10]);
            assert_eq!(checked(&came[0].1), (7, &payload(1001)[..]));
        }
        // Segments.
        let large = partial(&payload(30_000));
        let gso = Gso { kind: GsoKind::TcpV4, ecn: true, size: 1448, hdr_len: HEADERS as u16 };
        let mut offload = Offload { csum: PARTIAL, gso: Some(gso) };
        assert!(a.tx[0].send(header(offload), &large));
        if takes.contains(tso) {
            offload.gso = Some(Gso { ecn: takes == all, ..gso });
            let came = receive(&mut b, 1);
            assert_eq!((&came[0].0[..10], &came[0].1), (&offload.to_vnet()[..], &large));
        } else {
            let came = receive(&mut b, 21);
            let mut bytes = Vec::<u8>::new();
            for (header, frame) in &came {
                assert_eq!(header[..10], [0; 10]);
                let (sequence, part) = checked(frame);
                assert_eq!(sequence as usize, 7 + bytes.len());
                bytes.extend(part);
            }
            assert_eq!(bytes, payload(30_000));
        }
        // A header that asks for what can't be.
        for bad in
            [Csum::Partial { start: 20_000, offset: 16 }, Csum::Partial { start: 35, offset: 16 }]
        {
            assert!(a.tx[0].send(header(Offload { csum: bad, gso: None }), &small));
        }
        let refused = || {
            let drops = rig.drops();
            let reason = |why: &str| why == "bad_checksum_offset";
            drops.iter().find(|(_, why, _)| reason(why)).map_or(0, |(_, _, n)| *n)
        };
        until("both are counted", || refused() == 2);
        drop((a, b));
        rig.finish();
    }
    // A guest to which that wasn't offered: its headers mean nothing.
    let Some((_lab, _netns, rig)) = rig(0) else { return };
    let dir = Dir::new("nothing");
    let like = wanted(plain(), 1, 64, 1, false);
    let (mut a, mut b) = guests(&rig, &dir, like, like, "");
    warm(&mut a, &mut b);
    let frame = partial(&payload(100));
    assert!(a.tx[0].send(header(Offload { csum: PARTIAL, gso: None }), &frame));
    assert_eq!(receive(&mut b, 1)[0].1, frame);
    drop((a, b));
    rig.finish();
}
