// SPDX-License-Identifier: Apache-2.0
//! Simulated devices with a known limit, and the simple searches on them.

use super::*;
use proptest::prelude::*;

/// Device that forwards up to a limit, and loses the rest.
pub(super) struct Device {
    limit: f64,
    seed: u64,
    noise: f64,
    pub(super) asked: Vec<Ask>,
    pub(super) seen: Vec<Observation>,
}

impl Device {
    pub(super) fn new(limit: f64) -> Device {
        Device { limit, seed: 1, noise: 0.0, asked: Vec::new(), seen: Vec::new() }
    }

    /// Loses a part of the frames in this share of the trials, at random.
    pub(super) fn noise(mut self, seed: u64, noise: f64) -> Device {
        (self.seed, self.noise) = (seed | 1, noise);
        self
    }

    fn random(&mut self) -> f64 {
        // Xorshift, 64 bits.
        self.seed ^= self.seed << 13;
        self.seed ^= self.seed >> 7;
        self.seed ^= self.seed << 17;
        (self.seed >> 11) as f64 / (1u64 << 53) as f64
    }

    pub(super) fn run(&mut self, ask: Ask) -> Observation {
        let mut loss_ratio = (1.0 - self.limit / ask.rate).max(0.0);
        if self.random() < self.noise {
            loss_ratio += (1.0 - loss_ratio) * self.random() * 0.05;
        }
        let seen = Observation { rate: ask.rate, duration: ask.duration, loss_ratio };
        self.asked.push(ask);
        self.seen.push(seen);
        seen
    }
}

fn throughput(mut search: Binary, device: &mut Device) -> Found {
    let most = search.most_trials();
    loop {
        match search.step() {
            Next::Run(ask) => search.answer(&device.run(ask)),
            Next::Done(found) => {
                assert!(found.trials <= most, "{found:?}, at most {most}");
                return found;
            }
        }
    }
}

fn range(min: f64, max: f64) -> Range {
    Range { min, max }
}

#[suite::test]
fn the_ends_of_the_range_are_results() {
    let search = || Binary::new(range(100.0, 1000.0), 60.0).unwrap();
    let fast = throughput(search(), &mut Device::new(2000.0));
    assert_eq!(fast, Found { lower: Some(1000.0), upper: None, trials: 1 });
    let slow = throughput(search(), &mut Device::new(10.0));
    assert_eq!(slow, Found { lower: None, upper: Some(100.0), trials: 2 });
    let one = Binary::new(range(5.0, 5.0), 60.0).unwrap();
    assert_eq!(throughput(one, &mut Device::new(1.0)).upper, Some(5.0));
}

#[suite::test]
fn ranges_and_durations_are_checked() {
    assert!(Binary::new(range(0.0, 1.0), 1.0).is_err());
    assert!(Binary::new(range(2.0, 1.0), 1.0).is_err());
    assert!(Binary::new(range(1.0, f64::INFINITY), 1.0).is_err());
    let error = Binary::new(range(1.0, 2.0), 0.0).unwrap_err();
    assert_eq!(error, "a trial lasts more than 0 s, not 0 s");
    assert!(LossCurve::new(1e6, 0.2, 1.0).is_err());
    assert!(BackToBack::new(1e6, 0, 1, 1).is_err());
}

#[suite::test]
fn retries_forgive_single_losses() {
    // Every second trial loses a frame.
    let mut n = 0;
    let mut search = Binary::new(range(1000.0, 1e6), 1.0).unwrap().retries(1);
    let found = loop {
        match search.step() {
            Next::Run(Ask { rate, duration }) => {
                n += 1;
                let over = (1.0 - 5e5 / rate).max(0.0);
                let loss_ratio = if n % 2 == 1 { over.max(1e-9) } else { over };
                search.answer(&Observation { rate, duration, loss_ratio });
            }
            Next::Done(found) => break found,
        }
    };
    assert!((found.lower.unwrap() / 5e5 - 1.0).abs() < 0.001);
}

#[suite::test]
fn the_loss_curve_ends_after_two_clean_trials() {
    let mut device = Device::new(55.0);
    let mut curve = LossCurve::new(100.0, 0.1, 60.0).unwrap();
    let points = loop {
        match curve.step() {
            Next::Run(ask) => curve.answer(&device.run(ask)),
            Next::Done(points) => break points,
        }
    };
    let rates: Vec<_> = points.iter().map(|p| p.rate.round()).collect();
    assert_eq!(rates, [100.0, 90.0, 80.0, 70.0, 60.0, 50.0, 40.0]);
    assert!((points[0].loss_ratio - 0.45).abs() < 1e-9);
    assert!((points[0].forwarding_rate - 55.0).abs() < 1e-9);
    // A device that always loses is measured down to the last step.
    let mut curve = LossCurve::new(100.0, 0.1, 60.0).unwrap();
    let mut n = 0;
    while let Next::Run(Ask { rate, duration }) = curve.step() {
        curve.answer(&Observation { rate, duration, loss_ratio: 0.5 });
        n += 1;
    }
    assert_eq!(n, 10);
}

#[suite::test]
fn frames_not_sent_count_as_lost() {
    use crate::{Counts, Direction};
    let mut trial = Trial::new(1000.0, 1.0);
    assert_eq!(Observation::from(&trial).loss_ratio, 1.0);
    let counts = Counts { sent: 900, received: 900, ..Counts::new(Direction::Forward) };
    trial.directions.push(counts);
    assert!((Observation::from(&trial).loss_ratio - 0.1).abs() < 1e-12);
}

#[suite::test]
fn buffer_times_of_rfc_9004() {
    let times = BufferTime::of(26_000.0, 14_880_952.0, 11_000_000.0).unwrap();
    assert!((times.implied - 26_000.0 / 14_880_952.0).abs() < 1e-15);
    assert!((times.corrected - times.implied * (1.0 - 11.0 / 14.880952)).abs() < 1e-9);
    assert_eq!(BufferTime::of(1.0, 10.0, 11.0), None);
    assert_eq!(BufferTime::of(1.0, 10.0, 10.0).unwrap().corrected, 0.0);
}

proptest! {
    #[suite::test]
    fn binary_search_encloses_the_limit(
        limit in 100.0..1e7f64,
        width in 0.0..0.1f64,
        resolution in 0.01..5000.0f64,
    ) {
        let search = Binary::new(range(50.0, 1.5e7), 60.0).unwrap();
        let search = search.width(width).resolution(resolution);
        let found = throughput(search, &mut Device::new(limit));
        let (lower, upper) = (found.lower.unwrap(), found.upper.unwrap());
        prop_assert!(lower <= limit && limit < upper, "{found:?}");
        prop_assert!(upper - lower <= resolution.max(width * upper), "{found:?}");
    }

    #[suite::test]
    fn binary_search_ends_with_noise(limit in 100.0..1e7f64, seed: u64, noise in 0.0..1.0f64) {
        let search = Binary::new(range(50.0, 1.5e7), 60.0).unwrap().retries(2);
        let mut device = Device::new(limit).noise(seed, noise);
        // `throughput` checks the number of trials.
        let found = throughput(search, &mut device);
        prop_assert!(found.lower.is_none_or(|l| l <= limit));
    }

    /// A tester that rounds the rates to thousands doesn't keep a search from its end.
    #[suite::test]
    fn rounded_rates_end_a_search(limit in 100.0..1e7f64) {
        let mut search = Binary::new(range(50.0, 1.5e7), 60.0).unwrap().width(0.0).resolution(0.1);
        let most = search.most_trials();
        let mut n = 0;
        while let Next::Run(Ask { rate, duration }) = search.step() {
            let loss_ratio = (1.0 - limit / rate).max(0.0);
            search.answer(&Observation { rate: (rate / 1e3).round() * 1e3, duration, loss_ratio });
            n += 1;
            prop_assert!(n <= most);
        }
    }

    /// A queue of known length in front of a device with a known rate.
    #[suite::test]
    fn bursts_fill_a_known_queue(queue in 1u64..100_000, resolution in 1u64..64) {
        let mut search = BackToBack::new(1e6, 2_000_000, resolution, 3).unwrap();
        let found = loop {
            match search.step() {
                Next::Run(ask) => {
                    let lost = ask.frames().saturating_sub(queue);
                    let loss_ratio = lost as f64 / ask.frames() as f64;
                    let Ask { rate, duration } = ask;
                    search.answer(&Observation { rate, duration, loss_ratio });
                }
                Next::Done(found) => break found,
            }
        };
        prop_assert_eq!(found.frames.len(), 3);
        prop_assert!(!found.at_limit);
        for length in found.frames {
            prop_assert!(length <= queue as f64 && length + resolution as f64 >= queue as f64);
        }
        prop_assert!(found.trials <= 3 * 40);
    }
}
