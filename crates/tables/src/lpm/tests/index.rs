// SPDX-License-Identifier: Apache-2.0
//! When IPv6 tables have an index, and what that takes.

use super::*;

#[suite::test]
fn a_large_table_of_ip6_has_an_index_until_it_is_small_again() {
    let sizes = Engine6::SIZES;
    let domain = Qsbr::new();
    let mut reader = domain.register();
    let table: Lpm6 = table(&domain, sizes);
    let net = |i: u32| 0x2001_0db8 << 96 | u128::from(i) << 80;
    for i in 0..sizes.large as u32 {
        assert_eq!(table.kind(), Kind6::Tree);
        table.insert(net(i), 48, at(i + 1)).unwrap();
    }
    assert_eq!(table.kind(), Kind6::Indexed(ResultKind::Routes));
    let keys: Vec<u128> = (0..sizes.large as u32).flat_map(|i| [net(i), net(i + 1) - 1]).collect();
    let right = |i: usize| at(i as u32 / 2 + 1);
    let found = answers(&table, &keys, &reader.turn());
    assert!(found.iter().enumerate().all(|(i, leaf)| *leaf == right(i)));
    for i in (sizes.small as u32 - 1..sizes.large as u32).rev() {
        assert_eq!(table.kind(), Kind6::Indexed(ResultKind::Routes));
        table.remove(net(i), 48).unwrap();
    }
    assert_eq!(table.kind(), Kind6::Tree);
    assert!(table.memory() < 40 * sizes.small, "{}", table.memory());
}

#[suite::test]
fn an_index_for_who_wants_hops_alone_is_smaller() {
    let domain = Qsbr::new();
    let mut reader = domain.register();
    let table: Lpm6 = table(&domain, LARGE);
    let net = |i: u32| 0x2a00 << 112 | u128::from(i) << 96;
    // A /56 here and there is cut up, some into more than a line holds.
    let long = |i: u32| {
        (0..i % 12 * 2).map(move |j| (net(i) | u128::from(2 * j + 1) << 64, 64, j % 2 + 1))
    };
    let shape = (0..6000).flat_map(|i| {
        let long = long(i).filter(move |_| i % 93 == 0);
        std::iter::once((net(i), 32, i / 16)).chain(long)
    });
    let leaf = |(route, (key, len, hop))| Route { key, len, leaf: Leaf { hop, route } };
    let routes: Vec<_> = (1..).zip(shape).map(leaf).collect();
    table.insert_all(&routes);
    let ends =
        |route: &Route<u128>| [route.key, route.key.last(route.len), route.key.last(route.len) + 1];
    let keys: Vec<u128> = routes.iter().flat_map(ends).collect();
    let right = |key: &u128| table.covering(*key, 128).map_or(Leaf::NONE, |route| route.leaf);
    let (right, memory) = (keys.iter().map(right).collect::<Vec<_>>(), table.memory());
    for (wanted, lines) in [
        (ResultKind::Hops, 6000 / 5 - 6000 / 16 / 8),
        (ResultKind::Routes, 0),
        (ResultKind::Hops, 1000),
    ] {
        table.set_wanted(wanted);
        assert_eq!(table.kind(), Kind6::Indexed(wanted));
        assert_eq!(answers(&table, &keys, &reader.turn()), right);
        // One line more for the slots without routes, which none has led anywhere before.
        assert!(
            table.memory() + lines * 64 <= memory + 64,
            "{wanted:?}: {} after {memory}",
            table.memory()
        );
    }
}

#[suite::test]
fn a_table_of_many_long_prefixes_has_no_index() {
    let sizes = Sizes { small: 50, large: 100 };
    let table: Lpm6 = table(&Qsbr::new(), sizes);
    let net = |i: u32| 0x2001_0db8 << 96 | u128::from(i) << 64;
    for i in 0..150 {
        table.insert(net(i), 64, at(i + 1)).unwrap();
        assert_eq!(table.kind(), Kind6::Tree);
    }
    let shorter = |i: u32| Route { key: net(i << 16), len: 48, leaf: at(i + 1) };
    assert_eq!(table.insert_all(&(0..250).map(shorter).collect::<Vec<_>>()), 250);
    assert_eq!(table.kind(), Kind6::Indexed(ResultKind::Routes), "a hundred more of them");
    assert_eq!(table.insert_all(&[shorter(1)]), 1);
    for i in 0..26 {
        assert_eq!(table.kind(), Kind6::Indexed(ResultKind::Routes));
        table.insert(net(1 << 20 | i), 64, at(1)).unwrap();
        table.remove(shorter(100 + i).key, 48).unwrap();
    }
    assert_eq!(table.kind(), Kind6::Tree);
}

#[suite::test]
fn what_a_slot_had_is_given_back() {
    // More than the lines of two levels have room for.
    const MOST: u32 = 1300;
    let net = |i: u32| 0x2001_0d00 << 96 | u128::from(2 * i) << 80;
    let keys: Vec<u128> = (0..MOST).flat_map(|i| [net(i), net(i) - 1]).collect();
    let right = |i: usize, n: u32| {
        if i.is_multiple_of(2) && i as u32 / 2 < n { at(i as u32 / 2 + 1) } else { Leaf::NONE }
    };
    for wanted in [ResultKind::Hops, ResultKind::Routes] {
        let domain = Qsbr::new();
        let mut reader = domain.register();
        let table: Lpm6 = table(&domain, LARGE);
        table.set_wanted(wanted);
        let all: Vec<_> =
            (0..MOST).map(|i| Route { key: net(i), len: 48, leaf: at(i + 1) }).collect();
        // The memory that stays: the line of slots without routes.
        table.insert_all(&all[..1]);
        table.remove(net(0), 48).unwrap();
        let empty = table.memory();
        assert_eq!(table.insert_all(&all), all.len());
        for n in (0..MOST).rev() {
            table.remove(net(n), 48).unwrap();
            if n % 37 == 0 {
                let found = answers(&table, &keys, &reader.turn());
                assert!(
                    found.iter().enumerate().all(|(i, leaf)| *leaf == right(i, n)),
                    "{wanted:?}, {n} left"
                );
            }
        }
        assert_eq!(table.memory(), empty, "{wanted:?}");
    }
}
