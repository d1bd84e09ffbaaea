// SPDX-License-Identifier: Apache-2.0
//! `ferroctl doctor`: what of this machine slows packets down or stands in the daemon's way, and
//! the command that mends it.

mod checks;
mod daemon;
mod machine;
mod offloads;
#[cfg(feature = "tests")]
mod tests;

use crate::args::Args;
use cli::Table;
use daemon::Daemon;
use machine::Machine;
use serde_json::json;

/// The state of a part of the machine.
#[derive(Debug, PartialEq, Eq)]
enum State {
    /// As it should be.
    Good,
    /// Something would be faster or safer.
    Advice,
    /// Something doesn't work so.
    Problem,
    /// Couldn't be looked at.
    Unknown,
}

impl State {
    fn word(&self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Advice => "advice",
            Self::Problem => "problem",
            Self::Unknown => "unknown",
        }
    }
}

/// The result of a check.
#[derive(Debug, PartialEq, Eq)]
struct Finding {
    check: &'static str,
    state: State,
    found: String,
    /// Effect on the router; empty if all is well.
    why: &'static str,
    /// The command or setting that mends it; empty if there is nothing to mend.
    mend: String,
}

impl Finding {
    fn good(check: &'static str, found: impl Into<String>) -> Self {
        Self { check, state: State::Good, found: found.into(), why: "", mend: String::new() }
    }

    fn unknown(check: &'static str, found: impl Into<String>) -> Self {
        Self { state: State::Unknown, ..Self::good(check, found) }
    }

    /// A result that is not as it should be.
    fn to_mend(
        check: &'static str,
        state: State,
        found: impl Into<String>,
        why: &'static str,
        mend: impl Into<String>,
    ) -> Self {
        Self { check, state, found: found.into(), why, mend: mend.into() }
    }
}

/// Looks at the machine, prints what was found, and returns the exit status: 1 if there is
/// something to mend.
pub fn run(args: &Args, words: &[String]) -> u8 {
    if let Some(word) = words.first() {
        eprintln!("ferroctl: doctor takes no arguments, `{word}' is one\n{}", crate::args::USAGE);
        return crate::USAGE;
    }
    let machine = Machine::here();
    let (daemon, without) = match Daemon::ask(&args.socket) {
        Ok(daemon) => (Some(daemon), None),
        Err(e) => (None, Some(e)),
    };
    let findings = checks::all(&machine, daemon.as_ref());
    if args.json {
        println!("{}", to_json(&findings, without.as_deref()));
    } else {
        print!("{}", text(&findings, without.as_deref()));
    }
    let is_mendable = |f: &Finding| matches!(f.state, State::Advice | State::Problem);
    if findings.iter().any(is_mendable) { crate::FAILED } else { 0 }
}

fn to_json(findings: &[Finding], without: Option<&str>) -> serde_json::Value {
    let finding = |f: &Finding| {
        json!({
            "check": f.check, "state": f.state.word(), "found": f.found, "why": f.why,
            "mend": f.mend,
        })
    };
    let checks: Vec<_> = findings.iter().map(finding).collect();
    json!({ "checks": checks, "no_daemon": without })
}

/// A table of all checks, and below it what can be mended, with the reason and the command.
fn text(findings: &[Finding], without: Option<&str>) -> String {
    let mut table = Table::new().left("Check").left("State").left("Found");
    for f in findings {
        table.row([f.check.into(), f.state.word().into(), f.found.as_str().into()]);
    }
    let mut text = table.render();
    if let Some(reason) = without {
        text += &format!("\nOnly the machine was looked at: {reason}\n");
    }
    for f in findings.iter().filter(|f| !f.mend.is_empty()) {
        text += &format!("\n{}: {}\n", f.check, f.why);
        for line in f.mend.lines() {
            text += &format!("    {line}\n");
        }
    }
    if findings.iter().all(|f| f.mend.is_empty()) {
        text += "\nNothing to mend.\n";
    }
    text
}
