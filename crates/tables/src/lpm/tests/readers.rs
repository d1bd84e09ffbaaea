// SPDX-License-Identifier: Apache-2.0
//! Large tables, long histories, and readers that look on.

use super::*;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A pseudorandom sequence (Steele and others 2014).
fn splitmix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Lengths as the Internet's routes have them, and hosts; of 32 bits.
fn len(r: u64) -> u8 {
    match r % 100 {
        0..50 => 24,
        50..62 => 22 + (r >> 8) as u8 % 2,
        62..74 => 19 + (r >> 8) as u8 % 3,
        74..80 => 14 + (r >> 8) as u8 % 5,
        80..82 => 8 + (r >> 8) as u8 % 5,
        82..86 => 25 + (r >> 8) as u8 % 7,
        _ => 32,
    }
}

/// The kind of result that is wanted of a table, in turn.
fn wanted_at(turn: usize) -> ResultKind {
    if turn.is_multiple_of(2) { ResultKind::Hops } else { ResultKind::Routes }
}

/// Adds, replaces and removes routes at random, and asks after each few whether lookups find what
/// the map of the routes says. `widen` makes a key of 32 bits one of the table's, with `extra` bits
/// in front.
fn long_history<K: Key + Edges>(sizes: Sizes, widen: fn(u32) -> K, extra: u8) {
    const OPS: usize = 60_000;
    let domain = Qsbr::new();
    let mut reader = domain.register();
    let table: Lpm<K> = table(&domain, sizes);
    let (mut there, mut state): (Vec<(K, u8)>, u64) = (Vec::new(), 7);
    let mut touched = Vec::new();
    for op in 0..OPS {
        if op.is_multiple_of(4001) {
            table.set_wanted(wanted_at(op / 4001));
        }
        let r = splitmix(&mut state);
        // It grows, shrinks to nothing, and grows again.
        let growing = op % (OPS / 2) < OPS / 4;
        let (key, bits) = if r.is_multiple_of(997) {
            (widen(0).network(extra), extra)
        } else if there.is_empty() || (r % 8 < 6) == growing {
            let bits = len(r >> 8);
            // Half of them close together.
            let key = if r >> 63 == 0 {
                (r >> 24) as u32
            } else {
                (r >> 24) as u32 & 0x3ffff | 0x0a00_0000
            };
            (widen(key).network(bits + extra), bits + extra)
        } else {
            there[(r >> 8) as usize % there.len()]
        };
        if growing || r.is_multiple_of(9) {
            let leaf = Leaf { hop: (r >> 40) as u32 % 500, route: op as u32 % 30_000 + 1 };
            if table.insert(key, bits, leaf).unwrap().is_none() {
                there.push((key, bits));
            }
        } else if table.remove(key, bits).is_some() {
            let at = there.iter().position(|route| *route == (key, bits)).unwrap();
            there.swap_remove(at);
        }
        touched.extend([
            key,
            key.last(bits),
            key.step(false),
            key.last(bits).step(true),
            widen(r as u32),
        ]);
        if touched.len() >= 1000 || op == OPS - 1 {
            let found = answers(&table, &touched, &reader.turn());
            for (key, leaf) in touched.drain(..).zip(found) {
                let right = table.covering(key, K::BITS).map_or(Leaf::NONE, |route| route.leaf);
                assert_eq!(leaf, right, "{key:x?} after {op}");
            }
        }
    }
    for (key, bits) in there {
        table.remove(key, bits).unwrap();
    }
    let last = K::of(&[255; 16][..usize::from(K::BITS) / 8]);
    assert_eq!(table.lookup(last, &reader.turn()), Leaf::NONE);
    if sizes.large > 0 {
        assert_eq!(table.memory(), self::table::<K>(&domain, sizes).memory());
    } else {
        assert!(table.memory() < least::<K>() + (1 << 17), "{}", table.memory());
    }
}

/// In the first 64 bits.
fn high(key: u32) -> u128 {
    u128::from(key) << 80
}

/// The first 16 bits in the first 64, the rest behind them.
fn around_64(key: u32) -> u128 {
    0x2001_0db8 << 96 | u128::from(key) << 48
}

/// Behind 2000::/8, over 256 slots of an index.
fn many_slots(key: u32) -> u128 {
    0x20 << 120 | u128::from(key) << 88
}

/// In one slot or two of an index, around the end of what its separators have.
fn around_56(key: u32) -> u128 {
    0x2001_0d00 << 96 | u128::from(key) << 60
}

#[suite::test]
fn a_long_history_of_an_ip4_tree() {
    long_history::<u32>(TREE, |key| key, 0);
}

#[suite::test]
fn a_long_history_of_bits() {
    long_history::<u32>(LARGE, |key| key, 0);
}

#[suite::test]
fn a_long_history_of_an_ip4_table() {
    long_history::<u32>(AS_IT_COMES, |key| key, 0);
}

#[suite::test]
fn a_long_history_of_an_ip6_table() {
    long_history::<u128>(AS_IT_COMES, high, 16);
    long_history::<u128>(AS_IT_COMES, around_64, 48);
}

#[suite::test]
fn a_long_history_of_an_index() {
    long_history::<u128>(LARGE, many_slots, 8);
    long_history::<u128>(LARGE, around_56, 36);
    long_history::<u128>(LARGE, around_64, 48);
}

/// Routes added many at a time, in order, into a table that has others, give what they give one by
/// one.
fn added_together<K: Key + Edges>(sizes: Sizes, widen: fn(u32) -> K, extra: u8) {
    let domain = Qsbr::new();
    let mut reader = domain.register();
    let (together, single): (Lpm<K>, Lpm<K>) = (table(&domain, sizes), table(&domain, sizes));
    let mut state = 3;
    for (round, at_once) in [1, 7, 100, 2048, 5000].into_iter().enumerate() {
        together.set_wanted(wanted_at(round));
        let random = |r: u64| {
            let (key, bits) =
                (widen((r >> 24) as u32 & 0xff_ffff | 0x0a00_0000), len(r >> 8) + extra);
            let leaf = Leaf { hop: (r >> 40) as u32 % 500, route: (r >> 20) as u32 % 30_000 + 1 };
            Route { key: key.network(bits), len: bits, leaf }
        };
        let mut new: Vec<Route<K>> = (0..5000).map(|_| random(splitmix(&mut state))).collect();
        new.sort_by_key(|route| (route.key, route.len));
        for some in new.chunks(at_once) {
            assert_eq!(together.insert_all(some), some.len());
        }
        for Route { key, len, leaf } in &new {
            single.insert(*key, *len, *leaf).unwrap();
        }
        assert!(routes(&together) == routes(&single));
        let ends = |route: &Route<K>| {
            [route.key, route.key.step(false), route.key.last(route.len).step(true)]
        };
        let keys: Vec<K> = new.iter().flat_map(ends).collect();
        let turn = reader.turn();
        assert!(answers(&together, &keys, &turn) == answers(&single, &keys, &turn));
        drop(turn);
        // Holes for the next.
        for Route { key, len, .. } in new.iter().step_by(3) {
            assert_eq!(together.remove(*key, *len), single.remove(*key, *len));
        }
    }
    for Route { key, len, .. } in routes(&single) {
        together.remove(key, len).unwrap();
    }
    assert!(together.is_empty());
    if sizes.large > 0 {
        assert_eq!(together.memory(), self::table::<K>(&domain, sizes).memory());
    }
}

#[suite::test]
fn routes_added_together_give_what_they_give_one_by_one() {
    added_together::<u32>(TREE, |key| key, 0);
    added_together::<u32>(LARGE, |key| key, 0);
    added_together::<u32>(AS_IT_COMES, |key| key, 0);
    added_together::<u128>(AS_IT_COMES, high, 16);
    added_together::<u128>(AS_IT_COMES, around_64, 48);
    added_together::<u128>(LARGE, many_slots, 8);
    added_together::<u128>(LARGE, around_56, 36);
}

/// Control works through a list of changes while readers look up. What they find must have been
/// right at some moment between the begin and the end of the lookup.
fn readers_look_on<K: Key + Edges>(sizes: Sizes, widen: fn(u32) -> K, extra: u8) {
    const CHANGES: usize = 6_000;
    const BACKGROUND: u32 = 3000;
    // Prefixes that cover everything cost a trie a million stores.
    const LENS: [u8; 22] =
        [0, 1, 16, 16, 17, 17, 18, 18, 19, 19, 22, 22, 23, 23, 24, 24, 25, 26, 30, 31, 32, 32];
    let domain = Qsbr::new();
    let table: Lpm<K> = table(&domain, sizes);
    // Routes that never change and cover no probe, so that there is more than one block.
    for i in 0..BACKGROUND {
        let len = if i % 2 == 0 { 22 } else { 30 };
        table.insert(widen(0x2000_0000 | i << 12), len + extra, at(1 << 20 | i)).unwrap();
    }
    let mut state = 5;
    // (network number: 2 bits) (two digits of 2 bits) (host: 3 bits): they nest and touch.
    let key = |r: u64| {
        ((r as u32 & 3) << 30)
            | (r >> 2) as u32 & 3
            | ((r >> 4) as u32 & 3) << 7
            | ((r >> 6) as u32 & 3) << 13
    };
    let mut oracle = OracleLpm::new();
    let mut changes = Vec::new();
    let probes: Vec<u32> = (0..200).map(|_| key(splitmix(&mut state))).collect();
    // After each change, what is right for each probe.
    let mut right = vec![vec![0; probes.len()]];
    for i in 0..CHANGES {
        let r = splitmix(&mut state);
        let bits = LENS[(r >> 32) as usize % LENS.len()];
        let key = key(r).network(bits);
        let route = (r >> 60 < 8).then_some(i as u32 + 1);
        match route {
            Some(route) => oracle.insert(key, bits, at(route)),
            None => oracle.remove(key, bits),
        };
        changes.push((key, bits, route));
        right.push(probes.iter().map(|probe| oracle.lookup(*probe).hop).collect());
    }
    let (begun, done, seen) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for seed in 0..2 {
            let mut reader = domain.register();
            let (table, probes, right, begun, done, seen) =
                (&table, &probes, &right, &begun, &done, &seen);
            scope.spawn(move || {
                let (mut state, keys) =
                    (seed, probes.iter().map(|probe| widen(*probe)).collect::<Vec<_>>());
                let (mut found, mut numbers) = (vec![0; keys.len()], vec![0; keys.len()]);
                while done.load(Ordering::Acquire) < CHANGES || seen.load(Ordering::Relaxed) < 100 {
                    // One, a few or all, by every way there is.
                    let r = splitmix(&mut state);
                    let n = [1, 8, 9, keys.len()][r as usize % 4];
                    let from = (r >> 8) as usize % (keys.len() - n + 1);
                    let turn = reader.turn();
                    let before = done.load(Ordering::Acquire);
                    if n == 1 {
                        found[0] = table.lookup(keys[from], &turn).hop;
                    } else if n == 8 {
                        // With changes between the steps, now and then of the whole structure.
                        let (steps, keys) = (table.steps(&turn), &keys[from..from + n]);
                        let (hops, numbers) = (&mut found[..n], &mut numbers[..n]);
                        steps.prefetch_nodes(keys);
                        steps.locate::<simd::V1>(keys, hops);
                        hops.iter().for_each(|place| steps.prefetch_leaf(*place));
                        std::thread::yield_now();
                        steps.read_leaves::<simd::V1, true>(keys, hops, numbers);
                        std::thread::yield_now();
                        steps.resolve(numbers);
                    } else {
                        hops::<K>().best()(table, &keys[from..from + n], &mut found[..n], &turn);
                    }
                    let after = begun.load(Ordering::Acquire);
                    drop(turn);
                    let routes = if n == 8 { &numbers[..n] } else { &found[..n] };
                    for (i, found) in found[..n].iter().enumerate().chain(routes.iter().enumerate())
                    {
                        let probe = from + i;
                        let some = (before..=after).any(|change| *found == right[change][probe]);
                        assert!(
                            some,
                            "{found:#x} for {:#x} from {before} to {after}",
                            probes[probe]
                        );
                    }
                    seen.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        for (i, (key, bits, route)) in changes.into_iter().enumerate() {
            if i.is_multiple_of(101) {
                table.set_wanted(wanted_at(i / 101));
            }
            begun.store(i + 1, Ordering::Release);
            std::sync::atomic::fence(Ordering::SeqCst);
            match route {
                Some(route) => _ = table.insert(widen(key), bits + extra, at(route)).unwrap(),
                None => _ = table.remove(widen(key), bits + extra),
            }
            done.store(i + 1, Ordering::Release);
        }
    });
}

#[suite::test]
fn readers_of_an_ip4_tree() {
    readers_look_on::<u32>(TREE, |key| key, 0);
}

#[suite::test]
fn readers_of_bits() {
    readers_look_on::<u32>(LARGE, |key| key, 0);
}

#[suite::test]
fn readers_of_a_table_that_changes_its_structure() {
    readers_look_on::<u32>(Sizes { small: 3030, large: 3031 }, |key| key, 0);
}

#[suite::test]
fn readers_of_an_index() {
    readers_look_on::<u128>(LARGE, many_slots, 8);
    readers_look_on::<u128>(LARGE, around_56, 36);
}

#[suite::test]
fn readers_of_an_ip6_table_that_changes_its_structure() {
    readers_look_on::<u128>(Sizes { small: 3030, large: 3031 }, many_slots, 8);
}

#[suite::test]
fn readers_of_an_ip6_table() {
    readers_look_on::<u128>(AS_IT_COMES, high, 16);
    readers_look_on::<u128>(AS_IT_COMES, around_64, 48);
}

#[suite::test]
fn tables_are_shared_by_threads() {
    fn shared<T: Send + Sync>() {}
    shared::<(Lpm4, Lpm6, OracleLpm<u32>, Forest)>();
}

#[suite::test]
fn ten_thousand_small_tables() {
    let domain = Qsbr::new();
    let forest = Forest::new(domain.clone()).unwrap();
    let special =
        [(0, 0), (0, 8), (0x7f00_0000, 8), (0xe000_0000, 4), (0xf000_0000, 4), (u32::MAX, 32)];
    let tables: Vec<Lpm4> = (0..10_000)
        .map(|i| {
            let table = Lpm::new(&forest).unwrap();
            for (route, (key, len)) in special.into_iter().enumerate() {
                table.insert(key, len, Leaf { hop: i, route: route as u32 + 1 }).unwrap();
            }
            table
        })
        .collect();
    let each = forest.memory() / tables.len();
    println!("{each} bytes for lookups in a table with {} routes", special.len());
    assert!(each <= 256, "{each}");
    let mut reader = domain.register();
    let turn = reader.turn();
    assert!(
        (0..)
            .zip(&tables)
            .all(|(i, table)| table.lookup(u32::MAX, &turn) == Leaf { hop: i, route: 6 })
    );
}
