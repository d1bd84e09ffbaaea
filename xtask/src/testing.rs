// SPDX-License-Identifier: Apache-2.0
//! The verbs that run tests: of the usual build, of what ships, under AddressSanitizer, and tests
//! that take long.

use std::path::PathBuf;
use std::process::Command;

use crate::counts::Counts;
use crate::fuzz;
use crate::setup;
use crate::sh::{self, Res};
use crate::verbs::{self, target_dir};

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

/// Chooses tests of the laboratory for the daemon as it ships: whatever copies, chains, fragments
/// or reassembles, and those that start it and end it.
const LABORATORY: &str = "package(ferrovia-tests) and binary(lab) and \
    test(/^(daemon|forward|fragments|generator|mixed|multicast|path_mtu|punt|restart|six)::/)";

/// Chooses the tests that take long; they are marked `#[ignore = "long: …"]` as well, `cargo xtask
/// sources` holds both together.
const LONG: &str = "test(/(^|::)long_/)";

/// Target of AddressSanitizer builds: named, so that build scripts and macros aren't instrumented.
pub const TARGET: &str = "x86_64-unknown-linux-gnu";

/// Instruments memory accesses, and makes free packet buffers a fault to touch.
pub const ASAN_FLAGS: &str = "-Zsanitizer=address --cfg ferrovia_asan";

/// Options of the programs that run: leaks are no fault of a process that ends, the soak detects
/// memory that grows.
pub const ASAN_OPTIONS: &str = "detect_leaks=0:abort_on_error=1:quarantine_size_mb=64";

/// `command` with the variables of an AddressSanitizer build. The sanitizer's runtime comes with
/// every toolchain, but only an unstable option links it; the variable lets the pinned compiler
/// take that option, so that what is tested is made by the compiler that makes what ships, and
/// nothing has to be installed.
pub fn sanitized<'a>(command: &'a mut Command, flags: &str) -> &'a mut Command {
    command.env("RUSTC_BOOTSTRAP", "1").env("RUSTFLAGS", flags).env("CARGO_BUILD_TARGET", TARGET);
    command.env("ASAN_OPTIONS", ASAN_OPTIONS)
}

/// [`sanitized`] with the fuzzer's counters: the tests and the fuzzer's programs then take the same
/// libraries, which CI so compiles once.
pub fn watched(command: &mut Command) -> &mut Command {
    sanitized(command, &format!("{} {ASAN_FLAGS}", fuzz::FLAGS))
}

/// Where AddressSanitizer builds go.
pub fn sanitized_dir() -> PathBuf {
    target_dir().join("asan")
}

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

/// `cargo nextest run`.
fn nextest() -> Command {
    let mut command = sh::cargo("nextest run");
    if std::env::var_os("CI").is_some() {
        command.args(["--profile", "ci"]);
    }
    command
}

/// `-p` for each package.
fn packages<'a>(names: &[&'a str]) -> Vec<&'a str> {
    names.iter().flat_map(|name| ["-p", name]).collect()
}

/// Every test. `args` go to nextest (or to `cargo test` where it can't be had).
pub fn test(args: &[&str], counts: &mut Counts) -> Res {
    setup::ensure(&[setup::BUILD, setup::HOSTS, setup::PEERS])?;
    let chosen = !args.is_empty();
    if let Err(why) = setup::NEXTEST.ensure() {
        println!("== {why}: going on with `cargo test`, one test at a time");
        let mut command = sh::cargo("test --no-fail-fast");
        command.args(if chosen { args } else { &["--workspace"] }).args(["--", "--test-threads=1"]);
        return count(&mut command, counts);
    }
    let all = if args.contains(&"-p") { &[][..] } else { &["--workspace"] };
    let result = count(nextest().args(all).args(args), counts);
    if chosen {
        return result;
    }
    let documentation = count(&mut sh::cargo("test --no-fail-fast --workspace --doc"), counts);
    result.and(documentation)
}

/// Tests of what ships: optimised, and without debug assertions. The laboratory takes the very
/// programs that ship.
pub fn release(counts: &mut Counts) -> Res {
    setup::ensure(&[setup::BUILD, setup::HOSTS, setup::PEERS])?;
    setup::NEXTEST.ensure()?;
    let built = verbs::build_release()?;
    let units = count(nextest().args(packages(SHIPPED)).args(["--cargo-profile", "quick"]), counts);
    let mut command = nextest();
    // Of the whole workspace: those are the tests that the verb `test` has built.
    command.args(["--workspace", "-E", LABORATORY]).env("FERROVIA_PROGRAMS", built);
    units.and(count(&mut command, counts))
}

/// Chooses the tests of the graph that an instrumented build can pass: it keeps what was freed, so
/// resident memory says nothing.
const SANITIZED_GRAPH: &str = "not test(/^interfaces::(memory_of_many_interfaces_is_linear|(interfaces|bonds)_that_go_leave_nothing_behind)$/)";

/// The tests of [`SANITIZED`] and of the whole graph under AddressSanitizer. Not the laboratory:
/// `make soak ARGS=--asan` does more to an instrumented daemon.
pub fn asan(args: &[&str], counts: &mut Counts) -> Res {
    let units = asan_units(args, counts);
    units.and(asan_run(
        &["-p", "ferrovia-tests", "--test", "graph", "-E", SANITIZED_GRAPH],
        args,
        counts,
    ))
}

/// The tests of [`SANITIZED`] alone, for CI: there the corpus of the fuzzer goes through the whole
/// graph.
pub fn asan_units(args: &[&str], counts: &mut Counts) -> Res {
    setup::ensure(&[setup::BUILD, setup::HOSTS, setup::PEERS])?;
    setup::NEXTEST.ensure()?;
    asan_run(&packages(SANITIZED), args, counts)
}

fn asan_run(chosen: &[&str], args: &[&str], counts: &mut Counts) -> Res {
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
    let mut command = sh::cargo("test -p ferrovia-sync --release --lib models");
    command.env("RUSTFLAGS", "--cfg loom").env("CARGO_TARGET_DIR", target_dir().join("loom"));
    count(&mut command, counts)
}

/// Changes of routes, tables, interfaces and neighbours for so many seconds, with readers, with
/// debug assertions.
pub fn churn(seconds: &str) -> Res {
    seconds.parse::<u64>().map_err(|_| format!("{seconds}: expected a number of seconds"))?;
    setup::ensure(&[setup::BUILD])?;
    let mut command = sh::cargo("test -p ferrovia-net --test churn -- --ignored --nocapture");
    sh::run(command.env("FERROVIA_CHURN", seconds))
}
