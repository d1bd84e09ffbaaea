// SPDX-License-Identifier: Apache-2.0
//! Limits, and objects that are given back.

use super::*;
use crate::control::{ActionConfig, SessionConfig, TableConfig};
use crate::state::{Classifier, FilterOf};
use crate::table::MAX_CHAIN;
use crate::words::Mask;
use msg::retval;
use net::Fib;
use std::sync::atomic::Ordering;
use wire::{Ip4, Ip6};

fn config() -> TableConfig {
    TableConfig {
        mask: vec![0xff; 16],
        skip: 0,
        buckets: 2,
        next: None,
        miss: u32::MAX,
        offset: None,
    }
}

fn session(action: ActionConfig) -> SessionConfig {
    SessionConfig { next: u32::MAX, opaque: 0, advance: 0, action }
}

/// Sessions of a deleted table, and the tables of routes that they need, are given back in slices.
#[suite::test]
fn a_deleted_table_gives_its_sessions_back() {
    let mut rig = routers(1);
    let world = rig.world();
    let classifier = world.get::<Classifier>();
    let table = classifier.add_table(&world, &config(), None).expect("a table");
    for n in 0..5000_u32 {
        let bytes: Vec<u8> = n.to_be_bytes().into_iter().cycle().take(16).collect();
        let action = ActionConfig::Fib(n % 2 == 0, 7);
        classifier.add_session(&world, table, &bytes, session(action)).expect("a session");
    }
    let has = |world: &graph::World| {
        (
            world.get::<Fib<Ip4>>().find_table(7).is_ok(),
            world.get::<Fib<Ip6>>().find_table(7).is_ok(),
        )
    };
    assert_eq!((has(&world), classifier.total.load(Ordering::Relaxed)), ((true, true), 5000));
    classifier.delete_table(&world, table, false).expect("deleted");
    let left = classifier.total.load(Ordering::Relaxed);
    assert!((5000 - cli::SLICE..5000).contains(&left), "{left} are left of one slice");
    (0..100).for_each(|_| rig.bench.settle());
    assert_eq!((has(&world), classifier.total.load(Ordering::Relaxed)), ((false, false), 0));
}

/// Filters have as many tables as chains do, and all of them go.
#[suite::test]
fn a_filter_is_a_chain_of_limited_length() {
    let rig = routers(1);
    let world = rig.world();
    let classifier = world.get::<Classifier>();
    let add = |n: usize| {
        let mask = Mask { skip: 0, bytes: [&(n as u16 + 1).to_be_bytes()[..], &[0; 14]].concat() };
        classifier.add_filter(&world, FilterOf::Trace, &mask, &[0xff; 16])
    };
    (0..MAX_CHAIN).for_each(|n| add(n).expect("room"));
    assert!(add(MAX_CHAIN).is_err_and(|e| e.is(retval::LIMIT_EXCEEDED)));
    assert_eq!(classifier.list().len(), MAX_CHAIN);
    add(3).expect("a session of a table that is there");
    classifier.delete_filter(&world, FilterOf::Trace).expect("deleted");
    assert_eq!(classifier.list().len(), 0);
}

/// Chains are as long as [`MAX_CHAIN`] from every first table on.
#[suite::test]
fn chains_have_a_limit_from_both_ends() {
    let rig = routers(1);
    let world = rig.world();
    let classifier = world.get::<Classifier>();
    let add = |next| classifier.add_table(&world, &TableConfig { next, ..config() }, None);
    let mut first = add(None).expect("room");
    (1..MAX_CHAIN).for_each(|_| first = add(Some(first)).expect("room"));
    assert!(add(Some(first)).is_err_and(|e| e.is(retval::LIMIT_EXCEEDED)));
    // The last table of the chain gets no other behind it, the second last keeps its own.
    let one = add(None).expect("room");
    assert!(classifier.set_next(&world, 0, Some(one)).is_err_and(|e| e.is(retval::LIMIT_EXCEEDED)));
    classifier.set_next(&world, 1, Some(one)).expect("as long as before");
    let circle = classifier.set_next(&world, one, Some(first));
    assert!(circle.is_err_and(|e| e.is(retval::INVALID_VALUE)));
    assert!(classifier.delete_table(&world, 1, true).is_err(), "it is a next table");
    classifier.delete_table(&world, first, true).expect("the chain");
    assert_eq!(classifier.list().len(), 1, "table 0 is no part of it");
}
