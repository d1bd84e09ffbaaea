// SPDX-License-Identifier: Apache-2.0
//! All that CI does. Every step runs, so that one run shows everything; the summary comes last.

use std::time::{Duration, Instant};

use crate::sh::Res;
use crate::{docs, fuzz, inlining, layers, licences, sources, verbs};

/// One step: its name, how long it took, and why it failed.
struct Done {
    name: &'static str,
    took: Duration,
    fault: Option<String>,
}

/// The counts of nextest's summary line, in the plain form that any reader of logs knows.
fn plain(summary: &str) -> Option<String> {
    let counts = summary.rsplit_once(": ")?.1;
    let count = |what: &str| {
        let part = counts.split(',').find(|p| p.trim().split(' ').nth(1) == Some(what))?;
        part.trim().split(' ').next()?.parse::<u64>().ok()
    };
    let failed = count("failed").unwrap_or(0) + count("timed").unwrap_or(0);
    let skipped = count("skipped").unwrap_or(0);
    Some(format!("{} passed, {failed} failed, {skipped} skipped", count("passed")?))
}

/// The verb `ci`.
pub fn verb() -> Res {
    let mut done: Vec<Done> = Vec::new();
    let mut step = |name, what: &mut dyn FnMut() -> Res| {
        println!("\n== {name}");
        let start = Instant::now();
        let fault = what().err();
        if let Some(why) = &fault {
            eprintln!("{name}: {why}");
        }
        done.push(Done { name, took: start.elapsed(), fault });
    };
    let mut summary = None;
    step("format", &mut || verbs::fmt(true));
    step("layers", &mut layers::verb);
    step("sources", &mut sources::verb);
    step("licences", &mut licences::verb);
    step("docs", &mut || docs::verb(true));
    step("clippy", &mut verbs::clippy);
    step("doc", &mut verbs::doc);
    step("test", &mut || verbs::counted_test(&[], &mut summary));
    step("models", &mut verbs::models);
    step("inlining", &mut inlining::verb);
    step("bench smoke", &mut || verbs::bench(&["--smoke"]));
    step("lookup smoke", &mut || verbs::bench(&["lookup", "--smoke"]));
    step("failover smoke", &mut || verbs::bench(&["failover", "--smoke"]));
    step("load smoke", &mut || verbs::bench(&["load", "--smoke"]));
    step("fuzz smoke", &mut || fuzz::verb(&["--smoke"]));

    println!("\n== summary");
    for Done { name, took, fault } in &done {
        let verdict = if fault.is_some() { "FAILED" } else { "ok" };
        println!("{name:<12} {verdict:<6} {:>4} s", took.as_secs());
    }
    let faults: Vec<_> = done.iter().filter_map(|d| d.fault.as_deref()).collect();
    if let Some(summary) = summary {
        println!("{summary}");
        plain(&summary).iter().for_each(|line| println!("{line}"));
    }
    if faults.is_empty() { Ok(()) } else { Err(faults.join("\nxtask: ")) }
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn the_summary_is_read() {
        let line = "Summary [   1.234s] 45 tests run: 43 passed (2 slow), 1 failed, 1 timed out, 3 skipped";
        assert_eq!(plain(line).as_deref(), Some("43 passed, 2 failed, 3 skipped"));
        let line = "Summary [   0.007s] 1 test run: 1 passed, 0 skipped";
        assert_eq!(plain(line).as_deref(), Some("1 passed, 0 failed, 0 skipped"));
        assert_eq!(plain("Summary"), None);
    }
}
