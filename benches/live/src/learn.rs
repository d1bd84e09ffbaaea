// SPDX-License-Identifier: Apache-2.0
//! A bridge domain learns many stations, and forgets them by age while frames pass.

use crate::rig::{Options, Rig};
use cli::Table as Shown;
use l2::Bridge;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use testkit::pkt;
use wire::MacAddr;

/// A million stations learned, and aged out while frames pass.
#[derive(clap::Args)]
pub struct Arguments {
    /// Stations.
    #[arg(long, default_value_t = 1_000_000)]
    stations: usize,
    /// Times that all stations are learned anew.
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Part of the rate of known stations at which frames come while stations age out.
    #[arg(long, default_value_t = 0.5)]
    part: f64,
}

/// Minutes after which a station that was silent is forgotten, the least that can be configured.
const AGE: u64 = 1;
/// The host behind the other port, to which all frames go.
const HOST: MacAddr = MacAddr([2, 0xbb, 0, 0, 0, 1]);

fn packets(stations: usize) -> Arc<pg::Packets> {
    let frame = |n: usize| {
        let [.., a, b, c] = (n as u32).to_be_bytes();
        let ether = pkt::ether(MacAddr([2, 0xaa, 0, a, b, c]), HOST);
        ether.ip4("192.168.0.2", "10.0.0.1").udp(1000, 2000).payload([0; 18]).build()
    };
    Arc::new((0..stations).map(frame).collect())
}

/// Sends each frame once, as fast as the worker takes them; the time until the last one was taken.
fn once(rig: &Rig, packets: &Arc<pg::Packets>, count: u64) -> Result<Duration, String> {
    let start = Instant::now();
    let flow = rig.start_some(packets, 0.0, count)?;
    while flow.stream.sent.load(Ordering::Relaxed) < count {
        if start.elapsed() > Duration::from_secs(60) {
            return Err("the worker takes no frames".into());
        }
        std::thread::sleep(Duration::from_micros(100));
    }
    let time = start.elapsed();
    rig.stop(&flow)?;
    Ok(time)
}

pub fn run(options: &Options, arguments: &Arguments) -> Result<(), String> {
    let stations = if options.smoke { 1000 } else { arguments.stations };
    let rig = Rig::new(options, 1, 1)?;
    let bridge = rig.world.get::<Bridge>();
    rig.run("create bridge-domain 1")?;
    for port in ["pg0", "pg1"] {
        rig.run(&format!("set interface l2 bridge {port} 1"))?;
    }
    rig.run(&format!("l2fib add {HOST} 1 pg1 static"))?;
    let (all, count) = (packets(stations), stations as u64);
    // The table grows first.
    for _ in 0..20 {
        once(&rig, &all, count)?;
        if bridge.entry_count() > stations {
            break;
        }
        rig.wait(Duration::from_secs(2));
    }
    if bridge.entry_count() <= stations {
        return Err(format!("{} of {stations} stations were learned", bridge.entry_count()));
    }
    let (mut learning, mut known) = (Duration::MAX, Duration::MAX);
    for _ in 0..if options.smoke { 1 } else { arguments.rounds } {
        known = known.min(once(&rig, &all, count)?);
        rig.run("l2fib flush-mac bridge-domain 1")?;
        while bridge.entry_count() > 1 {
            rig.wait(Duration::from_millis(20));
        }
        learning = learning.min(once(&rig, &all, count)?);
        if bridge.entry_count() <= stations {
            return Err(format!(
                "{} of {stations} stations were learned anew",
                bridge.entry_count()
            ));
        }
    }
    let rate = |time: Duration| stations as f64 / time.as_secs_f64();
    println!(
        "{stations} stations: {:.2} Mpps from known ones, {:.2} million learned a second",
        rate(known) / 1e6,
        rate(learning) / 1e6
    );
    if options.smoke {
        return Ok(());
    }
    age(&rig, stations, rate(known) * arguments.part)
}

/// Lets all stations but one age out while this one's frames pass.
fn age(rig: &Rig, stations: usize, rate: f64) -> Result<(), String> {
    let bridge = rig.world.get::<Bridge>();
    rig.run(&format!("set bridge-domain mac-age 1 {AGE}"))?;
    let flow = rig.start(&packets(1), rate)?;
    rig.wait(Duration::from_millis(500));
    let mut shown = Shown::new()
        .left("Meanwhile")
        .right("Took")
        .right("Sent")
        .right("Missed")
        .right("Worker kept away");
    let mut before = (rig.count(&flow), rig.kept_away());
    let mut row = |what: &str, took: Duration| {
        let now = (rig.count(&flow), rig.kept_away());
        shown.row([
            what.into(),
            format!("{:.3} s", took.as_secs_f64()).into(),
            (now.0.sent - before.0.sent).into(),
            (now.0.missed - before.0.missed).into(),
            format!("{:.1} ms", (now.1 - before.1).as_secs_f64() * 1e3).into(),
        ]);
        before = now;
    };
    let start = Instant::now();
    while bridge.entry_count() > stations {
        if start.elapsed() > Duration::from_secs(AGE * 60 * 3) {
            return Err("no station has aged out".into());
        }
        rig.turn();
        std::thread::sleep(Duration::from_micros(500));
    }
    row("nothing ages out", start.elapsed());
    let start = Instant::now();
    while bridge.entry_count() > 2 {
        if start.elapsed() > Duration::from_secs(AGE * 60 * 3) {
            return Err(format!("{} stations are left", bridge.entry_count()));
        }
        rig.turn();
        std::thread::sleep(Duration::from_micros(500));
    }
    row(&format!("{stations} stations age out"), start.elapsed());
    let count = rig.stop(&flow)?;
    println!("{}", shown.render());
    println!(
        "{} frames came at {:.2} Mpps, {} didn't leave",
        count.sent + count.missed,
        rate / 1e6,
        count.lost()
    );
    Ok(())
}
