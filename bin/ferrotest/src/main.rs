// SPDX-License-Identifier: Apache-2.0
#![forbid(unsafe_code)]
//! `ferrotest`: measures packet forwarding.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::Parser;
use ferrotest::bench::Bench;
use ferrotest::cli::{Action, Arguments, LabVerb, Outputs, PortKind, extras};
use ferrotest::dut::sweep;
use ferrotest::modes::RunClock;
use ferrotest::port::capture::{self, CaptureTx};
use ferrotest::port::interface;
use ferrotest::progress::Progress;
use ferrotest::run::{self, End, Plan};
use ferrotest::{estimate, lab, limit, method, output, replay, show, surroundings};
use measure::Results;
use measure::report::Table;

/// Nanoseconds after the last frame in which a replay waits for more.
const REPLAY_WAIT: u64 = 500_000_000;
/// Something could not be measured.
const FAILED: u8 = 1;
/// The arguments are wrong, or ask for a mode that isn't built.
const USAGE: u8 = 2;
/// An assertion doesn't hold.
const ASSERTION: u8 = 3;
/// Most trials were not valid.
const INVALID: u8 = 4;
/// The operator has stopped the run.
const INTERRUPTED: u8 = 130;

fn main() -> ExitCode {
    let action = match Arguments::parse().verb.action() {
        Ok(action) => action,
        Err(why) => {
            eprintln!("ferrotest: {why}");
            return USAGE.into();
        }
    };
    match act(action) {
        Ok(code) => code.into(),
        Err(why) => {
            eprintln!("ferrotest: {why}");
            FAILED.into()
        }
    }
}

/// A flag that the usual signals set. A second signal ends the process at once.
fn stop_flag() -> Result<Arc<AtomicBool>, String> {
    let flag = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        signal_hook::flag::register_conditional_shutdown(signal, INTERRUPTED.into(), flag.clone())
            .and_then(|_| signal_hook::flag::register(signal, flag.clone()))
            .map_err(|error| format!("signals: {error}"))?;
    }
    Ok(flag)
}

fn act(action: Action) -> Result<u8, String> {
    match action {
        Action::Run(plan, outputs) => measure_all(&[*plan], &outputs, |_| Vec::new()),
        Action::Selftest(port, plan, outputs) => selftest(port, &plan, &outputs),
        Action::Lab(what) => {
            if !rustix::process::geteuid().is_root() {
                return Err("lab makes namespaces with names, which needs root; other verbs make \
                            labs of their own without it"
                    .into());
            }
            match what {
                LabVerb::Up => {
                    lab::up()?;
                    print!("{}", lab::overview());
                }
                LabVerb::Down => lab::down()?,
            }
            Ok(0)
        }
        Action::Extras(share) => {
            let files = extras::write(&share);
            for file in files.map_err(|error| format!("{}: {error}", share.display()))? {
                println!("{}", file.display());
            }
            Ok(0)
        }
        Action::Replay { file, device, rate, write, any_address, force } => {
            if let Some(write) = &write {
                run::refuse_overwriting(write, force)?;
            }
            let mut frames = capture::read(&file)?;
            replay::check_addresses(&frames, any_address)?;
            if let Some(rate) = rate {
                replay::at_rate(&mut frames, rate);
            }
            let mut write = write.as_deref().map(CaptureTx::create).transpose()?;
            lab::become_root()?;
            sweep::sweep();
            let mut bench = Bench::up(device, 1, interface::Kind::Veth, stop_flag()?)?;
            let counts = bench.replay(frames, REPLAY_WAIT, write.as_mut())?;
            println!(
                "sent {} frames, {} bytes in {:.6} s; received {} frames, {} bytes",
                counts.sent,
                counts.sent_bytes,
                counts.nanoseconds as f64 / 1e9,
                counts.received,
                counts.received_bytes
            );
            Ok(0)
        }
        Action::Report(file, outputs) => {
            let text = std::fs::read_to_string(&file);
            let text = text.map_err(|error| format!("{}: {error}", file.display()))?;
            let mut results = Results::from_json(&text)
                .map_err(|error| format!("{}: {error}", file.display()))?;
            output::check(&outputs, false)?;
            finish(&mut results, End::Complete, &outputs, None, &[])
        }
        Action::Paper(study, plans, outputs) => {
            measure_all(&plans, &outputs, |results| {
                let mut out = std::io::stdout().lock();
                // A closed standard output doesn't undo the measurement.
                let tables = study.tables(results);
                let _ = tables.iter().try_for_each(|table| writeln!(out, "{table}"));
                study.published().into_iter().collect()
            })
        }
    }
}

fn measure_all(
    plans: &[Plan],
    outputs: &Outputs,
    tables: impl FnOnce(&Results) -> Vec<Table>,
) -> Result<u8, String> {
    // Wrong conditions are refused before hours of measurement.
    output::check(outputs, plans.iter().any(|plan| plan.resume))?;
    announce(plans);
    lab::become_root()?;
    let stop = stop_flag()?;
    let (mut results, end) = run::all(plans, &stop)?;
    let tables = tables(&results);
    let file = plans.last().and_then(|plan| plan.file.as_deref());
    finish(&mut results, end, outputs, file, &tables)
}

/// Writes what an operator should know before hours of measurement: threads that share cores, and
/// the time that the run takes.
fn announce(plans: &[Plan]) {
    let cores = std::thread::available_parallelism().map_or(1, |n| n.get() as u32);
    let threads = |plan: &Plan| {
        let directions = plan.traffic.iter().map(|t| t.directions.len()).max().unwrap_or(0);
        let workers = plan.workers.iter().copied().max().unwrap_or(1);
        let devices = plan.devices.iter().map(|spec| method::device_threads(spec, workers));
        method::tester_threads(directions) + devices.max().unwrap_or(0)
    };
    let is_live = |plan: &&Plan| estimate::seconds(plan) > 0.0;
    let live = || plans.iter().filter(is_live);
    let Some(quiet) = live().map(|plan| plan.quiet).next() else { return };
    let progress = Progress::new(quiet);
    let environment = measure::Environment {
        cpu: measure::Cpu { cores, ..Default::default() },
        threads: live().map(threads).max().unwrap_or(0),
        ..Default::default()
    };
    if let Some(note) = environment.shares_cores() {
        progress.line(&note.replace("shared", "share").replace("rates show", "rates will show"));
    }
    let all = plans.iter().map(|plan| {
        plan.modes.len()
            * plan.traffic.len()
            * plan.workers.len()
            * plan.routes.len()
            * plan.devices.len()
    });
    let (count, seconds) = (all.sum::<usize>(), plans.iter().map(estimate::seconds).sum());
    let s = if count == 1 { "" } else { "s" };
    progress.line(&format!(
        "{count} measurement{s}, about {}; ^C ends the run and keeps what was measured",
        estimate::words(seconds)
    ));
}

fn selftest(port: PortKind, plan: &Plan, outputs: &Outputs) -> Result<u8, String> {
    output::check(outputs, false)?;
    if port == PortKind::Veth {
        lab::become_root()?;
    }
    let stop = stop_flag()?;
    let mut bench = match port {
        PortKind::Ring => Bench::up("none".parse()?, 1, interface::Kind::Veth, stop.clone())?,
        PortKind::Veth => Bench::cable(interface::Kind::Veth, stop.clone())?,
        PortKind::Tap => Bench::cable(interface::Kind::Tap, stop.clone())?,
        PortKind::Memif => Bench::cable(interface::Kind::Memif, stop.clone())?,
        PortKind::AfXdp => return Err("port af-xdp is not built yet".into()),
        PortKind::Dpdk => return Err("port dpdk is not built yet".into()),
    };
    let mut results = Results {
        program: format!("ferrotest {}", env!("CARGO_PKG_VERSION")),
        title: "Self-test".into(),
        started: surroundings::utc_now(),
        seed: plan.seed,
        rules: plan.settings.rules,
        environment: surroundings::describe(bench.tsc_hz(), &BTreeSet::from([bench.port()])),
        ..Results::default()
    };
    let mut progress = Progress::new(plan.quiet);
    progress.expect(plan.traffic.len());
    let clock = RunClock::started(0.0);
    for traffic in &plan.traffic {
        let (found, measurement) =
            limit::selftest(&mut bench, traffic, &plan.settings, (&clock, &mut progress))?;
        results.selftests.extend(found);
        results.measurements.push(measurement);
        progress.end();
    }
    results.finished = surroundings::utc_now();
    progress.clear();
    let interrupted = stop.load(Ordering::Relaxed);
    results.complete = !interrupted;
    let end = if interrupted { End::Interrupted } else { End::Complete };
    finish(&mut results, end, outputs, None, &[])
}

/// Prints the figures, writes the reports, and checks the conditions.
fn finish(
    results: &mut Results,
    end: End,
    outputs: &Outputs,
    file: Option<&Path>,
    tables: &[Table],
) -> Result<u8, String> {
    // A closed standard output doesn't keep the reports from being written.
    let _ = show::figures(results, &mut std::io::stdout().lock());
    let holds = output::assert(results, outputs)?;
    output::write(results, outputs, tables)?;
    if let Some(file) = file {
        std::fs::write(file, results.to_json())
            .map_err(|error| format!("{}: {error}", file.display()))?;
    }
    let doubt = results.mostly_invalid();
    if let Some(doubt) = &doubt {
        eprintln!("ferrotest: {doubt}");
    }
    Ok(match end {
        End::Interrupted => INTERRUPTED,
        End::Failed => FAILED,
        End::Complete if !holds => ASSERTION,
        End::Complete if doubt.is_some() => INVALID,
        End::Complete => 0,
    })
}
