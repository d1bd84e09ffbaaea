// SPDX-License-Identifier: Apache-2.0
//! Routes come and go while packets pass.

use crate::rig::{Count, Options, Rig};
use crate::tables::{Table, far, hop};
use cli::Table as Shown;
use net::{Fib, Net, Path, PathKind, Source, TableIndex};
use stats::Reader;
use std::net::IpAddr;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use testkit::internet::HOPS;
use wire::{Ip4, Ip6, Prefix};

/// A million routes loaded and withdrawn at 90 % of the rate without loss.
#[derive(clap::Args)]
pub struct Arguments {
    /// Routes of the table.
    #[arg(long, default_value_t = 1_000_000)]
    routes: usize,
    /// The rate without loss, instead of looking for it.
    #[arg(long)]
    no_drop: Option<f64>,
    /// Seconds of each trial in that search.
    #[arg(long, default_value_t = 2.0)]
    trial: f64,
    /// Seconds of single updates.
    #[arg(long, default_value_t = 5.0)]
    updates: f64,
    /// Single updates a second.
    #[arg(long, default_value_t = 10_000)]
    pace: u32,
}

/// Routes withdrawn in one turn of control, as many as a command does.
const SLICE: usize = 2048;
/// Number of changes whose latency to the packet path is measured.
const PROBES: usize = 500;

type Packets = Arc<pg::Packets>;

pub fn run(options: &Options, arguments: &Arguments) -> Result<(), String> {
    if options.ip6 {
        measure::<Ip6>(options, arguments)
    } else {
        measure::<Ip4>(options, arguments)
    }
}

fn measure<F: Net>(options: &Options, arguments: &Arguments) -> Result<(), String> {
    let n = if options.smoke { 1000 } else { arguments.routes };
    let (ip6, smoke) = (options.ip6, options.smoke);
    let rig = Rig::new(options, 2, HOPS)?;
    let mut table = Table::new(ip6, n);
    // One packet of 64 goes where the timed updates lead.
    table.to.iter_mut().step_by(64).for_each(|to| *to = far(ip6));
    let packets = rig.packets(&table.to)?;
    let lines = table.lines(|number| format!("via {} pg1", hop(ip6, 1, number)));
    // Default route, for packets without a route of their own; while the other routes are
    // withdrawn, for all packets.
    rig.run(&format!(
        "ip route add {}/0 via {} pg1",
        if ip6 { "::" } else { "0.0.0.0" },
        hop(ip6, 1, 0)
    ))?;
    let prefixes: Vec<Prefix<F::Addr>> =
        table.routes.iter().filter_map(|(prefix, _)| prefix.parse().ok()).collect();
    rig.load(&lines)?;
    let no_drop = match arguments.no_drop {
        Some(rate) => rate,
        None if smoke => 50_000.0,
        None => search(&rig, &packets, arguments.trial)?,
    };
    withdraw::<F>(&rig, &prefixes)?;
    let rate = if smoke { 20_000.0 } else { no_drop * 0.9 };
    println!(
        "{n} routes; rate without loss {:.2} Mpps, packets come at {:.2} Mpps",
        no_drop / 1e6,
        rate / 1e6
    );
    let reader = Counters::start(&rig)?;
    let mut shown = Shown::new()
        .left("Meanwhile")
        .right("Took")
        .right("Longest turn")
        .right("Sent")
        .right("Missed")
        .right("Worker kept away");
    let flow = rig.start(&packets, rate)?;
    rig.wait(Duration::from_millis(200));
    let mut before = (rig.count(&flow), rig.kept_away());
    let mut row = |what: String, (took, turn): (Duration, Duration)| {
        let now = (rig.count(&flow), rig.kept_away());
        shown.row([
            what.into(),
            format!("{:.3} s", took.as_secs_f64()).into(),
            format!("{:.1} ms", turn.as_secs_f64() * 1e3).into(),
            (now.0.sent - before.0.sent).into(),
            (now.0.missed - before.0.missed).into(),
            format!("{:.1} ms", (now.1 - before.1).as_secs_f64() * 1e3).into(),
        ]);
        before = now;
    };
    for round in ["", " again"] {
        row(format!("{n} routes are loaded{round}"), rig.load(&lines)?);
        rig.wait(Duration::from_millis(300));
        row(format!("all are there{round}"), (Duration::from_millis(300), Duration::ZERO));
        if round.is_empty() {
            row(format!("{n} routes are withdrawn"), withdraw::<F>(&rig, &prefixes)?);
        }
    }
    let seconds = if smoke { 0.1 } else { arguments.updates };
    let updates = single::<F>(&rig, &prefixes, seconds, arguments.pace)?;
    row(
        format!("{} single updates, {:.0} a second", updates.done, updates.rate()),
        (updates.took, updates.longest),
    );
    let probes = probe::<F>(&rig)?;
    row(
        format!("{} updates timed", probes.len()),
        (probes.iter().sum(), probes.last().copied().unwrap_or_default()),
    );
    let count = rig.stop(&flow)?;
    println!("{}", shown.render());
    println!("{}", reader.stop()?);
    let at = |part: f64| probes[((probes.len() - 1) as f64 * part) as usize].as_secs_f64() * 1e6;
    println!(
        "An update is in force for packets after {:.0} µs (the middle one), {:.0} µs (99 of 100), {:.0} µs (the longest)",
        at(0.5),
        at(0.99),
        at(1.0)
    );
    verdict(&count)
}

fn verdict(count: &Count) -> Result<(), String> {
    let (missed, strayed) = (count.missed, count.lost() - count.missed);
    println!(
        "{} packets came, {missed} found the queue full, {strayed} were lost on the way",
        count.sent + missed
    );
    // Not a timing: however busy the machine, packets taken from the queue have to leave.
    if strayed > 0 { Err(format!("{strayed} packets were lost on the way")) } else { Ok(()) }
}

/// The highest rate at which no packet is lost during a trial.
fn search(rig: &Rig, packets: &Packets, seconds: f64) -> Result<f64, String> {
    let trial = |rate: f64| {
        let flow = rig.start(packets, rate)?;
        let start = Instant::now();
        rig.wait(Duration::from_secs_f64(seconds));
        let rate = rig.count(&flow).sent as f64 / start.elapsed().as_secs_f64();
        Ok::<_, String>((rate, rig.stop(&flow)?.lost()))
    };
    let (most, _) = trial(0.0)?;
    println!("at most {:.2} Mpps", most / 1e6);
    let (mut low, mut high) = (0.0, most);
    while high - low > most * 0.02 {
        let rate = (low + high) / 2.0;
        // Of three trials one has to be undisturbed by the machine.
        let mut lost = Vec::new();
        while lost.len() < 3 && lost.last() != Some(&0) {
            lost.push(trial(rate)?.1);
        }
        println!("{:.2} Mpps: lost {lost:?}", rate / 1e6);
        if lost.contains(&0) { low = rate } else { high = rate }
    }
    if low > 0.0 { Ok(low) } else { Err("packets are lost at every rate".into()) }
}

/// Withdraws routes one by one, as clients do.
fn withdraw<F: Net>(
    rig: &Rig,
    prefixes: &[Prefix<F::Addr>],
) -> Result<(Duration, Duration), String> {
    let (fib, start, mut longest) = (rig.world.get::<Fib<F>>(), Instant::now(), Duration::ZERO);
    for slice in prefixes.chunks(SLICE) {
        let turn = Instant::now();
        for prefix in slice {
            fib.remove(&rig.world, TableIndex::DEFAULT, *prefix, Source::Cli, &[])
                .map_err(|e| e.to_string())?;
        }
        rig.turn();
        longest = longest.max(turn.elapsed());
    }
    Ok((start.elapsed(), longest))
}

fn way(rig: &Rig, port: usize, number: u16) -> [Path; 1] {
    [Path::new(PathKind::Neighbor { sw_if: rig.port(port), nexthop: hop(rig.ip6, port, number) })]
}

struct Updates {
    done: u32,
    took: Duration,
    /// One update at most.
    longest: Duration,
}

impl Updates {
    fn rate(&self) -> f64 {
        f64::from(self.done) / self.took.as_secs_f64()
    }
}

/// Changes the next hop of one route after another, at a fixed number of updates a second.
fn single<F: Net>(
    rig: &Rig,
    prefixes: &[Prefix<F::Addr>],
    seconds: f64,
    pace: u32,
) -> Result<Updates, String> {
    let fib = rig.world.get::<Fib<F>>();
    let (start, mut done, mut longest) = (Instant::now(), 0, Duration::ZERO);
    let total = (seconds * f64::from(pace)) as u32;
    while done < total {
        let due = (start.elapsed().as_secs_f64() * f64::from(pace)) as u32;
        while done < due.min(total) {
            let at = Instant::now();
            let prefix = prefixes[(done as usize).wrapping_mul(7919) % prefixes.len()];
            let paths = way(rig, 1, done as u16 % HOPS);
            fib.set(&rig.world, TableIndex::DEFAULT, prefix, Source::Cli, &paths)
                .map_err(|e| e.to_string())?;
            longest = longest.max(at.elapsed());
            done += 1;
        }
        rig.turn();
        std::thread::sleep(Duration::from_micros(500));
    }
    Ok(Updates { done, took: start.elapsed(), longest })
}

/// From the moment of an update until a packet has left by it, many times, the longest last.
fn probe<F: Net>(rig: &Rig) -> Result<Vec<Duration>, String> {
    let fib = rig.world.get::<Fib<F>>();
    let far: IpAddr = far(rig.ip6);
    let host = Prefix::host(F::of_ip(far).ok_or("an address of the other protocol")?);
    let mut all = Vec::new();
    let set = |port| {
        let paths = way(rig, port, 0);
        fib.set(&rig.world, TableIndex::DEFAULT, host, Source::Cli, &paths)
            .map_err(|e| e.to_string())
    };
    for _ in 0..PROBES {
        set(1)?;
        // Until the last one has left by the other.
        rig.wait(Duration::from_millis(3));
        let (before, start) = (rig.sent(2), Instant::now());
        set(2)?;
        while rig.sent(2) == before {
            if start.elapsed() > Duration::from_secs(1) {
                return Err("an update wasn't in force after a second".into());
            }
            std::hint::spin_loop();
        }
        all.push(start.elapsed());
    }
    all.sort();
    Ok(all)
}

/// Reads all counters ten times a second, on a thread of its own, as another process would.
struct Counters {
    stop: Arc<AtomicBool>,
    thread: std::thread::JoinHandle<Result<String, String>>,
}

impl Counters {
    fn start(rig: &Rig) -> Result<Self, String> {
        let reader = Reader::new(rig.world.stats.as_fd()).map_err(|e| e.to_string())?;
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        let thread = std::thread::spawn(move || {
            let (start, mut reads, mut longest, mut names) =
                (Instant::now(), 0_u32, Duration::ZERO, 0);
            while !stopped.load(Ordering::Relaxed) {
                let at = Instant::now();
                names = reader.read(|_| true).map_err(|e| e.to_string())?.len();
                longest = longest.max(at.elapsed());
                reads += 1;
                std::thread::sleep(Duration::from_millis(100).saturating_sub(at.elapsed()));
            }
            let (pace, longest) =
                (f64::from(reads) / start.elapsed().as_secs_f64(), longest.as_secs_f64() * 1e3);
            Ok(format!(
                "All counters ({names} names) were read {reads} times, {pace:.1} a second, in {longest:.0} ms at most"
            ))
        });
        Ok(Self { stop, thread })
    }

    fn stop(self) -> Result<String, String> {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().map_err(|_| "the reader of counters panicked".to_string())?
    }
}
