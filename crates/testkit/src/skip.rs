// SPDX-License-Identifier: Apache-2.0
//! Tests that can't run on this machine: one place that reports them, counts them, and decides
//! whether that is a failure.

use std::{fs::OpenOptions, io::Write, path::Path};

/// A resource that a machine may lack without being at fault: it can't be installed. A test that
/// needs it is skipped in CI too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lack {
    /// Huge pages: kernels of small virtual machines are built without HUGETLBFS.
    HugePages,
    /// A processor whose registers user-mode Linux can save: with AMX they are more than it has
    /// room for, and its first process dies.
    UserModeLinux,
}

impl Lack {
    fn why(self) -> &'static str {
        match self {
            Lack::HugePages => "this kernel has no huge pages",
            Lack::UserModeLinux => "user-mode Linux has no room for this processor's AMX registers",
        }
    }
}

/// Skips the running test, which returns after the call. The reason goes to standard error and into
/// the file that `FERROVIA_SKIPS` names; `make test` subtracts these tests from those that passed.
///
/// With `CI` set this **panics**: there, the setup code of the project provides all that tests
/// need, and a test that doesn't run is a fault of the machine that has to be reported.
#[track_caller]
pub fn skip(why: &str) {
    let line = line(why);
    assert!(std::env::var_os("CI").is_none(), "{line}with CI set, every test has to run");
    report(&line);
}

/// The same for what no setup can provide: a skip in CI too.
pub fn skip_lacking(lack: Lack) {
    report(&line(lack.why()));
}

/// True if a device file is there; if not, the running test is skipped as by [`skip`].
#[track_caller]
pub fn has_file(path: &str) -> bool {
    let there = Path::new(path).exists();
    if !there {
        skip(&format!("{path} doesn't exist"));
    }
    there
}

/// The value, or for an error of a call that only root may do, a skip as by [`skip`].
#[track_caller]
pub fn or_skip<T, E: std::fmt::Display>(doing: &str, result: Result<T, E>) -> Option<T> {
    result.map_err(|error| skip(&format!("can't {doing}: {error}"))).ok()
}

/// `SKIPPED BINARY TEST: why`. Reasons of one test begin alike, so that readers count it once.
fn line(why: &str) -> String {
    let variable = |name| std::env::var(name).ok();
    let binary = variable("NEXTEST_BINARY_ID").or_else(|| {
        let program = std::env::current_exe().ok()?;
        Some(program.file_stem()?.to_string_lossy().into_owned())
    });
    let test =
        variable("NEXTEST_TEST_NAME").or_else(|| std::thread::current().name().map(String::from));
    let why = why.replace('\n', " | ");
    format!("SKIPPED {} {}: {why}\n", binary.unwrap_or_default(), test.unwrap_or_default())
}

fn report(line: &str) {
    // not eprint!, which the test harness keeps to itself when a test passes
    let _ = std::io::stderr().write_all(line.as_bytes());
    if let Some(file) = std::env::var_os("FERROVIA_SKIPS") {
        let file = OpenOptions::new().create(true).append(true).open(file);
        let _ = file.and_then(|mut file| file.write_all(line.as_bytes()));
    }
}
