// SPDX-License-Identifier: Apache-2.0
//! The tester's own limit, and the results that it bounds.

use crate::{Mark, Measurement, Mode};

/// Reserve of the tester over a result that shows the device.
pub const RESERVE: f64 = 1.2;

/// True if a rate is so close to the tester's limit that it may show the tester instead of the
/// device.
pub fn is_tester_bound(rate: f64, limit: f64) -> bool {
    rate > limit / RESERVE
}

impl Measurement {
    /// Judges a repeat, counted from 0, by the limit of the tester around it, in frames per second
    /// and direction: its trials, and the measurement if a result of the repeat is above
    /// 1/[`RESERVE`] of the limit, or above the limit itself.
    pub fn judge_limit(&mut self, repeat: u32, limit: f64) {
        let at = repeat as usize;
        if self.limits.len() <= at {
            // Repeats of which no limit is known, in a document that was resumed.
            self.limits.resize(at + 1, f64::INFINITY);
        }
        self.limits[at] = limit;
        let of_repeat = self.trials.iter_mut().filter(|trial| trial.repeat == repeat);
        let mut bound = false;
        for trial in of_repeat {
            trial.tester_bound = is_tester_bound(trial.rate, limit);
            bound |= trial.tester_bound;
        }
        let rates = self.rates(at);
        // Without a rate among the results, the trials are the loads that were asked for.
        let bound = if rates.is_empty() { bound } else { false };
        if bound || rates.iter().any(|rate| is_tester_bound(*rate, limit)) {
            self.mark(Mark::TesterBound);
        }
        if rates.iter().any(|rate| *rate > limit) {
            self.mark(Mark::AboveLimit);
        }
    }

    /// Rates per direction that a repeat found, or at which it measured something else.
    fn rates(&self, at: usize) -> Vec<f64> {
        let directions = self.directions.len().max(1) as f64;
        let is_rate = |unit: &str| unit == "pps" || unit == "1/s" && self.mode == Mode::NatCps;
        // A throughput that other modes need is measured once.
        let value = |values: &[f64]| values.get(at).or(values.last()).copied();
        let series = self.series.iter().filter(|series| is_rate(&series.unit));
        let series = series.filter_map(|series| value(&series.values));
        let loss = self.loss.iter().map(|point| point.forwarding_rate / directions);
        let latency = self.latency.iter().map(|at| at.rate);
        series.chain(loss).chain(latency).filter(|rate| rate.is_finite()).collect()
    }
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;
    use crate::{Profile, RatePoint, Trial};

    fn measured(rates: &[f64]) -> Measurement {
        let mut m = Measurement::new(Mode::Throughput, "linux", Profile::Quick);
        m.series_mut("throughput", "pps").values = rates.to_vec();
        for (repeat, rate) in rates.iter().enumerate() {
            for rate in [rate * 2.0, *rate] {
                m.trials.push(Trial { repeat: repeat as u32, ..Trial::new(rate, 1.0) });
            }
        }
        m
    }

    fn marks(rates: &[f64], limits: &[f64]) -> Vec<Mark> {
        let mut m = measured(rates);
        for (repeat, limit) in limits.iter().enumerate() {
            m.judge_limit(repeat as u32, *limit);
        }
        assert_eq!(m.limits, limits);
        m.marks
    }

    #[suite::test]
    fn results_are_judged_by_the_limit_around_their_repeat() {
        assert_eq!(marks(&[80.0, 82.0], &[100.0, 100.0]), []);
        assert_eq!(marks(&[80.0, 84.0], &[100.0, 100.0]), [Mark::TesterBound]);
        // The tester was slower in the second repeat only.
        assert_eq!(marks(&[80.0, 80.0], &[100.0, 90.0]), [Mark::TesterBound]);
        assert_eq!(marks(&[80.0, 80.0], &[100.0, 70.0]), [Mark::TesterBound, Mark::AboveLimit]);
        let mut m = measured(&[80.0]);
        m.judge_limit(0, 100.0);
        let bound: Vec<_> = m.trials.iter().map(|trial| trial.tester_bound).collect();
        assert_eq!(bound, [true, false], "trials, each by its own rate");
    }

    #[suite::test]
    fn each_kind_of_result_is_judged() {
        let mut loss = Measurement::new(Mode::Loss, "linux", Profile::Quick);
        loss.loss = vec![RatePoint { rate: 200.0, loss_ratio: 0.5, forwarding_rate: 170.0 }];
        loss.judge_limit(0, 100.0);
        assert_eq!(loss.marks, [Mark::TesterBound], "85 per direction");
        let mut soak = Measurement::new(Mode::Reset, "linux", Profile::Quick);
        soak.series_mut("reset_time", "s").values.push(1.0);
        soak.trials = vec![Trial::new(70.0, 1.0)];
        soak.judge_limit(0, 100.0);
        assert_eq!(soak.marks, []);
        soak.trials.push(Trial { repeat: 1, ..Trial::new(90.0, 1.0) });
        soak.judge_limit(1, 100.0);
        assert_eq!(soak.marks, [Mark::TesterBound], "its load");
    }
}
