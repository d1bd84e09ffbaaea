// SPDX-License-Identifier: Apache-2.0
//! Queues that are moved from thread to thread while packets pass.

use super::pair::{frame, is_up, layout, rig, until, warm};
use super::peer::{Dir, PATIENCE, Peer, wanted};
use driver::rig::Rig;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use testkit::Rng;

/// A frame of a flow: its number in the flow, and bytes that no other frame has.
fn numbered(flow: u32, number: u32) -> Vec<u8> {
    let len = 60 + number as usize * 37 % 1400;
    let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x88, 0xb6];
    frame.extend(flow.to_be_bytes());
    frame.extend(number.to_be_bytes());
    let mut byte = number.wrapping_mul(0x9e37_79b9) ^ flow;
    while frame.len() < len {
        byte = byte.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        frame.push((byte >> 24) as u8);
    }
    frame
}

/// Flow and number of a frame, whose bytes are compared; `None` for a frame of [`warm`].
fn number_of(packet: &[u8]) -> Option<(usize, u32)> {
    let word = |at: usize| u32::from_be_bytes(*packet[at..].first_chunk().expect("four bytes"));
    if packet[12..14] != [0x88, 0xb6] {
        return None;
    }
    let (flow, number) = (word(14), word(18));
    assert!(packet == numbered(flow, number), "frame {number} of flow {flow} has other bytes");
    Some((flow as usize, number))
}

/// A peer with so many rings on one side of the instance, and one with rings of its own choice on
/// the other side.
fn peers(rig: &Rig, dir: &Dir, rings: u16, tx_queues: u8) -> (Peer, Peer, OwnedFd) {
    rig.script(&format!(
        "create memif socket id 1 filename {}
         create memif socket id 2 filename {}
         create interface memif socket-id 1 id 7 master
         create interface memif socket-id 2 id 8 slave tx-queues {tx_queues}
         set interface state memif1/7 up",
        dir.path("server"),
        dir.path("client")
    ));
    let listener = dir.address("client").listen().expect("listens");
    rig.script("set interface state memif2/8 up");
    let mut b = Peer::server(&listener);
    let mut a =
        Peer::client(&dir.address("server"), wanted(7, layout(rings, 10))).expect("connected");
    until("both links", || is_up(rig, "memif1/7") && is_up(rig, "memif2/8"));
    rig.wire("memif1/7", "memif2/8");
    warm(&mut a, &mut b);
    (a, b, listener)
}

/// Packets of a flow on their way at most: far fewer than a ring holds.
const ON_THE_WAY: u32 = 40;

/// Sends flows, each by a ring of its own, while `change` is called; `ordered` if packets of a flow
/// have to arrive in their order. Each packet arrives once.
fn flows_pass(
    rig: &Rig,
    (a, b): (&mut Peer, &mut Peer),
    ordered: bool,
    change: impl FnOnce(&Rig) + Send,
) -> u32 {
    let flows = a.tx.len();
    let (mut sent, mut got) = (vec![0u32; flows], vec![0u32; flows]);
    // Numbers that arrived before their turn.
    let mut early = vec![std::collections::BTreeSet::new(); flows];
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            change(rig);
            done.store(true, Ordering::Release);
        });
        let mut limit = Instant::now() + PATIENCE;
        loop {
            let ends = done.load(Ordering::Acquire);
            for flow in 0..flows {
                let arrived = got[flow] + early[flow].len() as u32;
                while !ends && sent[flow] - arrived < ON_THE_WAY {
                    let packet = numbered(flow as u32, sent[flow]);
                    assert_eq!(a.send(flow, &[packet]), []);
                    sent[flow] += 1;
                }
            }
            let packets = b.take();
            if packets.is_empty() {
                assert!(Instant::now() < limit, "lost: {sent:?} {got:?} {:?}", rig.drops());
                std::thread::sleep(Duration::from_micros(200));
            } else {
                limit = Instant::now() + PATIENCE;
            }
            for (flow, number) in packets.iter().filter_map(|packet| number_of(packet)) {
                assert!(number < sent[flow], "frame {number} of flow {flow} wasn't sent");
                if ordered {
                    assert_eq!(number, got[flow], "flow {flow}: reordered, lost or doubled");
                    got[flow] += 1;
                    continue;
                }
                let new = number >= got[flow] && early[flow].insert(number);
                assert!(new, "frame {number} of flow {flow} arrives twice");
                while early[flow].remove(&got[flow]) {
                    got[flow] += 1;
                }
            }
            if ends && got == sent {
                return;
            }
        }
    });
    sent.iter().sum()
}

/// Lets flows pass by three rings, by so many transmit queues on the other side, while `change` is
/// called `turns` times: no packet is lost.
fn flows_pass_while(
    name: &str,
    tx_queues: u8,
    ordered: bool,
    turns: u32,
    mut change: impl FnMut(u32, &mut dyn FnMut(String)) + Send,
) {
    let Some((_lab, _netns, rig)) = rig(2) else { return };
    let dir = Dir::new(name);
    let (mut a, mut b, _listener) = peers(&rig, &dir, 3, tx_queues);
    let passed = flows_pass(&rig, (&mut a, &mut b), ordered, |rig| {
        let mut run = |line: String| drop(rig.cli(&line).unwrap_or_else(|e| panic!("{line}: {e}")));
        for n in 0..turns {
            change(n, &mut run);
            if n % 16 == 0 {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
    });
    println!("{passed} frames passed during {turns} changes");
    assert_eq!(rig.drops(), []);
    drop((a, b));
    rig.finish();
}

#[suite::test]
fn receive_queues_move_a_thousand_times_under_load() {
    let mut rng = Rng::new(41);
    flows_pass_while("moves", 1, true, 1000, |n, run| {
        let thread = *rng.pick(&["main", "worker 0", "worker 1"]);
        let mode = *rng.pick(&["polling", "interrupt", "adaptive"]);
        let queue = rng.below(3);
        run(format!("set interface rx-placement memif1/7 queue {queue} {thread}"));
        // The mode changes with some of the moves.
        if n % 4 == 0 {
            run(format!("set interface rx-mode memif1/7 queue {queue} {mode}"));
        }
    });
}

#[suite::test]
fn transmit_queues_move_a_thousand_times_under_load() {
    let mut rng = Rng::new(43);
    // By two rings packets of a flow may pass each other: the peer reads one ring after the other.
    flows_pass_while("sends", 2, false, 500, |_, run| {
        let (queue, threads) = (rng.below(2), *rng.pick(&["0", "1", "2", "0,1", "1,2", "0,2"]));
        let other = 1 - queue;
        // All threads to one queue, then some to the other: none is without a queue.
        for words in [format!("{queue} threads 0-2"), format!("{other} threads {threads}")] {
            run(format!("set interface tx-queue memif2/8 queue {words}"));
        }
    });
}

#[suite::test]
fn threads_send_by_the_chosen_ring() {
    let Some((_lab, _netns, rig)) = rig(2) else { return };
    let dir = Dir::new("chosen");
    let (mut a, mut b, listener) = peers(&rig, &dir, 1, 2);
    let frames: Vec<_> = (0..20).map(|n| frame(n, 200)).collect();
    let pass = |a: &mut Peer, b: &mut Peer, ring: usize| {
        for thread in ["main", "worker 0", "worker 1"] {
            rig.script(&format!("set interface rx-placement memif1/7 queue 0 {thread}"));
            assert_eq!(a.send(0, &frames), []);
            let mut found = Vec::new();
            until("frames by the ring", || {
                found.extend(b.take_from(ring));
                found.len() >= frames.len()
            });
            assert_eq!(found, frames, "{thread}, ring {ring}");
            assert!(b.take().is_empty(), "{thread}: none by another ring");
        }
    };
    let shown = || rig.script("show interface tx-queue memif2/8");
    assert_eq!(shown(), "memif2/8 queue 0: threads 0,2, shared\nmemif2/8 queue 1: thread 1\n");
    rig.script("set interface tx-queue memif2/8 queue 1 threads 0-2");
    assert_eq!(shown(), "memif2/8 queue 0: no thread\nmemif2/8 queue 1: threads 0-2, shared\n");
    pass(&mut a, &mut b, 1);
    rig.script("set interface tx-queue memif2/8 queue 0 threads 2,0,1");
    pass(&mut a, &mut b, 0);
    // The placement outlasts the connection.
    drop(b);
    until("the link is down", || !is_up(&rig, "memif2/8"));
    rig.script("set interface state memif2/8 down\nset interface state memif2/8 up");
    let mut b = Peer::server(&listener);
    until("the link is up", || is_up(&rig, "memif2/8"));
    warm(&mut a, &mut b);
    pass(&mut a, &mut b, 0);
    // Without a queue a thread drops by name.
    rig.script("set interface tx-queue memif2/8 queue 0\nset interface tx-queue memif2/8 queue 1");
    assert_eq!(a.send(0, &frames), []);
    let dropped = |n| ("memif2/8-tx".to_string(), "no_queue", n);
    until("they are dropped", || rig.drops() == [dropped(20)]);
    for queue in ["0", "1"] {
        rig.script(&format!("set interface tx-queue memif2/8 queue {queue} threads default"));
    }
    assert_eq!(shown(), "memif2/8 queue 0: threads 0,2, shared\nmemif2/8 queue 1: thread 1\n");
    for (line, part) in [
        ("set interface tx-queue memif2/8 queue 2 threads 0", "no transmit queue 2"),
        ("set interface tx-queue memif2/8 queue 0 threads 3", "no thread 3"),
        ("set interface tx-queue memif2/8 queue 0 threads 2-1", "ends before"),
        ("set interface tx-queue local0 queue 0 threads 0", "no transmit queue 0"),
        ("set interface rss queues memif1/7 list 9", "no receive queue 9"),
    ] {
        let error = rig.cli(line).expect_err(line).to_string();
        assert!(error.contains(part), "{line}: {error}");
    }
    drop((a, b));
    rig.finish();
}
