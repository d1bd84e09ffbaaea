// SPDX-License-Identifier: Apache-2.0
//! Runs in simulated time: interleaving, results on disk, resumption.

use super::*;
use crate::traffic::random::Spread;
use measure::{Direction, Profile};

fn plan(dir: &Path) -> Plan {
    Plan {
        modes: vec![Mode::Soak],
        devices: vec!["none:drop=1/10".parse().unwrap(), "none:drop=1/5".parse().unwrap()],
        traffic: vec![Traffic { directions: vec![Direction::Forward], ..Traffic::default() }],
        workers: vec![1],
        ports: interface::Kind::Veth,
        routes: vec![0],
        settings: Settings {
            duration: 0.1,
            repeats: 3,
            rate: Some(10_000.0),
            soak: 0.1,
            ..Settings::of(Profile::Quick)
        },
        title: "A test".into(),
        seed: 5,
        selftest: true,
        file: Some(dir.join("result.json")),
        resume: false,
        force: true,
        quiet: true,
    }
}

fn go() -> Arc<AtomicBool> {
    Arc::new(AtomicBool::new(false))
}

fn losses(results: &Results) -> Vec<Vec<f64>> {
    let series = |m: &Measurement| m.series("loss_ratio").map(|s| s.values.clone());
    results.measurements.iter().map(|m| series(m).unwrap_or_default()).collect()
}

#[suite::test]
fn devices_are_measured_in_turns_and_saved() {
    let dir = tempfile::tempdir().unwrap();
    let plan = plan(dir.path());
    let (results, end) = run(&plan, &go()).unwrap();
    assert_eq!((end, results.complete), (End::Complete, true));
    assert_eq!(losses(&results), [vec![0.1; 3], vec![0.2; 3]]);
    let text = fs::read_to_string(dir.path().join("result.json")).unwrap();
    assert_eq!(Results::from_json(&text).unwrap(), results);
}

/// Each point is measured at its own limit, and the report has the points.
#[suite::test]
fn a_scaling_finds_the_limit_of_each_point() {
    let dir = tempfile::tempdir().unwrap();
    let mut plan = plan(dir.path());
    plan.modes = vec![Mode::Scale];
    let stage = "none:rate=1000,queue=1,link=1e8,by-workers=0.9,by-flows=-0.2,by-routes=-0.1";
    plan.devices = vec![stage.parse().unwrap()];
    (plan.settings.rate, plan.settings.repeats, plan.settings.duration) = (None, 1, 2.0);
    let few = &plan.traffic[0];
    let many = Traffic { dst: Spread::Random(32), ..few.clone() };
    plan.traffic = vec![few.clone(), many];
    (plan.workers, plan.routes) = (vec![1, 4], vec![0, 1024]);
    let (results, end) = run(&plan, &go()).unwrap();
    assert_eq!((end, results.measurements.len()), (End::Complete, 8));
    for m in &results.measurements {
        let routes: f64 = m.parameters["routes"].parse().unwrap();
        let factor = f64::from(m.cores).powf(0.9) * (m.flows as f64).powf(-0.2);
        let expected = 1000.0 * factor * routes.max(1.0).powf(-0.1);
        let found = m.series("throughput").unwrap().values[0];
        assert!((found / expected - 1.0).abs() < 0.02, "{found}, expected {expected}: {}", m.key());
    }
    let report = measure::report::html(&results, &[]).unwrap();
    for title in ["Throughput by cores", "Throughput by flows", "Throughput by routes"] {
        assert!(report.contains(title), "{title}");
    }
    // S(4) of a rate that grows with the power of 0.9 is 4^-0.1, to the width of the search.
    let row = report.split("<tr").filter(|row| row.contains("0.87") && row.contains("cores"));
    assert!(row.count() > 0, "0.8706");
}

#[suite::test]
fn an_interrupted_run_goes_on_where_it_was() {
    let dir = tempfile::tempdir().unwrap();
    let mut plan = plan(dir.path());
    let (mut results, _) = run(&plan, &go()).unwrap();
    // As if it had been stopped in the second repeat of the second device.
    let second = &mut results.measurements[1];
    second.outcome = Outcome::Interrupted;
    second.series.iter_mut().for_each(|series| series.values.truncate(1));
    second.series_mut("loss_ratio", "ratio").values[0] = 0.75;
    save(plan.file.as_deref(), &results).unwrap();
    plan.resume = true;
    let (resumed, end) = run(&plan, &go()).unwrap();
    assert_eq!((end, resumed.measurements.len()), (End::Complete, 2));
    assert_eq!(losses(&resumed), [vec![0.1; 3], vec![0.75, 0.2, 0.2]]);
    assert!(resumed.measurements.iter().all(|m| m.outcome == Outcome::Done));
}

#[suite::test]
fn a_run_that_is_stopped_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let mut plan = plan(dir.path());
    plan.devices = vec!["none".parse().unwrap()];
    let stopped = Arc::new(AtomicBool::new(true));
    let (results, end) = run(&plan, &stopped).unwrap();
    assert_eq!((end, results.complete), (End::Interrupted, false));
    assert_eq!(results.measurements[0].outcome, Outcome::Interrupted);
}

#[suite::test]
fn a_mode_that_cannot_be_done_fails_alone() {
    let dir = tempfile::tempdir().unwrap();
    let mut plan = plan(dir.path());
    plan.modes = vec![Mode::NatCps, Mode::Soak];
    let (results, end) = run(&plan, &go()).unwrap();
    assert_eq!((end, results.complete, results.measurements.len()), (End::Failed, false, 4));
    assert!(matches!(results.measurements[0].outcome, Outcome::Failed { .. }));
    assert_eq!(results.measurements[2].outcome, Outcome::Done);
}

/// The second plan's measurements stand behind the first one's, and both devices in the report.
#[suite::test]
fn plans_share_a_document() {
    let dir = tempfile::tempdir().unwrap();
    let first = plan(dir.path());
    let second = Plan { devices: vec!["none:drop=1/4".parse().unwrap()], ..first.clone() };
    let (results, end) = all(&[first.clone(), second.clone()], &go()).unwrap();
    assert_eq!((end, results.complete), (End::Complete, true));
    assert_eq!(losses(&results), [vec![0.1; 3], vec![0.2; 3], vec![0.25; 3]]);
    let names: Vec<_> = results.environment.versions.iter().map(|(name, _)| &name[..]).collect();
    assert_eq!(names, ["ferrotest", "none:drop=1/10", "none:drop=1/5", "none:drop=1/4"]);
    let text = fs::read_to_string(dir.path().join("result.json")).unwrap();
    assert_eq!(Results::from_json(&text).unwrap(), results);
    // A device of the second plan that can't be set up is known before the first one runs.
    let _ = fs::remove_file(dir.path().join("result.json"));
    let missing = Plan { devices: vec!["ferrovia:/no/such".parse().unwrap()], ..second };
    assert!(all(&[first, missing], &go()).unwrap_err().contains("/no/such"));
    assert!(!dir.path().join("result.json").exists());
}

/// Runs of stages of known rates below and above 1/1.2 of the tester's limit, which in simulated
/// time is the link: 1,000 frames of 64 bytes a second.
fn limited(dir: &Path) -> Plan {
    let stage = |rate: u32| format!("none:rate={rate},queue=1,link=672000").parse().unwrap();
    let mut plan = plan(dir);
    (plan.modes, plan.devices) = (vec![Mode::Throughput], vec![stage(700), stage(950)]);
    (plan.settings.rate, plan.settings.duration) = (None, 2.0);
    plan
}

#[suite::test]
fn results_near_the_limit_are_marked_in_all_outputs() {
    use measure::Mark;
    let dir = tempfile::tempdir().unwrap();
    let (results, end) = run(&limited(dir.path()), &go()).unwrap();
    assert_eq!(end, End::Complete);
    let is_marked = |m: &Measurement| m.marks.contains(&Mark::TesterBound);
    let marked = |results: &Results| results.measurements.iter().map(is_marked).collect::<Vec<_>>();
    assert_eq!(marked(&results), [false, true]);
    // Measured as often as the devices: before the first repeat, and after each.
    assert_eq!(results.selftests.len(), 2 * 3 + 1);
    for m in &results.measurements {
        assert_eq!(m.limits.len(), 3);
        assert!(m.limits.iter().all(|limit| (limit - 1000.0).abs() < 1.0), "{:?}", m.limits);
        for trial in &m.trials {
            assert_eq!(trial.tester_bound, trial.rate > m.limits[0] / 1.2, "{trial:?}");
        }
    }
    let json = Results::from_json(&fs::read_to_string(dir.path().join("result.json")).unwrap());
    assert_eq!(marked(&json.unwrap()), [false, true], "JSON");

    let mut text = Vec::new();
    crate::show::figures(&results, &mut text).unwrap();
    let text = String::from_utf8(text).unwrap();
    let marks: Vec<_> = text.lines().filter(|line| line.starts_with("  marks:")).collect();
    let has = [marks[0].contains("tester-bound"), marks[1].contains("tester-bound")];
    assert_eq!(has, [false, true], "{text}");
    assert!(text.contains("tester-bound above 1/1.2 of it"), "{text}");

    let csv = measure::report::series_csv(&results);
    let rows = csv.lines().skip(1).map(|row| row.contains("tester-bound")).collect::<Vec<_>>();
    assert_eq!(rows, [false, false, false, true, true, true], "{csv}");

    let figures = measure::report::figures(&results).unwrap();
    let figure = figures.iter().find(|figure| figure.name == "throughput-by-device").unwrap();
    assert!(figure.caption.ends_with("Hollow bars are tester-bound."), "{}", figure.caption);
    let mut clean = results.clone();
    clean.measurements[1].marks.retain(|mark| *mark != Mark::TesterBound);
    let filled = measure::report::figures(&clean).unwrap();
    let filled = filled.iter().find(|figure| figure.name == "throughput-by-device").unwrap();
    assert_ne!(figure.to_svg(), filled.to_svg(), "the bar");
    assert!(!filled.caption.contains("Hollow"), "{}", filled.caption);

    for report in [
        measure::report::html(&results, &[]).unwrap(),
        measure::report::markdown(&results, &[]).unwrap(),
    ] {
        // A row of the results, of each device.
        let rate = |m: &Measurement| {
            measure::report::grouped(m.series("throughput").unwrap().summary().unwrap().median)
        };
        let row = |m: &Measurement| {
            let is_row = |line: &&str| line.contains(&rate(m)) && line.contains("not RFC 2544");
            report.lines().find(is_row).unwrap_or_else(|| panic!("{}", rate(m))).to_string()
        };
        let rows = results.measurements.iter().map(|m| row(m).contains("tester-bound"));
        assert_eq!(rows.collect::<Vec<_>>(), [false, true], "{report}");
    }
}

/// A device that is faster than the tester itself: the limit that was measured can't be right.
#[suite::test]
fn a_device_that_beats_the_limit_is_reported() {
    let dir = tempfile::tempdir().unwrap();
    let (mut results, _) = run(&limited(dir.path()), &go()).unwrap();
    results.measurements[1].judge_limit(2, 900.0);
    let mut text = Vec::new();
    crate::show::figures(&results, &mut text).unwrap();
    let text = String::from_utf8(text).unwrap();
    assert_eq!(text.matches("above the tester's own limit").count(), 1, "{text}");
    assert!(results.to_json().contains("\"above-limit\""));
    let report = measure::report::html(&results, &[]).unwrap();
    assert!(report.contains("A device was faster than the tester itself"), "{report}");
}

#[suite::test]
fn files_of_another_run_are_kept() {
    let dir = tempfile::tempdir().unwrap();
    let plan = Plan { force: false, ..plan(dir.path()) };
    run(&plan, &go()).unwrap();
    let before = fs::read_to_string(dir.path().join("result.json")).unwrap();
    let error = run(&plan, &go()).unwrap_err();
    assert!(error.contains("result.json exists: --force overwrites it"), "{error}");
    assert_eq!(fs::read_to_string(dir.path().join("result.json")).unwrap(), before);
    let forced = Plan { force: true, seed: 77, ..plan.clone() };
    assert_eq!(run(&forced, &go()).unwrap().0.seed, 77);
    assert!(run(&Plan { resume: true, ..plan }, &go()).is_ok());
    // Reports, too.
    let html = dir.path().join("report.html");
    fs::write(&html, "of last night").unwrap();
    let outputs =
        |force| crate::cli::Outputs { html: Some(html.clone()), force, ..Default::default() };
    assert!(
        crate::output::check(&outputs(false), false).unwrap_err().contains("report.html exists")
    );
    assert!(crate::output::check(&outputs(true), false).is_ok());
    assert!(crate::output::check(&outputs(false), true).is_ok(), "a run that goes on");
}

/// The files of a whole run agree with each other: repeats, rates, dates, numbers of trials.
#[suite::test]
fn rows_of_all_repeats_have_their_own_trials() {
    let dir = tempfile::tempdir().unwrap();
    let (results, _) = run(&limited(dir.path()), &go()).unwrap();
    let csv = measure::report::rate_csv(&results);
    let mut rows = csv.lines().skip(1);
    for m in &results.measurements {
        let repeats: BTreeSet<_> = m.trials.iter().map(|trial| trial.repeat).collect();
        assert_eq!(repeats, BTreeSet::from([0, 1, 2]));
        let values = &m.series("throughput").unwrap().values;
        let mut last = results.started.replace('T', " ").replace('Z', "");
        for (repeat, rate) in values.iter().enumerate() {
            let cells: Vec<_> = rows.next().unwrap().split(", ").collect();
            let trials = m.trials.iter().filter(|trial| trial.repeat as usize == repeat);
            let trials: Vec<_> = trials.collect();
            assert_eq!(cells[0], (repeat + 1).to_string());
            assert_eq!(cells[5], "2");
            assert_eq!(cells[6], format!("{:.0}", trials[0].rate), "the first rate of the search");
            assert!(cells[9] >= last.as_str(), "{} after {last}", cells[9]);
            last = cells[9].to_string();
            assert_eq!(cells[10], trials.len().to_string());
            assert!(trials.len() > 4, "{trials:?}");
            assert_eq!(cells[11], format!("{rate:.0}"));
        }
    }
    assert_eq!(rows.next(), None);
    // Trials of devices in turns are in order of time, and none is before the run.
    let times = results.measurements.iter().flat_map(|m| &m.trials).map(|trial| trial.at);
    assert!(times.clone().all(|at| (0.0..3600.0).contains(&at)));
    assert!(results.selftests.is_sorted_by(|a, b| a.at <= b.at));
}

#[suite::test]
fn what_makes_figures_doubtful_stands_first() {
    let dir = tempfile::tempdir().unwrap();
    let (mut results, _) = run(&limited(dir.path()), &go()).unwrap();
    let first = |results: &Results| {
        let mut text = Vec::new();
        crate::show::figures(results, &mut text).unwrap();
        String::from_utf8(text).unwrap().lines().next().unwrap_or_default().to_string()
    };
    assert!(first(&results).starts_with("mode "), "{}", first(&results));
    (results.environment.cpu.cores, results.environment.threads) = (2, 7);
    assert!(first(&results).starts_with("note: 7 threads of tester and device shared 2 cores"));
    results.environment.threads = 0;
    for m in &mut results.measurements {
        m.trials.iter_mut().for_each(|t| t.faults = vec![measure::Fault::Interrupted]);
    }
    let (all, _) = results.trials();
    assert!(
        first(&results).starts_with(&format!("note: most trials were not valid: {all} of {all}"))
    );
    let report = measure::report::markdown(&results, &[]).unwrap();
    let note = report.lines().nth(2).unwrap();
    assert!(note.starts_with("> **Note:** Most trials were not valid"), "{note}");
    // The report has the facts that a paper needs.
    for part in
        ["64 bytes with FCS", "RFC 4814", "Wait for late frames", "Loss tolerance", "198.18.0.2"]
    {
        assert!(report.contains(part), "{part}");
    }
}
