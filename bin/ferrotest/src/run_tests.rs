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
