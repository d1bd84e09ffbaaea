// SPDX-License-Identifier: Apache-2.0
//! Frames from a guest through a running instance to another guest.

use super::peer::{Dir, FrontEnd, Guest, Wanted, plain, until};
use super::ring::Layout;
use crate::proto::{Features, Request};
use crate::socket;
use driver::rig::{Rig, WIRE};
use graph::Plugin;
use net::Interfaces;
use std::os::fd::AsFd;
use testkit::Rng;
use testkit::lab::{self, Lab};

pub static PLUGINS: &[&Plugin] = &[&interface::PLUGIN, &ethernet::PLUGIN, &crate::PLUGIN, &WIRE];

pub const A: &str = "VirtualEthernet0/0/0";
pub const B: &str = "VirtualEthernet0/0/1";

pub fn rig(workers: usize) -> Option<(Lab, lab::Netns, Rig)> {
    let lab = lab::require(&["root"])?;
    let netns = lab.netns("v");
    let rig = Rig::new(netns.name().expect("it has one"), PLUGINS, workers);
    Some((lab, netns, rig))
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

/// Waits until the wire from one guest to the other carries frames: threads learn of it in their
/// next turn.
pub fn warm(from: &mut Guest, to: &mut Guest) {
    until("the wire carries frames", || {
        from.send(0, &[frame(0, 60)]);
        until("a frame is taken", || from.is_taken());
        std::thread::sleep(std::time::Duration::from_millis(20));
        !to.take().is_empty()
    });
    // The last of several may come now.
    std::thread::sleep(std::time::Duration::from_millis(20));
    to.take();
}

/// Frames of all lengths go through and come out as they were, by each of the guest's rings.
pub fn cross(rig: &Rig, a: &mut Guest, b: &mut Guest) {
    let lengths = [60, 64, 1514, 2047, 2048, 2049, 4096, 9014];
    for round in 0..4 {
        for back in [false, true] {
            let (from, to) = if back { (&mut *b, &mut *a) } else { (&mut *a, &mut *b) };
            for ring in 0..from.tx.len() {
                let mut sent = Vec::new();
                for (n, len) in lengths.iter().enumerate() {
                    let frame = frame(round * 100 + n, *len);
                    from.send(ring, std::slice::from_ref(&frame));
                    sent.push(frame);
                }
                let came = to.receive(sent.len());
                assert_eq!(came, sent, "{:?}", rig.drops());
            }
        }
    }
}

pub fn wanted(features: Features, pairs: u32, size: u16, chain: u16, indirect: bool) -> Wanted {
    Wanted { features, pairs, size, layout: Layout { buffer: 2048, chain, indirect } }
}

/// A server and a client with a guest each, connected by a wire.
pub fn guests(rig: &Rig, dir: &Dir, a: Wanted, b: Wanted, words: &str) -> (Guest, Guest) {
    let listener = socket::listen_at(&dir.path("b")).unwrap_or_else(|_| panic!("can't listen"));
    rig.script(&format!(
        "create vhost-user socket {} server {words}
         create vhost-user socket {} {words}
         set interface state {A} up
         set interface state {B} up",
        dir.path("a"),
        dir.path("b")
    ));
    let b = Guest::new(FrontEnd::accept(&listener), b);
    let a = Guest::new(FrontEnd::connect(&dir.path("a")), a);
    until("both links", || is_up(rig, A) && is_up(rig, B));
    rig.wire(A, B);
    (a, b)
}

#[suite::test]
fn frames_pass_in_each_format_and_mode() {
    let packed = plain() | Features::RING_PACKED;
    let event_idx = plain() | Features::EVENT_IDX;
    let legacy = Features::MRG_RXBUF;
    let kinds = [
        (0, wanted(plain(), 1, 64, 1, false), wanted(plain(), 2, 128, 2, false)),
        (2, wanted(packed, 2, 64, 1, false), wanted(packed, 1, 96, 3, false)),
        (1, wanted(event_idx, 1, 64, 1, true), wanted(plain(), 1, 64, 4, true)),
        (1, wanted(packed | Features::EVENT_IDX, 1, 64, 1, true), wanted(packed, 1, 64, 2, true)),
        (0, wanted(legacy, 1, 64, 1, false), wanted(Features::empty(), 1, 64, 8, false)),
    ];
    for (n, (workers, a, b)) in kinds.into_iter().enumerate() {
        let Some((_lab, _netns, rig)) = rig(workers) else { return };
        let dir = Dir::new(&format!("pass{n}"));
        let (mut a, mut b) = guests(&rig, &dir, a, b, "packed event-idx");
        warm(&mut a, &mut b);
        warm(&mut b, &mut a);
        for mode in ["polling", "interrupt", "adaptive"] {
            rig.script(&format!(
                "set interface rx-mode {A} {mode}
                 set interface rx-mode {B} {mode}"
            ));
            cross(&rig, &mut a, &mut b);
        }
        let shown = rig.cli(&format!("show vhost-user {A} descriptors verbose")).expect("shown");
        assert!(
            shown.contains("Memory regions (total 2)") && shown.contains("may shrink"),
            "{shown}"
        );
        assert!(
            shown.contains("Virtqueue 1 (RX)") && shown.contains("descriptor table"),
            "{shown}"
        );
        drop((a, b));
        until("the links are down", || !is_up(&rig, A) && !is_up(&rig, B));
        rig.finish();
    }
}

#[suite::test]
fn rings_stop_and_start_where_they_were() {
    for features in [plain(), plain() | Features::RING_PACKED] {
        let Some((_lab, _netns, rig)) = rig(1) else { return };
        let dir = Dir::new("restart");
        let like = wanted(features, 1, 64, 2, false);
        let (mut a, mut b) = guests(&rig, &dir, like, like, "packed");
        warm(&mut a, &mut b);
        cross(&rig, &mut a, &mut b);
        for _ in 0..3 {
            // Receiving stops: frames to this guest are lost, by name.
            let base = a.stop(0);
            until("the link is down", || !is_up(&rig, A));
            b.send(0, &[frame(1, 100)]);
            until("it is taken", || b.is_taken());
            a.start(&a.rx[0], Some(base));
            until("the link is up", || is_up(&rig, A));
            warm(&mut b, &mut a);
            cross(&rig, &mut a, &mut b);
            // Sending stops: what is sent meanwhile comes later.
            let base = a.stop(1);
            until("the link is down", || !is_up(&rig, A));
            a.send(0, &[frame(7, 700)]);
            a.start(&a.tx[0], Some(base));
            assert_eq!(b.receive(1), [frame(7, 700)]);
            // Frames in the other direction are lost until the link is up.
            until("the link is up", || is_up(&rig, A));
            warm(&mut b, &mut a);
            // The guest's memory is mapped anew while it is used.
            a.send_memory();
            cross(&rig, &mut a, &mut b);
        }
        // Disabled rings: frames are discarded, the link is down.
        a.enable(false);
        until("the link is down", || !is_up(&rig, A));
        a.send(0, &[frame(1, 60)]);
        until("it is discarded", || a.is_taken());
        a.enable(true);
        until("the link is up", || is_up(&rig, A));
        warm(&mut a, &mut b);
        warm(&mut b, &mut a);
        cross(&rig, &mut a, &mut b);
        // Down and up again: the connection stays, and what came meanwhile is forgotten.
        rig.script(&format!("set interface state {A} down"));
        rig.settle();
        a.send(0, &[frame(1, 100)]);
        rig.script(&format!("set interface state {A} up"));
        rig.settle();
        until("the ring is empty", || a.is_taken());
        assert!(b.take().is_empty());
        cross(&rig, &mut a, &mut b);
        drop((a, b));
        rig.finish();
    }
}

#[suite::test]
fn no_frame_is_lost_while_memory_is_mapped_anew() {
    for features in [plain(), plain() | Features::RING_PACKED, plain() | Features::EVENT_IDX] {
        let Some((_lab, _netns, rig)) = rig(1) else { return };
        let dir = Dir::new("anew");
        let like = wanted(features, 1, 128, 1, false);
        let (mut a, mut b) = guests(&rig, &dir, like, like, "packed event-idx");
        warm(&mut a, &mut b);
        warm(&mut b, &mut a);
        for mode in ["polling", "interrupt"] {
            rig.script(&format!(
                "set interface rx-mode {A} {mode}
                 set interface rx-mode {B} {mode}"
            ));
            for round in 0..100 {
                let frames: Vec<_> = (0..30).map(|n| frame(round + n, 100)).collect();
                a.send_memory();
                b.send(0, &frames);
                a.send_memory();
                a.send(0, &frames);
                assert_eq!(a.receive(30), frames, "{:?}", rig.drops());
                assert_eq!(b.receive(30), frames, "{:?}", rig.drops());
            }
        }
        drop((a, b));
        rig.finish();
    }
}

#[suite::test]
fn guests_come_again_and_the_newest_connection_counts() {
    let Some((_lab, _netns, rig)) = rig(1) else { return };
    let dir = Dir::new("again");
    let like = wanted(plain(), 1, 64, 1, false);
    let (mut a, mut b) = guests(&rig, &dir, like, like, "");
    warm(&mut a, &mut b);
    for pairs in 1..=3 {
        // A server accepts again: the old connection ends.
        let old = a;
        a = Guest::new(FrontEnd::connect(&dir.path("a")), wanted(plain(), pairs, 64, 1, false));
        assert_eq!(old.front.read(), None, "the old one is closed");
        drop(old);
        until("the link is up", || is_up(&rig, A));
        warm(&mut a, &mut b);
        warm(&mut b, &mut a);
        cross(&rig, &mut a, &mut b);
    }
    // A client connects again, by itself.
    let path = dir.path("b");
    socket::remove(&path);
    let listener = socket::listen_at(&path).unwrap_or_else(|_| panic!("can't listen"));
    drop(b);
    until("the link is down", || !is_up(&rig, B));
    let mut b = Guest::new(FrontEnd::accept(&listener), like);
    until("the link is up", || is_up(&rig, B));
    warm(&mut a, &mut b);
    warm(&mut b, &mut a);
    cross(&rig, &mut a, &mut b);
    // A message that isn't of the protocol ends the connection, by name.
    b.front.send(Request::SetLogBase { size: 0, offset: 0 }, &[b.memory.files[0].as_fd()]);
    assert_eq!(b.front.read(), None);
    let shown = rig.cli(&format!("show vhost-user {B}")).expect("shown");
    assert!(shown.contains("SET_LOG_BASE: the log of written pages is empty"), "{shown}");
    let mut b = Guest::new(FrontEnd::accept(&listener), like);
    until("the link is up", || is_up(&rig, B));
    warm(&mut a, &mut b);
    // Deletion while frames pass.
    for _ in 0..20 {
        a.send(0, &[frame(3, 1000)]);
    }
    rig.script(&format!("delete vhost-user {A}"));
    assert_eq!(a.front.read(), None);
    drop((a, b));
    rig.finish();
}

#[suite::test]
fn a_guest_that_gives_no_event_is_polled() {
    let Some((_lab, _netns, rig)) = rig(1) else { return };
    let dir = Dir::new("silent");
    let like = wanted(plain(), 1, 64, 1, false);
    let (mut a, mut b) = guests(&rig, &dir, like, like, "");
    warm(&mut a, &mut b);
    rig.script(&format!("set interface rx-mode {A} interrupt"));
    a.front.send_acked(Request::SetVringKick { index: 1, has_fd: false }, &[]);
    until("the queue is polled", || {
        rig.script("show interface rx-placement").contains(&format!("{A} queue 0 (polling)"))
    });
    cross(&rig, &mut a, &mut b);
    let refused = rig.cli(&format!("set interface rx-mode {A} interrupt"));
    assert!(refused.is_err_and(|e| e.code() == -9));
    let kick = a.tx[0].kick.clone();
    a.front.send_acked(Request::SetVringKick { index: 1, has_fd: true }, &[kick.as_fd()]);
    rig.script(&format!("set interface rx-mode {A} interrupt"));
    cross(&rig, &mut a, &mut b);
    drop((a, b));
    rig.finish();
}

#[suite::test]
fn a_guest_without_merged_buffers_gets_what_fits() {
    let Some((_lab, _netns, rig)) = rig(0) else { return };
    let dir = Dir::new("fits");
    let small = plain().bits() & !Features::MRG_RXBUF.bits();
    let b = wanted(Features::from_bits_retain(small), 1, 64, 1, false);
    let (mut a, mut b) = guests(&rig, &dir, wanted(plain(), 1, 64, 1, false), b, "");
    warm(&mut a, &mut b);
    // The header is in the buffer too.
    a.send(0, &[frame(1, 2048 - 12), frame(2, 2048 - 11), frame(3, 9000), frame(4, 60)]);
    assert_eq!(b.receive(2), [frame(1, 2048 - 12), frame(4, 60)]);
    let lost = || {
        rig.drops().iter().find(|(_, reason, _)| *reason == "too_long").map_or(0, |(_, _, n)| *n)
    };
    until("the others are counted", || lost() == 2);
    drop((a, b));
    rig.finish();
}

#[suite::test]
fn a_burst_of_long_frames_into_a_small_ring_loses_whole_frames_only() {
    for features in [plain(), plain() | Features::RING_PACKED] {
        let Some((_lab, _netns, rig)) = rig(0) else { return };
        let dir = Dir::new("burst");
        let (one, two) = (wanted(features, 1, 128, 1, false), wanted(features, 1, 16, 1, false));
        let (mut a, mut b) = guests(&rig, &dir, one, two, "packed");
        warm(&mut a, &mut b);
        let sent: Vec<_> = (0..96).map(|n| frame(n, 9000)).collect();
        a.send(0, &sent);
        until("all were taken", || a.is_taken());
        let lost = || {
            let drops = rig.drops();
            drops.iter().find(|(_, reason, _)| *reason == "queue_full").map_or(0, |(_, _, n)| *n)
        };
        until("some were lost", || lost() > 0);
        let mut came = Vec::new();
        until("the rest came", || {
            came.extend(b.take());
            came.len() as u64 + lost() == 96
        });
        let mut left = sent.iter();
        assert!(
            came.iter().all(|frame| left.any(|sent| sent == frame)),
            "broken, twice or out of order"
        );
        a.send(0, &[frame(1, 20_000)]);
        assert_eq!(b.receive(1), [frame(1, 20_000)]);
        drop((a, b));
        rig.finish();
    }
}

/// A guest that is connected, and writes anything into its memory while packets pass.
#[suite::test]
fn a_hostile_guest_costs_packets_but_no_buffers() {
    for features in [plain(), plain() | Features::RING_PACKED | Features::EVENT_IDX] {
        let Some((_lab, _netns, rig)) = rig(1) else { return };
        let dir = Dir::new("hostile");
        let like = wanted(features, 1, 64, 1, false);
        let (mut a, mut b) = guests(&rig, &dir, like, like, "packed event-idx");
        rig.script(&format!(
            "create vhost-user socket {} server packed event-idx
             set interface state VirtualEthernet0/0/2 up",
            dir.path("c")
        ));
        let bad = Guest::new(FrontEnd::connect(&dir.path("c")), like);
        // It sends to itself: both of its rings are used.
        rig.wire("VirtualEthernet0/0/2", "VirtualEthernet0/0/2");
        let mut rng = Rng::new(5);
        for _ in 0..20_000 {
            for ring in bad.rx.iter().chain(&bad.tx) {
                ring.disturb(&mut rng);
                ring.kick.raise();
            }
        }
        // Others aren't disturbed.
        warm(&mut a, &mut b);
        warm(&mut b, &mut a);
        cross(&rig, &mut a, &mut b);
        let is_counted = || {
            let drops = rig.drops();
            drops.iter().any(|(node, why, _)| node == "vhost-user-input" && *why == "bad_desc")
        };
        until("bad descriptors are counted", is_counted);
        drop((bad, a, b));
        rig.finish();
    }
}
