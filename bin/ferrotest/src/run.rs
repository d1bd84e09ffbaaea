// SPDX-License-Identifier: Apache-2.0
//! A run: measurements of devices, interleaved, with the results saved after each repeat.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use measure::siitperf::Vary;
use measure::{Measurement, Mode, Outcome, Results, Series};

use crate::bench::{Bench, Traffic};
use crate::dut::change::Routes;
use crate::dut::{Spec, sweep};
use crate::limit::{self, Limits};
use crate::method;
use crate::modes::{Measuring, NAT, RunClock, Settings, Stop};
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
    /// True if the tester is measured against itself, before the first repeat and after each.
    pub selftest: bool,
    /// File of the results.
    pub file: Option<PathBuf>,
    /// True if measurements that the file has already are kept.
    pub resume: bool,
    /// True if files of another run are overwritten.
    pub force: bool,
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
    let clock = RunClock::started(surroundings::seconds_since(&results.started));
    let groups = groups(plan);
    progress.expect(groups.len() * plan.devices.len() * plan.settings.repeats as usize);
    for workers in &plan.workers {
        let mut benches = plan
            .devices
            .iter()
            .map(|spec| Bench::up(spec.clone(), *workers, plan.ports, stop.clone()))
            .collect::<Result<Vec<_>, _>>()?;
        environment(plan, *workers, &mut results, &benches);
        let mut limits =
            Limits::new(plan.selftest.then_some(plan.ports), &plan.settings, stop.clone());
        for point in groups.iter().filter(|point| point.workers == *workers) {
            let mut tools = Tools {
                clock: &clock,
                limits: &mut limits,
                progress: &mut progress,
                random: &mut random,
            };
            match group(plan, *point, &mut benches, &mut results, &mut tools)? {
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

/// Refuses to write a file that is there, unless the operator wants that.
///
/// # Errors
/// It is there.
pub fn refuse_overwriting(file: &Path, force: bool) -> Result<(), String> {
    match !force && file.exists() {
        true => Err(format!(
            "{} exists: --force overwrites it, --resume goes on with a result file, another name \
             keeps it",
            file.display()
        )),
        false => Ok(()),
    }
}

/// The document of a new run, or that of the interrupted one.
fn begin(plan: &Plan) -> Result<Results, String> {
    if plan.resume
        && let Some(file) = plan.file.as_deref().filter(|file| file.exists())
    {
        let text = fs::read_to_string(file).map_err(|e| format!("{}: {e}", file.display()))?;
        return Results::from_json(&text).map_err(|e| format!("{}: {e}", file.display()));
    }
    if let Some(file) = &plan.file {
        refuse_overwriting(file, plan.force)?;
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

fn environment(plan: &Plan, workers: u32, results: &mut Results, benches: &[Bench]) {
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
    let directions = plan.traffic.iter().map(|t| t.directions.len()).max().unwrap_or(0);
    let is_live = benches.iter().any(|bench| !bench.is_simulated());
    if is_live {
        let devices = plan.devices.iter().map(|spec| method::device_threads(spec, workers));
        let threads = method::tester_threads(directions) + devices.max().unwrap_or(0);
        // Devices of an earlier plan or with fewer workers stay in the report.
        environment.threads = threads.max(results.environment.threads);
        let cores = environment.cpu.cores;
        environment.placement = method::placement(&plan.devices, directions, workers, cores);
        let fresh = environment.placement.clone();
        let is_known = |(name, _): &(String, String)| fresh.iter().any(|(other, _)| other == name);
        let earlier = std::mem::take(&mut results.environment.placement).into_iter();
        environment.placement.extend(earlier.filter(|row| !is_known(row)));
    }
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
    measurement.method = method::facts(mode, traffic, &plan.settings);
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

/// Tools that the measurements of a run share.
struct Tools<'r> {
    clock: &'r RunClock,
    limits: &'r mut Limits,
    progress: &'r mut Progress,
    random: &'r mut Random,
}

/// Measures one mode with one kind of traffic on all devices, in turns.
fn group(
    plan: &Plan,
    point: Point<'_>,
    benches: &mut [Bench],
    results: &mut Results,
    Tools { clock, limits, progress, random }: &mut Tools<'_>,
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
    // The tester's limit before the repeat, once one is due, and whether it is that of simulated
    // links.
    let mut before: Option<(bool, Option<f64>)> = None;
    for repeat in 0..plan.settings.repeats as usize {
        for turn in 0..benches.len() {
            let device = (first + turn) % benches.len();
            let bench = &mut benches[device];
            if repeat < done(&results.measurements[at[device]]) || failed[device].is_some() {
                progress.skip();
                continue;
            }
            let is_simulated = bench.is_simulated();
            let limit = match before {
                Some((of, before)) if of == is_simulated => before,
                _ => limits.sample_or_none(bench, traffic, results, (*clock, progress)),
            };
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
                limit,
                repeat: repeat as u32,
                clock,
                notes: &mut **progress,
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
            // The repeat isn't lost, whatever happens to the tester behind it.
            save(plan.file.as_deref(), results)?;
            let after = limits.sample_or_none(bench, traffic, results, (*clock, progress));
            before = Some((is_simulated, after));
            if let Some(limit) = limit::around(limit, after) {
                results.measurements[at[device]].judge_limit(repeat as u32, limit);
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

#[cfg(feature = "tests")]
#[path = "run_tests.rs"]
mod tests;
