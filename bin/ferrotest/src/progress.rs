// SPDX-License-Identifier: Apache-2.0
//! Progress on standard error: the trial that runs, the bounds of its search, the remaining time.

use std::io::{IsTerminal, Write};
use std::time::Instant;

use crate::modes::Notes;

/// Progress of a run.
#[derive(Debug)]
pub struct Progress {
    quiet: bool,
    terminal: bool,
    start: Instant,
    total: usize,
    done: usize,
    measured: usize,
    what: String,
}

impl Progress {
    /// Shows nothing if `quiet`.
    pub fn new(quiet: bool) -> Self {
        let terminal = std::io::stderr().is_terminal();
        let what = String::new();
        Self { quiet, terminal, start: Instant::now(), total: 0, done: 0, measured: 0, what }
    }

    /// Writes a line, unless nothing is shown.
    pub fn line(&self, text: &str) {
        if !self.quiet {
            eprintln!("ferrotest: {text}");
        }
    }

    /// Sets the number of repeats of all measurements.
    pub fn expect(&mut self, total: usize) {
        self.total = total;
    }

    /// A repeat begins.
    pub fn begin(&mut self, what: &str, repeat: usize, repeats: usize) {
        self.what = format!("{what} repeat {repeat} of {repeats}");
        if !self.terminal {
            self.show("");
        }
    }

    /// A repeat has ended.
    pub fn end(&mut self) {
        self.done += 1;
        self.measured += 1;
    }

    /// A repeat is not needed.
    pub fn skip(&mut self) {
        self.done += 1;
    }

    /// Removes the line.
    pub fn clear(&mut self) {
        if self.terminal && !self.quiet {
            eprint!("\r\x1b[K");
        }
    }

    /// The time that the other repeats take, if they take as long as those until now.
    fn remaining(&self) -> String {
        if self.measured == 0 || self.total == 0 {
            return String::new();
        }
        let each = self.start.elapsed().as_secs_f64() / self.measured as f64;
        let left = each * self.total.saturating_sub(self.done) as f64;
        match left {
            left if left < 90.0 => format!(", about {left:.0} s left"),
            left if left < 5400.0 => format!(", about {:.0} min left", left / 60.0),
            left => format!(", about {:.1} h left", left / 3600.0),
        }
    }

    fn show(&self, trial: &str) {
        if self.quiet {
            return;
        }
        let line = format!(
            "[{}/{}] {}{trial}{}",
            self.done + 1,
            self.total.max(1),
            self.what,
            self.remaining()
        );
        let mut err = std::io::stderr().lock();
        // A closed terminal doesn't stop a measurement.
        let _ = match self.terminal {
            true => write!(err, "\r\x1b[K{line}").and_then(|()| err.flush()),
            false => writeln!(err, "{line}"),
        };
    }
}

impl Notes for Progress {
    fn trial(&mut self, rate: f64, seconds: f64, (lower, upper): (Option<f64>, Option<f64>)) {
        if !self.terminal {
            return;
        }
        let number = |bound: Option<f64>| bound.map_or("?".into(), |rate| format!("{rate:.0}"));
        let bounds = match (lower, upper) {
            (None, None) => String::new(),
            bounds => format!(", between {} and {}", number(bounds.0), number(bounds.1)),
        };
        let trial = match rate.is_finite() {
            true => format!(": {rate:.0} pps for {seconds:.1} s{bounds}"),
            false => ": as fast as possible".into(),
        };
        self.show(&trial);
    }
}
