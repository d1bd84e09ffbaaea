// SPDX-License-Identifier: Apache-2.0
//! Random changes of routes, tables, interfaces and neighbours while readers do lookups. The
//! results are compared with a model that keeps no state between lookups; and when everything is
//! removed again, nothing may be left.
//!
//! `make churn ARGS=600` does so for ten minutes.

mod model;
mod readers;
mod world;

use readers::Sentinel;
use std::time::{Duration, Instant};
use wire::{Ip4, Ip6};
use world::{Churn, Instance};

/// Changes between two comparisons.
const ROUND: usize = 4000;

fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    status.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok()).unwrap_or(0) * 4096
}

/// The instance that changes, and sentinel routes that stay the same.
struct Lab {
    instance: Instance,
    sentinels: (Sentinel<Ip4>, Sentinel<Ip6>),
}

impl Lab {
    fn new() -> Self {
        let mut instance = Instance::new();
        let sentinels = (Sentinel::new(&mut instance), Sentinel::new(&mut instance));
        Self { instance, sentinels }
    }

    /// Does `rounds` of changes to both protocols, each with a comparison at its end; then removes
    /// everything and checks that nothing is left. Returns the number of lookups meanwhile.
    fn cycle(&mut self, seed: u64, rounds: usize, changes: usize) -> u64 {
        let Self { instance, sentinels } = self;
        let at_rest = instance.at_rest();
        let (mut ip4, mut ip6) = (Churn::<Ip4>::new(seed), Churn::<Ip6>::new(seed + 1));
        let lookups = readers::look_on(&instance.bench.world.clone(), sentinels, || {
            for _ in 0..rounds {
                for _ in 0..changes {
                    // Each protocol follows the interfaces that the other's changes have switched.
                    ip4.change(instance);
                    ip6.change(instance);
                }
                ip4.compare(instance);
                ip6.compare(instance);
            }
            ip4.clear(instance);
            ip6.clear(instance);
            instance.settle();
        });
        assert_eq!(instance.at_rest(), at_rest, "something is left over");
        lookups
    }
}

#[suite::test]
fn the_model_agrees_after_random_changes() {
    let mut lab = Lab::new();
    for seed in 0..2 {
        assert!(lab.cycle(seed * 100, 2, 1500) > 0);
    }
}

/// Runs for `FERROVIA_CHURN` seconds, 600 by default.
#[suite::test]
#[ignore = "long: changes at random for ten minutes, or as long as `make churn ARGS=60' says"]
fn long_churn() {
    let seconds = std::env::var("FERROVIA_CHURN").ok().and_then(|s| s.parse().ok()).unwrap_or(600);
    let mut lab = Lab::new();
    let (start, mut cycles, mut lookups, mut early) = (Instant::now(), 0_u64, 0, 0);
    while start.elapsed() < Duration::from_secs(seconds) {
        lookups += lab.cycle(1_000_000 + cycles * 100, 10, ROUND);
        cycles += 1;
        let now = resident();
        println!(
            "{:>5} s: {} changes, {lookups} lookups, {} MiB resident",
            start.elapsed().as_secs(),
            cycles * 20 * ROUND as u64,
            now >> 20
        );
        match cycles {
            ..=3 => early = early.max(now),
            _ => assert!(
                now < early + early / 4 + (64 << 20),
                "it grows: {early} bytes, and now {now}"
            ),
        }
    }
}
