// SPDX-License-Identifier: Apache-2.0
//! The bytes of messages.

use super::peer::hello;
use crate::proto::{Init, Message, SECRET};

#[suite::test]
fn fields_stand_where_the_protocol_says() {
    let bytes = Message::Hello(hello()).encode();
    assert_eq!((&bytes[..2], &bytes[2..7]), (&2u16.to_ne_bytes()[..], &b"peer\0"[..]));
    assert_eq!(bytes[34..36], 0x0200u16.to_ne_bytes());
    assert_eq!((&bytes[38..40], bytes[44]), (&255u16.to_ne_bytes()[..], 14));
    let init =
        Init { version: 0x0200, id: 0x0102_0304, mode: 1, secret: [7; SECRET], name: "x".into() };
    let bytes = Message::Init(init).encode();
    assert_eq!((&bytes[4..8], bytes[8]), (&0x0102_0304u32.to_ne_bytes()[..], 1));
    assert_eq!((bytes[9], bytes[32], bytes[33], bytes[34]), (7, 7, b'x', 0));
    let ring =
        Message::AddRing { s2m: true, index: 3, region: 2, offset: 77, log2: 9, private: 0x0506 };
    let bytes = ring.encode();
    assert_eq!(bytes[..2], 5u16.to_ne_bytes());
    assert_eq!(
        (&bytes[8..12], bytes[12], &bytes[13..15]),
        (&77u32.to_ne_bytes()[..], 9, &0x0506u16.to_ne_bytes()[..])
    );
    let bytes = Message::AddRegion { index: 1, size: 1 << 40 }.encode();
    assert_eq!(bytes[4..12], (1u64 << 40).to_ne_bytes());
}

#[suite::test]
fn messages_are_read_as_they_were_written() {
    let init = Init { version: 0x0200, id: 5, mode: 0, secret: [1; SECRET], name: "name".into() };
    let all = [
        Message::Ack,
        Message::Hello(hello()),
        Message::Init(init),
        Message::AddRegion { index: 2, size: 4096 },
        Message::AddRing { s2m: false, index: 1, region: 0, offset: 128, log2: 10, private: 0 },
        Message::Connect("memif0/0".into()),
        Message::Connected("memif1/0".into()),
        Message::Disconnect { code: 0, text: "mode mismatch".into() },
    ];
    for message in all {
        assert_eq!(Message::parse(&message.encode()), Some(message));
    }
    assert_eq!(Message::parse(&[0; 128]), None);
    assert_eq!(Message::parse(&[9; 128]), None);
}

#[suite::test]
fn texts_are_cut_and_made_harmless() {
    let long = Message::Connect("ä".repeat(40).as_str().into());
    let Some(Message::Connect(name)) = Message::parse(&long.encode()) else {
        panic!("another message")
    };
    assert_eq!(name.0, "ä".repeat(15));
    let mut bytes = Message::Disconnect { code: 0, text: "".into() }.encode();
    bytes[6..102].fill(0xff);
    bytes[6] = 0x1b;
    let Some(Message::Disconnect { text, .. }) = Message::parse(&bytes) else {
        panic!("another message")
    };
    assert!(text.0.starts_with('?') && !text.0.contains('\u{1b}'));
}
