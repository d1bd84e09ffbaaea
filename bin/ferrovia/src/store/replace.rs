// SPDX-License-Identifier: Apache-2.0
//! `replace FILE`: the configuration in an operator's file becomes the one in force, all of it or
//! nothing.
//!
//! The configuration in force is kept as a text first. If a line fails, a second change goes back
//! to it.

use cli::{Error, Matches, Output, OutputPiece, Result, Sequence, Step, Tree};
use graph::ConfigLines;

use super::change::Change;
use super::confirm::confirm_within;
use super::file::{self, Reading};
use super::pending::{self, Pending};
use super::{Body, load, operator_path, store};
use crate::world::World;

/// Starts to replace, or shows what would be replaced.
///
/// # Errors
/// A bad file; a file is being loaded; nothing to go back to was saved.
pub fn start<W: World>(world: &W, m: &Matches) -> Result<Output> {
    load::idle()?;
    let path = operator_path(m)?;
    let name = path.display().to_string();
    let file = file::import(&path).map_err(m.at("file"))?;
    let reading = Reading::new(file, path).map_err(|e| Error::failed(format!("{name}: {e}")))?;
    let change = Change::open(name.clone(), reading);
    if m.has("plan") {
        return Ok(Output::sequence::<W>(change.plan()));
    }
    let minutes = m.get("minutes");
    if minutes.is_some() {
        // Before anything is changed: there has to be a version to go back to.
        store()?.head(0, file::DATE)?;
    }
    Ok(Output::sequence::<W>(Replace {
        name,
        minutes,
        change,
        before: Body::default(),
        pending: Vec::new(),
        at: Phase::Keep(world.config_lines()),
    }))
}

struct Replace<W> {
    name: String,
    /// Time in which it has to be confirmed.
    minutes: Option<u64>,
    /// To the file; then, if that failed, back.
    change: Change<W>,
    /// The configuration that was in force.
    before: Body,
    /// Lines that were pending.
    pending: Vec<Pending>,
    at: Phase,
}

enum Phase {
    /// The configuration in force is read, to be kept.
    Keep(ConfigLines),
    /// The file becomes the configuration in force.
    Forward,
    /// A line has failed, for this reason, and what was in force is restored.
    Back(String),
}

impl<W: World> Replace<W> {
    /// Goes back to what was in force, because lines failed.
    fn back(&mut self) -> Step {
        let failures: String = self.change.failures().map(|line| format!("\n  {line}")).collect();
        let before = std::mem::take(&mut self.before.text);
        self.at = Phase::Back(format!("{}: failed:{failures}", self.name));
        self.change = Change::new("what was in force", before);
        Step::More(String::new())
    }

    /// The error at the end of the way back.
    fn failed(&mut self, failures: &str, back: Option<&Error>) -> Step {
        pending::all().failed = std::mem::take(&mut self.pending);
        let end = match (back, self.change.ended().1) {
            (Some(error), _) => format!("and it can't be taken back: {}", error.message()),
            (None, 0) => "nothing was changed: all that was run before is taken back".into(),
            (None, n) => format!("all that was run before is taken back, but for {n} lines"),
        };
        Step::Failed(Error::failed(format!("{failures}\n{end}")))
    }
}

impl<W: World> Sequence<W> for Replace<W> {
    fn next(&mut self, tree: &Tree<W>, world: &W, last: Option<Result<Vec<OutputPiece>>>) -> Step {
        if let Phase::Keep(lines) = &mut self.at {
            let mut next = Vec::new();
            let more = cli::slice(|| world.config_step(lines, &mut next));
            next.iter().for_each(|line| self.before.add(line));
            if !more {
                self.pending.clone_from(&pending::all().failed);
                self.at = Phase::Forward;
            }
            return Step::More(String::new());
        }
        let step = self.change.next(tree, world, last);
        match (&self.at, step) {
            (Phase::Forward, Step::Done(output)) => match self.minutes {
                None => Step::Done(output),
                Some(minutes) => {
                    let (run, _) = self.change.ended();
                    confirm_within(world, minutes, Some(run)).map_or_else(Step::Failed, Step::Done)
                }
            },
            // Without a line that failed, none was run: the file can't be read, or is wrong.
            (Phase::Forward, Step::Failed(_)) if self.change.failures().next().is_some() => {
                self.back()
            }
            (Phase::Back(failures), Step::Done(_)) => {
                let failures = failures.clone();
                self.failed(&failures, None)
            }
            (Phase::Back(failures), Step::Failed(error)) => {
                let failures = failures.clone();
                self.failed(&failures, Some(&error))
            }
            (_, step) => step,
        }
    }

    fn cancel(&mut self) -> Error {
        self.change.cancel()
    }
}
