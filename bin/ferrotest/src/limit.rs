// SPDX-License-Identifier: Apache-2.0
//! The tester's own limit: measured before the first repeat of a device and after each.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use measure::{Mark, Measurement, Mode, Results, SelfTest};

use crate::bench::{Bench, Traffic};
use crate::engine::Plan as TrialPlan;
use crate::modes::{Measuring, RunClock, Settings, Stop};
use crate::port::interface;
use crate::progress::Progress;

/// Seconds of a trial of the tester itself at most.
const DURATION: f64 = 0.3;

/// Width of the last interval of its search.
const WIDTH: f64 = 0.03;

/// Rate of a trial of a self-test at which latency is taken, as a share of the limit.
const LATENCY: f64 = 0.5;

/// The tester's ports without a device, for one run.
pub struct Limits {
    /// Made when it is first needed.
    cable: Option<Bench>,
    /// Kind of the ports; None if the tester isn't to be measured.
    ports: Option<interface::Kind>,
    settings: Settings,
    stop: Arc<AtomicBool>,
}

impl Limits {
    /// The tester over ports of a kind, if it is to be measured, with the settings of a run.
    pub fn new(ports: Option<interface::Kind>, settings: &Settings, stop: Arc<AtomicBool>) -> Self {
        let duration = settings.duration.min(DURATION);
        let settings = Settings { duration, width: WIDTH, ..settings.clone() };
        Self { cable: None, ports, settings, stop }
    }

    /// Measures the tester itself over the kind of ports of a bench; adds the sample to the
    /// results, and returns its rate. None if that can't be known: over taps, which can't be
    /// connected to each other; between rings, where the tester is the device; or if it isn't
    /// wanted.
    ///
    /// # Errors
    /// The ports can't be made, or the tester can't measure itself.
    fn sample(
        &mut self,
        bench: &Bench,
        traffic: &Traffic,
        results: &mut Results,
        (clock, progress): (&RunClock, &mut Progress),
    ) -> Result<Option<f64>, String> {
        let Some(ports) = self.ports.filter(|_| !self.stop.load(Ordering::Relaxed)) else {
            return Ok(None);
        };
        if bench.is_simulated() {
            // In simulated time the tester sends what the link carries.
            let test = SelfTest {
                port: bench.port().into(),
                size: traffic.real_size(),
                rate: bench.line_rate(traffic),
                latency_ns: 0,
                at: clock.now(),
            };
            let rate = test.rate;
            results.selftests.push(test);
            return Ok(Some(rate));
        }
        if ports == interface::Kind::Tap || bench.port() != ports.name() {
            return Ok(None);
        }
        let cable = match &mut self.cable {
            Some(cable) => cable,
            none => none.insert(Bench::cable(ports, self.stop.clone())?),
        };
        let Some(found) = selftest(cable, traffic, &self.settings, (clock, progress))?.0 else {
            return Ok(None);
        };
        let rate = found.rate;
        results.selftests.push(found);
        Ok(Some(rate))
    }

    /// The tester's limit, measured now. A tester that can't measure itself says so and goes on:
    /// results without its limit are results, too.
    pub fn sample_or_none(
        &mut self,
        bench: &Bench,
        traffic: &Traffic,
        results: &mut Results,
        (clock, progress): (&RunClock, &mut Progress),
    ) -> Option<f64> {
        self.sample(bench, traffic, results, (clock, progress)).unwrap_or_else(|reason| {
            progress.clear();
            eprintln!("ferrotest: the tester's own limit: {reason}");
            None
        })
    }
}

/// The limit around a repeat: the lower of the samples before and after it.
pub fn around(before: Option<f64>, after: Option<f64>) -> Option<f64> {
    before.into_iter().chain(after).reduce(f64::min)
}

/// Measures the tester with its ports connected to each other.
///
/// # Errors
/// It can't be done.
pub fn selftest(
    bench: &mut Bench,
    traffic: &Traffic,
    settings: &Settings,
    (clock, progress): (&RunClock, &mut Progress),
) -> Result<(Option<SelfTest>, Measurement), String> {
    let mut measurement = Measurement::new(Mode::Selftest, "none", settings.profile);
    measurement.description = bench.describe();
    measurement.family = traffic.family();
    measurement.size = traffic.real_size();
    measurement.directions = traffic.directions.clone();
    measurement.parameters.insert("port".into(), bench.port().into());
    let what = format!("selftest {} {} {}", bench.port(), measurement.family, measurement.size);
    progress.begin(&what, 1, 1);
    let at = clock.now();
    let mut measuring = Measuring {
        bench: &mut *bench,
        traffic,
        settings,
        measurement: &mut measurement,
        limit: None,
        repeat: 0,
        clock,
        notes: progress,
    };
    match measuring.repeat() {
        Ok(()) => {}
        Err(_) if bench.is_stopped() => {
            measurement.outcome = measure::Outcome::Interrupted;
            return Ok((None, measurement));
        }
        Err(Stop::Interrupted) => return Err("the tester against itself: interrupted".into()),
        Err(Stop::Failed(why)) => return Err(format!("the tester against itself: {why}")),
    }
    // A search that ends at a rate which the tester can't send has found the tester.
    measurement.marks.retain(|mark| *mark != Mark::TesterBound);
    let rate =
        measurement.series("throughput").and_then(|s| s.values.last().copied()).unwrap_or(0.0);
    let mut latency_ns = 0;
    if rate > 0.0 {
        let plan = TrialPlan::constant(rate * LATENCY, settings.duration.min(0.5));
        let plan = TrialPlan { wait: (settings.wait * 1e9) as u64, ..plan };
        let ran = bench.trial(traffic, &plan)?;
        latency_ns = ran.sides.iter().map(|side| side.latency.typical()).max().unwrap_or(0);
    }
    let port = bench.port().into();
    Ok((Some(SelfTest { port, size: measurement.size, rate, latency_ns, at }), measurement))
}
