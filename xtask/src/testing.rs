// SPDX-License-Identifier: Apache-2.0
//! The verbs that run tests: of the usual build, of what ships, under AddressSanitizer, and tests
//! that take long.

use std::path::PathBuf;
use std::process::Command;

use crate::builds::{Build, nextest, target_dir};
use crate::counts::Counts;
use crate::sanitizer::{sanitized_dir, watched};
use crate::sh::{self, Res};
use crate::verbs;
use crate::workspace::{self, Package};
use crate::{labs, setup};

/// Packages whose code decides who owns which bytes: their tests run in an optimised build without
/// debug assertions too.
const SHIPPED: &[&str] = &[
    "ferrovia-buffer",
    "ferrovia-graph",
    "ferrovia-mfib",
    "ferrovia-ip",
    "ferrovia-ip-reassembly",
];

/// Packages whose tests run under AddressSanitizer, beside those of the graph of all plugins:
/// drivers, and what lies below them.
const SANITIZED: &[&str] = &[
    "ferrovia-mem",
    "ferrovia-buffer",
    "ferrovia-graph",
    "ferrovia-mfib",
    "ferrovia-ip-reassembly",
    "ferrovia-driver",
    "ferrovia-af-packet",
    "ferrovia-af-xdp",
    "ferrovia-pg",
    "ferrovia-memif",
    "ferrovia-pcap",
    "ferrovia-tap",
    "ferrovia-vhost-user",
];

/// Laboratories for the daemon as it ships: whatever copies, chains, fragments or reassembles, and
/// those that start it and end it.
const LABORATORY: &[&str] = &[
    "daemon",
    "forward",
    "fragments",
    "generator",
    "mixed",
    "multicast",
    "path_mtu",
    "punt",
    "restart",
    "six",
];

/// Laboratories that show in a minute that the daemon starts, carries packets and ends.
const SMOKE: &[&str] = &["daemon", "restart"];

/// Chooses the tests that take long; they are marked `#[ignore = "long: …"]` as well, `cargo xtask
/// sources` holds both together.
const LONG: &str = "test(/(^|::)long_/)";

/// Runs the command and counts the tests that its closing lines report, without those that couldn't
/// run here.
fn count(command: &mut Command, total: &mut Counts) -> Res {
    let skips = target_dir().join("skipped-tests.txt");
    sh::write(&skips, "")?;
    let mut counts = Counts::default();
    let result = sh::watch(command.env("FERROVIA_SKIPS", &skips), |line| {
        counts = counts + Counts::of_line(line).unwrap_or_default();
    });
    let skipped = sh::read(&skips)?;
    skipped.lines().for_each(|line| println!("{line}"));
    *total = *total + counts.less(&skipped);
    result
}

/// Cargo's words for the tests of these packages. Tests of a library with the feature `tests` are
/// in the program of its family; here each becomes a program of its own.
fn units(names: &[&str], packages: &[Package]) -> Vec<String> {
    let has_tests = |name: &str| packages.iter().any(|p| p.name == name && p.has_tests);
    let features: Vec<_> = names
        .iter()
        .filter(|name| has_tests(name))
        .map(|name| format!("{name}/{}", workspace::TESTS))
        .collect();
    let mut words: Vec<String> = Vec::new();
    if !features.is_empty() {
        words.extend(["--lib", "--tests", "--features"].map(String::from));
        words.push(features.join(","));
    }
    words
}

/// `-p` for each package, and what its tests need.
fn packages(names: &[&str]) -> Res<Vec<String>> {
    let chosen = names.iter().flat_map(|name| ["-p".to_string(), name.to_string()]);
    Ok(chosen.chain(units(names, &workspace::packages()?)).collect())
}

/// The packages that words for nextest name.
fn named<'a>(args: &[&'a str]) -> Vec<&'a str> {
    let own = args.iter().position(|arg| *arg == "--").map_or(args, |end| &args[..end]);
    let by_word =
        own.windows(2).filter(|w| matches!(w[0], "-p" | "--package")).map(|words| words[1]);
    by_word.chain(own.iter().filter_map(|arg| arg.strip_prefix("--package="))).collect()
}

/// True if words for nextest choose among the programs of a package.
fn choose_programs(args: &[&str]) -> bool {
    let choices = ["--lib", "--test", "--tests", "--bin", "--bins", "--all-targets", "--example"];
    args.iter().any(|arg| choices.contains(&arg.split('=').next().unwrap_or_default()))
}

/// The verb `test`: every test of the usual build. `args` go to nextest (or to `cargo test` where
/// it can't be had).
pub fn test(args: &[&str], counts: &mut Counts) -> Res {
    setup::ensure(&[setup::BUILD, setup::HOSTS, setup::PEERS])?;
    let chosen = !args.is_empty();
    if let Err(why) = setup::NEXTEST.ensure() {
        println!("== {why}: going on with `cargo test`, one test at a time");
        let mut command = sh::cargo("test --no-fail-fast");
        command.args(if chosen { args } else { &["--workspace"] }).args(["--", "--test-threads=1"]);
        return count(&mut command, counts);
    }
    if !chosen {
        return all(&Build::dev(), None, counts);
    }
    let names = named(args);
    let mut command = nextest();
    if names.is_empty() {
        command.arg("--workspace");
    } else if !choose_programs(args) {
        command.args(units(&names, &workspace::packages()?));
    }
    count(command.args(args), counts)
}

/// The tests of a build that `filter` chooses, or all of them, and those of its documentation.
pub fn all(build: &Build, filter: Option<&str>, counts: &mut Counts) -> Res {
    setup::ensure(&[setup::BUILD, setup::HOSTS, setup::PEERS])?;
    setup::NEXTEST.ensure()?;
    let programs = build.daemon()?;
    let mut command = build.nextest();
    command.args(filter.iter().flat_map(|filter| ["-E", filter]));
    let result = count(command.env("FERROVIA_PROGRAMS", programs), counts);
    let documentation = count(&mut build.cargo("test --no-fail-fast --doc"), counts);
    result.and(documentation)
}

/// The verb `test-release`: tests of what ships, optimised, and without debug assertions.
pub fn release(counts: &mut Counts) -> Res {
    let units = shipped_units(counts);
    units.and(shipped_laboratory(&Build::dev(), counts))
}

/// Tests of the packages [`SHIPPED`], compiled as what ships is, but for the optimisation across
/// crates.
pub fn shipped_units(counts: &mut Counts) -> Res {
    setup::ensure(&[setup::BUILD, setup::HOSTS, setup::PEERS])?;
    setup::NEXTEST.ensure()?;
    count(nextest().args(packages(SHIPPED)?).args(["--cargo-profile", "quick"]), counts)
}

/// The laboratory, which `build` has, with the very programs that ship.
pub fn shipped_laboratory(build: &Build, counts: &mut Counts) -> Res {
    laboratory(build, LABORATORY, verbs::build_release()?, counts)
}

/// The shortest laboratories with the programs as they ship, but for the optimisation across
/// crates, which takes long.
pub fn smoke(build: &Build, counts: &mut Counts) -> Res {
    laboratory(build, SMOKE, verbs::build_quick()?, counts)
}

fn laboratory(build: &Build, modules: &[&str], programs: PathBuf, counts: &mut Counts) -> Res {
    setup::ensure(&[setup::BUILD, setup::HOSTS, setup::PEERS])?;
    setup::NEXTEST.ensure()?;
    let tests = labs::begins(Some("lab"), modules).unwrap_or_default();
    let filter = format!("package(=ferrovia-tests) & binary(=lab) & {tests}");
    let mut command = build.nextest();
    count(command.args(["-E", &filter]).env("FERROVIA_PROGRAMS", programs), counts)
}

/// Tests of the graph that an instrumented build can't pass: it keeps what was freed, so resident
/// memory says nothing.
const UNSANITIZED: &[&str] = &[
    "memory_of_many_interfaces_is_linear",
    "interfaces_that_go_leave_nothing_behind",
    "bonds_that_go_leave_nothing_behind",
];

/// The tests of [`SANITIZED`] and of the whole graph under AddressSanitizer. Not the laboratory:
/// `make soak ARGS=--asan` does more to an instrumented daemon.
pub fn asan(args: &[&str], counts: &mut Counts) -> Res {
    let units = asan_units(args, counts);
    let filter = format!("not test(/(^|::)interfaces::({})$/)", UNSANITIZED.join("|"));
    let graph = ["-p", "ferrovia-tests", "--test", "graph", "-E", &filter].map(String::from);
    units.and(asan_run(&graph, args, counts))
}

/// The tests of [`SANITIZED`] alone, for CI: there the corpus of the fuzzer goes through the whole
/// graph.
pub fn asan_units(args: &[&str], counts: &mut Counts) -> Res {
    setup::ensure(&[setup::BUILD, setup::HOSTS, setup::PEERS])?;
    setup::NEXTEST.ensure()?;
    asan_run(&packages(SANITIZED)?, args, counts)
}

fn asan_run(chosen: &[String], args: &[&str], counts: &mut Counts) -> Res {
    let mut command = nextest();
    watched(&mut command).env("CARGO_TARGET_DIR", sanitized_dir()).args(chosen);
    // A name that is asked for is in one of both runs.
    count(command.args(["--cargo-profile", "asan", "--no-tests", "pass"]).args(args), counts)
}

/// Tests that take minutes each, one after the other, with what they print.
pub fn long(args: &[&str], counts: &mut Counts) -> Res {
    setup::ensure(&[setup::BUILD, setup::HOSTS, setup::PEERS])?;
    setup::NEXTEST.ensure()?;
    let mut command = nextest();
    command.args(["--workspace", "--run-ignored", "only", "--no-capture", "-E", LONG]).args(args);
    count(&mut command, counts)
}

/// The loom models: concurrent code under every interleaving, up to a bound. They are a build of
/// their own.
pub fn models(counts: &mut Counts) -> Res {
    setup::ensure(&[setup::BUILD])?;
    let mut command =
        sh::cargo("test -p ferrovia-sync --features ferrovia-sync/tests --release --lib models");
    command.env("RUSTFLAGS", "--cfg loom").env("CARGO_TARGET_DIR", target_dir().join("loom"));
    count(&mut command, counts)
}

/// Changes of routes, tables, interfaces and neighbours for so many seconds, with readers, with
/// debug assertions.
pub fn churn(seconds: &str) -> Res {
    seconds.parse::<u64>().map_err(|_| format!("{seconds}: expected a number of seconds"))?;
    setup::ensure(&[setup::BUILD])?;
    let mut command =
        sh::cargo("test -p ferrovia-units-net --test net -- --ignored --nocapture net_churn");
    sh::run(command.env("FERROVIA_CHURN", seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn crates() -> Vec<Package> {
        let named =
            |name: &str, has_tests| Package { name: name.into(), has_tests, ..Package::default() };
        vec![named("ferrovia-wire", true), named("ferrovia-ip", true), named("ferrovia-pg", false)]
    }

    #[test]
    fn tests_of_a_library_are_asked_for_by_its_feature() {
        assert_eq!(
            units(&["ferrovia-wire", "ferrovia-pg", "ferrovia-ip"], &crates()),
            ["--lib", "--tests", "--features", "ferrovia-wire/tests,ferrovia-ip/tests"]
        );
        assert_eq!(units(&["ferrovia-pg"], &crates()), [""; 0]);
    }

    #[test]
    fn words_for_nextest_are_looked_at() {
        assert_eq!(
            named(&["-p", "a", "--package=b", "--package", "c", "--", "-p", "d"]),
            ["a", "c", "b"]
        );
        assert!(named(&["-E", "test(x)"]).is_empty());
        assert!(choose_programs(&["-p", "a", "--test=x"]) && !choose_programs(&["-p", "a"]));
    }

    #[test]
    fn the_tests_that_are_chosen_by_name_are_there() {
        let labs = labs::read(&sh::root()).unwrap();
        for module in LABORATORY.iter().chain(SMOKE) {
            assert!(labs.iter().any(|l| l.program == "lab" && l.module == *module), "{module}");
        }
        let graph = sh::read(sh::root().join("tests/graph/interfaces.rs")).unwrap();
        for test in UNSANITIZED {
            assert!(graph.contains(&format!("fn {test}()")), "{test}");
        }
        let packages = workspace::packages().unwrap();
        for name in SHIPPED.iter().chain(SANITIZED) {
            assert!(packages.iter().any(|p| p.name == *name), "{name}");
        }
    }
}
