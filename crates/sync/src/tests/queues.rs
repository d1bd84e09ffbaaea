// SPDX-License-Identifier: Apache-2.0

use crate::spsc::ring;
use crate::{Mailbox, Waker};
use proptest::prelude::*;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

const MANY: usize = if cfg!(miri) { 200 } else { 200_000 };

fn readable(waker: &Waker, seconds: i64) -> bool {
    let mut fds = [PollFd::new(waker, PollFlags::IN)];
    poll(&mut fds, Some(&Timespec { tv_sec: seconds, tv_nsec: 0 })).unwrap() == 1
}

#[suite::test]
fn a_full_ring_gives_the_item_back() {
    let (mut tx, mut rx) = ring(3);
    assert_eq!(tx.capacity(), 4);
    for i in 0..4 {
        tx.push(i.to_string()).unwrap();
    }
    assert_eq!(tx.push("4".into()), Err("4".into()));
    assert_eq!((tx.free(), rx.len()), (0, 4));
    assert_eq!(rx.pop().as_deref(), Some("0"));
    tx.push("5".into()).unwrap();
    drop(tx);
    assert!(rx.is_closed());
    let mut rest = Vec::new();
    assert_eq!(rx.pop_batch(2, |s| rest.push(s)), 2);
    assert_eq!(rest, ["1", "2"]);
}

#[suite::test]
fn a_batch_takes_no_more_than_fits() {
    let (mut tx, mut rx) = ring(4);
    let mut items = 0..6;
    assert_eq!(tx.push_batch(&mut items), 4);
    assert_eq!(items, 4..6);
    let mut got = Vec::new();
    assert_eq!(rx.pop_batch(usize::MAX, |i| got.push(i)), 4);
    assert_eq!(got, [0, 1, 2, 3]);
    assert!(rx.is_empty() && !rx.is_closed());
}

#[suite::test]
fn a_panic_in_a_batch_loses_or_repeats_nothing_that_was_published() {
    let (mut tx, mut rx) = ring(8);
    let items = Arc::new(());
    tx.push_batch(&mut (0..4).map(|_| items.clone()));
    let mut n = 0;
    let result = catch_unwind(AssertUnwindSafe(|| {
        rx.pop_batch(4, |item| {
            drop(item);
            n += 1;
            assert!(n < 2, "second");
        })
    }));
    assert!(result.is_err());
    assert_eq!((rx.len(), Arc::strong_count(&items)), (2, 3));
    drop((tx, rx));
    assert_eq!(Arc::strong_count(&items), 1);
}

#[suite::test]
fn a_ring_between_two_threads_keeps_order() {
    let (mut tx, mut rx) = ring(16);
    std::thread::scope(|s| {
        s.spawn(move || {
            let mut items = 0..MANY;
            while !items.is_empty() {
                if tx.push_batch(&mut items) == 0 {
                    std::thread::yield_now();
                }
            }
        });
        let mut next = 0;
        while next < MANY {
            if rx.pop_batch(7, |i| {
                assert_eq!(i, next);
                next += 1;
            }) == 0
            {
                std::thread::yield_now();
            }
        }
    });
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: if cfg!(miri) { 4 } else { 256 }, ..Default::default() })]
    #[suite::test]
    fn a_ring_is_a_bounded_queue(capacity in 1usize..9, ops in prop::collection::vec((0u8..4, 0usize..12), 0..100)) {
        let (mut tx, mut rx) = ring(capacity);
        let capacity = tx.capacity();
        let mut oracle = VecDeque::new();
        let mut next = 0u64;
        for (op, n) in ops {
            match op {
                0 => {
                    let fits = oracle.len() < capacity;
                    prop_assert_eq!(tx.push(next).is_ok(), fits);
                    if fits {
                        oracle.push_back(next);
                    }
                    next += 1;
                }
                1 => {
                    let sent = tx.push_batch(&mut (next..next + n as u64));
                    prop_assert_eq!(sent, n.min(capacity - oracle.len()));
                    oracle.extend(next..next + sent as u64);
                    next += n as u64;
                }
                2 => prop_assert_eq!(rx.pop(), oracle.pop_front()),
                _ => {
                    let mut got = Vec::new();
                    rx.pop_batch(n, |i| got.push(i));
                    let expected: Vec<_> = oracle.drain(..n.min(oracle.len())).collect();
                    prop_assert_eq!(got, expected);
                }
            }
            prop_assert_eq!(rx.len(), oracle.len());
            prop_assert_eq!(tx.free(), capacity - oracle.len());
        }
    }
}

#[suite::test]
#[cfg_attr(miri, ignore = "miri has no ppoll")]
fn a_waker_rings_only_for_a_sleeper() {
    let waker = Waker::new().unwrap();
    waker.wake();
    assert!(!readable(&waker, 0));
    waker.prepare_sleep();
    waker.wake();
    waker.wake();
    assert!(readable(&waker, 0));
    waker.awake();
    assert!(!readable(&waker, 0));
}

#[suite::test]
fn a_full_mailbox_counts_what_it_refuses() {
    let mailbox = Mailbox::new(2, Arc::new(Waker::new().unwrap()));
    assert_eq!([mailbox.post(1), mailbox.post(2), mailbox.post(3)], [Ok(()), Ok(()), Err(3)]);
    assert_eq!((mailbox.drops(), mailbox.len()), (1, 2));
    let mut got = Vec::new();
    assert_eq!(mailbox.drain(|i| got.push(i)), 2);
    assert_eq!(got, [1, 2]);
    assert!(mailbox.is_empty() && mailbox.take().is_none());
}

/// A lost wake-up would leave the receiver in `poll` until it gives up.
#[suite::test]
#[cfg_attr(miri, ignore = "miri has no ppoll")]
fn no_wake_up_is_lost() {
    const SENDERS: usize = 3;
    let waker = Arc::new(Waker::new().unwrap());
    let mailbox = Mailbox::new(64, waker.clone());
    std::thread::scope(|s| {
        for sender in 0..SENDERS {
            let mailbox = &mailbox;
            s.spawn(move || {
                for i in 0..MANY / 10 {
                    let mut item = (sender, i);
                    while let Err(back) = mailbox.post(item) {
                        item = back;
                        std::thread::yield_now();
                    }
                }
            });
        }
        let mut next = [0; SENDERS];
        while next.iter().sum::<usize>() < SENDERS * (MANY / 10) {
            mailbox.drain(|(sender, i)| {
                assert_eq!(i, next[sender], "order of one sender");
                next[sender] += 1;
            });
            waker.prepare_sleep();
            if mailbox.is_empty() && next.iter().sum::<usize>() < SENDERS * (MANY / 10) {
                assert!(readable(&waker, 60), "slept through a wake-up");
            }
            waker.awake();
        }
    });
}

#[suite::test]
fn a_watched_descriptor_ends_the_sleep() {
    let waker = Waker::watching().unwrap();
    let event = rustix::event::eventfd(0, rustix::event::EventfdFlags::NONBLOCK).unwrap();
    waker.watch(&event, 7).unwrap();
    let tokens = |waker: &Waker| {
        let mut all = Vec::new();
        waker.ready(|token| all.push(token));
        all
    };
    assert!(!readable(&waker, 0) && tokens(&waker).is_empty());
    rustix::io::write(&event, &1u64.to_ne_bytes()).unwrap();
    assert!(readable(&waker, 5));
    assert_eq!(tokens(&waker), [7]);
    rustix::io::read(&event, &mut [0u8; 8]).unwrap();
    assert!(!readable(&waker, 0) && tokens(&waker).is_empty());
    waker.prepare_sleep();
    waker.wake();
    assert!(readable(&waker, 5));
    assert_eq!(tokens(&waker), [0u64; 0], "that is the bell itself");
    waker.awake();
    drop(event);
    assert!(!readable(&waker, 0));
    assert!(Waker::new().unwrap().watch(&waker, 1).is_err());
}
