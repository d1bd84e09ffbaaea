// SPDX-License-Identifier: Apache-2.0
//! The tables against the oracle, alone and under readers.

mod index;
mod readers;

use super::index::SLOTS;
use super::structure::{Engine4, Engine6, Kind4, Kind6, Sizes, Structure};
use super::*;
use proptest::prelude::*;
use simd::{Level, variants};
use std::net::Ipv4Addr;
use std::sync::Arc;
use sync::{Qsbr, Turn};

/// Sizes for the ways a table is built: as it comes, always by one structure, or changing all the
/// time.
const AS_IT_COMES: Sizes = Engine4::SIZES;
/// The bitmap trie, or the index.
const LARGE: Sizes = Sizes { small: 0, large: 0 };
const RESTLESS: Sizes = Sizes { small: 4, large: 7 };
const TREE: Sizes = Sizes { small: 0, large: usize::MAX };

fn table<K: Key>(domain: &Arc<Qsbr>, sizes: Sizes) -> Lpm<K> {
    Lpm::with_sizes(&Forest::new(domain.clone()).unwrap(), sizes).unwrap()
}

/// Bytes that the large structure takes for itself.
fn least<K: Key>() -> usize {
    if K::BITS == 32 { 2 << 20 } else { 4 * SLOTS }
}

fn ip(text: &str) -> u32 {
    text.parse::<Ipv4Addr>().unwrap().to_bits()
}

/// A leaf whose hop is the route's number.
fn at(route: u32) -> Leaf {
    Leaf { hop: route, route }
}

variants! {
    fn hops<I: Isa, K: Key>(table: &Lpm<K>, keys: &[K], hops: &mut [u32], turn: &Turn<'_>) = Lpm::<K>::hops::<I>;
}
variants! {
    fn leaves<I: Isa, K: Key>(table: &Lpm<K>, keys: &[K], hops: &mut [u32], routes: &mut [u32], turn: &Turn<'_>)
        = Lpm::<K>::leaves::<I>;
}

/// All answers of `table` about `keys`, one by one and as a batch, for every instruction set.
fn answers<K: Key>(table: &Lpm<K>, keys: &[K], turn: &Turn<'_>) -> Vec<Leaf> {
    let one_by_one: Vec<Leaf> = keys.iter().map(|key| table.lookup(*key, turn)).collect();
    for level in Level::ALL {
        let (mut of_hops, mut of_leaves) = (vec![u32::MAX; keys.len()], vec![u32::MAX; keys.len()]);
        let mut routes = vec![u32::MAX; keys.len()];
        if let (Some(hops), Some(leaves)) = (hops::<K>().get(level), leaves::<K>().get(level)) {
            hops(table, keys, &mut of_hops, turn);
            leaves(table, keys, &mut of_leaves, &mut routes, turn);
            assert_eq!(of_hops, of_leaves, "{level}");
            let batch = of_leaves.iter().zip(routes).map(|(&hop, route)| Leaf { hop, route });
            assert!(batch.eq(one_by_one.iter().copied()), "{level}");
        }
    }
    one_by_one
}

fn routes<K: Key>(table: &Lpm<K>) -> Vec<Route<K>> {
    let mut all = Vec::new();
    table.for_each(&mut |route| all.push(route));
    // The same in pieces.
    let mut pieces: Vec<Route<K>> = Vec::new();
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

#[suite::test]
fn the_longest_prefix_wins_at_every_level() {
    let domain = Qsbr::new();
    let mut reader = domain.register();
    for sizes in [TREE, LARGE, RESTLESS] {
        let table: Lpm4 = table(&domain, sizes);
        let turn = reader.turn();
        assert_eq!(table.lookup(0, &turn), Leaf::NONE);
        for (net, len, route) in [
            ("0.0.0.0", 0, 1),
            ("10.0.0.0", 8, 2),
            ("10.1.2.0", 24, 3),
            ("10.1.2.3", 32, 4),
            ("10.1.0.0", 16, 5),
        ] {
            assert_eq!(table.insert(ip(net), len, at(route)), Ok(None));
        }
        let keys = ["9.9.9.9", "10.9.9.9", "10.1.9.9", "10.1.2.9", "10.1.2.3"].map(ip);
        assert_eq!(answers(&table, &keys, &turn), [1, 2, 5, 3, 4].map(at));
        assert_eq!(
            table.insert(ip("10.1.2.99"), 24, at(6)),
            Ok(Some(at(3))),
            "host bits don't count"
        );
        assert_eq!(table.remove(ip("10.1.0.0"), 16), Some(at(5)));
        assert_eq!(answers(&table, &keys, &turn), [1, 2, 2, 6, 4].map(at));
        let covering = table.covering(ip("10.1.2.3"), 31);
        assert_eq!(covering, Some(Route { key: ip("10.1.2.0"), len: 24, leaf: at(6) }));
        assert_eq!(
            (table.get(ip("10.1.2.3"), 32), table.get(ip("10.1.2.3"), 31)),
            (Some(at(4)), None)
        );
        assert_eq!(table.remove(ip("10.1.2.3"), 31), None);
    }
}

#[suite::test]
fn a_table_takes_memory_as_it_grows_and_gives_it_back() {
    let domain = Qsbr::new();
    let forest = Forest::new(domain.clone()).unwrap();
    let empty = forest.memory();
    let table = Lpm4::new(&forest).unwrap();
    assert!(forest.memory() - empty <= 256, "{}", forest.memory());
    let net = |i: u32| 0x0a00_0000 + (i << 8);
    let insert = |i| table.insert(net(i), 24, at(i + 1)).unwrap();
    for i in 0..AS_IT_COMES.large as u32 - 1 {
        assert_eq!(insert(i), None);
        assert!(table.memory() < 256 + 40 * (i as usize + 1), "{i}: {}", table.memory());
    }
    assert_eq!(table.kind(), Kind4::Tree);
    insert(AS_IT_COMES.large as u32 - 1);
    assert_eq!((table.kind(), table.memory() >> 20), (Kind4::Narrow, 2));
    domain.collect();
    assert_eq!(forest.memory(), empty, "the tree was given back");
    table.insert(1, 32, Leaf { hop: 1 << 15, route: 9 }).unwrap();
    assert_eq!((table.kind(), table.memory() >> 20), (Kind4::Wide, 2));
    for i in (AS_IT_COMES.small as u32 - 1..AS_IT_COMES.large as u32).rev() {
        assert_eq!(table.kind(), Kind4::Wide);
        table.remove(net(i), 24).unwrap();
    }
    table.remove(1, 32).unwrap();
    assert_eq!(table.kind(), Kind4::Tree);
    drop(table);
    domain.collect();
    assert_eq!(forest.memory(), empty);
}

#[suite::test]
fn more_long_prefixes_than_narrow_leaves_can_name() {
    let domain = Qsbr::new();
    let mut reader = domain.register();
    let table: Lpm4 = table(&domain, LARGE);
    let host = |i: u32| 0x0a00_0001 + (i << 8);
    const N: u32 = 40_000;
    for i in 0..N {
        table.insert(host(i), 32, at(i % 1000 + 1)).unwrap();
    }
    assert_eq!(table.kind(), Kind4::Wide);
    let keys: Vec<u32> = (0..N).flat_map(|i| [host(i), host(i) - 1, host(i) + 1]).collect();
    let right =
        |i: usize| if i.is_multiple_of(3) { at(i as u32 / 3 % 1000 + 1) } else { Leaf::NONE };
    let turn = reader.turn();
    assert!(answers(&table, &keys, &turn).iter().enumerate().all(|(i, leaf)| *leaf == right(i)));
    println!("{} bytes a host alone in its /24", table.memory() / N as usize);
}

#[suite::test]
fn a_full_forest_refuses_and_stays_as_it_was() {
    let domain = Qsbr::new();
    let mut reader = domain.register();
    let forest = Forest::with_lines(domain.clone(), 2048).unwrap();
    let table = Lpm6::new(&forest).unwrap();
    let key = |i: u32| u128::from(i) << 80;
    let full = (1..).find(|i| table.insert(key(*i), 64, at(*i)) == Err(Full)).unwrap();
    assert_eq!(table.len(), full as usize - 1);
    let all: Vec<_> = (1..50_000).map(|i| Route { key: key(i), len: 64, leaf: at(i) }).collect();
    let together = Lpm6::new(&Forest::with_lines(domain.clone(), 2048).unwrap()).unwrap();
    let added = together.insert_all(&all);
    assert!(added > 1000 && added < all.len(), "{added}, and {full} one by one");
    assert_eq!(together.len(), added);
    let keys: Vec<u128> = all.iter().map(|route| route.key).collect();
    let right = |i: usize| if i < added { all[i].leaf } else { Leaf::NONE };
    let found = answers(&together, &keys, &reader.turn());
    assert!(found.iter().enumerate().all(|(i, leaf)| *leaf == right(i)));
    for _ in 0..2 {
        assert_eq!(table.insert(key(full), 64, at(full)), Err(Full));
        assert_eq!(table.insert(key(full), 128, at(full)), Err(Full));
    }
    let turn = reader.turn();
    let right = |i: u32| if i < full { at(i) } else { Leaf::NONE };
    assert!((1..=full).all(|i| table.lookup(key(i), &turn) == right(i)));
    for i in 1..full {
        assert_eq!(table.remove(key(i), 64), Some(at(i)));
        assert!(
            (1..=full)
                .step_by(7)
                .all(|k| table.lookup(key(k), &turn) == if k > i { right(k) } else { Leaf::NONE })
        );
    }
}

#[suite::test]
#[should_panic(expected = "prefix length 33 of 32 bits")]
fn a_length_beyond_the_key_panics() {
    let _ = table::<u32>(&Qsbr::new(), AS_IT_COMES).get(0, 33);
}

#[suite::test]
#[should_panic(expected = "hop: 2147483648")]
fn a_leaf_that_does_not_fit_panics() {
    let _ = table::<u32>(&Qsbr::new(), AS_IT_COMES).insert(0, 0, Leaf { hop: 1 << 31, route: 1 });
}

#[derive(Debug, Clone)]
enum Op<K> {
    Insert(K, u8, Leaf),
    InsertAll(Vec<Route<K>>),
    Remove(K, u8),
    /// Remove a route that is there.
    RemoveNth(usize),
    Want(ResultKind),
}

/// Prefixes that nest and touch: a few networks, their neighbours, every length.
fn prefix<K: Key + Edges>() -> impl Strategy<Value = (K, u8)> {
    let digit = prop_oneof![4 => 0u8..3, 1 => Just(255), 1 => any::<u8>()];
    // Often at or just beyond the end of a level.
    let end = (0..=K::BITS / 2, 0u8..2).prop_map(|(n, beyond)| (n * 2 + beyond).min(K::BITS));
    let len = prop_oneof![2 => 0..=K::BITS, 2 => end, 1 => Just(K::BITS)];
    (prop::collection::vec(digit, usize::from(K::BITS) / 8), len)
        .prop_map(|(digits, len)| (K::of(&digits), len))
}

fn ops<K: Key + Edges>() -> impl Strategy<Value = Vec<Op<K>>> {
    let hop = prop_oneof![8 => 1u32..4, 1 => 0u32..1 << 31];
    let leaf = (hop, 1u32..1 << 24).prop_map(|(hop, route)| Leaf { hop, route });
    let route =
        (prefix::<K>(), leaf.clone()).prop_map(|((key, len), leaf)| Route { key, len, leaf });
    let some = prop::collection::vec(route, 0..20).prop_flat_map(|mut some| {
        some.sort_unstable_by_key(|route| (route.key.network(route.len), route.len));
        prop_oneof![2 => Just(some.clone()), 1 => Just(some).prop_shuffle()]
    });
    let op = prop_oneof![
        1 => some.prop_map(Op::InsertAll),
        4 => (prefix::<K>(), leaf).prop_map(|((key, len), leaf)| Op::Insert(key, len, leaf)),
        1 => prefix::<K>().prop_map(|(key, len)| Op::Remove(key, len)),
        3 => any::<usize>().prop_map(Op::RemoveNth),
        1 => prop_oneof![Just(ResultKind::Hops), Just(ResultKind::Routes)].prop_map(Op::Want),
    ];
    prop::collection::vec(op, 0..60)
}

/// The addresses at which something may change: ends of every prefix, and their neighbours.
fn edges<K: Key + Edges>(ops: &[Op<K>]) -> Vec<K> {
    let ends = |key: &K, len: u8| {
        let (first, last) = (key.network(len), key.last(len));
        [*key, first, last, first.step(false), last.step(true)]
    };
    let prefixes = ops.iter().flat_map(|op| match op {
        Op::Insert(key, len, _) | Op::Remove(key, len) => vec![(key, *len)],
        Op::InsertAll(routes) => routes.iter().map(|route| (&route.key, route.len)).collect(),
        Op::RemoveNth(_) | Op::Want(_) => Vec::new(),
    });
    prefixes.flat_map(|(key, len)| ends(key, len)).collect()
}

trait Edges {
    fn of(bytes: &[u8]) -> Self;
    fn last(self, len: u8) -> Self;
    fn step(self, up: bool) -> Self;
}

macro_rules! edges {
    ($t:ty) => {
        impl Edges for $t {
            fn of(bytes: &[u8]) -> Self {
                Self::from_be_bytes(bytes.try_into().unwrap())
            }
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

fn agrees_with_the_oracle<K: Key + Edges>(
    sizes: Sizes,
    ops: Vec<Op<K>>,
) -> Result<(), TestCaseError> {
    let domain = Qsbr::new();
    let mut reader = domain.register();
    let (table, mut oracle) = (table::<K>(&domain, sizes), OracleLpm::new());
    let (keys, zero) = (edges(&ops), K::of(&[0; 16][..usize::from(K::BITS) / 8]));
    let right =
        |oracle: &OracleLpm<K>| keys.iter().map(|key| oracle.lookup(*key)).collect::<Vec<_>>();
    for op in ops {
        let (key, len) = match op {
            Op::Insert(key, len, leaf) => {
                prop_assert_eq!(table.insert(key, len, leaf), Ok(oracle.insert(key, len, leaf)));
                (key, len)
            }
            Op::InsertAll(routes) => {
                prop_assert_eq!(table.insert_all(&routes), routes.len());
                for Route { key, len, leaf } in &routes {
                    oracle.insert(*key, *len, *leaf);
                }
                routes.last().map_or((zero, 0), |last| (last.key, last.len))
            }
            Op::Remove(key, len) => {
                prop_assert_eq!(table.remove(key, len), oracle.remove(key, len));
                (key, len)
            }
            Op::RemoveNth(n) => {
                let all = oracle.routes();
                if all.is_empty() {
                    continue;
                }
                let Route { key, len, leaf } = all[n % all.len()];
                oracle.remove(key, len);
                prop_assert_eq!(table.remove(key, len), Some(leaf));
                (key, len)
            }
            Op::Want(wanted) => {
                table.set_wanted(wanted);
                (zero, 0)
            }
        };
        prop_assert_eq!(table.get(key, len), oracle.get(key, len));
        prop_assert_eq!(table.covering(key, len), oracle.covering(key, len));
        prop_assert_eq!(answers(&table, &keys, &reader.turn()), right(&oracle));
    }
    prop_assert_eq!(routes(&table), oracle.routes());
    for Route { key, len, leaf } in oracle.routes() {
        prop_assert_eq!(table.remove(key, len), Some(leaf));
    }
    prop_assert!(answers(&table, &keys, &reader.turn()).iter().all(|leaf| *leaf == Leaf::NONE));
    if sizes.large > 0 {
        prop_assert_eq!(table.memory(), self::table::<K>(&domain, sizes).memory());
    } else {
        prop_assert!(table.memory() < least::<K>() + 768, "{}", table.memory());
    }
    Ok(())
}

proptest! {
    #[suite::test]
    fn trees_of_ip4_agree(ops in ops::<u32>()) {
        agrees_with_the_oracle(TREE, ops)?;
    }

    #[suite::test]
    fn trees_of_ip6_agree(ops in ops::<u128>()) {
        agrees_with_the_oracle(AS_IT_COMES, ops)?;
    }
}

/// The same among global unicast addresses, which an index holds; with prefixes that cover all of
/// them, and others too.
fn global(ops: Vec<Op<u128>>) -> Vec<Op<u128>> {
    let into = |key: u128, len: u8| {
        if len < 3 { (key, len) } else { (key >> 3 | 1 << 125, (len + 3).min(128)) }
    };
    let route = |Route { key, len, leaf }| {
        let (key, len) = into(key, len);
        Route { key, len, leaf }
    };
    let op = |op| match op {
        Op::Insert(key, len, leaf) => {
            let (key, len) = into(key, len);
            Op::Insert(key, len, leaf)
        }
        Op::InsertAll(routes) => Op::InsertAll(routes.into_iter().map(route).collect()),
        Op::Remove(key, len) => {
            let (key, len) = into(key, len);
            Op::Remove(key, len)
        }
        Op::RemoveNth(n) => Op::RemoveNth(n),
        Op::Want(wanted) => Op::Want(wanted),
    };
    ops.into_iter().map(op).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[suite::test]
    fn indexes_agree(ops in ops::<u128>().prop_map(global)) {
        agrees_with_the_oracle(LARGE, ops)?;
    }

    #[suite::test]
    fn tables_that_take_an_index_and_leave_it_agree(ops in ops::<u128>().prop_map(global)) {
        agrees_with_the_oracle(RESTLESS, ops)?;
    }

    #[suite::test]
    fn bits_agree(ops in ops::<u32>()) {
        agrees_with_the_oracle(LARGE, ops)?;
    }

    #[suite::test]
    fn tables_that_change_their_structure_agree(ops in ops::<u32>()) {
        agrees_with_the_oracle(RESTLESS, ops)?;
    }
}
