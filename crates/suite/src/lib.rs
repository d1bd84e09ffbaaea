// SPDX-License-Identifier: Apache-2.0
#![forbid(unsafe_code)]
//! Tests that lie in libraries, collected into few programs.
//!
//! `#[test]` functions exist only in a library that is compiled a second time, as a test program of
//! its own. Functions marked with [`test`](macro@test) are part of the library itself when its
//! cargo feature `tests` is on, and each registers itself in a list that the linker puts together.
//! A program that links such libraries runs the tests of all of them:
//!
//! ```text
//! suite::main!();
//! ```
//!
//! The program understands the options of the standard harness, so nextest runs it too. A test is
//! called `CRATE::MODULE::NAME`; the marks `serial` and `netns` stand in front.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};

#[doc(hidden)]
pub use linkme;
/// Makes the main function of a program that runs its own tests and those of each dependency that
/// the package's manifest names with `features = ["tests"]`, on one line.
pub use suite_derive::main;
/// Makes a function without arguments a test.
///
/// | mark | meaning |
/// |---|---|
/// | `#[suite::test(serial)]` | nothing else runs beside it |
/// | `#[suite::test(netns)]` | makes network namespaces or starts programs, as a laboratory does |
///
/// `#[ignore = "reason"]` and `#[should_panic(expected = "part of the message")]` work as usual,
/// below the attribute. In a library that is itself compiled as a test program (`cargo test --lib
/// --features tests`), the function is an ordinary `#[test]`, with the mark in front of its name.
pub use suite_derive::test;

/// A registered test.
#[derive(Debug)]
pub struct Case {
    /// Crate and modules, separated by `::`.
    pub module: &'static str,
    /// Mark, crate, modules and function, separated by `::`.
    pub name: &'static str,
    /// True if the test runs only when it is asked for.
    pub ignored: bool,
    /// For a test that has to panic: a part of the message.
    pub panics: Option<&'static str>,
    /// The test itself.
    pub run: fn(),
}

/// All tests of the libraries that this program links.
#[doc(hidden)]
#[linkme::distributed_slice]
pub static CASES: [Case];

impl Case {
    fn is_of(&self, name: &str) -> bool {
        self.module.split("::").next() == Some(name)
    }

    /// Runs the test; panics if it fails.
    fn check(&self) {
        let Some(expected) = self.panics else { return (self.run)() };
        let Err(panic) = catch_unwind(AssertUnwindSafe(self.run)) else {
            panic!("expected a panic with the message {expected:?}, but the test ended")
        };
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or_default();
        if !text.contains(expected) {
            eprintln!("expected a panic with the message {expected:?}");
            resume_unwind(panic);
        }
    }
}

/// The name under which the program knows a test of the calling module that has no mark: for tests
/// that start a helper in a process of its own (`--exact NAME --ignored`).
#[macro_export]
macro_rules! name {
    ($test:expr) => {
        $crate::name_of(::core::module_path!(), $test, cfg!(all(test, feature = "tests")))
    };
}

/// See [`name!`]. The standard harness leaves the crate out of names.
#[doc(hidden)]
pub fn name_of(module: &str, test: &str, standard: bool) -> String {
    let within = module.split_once("::").map(|(_, within)| within);
    match (standard, within) {
        (false, _) => format!("{module}::{test}"),
        (true, Some(within)) => format!("{within}::{test}"),
        (true, None) => test.into(),
    }
}

/// Runs the tests of these crates as the program's arguments say, which are those of the standard
/// harness. Other libraries that are linked belong to other programs. Fails if there is no test.
#[doc(hidden)]
pub fn run(crates: &[&str]) -> ExitCode {
    let is_ours = |case: &&Case| crates.iter().any(|name| case.is_of(name));
    let trial = |case: &'static Case| {
        Trial::test(case.name, || {
            case.check();
            Ok(())
        })
        .with_ignored_flag(case.ignored)
    };
    let trials: Vec<_> = CASES.iter().filter(is_ours).map(trial).collect();
    if trials.is_empty() {
        eprintln!("no test in {}", crates.join(", "));
        return ExitCode::FAILURE;
    }
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}
