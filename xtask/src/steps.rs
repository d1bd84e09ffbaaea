// SPDX-License-Identifier: Apache-2.0
//! Steps of CI, one after the other: each runs, so that one run shows everything, and is timed.

use std::time::{Duration, Instant};

use crate::counts::Counts;
use crate::sh::Res;

/// One step: its name, how long it took, the tests that it ran, and why it failed.
struct Done {
    name: String,
    took: Duration,
    counts: Counts,
    fault: Option<String>,
}

/// A run of steps.
pub struct Run {
    start: Instant,
    done: Vec<Done>,
    /// Steps that this run leaves out, and why.
    left_out: Vec<(String, String)>,
}

impl Run {
    pub fn new() -> Run {
        Run { start: Instant::now(), done: Vec::new(), left_out: Vec::new() }
    }

    /// Runs a step; true if it passed.
    pub fn step(&mut self, name: &str, what: impl FnOnce(&mut Counts) -> Res) -> bool {
        println!("\n== {name}");
        let (start, mut counts) = (Instant::now(), Counts::default());
        let fault = what(&mut counts).err();
        let took = start.elapsed();
        match &fault {
            Some(why) => eprintln!("{name}: {why}"),
            None => println!("{name}: ok, {} s", took.as_secs()),
        }
        let passed = fault.is_none();
        self.done.push(Done { name: name.into(), took, counts, fault });
        passed
    }

    /// Notes that a step doesn't run now.
    pub fn leave_out(&mut self, name: &str, why: impl Into<String>) {
        self.left_out.push((name.into(), why.into()));
    }

    /// True if no step failed so far.
    pub fn is_ok(&self) -> bool {
        self.done.iter().all(|done| done.fault.is_none())
    }

    /// True if this step ran and passed.
    pub fn has_passed(&self, name: &str) -> bool {
        self.done.iter().any(|done| done.name == name && done.fault.is_none())
    }

    /// True if this step ran.
    pub fn has_run(&self, name: &str) -> bool {
        self.done.iter().any(|done| done.name == name)
    }

    pub fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }

    /// The steps that passed, and how long they took.
    pub fn passed(&self) -> impl Iterator<Item = (&str, Duration)> {
        self.done.iter().filter(|d| d.fault.is_none()).map(|d| (d.name.as_str(), d.took))
    }

    fn lines(&self) -> Vec<String> {
        let line = |Done { name, took, counts, fault }: &Done| {
            let verdict = if fault.is_some() { "FAILED" } else { "ok" };
            let tests =
                if *counts == Counts::default() { String::new() } else { format!("  {counts}") };
            format!("{name:<20} {verdict:<6} {:>4} s{tests}", took.as_secs())
        };
        // One line for each reason, in the order in which they came up.
        let mut left_out: Vec<(&str, Vec<&str>)> = Vec::new();
        for (name, why) in &self.left_out {
            match left_out.iter_mut().find(|(other, _)| other == why) {
                Some((_, names)) => names.push(name),
                None => left_out.push((why, vec![name])),
            }
        }
        let out =
            left_out.iter().map(|(why, names)| format!("left out ({why}): {}", names.join(", ")));
        self.done.iter().map(line).chain(out).collect()
    }

    /// Prints the summary; fails if a step did.
    pub fn finish(self) -> Res {
        println!("\n== summary");
        self.lines().iter().for_each(|line| println!("{line}"));
        println!("{:<27} {:>4} s", "together", self.elapsed().as_secs());
        println!("{}", self.done.iter().map(|d| d.counts).sum::<Counts>());
        let faults: Vec<_> = self.done.iter().filter_map(|d| d.fault.as_deref()).collect();
        if faults.is_empty() { Ok(()) } else { Err(faults.join("\nxtask: ")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_step_runs_and_the_summary_names_each() {
        let mut run = Run::new();
        let passed = run.step("first", |counts| {
            counts.passed = 3;
            Ok(())
        });
        assert!(passed && run.is_ok());
        assert!(!run.step("second", |_| Err("it broke".into())));
        assert!(run.step("third", |_| Ok(())));
        run.leave_out("fourth", "no time is left");
        run.leave_out("fifth", "it broke");
        run.leave_out("sixth", "no time is left");
        assert!(!run.is_ok() && run.has_passed("third") && !run.has_passed("second"));
        assert!(run.has_run("second") && !run.has_run("fourth"));
        let lines = run.lines();
        assert!(lines[0].starts_with("first                ok        0 s  3 passed"), "{lines:?}");
        assert!(
            lines[1].contains("FAILED") && lines[3] == "left out (no time is left): fourth, sixth"
        );
        assert_eq!(run.passed().map(|(name, _)| name).collect::<Vec<_>>(), ["first", "third"]);
        assert_eq!(run.finish(), Err("it broke".into()));
    }
}
