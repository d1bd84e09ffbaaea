// SPDX-License-Identifier: Apache-2.0
//! Frames of FPM: any bytes end the connection or change routes of the peer alone, within its
//! limits. The first byte says in how large pieces the others come.

use graph::drive::Bench;
use net::{Fib, Source};
use std::cell::RefCell;
use std::collections::BTreeMap;
use wire::Ip4;

/// Pieces in which an instance and its tables serve many inputs before a new one.
const INPUTS: usize = 256;

thread_local! {
    static BENCH: RefCell<(Option<Bench>, usize)> = const { RefCell::new((None, 0)) };
}

/// One input.
pub fn run(input: &[u8]) {
    let Some((first, bytes)) = input.split_first() else { return };
    BENCH.with_borrow_mut(|(bench, served)| {
        *served += 1;
        if served.is_multiple_of(INPUTS) {
            *bench = None;
        }
        let bench = bench.get_or_insert_with(|| Bench::new(daemon::plugins::ALL));
        let world = bench.world.clone();
        let fib = world.get::<Fib<Ip4>>();
        let all =
            || (fib.list_tables().len(), fib.count(Source::Default), fib.count(Source::Special));
        let before = all();
        let mut stream = fpm::Stream::new(&world, BTreeMap::new());
        for piece in bytes.chunks(usize::from(*first).max(1)) {
            if stream.take(&world, piece).is_none() {
                break;
            }
        }
        assert!(all().0 <= before.0 + 1024);
        stream.end(&world);
        assert_eq!(stream.routes(&world), 0, "its routes have gone");
        assert_eq!(all(), before, "its tables too, and nothing else");
    });
}
