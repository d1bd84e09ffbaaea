// SPDX-License-Identifier: Apache-2.0
//! Choice of the next trial.

use std::collections::BTreeMap;

use super::{Class, Goal, classify, conditional_throughput};
use crate::Bound;
use crate::search::{Ask, Next, Observation, Range};

/// Trials after which a search ends without a regular result.
const MOST_TRIALS: u32 = 10_000;

/// Factor by which a stage's interval is wider than that of the next stage.
const WIDEN: f64 = 2.0;

/// Result of a search.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// Bounds of each goal, in the order of the goals.
    pub bounds: Vec<Bound>,
    /// True for each goal whose result is regular: both bounds exist, no further apart than the
    /// goal's width.
    pub regular: Vec<bool>,
    /// Number of trials.
    pub trials: u32,
}

/// Search for several goals at once.
#[derive(Debug, Clone)]
pub struct Mlr {
    range: Range,
    goals: Vec<Goal>,
    /// Goals in stages: index of the goal and the stage's attributes.
    stages: Vec<(usize, Goal)>,
    stage: usize,
    /// Trials by load. The key is the load's bits: positive numbers keep their order.
    loads: BTreeMap<u64, Vec<Observation>>,
    /// Load that is being measured until the stage decides it.
    current: Option<f64>,
    /// Bounds of the stage before, loads to begin with.
    hints: (Option<f64>, Option<f64>),
    /// Number of steps beyond the known bounds in this stage.
    leaps: i32,
    trials: u32,
    most_trials: u32,
}

/// Stages of a goal, the goal itself last: durations and sums grow geometrically, widths halve.
fn stages(goal: &Goal) -> Vec<Goal> {
    let n = match goal.duration_sum / goal.initial_duration {
        growth if growth > 4.0 => 3,
        growth if growth > 1.0 => 2,
        _ => 1,
    };
    let between = |first: f64, last: f64, share: f64| first * (last / first).powf(share);
    let stage = |i: i32| {
        if i + 1 == n {
            return goal.clone();
        }
        let share = f64::from(i) / f64::from(n - 1);
        Goal {
            final_duration: between(goal.initial_duration, goal.final_duration, share),
            duration_sum: between(goal.initial_duration, goal.duration_sum, share),
            width: (goal.width * WIDEN.powi(n - 1 - i)).min(0.5),
            ..goal.clone()
        }
    };
    (0..n).map(stage).collect()
}

impl Mlr {
    /// Search in this range. The order of the goals is the order in which they are reached.
    pub fn new(range: Range, goals: Vec<Goal>) -> Result<Mlr, String> {
        range.check()?;
        if goals.is_empty() {
            return Err("a search needs a goal".into());
        }
        goals.iter().try_for_each(Goal::check)?;
        let staged = goals.iter().enumerate();
        let stages = staged.flat_map(|(i, g)| stages(g).into_iter().map(move |s| (i, s)));
        Ok(Mlr {
            range,
            stages: stages.collect(),
            goals,
            stage: 0,
            loads: BTreeMap::new(),
            current: None,
            hints: (None, None),
            leaps: 0,
            trials: 0,
            most_trials: MOST_TRIALS,
        })
    }

    /// Number of trials after which the search ends with irregular results.
    pub fn most_trials(mut self, trials: u32) -> Mlr {
        self.most_trials = trials.max(1);
        self
    }

    /// Number of trials so far.
    pub fn trials(&self) -> u32 {
        self.trials
    }

    /// Bounds of the goal in focus, for a progress line: its name, lower and upper bound.
    pub fn progress(&self) -> Option<(&str, Option<f64>, Option<f64>)> {
        let (_, stage) = self.stages.get(self.stage)?;
        let (lower, upper) = self.bounds(stage);
        Some((&stage.name, lower, upper))
    }

    fn trials_at(&self, load: f64) -> &[Observation] {
        self.loads.get(&load.to_bits()).map_or(&[], Vec::as_slice)
    }

    /// Relevant bounds: the smallest upper bound, and the largest lower bound below it.
    fn bounds(&self, goal: &Goal) -> (Option<f64>, Option<f64>) {
        let mut lower = None;
        for (&load, trials) in &self.loads {
            match classify(goal, trials) {
                Class::Lower => lower = Some(f64::from_bits(load)),
                Class::Upper => return (lower, Some(f64::from_bits(load))),
                Class::Undecided => {}
            }
        }
        (lower, None)
    }

    /// Next trial, or the result.
    pub fn step(&mut self) -> Next<Outcome> {
        while self.trials < self.most_trials {
            let Some((_, stage)) = self.stages.get(self.stage) else {
                // Trials for later goals may have moved the bounds of earlier ones.
                match self.goals.iter().position(|g| self.choose(g, true).is_some()) {
                    Some(goal) => {
                        let last = self.stages.iter().rposition(|(g, _)| *g == goal);
                        self.stage = last.expect("each goal has a stage");
                        self.hints = (None, None);
                        self.leaps = 0;
                        continue;
                    }
                    None => break,
                }
            };
            let stage = stage.clone();
            let load = match self.current {
                Some(load) => Some(load),
                None => self.choose(&stage, false),
            };
            if let Some(load) = load {
                self.current = Some(load);
                return Next::Run(Ask { rate: load, duration: stage.final_duration });
            }
            self.hints = self.bounds(&stage);
            self.leaps = 0;
            self.stage += 1;
        }
        Next::Done(self.outcome())
    }

    /// Load to measure for the stage; None if its bounds are close enough, or at the ends of the
    /// range. `plain`: without the hints of the stage before.
    fn choose(&self, stage: &Goal, plain: bool) -> Option<f64> {
        let Range { min, max } = self.range;
        let hint = |hint: Option<f64>| hint.filter(|_| !plain);
        let leap = stage.width * WIDEN.powi(self.leaps.min(30));
        match self.bounds(stage) {
            (None, None) => {
                // The stage before knows where to begin; otherwise the highest load shows what
                // the device forwards under overload.
                Some(hint(self.hints.0).or(hint(self.hints.1)).unwrap_or(max))
            }
            (Some(lower), None) => {
                if lower >= max {
                    return None;
                }
                let above = hint(self.hints.1).filter(|&h| h > lower);
                Some(above.unwrap_or(lower / (1.0 - leap.min(0.5))).min(max))
            }
            (None, Some(upper)) => {
                if upper <= min {
                    return None;
                }
                let below = hint(self.hints.0).filter(|&h| h < upper);
                let below = below.or_else(|| self.forwarded(stage, upper));
                Some(below.unwrap_or(upper * (1.0 - leap.min(0.5))).max(min))
            }
            (Some(lower), Some(upper)) => {
                let middle = self.middle(lower, upper);
                let narrow = upper - lower <= stage.width * upper;
                let exhausted = middle <= lower || middle >= upper;
                (!narrow && !exhausted).then_some(middle)
            }
        }
    }

    /// Load at which the device's rate under overload would be without excess loss, if that
    /// hasn't been measured yet and lies well below the upper bound.
    fn forwarded(&self, stage: &Goal, upper: f64) -> Option<f64> {
        if self.leaps > 0 {
            return None;
        }
        let seen = self.trials_at(upper).last()?;
        let rate = upper * (1.0 - seen.loss_ratio) / (1.0 - stage.loss_ratio);
        let far = rate >= self.range.min && rate <= upper * (1.0 - stage.width);
        (far && self.trials_at(rate).is_empty()).then_some(rate)
    }

    /// Load in the middle of the interval: one with trials in its middle half, so that these
    /// count, or the mean.
    fn middle(&self, lower: f64, upper: f64) -> f64 {
        let quarter = (upper - lower) / 4.0;
        let (from, to) = (lower + quarter, upper - quarter);
        let middle = lower.midpoint(upper);
        let known = self.loads.range(from.to_bits()..=to.max(from).to_bits());
        let known = known.map(|(&load, _)| f64::from_bits(load));
        let near = |load: &f64| (load - middle).abs();
        known.min_by(|a, b| near(a).total_cmp(&near(b))).unwrap_or_else(|| {
            let whole = middle.round();
            if lower < whole && whole < upper { whole } else { middle }
        })
    }

    /// Result of the trial that `step` named.
    pub fn answer(&mut self, seen: &Observation) {
        self.trials += 1;
        let load = self.current.unwrap_or(seen.rate);
        let duration = if seen.duration > 0.0 { seen.duration } else { 1.0 };
        let trials = self.loads.entry(load.to_bits()).or_default();
        trials.push(Observation { rate: load, duration, ..*seen });
        let Some((_, stage)) = self.stages.get(self.stage) else { return };
        if classify(stage, trials) != Class::Undecided {
            self.current = None;
            let (lower, upper) = self.bounds(stage);
            // Outside of all bounds the steps grow; an interval needs none.
            self.leaps = if lower.is_some() && upper.is_some() { 0 } else { self.leaps + 1 };
        }
    }

    fn outcome(&self) -> Outcome {
        let result = |goal: &Goal| {
            let (lower, upper) = self.bounds(goal);
            let conditional = |l| conditional_throughput(goal, l, self.trials_at(l));
            let regular = match (lower, upper) {
                (Some(l), Some(u)) => u - l <= goal.width * u,
                _ => false,
            };
            let bound = Bound {
                goal: goal.name.clone(),
                loss_ratio: goal.loss_ratio,
                lower,
                upper,
                conditional_throughput: lower.and_then(conditional),
            };
            (bound, regular)
        };
        let (bounds, regular) = self.goals.iter().map(result).unzip();
        Outcome { bounds, regular, trials: self.trials }
    }
}
