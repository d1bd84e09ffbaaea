// SPDX-License-Identifier: Apache-2.0
//! Queues without a graph.

use super::pair::{frame, is_up, layout, rig, until};
use super::peer::{Dir, PATIENCE, Peer, wanted};
use crate::proto::End;
use crate::{Listener, Memif, TxReport, pair};
use rustix::event::Timespec;
use std::io::ErrorKind;
use std::time::Duration;

/// Longer than any test.
const LONG: Timespec = Timespec { tv_sec: 600, tv_nsec: 0 };

fn send(from: &mut Memif, frames: &[Vec<u8>]) -> TxReport {
    from.tx[0].send(frames.iter().map(Vec::as_slice))
}

fn receive(at: &mut Memif, max: usize) -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    assert_eq!(at.rx[0].recv(max, |bytes| all.push(bytes.to_vec())), all.len());
    all
}

/// Waits for all of so many packets.
fn receive_all(at: &mut Memif, count: usize) -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    until("packets come", || {
        all.extend(receive(at, count));
        all.len() == count
    });
    all
}

#[suite::test]
fn frames_pass_between_both_ends_of_a_pair() {
    let [mut a, mut b] = pair(6, 2048).expect("a pair");
    for round in 0..40 {
        // 64 buffers: the longest frame takes five.
        let lengths = [60, 64, 1514, 2048, 2049, 9014, 61, 60];
        let sent = lengths.iter().enumerate().map(|(n, len)| frame(round * 10 + n, *len));
        let sent: Vec<_> = sent.collect();
        assert_eq!(send(&mut a, &sent), TxReport::default());
        assert_eq!(receive(&mut b, 3), sent[..3]);
        assert_eq!(receive(&mut b, 64), sent[3..]);
        assert_eq!(receive(&mut b, 64), [[0; 0]; 0]);
        // The client's end and the server's take turns.
        std::mem::swap(&mut a, &mut b);
    }
}

#[suite::test]
fn frames_that_find_a_ring_full_are_counted_and_others_are_whole() {
    let [mut a, mut b] = pair(4, 2048).expect("a pair");
    for _ in 0..2 {
        let sent: Vec<_> = (0..20).map(|n| frame(n, 100 + n)).collect();
        assert_eq!(send(&mut a, &sent), TxReport { full: 4, refused: 0 });
        assert_eq!(receive(&mut b, 100), sent[..16]);
        let empty = [Vec::new(), frame(1, 60)];
        assert_eq!(send(&mut a, &empty), TxReport { full: 0, refused: 1 });
        assert_eq!(receive(&mut b, 100), empty[1..]);
        std::mem::swap(&mut a, &mut b);
    }
}

#[suite::test]
fn a_receiver_that_waits_is_woken_and_others_raise_no_event() {
    let [mut a, mut b] = pair(6, 2048).expect("a pair");
    assert_eq!(send(&mut a, &[frame(0, 60)]), TxReport::default());
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    let is_raised = |at: &Memif| {
        use rustix::event::{PollFd, PollFlags, poll};
        poll(&mut [PollFd::new(&at.rx[0].ring, PollFlags::IN)], Some(&now)).is_ok_and(|n| n > 0)
    };
    assert!(!is_raised(&b), "it didn't wait");
    // A packet that is there already needs no event.
    b.rx[0].wait(&LONG).expect("no signal");
    assert_eq!(receive(&mut b, 10), [frame(0, 60)]);
    std::thread::scope(|scope| {
        let waiting = scope.spawn(move || {
            let mut all = Vec::new();
            while all.len() < 100 {
                // A signal ends the wait early.
                let _ = b.rx[0].wait(&LONG);
                all.extend(receive(&mut b, 64));
            }
            all
        });
        let sent: Vec<_> = (0..100).map(|n| frame(n, 60 + n)).collect();
        for frame in &sent {
            until("there is room", || send(&mut a, std::slice::from_ref(frame)).full == 0);
        }
        assert_eq!(waiting.join().expect("no panic"), sent);
    });
}

#[suite::test]
fn a_listener_takes_the_client_of_its_interface_only() {
    let dir = Dir::new("open");
    let listener = Listener::bind(&dir.path("s"), 7, "tester").expect("listens");
    assert!(listener.accept(PATIENCE).expect("no error").is_none());
    let connect = |id| {
        let address = dir.address("s");
        std::thread::spawn(move || Peer::client(&address, wanted(id, layout(1, 6))))
    };
    let accept = || loop {
        match listener.accept(PATIENCE) {
            Ok(None) => std::thread::sleep(Duration::from_millis(1)),
            Ok(Some(memif)) => return Ok(memif),
            Err(error) => return Err(error),
        }
    };
    for _ in 0..2 {
        let client = connect(8);
        let error = accept().err().expect("refused");
        assert!(error.to_string().contains("unmatched interface id"), "{error}");
        let reason = client.join().expect("no panic").err();
        assert_eq!(reason, Some(End::Peer("unmatched interface id".into())));
        let client = connect(7);
        let mut ours = accept().expect("connected");
        let Ok(mut peer) = client.join().expect("no panic") else { panic!("refused") };
        assert_eq!((ours.rx.len(), ours.tx.len()), (1, 1));
        assert_eq!(peer.link.peer_interface, "tester");
        assert!(!ours.connection.is_over());
        let sent: Vec<_> = (0..30).map(|n| frame(n, 60 + 70 * n)).collect();
        assert_eq!(send(&mut ours, &sent[..20]), TxReport::default());
        assert_eq!(peer.receive(20), sent[..20]);
        assert_eq!(peer.send(0, &sent), []);
        assert_eq!(receive(&mut ours, 100), sent);
        drop(peer);
        until("the end is seen", || ours.connection.is_over());
    }
    // A client that says nothing holds nobody up for longer.
    let silent = dir.address("s").connect().expect("connects");
    let error = listener.accept(Duration::from_millis(1)).err().map(|error| error.kind());
    assert_eq!(error, Some(ErrorKind::TimedOut));
    drop(silent);
    assert!(
        Listener::bind("abstract:", 0, "x").is_err_and(|e| e.kind() == ErrorKind::InvalidInput)
    );
}

/// An instance is the client, and connects again at once when it has been away.
#[suite::test]
fn an_instance_exchanges_frames_with_queues_without_a_graph() {
    let Some((_lab, _netns, rig)) = rig(1) else { return };
    let dir = Dir::new("instance");
    let left = Listener::bind(&dir.path("left"), 0, "tester").expect("listens");
    let create = "create interface memif id 0 socket-id 1 ring-size 64 slave";
    rig.script(&format!(
        "create memif socket id 1 filename {}
         create memif socket id 2 filename {}
         create interface memif id 2 socket-id 2 master
         set interface state memif2/2 up",
        dir.path("left"),
        dir.path("s")
    ));
    let mut other = Peer::client(&dir.address("s"), wanted(2, layout(1, 8))).expect("connected");
    for round in 0..2 {
        rig.script(&format!("{create}\nset interface state memif1/0 up"));
        let mut ours = None;
        until("the client comes", || {
            ours = left.accept(PATIENCE).expect("the handshake");
            ours.is_some()
        });
        let mut ours = ours.expect("it came");
        until("the link is up", || is_up(&rig, "memif1/0"));
        rig.wire("memif1/0", "memif2/2");
        until("the wire carries frames", || {
            assert_eq!(other.send(0, &[frame(1, 60)]), []);
            !receive(&mut ours, 1).is_empty()
        });
        std::thread::sleep(Duration::from_millis(50));
        receive(&mut ours, usize::MAX);
        let sent: Vec<_> = (0..40).map(|n| frame(round + n, 60 + 30 * n)).collect();
        assert_eq!(other.send(0, &sent), []);
        assert_eq!(receive_all(&mut ours, 40), sent);
        assert_eq!(send(&mut ours, &sent), TxReport::default());
        assert_eq!(other.receive(40), sent);
        rig.script("delete interface memif memif1/0");
        until("the end is seen", || ours.connection.is_over());
    }
    drop(other);
    rig.finish();
}
