// SPDX-License-Identifier: Apache-2.0
//! Latency and delay variation (RFC 8219 §7.2 and §7.3).

use measure::{Delays, LatencyAt, Mark, Mode};

use super::{Measuring, Stop};
use crate::engine::Ran;

/// Fewest packets of a trial, each of which is timed: RFC 8219 §7.2 demands 500 tags.
const FEWEST: f64 = 500.0;

/// Load of "no load", as a share of the throughput.
const NO_LOAD: f64 = 0.001;

impl Measuring<'_> {
    /// A trial whose delays count, long enough for the tags at this rate.
    fn timed(&mut self, rate: f64, keep: bool) -> Result<Ran, Stop> {
        let seconds = self.settings.duration.max(FEWEST * 1.2 / rate);
        let mut plan = self.plan(rate, seconds);
        plan.keep_delays = keep;
        let (_, ran) = self.trial(&plan, (None, None))?;
        let fewest = ran.sides.iter().map(|side| side.latency.n()).min().unwrap_or(0);
        if (fewest as f64) < FEWEST {
            let reason =
                format!("latency of {fewest} packets in one direction, RFC 8219 wants 500");
            self.measurement.mark(Mark::Incomplete { reason });
        }
        Ok(ran)
    }
}

/// Latency at no load, 10, 50 and 90 % of the throughput, and at the throughput; or at the rate
/// that was asked for.
pub fn latency(m: &mut Measuring<'_>) -> Result<(), Stop> {
    let loads: Vec<(String, &str, f64)> = match m.settings.rate {
        Some(rate) => vec![(format!("{rate} pps"), "latency", rate)],
        None => {
            let throughput = m.throughput()?;
            let idle = (throughput * NO_LOAD).max(FEWEST / 5.0);
            vec![
                ("no load".into(), "latency_no_load", idle.min(throughput)),
                ("10 % of throughput".into(), "latency_10", throughput * 0.1),
                ("50 % of throughput".into(), "latency_50", throughput * 0.5),
                ("90 % of throughput".into(), "latency_90", throughput * 0.9),
                ("throughput".into(), "latency_100", throughput),
            ]
        }
    };
    for (load, name, rate) in loads {
        let ran = m.timed(rate, false)?;
        let mut all = measure::Latency::new();
        for side in &ran.sides {
            all.merge(&side.latency);
            let direction = Some(side.counts.direction);
            add(m, &load, rate, direction, &side.latency);
        }
        m.value(&format!("{name}_p50"), "ns", all.typical() as f64);
        m.value(&format!("{name}_p99.9"), "ns", all.worst_case() as f64);
        add(m, &load, rate, None, &all);
    }
    Ok(())
}

/// Adds a histogram to that of earlier repeats at this load.
fn add(
    m: &mut Measuring<'_>,
    load: &str,
    rate: f64,
    direction: Option<measure::Direction>,
    latency: &measure::Latency,
) {
    let all = &mut m.measurement.latency;
    match all.iter_mut().find(|at| at.load == load && at.direction == direction) {
        Some(at) => at.latency.merge(latency),
        None => {
            all.push(LatencyAt { load: load.into(), rate, direction, latency: latency.clone() })
        }
    }
}

/// Packet delay variation, D99.9 − Dmin, or inter-packet delay variation: least, median and largest
/// difference of the delays of packets that follow each other. The worse direction counts.
pub fn variation(m: &mut Measuring<'_>) -> Result<(), Stop> {
    let rate = m.load(0.5)?;
    let ran = m.timed(rate, true)?;
    let sides: Vec<_> = ran
        .sides
        .into_iter()
        .map(|side| (side.counts.direction, side.latency, Delays { nanoseconds: side.delays }))
        .collect();
    for (direction, latency, _) in &sides {
        add(m, &format!("{rate} pps"), rate, Some(*direction), latency);
    }
    if m.measurement.mode == Mode::Pdv {
        let worst = sides.iter().filter_map(|(_, _, delays)| delays.pdv()).max();
        let worst = worst.ok_or_else(|| Stop::Failed("no packet came back".into()))?;
        m.value("pdv", "ns", worst as f64);
        return Ok(());
    }
    let all = sides.iter().filter_map(|(_, _, delays)| delays.ipdv_summary());
    let Some(worst) = all.max_by_key(|ipdv| ipdv.max - ipdv.min) else {
        return Err(Stop::Failed("fewer than two packets came back".into()));
    };
    m.value("ipdv_min", "ns", worst.min as f64);
    m.value("ipdv_median", "ns", worst.median as f64);
    m.value("ipdv_max", "ns", worst.max as f64);
    Ok(())
}
