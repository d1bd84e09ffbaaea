// SPDX-License-Identifier: Apache-2.0
//! Each mode against an impairment stage, whose answer is known. Time is simulated.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use measure::{Counts, Direction, Size};

use super::*;
use crate::port::interface::Kind as Kinds;
use crate::traffic::Kind;

/// A link of 148,809 frames of 64 bytes per second.
const LINK: &str = "link=100e6";
const LINE: f64 = 148_809.5;

fn settings() -> Settings {
    Settings { duration: 0.2, rate: None, width: 0.005, ..Settings::of(Profile::Quick) }
}

fn run(mode: Mode, impairment: &str, settings: &Settings) -> Result<Measurement, Stop> {
    let traffic = Traffic { directions: vec![Direction::Forward], ..Traffic::default() };
    run_with(mode, impairment, settings, &traffic)
}

fn run_with(
    mode: Mode,
    impairment: &str,
    settings: &Settings,
    traffic: &Traffic,
) -> Result<Measurement, Stop> {
    let spec = format!("none:{LINK},{impairment}").parse().unwrap();
    let mut bench = Bench::up(spec, 1, Kinds::Veth, Arc::new(AtomicBool::new(false))).unwrap();
    let mut measurement = Measurement::new(mode, "none", settings.profile);
    measurement.directions = traffic.directions.clone();
    let mut measuring = Measuring {
        bench: &mut bench,
        traffic,
        settings,
        measurement: &mut measurement,
        limit: None,
        repeat: 0,
        clock: &RunClock::started(0.0),
        notes: &mut (),
    };
    measuring.repeat().map(|()| measurement)
}

fn value(measurement: &Measurement, name: &str) -> f64 {
    let series = measurement.series(name).unwrap_or_else(|| panic!("no {name}: {measurement:?}"));
    series.values[0]
}

#[track_caller]
fn near(actual: f64, expected: f64, tolerance: f64) {
    assert!((actual - expected).abs() <= tolerance, "{actual}, expected {expected} ± {tolerance}");
}

/// The tolerance for delays: 10 µs and 5 %.
fn delay_tolerance(nanoseconds: f64) -> f64 {
    10_000.0 + nanoseconds * 0.05
}

#[suite::test]
fn throughput_is_the_limit() {
    for (limit, kind, size) in [
        (50_000.0, Kind::Ip4, Size::Bytes(64)),
        (20_000.0, Kind::Ip6, Size::Bytes(64)),
        (7_000.0, Kind::Ip4, Size::Bytes(1518)),
        (9_000.0, Kind::Ethernet, Size::Bytes(256)),
        (12_000.0, Kind::Ip4, Size::Imix),
    ] {
        let traffic = Traffic { kind, size, ..Traffic::default() };
        let settings = Settings { duration: 0.4, ..settings() };
        let found =
            run_with(Mode::Throughput, &format!("rate={limit}"), &settings, &traffic).unwrap();
        near(value(&found, "throughput"), limit, limit * 0.01);
        assert_eq!(found.invalid_trials(), 0, "{found:?}");
    }
}

#[suite::test]
fn a_device_without_a_limit_has_the_rate_of_the_link() {
    let found = run(Mode::Throughput, "", &settings()).unwrap();
    near(value(&found, "throughput"), LINE, LINE * 0.01);
}

#[suite::test]
fn a_device_that_always_loses_has_no_throughput() {
    let found = run(Mode::Throughput, "drop=1/20", &settings()).unwrap();
    assert_eq!(value(&found, "throughput"), 0.0);
    let error = run(Mode::Pdv, "drop=1/20", &settings()).unwrap_err();
    assert!(matches!(&error, Stop::Failed(why) if why.contains("no throughput")), "{error:?}");
}

#[suite::test]
fn mlrsearch_finds_both_rates() {
    let found = run(Mode::Ndrpdr, "rate=50000", &settings()).unwrap();
    near(value(&found, "ndr"), 50_000.0, 500.0);
    // 0.5 % of loss are at 50,000 / 0.995.
    near(value(&found, "pdr"), 50_251.0, 500.0);
    let lossy = run(Mode::Ndrpdr, "rate=50000,drop=1/1000", &settings()).unwrap();
    // Shorter trials have fewer than a thousand packets, and lose none.
    assert!(value(&lossy, "ndr") < 10_000.0);
    near(value(&lossy, "pdr"), 50_251.0, 500.0);
}

#[suite::test]
fn the_maximum_receive_rate_is_the_limit_under_overload() {
    let found = run(Mode::Mrr, "rate=50000", &settings()).unwrap();
    near(value(&found, "mrr"), 50_000.0, 500.0);
    near(value(&found, "mrr_loss_ratio"), 1.0 - 50_000.0 / LINE, 0.005);
}

#[suite::test]
fn loss_is_found_to_a_tenth_of_a_point() {
    let lossy = Settings { rate: Some(20_000.0), ..settings() };
    let found = run(Mode::Loss, "drop=3/100", &lossy).unwrap();
    assert_eq!(found.loss.len(), 10, "never two clean trials");
    for point in &found.loss {
        near(point.loss_ratio, 0.03, 0.001);
    }
    let limited = Settings { rate: Some(100_000.0), duration: 1.0, ..settings() };
    let found = run(Mode::Loss, "rate=75000", &limited).unwrap();
    let points: Vec<_> = found.loss.iter().map(|p| (p.rate.round(), p.loss_ratio)).collect();
    // 100, 90, 80 % lose; 70 and 60 % are the two clean trials that end the curve
    assert_eq!(points.len(), 5, "{points:?}");
    for (rate, loss) in points {
        near(loss, (1.0 - 75_000.0 / rate).max(0.0), 0.001);
    }
}

#[suite::test]
fn latency_is_the_delay_at_each_load() {
    let found = run(Mode::Latency, "rate=50000,delay=700us", &settings()).unwrap();
    // and the time in the server
    let expected = 700_000.0 + 20_000.0;
    for load in ["no_load", "10", "50", "90"] {
        for percentile in ["p50", "p99.9"] {
            let name = format!("latency_{load}_{percentile}");
            near(value(&found, &name), expected, delay_tolerance(expected));
        }
    }
    assert_eq!(found.latency.len(), 10);
    assert!(found.latency.iter().all(|at| at.latency.n() >= 500));
}

#[suite::test]
fn delay_variation_is_the_jitter() {
    let settings = Settings { rate: Some(500.0), duration: 4.0, ..settings() };
    let found = run(Mode::Pdv, "delay=300us,jitter=1ms", &settings).unwrap();
    near(value(&found, "pdv"), 999_000.0, delay_tolerance(999_000.0));
    let found = run(Mode::Ipdv, "delay=300us,jitter=1ms", &settings).unwrap();
    // Jitter goes up by 0.618 of its range, or down by the rest.
    near(value(&found, "ipdv_max"), 618_034.0, 10.0);
    near(value(&found, "ipdv_min"), -381_966.0, 10.0);
}

#[suite::test]
fn a_burst_is_as_long_as_the_queue_makes_it() {
    let found = run(Mode::B2b, "rate=50000,queue=200", &settings()).unwrap();
    // While the burst comes in, the device forwards already.
    let expected = 201.0 / (1.0 - 50_000.0 / LINE);
    near(value(&found, "b2b"), expected, 4.0);
    // RFC 9004: the corrected time times the line rate is the queue.
    near(value(&found, "buffer_time") * LINE, 200.0, 4.0);
}

#[suite::test]
fn recovery_takes_as_long_as_the_congestion() {
    let found = run(Mode::Recovery, "rate=50000,congestion=20ms", &settings()).unwrap();
    near(value(&found, "recovery"), 0.020, 0.0005);
    let found = run(Mode::Recovery, "rate=50000", &settings()).unwrap();
    near(value(&found, "recovery"), 0.0, 0.0005);
}

#[suite::test]
fn a_reset_takes_as_long_as_the_restart() {
    let settings = Settings { rate: Some(10_000.0), ..settings() };
    let found = run(Mode::Reset, "restart=120ms", &settings).unwrap();
    near(value(&found, "reset_time"), 0.120, 0.0003);
    near(value(&found, "reset_time_by_loss"), 0.120, 0.0003);
}

#[suite::test]
fn routes_block_as_long_as_the_stage_stops() {
    let settings = Settings { rate: Some(10_000.0), ..settings() };
    let found = run(Mode::Reconfig, "reconfig=70ms", &settings).unwrap();
    for name in ["blocked_add", "blocked_delete"] {
        near(value(&found, name), 0.070, 0.0001);
    }
    for name in ["load_add", "load_delete"] {
        near(value(&found, name), 0.070, 1e-9);
    }
    // at 90 % of the throughput, which is searched for first
    let found = run(
        Mode::Reconfig,
        "rate=50000,reconfig=3ms",
        &Settings { rate: None, ..settings.clone() },
    )
    .unwrap();
    near(value(&found, "throughput"), 50_000.0, 500.0);
    near(value(&found, "blocked_add"), 0.003, 0.0001);
    assert_eq!(value(&run(Mode::Reconfig, "", &settings).unwrap(), "blocked_add"), 0.0);
}

#[suite::test]
fn a_soak_counts_each_trial() {
    let settings = Settings { rate: Some(5_000.0), soak: 2.0, ..settings() };
    let found = run(Mode::Soak, "drop=2/1000", &settings).unwrap();
    assert_eq!(found.series("loss_ratio").unwrap().values.len(), 10);
    near(value(&found, "loss_ratio"), 0.002, 0.001);
}

#[suite::test]
fn every_kind_of_damage_is_counted() {
    let settings = Settings { rate: Some(10_000.0), duration: 1.0, soak: 1.0, ..settings() };
    let count = |impairment: &str| {
        let found = run(Mode::Soak, impairment, &settings).unwrap();
        let Counts { sent, received, lost, duplicated, reordered, changed, late, .. } =
            found.trials[0].directions[0];
        assert_eq!(sent, 10_000);
        [received, lost, duplicated, reordered, changed, late]
    };
    assert_eq!(count("drop=7/1000"), [9_930, 70, 0, 0, 0, 0]);
    assert_eq!(count("duplicate=1/50"), [10_000, 0, 200, 0, 0, 0]);
    assert_eq!(count("change=3/1000"), [10_000, 0, 0, 0, 30, 0]);
    // The last one is overtaken by none.
    assert_eq!(count("reorder=1/1000"), [10_000, 0, 0, 9, 0, 0]);
    let late = Settings { wait: 0.001, ..settings.clone() };
    let found = run(Mode::Soak, "delay=2ms", &late).unwrap();
    let counts = found.trials[0].directions[0];
    assert_eq!((counts.received, counts.late), (0, 10_000));
}

#[suite::test]
fn limits_of_a_translation_are_found() {
    let settings = Settings { sessions: 2000, session_rate: 5000.0, rate: None, ..settings() };
    let both = Traffic::default();
    let nat = "rate=40000,nat=5000:20000:250000";
    let found = |mode: Mode, name| value(&run_with(mode, nat, &settings, &both).unwrap(), name);
    near(found(Mode::NatThroughput, "nat-throughput"), 40_000.0, 400.0);
    // Four sessions of the 2,000 may wait.
    near(found(Mode::NatCps, "nat-cps"), 20_000.0, 200.0);
    near(found(Mode::NatCapacity, "nat-capacity"), 5000.0, 25.0);
    near(found(Mode::NatTeardown, "nat-teardown"), 250_000.0, 1.0);
    // More sessions than the table holds, and faster than they can be opened.
    for (sessions, session_rate) in [(6000, 5000.0), (2000, 50_000.0)] {
        let settings = Settings { sessions, session_rate, ..settings.clone() };
        let Err(Stop::Failed(why)) = run_with(Mode::NatThroughput, nat, &settings, &both) else {
            panic!("{sessions}")
        };
        assert!(why.contains("expected all"), "{why}");
    }
    let error = run(Mode::NatCps, "rate=40000", &settings).unwrap_err();
    assert!(matches!(&error, Stop::Failed(why) if why.contains("translates no")), "{error:?}");
}
