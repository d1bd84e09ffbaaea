// SPDX-License-Identifier: Apache-2.0
//! A run: measurements of devices, interleaved, with the results saved after each repeat.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use measure::siitperf::Vary;
use measure::{Mark, Measurement, Mode, Outcome, Results, SelfTest, Series};

use crate::bench::{Bench, Traffic};
use crate::dut::change::Routes;
use crate::dut::{Spec, sweep};
use crate::modes::{Measuring, NAT, Settings, Stop};
use crate::port::interface;
use crate::progress::Progress;
use crate::surroundings;
use crate::traffic::Kind;
use crate::traffic::random::Random;

/// The plan of a run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Modes, one after the other.
    pub modes: Vec<Mode>,
    /// Devices that are compared.
    pub devices: Vec<Spec>,
    /// Kinds of traffic, one after the other.
    pub traffic: Vec<Traffic>,
    /// Numbers of workers of devices that have them, one after the other.
    pub workers: Vec<u32>,
    /// Kind of the interfaces between tester and devices.
    pub ports: interface::Kind,
    /// Numbers of routes that devices have beside their own, one after the other.
    pub routes: Vec<u32>,
    /// Settings.
    pub settings: Settings,
    /// Title of the report.
    pub title: String,
    /// Seed of the order of devices and of the traffic.
    pub seed: u64,
    /// True if the tester is measured against itself first.
    pub selftest: bool,
    /// File of the results.
    pub file: Option<PathBuf>,
    /// True if measurements that the file has already are kept.
    pub resume: bool,
    /// True if no progress is shown.
    pub quiet: bool,
}

/// End of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// All was measured.
    Complete,
    /// Some measurement could not be done.
    Failed,
    /// The operator has stopped it.
    Interrupted,
}

/// Rate of a trial of a self-test at which latency is taken, as a share of the limit.
const SELFTEST_LATENCY: f64 = 0.5;

/// Runs a plan.
///
/// # Errors
/// A device can't be set up, or the file of the results can't be read or written.
pub fn run(plan: &Plan, stop: &Arc<AtomicBool>) -> Result<(Results, End), String> {
    all(std::slice::from_ref(plan), stop)
}

/// Runs plans one after the other into one document, that of the first.
///
/// # Errors
/// As those of [`run`]; a device of a later plan that can't be set up is known at once.
pub fn all(plans: &[Plan], stop: &Arc<AtomicBool>) -> Result<(Results, End), String> {
    let first = plans.first().ok_or("no device: expected one at least")?;
    sweep::sweep();
    for plan in &plans[1..] {
        for spec in &plan.devices {
            // It is taken down again: the plan before may have the cores for itself.
            Bench::up(spec.clone(), 1, plan.ports, stop.clone())?;
        }
    }
    let (mut results, mut end) = (begin(first)?, End::Complete);
    for plan in plans {
        let (so_far, this) = go_on(plan, results, stop)?;
        results = so_far;
        match this {
            End::Complete => {}
            End::Failed => end = End::Failed,
            End::Interrupted => return Ok((results, End::Interrupted)),
        }
    }
    results.complete = end == End::Complete;
    Ok((results, end))
}

/// Adds the measurements of a plan.
fn go_on(
    plan: &Plan,
    mut results: Results,
    stop: &Arc<AtomicBool>,
) -> Result<(Results, End), String> {
    results.complete = false;
    let mut progress = Progress::new(plan.quiet);
    let mut end = End::Complete;
    let mut random = Random::new(plan.seed);
    let groups = groups(plan);
    progress.expect(groups.len() * plan.devices.len() * plan.settings.repeats as usize);
    for workers in &plan.workers {
        let mut benches = plan
            .devices
            .iter()
            .map(|spec| Bench::up(spec.clone(), *workers, plan.ports, stop.clone()))
            .collect::<Result<Vec<_>, _>>()?;
        environment(&mut results, &benches);
        for point in groups.iter().filter(|point| point.workers == *workers) {
            if plan.selftest && !stop.load(Ordering::Relaxed) {
                selftests(plan, &benches, point.traffic, &mut results, &mut progress, stop)?;
            }
            match group(plan, *point, &mut benches, &mut results, &mut progress, &mut random)? {
                End::Complete => {}
                End::Failed => end = End::Failed,
                End::Interrupted => {
                    results.finished = surroundings::utc_now();
                    save(plan.file.as_deref(), &results)?;
                    return Ok((results, End::Interrupted));
                }
            }
        }
    }
    results.finished = surroundings::utc_now();
    results.complete = end == End::Complete;
    save(plan.file.as_deref(), &results)?;
    progress.clear();
    Ok((results, end))
}

/// Measurements that are the same on all devices.
#[derive(Clone, Copy)]
struct Point<'p> {
    mode: Mode,
    traffic: &'p Traffic,
    workers: u32,
    routes: u32,
}

fn groups(plan: &Plan) -> Vec<Point<'_>> {
    let mut points = Vec::new();
    for &workers in &plan.workers {
        for &routes in &plan.routes {
            for &mode in &plan.modes {
                let point = |traffic| Point { mode, traffic, workers, routes };
                points.extend(plan.traffic.iter().map(point));
            }
        }
    }
    points
}

/// The document of a new run, or that of the interrupted one.
fn begin(plan: &Plan) -> Result<Results, String> {
    if plan.resume
        && let Some(file) = plan.file.as_deref().filter(|file| file.exists())
    {
        let text = fs::read_to_string(file).map_err(|e| format!("{}: {e}", file.display()))?;
        return Results::from_json(&text).map_err(|e| format!("{}: {e}", file.display()));
    }
    Ok(Results {
        program: format!("ferrotest {}", env!("CARGO_PKG_VERSION")),
        title: plan.title.clone(),
        started: surroundings::utc_now(),
        seed: plan.seed,
        rules: plan.settings.rules,
        ..Results::default()
    })
}

fn environment(results: &mut Results, benches: &[Bench]) {
    let ports: BTreeSet<_> = benches.iter().map(Bench::port).collect();
    let hz = benches.first().map_or(0.0, Bench::tsc_hz);
    let mut environment = surroundings::describe(hz, &ports);
    let fresh: Vec<_> =
        benches.iter().map(|bench| (bench.spec().to_string(), bench.describe())).collect();
    // Devices of an earlier plan stay in the report.
    let earlier = std::mem::take(&mut results.environment.versions).into_iter();
    let known =
        |name: &String| environment.versions.iter().chain(&fresh).any(|(other, _)| other == name);
    let earlier: Vec<_> = earlier.filter(|(name, _)| !known(name)).collect();
    environment.versions.extend(earlier.into_iter().chain(fresh));
    results.environment = environment;
}

/// Writes the results beside their file, then renames: a reader never sees half of them.
fn save(file: Option<&Path>, results: &Results) -> Result<(), String> {
    let Some(file) = file else { return Ok(()) };
    let fresh = file.with_extension("json.new");
    fs::write(&fresh, results.to_json())
        .and_then(|()| fs::rename(&fresh, file))
        .map_err(|error| format!("{}: {error}", file.display()))
}

/// Name of a device in results: short, unless two devices would have the same one.
fn label(plan: &Plan, spec: &Spec) -> String {
    let same = plan.devices.iter().filter(|other| other.name() == spec.name()).count();
    if same > 1 { spec.to_string() } else { spec.name().to_string() }
}

/// A measurement without results yet.
fn blank(plan: &Plan, point: Point<'_>, bench: &Bench) -> Measurement {
    let Point { mode, traffic, workers, routes } = point;
    let mut measurement = Measurement::new(mode, label(plan, bench.spec()), plan.settings.profile);
    measurement.outcome = Outcome::Interrupted;
    measurement.description = bench.describe();
    measurement.family = traffic.family();
    measurement.size = traffic.real_size();
    measurement.cores = workers;
    measurement.flows = traffic.flows();
    measurement.directions = traffic.directions.clone();
    let mut parameter = |name: &str, value: String| {
        measurement.parameters.insert(name.into(), value);
    };
    if let Some(vlan) = traffic.vlan {
        parameter("vlan", vlan.to_string());
    }
    if traffic.share.of > 1 {
        parameter("n", traffic.share.of.to_string());
        parameter("m", traffic.share.foreground.to_string());
    }
    if let Some(rate) = plan.settings.rate {
        parameter("rate", rate.to_string());
    }
    if mode == Mode::Reconfig {
        parameter("routes", plan.settings.routes.to_string());
    }
    let nat = [Mode::NatThroughput, Mode::NatCps, Mode::NatTeardown];
    if nat.contains(&mode) {
        parameter("sessions", plan.settings.sessions.to_string());
    }
    if NAT.contains(&mode) && plan.settings.orders != (Vary::Random, Vary::Random) {
        let (opened, answered) = plan.settings.orders;
        parameter("order", format!("{opened}, answers {answered}"));
    }
    if mode == Mode::Scale {
        parameter("search", plan.settings.search.to_string());
    }
    if plan.ports != interface::Kind::Veth {
        parameter("ports", plan.ports.name().into());
    }
    if plan.routes != [0] {
        parameter("routes", routes.to_string());
    }
    measurement
}

/// Measures one mode with one kind of traffic on all devices, in turns.
fn group(
    plan: &Plan,
    point: Point<'_>,
    benches: &mut [Bench],
    results: &mut Results,
    progress: &mut Progress,
    random: &mut Random,
) -> Result<End, String> {
    let (mode, traffic) = (point.mode, point.traffic);
    let routes = Routes { count: point.routes, ip6: traffic.kind == Kind::Ip6 };
    let mut at = Vec::new();
    for bench in benches.iter() {
        let measurement = blank(plan, point, bench);
        let key = measurement.key();
        let known = results.measurements.iter().position(|known| known.key() == key);
        at.push(known.unwrap_or_else(|| {
            results.measurements.push(measurement);
            results.measurements.len() - 1
        }));
    }
    // The device that begins is drawn, so that a drift of the machine favours none.
    let first = random.below(benches.len().max(1) as u32) as usize;
    let mut failed = vec![None; benches.len()];
    for repeat in 0..plan.settings.repeats as usize {
        for turn in 0..benches.len() {
            let device = (first + turn) % benches.len();
            let bench = &mut benches[device];
            if repeat < done(&results.measurements[at[device]]) || failed[device].is_some() {
                progress.skip();
                continue;
            }
            let limit = results.selftest(bench.port(), traffic.real_size()).cloned();
            let measurement = &mut results.measurements[at[device]];
            measurement.outcome = Outcome::Interrupted;
            let what =
                format!("{mode} {} {} {}", bench.spec(), measurement.family, measurement.size);
            progress.begin(&what, repeat + 1, plan.settings.repeats as usize);
            let mut measuring = Measuring {
                bench: &mut *bench,
                traffic,
                settings: &plan.settings,
                measurement,
                limit: limit.as_ref(),
                notes: progress,
            };
            let done = measuring.hold(routes).and_then(|()| measuring.repeat());
            progress.end();
            match done {
                Err(_) if bench.is_stopped() => return Ok(End::Interrupted),
                Ok(()) if repeat + 1 == plan.settings.repeats as usize => {
                    measurement.outcome = Outcome::Done;
                }
                Ok(()) => {}
                Err(Stop::Interrupted) => return Ok(End::Interrupted),
                Err(Stop::Failed(reason)) => {
                    progress.clear();
                    eprintln!("ferrotest: {what}: {reason}");
                    measurement.outcome = Outcome::Failed { reason: reason.clone() };
                    failed[device] = Some(reason);
                }
            }
            save(plan.file.as_deref(), results)?;
        }
    }
    Ok(if failed.iter().any(Option::is_some) { End::Failed } else { End::Complete })
}

/// Modes that measure the throughput in each repeat. Those that only need it measure it once.
const OWN: [Mode; 2] = [Mode::Throughput, Mode::Scale];

/// Number of repeats of a measurement that were completed: the length of its own series.
fn done(measurement: &Measurement) -> usize {
    if measurement.outcome == Outcome::Done {
        return usize::MAX;
    }
    let own = |series: &&Series| OWN.contains(&measurement.mode) || series.name != "throughput";
    measurement.series.iter().filter(own).map(|series| series.values.len()).min().unwrap_or(0)
}

/// Measures the tester against itself over the kinds of ports of the benches, once a run and size.
fn selftests(
    plan: &Plan,
    benches: &[Bench],
    traffic: &Traffic,
    results: &mut Results,
    progress: &mut Progress,
    stop: &Arc<AtomicBool>,
) -> Result<(), String> {
    let (kind, size) = (plan.ports, traffic.real_size());
    // Two taps can't be connected to each other.
    let is_used = benches.iter().any(|bench| bench.port() == kind.name());
    if kind == interface::Kind::Tap || !is_used || results.selftest(kind.name(), size).is_some() {
        return Ok(());
    }
    let mut bench = Bench::cable(kind, stop.clone())?;
    let settings = Settings {
        duration: plan.settings.duration.min(0.5),
        width: 0.05,
        ..plan.settings.clone()
    };
    if let Some(found) = selftest(&mut bench, traffic, &settings, progress)?.0 {
        results.selftests.push(found);
    }
    Ok(())
}

/// Measures the tester with its ports connected to each other.
///
/// # Errors
/// It can't be done.
pub fn selftest(
    bench: &mut Bench,
    traffic: &Traffic,
    settings: &Settings,
    progress: &mut Progress,
) -> Result<(Option<SelfTest>, Measurement), String> {
    let mut measurement = Measurement::new(Mode::Selftest, "none", settings.profile);
    measurement.description = bench.describe();
    measurement.family = traffic.family();
    measurement.size = traffic.real_size();
    measurement.directions = traffic.directions.clone();
    measurement.parameters.insert("port".into(), bench.port().into());
    let what = format!("selftest {} {} {}", bench.port(), measurement.family, measurement.size);
    progress.begin(&what, 1, 1);
    let mut measuring = Measuring {
        bench: &mut *bench,
        traffic,
        settings,
        measurement: &mut measurement,
        limit: None,
        notes: progress,
    };
    match measuring.repeat() {
        Ok(()) => {}
        Err(_) if bench.is_stopped() => {
            measurement.outcome = Outcome::Interrupted;
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
        let plan =
            crate::engine::Plan::constant(rate * SELFTEST_LATENCY, settings.duration.min(0.5));
        let plan = crate::engine::Plan { wait: (settings.wait * 1e9) as u64, ..plan };
        let ran = bench.trial(traffic, &plan)?;
        latency_ns = ran.sides.iter().map(|side| side.latency.typical()).max().unwrap_or(0);
    }
    let port = bench.port().into();
    Ok((Some(SelfTest { port, size: measurement.size, rate, latency_ns }), measurement))
}

/// Prints the figures of a run.
///
/// # Errors
/// Standard output is closed.
pub fn print(results: &Results) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(
        out,
        "{:<11} {:<16} {:<8} {:>5}  {:<26} {:>14} {:>14} {:>14} {:>3}",
        "mode", "device", "family", "size", "figure", "median", "minimum", "maximum", "n"
    )?;
    for measurement in &results.measurements {
        for series in &measurement.series {
            let Some(summary) = series.summary() else { continue };
            let number = |value: f64| match series.unit.as_str() {
                "pps" | "frames" => format!("{value:.0}"),
                "ns" => format!("{:.1} us", value / 1e3),
                "s" => format!("{:.3} ms", value * 1e3),
                _ => format!("{value:.6}"),
            };
            writeln!(
                out,
                "{:<11} {:<16} {:<8} {:>5}  {:<26} {:>14} {:>14} {:>14} {:>3}",
                measurement.mode.name(),
                measurement.device,
                measurement.family.to_string(),
                measurement.size.to_string(),
                series.name,
                number(summary.median),
                number(summary.min),
                number(summary.max),
                summary.n
            )?;
        }
        let marks: Vec<_> = measurement.marks.iter().map(ToString::to_string).collect();
        if let Outcome::Failed { reason } = &measurement.outcome {
            writeln!(out, "  failed: {reason}")?;
        }
        if !marks.is_empty() {
            writeln!(
                out,
                "  marks: {}; invalid trials: {} of {}",
                marks.join(", "),
                measurement.invalid_trials(),
                measurement.trials.len()
            )?;
        }
    }
    for test in &results.selftests {
        writeln!(
            out,
            "tester itself over {} ports, {} bytes: {:.0} pps per direction, {:.1} us",
            test.port,
            test.size,
            test.rate,
            test.latency_ns as f64 / 1e3
        )?;
    }
    Ok(())
}

#[cfg(feature = "tests")]
#[path = "run_tests.rs"]
mod tests;
