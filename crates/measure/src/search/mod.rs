// SPDX-License-Identifier: Apache-2.0
//! Searches that own no input or output: a search names the trial that it needs, the caller runs
//! it and hands the result back.
//!
//! ```
//! use measure::search::{Binary, Ask, Next, Observation, Range};
//!
//! // A device that forwards 400,000 frames per second.
//! let run = |ask: Ask| Observation {
//!     rate: ask.rate,
//!     duration: ask.duration,
//!     loss_ratio: (1.0 - 400_000.0 / ask.rate).max(0.0),
//! };
//! let range = Range { min: 1000.0, max: 1e6 };
//! let mut search = Binary::new(range, 60.0).unwrap().width(0.001);
//! let found = loop {
//!     match search.step() {
//!         Next::Run(ask) => search.answer(&run(ask)),
//!         Next::Done(found) => break found,
//!     }
//! };
//! assert!((found.lower.unwrap() / 400_000.0 - 1.0).abs() < 0.001);
//! ```

mod b2b;
mod binary;
mod loss;
pub mod mlr;
#[cfg(feature = "tests")]
mod tests;

pub use b2b::{BackToBack, BufferTime, Bursts};
pub use binary::{Binary, Found};
pub use loss::LossCurve;

use crate::Trial;

/// Trial that a search needs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ask {
    /// Frames per second, per direction.
    pub rate: f64,
    /// Seconds.
    pub duration: f64,
}

impl Ask {
    /// Frames per direction.
    pub fn frames(&self) -> u64 {
        (self.rate * self.duration).round().max(0.0) as u64
    }
}

/// Result of a trial, as a search sees it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Observation {
    /// Intended load in frames per second, per direction.
    pub rate: f64,
    /// Intended duration in seconds.
    pub duration: f64,
    /// Share of the intended frames, over all directions, that didn't arrive in time.
    pub loss_ratio: f64,
}

impl From<&Trial> for Observation {
    /// Counts frames that the tester should have sent and didn't as lost (RFC 9971, "Measurer").
    fn from(trial: &Trial) -> Observation {
        let expected = trial.expected() as f64 * trial.directions.len() as f64;
        let lost = (expected - trial.received() as f64).max(trial.lost() as f64);
        // A trial that sent nothing shows nothing good about its load.
        let loss_ratio = if expected > 0.0 { (lost / expected).clamp(0.0, 1.0) } else { 1.0 };
        Observation { rate: trial.rate, duration: trial.duration, loss_ratio }
    }
}

/// Next step of a search.
#[derive(Debug, Clone, PartialEq)]
pub enum Next<R> {
    /// Run this trial and hand its result to `answer`.
    Run(Ask),
    /// The search has ended.
    Done(R),
}

/// Loads between which a search moves, in frames per second and direction.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Range {
    /// Least load.
    pub min: f64,
    /// Highest load.
    pub max: f64,
}

impl Range {
    /// Error in words if the range isn't one.
    fn check(&self) -> Result<(), String> {
        let Range { min, max } = *self;
        if min > 0.0 && min <= max && max.is_finite() {
            Ok(())
        } else {
            Err(format!("a search needs 0 < least rate <= highest rate, not {min} to {max}"))
        }
    }
}

/// Error in words unless the duration is a positive number.
fn check_duration(duration: f64) -> Result<(), String> {
    if duration > 0.0 && duration.is_finite() {
        Ok(())
    } else {
        Err(format!("a trial lasts more than 0 s, not {duration} s"))
    }
}
