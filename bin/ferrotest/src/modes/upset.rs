// SPDX-License-Identifier: Apache-2.0
//! Recovery from overload (RFC 2544 §26.5), from a reset (RFC 6201), and from a load of routes.

use measure::{Mark, events};

use super::{Measuring, Stop};
use crate::dut::change::{Change, Routes};
use crate::engine::{Event, Phase};
use crate::traffic::Kind;

/// 110 % of the throughput, then 50 %: the time from the step down to the last lost packet.
pub fn recovery(m: &mut Measuring<'_>) -> Result<(), Stop> {
    let throughput = m.throughput()?;
    let seconds = m.settings.duration;
    let high = Phase::lasting(throughput * 1.1, seconds);
    let plan = m.plan_of(vec![high, Phase::lasting(throughput * 0.5, seconds)]);
    let (trial, ran) = m.trial(&plan, (None, None))?;
    let step = high.packets as f64 / high.rate;
    if trial.lost() == 0 {
        let reason = "110 % of the throughput lost no packet: nothing to recover from".to_string();
        m.measurement.mark(Mark::Incomplete { reason });
    }
    let lost: Vec<f64> =
        ran.sides.iter().filter_map(|side| side.last_loss).map(|at| at as f64 / 1e9).collect();
    m.value("recovery", "s", events::recovery_time(step, &lost));
    Ok(())
}

/// Restarts the device in the middle of a trial: the longest time without a packet, and the time
/// of the lost packets at this rate (RFC 6201 §3).
pub fn reset(m: &mut Measuring<'_>) -> Result<(), Stop> {
    let rate = m.load(0.5)?;
    let seconds = m.settings.duration.max(1.0);
    let mut plan = m.plan(rate, seconds);
    plan.event = Some(Event { at: seconds / 3.0, change: Change::Restart });
    let (trial, ran) = m.trial(&plan, (None, None))?;
    if trial.directions.iter().any(|counts| counts.received == 0) || trial.lost() == 0 {
        let reason = "the restart took all of the trial, or lost nothing".to_string();
        m.measurement.mark(Mark::Incomplete { reason });
    }
    let gap = ran.sides.iter().map(|side| side.gap).max().unwrap_or(0) as f64 / 1e9;
    m.value("reset_time", "s", (gap - 1.0 / rate).max(0.0));
    let lost = trial.directions.iter().map(|counts| counts.lost).max().unwrap_or(0);
    if let Some(time) = events::time_by_loss(lost, rate) {
        m.value("reset_time_by_loss", "s", time);
    }
    Ok(())
}

/// Loads routes at 90 % of the throughput, and takes them out again: the time for which each
/// blocked traffic, from the lost packets at this rate, and the time that it took.
pub fn reconfig(m: &mut Measuring<'_>) -> Result<(), Stop> {
    let rate = m.load(0.9)?;
    let routes = Routes { count: m.settings.routes, ip6: m.traffic.kind == Kind::Ip6 };
    // A load without traffic shows how long a trial has to be.
    let idle = m.bench.change(Change::Add(routes))?.max(m.bench.change(Change::Delete(routes))?);
    let seconds = m.settings.duration.max(1.0).max(idle * 4.0);
    for (name, change, undo) in [
        ("add", Change::Add(routes), Change::Delete(routes)),
        ("delete", Change::Delete(routes), Change::Add(routes)),
    ] {
        let mut plan = m.plan(rate, seconds);
        plan.event = Some(Event { at: seconds / 4.0, change });
        let (trial, ran) = m.until_valid(m.traffic, &plan, (None, None), |bench, attempt| {
            if attempt > 1 { bench.change(undo).map(drop) } else { Ok(()) }
        })?;
        let took = ran.event.unwrap_or(0.0);
        if took > seconds * 0.75 {
            let reason = format!(
                "{name}: routes took {took:.3} s, longer than the rest of the trial of \
                 {seconds:.3} s: --duration makes it longer"
            );
            m.measurement.mark(Mark::Incomplete { reason });
        }
        let lost = trial.directions.iter().map(|counts| counts.lost).max().unwrap_or(0);
        if let Some(time) = events::time_by_loss(lost, rate) {
            m.value(&format!("blocked_{name}"), "s", time);
        }
        m.value(&format!("load_{name}"), "s", took);
    }
    Ok(())
}
