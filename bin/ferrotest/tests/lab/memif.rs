// SPDX-License-Identifier: Apache-2.0
//! Ports over memif.

use super::{ONCE, TINY, check, left_behind, results, tester};
use testkit::lab;

#[suite::test(netns)]
fn packets_pass_through_memif() {
    let Some(_lab) = lab::require(&["root"]) else { return };
    let dir = tempfile::tempdir().unwrap();
    let ferrovia = format!("ferrovia:{}", fixture::programs().ferrovia.display());
    let words = format!("soak {ferrovia} --interface memif --family ip4,ip6 --sizes imix");
    let found = results(dir.path(), &format!("{words} {TINY}"));
    check(&found, &["ferrovia"], 100);
    assert_eq!(found["measurements"][0]["parameters"]["ports"], "memif");
    let description = found["measurements"][0]["description"].as_str().unwrap();
    assert!(description.contains("memif interfaces"), "{description}");
    // Routes by a memif interface, while packets pass.
    let words = format!("reconfig {ferrovia} --interface memif --dst random:1000 --routes 1000");
    let found = results(dir.path(), &format!("{words} {ONCE}"));
    assert_eq!(found["measurements"][0]["outcome"]["outcome"], "done");
    assert_eq!(left_behind(dir.path()), [0; 0]);
}

/// The second repeat begins with a daemon that was restarted, and fails if nothing comes through.
#[suite::test(netns)]
fn a_restarted_daemon_connects_by_memif_again() {
    let Some(_lab) = lab::require(&["root"]) else { return };
    let dir = tempfile::tempdir().unwrap();
    let ferrovia = format!("ferrovia:{}", fixture::programs().ferrovia.display());
    let words = format!("reset {ferrovia} --interface memif --rate 500 --duration 2 --repeats 2");
    let found = results(dir.path(), &format!("{words} --quiet --no-selftest"));
    let one = &found["measurements"][0];
    assert_eq!(one["outcome"]["outcome"], "done", "{one}");
    assert_eq!(one["series"][0]["name"], "reset_time");
    assert_eq!(one["series"][0]["values"].as_array().unwrap().len(), 2);
    for trial in one["trials"].as_array().unwrap() {
        for counts in trial["directions"].as_array().unwrap() {
            let [received, lost, changed] =
                ["received", "lost", "changed"].map(|name| counts[name].as_u64());
            assert!(received > Some(0) && lost > Some(0) && changed == Some(0), "{counts}");
        }
    }
}

#[suite::test(netns)]
fn the_tester_is_measured_over_memif() {
    let dir = tempfile::tempdir().unwrap();
    let words = "selftest --port memif --max-rate 2000 --duration 200ms --repeats 1 --width 0.5";
    let output = tester(dir.path(), &format!("{words} --csv all.csv --quiet"));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(matches!(output.status.code(), Some(0 | 4)), "{output:?}");
    assert!(text.contains("tester itself over memif ports"), "{text}");
}
