// SPDX-License-Identifier: Apache-2.0
//! Modes that find rates: throughput, MLRsearch, maximum receive rate, frame loss rate, soak.

use measure::RatePoint;
use measure::search::mlr::{Goal, Mlr};
use measure::search::{Binary, LossCurve, Next, Range};

use super::{Measuring, Stop};

/// Least load of searches, as a share of the highest.
pub const LEAST: f64 = 1e-3;

/// The range of a search up to a rate, with trials of at least so many seconds: each has a packet.
pub fn range(max: f64, duration: f64) -> Range {
    Range { min: (max * LEAST).max(1.0 / duration).min(max), max }
}

/// Throughput by RFC 2544 §26.1.
pub fn throughput(m: &mut Measuring<'_>) -> Result<(), Stop> {
    let rate = search(m)?;
    m.value("throughput", "pps", rate);
    Ok(())
}

/// One binary search; 0 if packets are lost at each rate.
pub fn search(m: &mut Measuring<'_>) -> Result<f64, Stop> {
    let max = m.highest()?;
    let range = range(max, m.settings.duration);
    // Short trials on a shared machine lose packets to it now and then.
    let retries = if m.settings.profile.is_rfc2544() || m.bench.is_simulated() { 0 } else { 1 };
    let mut search =
        Binary::new(range, m.settings.duration)?.width(m.settings.width).retries(retries);
    loop {
        match search.step() {
            Next::Run(ask) => {
                let plan = m.plan(ask.rate, ask.duration);
                let (trial, _) = m.trial(&plan, search.bounds())?;
                search.answer(&m.observe(ask.rate, ask.duration, &trial));
            }
            Next::Done(found) => {
                return Ok(found.lower.unwrap_or(0.0));
            }
        }
    }
}

/// No-drop and partial-drop rate by MLRsearch (RFC 9971).
pub fn ndrpdr(m: &mut Measuring<'_>) -> Result<(), Stop> {
    let max = m.highest()?;
    let mut goals = Goal::of(m.settings.profile);
    // Another duration of trials changes the sum in proportion.
    let scale = m.settings.duration / m.settings.profile.duration();
    for goal in &mut goals {
        goal.final_duration *= scale;
        goal.initial_duration = (goal.initial_duration * scale).min(goal.final_duration);
        goal.duration_sum *= scale;
        goal.width = m.settings.width;
    }
    let shortest = goals.iter().map(|goal| goal.initial_duration).fold(f64::INFINITY, f64::min);
    let mut search = Mlr::new(range(max, shortest), goals)?;
    loop {
        match search.step() {
            Next::Run(ask) => {
                let plan = m.plan(ask.rate, ask.duration);
                let bounds = search.progress().map_or((None, None), |(_, low, high)| (low, high));
                let (trial, _) = m.trial(&plan, bounds)?;
                search.answer(&m.observe(ask.rate, ask.duration, &trial));
            }
            Next::Done(outcome) => {
                for bound in &outcome.bounds {
                    m.value(&bound.goal, "pps", bound.lower.unwrap_or(0.0));
                    if let Some(rate) = bound.conditional_throughput {
                        m.value(&format!("{}_conditional_throughput", bound.goal), "pps", rate);
                    }
                }
                m.measurement.bounds = outcome.bounds;
                return Ok(());
            }
        }
    }
}

/// Maximum receive rate: packets per second that come back at the highest load that the tester
/// can send.
pub fn mrr(m: &mut Measuring<'_>) -> Result<(), Stop> {
    let highest = m.highest()?;
    // 1.2 is the reserve of `highest` over what the tester can send.
    let rate =
        if m.bench.is_simulated() { highest } else { m.settings.rate.unwrap_or(highest / 1.2) };
    let plan = m.plan(rate, m.settings.duration);
    let (trial, _) = m.trial(&plan, (None, None))?;
    let directions = trial.directions.len().max(1) as f64;
    let sending = trial.directions.iter().map(|counts| counts.sending_time).fold(0.0, f64::max);
    let seconds = sending.max(trial.duration);
    if seconds > 0.0 {
        m.value("mrr", "pps", trial.received() as f64 / seconds / directions);
        m.value("mrr_loss_ratio", "ratio", trial.loss_ratio());
    }
    Ok(())
}

/// Frame loss rate by RFC 2544 §26.3.
pub fn loss(m: &mut Measuring<'_>) -> Result<(), Stop> {
    let max = match m.settings.rate {
        Some(rate) => rate,
        None => m.highest()?,
    };
    let mut curve = LossCurve::new(max, 0.1, m.settings.duration)?;
    loop {
        match curve.step() {
            Next::Run(ask) => {
                let plan = m.plan(ask.rate, ask.duration);
                let (trial, _) = m.trial(&plan, (None, None))?;
                curve.answer(&m.observe(ask.rate, ask.duration, &trial));
            }
            Next::Done(points) => {
                if let Some(first) = points.first() {
                    m.value("loss_ratio_at_highest_rate", "ratio", first.loss_ratio);
                }
                m.measurement.loss = points;
                return Ok(());
            }
        }
    }
}

/// One load for a long time, in trials; each is a point.
pub fn soak(m: &mut Measuring<'_>) -> Result<(), Stop> {
    let rate = m.load(0.5)?;
    let trials = (m.settings.soak / m.settings.duration).ceil().max(1.0) as u64;
    for _ in 0..trials {
        let plan = m.plan(rate, m.settings.duration);
        let (trial, ran) = m.trial(&plan, (None, None))?;
        m.measurement.loss.push(RatePoint {
            rate,
            loss_ratio: trial.loss_ratio(),
            forwarding_rate: trial.forwarding_rate(),
        });
        m.value("loss_ratio", "ratio", trial.loss_ratio());
        let worst = ran.sides.iter().map(|side| side.latency.worst_case()).max().unwrap_or(0);
        m.value("latency_p99.9", "ns", worst as f64);
    }
    Ok(())
}
