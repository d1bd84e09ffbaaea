// SPDX-License-Identifier: Apache-2.0
//! The bytes of messages, and the socket that they come by.

use super::peer::{FrontEnd, event, file, message};
use crate::io::{InflightInfo, RegionInfo};
use crate::proto::{Channel, Kind, Message, Received, Reply, Request};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use std::os::fd::AsFd;

fn pair() -> (FrontEnd, Channel) {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let (a, b) = socketpair(AddressFamily::UNIX, SocketType::STREAM, flags, None).expect("a pair");
    (FrontEnd(a), Channel::new(b))
}

fn all() -> Vec<Request> {
    let region = |n| RegionInfo { guest: n << 20, size: 4096, user: n << 30, offset: n };
    vec![
        Request::GetFeatures,
        Request::SetFeatures(0x1_4000_8000),
        Request::SetOwner,
        Request::ResetOwner,
        Request::SetMemTable(vec![]),
        Request::SetMemTable((1..=8).map(region).collect()),
        Request::SetLogBase { size: 1 << 20, offset: 4096 },
        Request::SetLogFd,
        Request::SetVringNum { index: 3, num: 256 },
        Request::SetVringAddr { index: 1, desc: 1 << 40, used: 2 << 40, avail: 3 << 40 },
        Request::SetVringBase { index: 2, num: 77 },
        Request::GetVringBase { index: 2 },
        Request::SetVringKick { index: 255, has_fd: true },
        Request::SetVringKick { index: 0, has_fd: false },
        Request::SetVringCall { index: 1, has_fd: true },
        Request::SetVringErr { index: 1, has_fd: false },
        Request::GetProtocolFeatures,
        Request::SetProtocolFeatures(9),
        Request::GetQueueNum,
        Request::SetVringEnable { index: 4, enable: true },
        Request::GetInflightFd { queues: 4, queue_size: 256, padded: true },
        Request::GetInflightFd { queues: 4, queue_size: 256, padded: false },
        Request::SetInflightFd(InflightInfo {
            size: 1 << 14,
            offset: 64,
            queues: 4,
            queue_size: 64,
        }),
    ]
}

fn received(channel: &mut Channel) -> Message {
    match channel.receive() {
        Received::Message(message, fds) => {
            assert_eq!(fds.len(), message.fds());
            message
        }
        Received::Nothing => panic!("nothing"),
        Received::Closed => panic!("closed"),
        Received::Malformed(why) => panic!("{why}"),
    }
}

#[track_caller]
fn refused(bytes: &[u8], fds: usize, why: &str) {
    let (front, mut channel) = pair();
    let file = file(4096);
    front.send_bytes(bytes, &vec![file.as_fd(); fds]);
    match channel.receive() {
        Received::Malformed(text) => assert!(text.contains(why), "{text}"),
        Received::Message(message, _) => panic!("{why}: {message:?}"),
        Received::Nothing => panic!("{why}: nothing"),
        Received::Closed => panic!("{why}: closed"),
    }
}

#[suite::test]
fn fields_stand_where_the_protocol_says() {
    let addresses = Request::SetVringAddr { index: 1, desc: 0x11, used: 0x22, avail: 0x33 };
    let bytes = message(addresses).encode();
    let header = [9u32, 1, 40].map(u32::to_ne_bytes).concat();
    assert_eq!((&bytes[..12], bytes.len()), (&header[..], 52));
    assert_eq!((bytes[12], bytes[20], bytes[28], bytes[36]), (1, 0x11, 0x22, 0x33));
    let table = vec![RegionInfo { guest: 0x44, size: 0x55, user: 0x66, offset: 0x77 }];
    let bytes = message(Request::SetMemTable(table)).encode();
    assert_eq!((bytes[12], bytes.len()), (1, 12 + 40));
    assert_eq!((bytes[20], bytes[28], bytes[36], bytes[44]), (0x44, 0x55, 0x66, 0x77));
    let kick = message(Request::SetVringKick { index: 7, has_fd: false }).encode();
    assert_eq!(kick[12..20], 0x107u64.to_ne_bytes());
    let info = InflightInfo { size: 0x88, offset: 0x99, queues: 2, queue_size: 0x100 };
    let bytes = message(Request::SetInflightFd(info)).encode();
    let fields = [0x88u64.to_ne_bytes(), 0x99u64.to_ne_bytes()].concat();
    let numbers = [2u16, 0x100, 0, 0].map(u16::to_ne_bytes).concat();
    assert_eq!(bytes[..12], [32u32, 1, 24].map(u32::to_ne_bytes).concat());
    assert_eq!((&bytes[12..28], &bytes[28..]), (&fields[..], &numbers[..]));
    for padded in [false, true] {
        let reply = Reply::Inflight { info, padded }.encode(Kind::GetInflightFd);
        let len = if padded { 24 } else { 20 };
        assert_eq!(reply[..12], [31u32, 5, len].map(u32::to_ne_bytes).concat());
        assert_eq!(reply[12..], bytes[12..12 + len as usize]);
    }
    let reply = Reply::Base { index: 3, num: 9 }.encode(Kind::GetVringBase);
    let expected = [11u32, 5, 8, 3, 9].map(u32::to_ne_bytes).concat();
    assert_eq!(reply, expected);
    let reply = Reply::Word(0x8000_0001).encode(Kind::GetFeatures);
    assert_eq!(reply[..12], [1u32, 5, 8].map(u32::to_ne_bytes).concat());
    assert_eq!(reply[12..], 0x8000_0001u64.to_ne_bytes());
}

#[suite::test]
fn messages_are_read_as_they_were_written_however_they_come() {
    let (front, mut channel) = pair();
    let (file, event) = (file(4096), event());
    for needs_reply in [false, true] {
        for request in all() {
            let message = Message { needs_reply, ..message(request) };
            let fd = if message.fds() > 1 { file.as_fd() } else { event.as_fd() };
            let fds = vec![fd; message.fds()];
            let bytes = message.encode();
            front.send_bytes(&bytes, &fds);
            assert_eq!(received(&mut channel), message);
            // Byte by byte.
            for (n, byte) in bytes.iter().enumerate() {
                assert!(matches!(channel.receive(), Received::Nothing), "{n} of {message:?}");
                front.send_bytes(&[*byte], if n == 0 { &fds } else { &[] });
            }
            assert_eq!(received(&mut channel), message);
        }
    }
    // Several at once, of which one has descriptors.
    for request in all() {
        let message = message(request);
        front.send_bytes(&message.encode(), &vec![file.as_fd(); message.fds()]);
    }
    for request in all() {
        assert_eq!(received(&mut channel), message(request));
    }
    drop(front);
    assert!(matches!(channel.receive(), Received::Closed));
}

#[suite::test]
fn each_malformed_message_is_refused_by_name() {
    let header = |words: [u32; 3]| words.map(u32::to_ne_bytes).concat();
    refused(&header([1, 0, 0]), 0, "GET_FEATURES: version 0");
    refused(&header([1, 2, 0]), 0, "version 2");
    refused(&header([1, 5, 0]), 0, "a reply to no request");
    refused(&header([5, 1, 265]), 0, "SET_MEM_TABLE: 265 bytes");
    refused(&header([5, 1, u32::MAX]), 0, "bytes, at most");
    for number in [0, 41, u32::MAX] {
        refused(&header([number, 1, 0]), 0, &format!("request {number} is unknown"));
    }
    for (number, name) in [(19, "SEND_RARP"), (22, "IOTLB_MSG"), (24, "GET_CONFIG")] {
        refused(&header([number, 1, 0]), 0, &format!("{name} isn't supported"));
    }
    // A payload of another length.
    for request in all() {
        let bytes = message(request.clone()).encode();
        if matches!(request, Request::SetLogFd) {
            continue;
        }
        let fds = message(request).fds();
        for change in [-1i32, 1] {
            let mut bytes = bytes.clone();
            let len = bytes.len() as i32 - 12 + change;
            if len < 0 {
                continue;
            }
            if change < 0 {
                bytes.pop();
            } else {
                bytes.push(0);
            }
            bytes[8..12].copy_from_slice(&len.to_ne_bytes());
            let why = if bytes.len() > 276 { "at most" } else { "a payload of" };
            refused(&bytes, fds, why);
        }
    }
    let mut table = message(Request::SetMemTable(vec![RegionInfo::default()])).encode();
    for count in [0u32, 2, 9, u32::MAX] {
        table[12..16].copy_from_slice(&count.to_ne_bytes());
        refused(&table, 1, "a payload of");
    }
    // Another number of descriptors.
    for request in all() {
        let message = message(request);
        let (bytes, fds) = (message.encode(), message.fds());
        if fds < 8 {
            refused(&bytes, fds + 1, &format!("{} descriptors", fds + 1));
        } else {
            refused(&bytes, fds + 1, "more than 8 descriptors");
        }
        if fds > 0 {
            refused(&bytes, fds - 1, &format!("{} descriptors", fds - 1));
        }
    }
}
