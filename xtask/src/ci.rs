// SPDX-License-Identifier: Apache-2.0
//! All that CI does. Every step runs, so that one run shows everything; the summary comes last.

use std::time::{Duration, Instant};

use crate::counts::Counts;
use crate::sh::Res;
use crate::{docs, fuzz, inlining, layers, licences, soak, sources, testing, verbs};

/// One step: its name, how long it took, the tests that it ran, and why it failed.
struct Done {
    name: &'static str,
    took: Duration,
    counts: Counts,
    fault: Option<String>,
}

/// The verb `ci`.
pub fn verb() -> Res {
    let mut done: Vec<Done> = Vec::new();
    let mut step = |name, what: &mut dyn FnMut(&mut Counts) -> Res| {
        println!("\n== {name}");
        let (start, mut counts) = (Instant::now(), Counts::default());
        let fault = what(&mut counts).err();
        if let Some(why) = &fault {
            eprintln!("{name}: {why}");
        }
        done.push(Done { name, took: start.elapsed(), counts, fault });
    };
    step("format", &mut |_| verbs::fmt(true));
    step("layers", &mut |_| layers::verb());
    step("sources", &mut |_| sources::verb());
    step("licences", &mut |_| licences::verb());
    step("docs", &mut |_| docs::verb(true));
    step("clippy", &mut |_| verbs::clippy());
    step("doc", &mut |_| verbs::doc());
    step("test", &mut |counts| testing::test(&[], counts));
    step("test-release", &mut testing::release);
    step("asan", &mut |counts| testing::asan_units(&[], counts));
    step("models", &mut testing::models);
    step("inlining", &mut |_| inlining::verb());
    step("bench smoke", &mut |_| verbs::bench(&["--smoke"]));
    step("lookup smoke", &mut |_| verbs::bench(&["lookup", "--smoke"]));
    step("failover smoke", &mut |_| verbs::bench(&["failover", "--smoke"]));
    step("load smoke", &mut |_| verbs::bench(&["load", "--smoke"]));
    step("learn smoke", &mut |_| verbs::bench(&["learn", "--smoke"]));
    step("host smoke", &mut |_| verbs::bench(&["host", "--smoke"]));
    step("soak smoke", &mut |_| soak::verb(&["--seconds", "120"]));
    step("fuzz smoke", &mut |_| fuzz::verb(&["--smoke", "--asan"]));

    println!("\n== summary");
    for Done { name, took, counts, fault } in &done {
        let verdict = if fault.is_some() { "FAILED" } else { "ok" };
        let tests =
            if *counts == Counts::default() { String::new() } else { format!("  {counts}") };
        println!("{name:<14} {verdict:<6} {:>4} s{tests}", took.as_secs());
    }
    println!("{}", done.iter().map(|d| d.counts).sum::<Counts>());
    let faults: Vec<_> = done.iter().filter_map(|d| d.fault.as_deref()).collect();
    if faults.is_empty() { Ok(()) } else { Err(faults.join("\nxtask: ")) }
}
