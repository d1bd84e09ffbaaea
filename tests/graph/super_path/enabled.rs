// SPDX-License-Identifier: Apache-2.0
//! Where the super-path is in use, and what may not stand behind it.

use super::make;
use daemon::plugins;
use graph::{Feature, Plugin, SwIfIndex, World, WorldConfig};

#[test]
fn in_use_where_ip_is_enabled() {
    let mut bench = make(true).bench;
    let world = bench.world.clone();
    let mut run = |line: &str| bench.cli(line).unwrap_or_else(|e| panic!("{line}: {e}"));
    let is_on = |arc: &str, node: &'static str| {
        let arc = world.arc(arc).expect("an arc");
        world.features_of(arc, SwIfIndex(2)).contains(&node)
    };
    let in_use = || is_on("device-input", "super-path");
    let behind_features = || is_on("ip4-unicast", "super-path-ip4-passed");
    let of_interface = "set interface feature e2 svs-ip4 arc ip4-unicast";
    assert!(in_use() && !behind_features());
    run("set urpf ip4 rx strict e2");
    assert!(in_use() && !behind_features(), "it has a check");
    run(of_interface);
    assert!(in_use() && behind_features());
    let shown = run("show super-path");
    let row = "e2 yes ip4-unicast: ip4-rx-urpf-strict ip4-unicast: svs-ip4";
    let is_row = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ") == row;
    assert!(shown.lines().any(is_row), "{shown}");
    run(&format!("{of_interface} disable"));
    assert!(in_use() && !behind_features());
    // An operator's own choice stays in force until control itself switches the node.
    run("set interface feature e2 super-path arc device-input disable");
    run("set urpf ip4 rx loose e2");
    assert!(!in_use());
    run("set super-path off");
    run("set super-path on");
    assert!(in_use());
}

#[test]
fn no_feature_may_stand_behind_it() {
    static LATE: Plugin = Plugin {
        name: "late",
        features: &[Feature {
            arc: "device-input",
            node: "ethernet-input",
            before: &[],
            after: &["super-path"],
        }],
        ..Plugin::EMPTY
    };
    let plugins: Vec<_> = plugins::ALL.iter().copied().chain([&LATE]).collect();
    let error =
        World::new(&WorldConfig { buffers: 1024, ..WorldConfig::default() }, plugins.leak());
    let error = error.err().expect("refused");
    assert!(
        error.contains("feature ethernet-input: on device-input it must come before super-path"),
        "{error}"
    );
}
