// SPDX-License-Identifier: Apache-2.0
//! Frames of FPM: any bytes end the connection or change routes of the peer alone, within its
//! limits. The first byte says in how large pieces the others come.

use net::drive::Rig;
use net::{Fib, Source};
use std::cell::RefCell;
use wire::Ip4;

/// Pieces in which an instance and its tables serve many inputs before a new one.
const INPUTS: usize = 256;
/// The kernel's index of the first of two links, as in the corpus.
const FIRST: u32 = 3;

thread_local! {
    static RIG: RefCell<(Option<Rig>, usize)> = const { RefCell::new((None, 0)) };
}

/// One input.
pub fn run(input: &[u8]) {
    let Some((first, bytes)) = input.split_first() else { return };
    RIG.with_borrow_mut(|(rig, served)| {
        *served += 1;
        if served.is_multiple_of(INPUTS) {
            *rig = None;
        }
        let rig = rig.get_or_insert_with(|| {
            let mut rig = Rig::new(daemon::plugins::ALL, 2);
            rig.networks();
            rig
        });
        let world = rig.world();
        let fib = world.get::<Fib<Ip4>>();
        let all =
            || (fib.list_tables().len(), fib.count(Source::Default), fib.count(Source::Special));
        let before = all();
        // With two links, so that next hops are neighbours too, not gateways alone.
        let links = (FIRST..).zip(rig.ports.iter().copied()).collect();
        let mut stream = fpm::Stream::new(&world, links);
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
