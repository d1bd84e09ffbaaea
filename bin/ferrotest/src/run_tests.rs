// SPDX-License-Identifier: Apache-2.0
//! Runs in simulated time: interleaving, results on disk, resumption.

use super::*;
use measure::{Direction, Profile};

fn plan(dir: &Path) -> Plan {
    Plan {
        modes: vec![Mode::Soak],
        devices: vec!["none:drop=1/10".parse().unwrap(), "none:drop=1/5".parse().unwrap()],
        traffic: vec![Traffic { directions: vec![Direction::Forward], ..Traffic::default() }],
        workers: vec![1],
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

#[test]
fn devices_are_measured_in_turns_and_saved() {
    let dir = tempfile::tempdir().unwrap();
    let plan = plan(dir.path());
    let (results, end) = run(&plan, &go()).unwrap();
    assert_eq!((end, results.complete), (End::Complete, true));
    assert_eq!(losses(&results), [vec![0.1; 3], vec![0.2; 3]]);
    let text = fs::read_to_string(dir.path().join("result.json")).unwrap();
    assert_eq!(Results::from_json(&text).unwrap(), results);
}

#[test]
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

#[test]
fn a_run_that_is_stopped_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let mut plan = plan(dir.path());
    plan.devices = vec!["none".parse().unwrap()];
    let stopped = Arc::new(AtomicBool::new(true));
    let (results, end) = run(&plan, &stopped).unwrap();
    assert_eq!((end, results.complete), (End::Interrupted, false));
    assert_eq!(results.measurements[0].outcome, Outcome::Interrupted);
}

#[test]
fn a_mode_that_cannot_be_done_fails_alone() {
    let dir = tempfile::tempdir().unwrap();
    let mut plan = plan(dir.path());
    plan.modes = vec![Mode::Reconfig, Mode::Soak];
    let (results, end) = run(&plan, &go()).unwrap();
    assert_eq!((end, results.complete, results.measurements.len()), (End::Failed, false, 4));
    assert!(matches!(results.measurements[0].outcome, Outcome::Failed { .. }));
    assert_eq!(results.measurements[2].outcome, Outcome::Done);
}
