// SPDX-License-Identifier: Apache-2.0

use crate::{Qsbr, Slots, Snapshot};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

const SHORT: Duration = Duration::from_millis(2);
const LONG: Duration = Duration::from_secs(60);

/// Counts its instances.
struct Counted(Arc<AtomicUsize>);

impl Counted {
    fn new(live: &Arc<AtomicUsize>) -> Self {
        live.fetch_add(1, Ordering::SeqCst);
        Self(live.clone())
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

#[suite::test]
fn a_turn_holds_back_what_was_retired_during_it() {
    let domain = Qsbr::new();
    let live = Arc::new(AtomicUsize::new(0));
    let mut reader = domain.register();
    let turn = reader.turn();
    domain.retire(Box::new(Counted::new(&live)));
    assert_eq!((domain.collect(), live.load(Ordering::SeqCst)), (0, 1));
    drop(turn);
    assert_eq!((domain.collect(), live.load(Ordering::SeqCst)), (1, 0));
    assert_eq!(domain.pending(), 0);
}

#[suite::test]
fn a_turn_does_not_hold_back_what_was_retired_before_it() {
    let domain = Qsbr::new();
    let mut reader = domain.register();
    domain.retire(Box::new(1));
    let _turn = reader.turn();
    domain.retire(Box::new(2));
    assert_eq!(domain.collect(), 1);
    assert_eq!(domain.pending(), 1);
}

#[suite::test]
fn retired_functions_run_in_order_and_may_retire() {
    let domain = Qsbr::new();
    let log = Arc::new(std::sync::Mutex::new(Vec::new()));
    for i in 0..3 {
        let (log, again) = (log.clone(), domain.clone());
        domain.retire_fn(Box::new(move || {
            log.lock().unwrap().push(i);
            again.retire(Box::new(i));
        }));
    }
    assert_eq!(domain.collect(), 3);
    assert_eq!(*log.lock().unwrap(), [0, 1, 2]);
    assert_eq!(domain.collect(), 3);
}

#[suite::test]
fn grace_is_over_when_the_turns_in_progress_have_ended() {
    let domain = Qsbr::new();
    let (mut a, mut b) = (domain.register(), domain.register());
    let turn_a = a.turn();
    let before = domain.grace();
    let turn_b = b.turn();
    let after = domain.grace();
    assert!(!before.is_over() && !after.is_over());
    drop(turn_a);
    assert!(before.is_over(), "b began later");
    assert!(!after.is_over());
    drop(turn_b);
    assert!(after.is_over());
}

#[suite::test]
fn wait_times_out_within_a_turn_and_not_between_turns() {
    let domain = Qsbr::new();
    let mut reader = domain.register();
    let turn = reader.turn();
    assert!(!domain.wait(SHORT));
    drop(turn);
    assert!(domain.wait(LONG), "an idle reader is offline");
}

#[suite::test]
fn a_leaked_turn_is_mended_by_offline_and_by_unregistering() {
    let domain = Qsbr::new();
    let mut reader = domain.register();
    std::mem::forget(reader.turn());
    assert!(!domain.grace().is_over());
    reader.offline();
    assert!(domain.grace().is_over());
    std::mem::forget(reader.turn());
    drop(reader);
    assert!(domain.grace().is_over());
}

#[suite::test]
fn dropping_the_domain_frees_everything() {
    let live = Arc::new(AtomicUsize::new(0));
    let domain = Qsbr::new();
    let snapshot = Snapshot::new(domain.clone(), Counted::new(&live));
    let slots = Slots::new(domain.clone());
    slots.set(0, Counted::new(&live));
    slots.set(1_000, Counted::new(&live));
    slots.set(1_000, Counted::new(&live));
    snapshot.set(Counted::new(&live));
    assert_eq!(live.load(Ordering::SeqCst), 5);
    drop((snapshot, slots));
    assert_eq!(live.load(Ordering::SeqCst), 2, "the two that were replaced");
    drop(domain);
    assert_eq!(live.load(Ordering::SeqCst), 0);
}

#[suite::test]
fn a_snapshot_stays_for_the_turn() {
    let domain = Qsbr::new();
    let snapshot = Snapshot::new(domain.clone(), vec![1]);
    let mut reader = domain.register();
    let turn = reader.turn();
    let seen = snapshot.get(&turn);
    snapshot.update(|v| [v.as_slice(), &[2]].concat());
    domain.collect();
    assert_eq!(seen, &[1]);
    assert_eq!(snapshot.get(&turn), &[1, 2]);
    assert_eq!(snapshot.read(Vec::len), 2);
    drop(turn);
    assert_eq!(domain.collect(), 1);
}

#[suite::test]
#[should_panic(expected = "another reclamation domain")]
fn a_snapshot_refuses_a_foreign_turn() {
    let snapshot = Snapshot::new(Qsbr::new(), 1);
    let mut reader = Qsbr::new().register();
    snapshot.get(&reader.turn());
}

#[suite::test]
#[should_panic(expected = "another reclamation domain")]
fn slots_refuse_a_foreign_turn() {
    let slots = Slots::<u8>::new(Qsbr::new());
    let mut reader = Qsbr::new().register();
    slots.get(0, &reader.turn());
}

/// Readers look at pairs that are equal while live and spoiled by the destructor.
#[suite::test]
fn readers_never_see_what_was_freed() {
    struct Pair(AtomicUsize, usize);
    impl Drop for Pair {
        fn drop(&mut self) {
            self.0.store(usize::MAX, Ordering::Relaxed);
        }
    }
    const WRITES: usize = if cfg!(miri) { 50 } else { 20_000 };
    let domain = Qsbr::new();
    let snapshot = Snapshot::new(domain.clone(), Pair(AtomicUsize::new(0), 0));
    let slots = Slots::new(domain.clone());
    let done = AtomicBool::new(false);
    std::thread::scope(|s| {
        for _ in 0..2 {
            let mut reader = domain.register();
            let (snapshot, slots, done) = (&snapshot, &slots, &done);
            s.spawn(move || {
                let mut last = 0;
                while !done.load(Ordering::Acquire) {
                    let turn = reader.turn();
                    let pair: &Pair = snapshot.get(&turn);
                    let slot: Option<&Pair> = slots.get(70, &turn);
                    std::thread::yield_now();
                    assert_eq!(pair.0.load(Ordering::Relaxed), pair.1);
                    assert!(slot.is_none_or(|p| p.0.load(Ordering::Relaxed) == p.1));
                    assert!(pair.1 >= last, "time runs forward");
                    last = pair.1;
                }
            });
        }
        for i in 1..=WRITES {
            snapshot.update(|old| Pair(AtomicUsize::new(old.1 + 1), old.1 + 1));
            slots.set(70, Pair(AtomicUsize::new(i), i));
            domain.collect();
        }
        done.store(true, Ordering::Release);
    });
    assert_eq!(snapshot.read(|p| p.1), WRITES);
    domain.collect();
    assert_eq!(domain.pending(), 0);
}

#[suite::test]
#[cfg_attr(miri, ignore = "a large chunk takes minutes")]
fn slots_reach_the_ends_of_each_chunk() {
    let domain = Qsbr::new();
    let slots = Slots::new(domain.clone());
    let mut reader = domain.register();
    let edges = [0, 1, 63, 64, 191, 192, 447, 448, 65_535, 65_536, 1_000_000];
    for i in edges {
        slots.set(i, i);
    }
    let turn = reader.turn();
    for i in edges {
        assert_eq!(slots.get(i, &turn), Some(&i));
    }
    for i in [2, 62, 65, 190, 193, 446, 449, 999_999, 5_000_000, u32::MAX] {
        assert_eq!(slots.get(i, &turn), None);
    }
    assert!(!slots.clear(u32::MAX));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: if cfg!(miri) { 4 } else { 256 }, ..Default::default() })]
    #[suite::test]
    fn slots_are_a_map(ops in prop::collection::vec((0u32..600, 0u8..4, any::<u16>()), 0..200)) {
        let domain = Qsbr::new();
        let slots = Slots::new(domain.clone());
        let mut reader = domain.register();
        let mut oracle = BTreeMap::new();
        for (index, op, value) in ops {
            match op {
                0 | 1 => {
                    slots.set(index, value);
                    oracle.insert(index, value);
                }
                2 => prop_assert_eq!(slots.clear(index), oracle.remove(&index).is_some()),
                _ => {
                    let had = slots.update(index, |v| v.wrapping_add(1));
                    prop_assert_eq!(had, oracle.contains_key(&index));
                    oracle.entry(index).and_modify(|v| *v = v.wrapping_add(1));
                }
            }
            let turn = reader.turn();
            prop_assert_eq!(slots.get(index, &turn), oracle.get(&index));
            prop_assert_eq!(slots.read(index, |v| v.copied()), oracle.get(&index).copied());
            drop(turn);
            domain.collect();
        }
        let mut all = Vec::new();
        slots.for_each(|index, value| all.push((index, *value)));
        prop_assert_eq!(all, oracle.into_iter().collect::<Vec<_>>());
    }
}
