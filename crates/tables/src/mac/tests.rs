// SPDX-License-Identifier: Apache-2.0
use super::*;
use proptest::prelude::*;
use std::collections::HashMap;
use std::sync::atomic::AtomicBool;

fn key(n: u32) -> MacKey {
    let [a, b, c, d] = n.to_be_bytes();
    MacKey::new([2, a, b, c, d, 1], (n % 7) as u16)
}

fn entry(n: u32) -> MacEntry {
    MacEntry { port: n % 1000, flags: n as u8 & 0x7f, generation: n as u16, stamp: (n >> 3) as u16 }
}

#[suite::test]
fn keys_and_entries_keep_every_bit() {
    let largest = MacKey::new([0xff; 6], MacKey::MAX_DOMAINS - 1);
    assert_eq!((largest.mac(), largest.domain()), ([0xff; 6], MacKey::MAX_DOMAINS - 1));
    let one = MacKey::new([2, 3, 4, 5, 6, 7], 9);
    assert_eq!((one.mac(), one.domain(), one.is_zero()), ([2, 3, 4, 5, 6, 7], 9, false));
    assert!(MacKey::new([0; 6], 5).is_zero());
    let full =
        MacEntry { port: MacEntry::MAX_PORTS - 1, flags: 0x7f, generation: 0xfffe, stamp: 0xfffd };
    assert_eq!(MacEntry::of(full.word()), full);
}

#[derive(Debug, Clone)]
enum Op {
    Insert(u32, u32),
    Set(u32, u32),
    Replace(u32, u32),
    Remove(u32),
    Retain(u32),
    Update(u32),
    Maintain,
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let key = 0..300u32;
    prop::collection::vec(
        prop_oneof![
            4 => (key.clone(), any::<u32>()).prop_map(|(k, v)| Op::Insert(k, v)),
            2 => (key.clone(), any::<u32>()).prop_map(|(k, v)| Op::Set(k, v)),
            2 => (key.clone(), any::<u32>()).prop_map(|(k, v)| Op::Replace(k, v)),
            2 => key.clone().prop_map(Op::Remove),
            1 => (2..9u32).prop_map(Op::Retain),
            1 => (2..9u32).prop_map(Op::Update),
            1 => Just(Op::Maintain),
        ],
        0..600,
    )
}

proptest! {
    /// A table that starts with 4 buckets, so that it is often full and grows.
    #[suite::test]
    fn a_table_is_a_map(ops in ops()) {
        let domain = Qsbr::new();
        let mut reader = domain.register();
        let table = MacTable::sized(domain.clone(), 4);
        let mut oracle = HashMap::new();
        for op in ops {
            let turn = reader.turn();
            let view = table.view(&turn);
            match op {
                Op::Insert(k, v) => match view.insert(key(k), entry(v)) {
                    Ok(()) => prop_assert_eq!(oracle.insert(key(k), entry(v)), None),
                    Err(NotInserted::Busy) => prop_assert!(oracle.contains_key(&key(k))),
                    Err(_) => prop_assert!(!oracle.contains_key(&key(k))),
                },
                Op::Set(k, v) => {
                    prop_assert_eq!(table.set(key(k), entry(v)), Ok(oracle.insert(key(k), entry(v))));
                }
                Op::Replace(k, v) => {
                    if let Some(found) = view.find(key(k))
                        && view.replace(found, entry(v))
                    {
                        prop_assert_eq!(oracle.insert(key(k), entry(v)), Some(found.entry));
                    }
                }
                Op::Remove(k) => prop_assert_eq!(table.remove(key(k)), oracle.remove(&key(k))),
                Op::Retain(n) => {
                    let keep = |e: MacEntry| !e.port.is_multiple_of(n);
                    let mut removed = HashMap::new();
                    for piece in 0..table.pieces() {
                        table.retain_piece(piece, |_, e| keep(e), |k, e| _ = removed.insert(k, e));
                    }
                    let gone: HashMap<_, _> = oracle.extract_if(|_, e| !keep(*e)).collect();
                    prop_assert_eq!(removed, gone);
                }
                Op::Update(n) => {
                    let new = |e: MacEntry| {
                        e.port.is_multiple_of(n).then_some(MacEntry { stamp: e.stamp ^ 1, ..e })
                    };
                    let mut replaced = HashMap::new();
                    for piece in 0..table.pieces() {
                        table.update_piece(piece, |_, e| new(e), |k, e| _ = replaced.insert(k, e));
                    }
                    for (k, e) in &mut oracle {
                        let changed = new(*e);
                        prop_assert_eq!(replaced.remove(k), changed.map(|_| *e));
                        *e = changed.unwrap_or(*e);
                    }
                    prop_assert!(replaced.is_empty());
                }
                Op::Maintain => {
                    drop(turn);
                    reader.offline();
                    table.maintain(false, |k, _| _ = oracle.remove(&k));
                    domain.collect();
                }
            }
            prop_assert_eq!(table.len(), oracle.len());
        }
        let mut all = HashMap::new();
        let mut walk = MacWalk::in_passes(3);
        while walk.step(&table, |k, e| assert_eq!(all.insert(k, e), None, "once")) {}
        prop_assert_eq!(&all, &oracle);
        let turn = reader.turn();
        for k in 0..300 {
            prop_assert_eq!(table.view(&turn).find(key(k)).map(|f| f.entry), oracle.get(&key(k)).copied());
            prop_assert_eq!(table.get(key(k)), oracle.get(&key(k)).copied());
        }
    }
}

#[suite::test]
fn a_zero_address_is_never_held() {
    let domain = Qsbr::new();
    let mut reader = domain.register();
    let table = MacTable::new(domain);
    let turn = reader.turn();
    for domain in [0, 1, 7] {
        let zero = MacKey::new([0; 6], domain);
        assert_eq!(table.view(&turn).insert(zero, entry(1)), Err(NotInserted::Zero));
        assert_eq!(table.set(zero, entry(1)), Err(NotInserted::Zero));
        assert!(table.view(&turn).find(zero).is_none());
    }
    assert!(table.is_empty());
}

/// A million addresses by growth from 65,536 slots: none is lost, and one whose buckets are full
/// has room after the growth that it causes.
#[suite::test]
fn a_table_grows_to_a_million_addresses() {
    let domain = Qsbr::new();
    let mut reader = domain.register();
    let table = MacTable::new(domain.clone());
    for n in 0..1_000_000 {
        if n % 4096 == 0 {
            reader.offline();
            // One part of a growth at a time: entries are looked up and inserted while others move.
            table.maintain(false, |_, _| panic!("lost"));
            domain.collect();
        }
        let full = {
            let turn = reader.turn();
            table.view(&turn).insert(key(n), entry(n)) == Err(NotInserted::Full)
        };
        if full {
            reader.offline();
            table.maintain(true, |_, _| panic!("lost"));
        }
        let turn = reader.turn();
        let view = table.view(&turn);
        let inserted = if full { Ok(()) } else { Err(NotInserted::Busy) };
        assert_eq!(view.insert(key(n), entry(n)), inserted, "{n}");
        let known = n.wrapping_mul(2_654_435_761) % (n + 1);
        assert_eq!(view.find(key(known)).map(|f| f.entry), Some(entry(known)), "{known} of {n}");
        assert_eq!(view.insert(key(known), entry(1)), Err(NotInserted::Busy), "{known} of {n}");
    }
    let turn = reader.turn();
    for n in 0..1_000_000 {
        assert_eq!(table.view(&turn).find(key(n)).map(|f| f.entry), Some(entry(n)));
    }
    assert_eq!(table.len(), 1_000_000);
}

/// Control inserts more addresses than the next size has room for, before a worker has seen that
/// size: the table grows again.
#[suite::test]
fn control_inserts_while_a_growth_goes_on() {
    let domain = Qsbr::new();
    let mut reader = domain.register();
    let table = MacTable::sized(domain.clone(), 4);
    let turn = reader.turn();
    for n in 0..5000 {
        assert_eq!(table.set(key(n), entry(n)), Ok(None), "{n}");
    }
    assert!(
        (0..5000)
            .all(|n| table.view(&turn).find(key(n)).is_some_and(|found| found.entry == entry(n)))
    );
    drop(turn);
    reader.offline();
    while table.maintain(false, |_, _| panic!("lost")) != GrowthState::Idle {}
    domain.collect();
    assert_eq!(table.levels().all().count(), 1);
    assert_eq!(table.len(), 5000);
    assert!((0..5000).all(|n| table.get(key(n)) == Some(entry(n))));
}

/// A worker finds no room in the larger table while entries are being moved to it, and neither does
/// control for those that it moves: the table grows again, and nothing is lost.
#[suite::test]
fn a_growing_table_grows_again() {
    let domain = Qsbr::new();
    let mut reader = domain.register();
    // Two pieces, so that a growth needs more than one step.
    let table = MacTable::sized(domain.clone(), 2 * PIECE);
    let mut known = 0;
    let mut learn_until_full = |reader: &mut sync::Reader| {
        let turn = reader.turn();
        while table.view(&turn).insert(key(known), entry(known)) != Err(NotInserted::Full) {
            known += 1;
        }
        drop(turn);
        reader.offline();
        known
    };
    let mut longest = 0;
    for _ in 0..2 {
        learn_until_full(&mut reader);
        for _ in 0..3 {
            table.maintain(true, |_, _| panic!("lost"));
            longest = longest.max(table.levels().all().count());
        }
    }
    let known = learn_until_full(&mut reader);
    while table.maintain(false, |_, _| panic!("lost")) != GrowthState::Idle {
        longest = longest.max(table.levels().all().count());
    }
    domain.collect();
    assert!(longest > 2, "{longest}");
    assert_eq!((table.levels().all().count(), table.len()), (1, known as usize));
    assert!((0..known).all(|n| table.get(key(n)) == Some(entry(n))));
}

/// Entries that are there all the time are met once, whenever the table grows, and whatever is
/// learned meanwhile.
#[suite::test]
fn a_walk_meets_each_entry_once_while_the_table_grows() {
    const FIRST: u32 = 3000;
    for (passes, before) in [(1, 0), (1, 1), (1, 2), (1, 3), (3, 0), (3, 2), (3, 3)] {
        let domain = Qsbr::new();
        let mut reader = domain.register();
        let table = MacTable::sized(domain.clone(), 4 * PIECE);
        for n in 0..FIRST {
            table.set(key(n), entry(n)).unwrap();
        }
        let (mut met, mut known, mut moves) = (HashMap::new(), FIRST, 0);
        (0..before).for_each(|_| _ = table.maintain(true, |_, _| panic!("lost")));
        let mut walk = MacWalk::in_passes(passes);
        while walk.step(&table, |k, e| assert_eq!(met.insert(k, e), None, "twice: {k:?}")) {
            let turn = reader.turn();
            for _ in 0..200 {
                known += u32::from(table.view(&turn).insert(key(known), entry(known)).is_ok());
            }
            drop(turn);
            reader.offline();
            let state = table.maintain(true, |_, _| panic!("lost"));
            moves += u32::from(state == GrowthState::Moving);
            domain.collect();
        }
        assert!(moves > 0, "it grew: {passes}, {before}");
        let missed = (0..FIRST).filter(|n| met.get(&key(*n)) != Some(&entry(*n))).count();
        assert_eq!(missed, 0, "{passes}, {before}");
    }
}

/// Workers learn the same addresses, move them and look them up, while control removes entries and
/// the table grows. An entry's port says its key, so an entry of another key would be noticed.
#[suite::test]
fn threads_learn_move_and_remove() {
    const KEYS: u32 = 4000;
    let domain = Qsbr::new();
    let table = MacTable::sized(domain.clone(), 64);
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for thread in 0..2u16 {
            let (table, stop, mut reader) = (&table, &stop, domain.register());
            scope.spawn(move || {
                let mut n = u32::from(thread) * 17;
                while !stop.load(Ordering::Relaxed) {
                    let turn = reader.turn();
                    let view = table.view(&turn);
                    for _ in 0..64 {
                        n = (n * 1_103 + 12_345) % KEYS;
                        let mine = MacEntry { port: n, flags: 1, generation: thread, stamp: 0 };
                        match view.find(key(n)) {
                            Some(found) => {
                                assert_eq!(found.entry.port, n, "another key's entry");
                                view.replace(found, mine);
                            }
                            None => _ = view.insert(key(n), mine),
                        }
                    }
                }
                reader.offline();
            });
        }
        for round in 0..300u32 {
            table.remove(key(round % KEYS));
            if round % 10 == 0 {
                for piece in 0..table.pieces() {
                    let keep = |k, e: MacEntry| {
                        assert_eq!(k, key(e.port));
                        e.port % 5 != round / 10 % 5
                    };
                    table.retain_piece(piece, keep, |k, e| assert_eq!(k, key(e.port)));
                }
            }
            table.maintain(false, |_, _| {});
            domain.collect();
            std::thread::yield_now();
        }
        stop.store(true, Ordering::Relaxed);
    });
    while table.maintain(false, |_, _| {}) != GrowthState::Idle {}
    domain.collect();
    let mut seen = HashMap::new();
    let mut walk = MacWalk::new(&table);
    while walk.step(&table, |k, e| assert_eq!(seen.insert(k, e.port), None, "twice: {k:?}")) {}
    assert_eq!(seen.len(), table.len());
    assert!(seen.iter().all(|(k, port)| *k == key(*port)));
}
