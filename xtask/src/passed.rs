// SPDX-License-Identifier: Apache-2.0
//! Records of passed steps, in a file of the tree, and the order in which steps are due.
//!
//! A record names the commit that passed. It counts only if that commit is an ancestor of what is
//! checked out, so a record from another branch, or of a commit that was rewritten, is none.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::changes;
use crate::sh::{self, Res};

const HEAD: &str = "# Steps of CI that passed: written by `make ci` on a clean tree, to be committed with the landing.
# step\tcommit\tdate\tseconds
";

/// Landings for which a step may stay unrun.
pub const PATIENCE: u64 = 4;

/// One step's last pass.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pass {
    pub commit: String,
    pub date: String,
    pub took: Duration,
}

/// The last passes by the names of the steps.
pub type Passes = BTreeMap<String, Pass>;

fn parse(text: &str) -> Res<Passes> {
    let line = |line: &str| {
        let cells: Vec<&str> = line.split('\t').collect();
        let [step, commit, date, seconds] = cells[..] else { return None };
        let took = Duration::from_secs(seconds.parse().ok()?);
        Some((step.to_string(), Pass { commit: commit.into(), date: date.into(), took }))
    };
    let lines = text.lines().filter(|l| !l.starts_with('#') && !l.is_empty());
    let read = lines.map(|l| {
        line(l).ok_or_else(|| {
            format!("{}: expected step, commit, date, seconds: {l}", changes::RECORDS)
        })
    });
    read.collect()
}

fn text(passes: &Passes) -> String {
    let line = |(step, pass): (&String, &Pass)| {
        format!("{step}\t{}\t{}\t{}\n", pass.commit, pass.date, pass.took.as_secs())
    };
    HEAD.to_string() + &passes.iter().map(line).collect::<String>()
}

/// The records of the tree.
pub fn read() -> Res<Passes> {
    let path = sh::root().join(changes::RECORDS);
    if path.exists() { parse(&sh::read(path)?) } else { Ok(Passes::new()) }
}

/// Writes what passed at `commit` into the records of the tree.
pub fn record(passed: &[(String, Duration)], commit: &str, date: &str) -> Res {
    let mut passes = read()?;
    passes.extend(passed.iter().map(|(step, took)| {
        (step.clone(), Pass { commit: commit.into(), date: date.into(), took: *took })
    }));
    sh::write(sh::root().join(changes::RECORDS), text(&passes))
}

/// The landings since each step's last pass; `None` for a step that never passed here.
pub fn ages<'a>(
    steps: impl IntoIterator<Item = &'a str>,
    passes: &Passes,
    landings: impl Fn(&str) -> Option<u64>,
) -> Vec<(&'a str, Option<u64>)> {
    let age = |step| (step, passes.get(step).and_then(|pass| landings(&pass.commit)));
    steps.into_iter().map(age).collect()
}

/// True if a step of this age waits for too long.
pub fn is_overdue(age: Option<u64>) -> bool {
    age.is_none_or(|landings| landings > PATIENCE)
}

/// Steps in the order in which they are due: the oldest first, and those that never passed before
/// them. Steps of one age take turns by the number of commits.
pub fn due<'a>(ages: &[(&'a str, Option<u64>)], commits: u64) -> Vec<&'a str> {
    let n = ages.len().max(1);
    let start = usize::try_from(commits % n as u64).unwrap_or(0);
    let mut order: Vec<_> = (0..ages.len()).map(|i| ages[(start + i) % n]).collect();
    order.sort_by_key(|(_, age)| std::cmp::Reverse(age.unwrap_or(u64::MAX)));
    order.into_iter().map(|(step, _)| step).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pass(commit: &str, seconds: u64) -> Pass {
        Pass {
            commit: commit.into(),
            date: "2026-11-28".into(),
            took: Duration::from_secs(seconds),
        }
    }

    #[test]
    fn the_file_is_read_as_it_is_written() {
        let passes = Passes::from([
            ("fuzz smoke".to_string(), pass("aaa", 90)),
            ("asan".to_string(), pass("bbb", 300)),
        ]);
        let written = text(&passes);
        assert!(written.ends_with("asan\tbbb\t2026-11-28\t300\nfuzz smoke\taaa\t2026-11-28\t90\n"));
        assert_eq!(parse(&written), Ok(passes));
        assert_eq!(parse(""), Ok(Passes::new()));
        assert!(parse("asan\tbbb\n").unwrap_err().contains("expected step, commit"));
        assert!(parse("asan\tbbb\t2026-11-28\tlong\n").is_err());
    }

    #[test]
    fn a_record_of_another_branch_is_none() {
        let passes =
            Passes::from([("a".to_string(), pass("here", 1)), ("b".into(), pass("else", 1))]);
        let landings = |commit: &str| (commit == "here").then_some(2);
        assert_eq!(
            ages(["a", "b", "c"], &passes, landings),
            [("a", Some(2)), ("b", None), ("c", None)]
        );
        assert!(is_overdue(None) && is_overdue(Some(5)) && !is_overdue(Some(4)));
    }

    #[test]
    fn the_oldest_comes_first_and_equals_take_turns() {
        let ages = [("a", Some(0)), ("b", Some(7)), ("c", None), ("d", Some(2)), ("e", Some(0))];
        assert_eq!(due(&ages, 0), ["c", "b", "d", "a", "e"]);
        assert_eq!(due(&ages, 4), ["c", "b", "d", "e", "a"]);
        let never = [("a", None), ("b", None), ("c", None)];
        let first: Vec<_> = (0..4).map(|commits| due(&never, commits)[0]).collect();
        assert_eq!(first, ["a", "b", "c", "a"]);
        assert!(due(&[], 3).is_empty());
    }

    #[test]
    fn the_records_of_this_tree_are_read() {
        read().unwrap();
    }
}
