// SPDX-License-Identifier: Apache-2.0
//! Clients whose memory isn't sealed, and that shrink it while it is used.

use super::pair::{cross, frame, is_up, layout, rig, two_servers, until, warm};
use super::peer::{Dir, Peer, next, wanted};
use crate::io::{Event, Layout, Region, Ring};
use crate::proto::{Channel, Init, Link, Message, RingInfo, SECRET, VERSION};
use crate::socket::Address;
use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

/// A client that gives a server a file which may shrink; the file.
fn client(address: &Address, id: u32, layout: Layout) -> (Peer, OwnedFd) {
    let len = layout.len().expect("it fits");
    let fd = memfd_create("unsealed", MemfdFlags::CLOEXEC).expect("a memfd");
    ftruncate(&fd, len as u64).expect("grows");
    let region = Region::open(fd.try_clone().expect("a copy"), len as u64, None).expect("mapped");
    let region = Arc::new(region);
    let rings = (0..layout.s2m + layout.m2s).map(|number| {
        let offset = layout.ring(number);
        let ring = Ring::new(region.clone(), offset, layout.log2).expect("it fits");
        ring.init();
        let event = Arc::new(Event::new().expect("an eventfd"));
        RingInfo { ring, region: 0, offset, event, own: Some(layout.buffers(number)) }
    });
    let mut s2m: Vec<_> = rings.collect();
    let m2s = s2m.split_off(layout.s2m.into());
    let channel = Channel::new(address.connect().expect("somebody listens"));
    assert!(matches!(next(&channel), Some((Message::Hello(_), _))));
    let tell = |message: Message, fd: Option<BorrowedFd<'_>>| {
        channel.send(&message, fd).expect("sent");
        next(&channel).expect("an answer").0
    };
    let name = "unsealed".into();
    let init = Init { version: VERSION, id, mode: 0, secret: [0; SECRET], name };
    let mut answers = vec![tell(Message::Init(init), None)];
    let message = Message::AddRegion { index: 0, size: len as u64 };
    answers.push(tell(message, Some(fd.as_fd())));
    for (is_s2m, rings) in [(true, &s2m), (false, &m2s)] {
        for (index, RingInfo { offset, event, .. }) in (0..).zip(rings) {
            let (region, offset, log2) = (0, *offset, layout.log2);
            let message = Message::AddRing { s2m: is_s2m, index, region, offset, log2, private: 0 };
            answers.push(tell(message, Some(event.as_fd())));
        }
    }
    assert!(answers.iter().all(|answer| matches!(answer, Message::Ack)));
    // Its buffers are there before the server looks at the rings.
    let link = Link { regions: vec![region].into(), s2m, m2s, peer_interface: String::new() };
    let (rx, tx) = link.client_rings();
    assert!(matches!(tell(Message::Connect("x".into()), None), Message::Connected(_)));
    (Peer { channel, rx, tx, link }, fd)
}

/// Mappings of clients' memory.
fn maps() -> usize {
    let maps = std::fs::read_to_string("/proc/self/maps").expect("a list");
    maps.lines().filter(|line| line.contains("memfd:unsealed")).count()
}

#[suite::test]
fn a_client_that_shrinks_its_memory_loses_its_connection_only() {
    let Some((_lab, _netns, rig)) = rig(1) else { return };
    let dir = Dir::new("shrink");
    two_servers(&rig, &dir.path("a"));
    let (bad, address) = ("memif1/1", dir.address("a"));
    let mut good = Peer::client(&address, wanted(2, layout(1, 6))).expect("connected");
    rig.wire(bad, "memif1/2");
    // All of it is taken away; all but the rings.
    for (n, cut) in [0, 4096, 0, 4096].into_iter().enumerate() {
        let (mut peer, fd) = client(&address, 1, layout(1, 6));
        until("both links", || is_up(&rig, bad) && is_up(&rig, "memif1/2"));
        warm(&mut peer, &mut good);
        warm(&mut good, &mut peer);
        cross(&rig, &mut peer, &mut good);
        // Frames pass in both directions while the file shrinks.
        let frames: Vec<_> = (0..20).map(|n| frame(n, 1500)).collect();
        assert_eq!(peer.send(0, &frames), []);
        good.send(0, &frames);
        ftruncate(&fd, cut).expect("shrinks");
        until("the link is down", || {
            good.send(0, &frames);
            good.take();
            !is_up(&rig, bad)
        });
        let reason = "memory region 0 is gone: its file has shrunk, or no memory is left for it";
        let Some((Message::Disconnect { text, .. }, _)) = next(&peer.channel) else {
            panic!("no reason came")
        };
        assert_eq!(text.0, reason);
        assert!(next(&peer.channel).is_none(), "it is closed");
        let shown = rig.cli("show memif memif1/1").expect("shown");
        assert!(shown.contains(reason), "{shown}");
        assert!(shown.contains(&format!("memory-taken-away {}", n + 1)), "{shown}");
        drop(peer);
        assert_eq!(maps(), 0, "nothing of its memory is left");
        assert!(is_up(&rig, "memif1/2"));
        until("the other one's ring is empty", || good.ring_sent().is_taken());
        good.take();
    }
    let mut peer = Peer::client(&address, wanted(1, layout(1, 6))).expect("connected");
    until("the link is up", || is_up(&rig, bad));
    warm(&mut peer, &mut good);
    warm(&mut good, &mut peer);
    cross(&rig, &mut peer, &mut good);
    let shown = rig.cli("show memif memif1/2").expect("shown");
    assert!(!shown.contains("taken-away"), "{shown}");
    drop((peer, good));
    rig.finish();
}
