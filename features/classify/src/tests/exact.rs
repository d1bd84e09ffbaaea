// SPDX-License-Identifier: Apache-2.0
//! The exact-match table against a list.

use crate::exact::Exact;
use crate::key::Key;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;
use sync::Qsbr;

#[derive(Clone, Debug)]
enum Op {
    Set(u8, u32),
    Remove(u8),
    Hit(u8, u8),
}

fn key(n: u8, vectors: usize) -> Key {
    // Keys that differ in one vector only, and in one bit.
    let mut bytes = [0; 80];
    bytes[usize::from(n) % (vectors * 16)] = n;
    Key::of(&bytes[..vectors * 16])
}

fn ops() -> impl Strategy<Value = (usize, Vec<Op>)> {
    let op = prop_oneof![
        3 => (any::<u8>(), any::<u32>()).prop_map(|(key, value)| Op::Set(key, value)),
        2 => any::<u8>().prop_map(Op::Remove),
        3 => (any::<u8>(), 0..3u8).prop_map(|(key, thread)| Op::Hit(key, thread)),
    ];
    (1..=5usize, prop::collection::vec(op, 0..600))
}

proptest! {
    #[suite::test]
    fn the_table_finds_what_a_list_finds((vectors, ops) in ops()) {
        let domain = Qsbr::new();
        let mut reader = domain.register();
        let table: Exact<u32> = Exact::new(&domain, 3, vectors, Arc::default());
        // By key: value, hits, time of the last.
        let mut oracle: BTreeMap<Vec<u8>, (u32, u64, u64)> = BTreeMap::new();
        let bytes = |key: &Key| key.bytes(vectors);
        for (now, op) in (1..).zip(ops) {
            match op {
                Op::Set(n, value) => {
                    let key = key(n, vectors);
                    let old = oracle.insert(bytes(&key), (value, 0, 0));
                    prop_assert_eq!(table.set(&key, value), Ok(old.map(|(value, ..)| value)));
                }
                Op::Remove(n) => {
                    let key = key(n, vectors);
                    let old = oracle.remove(&bytes(&key));
                    prop_assert_eq!(table.remove(&key), old.map(|(value, ..)| value));
                }
                Op::Hit(n, thread) => {
                    let key = key(n, vectors);
                    let turn = reader.turn();
                    let found = table.find(&key, &turn);
                    let want = oracle.get_mut(&bytes(&key));
                    prop_assert_eq!(found.map(|(_, value)| *value), want.as_ref().map(|(value, ..)| *value));
                    if let (Some((index, _)), Some((_, hits, last))) = (found, want) {
                        table.note_hit(thread.into(), index, now, &turn);
                        (*hits, *last) = (*hits + 1, now);
                    }
                }
            }
            prop_assert_eq!(table.len(), oracle.len());
        }
        let turn = reader.turn();
        for n in 0..=u8::MAX {
            let key = key(n, vectors);
            let found = table.find(&key, &turn).map(|(_, value)| *value);
            prop_assert_eq!(found, oracle.get(&bytes(&key)).map(|(value, ..)| *value));
        }
        drop(turn);
        let all = (0..table.bound()).filter_map(|at| table.get(at));
        let all: BTreeMap<_, _> =
            all.map(|info| (bytes(&info.key), (info.value, info.hits, info.last_heard))).collect();
        prop_assert_eq!(all, oracle);
    }
}

/// A table grows far beyond its first cells, and what was removed leaves no trace.
#[suite::test]
fn tables_grow_and_are_used_again() {
    let domain = Qsbr::new();
    let mut reader = domain.register();
    let table: Exact<u32> = Exact::new(&domain, 1, 2, Arc::default());
    let key = |n: u32| Key::of(&[n.to_be_bytes(), (!n).to_be_bytes()].concat());
    for round in 0..3 {
        for n in 0..20_000 {
            assert_eq!(table.set(&key(n), n ^ round), Ok(None));
        }
        let turn = reader.turn();
        assert!(
            (0..20_000)
                .all(|n| table.find(&key(n), &turn).map(|(_, value)| *value) == Some(n ^ round))
        );
        assert!((20_000..21_000).all(|n| table.find(&key(n), &turn).is_none()));
        drop(turn);
        for n in 0..20_000 {
            assert_eq!(table.remove(&key(n)), Some(n ^ round));
        }
        assert_eq!((table.len(), table.bound()), (0, 20_000), "indices are used again");
    }
}

/// Segments are split; an old directory finds what was there when the turn began.
#[suite::test]
fn segments_are_split() {
    let domain = Qsbr::new();
    let (mut reader, mut old) = (domain.register(), domain.register());
    let table: Exact<u32> = Exact::new(&domain, 1, 1, Arc::default());
    let key = |n: u32| Key::of(&n.to_be_bytes());
    (0..10_000).for_each(|n| assert_eq!(table.set(&key(n), n), Ok(None)));
    let before = old.turn();
    for n in 10_000..200_000 {
        assert_eq!(table.set(&key(n), n), Ok(None));
        if n % 3 == 0 {
            assert_eq!(table.remove(&key(n)), Some(n));
        }
    }
    let turn = reader.turn();
    for n in 0..200_000 {
        let want = (n < 10_000 || n % 3 != 0).then_some(n);
        assert_eq!(table.find(&key(n), &turn).map(|(_, value)| *value), want);
        assert_eq!(table.set(&key(n), n + 1), Ok(want));
    }
    assert_eq!(table.len(), 200_000);
    assert!((0..10_000).all(|n| table.find(&key(n), &before).is_some()));
    let (segments, largest) = table.segments();
    assert!(
        segments >= 8 && largest <= 1 << 15,
        "{segments} segments, the largest of {largest} cells"
    );
}

/// A worker finds throughout its turn what was there when the turn began, or what replaced it.
#[suite::test]
fn a_turn_outlives_what_control_removes() {
    let domain = Qsbr::new();
    let mut reader = domain.register();
    let table: Exact<u32> = Exact::new(&domain, 1, 1, Arc::default());
    let key = Key::of(&[1]);
    table.set(&key, 5).expect("room");
    let turn = reader.turn();
    let (index, value) = table.find(&key, &turn).expect("it is there");
    table.set(&key, 6).expect("room");
    table.remove(&key);
    assert_eq!((*value, table.find(&key, &turn)), (5, None));
    // Another entry may have the index by now.
    table.note_hit(0, index, 9, &turn);
    // A thread that isn't one of the table's counts nothing.
    table.note_hit(7, index, 9, &turn);
}

/// Workers look keys up while control adds others, removes and grows.
#[suite::test]
fn readers_find_entries_that_stay_while_others_change() {
    use std::sync::atomic::{AtomicBool, Ordering};
    let domain = Qsbr::new();
    let table: Exact<u32> = Exact::new(&domain, 2, 1, Arc::default());
    let key = |n: u32| Key::of(&n.to_be_bytes());
    (0..100).for_each(|n| _ = table.set(&key(n), n));
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for thread in 0..2 {
            let (table, done, domain) = (&table, &done, domain.clone());
            scope.spawn(move || {
                let mut reader = domain.register();
                while !done.load(Ordering::Relaxed) {
                    let turn = reader.turn();
                    for n in 0..100 {
                        let (index, value) = table.find(&key(n), &turn).expect("it stays");
                        assert_eq!(*value, n);
                        table.note_hit(thread, index, 1, &turn);
                    }
                }
            });
        }
        for round in 0..200 {
            (1000..1000 + round * 10).for_each(|n| _ = table.set(&key(n), n));
            (1000..1000 + round * 10).for_each(|n| _ = table.remove(&key(n)));
            domain.collect();
        }
        done.store(true, Ordering::Relaxed);
    });
    let counted: Vec<u64> = (0..100).filter_map(|at| table.get(at)).map(|info| info.hits).collect();
    assert_eq!(counted.len(), 100);
    assert!(
        counted.windows(2).all(|pair| pair[0] == pair[1]),
        "each round counts once for each: {counted:?}"
    );
}
