// SPDX-License-Identifier: Apache-2.0

use super::*;

fn faults(from: &str, to: &str, dev: bool) -> Vec<String> {
    check(&[package(from, &[(to, dev)])]).faults
}

fn package(dir: &str, deps: &[(&str, bool)]) -> Package {
    let deps = deps.iter().map(|(to, dev)| (to.to_string(), *dev)).collect();
    Package { dir: dir.into(), deps, ..Package::default() }
}

fn allowed(from: &str, to: &str) {
    assert_eq!(faults(from, to, false), Vec::<String>::new(), "{from} -> {to}");
}

fn refused(from: &str, to: &str, why: &str) {
    let found = faults(from, to, false);
    assert!(found.len() == 1 && found[0].contains(why), "{from} -> {to}: {found:?}");
}

#[test]
fn arrows_down_are_fine_also_past_a_layer() {
    allowed("bin/ferrovia", "features/ip");
    allowed("bin/ferrovia", "crates/wire");
    allowed("features/ip", "crates/net");
    allowed("features/ip", "crates/simd");
    allowed("crates/net", "crates/graph");
    allowed("crates/graph", "crates/buffer");
    allowed("crates/buffer", "crates/mem");
}

#[test]
fn arrows_up_are_faults_in_every_layer() {
    for (high, upper) in LAYERS.iter().enumerate() {
        for lower in &LAYERS[..high] {
            for (from, to) in lower.iter().flat_map(|l| upper.iter().map(move |u| (l, u))) {
                let (from, to) = (from.replace('*', "a"), to.replace('*', "b"));
                refused(&from, &to, "goes up");
            }
        }
    }
}

#[test]
fn an_arrow_up_is_a_fault_for_tests_too() {
    assert_eq!(
        faults("crates/graph", "crates/net", true),
        ["crates/graph -> crates/net (dev): the arrow goes up"]
    );
}

#[test]
fn one_layer_does_not_know_itself() {
    refused("crates/tables", "crates/cli", "one layer");
    refused("bin/ferroctl", "bin/ferrovia", "one layer");
    refused("features/ip", "drivers/tap", "one layer");
    allowed("drivers/tap", "features/ethernet");
}

#[test]
fn a_feature_reports_its_parent() {
    let report = check(&[package("features/arp", &[("features/ethernet", false)])]);
    assert!(report.faults.is_empty());
    assert_eq!(report.parents, [("features/arp".to_string(), "features/ethernet".to_string())]);
}

#[test]
fn testkit_is_for_tests() {
    assert!(faults("crates/wire", TESTKIT, true).is_empty());
    refused("crates/wire", TESTKIT, "tests only");
    refused("bin/ferrovia", TESTKIT, "tests only");
    allowed("benches", TESTKIT);
    allowed("tests", TESTKIT);
    allowed(TESTKIT, "crates/graph");
    refused(TESTKIT, "features/ip", "platform only");
}

#[test]
fn the_suite_is_for_tests_and_knows_its_macro() {
    assert!(faults("features/ip", SUITE, true).is_empty());
    refused("features/ip", SUITE, "tests only");
    allowed("tests/units/ip", SUITE);
    allowed(TESTKIT, SUITE);
    allowed(SUITE, "crates/suite-derive");
    refused(SUITE, TESTKIT, "tests only");
    refused(SUITE, "crates/wire", "macro only");
}

#[test]
fn the_foundation_ends_with_the_graph() {
    for dir in ["crates/wire", "crates/cli", "crates/graph", "crates/msg-macros"] {
        assert!(is_foundation(dir), "{dir}");
    }
    for dir in ["crates/net", "features/ip", "crates/testkit", "tests", "bin/ferrovia"] {
        assert!(!is_foundation(dir), "{dir}");
    }
}

#[test]
fn tools_see_all_and_are_seen_by_none() {
    allowed("benches", "bin/ferrovia");
    refused("bin/ferrovia", "benches", "tool");
    refused("xtask", "crates/wire", "bare machine");
}

#[test]
fn macros_are_below_everything() {
    allowed("crates/graph", "crates/graph-derive");
    refused("crates/graph-derive", "crates/wire", "procedural macro");
    allowed("crates/msg-macros", "crates/msg-table");
    refused("crates/msg-macros", "crates/msg", "procedural macro");
}

#[test]
fn a_package_without_a_layer_is_a_fault_even_with_no_arrow() {
    let report = check(&[package("crates/misc", &[])]);
    assert_eq!(report.faults, ["crates/misc has no layer: give it one in xtask/src/layers.rs"]);
    refused("bin/ferrovia", "crates/misc", "no layer");
    // A name that only begins like a known one isn't known.
    refused("bin/ferrovia", "crates/wires", "no layer");
}

#[test]
fn this_tree_keeps_its_layers() {
    assert_eq!(check(&workspace::packages().unwrap()).faults, Vec::<String>::new());
}
