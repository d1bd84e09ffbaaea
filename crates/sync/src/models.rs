// SPDX-License-Identifier: Apache-2.0
//! Loom models: every interleaving and every value that a load may return (up to the bound of
//! preemptions), not just what this machine happens to do. Each model fails if the ordering that it
//! is about is weakened.
//!
//! `xtask/x models`, or `RUSTFLAGS="--cfg loom" cargo test -p ferrovia-sync --release --lib
//! models`.

use crate::spsc::ring;
use crate::{Qsbr, Snapshot, Waker};
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use loom::thread;

fn explore(model: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    // Three switches away from a runnable thread reach every weakened ordering that was tried out
    // here, in seconds.
    builder.preemption_bound = builder.preemption_bound.or(Some(3));
    builder.check(model);
}

/// Objects that readers use and that reclamation overwrites: loom reports a use that isn't ordered
/// before the overwriting, without memory being freed under a reader.
struct Objects([UnsafeCell<bool>; 3]);

impl Objects {
    fn new() -> Arc<Self> {
        Arc::new(Self(std::array::from_fn(|_| UnsafeCell::new(true))))
    }

    fn is_alive(&self, i: usize) -> bool {
        // SAFETY: loom checks that no write is concurrent.
        self.0[i].with(|p| unsafe { *p })
    }

    fn reclaim(&self, i: usize) {
        // SAFETY: loom checks that no access is concurrent.
        self.0[i].with_mut(|p| unsafe { *p = false });
    }
}

// SAFETY: loom checks the accesses.
unsafe impl Sync for Objects {}
// SAFETY: plain data.
unsafe impl Send for Objects {}

/// A reader of two turns against a control thread that unlinks, retires and collects twice.
#[suite::test]
fn nothing_is_reclaimed_under_a_turn() {
    explore(|| {
        let domain = Qsbr::new();
        let objects = Objects::new();
        let current = Arc::new(AtomicUsize::new(0));
        let reader = thread::spawn({
            let mut reader = domain.register();
            let (objects, current) = (objects.clone(), current.clone());
            move || {
                for _ in 0..2 {
                    let turn = reader.turn();
                    let i = current.load(Ordering::Acquire);
                    assert!(objects.is_alive(i));
                    drop(turn);
                }
            }
        });
        for i in 0..2 {
            current.store(i + 1, Ordering::Release);
            let objects = objects.clone();
            domain.retire_fn(Box::new(move || objects.reclaim(i)));
            domain.collect();
        }
        reader.join().unwrap();
        domain.collect();
        assert_eq!(domain.pending(), 0);
    });
}

/// Two readers, one of which holds back what the other doesn't see.
#[suite::test]
fn each_reader_counts() {
    explore(|| {
        let domain = Qsbr::new();
        let objects = Objects::new();
        let current = Arc::new(AtomicUsize::new(0));
        let readers: Vec<_> = (0..2)
            .map(|_| {
                let mut reader = domain.register();
                let (objects, current) = (objects.clone(), current.clone());
                thread::spawn(move || {
                    let turn = reader.turn();
                    assert!(objects.is_alive(current.load(Ordering::Acquire)));
                    drop(turn);
                })
            })
            .collect();
        current.store(1, Ordering::Release);
        let late = objects.clone();
        domain.retire_fn(Box::new(move || late.reclaim(0)));
        domain.collect();
        readers.into_iter().for_each(|r| r.join().unwrap());
    });
}

#[suite::test]
fn a_ticket_orders_the_turns_before_it() {
    explore(|| {
        let domain = Qsbr::new();
        let objects = Objects::new();
        let current = Arc::new(AtomicUsize::new(0));
        let reader = thread::spawn({
            let mut reader = domain.register();
            let (objects, current) = (objects.clone(), current.clone());
            move || {
                let turn = reader.turn();
                assert!(objects.is_alive(current.load(Ordering::Acquire)));
                drop(turn);
            }
        });
        current.store(1, Ordering::Release);
        let ticket = domain.grace();
        if ticket.is_over() {
            objects.reclaim(0);
            assert!(ticket.is_over(), "stays over");
        }
        reader.join().unwrap();
        assert!(ticket.is_over());
    });
}

/// One control thread relies on what another one has observed of the readers.
#[suite::test]
fn control_threads_share_what_they_found() {
    explore(|| {
        let domain = Qsbr::new();
        let objects = Objects::new();
        let current = Arc::new(AtomicUsize::new(0));
        let reader = thread::spawn({
            let mut reader = domain.register();
            let (objects, current) = (objects.clone(), current.clone());
            move || {
                let turn = reader.turn();
                assert!(objects.is_alive(current.load(Ordering::Acquire)));
                drop(turn);
            }
        });
        let older = domain.grace();
        let looker = thread::spawn(move || older.is_over());
        current.store(1, Ordering::Release);
        if domain.grace().is_over() {
            objects.reclaim(0);
        }
        reader.join().unwrap();
        looker.join().unwrap();
    });
}

/// The pointer side: contents are visible, the value stays while the turn lasts.
#[suite::test]
fn a_snapshot_is_whole() {
    struct Value {
        n: usize,
        spoiled: UnsafeCell<bool>,
    }
    impl Drop for Value {
        fn drop(&mut self) {
            // SAFETY: loom checks that no access is concurrent.
            self.spoiled.with_mut(|p| unsafe { *p = true });
        }
    }
    // SAFETY: loom checks the accesses.
    unsafe impl Sync for Value {}
    let value = |n| Value { n, spoiled: UnsafeCell::new(false) };
    explore(move || {
        let domain = Qsbr::new();
        let snapshot = Arc::new(Snapshot::new(domain.clone(), value(0)));
        let reader = thread::spawn({
            let (mut reader, snapshot) = (domain.register(), snapshot.clone());
            move || {
                let turn = reader.turn();
                let first: &Value = snapshot.get(&turn);
                let second: &Value = snapshot.get(&turn);
                assert!(first.n <= second.n);
                // SAFETY: loom checks that no write is concurrent.
                assert!(!first.spoiled.with(|p| unsafe { *p }));
            }
        });
        snapshot.update(|old| value(old.n + 1));
        domain.collect();
        reader.join().unwrap();
    });
}

/// Wraps around, runs full and runs empty; loom reports a cell that both ends touch at once.
#[suite::test]
fn a_ring_passes_cells_between_its_ends() {
    explore(|| {
        let (mut tx, mut rx) = ring(2);
        let producer = thread::spawn(move || {
            let mut items = 0..4u32;
            for _ in 0..3 {
                tx.push_batch(&mut items);
                thread::yield_now();
            }
            items.start
        });
        let mut next = 0;
        for _ in 0..3 {
            rx.pop_batch(2, |i| {
                assert_eq!(i, next);
                next += 1;
            });
            thread::yield_now();
        }
        let sent = producer.join().unwrap();
        while let Some(i) = rx.pop() {
            assert_eq!(i, next);
            next += 1;
        }
        assert_eq!(next, sent);
    });
}

/// A receiver that goes to sleep although there is work was woken, or will be: the bell has rung by
/// the time the senders are gone.
#[suite::test]
fn no_wake_up_is_lost() {
    explore(|| {
        let waker = Arc::new(Waker::new().unwrap());
        let work = Arc::new(AtomicU32::new(0));
        let senders: Vec<_> = (0..2)
            .map(|_| {
                let (waker, work) = (waker.clone(), work.clone());
                thread::spawn(move || {
                    work.fetch_add(1, Ordering::Release);
                    waker.wake();
                })
            })
            .collect();
        // A turn that may swallow a ring while it is awake, then one that goes to sleep.
        waker.prepare_sleep();
        waker.awake();
        let done = work.load(Ordering::Acquire);
        waker.prepare_sleep();
        let sleeps = work.load(Ordering::Acquire) == done;
        senders.into_iter().for_each(|s| s.join().unwrap());
        if sleeps && work.load(Ordering::Acquire) != done {
            assert!(waker.has_rung());
        }
    });
}
