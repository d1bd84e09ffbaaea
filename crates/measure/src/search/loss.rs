// SPDX-License-Identifier: Apache-2.0
//! Frame loss rate (RFC 2544, 26.3).

use super::{Ask, Next, Observation, Range, check_duration};
use crate::RatePoint;

/// Largest step between two rates, as a share of the highest rate (RFC 2544, 26.3).
const LARGEST_STEP: f64 = 0.1;

/// Loss at the highest rate, then at lower ones, until two successive trials lose nothing.
#[derive(Debug, Clone)]
pub struct LossCurve {
    max: f64,
    step: f64,
    duration: f64,
    points: Vec<RatePoint>,
}

impl LossCurve {
    /// Curve from `max` frames per second downwards. `step` is a share of `max`: 0.1 at most.
    pub fn new(max: f64, step: f64, duration: f64) -> Result<LossCurve, String> {
        Range { min: max, max }.check()?;
        check_duration(duration)?;
        if !(step > 0.0 && step <= LARGEST_STEP) {
            return Err(format!("RFC 2544, 26.3, demands steps of at most 10 %, not {step}"));
        }
        Ok(LossCurve { max, step, duration, points: Vec::new() })
    }

    /// Next trial, or the points of the curve.
    pub fn step(&self) -> Next<Vec<RatePoint>> {
        let clean = self.points.iter().rev().take_while(|p| p.loss_ratio == 0.0).count();
        let share = 1.0 - self.step * self.points.len() as f64;
        // A step that ends at 0 but for rounding has no rate.
        if clean >= 2 || share < self.step * 1e-6 {
            return Next::Done(self.points.clone());
        }
        Next::Run(Ask { rate: self.max * share, duration: self.duration })
    }

    /// Result of the trial that `step` named.
    pub fn answer(&mut self, seen: &Observation) {
        let forwarding_rate = seen.rate * (1.0 - seen.loss_ratio);
        let &Observation { rate, loss_ratio, .. } = seen;
        self.points.push(RatePoint { rate, loss_ratio, forwarding_rate });
    }
}
