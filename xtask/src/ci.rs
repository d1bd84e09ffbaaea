// SPDX-License-Identifier: Apache-2.0
//! CI in three tiers: what every landing runs, what runs in turns, and what takes hours.

use std::time::Duration;

use crate::affected::{self, Affected, Tree};
use crate::builds::Build;
use crate::counts::Counts;
use crate::passed::{self, Passes};
use crate::sh::{self, Res};
use crate::steps::Run;
use crate::{
    changes, conformance, docs, fuzz, image, inlining, layers, licences, limits, package,
    package_try, soak, sources, testing, verbs,
};

/// A step that runs in turns.
struct Step {
    name: &'static str,
    /// Seconds that it takes on two cores with nothing built but the tests: until one is recorded.
    estimate: u64,
    /// A step that has to come first.
    needs: Option<&'static str>,
    run: fn(&Build, &mut Counts) -> Res,
}

const fn step(
    name: &'static str,
    estimate: u64,
    needs: Option<&'static str>,
    run: fn(&Build, &mut Counts) -> Res,
) -> Step {
    Step { name, estimate, needs, run }
}

const CLIPPY: &str = "clippy";
const TEST: &str = "test";
const DOC: &str = "doc";
const SHIPPING: &str = "release build";
const CONFORMANCE: &str = "conformance";

/// The second tier. The first two are the first tier's, of everything.
const SECOND: &[Step] = &[
    step(CLIPPY, 600, None, |build, _| verbs::clippy(build)),
    step(TEST, 1500, None, |build, counts| testing::all(build, None, counts)),
    step(DOC, 300, None, |build, _| verbs::doc(build)),
    step(SHIPPING, 810, None, |_, _| limits::hold_code(&verbs::build_release()?.join("ferrovia"))),
    step("shipped units", 420, None, |_, counts| testing::shipped_units(counts)),
    step("shipped laboratory", 300, Some(SHIPPING), testing::shipped_laboratory),
    step("inlining", 60, Some(SHIPPING), |_, _| inlining::verb()),
    step("package", 180, Some(SHIPPING), |_, _| packages()),
    step("soak smoke", 240, Some(SHIPPING), |build, _| soak::verb(&["--seconds", "120"], build)),
    step("asan", 600, None, |_, counts| testing::asan_units(&[], counts)),
    step("fuzz smoke", 600, None, |_, _| fuzz::verb(&["--smoke", "--asan"])),
    step("models", 120, None, |_, counts| testing::models(counts)),
    step("bench smoke", 120, None, |build, _| verbs::bench(&["--smoke"], build)),
    step("lookup smoke", 120, None, |build, _| verbs::bench(&["lookup", "--smoke"], build)),
    step("failover smoke", 120, None, |build, _| verbs::bench(&["failover", "--smoke"], build)),
    step("load smoke", 120, None, |build, _| verbs::bench(&["load", "--smoke"], build)),
    step("learn smoke", 120, None, |build, _| verbs::bench(&["learn", "--smoke"], build)),
    step("host smoke", 120, None, |build, _| verbs::bench(&["host", "--smoke"], build)),
    step(CONFORMANCE, 900, None, |_, _| conformance::check()),
];

/// The package in a fresh root, and the image with its capabilities alone.
fn packages() -> Res {
    package_try::run(&package::deb()?)?;
    image::verb(&["--try"])
}

/// The second tier as far as this machine can run it.
fn second() -> impl Iterator<Item = &'static Step> {
    SECOND.iter().filter(|step| step.name != CONFORMANCE || conformance::is_there())
}

/// The state of the tree when a run begins: what may be recorded of it.
struct Start {
    /// The commit, if the tree is as it says.
    commit: Option<String>,
}

impl Start {
    fn now() -> Start {
        Start { commit: changes::head().ok().filter(|_| changes::is_clean()) }
    }

    /// Records the steps that passed, and with `landed` that all of the first tier did.
    fn record(&self, run: &Run, landed: bool) -> Res {
        let still =
            |commit: &&String| changes::head().as_ref() == Ok(commit) && changes::is_clean();
        let Some(commit) = self.commit.as_ref().filter(still) else {
            println!("ci: nothing is recorded, since the tree isn't what its commit says");
            return Ok(());
        };
        let today = sh::output(&mut sh::cmd("date -u +%F"))?.trim().to_string();
        if landed {
            changes::note(&today)?;
        }
        let counts = |name: &str| SECOND.iter().any(|s| s.name == name);
        let mut passed: Vec<_> = run
            .passed()
            .filter(|(name, _)| counts(name))
            .map(|(name, took)| (name.to_string(), took))
            .collect();
        if landed {
            passed.push((LANDING.into(), run.elapsed()));
        }
        if passed.is_empty() {
            return Ok(());
        }
        passed::record(&passed, commit, &today)?;
        println!(
            "ci: {} has what passed at {commit:.12}: commit it with the landing",
            changes::RECORDS
        );
        Ok(())
    }
}

/// The name of the first tier in the records.
const LANDING: &str = "landing";

/// The first tier. Gives back the build that its tests took.
fn landing(run: &mut Run, tree: &Tree, affected: &Affected) -> Build {
    run.step("format", |_| verbs::fmt(true));
    run.step("layers", |_| layers::verb());
    run.step("sources", |_| sources::verb());
    run.step("licences", |_| licences::verb());
    run.step("docs", |_| docs::verb(true));
    let build = Build::ci(affected::selection(tree, affected));
    // A run of everything has the names that the second tier gives to it.
    let suffix = if affected.all.is_some() { "" } else { " (affected)" };
    let names = [CLIPPY, TEST].map(|name| format!("{name}{suffix}"));
    if affected.is_text() {
        names.iter().for_each(|name| run.leave_out(name, "no test reads what changed"));
    } else {
        run.step(&names[0], |_| verbs::clippy(&build));
        let filter = affected::filter(tree, affected);
        run.step(&names[1], |counts| testing::all(&build, filter.as_deref(), counts));
    }
    if affected.smoke.is_some() {
        run.step("smoke", |counts| testing::smoke(&build, counts));
    } else {
        run.leave_out("smoke", "no `unsafe` code, driver or start-up changed");
    }
    build
}

/// The build for steps that aren't narrowed: the same if everything is selected already, or if
/// nothing was built.
fn whole() -> Build {
    Build::ci(vec!["--workspace".into()])
}

/// Runs a step, and before it the one that it needs.
fn run_step(run: &mut Run, step: &Step, build: &Build) {
    if let Some(first) = needed(step).filter(|first| !run.has_run(first.name)) {
        run_step(run, first, build);
    }
    match step.needs.filter(|first| !run.has_passed(first)) {
        Some(first) => run.leave_out(step.name, format!("{first} failed")),
        None => drop(run.step(step.name, |counts| (step.run)(build, counts))),
    }
}

fn needed(step: &Step) -> Option<&'static Step> {
    SECOND.iter().find(|other| Some(other.name) == step.needs)
}

/// The time that a step takes, with the one that it needs if that `has_run` not yet.
fn expected(step: &Step, passes: &Passes, has_run: &dyn Fn(&str) -> bool) -> Duration {
    let own = passes.get(step.name).map_or(Duration::from_secs(step.estimate), |pass| pass.took);
    let first = needed(step).filter(|first| !has_run(first.name));
    own + first.map_or(Duration::ZERO, |first| expected(first, passes, has_run))
}

/// The landings since each step's last pass.
fn ages(passes: &Passes) -> Vec<(&'static str, Option<u64>)> {
    passed::ages(second().map(|step| step.name), passes, changes::landings)
}

/// As many steps of the second tier as end within `limit` of the whole run, in the order in which
/// they are due.
fn in_turns(run: &mut Run, passes: &Passes, limit: Duration, build: &Build) {
    for name in passed::due(&ages(passes), changes::count()) {
        let Some(step) = second().find(|step| step.name == name) else { continue };
        if run.has_run(name) {
            continue;
        }
        let left = limit.saturating_sub(run.elapsed());
        let takes = expected(step, passes, &|name| run.has_run(name));
        if takes > left {
            let why = format!("takes {} s, {} s are left", takes.as_secs(), left.as_secs());
            run.leave_out(name, why);
            continue;
        }
        // These are of everything.
        let build = if matches!(name, CLIPPY | TEST | DOC) { &whole() } else { build };
        run_step(run, step, build);
    }
}

/// Says which steps wait for too long.
fn say_overdue(run: &Run, passes: &Passes) {
    let waits = |(name, age): &(&str, Option<u64>)| {
        let what = age.map_or("no pass is known".into(), |n| format!("{n} landings"));
        let is_due = passed::is_overdue(*age) && !run.has_passed(name);
        is_due.then(|| format!("{name} ({what})"))
    };
    let overdue: Vec<_> = ages(passes).iter().filter_map(waits).collect();
    if !overdue.is_empty() {
        println!(
            "\nci: OVERDUE, without a pass for more than {} landings: {}.\n`make ci-full` runs them, and its records go with the landing.",
            passed::PATIENCE,
            overdue.join(", ")
        );
    }
}

/// The verb `ci`: the first tier, and with `--minutes N` steps of the second while they end within
/// so many minutes.
pub fn verb(args: &[&str]) -> Res {
    let limit = match args {
        [] => Duration::ZERO,
        ["--minutes", n] => {
            let minutes = n.parse::<u64>().map_err(|_| format!("ci: {n}: expected minutes"))?;
            Duration::from_secs(60 * minutes)
        }
        _ => return Err(format!("ci: unknown: {} (there is --minutes N)", args.join(" "))),
    };
    let (start, mut run) = (Start::now(), Run::new());
    let tree = Tree::read()?;
    let passes = passed::read()?;
    let affected = affected::now(&tree, None)?;
    affected::print(&tree, &affected);
    let build = landing(&mut run, &tree, &affected);
    let landed = run.is_ok();
    if landed && !limit.is_zero() {
        // Texts select nothing; what shares the build of everything takes that.
        let build = if affected.is_text() { whole() } else { build };
        in_turns(&mut run, &passes, limit, &build);
    } else {
        let why = if landed {
            "runs in turns, by .ci/run and `make ci-full`"
        } else {
            "a step of the first tier failed"
        };
        let others: Vec<_> = second().filter(|step| !run.has_run(step.name)).collect();
        others.into_iter().for_each(|step| run.leave_out(step.name, why));
    }
    end(run, &start, &passes, landed)
}

/// The verb `ci-full`: everything.
pub fn full() -> Res {
    let (start, mut run) = (Start::now(), Run::new());
    let tree = Tree::read()?;
    let passes = passed::read()?;
    let build = landing(&mut run, &tree, &Affected::all("`make ci-full` runs everything"));
    let landed = run.is_ok();
    for step in second() {
        if !run.has_run(step.name) {
            run_step(&mut run, step, &build);
        }
    }
    if !conformance::is_there() {
        run.leave_out(CONFORMANCE, "FERROVIA_CONFORMANCE isn't set");
    }
    end(run, &start, &passes, landed)
}

/// Records, and the summary.
fn end(run: Run, start: &Start, passes: &Passes, landed: bool) -> Res {
    let recorded = start.record(&run, landed);
    say_overdue(&run, passes);
    run.finish().and(recorded)
}

/// The verb `nightly`: what takes hours.
pub fn nightly() -> Res {
    let mut run = Run::new();
    let build = whole();
    run.step("test-long", |counts| testing::long(&[], counts));
    run.step("soak", |_| soak::verb(&["--seconds", "3600"], &build));
    run.step("fuzz", |_| {
        let seconds = 3600 / fuzz::all()?.len().max(1);
        fuzz::verb(&["--seconds", &seconds.to_string()])
    });
    run.step("bench", |_| verbs::bench(&[], &build));
    for what in ["lookup", "failover", "load", "learn", "host"] {
        run.step(&format!("bench {what}"), |_| verbs::bench(&[what], &build));
    }
    run.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::passed::Pass;

    fn find(name: &str) -> &'static Step {
        SECOND.iter().find(|step| step.name == name).unwrap()
    }

    #[test]
    fn a_step_is_expected_to_take_what_it_took_with_what_it_needs() {
        let pass = |seconds| Pass {
            commit: String::new(),
            date: String::new(),
            took: Duration::from_secs(seconds),
        };
        let passes = Passes::from([(SHIPPING.into(), pass(400)), ("inlining".into(), pass(5))]);
        let seconds = |name, has_run: bool| expected(find(name), &passes, &|_| has_run).as_secs();
        assert_eq!((seconds("inlining", false), seconds("inlining", true)), (405, 5));
        assert_eq!(seconds("asan", false), find("asan").estimate);
    }

    #[test]
    fn a_step_runs_after_the_one_that_it_needs() {
        fn fails(_: &Build, _: &mut Counts) -> Res {
            Err("it broke".into())
        }
        let mut run = Run::new();
        run.step(SHIPPING, |_| Err("it broke".into()));
        run_step(&mut run, &step("after", 1, Some(SHIPPING), |_, _| Ok(())), &whole());
        assert!(!run.has_run("after"), "what it needs failed");
        run_step(&mut run, &step("alone", 1, None, fails), &whole());
        assert!(run.has_run("alone") && !run.has_passed("alone"));
    }

    #[test]
    fn names_of_steps_are_unique_and_what_is_needed_is_there() {
        for (at, step) in SECOND.iter().enumerate() {
            assert!(SECOND[..at].iter().all(|other| other.name != step.name), "{}", step.name);
            assert_eq!(needed(step).is_some(), step.needs.is_some(), "{}", step.name);
            assert!(!step.name.contains('\t'));
        }
    }
}
