// SPDX-License-Identifier: Apache-2.0
//! Numbers of tests that passed, failed and were skipped, from the closing lines of test runners.

use std::collections::BTreeSet;
use std::fmt;
use std::iter::Sum;
use std::ops::Add;

/// Counts of one run, or of several.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    pub passed: u64,
    pub failed: u64,
    /// Not run: a test that is ignored or not selected, or that reported that it can't run here.
    pub skipped: u64,
}

impl Counts {
    /// Counts of a line of nextest (`Summary […]`) or of Rust's own harness (`test result: …`);
    /// `None` for every other line.
    pub fn of_line(line: &str) -> Option<Counts> {
        let list = match line.trim_start().strip_prefix("Summary [") {
            Some(rest) => rest.split_once(" run: ")?.1,
            // Indented, it is a part of what nextest shows of a test that failed, which its own
            // summary counts.
            None => line.strip_prefix("test result: ")?.split_once(". ")?.1,
        };
        let mut counts = Counts::default();
        for part in list.split([',', ';']) {
            let mut words = part.split_whitespace();
            let (Some(Ok(n)), Some(what)) = (words.next().map(str::parse::<u64>), words.next())
            else {
                continue;
            };
            match what {
                "passed" => counts.passed += n,
                // "timed out", "exec failed"
                "failed" | "timed" | "exec" => counts.failed += n,
                "skipped" | "ignored" | "filtered" => counts.skipped += n,
                _ => {}
            }
        }
        Some(counts)
    }

    /// Counts as skipped the tests that reported that they can't run here, one line `SKIPPED BINARY
    /// TEST: why` for each reason: the runner counts them as passed.
    pub fn less(self, skips: &str) -> Counts {
        let tests: BTreeSet<_> =
            skips.lines().filter_map(|line| line.split_once(": ")).map(|l| l.0).collect();
        let n = (tests.len() as u64).min(self.passed);
        Counts { passed: self.passed - n, skipped: self.skipped + n, ..self }
    }
}

impl Add for Counts {
    type Output = Counts;

    fn add(self, other: Counts) -> Counts {
        Counts {
            passed: self.passed + other.passed,
            failed: self.failed + other.failed,
            skipped: self.skipped + other.skipped,
        }
    }
}

impl Sum for Counts {
    fn sum<I: Iterator<Item = Counts>>(all: I) -> Counts {
        all.fold(Counts::default(), Add::add)
    }
}

/// In the plain form that any reader of logs knows.
impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed, {} skipped", self.passed, self.failed, self.skipped)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(passed: u64, failed: u64, skipped: u64) -> Option<Counts> {
        Some(Counts { passed, failed, skipped })
    }

    #[test]
    fn lines_of_nextest_are_read() {
        let line = "Summary [   1.234s] 45 tests run: 43 passed (2 slow), 1 failed, 1 timed out, 3 skipped";
        assert_eq!(Counts::of_line(line), counts(43, 2, 3));
        let line = "     Summary [   0.007s] 1 test run: 1 passed, 0 skipped";
        assert_eq!(Counts::of_line(line), counts(1, 0, 0));
        let line = "Summary [  61.000s] 7/45 tests run: 5 passed (1 leaky), 1 failed, 1 exec failed, 3 skipped";
        assert_eq!(Counts::of_line(line), counts(5, 2, 3));
        assert_eq!(Counts::of_line("Summary"), None);
    }

    #[test]
    fn lines_of_the_harness_are_read() {
        let line = "test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 2 filtered out; finished in 0.12s";
        assert_eq!(Counts::of_line(line), counts(12, 0, 3));
        let line = "test result: FAILED. 1 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.1s";
        assert_eq!(Counts::of_line(line), counts(1, 2, 0));
        assert_eq!(Counts::of_line(&format!("    {line}")), None);
        assert_eq!(Counts::of_line("test a::b ... ok"), None);
    }

    #[test]
    fn a_test_that_could_not_run_has_not_passed() {
        let counts = Counts { passed: 10, failed: 1, skipped: 2 };
        let skips = "SKIPPED ferrovia-tests::lab ping: not root\nSKIPPED ferrovia-tests::lab ping: no program go\n\
            SKIPPED ferrovia-tap::host ping: not root\n";
        assert_eq!(counts.less(skips).to_string(), "8 passed, 1 failed, 4 skipped");
        assert_eq!(counts.less(""), counts);
        assert_eq!(Counts { passed: 1, ..counts }.less(skips).passed, 0);
    }

    #[test]
    fn runs_are_added() {
        let one = Counts { passed: 1, failed: 2, skipped: 3 };
        assert_eq!(
            [one, one].into_iter().sum::<Counts>().to_string(),
            "2 passed, 4 failed, 6 skipped"
        );
    }
}
