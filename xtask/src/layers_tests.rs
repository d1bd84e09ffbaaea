// SPDX-License-Identifier: Apache-2.0

use serde_json::json;

use super::*;

fn faults(from: &str, to: &str, dev: bool) -> Vec<String> {
    check(&[Package { dir: from.into(), deps: vec![(to.into(), dev)] }]).faults
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
    let arp =
        Package { dir: "features/arp".into(), deps: vec![("features/ethernet".into(), false)] };
    let report = check(&[arp]);
    assert!(report.faults.is_empty());
    assert_eq!(report.parents, [("features/arp".to_string(), "features/ethernet".to_string())]);
}

#[test]
fn testkit_is_for_tests() {
    assert!(faults("crates/wire", TESTKIT, true).is_empty());
    refused("crates/wire", TESTKIT, "dev-dependencies");
    refused("bin/ferrovia", TESTKIT, "dev-dependencies");
    allowed("benches", TESTKIT);
    allowed("tests", TESTKIT);
    allowed(TESTKIT, "crates/graph");
    refused(TESTKIT, "features/ip", "platform only");
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
}

#[test]
fn a_package_without_a_layer_is_a_fault_even_with_no_arrow() {
    let report = check(&[Package { dir: "crates/misc".into(), deps: vec![] }]);
    assert_eq!(report.faults, ["crates/misc has no layer: give it one in xtask/src/layers.rs"]);
    refused("bin/ferrovia", "crates/misc", "no layer");
    // A name that only begins like a known one isn't known.
    refused("bin/ferrovia", "crates/wires", "no layer");
}

#[test]
fn metadata_is_read_by_path_and_kind() {
    let metadata = json!({ "packages": [{
        "name": "ferrovia-net", "manifest_path": "/src/crates/net/Cargo.toml",
        "dependencies": [
            { "name": "ferrovia-graph", "path": "/src/crates/graph", "kind": null },
            { "name": "ferrovia-graph", "path": "/src/crates/graph", "kind": null, "target": "cfg(unix)" },
            { "name": "ferrovia-testkit", "path": "/src/crates/testkit", "kind": "dev" },
            { "name": "libc", "kind": null }
        ]
    }]});
    let expected = Package {
        dir: "crates/net".into(),
        deps: vec![("crates/graph".into(), false), ("crates/testkit".into(), true)],
    };
    assert_eq!(packages(&metadata, "/src"), Ok(vec![expected]));
}

#[test]
fn this_tree_keeps_its_layers() {
    assert_eq!(check(&workspace().unwrap()).faults, Vec::<String>::new());
}
