// SPDX-License-Identifier: Apache-2.0
//! Throughput by binary search (RFC 2544, 26.1).

use super::{Ask, Next, Observation, Range, check_duration};

/// Result of a binary search.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Found {
    /// Highest rate without loss; None if even the least rate lost frames.
    pub lower: Option<f64>,
    /// Lowest rate with loss; None if even the highest rate lost none.
    pub upper: Option<f64>,
    /// Number of trials.
    pub trials: u32,
}

/// Binary search for the highest rate at which the device loses no frame.
///
/// The first trial is at the highest rate, as RFC 2544 begins. The search ends when the rates
/// with and without loss are close enough, or when the range is exhausted.
#[derive(Debug, Clone)]
pub struct Binary {
    range: Range,
    duration: f64,
    width: f64,
    resolution: f64,
    goal: f64,
    retries: u32,
    lower: Option<f64>,
    upper: Option<f64>,
    failures: u32,
    trials: u32,
}

impl Binary {
    /// Search in this range with trials of `duration` seconds: width 0.1 %, no loss, no retry.
    pub fn new(range: Range, duration: f64) -> Result<Binary, String> {
        range.check()?;
        check_duration(duration)?;
        let (width, resolution, goal, retries) = (0.001, 1.0, 0.0, 0);
        let (lower, upper, failures, trials) = (None, None, 0, 0);
        Ok(Binary {
            range,
            duration,
            width,
            resolution,
            goal,
            retries,
            lower,
            upper,
            failures,
            trials,
        })
    }

    /// Width of the last interval, relative to its upper bound.
    pub fn width(mut self, width: f64) -> Binary {
        self.width = width.max(0.0);
        self
    }

    /// Width of the last interval in frames per second, as siitperf's scripts have it. The search
    /// ends as soon as the interval is as narrow as one of the two widths.
    pub fn resolution(mut self, frames_per_second: f64) -> Binary {
        // A millionth of a frame per second bounds the number of steps.
        self.resolution = frames_per_second.max(1e-6);
        self
    }

    /// Loss ratio up to which a trial passes; RFC 2544 demands 0.
    pub fn loss_ratio(mut self, ratio: f64) -> Binary {
        self.goal = ratio.max(0.0);
        self
    }

    /// Number of times that a lossy trial is repeated before its rate counts as lossy (binary
    /// search with loss verification, ETSI GS NFV-TST 009, 12.3.3).
    pub fn retries(mut self, retries: u32) -> Binary {
        self.retries = retries;
        self
    }

    /// Bounds so far, for a progress line.
    pub fn bounds(&self) -> (Option<f64>, Option<f64>) {
        (self.lower, self.upper)
    }

    /// Largest number of trials until the end.
    pub fn most_trials(&self) -> u32 {
        let Range { min, max } = self.range;
        let narrow = self.resolution.max(self.width * min);
        let steps = ((max - min) / narrow).max(1.0).log2().ceil() as u32;
        (steps + 2).saturating_mul(self.retries + 1)
    }

    /// Next trial, or the result.
    pub fn step(&self) -> Next<Found> {
        let Range { min, max } = self.range;
        let rate = match (self.lower, self.upper) {
            (None, None) => max,
            (None, Some(upper)) if upper > min => min,
            (Some(lower), Some(upper)) if !self.narrow(lower, upper) => {
                let middle = lower.midpoint(upper);
                // Whole frames per second, as long as the bounds leave room for them.
                let whole = middle.round();
                if lower < whole && whole < upper { whole } else { middle }
            }
            (lower, upper) => return Next::Done(Found { lower, upper, trials: self.trials }),
        };
        Next::Run(Ask { rate, duration: self.duration })
    }

    fn narrow(&self, lower: f64, upper: f64) -> bool {
        let middle = lower.midpoint(upper);
        upper - lower <= self.resolution
            || upper - lower <= self.width * upper
            || middle <= lower
            || middle >= upper
    }

    /// Result of the trial that `step` named.
    pub fn answer(&mut self, seen: &Observation) {
        // The rate that was asked for: one that the tester rounded could leave the bounds as they
        // are, and the search without an end.
        let Next::Run(Ask { rate, .. }) = self.step() else { return };
        self.trials += 1;
        if seen.loss_ratio <= self.goal {
            self.failures = 0;
            self.lower = Some(rate);
        } else if self.failures < self.retries {
            self.failures += 1;
        } else {
            self.failures = 0;
            self.upper = Some(rate);
        }
    }
}
