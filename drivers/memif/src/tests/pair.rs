// SPDX-License-Identifier: Apache-2.0
//! Frames from a peer through a running instance to another peer.

use super::peer::{Dir, PATIENCE, Peer, next, secret, wanted};
use crate::io::{Desc, Layout};
use crate::proto::{End, Message};
use driver::Loss;
use driver::rig::{Rig, WIRE};
use graph::Plugin;
use net::Interfaces;
use std::time::{Duration, Instant};
use testkit::Rng;
use testkit::lab::{self, Lab};

static PLUGINS: &[&Plugin] = &[&interface::PLUGIN, &ethernet::PLUGIN, &crate::PLUGIN, &WIRE];

pub fn rig(workers: usize) -> Option<(Lab, lab::Netns, Rig)> {
    let lab = lab::require(&["root"])?;
    let netns = lab.netns("m");
    let rig = Rig::new(netns.name().expect("it has one"), PLUGINS, workers);
    Some((lab, netns, rig))
}

/// Makes `memif1/1` and `memif1/2`, servers behind one socket.
#[track_caller]
pub fn two_servers(rig: &Rig, socket: &str) {
    rig.script(&format!(
        "create memif socket id 1 filename {socket}
         create interface memif socket-id 1 id 1 master
         create interface memif socket-id 1 id 2 master
         set interface state memif1/1 up
         set interface state memif1/2 up"
    ));
}

pub fn layout(queues: u16, log2: u8) -> Layout {
    Layout { s2m: queues, m2s: queues, log2, buffer: 2048 }
}

/// A frame whose bytes are its own.
pub fn frame(n: usize, len: usize) -> Vec<u8> {
    let head = [2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x88, 0xb5];
    let body = (0..len - head.len())
        .map(|i| (i as u8).wrapping_mul(7) ^ (i >> 8) as u8 ^ (n as u8).wrapping_mul(11));
    head.into_iter().chain(body).collect()
}

pub fn is_up(rig: &Rig, name: &'static str) -> bool {
    rig.control(move |world| {
        let interfaces = world.get::<Interfaces>();
        interfaces.find(name).and_then(|i| interfaces.get(i)).is_ok_and(|i| i.link_up)
    })
}

#[track_caller]
pub fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let limit = Instant::now() + PATIENCE;
    while !condition() {
        assert!(Instant::now() < limit, "waited in vain: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Waits until the wire from one peer to the other carries frames: threads learn of it in their
/// next turn.
pub fn warm(from: &mut Peer, to: &mut Peer) {
    until("the wire carries frames", || {
        assert_eq!(from.send(0, &[frame(0, 60)]), []);
        let ring = from.ring_sent();
        until("a frame is taken", || ring.is_taken());
        std::thread::sleep(Duration::from_millis(20));
        !to.take().is_empty()
    });
}

/// Frames of all lengths go through and come out as they were, by each of the peer's rings.
pub fn cross(rig: &Rig, a: &mut Peer, b: &mut Peer) {
    let lengths = [60, 64, 1514, 2047, 2048, 2049, 4096, 9014];
    for round in 0..6 {
        for back in [false, true] {
            let (from, to) = if back { (&mut *b, &mut *a) } else { (&mut *a, &mut *b) };
            for ring in 0..from.tx.len() {
                let sent: Vec<_> = lengths
                    .iter()
                    .enumerate()
                    .map(|(n, len)| frame(round * 100 + n, *len))
                    .collect();
                assert_eq!(from.send(ring, &sent), []);
                assert_eq!(to.receive(sent.len()), sent, "{:?}", rig.drops());
            }
        }
    }
}

#[suite::test]
fn frames_pass_in_each_role_and_mode() {
    for workers in [0, 2] {
        let Some((_lab, _netns, rig)) = rig(workers) else { return };
        let dir = Dir::new(&format!("pass{workers}"));
        rig.script(&format!(
            "create memif socket id 1 filename {}
             create memif socket id 2 filename {}
             create interface memif socket-id 1 id 7 master
             create interface memif socket-id 2 id 8 slave ring-size 64 rx-queues 3 tx-queues 2
             set interface state memif1/7 up",
            dir.path("server"),
            dir.path("client")
        ));
        let listener = dir.address("client").listen().expect("listens");
        rig.script("set interface state memif2/8 up");
        let mut b = Peer::server(&listener);
        let mut a =
            Peer::client(&dir.address("server"), wanted(7, layout(2, 6))).expect("connected");
        until("both links", || is_up(&rig, "memif1/7") && is_up(&rig, "memif2/8"));
        assert_eq!((b.rx.len(), b.tx.len()), (2, 3));
        rig.wire("memif1/7", "memif2/8");
        warm(&mut a, &mut b);
        warm(&mut b, &mut a);
        for mode in ["polling", "interrupt", "adaptive"] {
            rig.script(&format!(
                "set interface rx-mode memif1/7 {mode}
                 set interface rx-mode memif2/8 {mode}"
            ));
            cross(&rig, &mut a, &mut b);
        }
        // Down and up again: the connection stays, and what came meanwhile is forgotten.
        rig.script("set interface state memif1/7 down");
        rig.settle();
        assert_eq!(a.send(0, &[frame(1, 100)]), []);
        rig.script("set interface state memif1/7 up");
        rig.settle();
        until("the ring is empty", || a.link.s2m[0].ring.head() == a.link.s2m[0].ring.tail());
        assert!(b.take().is_empty());
        cross(&rig, &mut a, &mut b);
        let shown = rig.cli("show memif memif1/7 descriptors").expect("shown");
        assert!(
            shown.contains("remote-interface \"peer7\"") && shown.contains("descriptor table"),
            "{shown}"
        );
        drop((a, b));
        until("the links are down", || !is_up(&rig, "memif1/7") && !is_up(&rig, "memif2/8"));
        // Another peer takes the place of the first, with other numbers of rings.
        let mut b = Peer::server(&listener);
        let mut a =
            Peer::client(&dir.address("server"), wanted(7, layout(3, 8))).expect("connected");
        until("both links", || is_up(&rig, "memif1/7") && is_up(&rig, "memif2/8"));
        cross(&rig, &mut a, &mut b);
        rig.script("delete interface memif memif1/7");
        assert!(
            matches!(next(&a.channel), Some((Message::Disconnect { text, .. }, _)) if text.0 == "interface deleted")
        );
        assert!(next(&a.channel).is_none());
        rig.finish();
    }
}

#[suite::test]
fn a_burst_of_long_frames_into_a_small_ring_loses_whole_frames_only() {
    let Some((_lab, _netns, rig)) = rig(0) else { return };
    let dir = Dir::new("burst");
    two_servers(&rig, &dir.path("s"));
    let mut a = Peer::client(&dir.address("s"), wanted(1, layout(1, 10))).expect("connected");
    let mut b = Peer::client(&dir.address("s"), wanted(2, layout(1, 6))).expect("connected");
    rig.wire("memif1/1", "memif1/2");
    warm(&mut a, &mut b);
    let sent: Vec<_> = (0..128).map(|n| frame(n, 9000)).collect();
    assert_eq!(a.send(0, &sent), []);
    until("all were taken", || a.link.s2m[0].ring.head() == a.link.s2m[0].ring.tail());
    let lost = || {
        rig.drops().iter().find(|(_, reason, _)| *reason == "queue_full").map_or(0, |(_, _, n)| *n)
    };
    until("some were lost", || lost() > 0);
    let mut came = Vec::new();
    until("the rest came", || {
        came.extend(b.take());
        came.len() as u64 + lost() == 128
    });
    let mut left = sent.iter();
    assert!(
        came.iter().all(|frame| left.any(|sent| sent == frame)),
        "broken, twice or out of order"
    );
    assert_eq!(a.send(0, &[frame(1, 65_000 + 14)]), []);
    assert_eq!(b.receive(1), [frame(1, 65_000 + 14)]);
    assert_eq!(a.send(0, &[frame(1, 2048 * 1024 + 1)]), [(0, Loss::TooLong)]);
    drop((a, b));
    rig.finish();
}

#[suite::test]
fn a_server_refuses_by_name() {
    let Some((_lab, _netns, rig)) = rig(0) else { return };
    let dir = Dir::new("refuse");
    rig.script(&format!(
        "create memif socket id 1 filename {}
         create interface memif socket-id 1 id 1 master
         create interface memif socket-id 1 id 2 master secret sesame
         create interface memif socket-id 1 id 4 master",
        dir.path("s")
    ));
    let address = dir.address("s");
    let reason = |wanted| match Peer::client(&address, wanted) {
        Err(End::Peer(text)) => text,
        Err(other) => panic!("{other:?}"),
        Ok(_) => panic!("connected"),
    };
    let like = |id| wanted(id, layout(1, 6));
    assert_eq!(reason(like(3)), "unmatched interface id");
    assert_eq!(reason(crate::proto::RequestedParameters { mode: 1, ..like(1) }), "mode mismatch");
    assert_eq!(reason(like(2)), "secret required");
    assert_eq!(
        reason(crate::proto::RequestedParameters { secret: secret("sesam"), ..like(2) }),
        "incorrect secret"
    );
    assert_eq!(
        reason(crate::proto::RequestedParameters { secret: secret("sesame!"), ..like(2) }),
        "incorrect secret"
    );
    let two = Peer::client(
        &address,
        crate::proto::RequestedParameters { secret: secret("sesame"), ..like(2) },
    );
    let one = Peer::client(
        &address,
        crate::proto::RequestedParameters { secret: secret("any"), ..like(1) },
    );
    assert!(one.is_ok() && two.is_ok(), "a server without a secret takes any");
    assert_eq!(reason(like(1)), "already connected");
    drop((one, two));
    // Clients that say nothing keep no other out.
    let silent: Vec<_> = (0..40).filter_map(|_| address.connect().ok()).collect();
    assert!(silent.len() > 16 && Peer::client(&address, like(4)).is_ok());
    drop(silent);
    rig.finish();
}

/// A peer that is connected, and writes anything into the shared memory while packets pass.
#[suite::test]
fn a_hostile_peer_costs_packets_but_no_buffers() {
    let Some((_lab, _netns, rig)) = rig(1) else { return };
    let dir = Dir::new("hostile");
    rig.script(&format!(
        "create memif socket id 1 filename {}
         create interface memif socket-id 1 id 1 master
         create interface memif socket-id 1 id 2 master
         create interface memif socket-id 1 id 3 master
         set interface state memif1/1 up
         set interface state memif1/2 up
         set interface state memif1/3 up",
        dir.path("s")
    ));
    let bad = Peer::client(&dir.address("s"), wanted(1, layout(1, 6))).expect("connected");
    let mut good = Peer::client(&dir.address("s"), wanted(2, layout(1, 8))).expect("connected");
    let mut other = Peer::client(&dir.address("s"), wanted(3, layout(1, 8))).expect("connected");
    // It sends to itself: both of its rings are used.
    rig.wire("memif1/1", "memif1/1");
    let (mut rng, len) = (Rng::new(5), bad.link.regions[0].len());
    for _ in 0..20_000 {
        for info in bad.link.s2m.iter().chain(&bad.link.m2s) {
            for _ in 0..4 {
                let desc = Desc {
                    flags: rng.below(3) as u16,
                    region: u16::from(rng.below(30) == 0),
                    len: if rng.below(20) == 0 {
                        rng.next() as u32
                    } else {
                        rng.below(3000) as u32
                    },
                    offset: if rng.below(20) == 0 {
                        rng.next() as u32
                    } else {
                        rng.below(len) as u32
                    },
                };
                info.ring.set_desc(rng.next() as u16, desc);
            }
            let head = if rng.below(30) == 0 {
                rng.next() as u16
            } else {
                info.ring.tail().wrapping_add(rng.below(64) as u16)
            };
            info.ring.set_head(head);
            info.event.raise();
        }
    }
    // Others aren't disturbed.
    rig.wire("memif1/2", "memif1/3");
    warm(&mut good, &mut other);
    warm(&mut other, &mut good);
    cross(&rig, &mut good, &mut other);
    let is_counted = || {
        rig.drops().iter().any(|(node, reason, _)| node == "memif-input" && *reason == "bad_desc")
    };
    until("bad descriptors are counted", is_counted);
    drop((bad, good, other));
    rig.finish();
}
