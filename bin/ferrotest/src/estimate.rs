// SPDX-License-Identifier: Apache-2.0
//! An estimate of the time that a run takes, before it starts.

use measure::Mode;

use crate::modes::Settings;
use crate::port::interface;
use crate::run::Plan;

/// Seconds that a trial takes beside its duration and the wait for late frames.
const OVERHEAD: f64 = 0.1;

/// Attempts at a trial, on average: short trials on a shared machine are often not valid.
const ATTEMPTS: f64 = 1.5;

/// Seconds in which the tester measures itself once.
const SELFTEST: f64 = 4.0;

/// Seconds of the trials of one repeat.
fn repeat(mode: Mode, settings: &Settings) -> f64 {
    let trial = settings.duration + settings.wait + OVERHEAD;
    let short = settings.wait + OVERHEAD + 0.2;
    // The range of a search is halved until it is narrow; two floods find its top.
    let steps = (1.0 / settings.width).log2().ceil().max(1.0) + 2.0;
    let search = 2.0 * short + steps * trial * ATTEMPTS;
    let load = if settings.rate.is_some() { 0.0 } else { search / f64::from(settings.repeats) };
    match if mode == Mode::Scale { settings.search } else { mode } {
        Mode::Throughput | Mode::Selftest | Mode::NatThroughput => search,
        Mode::Mrr => 2.0 * short + trial * ATTEMPTS,
        Mode::Ndrpdr => {
            let scale = settings.duration / settings.profile.duration();
            2.0 * settings.profile.duration_sum() * scale * ATTEMPTS + search
        }
        Mode::Loss => 2.0 * short + 10.0 * trial * ATTEMPTS,
        Mode::Latency => load + 5.0 * trial * ATTEMPTS,
        Mode::B2b => load + 12.0 * (1.0 + settings.wait + OVERHEAD),
        Mode::Soak => load + settings.soak,
        Mode::NatCps | Mode::NatCapacity | Mode::NatTeardown => {
            search + f64::from(settings.sessions) / settings.session_rate
        }
        _ => load + 2.0 * trial * ATTEMPTS,
    }
}

/// Seconds that a plan takes, roughly.
pub fn seconds(plan: &Plan) -> f64 {
    let simulated = |spec: &&crate::dut::Spec| matches!(spec, crate::dut::Spec::None(Some(_)));
    let devices = plan.devices.iter().filter(|spec| !simulated(spec)).count() as f64;
    let points = (plan.traffic.len() * plan.workers.len() * plan.routes.len()) as f64;
    let repeats = f64::from(plan.settings.repeats);
    let is_measured = plan.selftest && plan.ports != interface::Kind::Tap && devices > 0.0;
    let trial = plan.settings.wait + OVERHEAD;
    let selftest = if is_measured { SELFTEST + 12.0 * trial } else { 0.0 };
    let mode = |&mode: &Mode| {
        devices * repeats * repeat(mode, &plan.settings) + (devices * repeats + 1.0) * selftest
    };
    points * plan.modes.iter().map(mode).sum::<f64>()
}

/// A time in words.
pub fn words(seconds: f64) -> String {
    match seconds {
        s if s < 90.0 => format!("{:.0} s", s.max(1.0)),
        s if s < 5400.0 => format!("{:.0} min", s / 60.0),
        s if s < 172_800.0 => format!("{:.1} h", s / 3600.0),
        s => format!("{:.0} days", s / 86_400.0),
    }
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;

    #[suite::test]
    fn times_are_in_fitting_units() {
        let all = [0.2, 60.0, 240.0, 7200.0, 1e6].map(words);
        assert_eq!(all, ["1 s", "60 s", "4 min", "2.0 h", "12 days"]);
    }
}
