// SPDX-License-Identifier: Apache-2.0
//! The arrows between our packages, from `cargo metadata`, held against the layers of
//! ARCHITECTURE.md.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::sh::{self, Res};

/// Lower knows nothing of higher. Packages of one layer don't know each other, but for
/// [`SIDEWAYS`].
const LAYERS: &[&[&str]] = &[
    &["crates/wire", "crates/mem", "crates/simd", "crates/sync", "crates/measure"],
    &[
        "crates/buffer",
        "crates/tables",
        "crates/msg",
        "crates/cli",
        "crates/startup",
        "crates/stats",
        "crates/netlink",
    ],
    &["crates/graph"],
    &["crates/net"],
    &["crates/driver"],
    &["features/*", "drivers/*"],
    &["bin/*"],
];

/// Arrows within a layer that are wanted.
const SIDEWAYS: &[(&str, &str)] = &[
    // A feature attaches itself to its parent, which doesn't know its children; a driver likewise.
    ("features/*", "features/*"),
    ("drivers/*", "features/*"),
    // Commands and messages are two doors to one room: what goes wrong inside has the same words
    // at both.
    ("crates/msg", "crates/cli"),
    // Wrong words in startup.conf and in commands get hints by the same rule.
    ("crates/startup", "crates/cli"),
];

/// Procedural macros: they make code for a crate and know none of ours.
const MACROS: &[&str] = &["crates/graph-derive", "crates/msg-derive"];

/// Above everything, and known by nothing.
const TOOLS: &[&str] = &["xtask", "fuzz", "benches", "benches/*", "tests", "examples/*"];

/// Holds the daemon between two hosts, for its own tests and for tools that measure there.
const FIXTURE: &str = "tests";

/// Builds on what it tests with, and is only a dev-dependency of anything but the tools.
const TESTKIT: &str = "crates/testkit";

/// One of our packages: where it is, and which of ours it depends on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Package {
    /// Directory relative to the root of the tree.
    pub dir: String,
    /// Directory of the dependency, and whether it is for tests only.
    pub deps: Vec<(String, bool)>,
}

/// The result of [`check`].
#[derive(Debug, Default)]
pub struct Report {
    /// Arrows that must not be.
    pub faults: Vec<String>,
    /// Feature (or driver) and the feature it attaches itself to.
    pub parents: Vec<(String, String)>,
}

fn matches(pattern: &str, dir: &str) -> bool {
    match pattern.strip_suffix("/*") {
        Some(parent) => dir.strip_prefix(parent).is_some_and(|rest| rest.starts_with('/')),
        None => pattern == dir,
    }
}

fn is_tool(dir: &str) -> bool {
    TOOLS.iter().any(|t| matches(t, dir))
}

fn layer(dir: &str) -> Option<usize> {
    LAYERS.iter().position(|layer| layer.iter().any(|p| matches(p, dir)))
}

/// The reason why `from` may not depend on `to`; `None` if it may. `dev`: for tests only.
fn fault(from: &str, to: &str, dev: bool) -> Option<String> {
    if from == "xtask" {
        return Some("xtask starts on a bare machine and depends on none of ours".into());
    }
    if is_tool(to) && !(to == FIXTURE && is_tool(from)) {
        return Some("nothing depends on a tool".into());
    }
    if is_tool(from) || (dev && to == TESTKIT) {
        return None;
    }
    if to == TESTKIT {
        return Some("testkit is for dev-dependencies".into());
    }
    if MACROS.contains(&from) {
        return Some("a procedural macro depends on none of ours".into());
    }
    if MACROS.contains(&to) {
        return None;
    }
    if from == TESTKIT {
        return match to.split('/').next() {
            Some("crates") => None,
            _ => Some("testkit knows the platform only".into()),
        };
    }
    let (above, below) = match (layer(from), layer(to)) {
        (Some(above), Some(below)) => (above, below),
        (None, _) => {
            return Some(format!("{from} has no layer: give it one in xtask/src/layers.rs"));
        }
        (_, None) => return Some(format!("{to} has no layer: give it one in xtask/src/layers.rs")),
    };
    if above > below {
        None
    } else if above < below {
        Some("the arrow goes up".into())
    } else if SIDEWAYS.iter().any(|(f, t)| matches(f, from) && matches(t, to)) {
        None
    } else {
        Some("both are of one layer".into())
    }
}

/// Hold the arrows of `packages` against the layers.
pub fn check(packages: &[Package]) -> Report {
    let mut report = Report::default();
    for Package { dir, deps } in packages {
        let known = layer(dir).is_some()
            || is_tool(dir)
            || dir == TESTKIT
            || MACROS.contains(&dir.as_str());
        if !known {
            report.faults.push(format!("{dir} has no layer: give it one in xtask/src/layers.rs"));
            continue;
        }
        for (to, dev) in deps {
            if let Some(why) = fault(dir, to, *dev) {
                let kind = if *dev { " (dev)" } else { "" };
                report.faults.push(format!("{dir} -> {to}{kind}: {why}"));
            } else if !dev && to.starts_with("features/") && layer(dir) == layer(to) {
                report.parents.push((dir.clone(), to.clone()));
            }
        }
    }
    report.parents.sort();
    report
}

/// Read our packages out of `cargo metadata --no-deps`; `root` is the tree's root as cargo writes
/// it.
fn packages(metadata: &Value, root: &str) -> Res<Vec<Package>> {
    let relative =
        |path: &str| path.strip_prefix(root).map(|p| p.trim_start_matches('/').to_string());
    let list = metadata["packages"].as_array().ok_or("cargo metadata has no packages")?;
    let package = |p: &Value| {
        let manifest = p["manifest_path"].as_str()?;
        let dir = relative(manifest.strip_suffix("/Cargo.toml")?)?;
        // Several entries of one package (by target, by kind) are one arrow; build-dependencies
        // count as plain.
        let deps: BTreeSet<_> = p["dependencies"]
            .as_array()?
            .iter()
            .filter_map(|d| Some((relative(d["path"].as_str()?)?, d["kind"] == "dev")))
            .collect();
        Some(Package { dir, deps: deps.into_iter().collect() })
    };
    list.iter()
        .map(|p| package(p).ok_or_else(|| format!("cargo metadata: odd package {}", p["name"])))
        .collect()
}

/// All our packages, as cargo sees them.
pub fn workspace() -> Res<Vec<Package>> {
    let text = sh::output(&mut sh::cargo("metadata --no-deps --format-version 1"))?;
    let metadata: Value =
        serde_json::from_str(&text).map_err(|e| format!("cargo metadata: {e}"))?;
    let root = metadata["workspace_root"].as_str().ok_or("cargo metadata has no workspace_root")?;
    packages(&metadata, root)
}

/// The verb `layers`.
pub fn verb() -> Res {
    let packages = workspace()?;
    let report = check(&packages);
    for (child, parent) in &report.parents {
        println!("  {child} attaches itself to {parent}");
    }
    for fault in &report.faults {
        eprintln!("layers: {fault}");
    }
    let arrows: usize = packages.iter().map(|p| p.deps.len()).sum();
    if report.faults.is_empty() {
        println!("layers: {} packages, {arrows} arrows, none goes up", packages.len());
        Ok(())
    } else {
        Err(format!("layers: {} of {arrows} arrows must not be", report.faults.len()))
    }
}

#[cfg(test)]
#[path = "layers_tests.rs"]
mod tests;
