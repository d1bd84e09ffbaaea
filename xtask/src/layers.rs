// SPDX-License-Identifier: Apache-2.0
//! The arrows between our packages, from `cargo metadata`, held against the layers of
//! ARCHITECTURE.md; and what may only become less: circles between files, and test programs.

use crate::sh::{self, Res};
use crate::workspace::{self, Package};
use crate::{circles, labs, limits, sources, suites};

/// Lower knows nothing of higher. Packages of one layer don't know each other, but for
/// [`SIDEWAYS`].
const LAYERS: &[&[&str]] = &[
    &[
        "crates/wire",
        "crates/mem",
        "crates/simd",
        "crates/sync",
        "crates/measure",
        "crates/msg-table",
    ],
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
    &["crates/object"],
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

/// Procedural macros: they make code for a crate and know none of ours, but for [`FACTS`].
const MACROS: &[&str] =
    &["crates/graph-derive", "crates/msg-macros", "crates/object-derive", "crates/suite-derive"];

/// A macro and the tables that it makes code of.
const FACTS: (&str, &str) = ("crates/msg-macros", "crates/msg-table");

/// Above everything, and known by nothing.
const TOOLS: &[&str] = &["xtask", "fuzz", "benches", "benches/*", "tests", "tests/*", "examples/*"];

/// Holds the daemon between two hosts, for its own tests and for tools that measure there.
const FIXTURE: &str = "tests";

/// Programs of the tests of all others, tools too.
const UNITS: &str = "tests/units/*";

/// Builds on what it tests with, and is only a dependency of the tests of anything but the tools.
const TESTKIT: &str = "crates/testkit";

/// Makes the tests of several crates into one program. It knows its macro only.
const SUITE: &str = "crates/suite";

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

fn is_for_tests(dir: &str) -> bool {
    matches!(dir, TESTKIT | SUITE)
}

fn layer(dir: &str) -> Option<usize> {
    LAYERS.iter().position(|layer| layer.iter().any(|p| matches(p, dir)))
}

/// The reason why `from` may not depend on `to`; `None` if it may. `dev`: for tests only.
fn fault(from: &str, to: &str, dev: bool) -> Option<String> {
    if from == "xtask" {
        return Some("xtask starts on a bare machine and depends on none of ours".into());
    }
    if is_tool(to) && !(to == FIXTURE && is_tool(from)) && !matches(UNITS, from) {
        return Some("nothing depends on a tool".into());
    }
    if is_tool(from) || (dev && is_for_tests(to)) {
        return None;
    }
    // The tools of tests have tests of their own.
    if is_for_tests(to) && !(from == TESTKIT && to == SUITE) {
        return Some(format!("{to} is for tests only"));
    }
    if (from, to) == FACTS {
        return None;
    }
    if MACROS.contains(&from) {
        return Some("a procedural macro depends on none of ours".into());
    }
    if MACROS.contains(&to) {
        return None;
    }
    if from == SUITE {
        return Some("suite knows its macro only".into());
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

/// True if every package stands on this one: those below the graph and the graph itself, and the
/// macros that make their code.
pub fn is_foundation(dir: &str) -> bool {
    let graph = layer("crates/graph");
    MACROS.contains(&dir) || layer(dir).is_some_and(|layer| Some(layer) <= graph)
}

/// Hold the arrows of `packages` against the layers.
pub fn check(packages: &[Package]) -> Report {
    let mut report = Report::default();
    for Package { dir, deps, .. } in packages {
        let known = layer(dir).is_some()
            || is_tool(dir)
            || is_for_tests(dir)
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

/// Circles between the files of each package: its directory with the files of the circle.
fn circles(packages: &[Package], files: &[(String, String)]) -> Vec<(String, Vec<String>)> {
    let of = |package: &Package| {
        let src = format!("{}/src/", package.dir);
        let own = files.iter().filter_map(|(path, code)| Some((path.strip_prefix(&src)?, &**code)));
        circles::of(own).into_iter().map(|files| (package.dir.clone(), files)).collect::<Vec<_>>()
    };
    packages.iter().flat_map(of).collect()
}

/// The verb `layers`.
pub fn verb() -> Res {
    let packages = workspace::packages()?;
    let report = check(&packages);
    for (child, parent) in &report.parents {
        println!("  {child} attaches itself to {parent}");
    }
    let mut faults = report.faults;
    let labs = labs::read(&sh::root())?;
    faults.extend(suites::packages(&packages));
    faults.extend(labs::faults(&labs, |dir| packages.iter().any(|p| p.dir == dir)));
    let circles = circles(&packages, &sources::all()?);
    let files = circles.iter().map(|(_, files)| files.len()).sum();
    let programs = limits::programs(&packages);
    let numbers =
        [(limits::CIRCLES, circles.len()), (limits::FILES, files), (limits::PROGRAMS, programs)];
    for (name, number) in numbers {
        faults.extend(limits::hold(name, number).err());
    }
    if faults.iter().any(|fault| fault.contains(limits::CIRCLES) || fault.contains(limits::FILES)) {
        circles.iter().for_each(|(dir, files)| println!("  {dir}: {}", files.join(", ")));
    }
    for fault in &faults {
        eprintln!("layers: {fault}");
    }
    let arrows: usize = packages.iter().map(|p| p.deps.len()).sum();
    if faults.is_empty() {
        println!("layers: {} packages, {arrows} arrows, none goes up", packages.len());
        Ok(())
    } else {
        Err(format!("layers: {} faults", faults.len()))
    }
}

#[cfg(test)]
#[path = "layers_tests.rs"]
mod tests;
