// SPDX-License-Identifier: Apache-2.0
//! Tests of what control sees and sets.

use super::*;

#[suite::test]
fn every_clock_of_a_busy_turn_is_a_nodes() {
    let mut bench = Bench::new(RELAYS);
    let source = bench.index("source");
    bench.rt.receive();
    bench.rt.set_input_mode(source, InputMode::Polling);
    let clocks = bench.world.stats.simple(counters::CLOCKS);
    let sum =
        |bench: &Bench| bench.world.nodes().iter().map(|n| clocks.sum(n.index.at())).sum::<u64>();
    let first = simd::rdtsc();
    bench.rt.turn(false);
    let (before, start) = (sum(&bench), simd::rdtsc());
    for _ in 0..8 {
        bench.rt.turn(false);
    }
    let spent = simd::rdtsc() - start;
    // The time behind a turn's last node belongs to the next turn.
    bench.rt.turn(false);
    let shown = sum(&bench) - before;
    assert!(shown >= spent, "{shown} of {spent} clocks");
    assert!(shown <= simd::rdtsc() - first, "more than there is");
    bench.settle();
}

#[suite::test]
fn variants_are_set_for_one_node_or_for_all() {
    let mut bench = Bench::new(PLUGINS);
    let world = bench.world.clone();
    let (switch, mangle) = (bench.index("switch"), bench.index("mangle"));
    let levels = || (world.nodes()[switch.at()].level, world.nodes()[mangle.at()].level);
    assert_eq!(levels(), (Some(world.level()), Some(world.level())));
    world.set_variant(Some(mangle), Some(world.level())).expect("the highest");
    world.set_variant(None, Some(Level::V1)).expect("all have it");
    assert_eq!(levels(), (Some(Level::V1), Some(Level::detect())));
    assert_eq!(world.set_variant(Some(mangle), None), Ok(Some(Level::detect())));
    assert_eq!(levels(), (Some(Level::V1), Some(Level::V1)), "it follows the others");
    assert!(
        world
            .set_variant(Some(bench.index("a")), Some(Level::V1))
            .expect_err("no body")
            .contains("no variants")
    );
    bench.node("switch", &[packet(1, 0)], |_| {});
}

#[suite::test]
fn a_node_that_few_packets_pass_has_one_loop_for_all_levels() {
    let mut bench = Bench::new(RELAYS);
    let world = bench.world.clone();
    let relay = bench.index("relay");
    assert_eq!(world.nodes()[relay.at()].level, None);
    assert!(
        world
            .set_variant(Some(relay), Some(Level::V1))
            .expect_err("one loop")
            .contains("no variants")
    );
    world.set_variant(None, Some(Level::detect())).expect("the highest");
    bench.send("relay", &packet(1, 0), |_| {});
    assert_eq!(world.get::<Sink>().0.load(Ordering::Relaxed), 1);
}

/// A retired value may hold the domain that is to free it.
#[suite::test]
fn nothing_of_a_bench_is_left_behind() {
    let bench = Bench::new(RELAYS);
    let domain = &bench.world.qsbr;
    let weak = Arc::downgrade(domain);
    domain.retire(Box::new(domain.clone()));
    drop(bench);
    assert_eq!(weak.strong_count(), 0);
}
