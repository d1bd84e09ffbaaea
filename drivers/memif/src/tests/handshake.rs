// SPDX-License-Identifier: Apache-2.0
//! The handshake of a server with a client that does one thing wrong.

use super::peer::hello;
use crate::io::{Event, Layout, Region, Ring};
use crate::proto::{
    Client, End, Init, Message, Reply, RequestedParameters, SECRET, Server, Step, VERSION,
};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

const LEN: u64 = 8192;

fn init() -> Message {
    Message::Init(Init {
        version: VERSION,
        id: 1,
        mode: 0,
        secret: [0; SECRET],
        name: "test".into(),
    })
}

fn memory() -> OwnedFd {
    let region = Region::create(LEN as usize).expect("memory");
    region.as_fd().try_clone_to_owned().expect("a copy")
}

fn event() -> OwnedFd {
    Event::new().expect("an eventfd").as_fd().try_clone_to_owned().expect("a copy")
}

fn ring() -> Message {
    Message::AddRing { s2m: true, index: 0, region: 0, offset: 0, log2: 4, private: 0 }
}

/// A server's answer to the last of these messages; it acknowledges all others.
fn said(messages: Vec<(Message, Option<OwnedFd>)>) -> Result<Reply, End> {
    let (mut server, count) = (Server::default(), messages.len());
    for (n, (message, fd)) in messages.into_iter().enumerate() {
        let answer = server.step(message, fd, |_| Ok(()));
        if n + 1 == count {
            return answer;
        }
        assert!(matches!(answer, Ok(Reply::Ack)), "message {n}");
    }
    panic!("no message");
}

#[track_caller]
fn refused(messages: Vec<(Message, Option<OwnedFd>)>, why: &str) {
    match said(messages) {
        Err(End::Refuse(text)) => assert!(text.contains(why), "{text}"),
        Err(other) => panic!("{other:?}"),
        Ok(_) => panic!("accepted: {why}"),
    }
}

/// The fields of [`Message::AddRing`].
struct Fields {
    index: u16,
    region: u16,
    offset: u32,
    log2: u8,
    private: u16,
}

#[suite::test]
fn each_wrong_field_is_refused_by_name() {
    let start = || vec![(init(), None)];
    let with =
        |more: Vec<(Message, Option<OwnedFd>)>| start().into_iter().chain(more).collect::<Vec<_>>();
    let region = |index, size| Message::AddRegion { index, size };
    let good = || (region(0, LEN), Some(memory()));
    // Messages out of their order.
    refused(vec![(Message::Ack, None)], "unexpected");
    refused(vec![(region(0, LEN), Some(memory()))], "unexpected");
    refused(vec![(ring(), Some(event()))], "unexpected");
    refused(vec![(Message::Connect("x".into()), None)], "unexpected");
    refused(with(vec![(init(), None)]), "unexpected");
    refused(with(vec![(Message::Hello(hello()), None)]), "unexpected");
    // Regions.
    refused(with(vec![(region(1, LEN), Some(memory()))]), "region index");
    refused(with(vec![good(), good()]), "region index");
    refused(with(vec![(region(0, LEN), None)]), "missing memory");
    refused(with(vec![(region(0, LEN + 1), Some(memory()))]), "longer than its file");
    refused(with(vec![(region(0, 0), Some(memory()))]), "a region is empty");
    refused(with(vec![(region(0, u64::MAX), Some(memory()))]), "4 GiB");
    refused(with(vec![(region(0, LEN), Some(event()))]), "memfd");
    // Rings.
    let change = |f: fn(&mut Fields)| {
        let mut fields = Fields { index: 0, region: 0, offset: 0, log2: 4, private: 0 };
        f(&mut fields);
        let Fields { index, region, offset, log2, private } = fields;
        (Message::AddRing { s2m: true, index, region, offset, log2, private }, Some(event()))
    };
    refused(with(vec![good(), change(|f| f.index = 1)]), "ring index");
    refused(with(vec![good(), change(|f| f.region = 1)]), "region of ring");
    refused(with(vec![good(), change(|f| f.offset = LEN as u32 - 100)]), "outside");
    refused(with(vec![good(), change(|f| f.offset = u32::MAX)]), "outside");
    refused(with(vec![good(), change(|f| f.offset = 2)]), "outside");
    refused(with(vec![good(), change(|f| f.log2 = 14)]), "outside");
    refused(with(vec![good(), change(|f| f.log2 = 15)]), "2^14");
    refused(with(vec![good(), change(|f| f.log2 = 255)]), "2^14");
    refused(with(vec![good(), change(|f| f.private = 8)]), "private");
    refused(with(vec![good(), (ring(), None)]), "missing interrupt");
    refused(with(vec![good(), (ring(), Some(memory()))]), "no eventfd");
    refused(with(vec![good(), (ring(), Some(event())), (ring(), Some(event()))]), "ring index");
    // Nobody has written a cookie there.
    refused(
        with(vec![good(), (ring(), Some(event())), (Message::Connect("x".into()), None)]),
        "cookie",
    );
}

#[suite::test]
fn another_version_is_closed_without_a_word_and_a_reason_is_kept() {
    let other = Init { version: 0x0300, id: 1, mode: 0, secret: [0; SECRET], name: "test".into() };
    assert!(matches!(said(vec![(Message::Init(other), None)]), Err(End::Silent(_))));
    let bye = Message::Disconnect { code: 0, text: "bye".into() };
    assert!(matches!(said(vec![(bye, None)]), Err(End::Peer(text)) if text == "bye"));
    let answer = Server::default().step(init(), None, |_| Err("mode mismatch".into()));
    assert!(matches!(answer, Err(End::Refuse(text)) if text == "mode mismatch"));
}

#[suite::test]
fn a_complete_handshake_takes_no_further_message() {
    let mut server = Server::default();
    let region = Region::create(LEN as usize).expect("memory");
    let fd = region.as_fd().try_clone_to_owned().expect("a copy");
    Ring::new(Arc::new(region), 0, 4).expect("it fits").init();
    let messages = [
        (init(), None),
        (Message::AddRegion { index: 0, size: LEN }, Some(fd)),
        (ring(), Some(event())),
    ];
    for (message, fd) in messages {
        assert!(matches!(server.step(message, fd, |_| Ok(())), Ok(Reply::Ack)));
    }
    let answer = server.step(Message::Connect("x".into()), None, |_| Ok(()));
    let Ok(Reply::Connected(link)) = answer else { panic!("not connected") };
    assert_eq!((link.s2m.len(), link.m2s.len(), link.peer_interface.as_str()), (1, 0, "x"));
    assert!(server.step(ring(), Some(event()), |_| Ok(())).is_err());
}

#[suite::test]
fn a_client_takes_no_more_than_the_server_offers() {
    let layout = Layout { s2m: 4, m2s: 4, log2: 12, buffer: 256 };
    let wanted =
        RequestedParameters { id: 1, mode: 0, secret: [0; SECRET], layout, interface: "m".into() };
    let mut client = Client::new(wanted.clone());
    assert!(client.step(Message::Ack).is_err(), "nothing was sent");
    let less = crate::proto::Hello { max_s2m: 1, max_m2s: 0, max_log2: 6, ..hello() };
    let mut client = Client::new(wanted.clone());
    let mut next = Message::Hello(less);
    let mut rings = Vec::new();
    let link = loop {
        match client.step(next).expect("it goes on") {
            Step::Send(message, fd) => {
                assert_eq!(
                    fd.is_some(),
                    matches!(message, Message::AddRegion { .. } | Message::AddRing { .. })
                );
                if let Message::AddRing { s2m, index, log2, .. } = message {
                    rings.push((s2m, index, log2));
                }
                next = if matches!(message, Message::Connect(_)) {
                    Message::Connected("there".into())
                } else {
                    Message::Ack
                };
            }
            Step::Connected(link) => break link,
        }
    };
    assert_eq!(rings, [(true, 0, 6), (true, 1, 6), (false, 0, 6)]);
    assert_eq!((link.s2m.len(), link.m2s.len(), link.s2m[0].ring.size()), (2, 1, 64));
    let old = crate::proto::Hello { min_version: 0x0100, max_version: 0x0100, ..hello() };
    assert!(matches!(Client::new(wanted).step(Message::Hello(old)), Err(End::Silent(_))));
}
