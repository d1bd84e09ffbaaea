// SPDX-License-Identifier: Apache-2.0
#![forbid(unsafe_code)]
//! Everything at once, for long: a daemon with two workers as a process, hosts that send good and
//! bad packets of all kinds, operators that change everything, clients of all sockets, restarts.
//! Every byte that comes out is verified; in the end no buffer is missing.
//!
//! `make soak` runs it. Each life of the daemon goes through these states: load, a quiet time in
//! which the levels of buffers and memory are held against those of the start, and under load again
//! the end by a signal that can be caught or by one that can't.

mod cells;
mod clients;
mod daemon_run;
mod operator;
mod plan;
mod ports;
mod sink;
mod traffic;

use daemon_run::{DaemonRun, Record, resident};
use fixture::Router;
use netlink::Namespace;
use plan::PORTS;
use ports::{Port, Shared};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};
use testkit::lab::{self, Lab, Netns};
use traffic::{Bad, Kind};

/// Between two lines of progress.
const PROGRESS: Duration = Duration::from_secs(10);
/// Lines of the daemon's log that are shown when something has failed.
const TAIL: usize = 60;

struct Options {
    seconds: u64,
    /// Kinds of packets that are sent, by their names; all if there are none.
    only: Vec<String>,
    seed: u64,
    /// MiB that the daemon may hold in any case: an instrumented one holds more.
    memory: u64,
}

fn options() -> Result<Options, String> {
    let now =
        std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    let mut options = Options { seconds: 3600, seed: now.as_secs(), memory: 256, only: Vec::new() };
    let mut args = std::env::args().skip(1);
    while let Some(name) = args.next() {
        let value = args.next().unwrap_or_default();
        if name == "--only" {
            options.only = value.split(',').map(str::to_string).collect();
            continue;
        }
        let value: u64 =
            value.parse().map_err(|_| format!("{name}: expected a number behind it"))?;
        match name.as_str() {
            "--seconds" => options.seconds = value.max(20),
            "--seed" => options.seed = value,
            "--memory" => options.memory = value,
            _ => {
                return Err(format!(
                    "unknown: {name} (there are --seconds N, --seed N, --memory MIB, --only KIND,…)"
                ));
            }
        }
    }
    Ok(options)
}

/// Runs the program with the arguments of the process.
pub fn main() -> ExitCode {
    let options = match options() {
        Ok(options) => options,
        Err(why) => {
            eprintln!("soak: {why}");
            return ExitCode::FAILURE;
        }
    };
    let Some(lab) = lab::require(&["root", "ip"]) else {
        eprintln!(
            "soak: nothing was run: it makes network namespaces, so it has to be started as root"
        );
        return ExitCode::FAILURE;
    };
    match soak(&lab, &options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!(
                "soak: {why}\nsoak: FAILED; again with: --seconds {} --seed {}",
                options.seconds, options.seed
            );
            ExitCode::FAILURE
        }
    }
}

/// Two namespaces with a link for each port: the router's `rN` and the hosts' `hN`.
fn links(lab: &Lab) -> (Netns, Netns) {
    let (netns, hosts) = (lab.netns("router"), lab.netns("hosts"));
    for side in [&netns, &hosts] {
        for scope in ["all", "default"] {
            side.sysctl(&format!("net/ipv6/conf/{scope}/disable_ipv6"), "1");
        }
    }
    for i in 0..PORTS {
        let (r, h) = (format!("r{i}"), format!("h{i}"));
        lab.veth((&netns, &r), (&hosts, &h));
        hosts.set_mac(&h, plan::host_mac(i));
        hosts.ip(&format!("link set {h} arp off"));
        netns.mtu(&r, 9000);
        hosts.mtu(&h, 9000);
    }
    (netns, hosts)
}

fn soak(lab: &Lab, options: &Options) -> Result<(), String> {
    println!("soak: {} s, seed {}", options.seconds, options.seed);
    let (netns, hosts) = links(lab);
    let inside = Namespace::open(hosts.name().unwrap_or_default()).map_err(|e| e.to_string())?;
    let shared = Shared::new(options.seed, &options.only)?;
    let record = Record::default();
    let config = tempfile::tempdir().map_err(|e| e.to_string())?;
    let more = format!(
        "cpu {{ workers 2 }} statseg {{ update-interval 1 }} prometheus {{ listen 127.0.0.1:9482 }} \
         config {{ file {} load }}",
        config.path().join("conf").display()
    );
    let router = Router::start(&netns, &more);
    let mut life = DaemonRun { router, netns: &netns, hosts: &hosts, seed: options.seed };
    let ports: Vec<Port> = (0..PORTS)
        .map(|at| Port::open(&inside, options.seed, at).map_err(|e| format!("h{at}: {e}")))
        .collect::<Result<_, _>>()?;
    let start = Instant::now();
    let all = || {
        std::thread::scope(|scope| {
            for port in ports {
                scope.spawn(|| port.run(&shared));
            }
            scope.spawn(|| progress(&shared, &record, start));
            // Whatever happens to this thread, the others end.
            let _end = Ending(&shared);
            lives(&mut life, options, &shared, &record, start)
        })
    };
    // The fixture panics where it can't go on: its message is shown, and then all that is known.
    let result = catch_unwind(AssertUnwindSafe(all)).unwrap_or_else(|_| Err("see above".into()));
    let faults = shared.faults();
    report(&shared, &record, start.elapsed());
    let result = match (result, faults.is_empty()) {
        (result, true) => result,
        (result, false) => Err(format!(
            "{}{}",
            faults.join("\n"),
            result.err().map_or(String::new(), |e| format!("\n{e}"))
        )),
    };
    if result.is_err() {
        let log = record.log.into_inner().unwrap_or_default() + &life.router.log();
        let lines: Vec<_> = log.lines().collect();
        eprintln!(
            "the daemon's log ends so:\n{}",
            lines[lines.len().saturating_sub(TAIL)..].join("\n")
        );
    }
    result
}

/// Ends the hosts' threads.
struct Ending<'a>(&'a Shared);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.stop.store(true, Relaxed);
    }
}

fn lives(
    life: &mut DaemonRun<'_>,
    options: &Options,
    shared: &Shared,
    record: &Record,
    start: Instant,
) -> Result<(), String> {
    let total = Duration::from_secs(options.seconds);
    life.configure(shared, record)?;
    // The first life is short, so that what later ones add to its memory is seen.
    let mut length = Duration::from_secs((options.seconds / 12).clamp(8, 60));
    loop {
        let number = record.lives.fetch_add(1, Relaxed);
        shared.traffic.store(true, Relaxed);
        life.work(length, shared, record)?;
        life.quiet(shared, record, options.memory << 20)?;
        if !shared.faults().is_empty() || start.elapsed() >= total {
            break;
        }
        let left = total.saturating_sub(start.elapsed());
        length = Duration::from_secs((options.seconds / 5).clamp(15, 300)).min(left);
        shared.traffic.store(true, Relaxed);
        life.restart(number.is_multiple_of(2), record)?;
    }
    *record.log.lock().expect("no panic") += &life.router.end();
    Ok(())
}

fn sum(counts: &[AtomicU64]) -> u64 {
    counts.iter().map(|n| n.load(Relaxed)).sum()
}

/// A line now and then, until the end; and the most memory that was seen.
fn progress(shared: &Shared, record: &Record, start: Instant) {
    let mut next = PROGRESS;
    while !shared.has_stopped() {
        shared.sleep(Duration::from_millis(500));
        let now = resident(record.id.load(Relaxed));
        record.resident[2].fetch_max(now, Relaxed);
        if start.elapsed() < next {
            continue;
        }
        next += PROGRESS;
        let served = &record.served;
        println!(
            "{:>5} s: life {}, {} packets sent, {} frames verified, {} bad ones, {} commands, {} API messages, {} MiB{}",
            start.elapsed().as_secs(),
            record.lives.load(Relaxed),
            sum(&shared.sent),
            shared.frames.load(Relaxed),
            sum(&shared.bad),
            record.commands.load(Relaxed),
            served.api.load(Relaxed),
            now >> 20,
            if shared.faults().is_empty() { "" } else { ", FAULTS" },
        );
    }
}

/// All numbers.
fn report(shared: &Shared, record: &Record, took: Duration) {
    println!("\n{:<14} {:>10} {:>14} {:>14}", "sent", "packets", "bytes to come", "verified");
    for (kind, (wanted, verified)) in Kind::ALL.iter().zip(ports::tally(shared)) {
        let sent = shared.sent[*kind as usize].load(Relaxed);
        println!("{:<14} {sent:>10} {wanted:>14} {verified:>14}", format!("{kind:?}"));
    }
    for (bad, n) in Bad::ALL.iter().zip(&shared.bad) {
        println!("{:<14} {:>10}", format!("{bad:?}"), n.load(Relaxed));
    }
    let get = |n: &AtomicU64| n.load(Relaxed);
    let (served, mib) = (&record.served, |n: &AtomicU64| get(n) >> 20);
    println!(
        "{} s, {} lives, {} of them killed; {} frames verified, {} refused by the hosts' kernel",
        took.as_secs(),
        get(&record.lives),
        get(&record.killed),
        get(&shared.frames),
        get(&shared.refused)
    );
    println!(
        "{} commands, {} API messages, {} times all counters, {} scrapes, {} hostile connections",
        get(&record.commands),
        get(&served.api),
        get(&served.stats),
        get(&served.metrics),
        get(&served.hostile)
    );
    println!(
        "buffers in use: {} before, {} now; resident: {} MiB after the first life, {} now, {} at most",
        get(&record.used[0]),
        get(&record.used[1]),
        mib(&record.resident[0]),
        mib(&record.resident[1]),
        mib(&record.resident[2])
    );
    let refused = record.refused.lock().expect("no panic");
    let mut often: Vec<_> = refused.iter().collect();
    often.sort_by_key(|(_, n)| std::cmp::Reverse(**n));
    println!("{} commands were refused, most often:", refused.values().sum::<u64>());
    often.iter().take(10).for_each(|(why, n)| println!("  {n:>6} {why}"));
    println!("{} faults", shared.faults().len());
}
