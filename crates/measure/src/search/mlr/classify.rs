// SPDX-License-Identifier: Apache-2.0
//! Classification of a load by its trials (RFC 9971, appendices A and B).

use super::Goal;
use crate::search::Observation;

/// Relation of a load to a goal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// The load meets the goal, whatever further trials show.
    Lower,
    /// The load fails the goal, whatever further trials show.
    Upper,
    /// Further trials decide.
    Undecided,
}

/// Seconds of trials at one load, by length and loss.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Sums {
    full_low: f64,
    full_high: f64,
    short_low: f64,
    short_high: f64,
}

impl Sums {
    fn of(goal: &Goal, trials: &[Observation]) -> Sums {
        let mut sums = Sums::default();
        for trial in trials {
            let full = trial.duration >= goal.final_duration;
            let low = trial.loss_ratio <= goal.loss_ratio;
            let sum = match (full, low) {
                (true, true) => &mut sums.full_low,
                (true, false) => &mut sums.full_high,
                (false, true) => &mut sums.short_low,
                (false, false) => &mut sums.short_high,
            };
            *sum += trial.duration;
        }
        sums
    }
}

/// Share of high-loss time in the best and in the worst case of the trials still to come.
pub(super) fn exceed_ratios(goal: &Goal, trials: &[Observation]) -> (f64, f64) {
    let Sums { full_low, full_high, short_low, short_high } = Sums::of(goal, trials);
    // Short trials without loss outweigh short ones with loss, in the proportion that the goal
    // tolerates; they say nothing good about full-length trials.
    let balance = short_low * goal.exceed_ratio / (1.0 - goal.exceed_ratio);
    let high = full_high + (short_high - balance).max(0.0);
    let whole = (full_low + high).max(goal.duration_sum);
    (high / whole, (whole - full_low) / whole)
}

/// Class of a load by all trials at this load.
pub fn classify(goal: &Goal, trials: &[Observation]) -> Class {
    let (optimistic, pessimistic) = exceed_ratios(goal, trials);
    // Sums of durations such as 0.1 s aren't exact: a ratio that equals the goal's but for
    // rounding counts as equal.
    let limit = goal.exceed_ratio + 1e-9;
    match (optimistic <= limit, pessimistic <= limit) {
        (_, true) => Class::Lower,
        (false, false) => Class::Upper,
        (true, false) => Class::Undecided,
    }
}

/// Forwarding rate, in frames per second and direction, that the goal's share of trials reaches
/// at this load. None without a trial.
pub fn conditional_throughput(goal: &Goal, load: f64, trials: &[Observation]) -> Option<f64> {
    if trials.is_empty() {
        return None;
    }
    let full = trials.iter().filter(|t| t.duration >= goal.final_duration);
    let mut full: Vec<_> = full.collect();
    full.sort_by(|a, b| a.loss_ratio.total_cmp(&b.loss_ratio));
    let seconds = full.iter().map(|t| t.duration).sum::<f64>();
    let mut remaining = seconds.max(goal.duration_sum) * (1.0 - goal.exceed_ratio);
    let mut loss_ratio = None;
    for trial in full {
        if loss_ratio.is_some() && remaining <= 1e-9 {
            break;
        }
        loss_ratio = Some(trial.loss_ratio);
        remaining -= trial.duration;
    }
    // Time without a trial counts as time of full loss.
    let loss_ratio = if remaining > 1e-9 { 1.0 } else { loss_ratio.unwrap_or(1.0) };
    Some(load * (1.0 - loss_ratio))
}
