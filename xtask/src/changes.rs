// SPDX-License-Identifier: Apache-2.0
//! The commit that passed last, as git knows it, and the files that changed since.
//!
//! A run of `ci` that passes on a clean tree leaves a note below `refs/notes/ci` at its commit. A
//! note can't be carried over to another content, as a file in the tree could.

use std::collections::BTreeSet;

use crate::sh::{self, Res};

/// Where records of passed steps lie; `ci` itself changes this file.
pub const RECORDS: &str = ".ci/passed.tsv";

/// A commit to compare with, and why this one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Base {
    pub commit: String,
    pub why: &'static str,
}

fn git(words: &[&str]) -> Res<String> {
    sh::output(sh::cmd("git").args(words)).map(|text| text.trim_end().to_string())
}

/// The newest of `commits` that has a note; `notes` are lines `NOTE COMMIT`.
fn newest_noted(commits: &str, notes: &str) -> Option<String> {
    let noted: BTreeSet<&str> = notes.lines().filter_map(|l| l.split_whitespace().nth(1)).collect();
    commits.lines().find(|commit| noted.contains(commit)).map(String::from)
}

/// The commit of which it is known that it passed: the newest ancestor of HEAD with a note, or else
/// the one at which this work left the remote's branch. A remote's commit that is HEAD itself says
/// nothing of HEAD.
pub fn base() -> Option<Base> {
    let noted = git(&["notes", "--ref=ci", "list"])
        .ok()
        .and_then(|notes| newest_noted(&git(&["rev-list", "HEAD"]).ok()?, &notes));
    if let Some(commit) = noted {
        return Some(Base { commit, why: "the last commit that passed `make ci` here" });
    }
    let head = git(&["rev-parse", "HEAD"]).ok()?;
    let left = ["origin/HEAD", "origin/main"]
        .into_iter()
        .find_map(|remote| git(&["merge-base", "HEAD", remote]).ok())?;
    (left != head).then_some(Base { commit: left, why: "where the remote's branch was left" })
}

/// The full name of a commit that somebody named.
pub fn named(commit: &str) -> Res<Base> {
    let commit = git(&["rev-parse", "--verify", "--quiet", &format!("{commit}^{{commit}}")])
        .map_err(|_| format!("{commit}: expected a commit"))?;
    Ok(Base { commit, why: "as asked for" })
}

/// Files that differ from `commit`, committed or not, and those that git doesn't know yet.
pub fn files(commit: &str) -> Res<Vec<String>> {
    let changed = git(&["diff", "--name-only", "--no-renames", "-z", commit])?;
    let fresh = git(&["ls-files", "--others", "--exclude-standard", "-z"])?;
    let all = changed.split('\0').chain(fresh.split('\0')).filter(|name| !name.is_empty());
    Ok(all.map(String::from).collect::<BTreeSet<_>>().into_iter().collect())
}

/// True if the tree is what its commit says, but for the records of passed steps.
pub fn is_clean() -> bool {
    git(&["status", "--porcelain", "--untracked-files=all"])
        .is_ok_and(|text| text.lines().all(|line| line.get(3..) == Some(RECORDS)))
}

/// The commit that is checked out.
pub fn head() -> Res<String> {
    git(&["rev-parse", "HEAD"])
}

/// Number of commits up to HEAD; 0 if there is no git.
pub fn count() -> u64 {
    git(&["rev-list", "--count", "HEAD"]).ok().and_then(|n| n.parse().ok()).unwrap_or(0)
}

/// Landings since the one that recorded a pass of `commit`; `None` if that commit is no ancestor of
/// HEAD. Each landing commits the records once.
pub fn landings(commit: &str) -> Option<u64> {
    git(&["merge-base", "--is-ancestor", commit, "HEAD"]).ok()?;
    let range = format!("{commit}..HEAD");
    let changes = git(&["rev-list", "--count", &range, "--", RECORDS]).ok()?.parse::<u64>().ok()?;
    Some(changes.saturating_sub(1))
}

/// Leaves the note that HEAD passed.
pub fn note(today: &str) -> Res {
    let text = format!("make ci passed on {today}");
    let identity = ["-c", "user.name=ci", "-c", "user.email=ci@localhost"];
    git(&[&identity[..], &["notes", "--ref=ci", "add", "-f", "-m", &text, "HEAD"]].concat())
        .map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_commit_with_a_note_is_chosen() {
        let commits = "ccc\nbbb\naaa";
        assert_eq!(newest_noted(commits, "n1 aaa\nn2 bbb\nn3 zzz"), Some("bbb".into()));
        assert_eq!(newest_noted(commits, "n3 zzz"), None);
        assert_eq!(newest_noted(commits, ""), None);
    }
}
