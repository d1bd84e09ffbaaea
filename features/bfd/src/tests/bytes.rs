// SPDX-License-Identifier: Apache-2.0
//! Packets, byte by byte.

use super::*;
use crate::auth::{Auth, AuthType};
use crate::packet::{Diag, LEN, PacketError, Section};

const EXAMPLE: Control = Control {
    diag: Diag::NEIGHBOR_DOWN,
    state: State::Up,
    poll: true,
    r#final: false,
    independent: true,
    demand: false,
    detect_mult: 5,
    my_disc: 0x0102_0304,
    your_disc: 0xa0b0_c0d0,
    desired_min_tx: 1_000_000,
    required_min_rx: 300_000,
    required_min_echo_rx: 1,
    auth: None,
};

#[rustfmt::skip]
const BYTES: [u8; LEN] = [
    0x23, 0xe8, 5, 24,
    1, 2, 3, 4,
    0xa0, 0xb0, 0xc0, 0xd0,
    0, 0x0f, 0x42, 0x40,
    0, 0x04, 0x93, 0xe0,
    0, 0, 0, 1,
];

#[suite::test]
fn packets_have_the_layout_of_the_rfc() {
    let mut to = [0; MAX_LEN];
    assert_eq!((EXAMPLE.write(&mut to), &to[..LEN]), (LEN, &BYTES[..]));
    assert_eq!(Control::read(&BYTES), Ok((EXAMPLE, &BYTES[..])));
    // Bytes behind the packet are no part of it.
    let padded = [&BYTES[..], &[0xff; 9]].concat();
    assert_eq!(Control::read(&padded), Ok((EXAMPLE, &BYTES[..])));
}

#[suite::test]
fn a_digest_covers_the_packet_and_the_secret() {
    let mut secret = [0; 20];
    secret[..3].copy_from_slice(b"abc");
    let auth = Auth { kind: AuthType::Meticulous, key_id: 9, secret };
    let packet = Control { auth: Some(auth.section(0x0a0b_0c0d)), ..EXAMPLE };
    let mut to = [0; MAX_LEN];
    assert_eq!(packet.write(&mut to), MAX_LEN);
    auth.sign(&mut to);
    assert_eq!((to[1], to[3]), (0xec, 52));
    assert_eq!(to[24..32], [5, 28, 9, 0, 0x0a, 0x0b, 0x0c, 0x0d]);
    let signed = [&to[..32], &secret].concat();
    assert_eq!(to[32..], crate::sha1::sha1(&signed));
    let read = Control::read(&to).expect("a packet");
    assert_eq!(read, (packet, &to[..]));
    assert!(auth.covers(&read.0.auth.expect("a section"), &to) && auth.verifies(&to));
    for i in 0..MAX_LEN {
        let mut other = to;
        other[i] ^= 1;
        assert!(!auth.verifies(&other), "byte {i}");
    }
    let section = Section { kind: 4, ..packet.auth.expect("a section") };
    assert!(!auth.covers(&section, &to), "another type");
}

#[suite::test]
fn bad_packets_are_refused() {
    let with = |changes: &[(usize, u8)]| {
        let mut bytes = BYTES;
        changes.iter().for_each(|(at, value)| bytes[*at] = *value);
        Control::read(&bytes).expect_err("a bad packet")
    };
    assert_eq!(with(&[(0, 0x43)]), PacketError::Version);
    assert_eq!(with(&[(3, 23)]), PacketError::Length);
    assert_eq!(with(&[(3, 25)]), PacketError::Length, "longer than the datagram");
    assert_eq!(with(&[(1, 0xec)]), PacketError::Length, "A without a section");
    assert_eq!(with(&[(2, 0)]), PacketError::DetectMult);
    assert_eq!(with(&[(1, 0xe9)]), PacketError::Multipoint);
    assert_eq!(with(&[(4, 0), (5, 0), (6, 0), (7, 0)]), PacketError::MyDisc);
    assert_eq!(with(&[(8, 0), (9, 0), (10, 0), (11, 0)]), PacketError::YourDisc);
    for len in 0..LEN {
        assert_eq!(Control::read(&BYTES[..len]), Err(PacketError::Length));
    }
}
