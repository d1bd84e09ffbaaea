// SPDX-License-Identifier: Apache-2.0
//! The published examples of RFC 9971, appendix C, and searches on simulated devices.

use super::classify::exceed_ratios;
use super::*;
use crate::search::tests::Device;
use crate::search::{Next, Observation, Range};
use proptest::prelude::*;

const LOAD: f64 = 1e6;

fn goal(name: &str, final_duration: f64, duration_sum: f64, loss: f64, exceed: f64) -> Goal {
    Goal {
        name: name.into(),
        loss_ratio: loss / 100.0,
        exceed_ratio: exceed / 100.0,
        final_duration,
        initial_duration: 1.0,
        duration_sum,
        width: 0.005,
    }
}

/// The four goals of the example.
fn goals() -> [Goal; 4] {
    [
        goal("RFC2544", 60.0, 60.0, 0.0, 0.0),
        goal("TST009", 60.0, 120.0, 0.0, 50.0),
        goal("1s final", 1.0, 120.0, 0.5, 50.0),
        goal("20% exceed", 60.0, 60.0, 0.5, 20.0),
    ]
}

/// Trials of the example at one of its six points in time.
fn trials(point: usize) -> Vec<Observation> {
    let added: [(usize, f64, f64); 6] = [
        (59, 1.0, 0.0),
        (1, 1.0, 0.01),
        (59, 1.0, 0.01),
        (1, 1.0, 0.0),
        (1, 60.0, 0.001),
        (1, 60.0, 0.0),
    ];
    let many = |&(n, duration, loss_ratio): &(usize, f64, f64)| {
        std::iter::repeat_n(Observation { rate: LOAD, duration, loss_ratio }, n)
    };
    added[..point].iter().flat_map(many).collect()
}

#[suite::test]
fn published_classifications() {
    use Class::{Lower as L, Undecided as N, Upper as U};
    // Optimistic and pessimistic exceed ratio in per cent, and the class, for each goal.
    type Row = [(f64, f64, Class); 4];
    let table: [Row; 6] = [
        [(0.0, 100.0, N), (0.0, 100.0, N), (0.0, 50.833, N), (0.0, 100.0, N)],
        [(1.667, 100.0, U), (0.0, 100.0, N), (0.833, 50.833, N), (0.0, 100.0, N)],
        [(100.0, 100.0, U), (0.833, 100.0, N), (50.0, 50.833, N), (75.417, 100.0, U)],
        [(100.0, 100.0, U), (0.0, 100.0, N), (50.0, 50.0, L), (75.0, 100.0, U)],
        [(100.0, 100.0, U), (50.0, 100.0, N), (33.333, 33.333, L), (42.857, 42.857, L)],
        [(66.667, 66.667, U), (50.0, 50.0, L), (25.0, 25.0, L), (27.273, 27.273, L)],
    ];
    for (point, row) in table.iter().enumerate() {
        for (goal, (optimistic, pessimistic, class)) in goals().iter().zip(row) {
            let trials = trials(point + 1);
            let (best, worst) = exceed_ratios(goal, &trials);
            let at = format!("point {}, {}: {best} {worst}", point + 1, goal.name);
            // The last goal's printed classes at points 5 and 6 contradict its printed ratios:
            // 42.857 % and 27.273 % exceed 20 %. See `twenty_percent_exceed`.
            assert!((best * 100.0 - optimistic).abs() < 6e-4, "{at}");
            assert!((worst * 100.0 - pessimistic).abs() < 6e-4, "{at}");
            if goal.name != "20% exceed" || point < 4 {
                assert_eq!(classify(goal, &trials), *class, "{at}");
            }
        }
    }
}

/// At points 5 and 6, the RFC's table prints "Lower Bound" for the goal with 20 %, beside exceed
/// ratios of 42.857 % and 27.273 %, which its algorithm (appendix A) classifies as an upper
/// bound. The algorithm is normative, the table an example: this follows the algorithm.
#[suite::test]
fn twenty_percent_exceed() {
    let goal = &goals()[3];
    assert_eq!(classify(goal, &trials(5)), Class::Upper);
    assert_eq!(classify(goal, &trials(6)), Class::Upper);
    // With three more clean trials of 60 s, 45 s of 345 s are tolerated: 13 %.
    let mut more = trials(6);
    more.extend([Observation { rate: LOAD, duration: 60.0, loss_ratio: 0.0 }; 3]);
    assert_eq!(classify(goal, &more), Class::Lower);
}

#[suite::test]
fn published_conditional_throughputs() {
    let trials = trials(6);
    let rate = |goal: &Goal| conditional_throughput(goal, LOAD, &trials).unwrap();
    let [_, tst009, second, twenty] = goals();
    assert_eq!(rate(&tst009), 1_000_000.0);
    assert_eq!(rate(&second), 1_000_000.0);
    assert_eq!(rate(&twenty), 999_000.0);
    assert_eq!(conditional_throughput(&twenty, LOAD, &[]), None);
    // Short trials only: nothing is known about full-length ones.
    assert_eq!(conditional_throughput(&tst009, LOAD, &trials[..10]), Some(0.0));
}

fn run(mut search: Mlr, device: &mut Device) -> Outcome {
    loop {
        match search.step() {
            Next::Run(ask) => {
                let seen = device.run(ask);
                search.answer(&seen);
            }
            Next::Done(outcome) => return outcome,
        }
    }
}

fn range(min: f64, max: f64) -> Range {
    Range { min, max }
}

#[suite::test]
fn bad_goals_are_refused() {
    let mut bad = Goal::rfc2544(0.001);
    bad.exceed_ratio = 1.0;
    let error = Mlr::new(range(1.0, 2.0), vec![bad]).unwrap_err();
    assert_eq!(error, "goal ndr: a exceed ratio is at least 0 and below 1, not 1");
    assert!(Mlr::new(range(1.0, 2.0), vec![]).is_err());
    assert!(Mlr::new(range(0.0, 2.0), vec![Goal::rfc2544(0.01)]).is_err());
    let short = Goal { duration_sum: 1.0, ..Goal::rfc2544(0.01) };
    assert!(Mlr::new(range(1.0, 2.0), vec![short]).is_err());
}

#[suite::test]
fn a_device_faster_than_the_highest_load_has_no_upper_bound() {
    let mut device = Device::new(1e7);
    let search = Mlr::new(range(1000.0, 1e6), Goal::of(Profile::Csit)).unwrap();
    let outcome = run(search, &mut device);
    assert_eq!((outcome.bounds[0].lower, outcome.bounds[0].upper), (Some(1e6), None));
    assert_eq!(outcome.bounds[0].conditional_throughput, Some(1e6));
    assert_eq!(outcome.regular, [false, false]);
}

#[suite::test]
fn a_device_slower_than_the_least_load_has_no_lower_bound() {
    let mut device = Device::new(10.0);
    let search = Mlr::new(range(1000.0, 1e6), Goal::of(Profile::Csit)).unwrap();
    let outcome = run(search, &mut device);
    assert_eq!((outcome.bounds[0].lower, outcome.bounds[0].upper), (None, Some(1000.0)));
    assert_eq!(outcome.bounds[1].conditional_throughput, None);
}

#[suite::test]
fn a_search_stops_at_its_limit_of_trials() {
    let mut device = Device::new(3e5);
    let search = Mlr::new(range(1000.0, 1e6), Goal::of(Profile::Csit)).unwrap();
    let outcome = run(search.most_trials(7), &mut device);
    assert_eq!((outcome.trials, outcome.regular), (7, vec![false, false]));
}

/// The goal of RFC 2544 needs few long trials: short ones find the neighbourhood.
#[suite::test]
fn long_trials_are_few() {
    let mut device = Device::new(437_123.0);
    let search = Mlr::new(range(1000.0, 1e6), vec![Goal::rfc2544(0.001)]).unwrap();
    let outcome = run(search, &mut device);
    assert_eq!(outcome.regular, [true]);
    let long = device.asked.iter().filter(|a| a.duration == 60.0).count();
    assert!(long <= 6, "{long} of {} trials last 60 s", device.asked.len());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    /// Bounds enclose the limit, no further apart than the goal's width, after a bounded number
    /// of trials.
    #[suite::test]
    fn ideal_devices_are_found(limit in 1_500.0..990_000.0f64, p in 0usize..4) {
        let profile = Profile::ALL[p];
        let mut device = Device::new(limit);
        let search = Mlr::new(range(1000.0, 1e6), Goal::of(profile)).unwrap();
        let outcome = run(search, &mut device);
        let goals = Goal::of(profile);
        for ((bound, regular), goal) in outcome.bounds.iter().zip(&outcome.regular).zip(&goals) {
            // The device loses 1 − limit / rate: the goal's ratio is reached at this rate.
            let rate = limit / (1.0 - goal.loss_ratio);
            if rate >= 1e6 {
                continue;
            }
            prop_assert!(regular, "{bound:?}");
            let (lower, upper) = (bound.lower.unwrap(), bound.upper.unwrap());
            prop_assert!(lower <= rate * (1.0 + 1e-9) && upper >= rate * (1.0 - 1e-9), "{bound:?}");
            prop_assert!(upper - lower <= goal.width * upper);
            let conditional = bound.conditional_throughput.unwrap();
            prop_assert!(conditional <= limit * (1.0 + 1e-9));
            prop_assert!(conditional >= lower * (1.0 - goal.loss_ratio) * (1.0 - 1e-9));
        }
        // Two goals with about a dozen loads each, and at most 24 trials of a load.
        prop_assert!(outcome.trials < 700, "{} trials", outcome.trials);
    }

    /// With noise a search still ends in a bounded number of trials, and what it reports agrees
    /// with the trials that it saw.
    #[suite::test]
    fn noisy_devices_end(limit in 1_500.0..990_000.0f64, seed: u64, noise in 0.0..0.7f64) {
        let mut device = Device::new(limit).noise(seed, noise);
        let search = Mlr::new(range(1000.0, 1e6), Goal::of(Profile::Csit)).unwrap();
        let outcome = run(search, &mut device);
        prop_assert!(outcome.trials < 2000, "{} trials", outcome.trials);
        for (bound, goal) in outcome.bounds.iter().zip(&Goal::of(Profile::Csit)) {
            let seen = |load: f64| -> Vec<Observation> {
                device.seen.iter().filter(|o| o.rate == load).copied().collect()
            };
            if let Some(lower) = bound.lower {
                prop_assert_eq!(classify(goal, &seen(lower)), Class::Lower);
                prop_assert!(lower <= limit / (1.0 - goal.loss_ratio) * (1.0 + 1e-9));
            }
            if let Some(upper) = bound.upper {
                prop_assert_eq!(classify(goal, &seen(upper)), Class::Upper);
            }
        }
    }
}
