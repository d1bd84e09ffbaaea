// SPDX-License-Identifier: Apache-2.0

use super::*;

fn package(dir: &str, deps: &[(&str, bool)]) -> Package {
    let name = dir.rsplit('/').next().unwrap();
    Package {
        dir: dir.into(),
        name: format!("ferrovia-{name}"),
        library: Some(name.replace('-', "_")),
        deps: deps.iter().map(|(to, dev)| (to.to_string(), *dev)).collect(),
        ..Package::default()
    }
}

/// Runs the tests of these crates.
fn family(name: &str, crates: &[&str]) -> Package {
    let deps: Vec<_> = crates.iter().map(|dir| (*dir, false)).collect();
    Package {
        name: format!("ferrovia-units-{name}"),
        library: None,
        suites: crates.iter().map(|dir| dir.to_string()).collect(),
        ..package(&format!("tests/units/{name}"), &deps)
    }
}

fn lab(program: &str, module: &str, covers: &str) -> Lab {
    Lab {
        program: program.into(),
        module: module.into(),
        covers: Some(covers.split(' ').map(String::from).collect()),
        text: "#[test]".into(),
    }
}

fn tree() -> Tree {
    let packages = vec![
        package("crates/wire", &[]),
        package("crates/graph", &[("crates/wire", false)]),
        package("crates/net", &[("crates/graph", false)]),
        package("features/ip", &[("crates/net", false)]),
        package("features/gre", &[("features/ip", false)]),
        package("features/path-mtu", &[("crates/net", false), ("features/gre", true)]),
        package("features/l2", &[("crates/net", false)]),
        package(
            "bin/ferrovia",
            &[("features/gre", false), ("features/path-mtu", false), ("features/l2", false)],
        ),
        package("bin/ferroctl", &[("crates/wire", false)]),
        package("tests", &[("bin/ferrovia", false)]),
        package("benches", &[("features/ip", false)]),
        family("tunnels", &["features/gre", "features/path-mtu"]),
        family("l2", &["features/l2"]),
        Package { library: None, ..package("xtask", &[]) },
    ];
    let labs = vec![
        lab("lab", "bridge", "features/l2"),
        lab("lab", "daemon", "bin/ferrovia"),
        lab("lab", "tunnels", "features/gre"),
        lab("clients", "papi", "bin/ferrovia features/ip"),
    ];
    Tree { packages, labs }
}

fn after(files: &[&str]) -> Affected {
    let files: Vec<_> = files.iter().map(|f| f.to_string()).collect();
    decide(&tree(), &files, |file| match file {
        "docs/api.md" => vec!["bin/ferrovia/src/api/tests.rs".into(), "xtask/src/docs.rs".into()],
        "extras/man/a.8" => vec!["bin/ferroctl/src/args.rs".into()],
        "extras/startup.conf" | "Makefile" => vec!["xtask/src/verbs.rs".into()],
        _ => vec![],
    })
}

fn packages(affected: &Affected) -> Vec<&str> {
    affected.packages.keys().map(String::as_str).collect()
}

fn modules(affected: &Affected) -> Vec<&str> {
    affected.labs.iter().map(|(_, module)| module.as_str()).collect()
}

#[test]
fn dependents_are_affected_and_neighbours_are_not() {
    let found = after(&["features/gre/src/node.rs"]);
    assert_eq!(
        packages(&found),
        [
            "bin/ferrovia",
            "features/gre",
            "features/path-mtu",
            "tests",
            "tests/units/tunnels",
            "xtask"
        ]
    );
    assert_eq!(found.packages["features/gre"], "features/gre/src/node.rs");
    assert_eq!(found.packages["features/path-mtu"], "its tests use features/gre");
    assert_eq!(found.packages["bin/ferrovia"], "depends on features/gre");
    assert_eq!(modules(&found), ["tunnels"], "the daemon's laboratories aren't chosen through it");
    assert_eq!((found.all, found.smoke), (None, None));
}

#[test]
fn a_change_in_tests_stays_in_its_package() {
    for file in
        ["features/ip/src/tests.rs", "features/ip/src/a/tests/b.rs", "features/ip/tests/x.rs"]
    {
        assert_eq!(packages(&after(&[file])), ["features/ip", "tests", "xtask"], "{file}");
    }
    // A library that tests of another package use is not the tests.
    assert!(!packages(&after(&["features/path-mtu/src/lib.rs"])).contains(&"features/gre"));
}

#[test]
fn a_change_of_what_most_stand_on_takes_them_along() {
    let found = after(&["crates/net/src/fib.rs"]);
    assert_eq!(packages(&found).len(), 11);
    assert_eq!(modules(&found), ["papi", "bridge", "tunnels"]);
    assert!(!packages(&found).contains(&"bin/ferroctl"));
}

#[test]
fn the_foundation_and_the_rules_of_the_build_affect_everything() {
    for file in [
        "crates/graph/src/lib.rs",
        "crates/wire/src/tests.rs",
        "xtask/src/main.rs",
        "Cargo.toml",
        "Cargo.lock",
        ".config/nextest.toml",
        ".cargo/config.toml",
        ".ci/run",
        "rust-toolchain.toml",
        "clippy.toml",
        "features/gone/src/lib.rs",
        "unknown.bin",
    ] {
        let found = after(&["features/gre/src/lib.rs", file]);
        assert!(found.all.as_ref().is_some_and(|why| why.starts_with(file)), "{file}: {found:?}");
        assert!(found.packages.is_empty());
        assert_eq!(selection(&tree(), &found), ["--workspace"]);
        assert_eq!(filter(&tree(), &found), None);
    }
}

#[test]
fn texts_need_their_checks_only() {
    let texts =
        ["README.md", "CHANGELOG.md", "docs/a.md", "Makefile", ".ci/passed.tsv", ".ci/limits.tsv"];
    let found = after(&texts);
    assert!(found.is_text(), "{found:?}");
    assert!(after(&[]).is_text());
    let found = after(&["docs/api.md"]);
    assert_eq!(packages(&found), ["bin/ferrovia", "tests", "xtask"]);
    assert_eq!(found.packages["bin/ferrovia"], "bin/ferrovia/src/api/tests.rs reads docs/api.md");
    assert_eq!(found.smoke, None);
    assert_eq!(packages(&after(&["extras/man/a.8"])), ["bin/ferroctl", "tests", "xtask"]);
    assert_eq!(packages(&after(&["extras/startup.conf"])), ["tests", "xtask"]);
}

#[test]
fn the_programs_that_ship_are_tried_after_dangerous_changes() {
    for (file, tried) in [
        ("crates/graph/src/frame.rs", true),
        ("crates/graph/src/tests/frame.rs", false),
        ("drivers/tap/src/lib.rs", true),
        ("bin/ferrovia/src/main.rs", true),
        ("bin/ferrovia/tests/process.rs", false),
        ("crates/net/src/lib.rs", false),
        ("features/ip/src/lib.rs", false),
    ] {
        assert_eq!(after(&[file]).smoke.is_some(), tried, "{file}");
    }
}

#[test]
fn laboratories_follow_their_own_files() {
    assert_eq!(modules(&after(&["tests/lab/bridge.rs"])), ["bridge"]);
    assert_eq!(packages(&after(&["tests/lab/bridge.rs"])), ["tests", "xtask"]);
    assert_eq!(modules(&after(&["tests/fixture/cli.rs"])).len(), 4);
    assert_eq!(modules(&after(&["bin/ferrovia/src/main.rs"])), ["papi", "daemon"]);
    assert_eq!(modules(&after(&["tests/graph/names.rs"])), [""; 0]);
}

#[test]
fn the_filter_names_the_affected_crates_of_a_family() {
    let tree = tree();
    let found = after(&["features/path-mtu/src/lib.rs"]);
    assert_eq!(
        filter(&tree, &found).unwrap(),
        "package(=ferrovia-path-mtu) | package(=ferrovia-ferrovia) | \
         (package(=ferrovia-tests) & not (binary(=lab) | binary(=clients))) | \
         (package(=ferrovia-units-tunnels) & test(/^((serial|netns)::)?(path_mtu)::/)) | package(=ferrovia-xtask)"
    );
    assert_eq!(selection(&tree, &found)[..2], ["-p", "ferrovia-path-mtu"]);
    let found = after(&["features/gre/src/lib.rs"]);
    let filter_of_gre = filter(&tree, &found).unwrap();
    assert!(filter_of_gre.contains("?(gre|path_mtu)::/"), "{filter_of_gre}");
    assert!(
        filter_of_gre.contains(
            "(package(=ferrovia-tests) & binary(=lab) & test(/^((serial|netns)::)?(lab::)?(tunnels)::/))"
        ),
        "{filter_of_gre}"
    );
    // Its own file says which crates it has.
    let found = after(&["tests/units/tunnels/main.rs"]);
    assert!(filter(&tree, &found).unwrap().contains("| package(=ferrovia-units-tunnels) |"));
}

#[test]
fn readers_name_a_file_in_code() {
    let sources = [
        ("a.rs".to_string(), "// docs/api.md tells\nlet x = \"docs/api.md\";".to_string()),
        ("b.rs".to_string(), "// docs/api.md tells\n".to_string()),
        ("c.rs".to_string(), "dir.join(\"extras/man\").join(name)".to_string()),
        ("d.rs".to_string(), "let extras = 1;".to_string()),
    ];
    assert_eq!(readers(&sources, "docs/api.md"), ["a.rs"]);
    assert_eq!(readers(&sources, "extras/man/x.8"), ["c.rs"]);
    assert_eq!(readers(&sources, "docs/other.md"), [""; 0]);
}

#[test]
fn every_feature_of_this_tree_affects_the_daemon_and_not_everything() {
    let tree = Tree::read().unwrap();
    let features = tree.packages.iter().filter(|p| p.dir.starts_with("features/"));
    for feature in features {
        let found = decide(&tree, &[format!("{}/src/lib.rs", feature.dir)], |_| vec![]);
        assert!(
            found.has(feature) && found.packages.contains_key("bin/ferrovia"),
            "{}",
            feature.dir
        );
        assert!(found.packages.len() < tree.packages.len(), "{}", feature.dir);
    }
}
