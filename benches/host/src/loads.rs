// SPDX-License-Identifier: Apache-2.0
//! CPU time and latency of our router at loads from nothing to nearly all that it forwards, in
//! adaptive mode beside polling.

use std::fmt;
use std::time::{Duration, Instant};

use tests::Site;

use crate::traffic::{self, Small};

/// Loads, in percent of what the router forwards at most.
const PERCENT: [u32; 4] = [0, 10, 50, 90];

/// The figures of a router at a load.
pub struct Load {
    name: &'static str,
    /// Percent of what it forwards at most; `None` without a packet, even of pings.
    percent: Option<u32>,
    small: Small,
    /// CPU time of the router, in percent of one core.
    cpu: f64,
    /// Round-trip times of pings meanwhile, in milliseconds, in order.
    round_trips: Vec<f64>,
}

/// Measures a router at each load, `time` for each. Pings go on all the time, a thousand a second
/// at most; their CPU time is counted.
pub fn measure(site: &Site, name: &'static str, time: Duration) -> Vec<Load> {
    let router = site.router();
    // The first packets find the neighbours.
    traffic::ping(site, 2, 10);
    let most = traffic::small(site, time, None).delivered;
    let at = |percent: u32| {
        let pings = time.as_millis() as usize / PING_EVERY;
        let (start, before) = (Instant::now(), router.cpu_time());
        let (small, mut round_trips) = std::thread::scope(|scope| {
            let pings = scope.spawn(|| traffic::ping(site, pings, PING_EVERY));
            let small = match percent {
                0 => Small::default(),
                _ => traffic::small(site, time, Some(most * f64::from(percent) / 100.0)),
            };
            (small, pings.join().expect("no panic inside"))
        });
        let cpu = (router.cpu_time() - before).as_secs_f64() / start.elapsed().as_secs_f64();
        round_trips.sort_by(f64::total_cmp);
        Load { name, percent: Some(percent), small, cpu: cpu * 100.0, round_trips }
    };
    let mut all = vec![idle(site, name, time)];
    all.extend(PERCENT.map(at));
    all
}

/// Milliseconds between pings.
const PING_EVERY: usize = 2;

/// The router without a packet.
fn idle(site: &Site, name: &'static str, time: Duration) -> Load {
    let router = site.router();
    let before = router.cpu_time();
    std::thread::sleep(time);
    let cpu = (router.cpu_time() - before).as_secs_f64() / time.as_secs_f64();
    Load { name, percent: None, small: Small::default(), cpu: cpu * 100.0, round_trips: Vec::new() }
}

/// The head of the table of [`Load`]s.
pub fn head() -> String {
    let names = ["load %", "kpps", "lost %", "CPU %", "p50 ms", "p99 ms", "p99.9 ms"];
    names.iter().fold(format!("{:22}", ""), |line, name| format!("{line}{name:>10}"))
}

impl fmt::Display for Load {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, percent, small, cpu, round_trips } = self;
        let lost = (1.0 - small.delivered / small.sent.max(1.0)).max(0.0) * 100.0;
        let lost = if small.sent == 0.0 { 0.0 } else { lost };
        let percent = percent.map_or_else(|| "idle".into(), |percent| percent.to_string());
        write!(f, "{name:22}{percent:>10}{:>10.0}{lost:>10.2}{cpu:>10.2}", small.sent / 1e3)?;
        for part in [500, 990, 999] {
            match round_trips.get(round_trips.len() * part / 1000) {
                Some(time) => write!(f, "{time:>10.3}")?,
                None => write!(f, "{:>10}", "-")?,
            }
        }
        Ok(())
    }
}
