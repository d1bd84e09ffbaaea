// SPDX-License-Identifier: Apache-2.0
//! Back-to-back frames (RFC 2544, 26.4, updated by RFC 9004).

use super::{Ask, Next, Observation, Range};
use crate::stats::Summary;

/// Longest bursts of all repeats.
#[derive(Debug, Clone, PartialEq)]
pub struct Bursts {
    /// Frames of the longest burst without loss, for each repeat.
    pub frames: Vec<f64>,
    /// True if a repeat lost nothing at the longest burst that was allowed: the buffer is larger.
    pub at_limit: bool,
    /// Number of bursts that were sent.
    pub trials: u32,
}

/// Buffer of the device in seconds, from the longest bursts (RFC 9004, 5.4).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BufferTime {
    /// Mean burst divided by the highest rate.
    pub implied: f64,
    /// Implied time less the part in which the device forwarded frames of the burst already.
    pub corrected: f64,
}

impl BufferTime {
    /// Times from the mean longest burst, the highest rate, and the throughput by RFC 2544, 26.1,
    /// both in frames per second. None unless 0 < throughput ≤ highest rate.
    pub fn of(mean_frames: f64, highest_rate: f64, throughput: f64) -> Option<BufferTime> {
        if !(throughput > 0.0 && throughput <= highest_rate && highest_rate.is_finite()) {
            return None;
        }
        let implied = mean_frames / highest_rate;
        let corrected = implied - implied * (throughput / highest_rate);
        Some(BufferTime { implied, corrected })
    }
}

impl Bursts {
    /// Statistics of the repeats. RFC 9004 reports average, minimum, maximum and deviation.
    pub fn summary(&self) -> Option<Summary> {
        Summary::of(&self.frames)
    }
}

/// Search for the longest burst at the highest rate that the device forwards without loss,
/// repeated: the length doubles until frames are lost, then the interval is halved.
#[derive(Debug, Clone)]
pub struct BackToBack {
    rate: f64,
    most: u64,
    resolution: u64,
    repeats: u32,
    lower: u64,
    upper: Option<u64>,
    trials: u32,
    found: Vec<f64>,
    at_limit: bool,
}

/// First length of a burst.
const FIRST: u64 = 64;

impl BackToBack {
    /// Bursts at `rate` frames per second of up to `most` frames; RFC 2544 demands that two
    /// seconds are allowed for. The length is found to `resolution` frames. RFC 2544 asks for 50
    /// repeats.
    pub fn new(rate: f64, most: u64, resolution: u64, repeats: u32) -> Result<BackToBack, String> {
        Range { min: rate, max: rate }.check()?;
        if most == 0 || repeats == 0 {
            return Err("back-to-back needs bursts of at least one frame, and a repeat".into());
        }
        let resolution = resolution.max(1);
        let (lower, upper, trials, found) = (0, None, 0, Vec::new());
        let at_limit = false;
        Ok(BackToBack { rate, most, resolution, repeats, lower, upper, trials, found, at_limit })
    }

    /// Number of repeats that have ended.
    pub fn repeats_done(&self) -> usize {
        self.found.len()
    }

    /// Next burst: its duration is that of its frames at the rate. Or the result.
    pub fn step(&self) -> Next<Bursts> {
        if self.found.len() >= self.repeats as usize {
            let &BackToBack { at_limit, trials, .. } = self;
            return Next::Done(Bursts { frames: self.found.clone(), at_limit, trials });
        }
        let frames = self.length();
        Next::Run(Ask { rate: self.rate, duration: frames as f64 / self.rate })
    }

    fn length(&self) -> u64 {
        match self.upper {
            None => self.lower.saturating_mul(2).max(FIRST).min(self.most),
            Some(upper) => self.lower.midpoint(upper),
        }
    }

    /// Result of the burst that `step` named.
    pub fn answer(&mut self, seen: &Observation) {
        let frames = self.length();
        self.trials += 1;
        if seen.loss_ratio > 0.0 {
            self.upper = Some(frames);
        } else {
            self.lower = frames;
        }
        let full = self.lower >= self.most;
        let narrow =
            self.upper.is_some_and(|upper| upper - self.lower.min(upper) <= self.resolution);
        if full || narrow {
            self.at_limit |= full;
            self.found.push(self.lower as f64);
            (self.lower, self.upper) = (0, None);
        }
    }
}
