// SPDX-License-Identifier: Apache-2.0
//! Our packages, as `cargo metadata` describes them.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::sh::{self, Res};

/// The cargo feature of a crate that compiles its tests into its library, for a program that runs
/// the tests of several crates.
pub const TESTS: &str = "tests";

/// One of our packages: its names, its tests, and which of ours it depends on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Package {
    /// Directory relative to the root of the tree.
    pub dir: String,
    /// The name that cargo's `-p` takes.
    pub name: String,
    /// The name of its library in code, if it has one.
    pub library: Option<String>,
    /// Directory of the dependency, and whether it is for tests only.
    pub deps: Vec<(String, bool)>,
    /// True if its library has the feature [`TESTS`].
    pub has_tests: bool,
    /// Directories of the crates whose tests this package runs: dependencies of which it asks for
    /// the feature [`TESTS`].
    pub suites: Vec<String>,
    /// Names of the test programs that cargo makes for it.
    pub programs: Vec<String>,
}

impl Package {
    /// True if it does nothing but run the tests of its [`Package::suites`].
    pub fn is_family(&self) -> bool {
        self.dir.starts_with("tests/units/")
    }
}

fn strings(list: &Value) -> impl Iterator<Item = &str> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str)
}

/// True if a dependency of this package exists for tests only: by its kind, or because it is
/// optional and nothing but the feature [`TESTS`] enables it.
fn is_for_tests(package: &Value, dependency: &Value) -> bool {
    if dependency["kind"] == "dev" {
        return true;
    }
    let key = dependency["rename"].as_str().or(dependency["name"].as_str()).unwrap_or_default();
    if dependency["optional"] != true || key.is_empty() {
        return false;
    }
    let enables = |item: &str| {
        item.strip_prefix("dep:") == Some(key)
            || item == TESTS
            || item.split_once('/').is_some_and(|(of, _)| of == key)
    };
    let features = package["features"].as_object();
    let mut by = features.into_iter().flatten().filter(|(_, items)| strings(items).any(enables));
    by.next().is_some_and(|(feature, _)| feature == TESTS) && by.next().is_none()
}

/// Test programs of a package: one for each target that cargo builds for `cargo test`.
fn programs(package: &Value) -> Vec<String> {
    let targets = package["targets"].as_array().into_iter().flatten();
    let is_program =
        |t: &&Value| t["test"] == true && !strings(&t["kind"]).any(|kind| kind == "example");
    targets.filter(is_program).filter_map(|t| t["name"].as_str().map(String::from)).collect()
}

/// Reads our packages out of `cargo metadata --no-deps`; `root` is the tree's root as cargo writes
/// it.
fn read(metadata: &Value, root: &str) -> Res<Vec<Package>> {
    let relative =
        |path: &str| path.strip_prefix(root).map(|p| p.trim_start_matches('/').to_string());
    let list = metadata["packages"].as_array().ok_or("cargo metadata has no packages")?;
    let package = |p: &Value| {
        let manifest = p["manifest_path"].as_str()?;
        let dir = relative(manifest.strip_suffix("/Cargo.toml")?)?;
        let (mut deps, mut suites) = (BTreeSet::new(), BTreeSet::new());
        for dependency in p["dependencies"].as_array()? {
            let Some(to) = dependency["path"].as_str().and_then(relative) else { continue };
            if strings(&dependency["features"]).any(|feature| feature == TESTS) {
                suites.insert(to.clone());
            }
            // Several entries of one package (by target, by kind) are one arrow;
            // build-dependencies count as plain.
            deps.insert((to, is_for_tests(p, dependency)));
        }
        let is_library = |t: &&Value| {
            strings(&t["kind"]).any(|kind| matches!(kind, "lib" | "rlib" | "proc-macro"))
        };
        let library = p["targets"].as_array().and_then(|targets| targets.iter().find(is_library));
        Some(Package {
            dir,
            name: p["name"].as_str()?.to_string(),
            library: library.and_then(|t| Some(t["name"].as_str()?.replace('-', "_"))),
            deps: deps.into_iter().collect(),
            has_tests: library.is_some() && p["features"].get(TESTS).is_some(),
            suites: suites.into_iter().collect(),
            programs: programs(p),
        })
    };
    list.iter()
        .map(|p| package(p).ok_or_else(|| format!("cargo metadata: odd package {}", p["name"])))
        .collect()
}

/// All our packages, as cargo sees them.
pub fn packages() -> Res<Vec<Package>> {
    let text = sh::output(&mut sh::cargo("metadata --no-deps --format-version 1"))?;
    let metadata: Value =
        serde_json::from_str(&text).map_err(|e| format!("cargo metadata: {e}"))?;
    let root = metadata["workspace_root"].as_str().ok_or("cargo metadata has no workspace_root")?;
    read(&metadata, root)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn packages_are_read_by_path_and_kind() {
        let metadata = json!({ "packages": [{
            "name": "ferrovia-net", "manifest_path": "/src/crates/net/Cargo.toml",
            "features": {},
            "targets": [
                { "name": "net", "kind": ["lib"], "test": true },
                { "name": "net-tool", "kind": ["bin"], "test": false },
                { "name": "churn", "kind": ["test"], "test": true },
                { "name": "shown", "kind": ["example"], "test": true }
            ],
            "dependencies": [
                { "name": "ferrovia-graph", "path": "/src/crates/graph", "kind": null },
                { "name": "ferrovia-graph", "path": "/src/crates/graph", "kind": null, "target": "cfg(unix)" },
                { "name": "ferrovia-testkit", "path": "/src/crates/testkit", "kind": "dev" },
                { "name": "libc", "kind": null }
            ]
        }]});
        let expected = Package {
            dir: "crates/net".into(),
            name: "ferrovia-net".into(),
            library: Some("net".into()),
            deps: vec![("crates/graph".into(), false), ("crates/testkit".into(), true)],
            programs: vec!["net".into(), "churn".into()],
            ..Package::default()
        };
        assert_eq!(read(&metadata, "/src"), Ok(vec![expected]));
    }

    /// The dependencies of a package with an optional dependency `kit` and these features.
    fn optional(features: Value) -> Package {
        let metadata = json!({ "packages": [{
            "name": "a", "manifest_path": "/src/crates/a/Cargo.toml", "features": features,
            "targets": [{ "name": "a", "kind": ["lib"], "test": false }],
            "dependencies": [{
                "name": "ferrovia-testkit", "rename": "kit", "path": "/src/crates/testkit",
                "kind": null, "optional": true
            }]
        }]});
        read(&metadata, "/src").unwrap().remove(0)
    }

    #[test]
    fn a_dependency_of_the_tests_alone_is_one_for_tests() {
        let kit = |dev| vec![("crates/testkit".to_string(), dev)];
        for (features, dev) in [
            (json!({ "tests": ["dep:kit"] }), true),
            (json!({ "tests": ["dep:kit", "kit/more"], "other": ["kit?/more"] }), true),
            (json!({ "tests": ["dep:kit"], "other": ["dep:kit"] }), false),
            (json!({ "tests": ["dep:kit"], "default": ["tests"] }), false),
            (json!({ "tests": ["kit"], "kit": ["dep:kit"] }), false),
            (json!({ "other": ["dep:kit"] }), false),
            (json!({}), false),
        ] {
            assert_eq!(optional(features.clone()).deps, kit(dev), "{features}");
        }
        assert!(optional(json!({ "tests": [] })).has_tests);
        assert!(!optional(json!({})).has_tests);
    }

    #[test]
    fn a_family_names_the_crates_whose_tests_it_runs() {
        let metadata = json!({ "packages": [{
            "name": "ferrovia-units-l2", "manifest_path": "/src/tests/units/l2/Cargo.toml",
            "features": {}, "targets": [{ "name": "l2", "kind": ["test"], "test": true }],
            "dependencies": [
                { "name": "a", "path": "/src/features/a", "kind": null, "features": ["tests"] },
                { "name": "b", "path": "/src/features/b", "kind": null, "features": ["x"] }
            ]
        }]});
        let family = read(&metadata, "/src").unwrap().remove(0);
        assert_eq!(family.suites, ["features/a"]);
        assert!(family.is_family() && family.library.is_none() && family.programs == ["l2"]);
    }

    #[test]
    fn this_tree_is_read() {
        let packages = packages().unwrap();
        let net = packages.iter().find(|p| p.dir == "crates/net").unwrap();
        assert!(net.deps.contains(&("crates/graph".into(), false)));
        assert_eq!(net.library.as_deref(), Some("net"));
    }
}
