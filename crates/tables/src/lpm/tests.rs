// SPDX-License-Identifier: Apache-2.0
//! The tries against the oracle, alone and under readers.

use super::*;
use mem::Reserve;
use proptest::prelude::*;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use sync::Qsbr;

fn ip(text: &str) -> u32 {
    text.parse::<Ipv4Addr>().unwrap().to_bits()
}

/// All answers of `table` about `keys`, one by one and as a batch.
fn answers<L: Lpm>(table: &L, keys: &[L::Key]) -> Vec<u32> {
    let one_by_one: Vec<_> = keys.iter().map(|key| table.lookup(*key)).collect();
    let mut batch = vec![u32::MAX; keys.len()];
    table.lookup_batch(keys, &mut batch);
    assert_eq!(one_by_one, batch);
    batch
}

fn routes<L: Lpm>(table: &L) -> Vec<Route<L::Key>> {
    let mut all = Vec::new();
    table.for_each(&mut |route| all.push(route));
    // The same in pieces.
    let mut pieces: Vec<Route<L::Key>> = Vec::new();
    loop {
        let had = pieces.len();
        table.walk(pieces.last().map(|last| (last.key, last.len)), &mut |route| {
            pieces.push(route);
            pieces.len() < had + 3
        });
        if pieces.len() == had {
            assert_eq!(pieces, all);
            return all;
        }
    }
}

#[test]
fn the_longest_prefix_wins_at_every_level() {
    let table = Lpm4::new(Qsbr::new()).unwrap();
    assert_eq!(table.lookup(0), NO_ROUTE);
    for (net, len, value) in
        [("0.0.0.0", 0, 1), ("10.0.0.0", 8, 2), ("10.1.2.0", 24, 3), ("10.1.2.3", 32, 4), ("10.1.0.0", 16, 5)]
    {
        assert_eq!(table.insert(ip(net), len, value), Ok(None));
    }
    let keys = ["9.9.9.9", "10.9.9.9", "10.1.9.9", "10.1.2.9", "10.1.2.3"].map(ip);
    assert_eq!(answers(&table, &keys), [1, 2, 5, 3, 4]);
    assert_eq!(table.insert(ip("10.1.2.99"), 24, 6), Ok(Some(3)), "host bits don't count");
    assert_eq!(table.remove(ip("10.1.0.0"), 16), Some(5));
    assert_eq!(answers(&table, &keys), [1, 2, 2, 6, 4]);
    let covering = table.covering(ip("10.1.2.3"), 31);
    assert_eq!(covering, Some(Route { key: ip("10.1.2.0"), len: 24, value: 6 }));
    assert_eq!((table.get(ip("10.1.2.3"), 32), table.get(ip("10.1.2.3"), 31)), (Some(4), None));
    assert_eq!(table.remove(ip("10.1.2.3"), 31), None);
}

#[test]
fn memory_comes_and_goes_with_long_prefixes() {
    let domain = Qsbr::new();
    let mut reader = domain.register();
    let table = Lpm4::new(domain).unwrap();
    let root = table.memory();
    assert_eq!(root, 256 << 10);
    table.insert(ip("10.0.0.0"), 8, 1).unwrap();
    assert_eq!(table.memory(), root);
    let turn = reader.turn();
    for round in 1..=3 {
        table.insert(ip("10.1.2.3"), 32, 2).unwrap();
        assert_eq!(table.memory(), root + 2048);
        table.remove(ip("10.1.2.3"), 32).unwrap();
        assert_eq!(table.memory(), root, "round {round}");
    }
    assert_eq!(table.control_cells(), (root >> 2) + 6 * 256, "nothing is used again under a turn");
    drop(turn);
    table.insert(ip("10.1.2.3"), 32, 2).unwrap();
    assert_eq!(table.control_cells(), (root >> 2) + 6 * 256, "what was retired is used again");
}

#[test]
fn a_full_table_refuses_and_stays_as_it_was() {
    // Room for the root and three tables.
    let cells = Reserve::new((1 << 16) + 3 * 256).unwrap();
    let table = Lpm4::with_cells(Qsbr::new(), cells);
    table.insert(ip("10.0.0.0"), 8, 1).unwrap();
    table.insert(ip("10.1.2.3"), 32, 2).unwrap();
    let before = (routes(&table), table.memory());
    assert_eq!(table.insert(ip("11.1.2.3"), 32, 3), Err(Full));
    assert_eq!((routes(&table), table.memory()), before);
    let keys = ["10.1.2.3", "10.1.2.4", "11.1.2.3"].map(ip);
    assert_eq!(answers(&table, &keys), [2, 1, NO_ROUTE]);
    table.insert(ip("11.1.2.0"), 24, 3).unwrap();
    assert_eq!(answers(&table, &keys), [2, 1, 3]);
    assert_eq!(table.insert(ip("10.1.3.3"), 32, 4), Err(Full));
    table.remove(ip("11.1.2.0"), 24).unwrap();
    table.insert(ip("10.1.3.3"), 32, 4).unwrap();
}

#[test]
#[should_panic(expected = "prefix length 33 of 32 bits")]
fn a_length_beyond_the_key_panics() {
    let _ = Lpm4::new(Qsbr::new()).unwrap().get(0, 33);
}

#[test]
#[should_panic(expected = "route value 0x80000000")]
fn a_value_that_does_not_fit_panics() {
    let _ = Lpm4::new(Qsbr::new()).unwrap().insert(0, 0, 1 << 31);
}

#[derive(Debug, Clone)]
enum Op<K> {
    Insert(K, u8, u32),
    Remove(K, u8),
    /// Remove a route that is there.
    RemoveNth(usize),
}

/// Prefixes that nest and touch: a few networks, their neighbours, every length.
fn prefix<K: Key + FromDigits>() -> impl Strategy<Value = (K, u8)> {
    let digit = prop_oneof![4 => 0u8..3, 1 => Just(255), 1 => any::<u8>()];
    // Often at or just beyond the end of a table.
    let end = (0..=K::BITS / 4, 0u8..2).prop_map(|(n, beyond)| (n * 4 + beyond).min(K::BITS));
    let len = prop_oneof![2 => 0..=K::BITS, 2 => end, 1 => Just(K::BITS)];
    (prop::collection::vec(digit, usize::from(K::BITS) / 8), len)
        .prop_map(|(digits, len)| (K::of(&digits), len))
}

trait FromDigits {
    fn of(bytes: &[u8]) -> Self;
}

impl FromDigits for u32 {
    fn of(bytes: &[u8]) -> Self {
        Self::from_be_bytes(bytes.try_into().unwrap())
    }
}

impl FromDigits for u128 {
    fn of(bytes: &[u8]) -> Self {
        Self::from_be_bytes(bytes.try_into().unwrap())
    }
}

fn ops<K: Key + FromDigits>() -> impl Strategy<Value = Vec<Op<K>>> {
    let op = prop_oneof![
        4 => (prefix::<K>(), 1u32..1 << 31).prop_map(|((key, len), value)| Op::Insert(key, len, value)),
        1 => prefix::<K>().prop_map(|(key, len)| Op::Remove(key, len)),
        3 => any::<usize>().prop_map(Op::RemoveNth),
    ];
    prop::collection::vec(op, 0..60)
}

/// The addresses at which something may change: ends of every prefix, and their neighbours.
fn edges<K: Key + Edges>(ops: &[Op<K>]) -> Vec<K> {
    let ends = |key: &K, len: u8| {
        let (first, last) = (key.network(len), key.last(len));
        [*key, first, last, first.step(false), last.step(true)]
    };
    let prefixes = ops.iter().filter_map(|op| match op {
        Op::Insert(key, len, _) | Op::Remove(key, len) => Some((key, *len)),
        Op::RemoveNth(_) => None,
    });
    prefixes.flat_map(|(key, len)| ends(key, len)).collect()
}

trait Edges {
    fn last(self, len: u8) -> Self;
    fn step(self, up: bool) -> Self;
}

macro_rules! edges {
    ($t:ty) => {
        impl Edges for $t {
            fn last(self, len: u8) -> Self {
                self | <$t>::MAX.checked_shr(len.into()).unwrap_or(0)
            }
            fn step(self, up: bool) -> Self {
                if up { self.wrapping_add(1) } else { self.wrapping_sub(1) }
            }
        }
    };
}
edges!(u32);
edges!(u128);

fn agrees_with_the_oracle<K: Key + Edges, L: Lpm<Key = K>>(
    table: &L,
    ops: Vec<Op<K>>,
) -> Result<(), TestCaseError> {
    let oracle = OracleLpm::new();
    let keys = edges(&ops);
    for op in ops {
        let (key, len) = match op {
            Op::Insert(key, len, value) => {
                prop_assert_eq!(table.insert(key, len, value), oracle.insert(key, len, value));
                (key, len)
            }
            Op::Remove(key, len) => {
                prop_assert_eq!(table.remove(key, len), oracle.remove(key, len));
                (key, len)
            }
            Op::RemoveNth(n) => {
                let all = routes(&oracle);
                if all.is_empty() {
                    continue;
                }
                let Route { key, len, value } = all[n % all.len()];
                oracle.remove(key, len);
                prop_assert_eq!(table.remove(key, len), Some(value));
                (key, len)
            }
        };
        prop_assert_eq!(table.get(key, len), oracle.get(key, len));
        prop_assert_eq!(table.covering(key, len), oracle.covering(key, len));
        prop_assert_eq!(answers(table, &keys), answers(&oracle, &keys));
    }
    prop_assert_eq!(table.len(), oracle.len());
    let left = routes(&oracle);
    prop_assert_eq!(routes(table), left.clone());
    for Route { key, len, value } in left {
        prop_assert_eq!(table.remove(key, len), Some(value));
    }
    prop_assert!(answers(table, &keys).iter().all(|value| *value == NO_ROUTE));
    Ok(())
}

proptest! {
    #[test]
    fn lpm4_agrees_with_the_oracle(ops in ops::<u32>()) {
        let table = Lpm4::new(Qsbr::new()).unwrap();
        agrees_with_the_oracle(&table, ops)?;
        prop_assert_eq!(table.memory(), 256 << 10, "an emptied table has its root only");
    }

    #[test]
    fn lpm6_agrees_with_the_oracle(ops in ops::<u128>()) {
        let table = Lpm6::new(Qsbr::new()).unwrap();
        agrees_with_the_oracle(&table, ops)?;
        prop_assert_eq!(table.memory(), 256 << 10, "an emptied table has its root only");
    }
}

/// A pseudorandom sequence (Steele and others 2014).
fn splitmix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Control adds and removes routes in a few /16s while readers look up. The value of a route tells its prefix, so that a
/// reader can tell an answer that some route could give from one that comes out of a table used for something else.
fn readers_get_only_answers_that_a_route_gives<L: Lpm>(
    table: &L,
    domain: &Arc<Qsbr>,
    widen: fn(u32) -> L::Key,
    extra: u8,
) {
    const WRITES: usize = 60_000;
    /// Fixed routes, never removed: one /4 around each of the networks.
    const FIXED: u8 = 4;
    // (network number: 4 bits) (bits 16..32 shortened to 10) (len: 6 bits): the networks differ in their first digit.
    let address = |r: u64| {
        ((r as u32 & 3) + 1) << 28
            | (r >> 2) as u32 & 3
            | ((r >> 4) as u32 & 7) << 7
            | ((r >> 7) as u32 & 3) << 14
    };
    let value = |key: u32, len: u8| u32::from(len) << 20 | key >> 28 << 16 | (key & 0xffff);
    let covers = |value: u32, key: u32| {
        let len = (value >> 20) as u8;
        let route = value >> 16 << 28 | value & 0xffff;
        (FIXED..=32).contains(&len) && route == (key.network(len))
    };
    for network in 1..=4u32 {
        table.insert(widen(network << 28), FIXED + extra, value(network << 28, FIXED)).unwrap();
    }
    let (done, lookups) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|s| {
        for seed in 0..2 {
            let mut reader = domain.register();
            let (done, lookups) = (&done, &lookups);
            s.spawn(move || {
                let mut state = seed;
                while !done.load(Ordering::Acquire) || lookups.load(Ordering::Relaxed) == 0 {
                    let turn = reader.turn();
                    let keys: [u32; 64] = std::array::from_fn(|_| address(splitmix(&mut state)));
                    let wide = keys.map(widen);
                    let mut found = [0; 64];
                    table.lookup_batch(&wide, &mut found);
                    for (key, found) in keys.iter().zip(found) {
                        assert!(covers(found, *key), "{found:#x} for {key:#x}");
                    }
                    for (key, wide) in keys.iter().zip(wide) {
                        let found = table.lookup(wide);
                        assert!(covers(found, *key), "{found:#x} for {key:#x}");
                    }
                    lookups.fetch_add(64, Ordering::Relaxed);
                    drop(turn);
                }
            });
        }
        let mut state = 99;
        for _ in 0..WRITES {
            let r = splitmix(&mut state);
            let len = FIXED + 1 + (r >> 32) as u8 % (32 - FIXED);
            let key = address(r).network(len);
            if r >> 60 < 6 {
                table.insert(widen(key), len + extra, value(key, len)).unwrap();
            } else {
                table.remove(widen(key), len + extra);
            }
        }
        done.store(true, Ordering::Release);
    });
    assert!(lookups.load(Ordering::Relaxed) > 0);
}

#[test]
fn lpm4_answers_while_it_changes() {
    let domain = Qsbr::new();
    let table = Lpm4::new(domain.clone()).unwrap();
    readers_get_only_answers_that_a_route_gives(&table, &domain, |key| key, 0);
}

#[test]
fn lpm6_answers_while_it_changes() {
    let domain = Qsbr::new();
    let table = Lpm6::new(domain.clone()).unwrap();
    readers_get_only_answers_that_a_route_gives(&table, &domain, |key| u128::from(key) << 80, 16);
}

#[test]
fn tables_are_shared_by_threads() {
    fn shared<T: Send + Sync>() {}
    shared::<(Lpm4, Lpm6, OracleLpm<u32>, AtomicU32)>();
}
