// SPDX-License-Identifier: Apache-2.0
//! The table of routers.

use std::fmt;

use crate::traffic::Small;

/// The figures of one router in one round.
pub struct Measured {
    pub small: Small,
    /// Bits a second.
    pub tcp: f64,
    /// Milliseconds.
    pub round_trips: Vec<f64>,
}

/// The best figures of each router: others use the machine too, so that figures are too bad rather
/// than too good.
#[derive(Clone, Default)]
struct Best {
    small: Small,
    tcp: f64,
    median: f64,
    /// The round-trip time that 99 of 100 pings stay below.
    high: f64,
}

pub struct Report {
    names: Vec<&'static str>,
    best: Vec<Best>,
}

impl Report {
    pub fn new(names: Vec<&'static str>) -> Self {
        let best = vec![
            Best { median: f64::INFINITY, high: f64::INFINITY, ..Best::default() };
            names.len()
        ];
        Self { names, best }
    }

    /// Adds a round of a router.
    pub fn add(&mut self, router: usize, measured: Measured) {
        let Measured { small, tcp, mut round_trips } = measured;
        let best = &mut self.best[router];
        if small.delivered > best.small.delivered {
            best.small = small;
        }
        best.tcp = best.tcp.max(tcp);
        round_trips.sort_by(f64::total_cmp);
        let part = |of: usize| {
            round_trips.get(round_trips.len() * of / 100).copied().unwrap_or(f64::INFINITY)
        };
        best.median = best.median.min(part(50));
        best.high = best.high.min(part(99));
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let heads =
            |f: &mut fmt::Formatter<'_>,
             [sent, delivered, ratio, cpu, tcp, part, p50, p99]: [&str; 8]| {
                writeln!(
                    f,
                    "{:22}{sent:>10}{delivered:>12}{ratio:>8}{cpu:>9}{tcp:>11}{part:>8}{p50:>11}{p99:>10}",
                    ""
                )
            };
        heads(f, ["sent", "delivered", "", "CPU", "TCP", "", "ping p50", "p99"])?;
        heads(f, ["kpps", "kpps", "ratio", "ns", "Gbit/s", "ratio", "ms", "ms"])?;
        let first = self.best.first().cloned().unwrap_or_default();
        for (name, Best { small, tcp, median, high }) in self.names.iter().zip(&self.best) {
            let cost = small.cost.map_or_else(|| "-".to_string(), |cost| format!("{cost:.0}"));
            writeln!(
                f,
                "{name:22}{:>10.0}{:>12.0}{:>8.2}{cost:>9}{:>11.1}{:>8.2}{median:>11.3}{high:>10.3}",
                small.sent / 1e3,
                small.delivered / 1e3,
                small.delivered / first.small.delivered,
                tcp / 1e9,
                tcp / first.tcp,
            )?;
        }
        Ok(())
    }
}
