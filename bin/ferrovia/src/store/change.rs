// SPDX-License-Identifier: Apache-2.0
//! Changes the configuration in force to another one, by the lines in which they differ.
//!
//! Lines that only the one in force has are taken back, the last first; then the lines that only
//! the other has are run, in order. Dependencies between lines (an interface's table and its
//! addresses) are not known beforehand: a line that fails is tried once more without the lines
//! behind it that name the same objects. Lines of both configurations whose effect is
//! lost with these, or by a deletion, are run again. A line that fails all the same is left out:
//! an operator who is cut off is helped by all the other lines (`commit confirmed`). The change
//! ends with an error then, which has what failed and what is missing, and the lines that failed
//! are pending ([`pending`]).
//!
//! A line that is taken back may leave a setting that the object behind it implied, so what differs
//! afterwards is gone through once more.
//!
//! Work that grows with a configuration is done a slice at a time; of the configuration in force
//! little is kept in memory.

mod outcome;

use std::collections::{BTreeSet, HashSet, VecDeque};
use std::fmt::Write as _;
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Arc;

use cli::script;
use cli::{Error, Output, OutputPiece, Result, SLICE, Sequence, Step, Tree};
use graph::{ConfigLine, ConfigLines};

use super::by_line::ByLine;
use super::file::Reading;
use super::pending::{self, PendingText};
use crate::world::World;

/// A change in progress.
pub struct Change<W> {
    /// Name of the target, for messages.
    name: String,
    text: Arc<String>,
    /// Ranges of the target's lines in its text.
    target: Vec<Range<usize>>,
    /// Indices into `target`.
    places: ByLine<usize>,
    /// Lines to be taken back, the next one last.
    undo: Vec<ConfigLine>,
    /// Lines to be run, by their indices in `target`. `None`: to be determined, once no line is
    /// left to be taken back.
    todo: Option<VecDeque<usize>>,
    /// Lines that were tried a second time already.
    retried: HashSet<String>,
    /// The line that is running.
    now: Option<Action>,
    /// The commands that were run.
    done: Vec<String>,
    /// Lines that failed, each with its error.
    failed: Vec<(Action, Error)>,
    /// True once what differed after all was run is gone through again.
    again: bool,
    /// True if the lines are only shown.
    plan: bool,
    /// At the end: the number of lines that were run, and of those in which the configuration in
    /// force still differs from the target.
    ended: (usize, usize),
    at: Phase,
    world: PhantomData<fn(W)>,
}

/// Phase of a change.
enum Phase {
    /// The target is being read.
    Read(Reading),
    /// The target is checked. Some of its errors are listed in `wrong`.
    Target { rest: PendingText, wrong: String, count: usize },
    /// The configuration in force is read for lines to be taken back.
    Undo(ConfigLines),
    /// Lines are taken back, the others run.
    Run,
    /// The configuration in force is read for lines that it shares with the target.
    There(ConfigLines, ByLine<()>),
    /// The target is read, up to this line, for lines that aren't in force.
    Missing(ByLine<()>, usize),
    /// The configuration in force is read for lines that may conflict with a line that failed.
    ConflictSearch(ConfigLines, Box<ConflictSearch>),
    /// All was run: how the configuration in force differs from the target. Some of its lines that
    /// the target hasn't are listed in `extra`.
    Outcome { lines: ConfigLines, more: usize, extra: Vec<String>, there: ByLine<()> },
}

/// A failed line, and the lines that may conflict with it.
struct ConflictSearch {
    failed: Action,
    error: Error,
    /// The objects that it names.
    names: BTreeSet<String>,
    /// True if the configuration in force was found to have it.
    there: bool,
    found: Vec<ConfigLine>,
}

enum Action {
    Undo(ConfigLine),
    Do(String),
}

impl Action {
    fn command(&self) -> &str {
        match self {
            Action::Undo(line) => &line.undo,
            Action::Do(line) => line,
        }
    }

    fn into_command(self) -> String {
        match self {
            Action::Undo(line) => line.undo,
            Action::Do(line) => line,
        }
    }

    /// The line as it is written in a configuration.
    fn line(&self) -> &str {
        match self {
            Action::Undo(line) => &line.text,
            Action::Do(line) => line,
        }
    }
}

/// Lines of each list in a report.
const LISTED: usize = 20;

/// Returns the objects that a command names.
fn names<W>(tree: &Tree<W>, line: &str) -> BTreeSet<String> {
    let parsed = tree.parse(line).ok().flatten();
    parsed.map_or_else(BTreeSet::new, |p| p.matches().texts().map(String::from).collect())
}

/// Reads the next lines of the configuration in force; returns true if there are more.
fn some<W: World>(world: &W, lines: &mut ConfigLines) -> (Vec<ConfigLine>, bool) {
    let mut next = Vec::new();
    let more = cli::slice(|| world.config_step(lines, &mut next));
    (next, more)
}

impl<W: World> Change<W> {
    /// A change to the configuration in `text`; `name` stands in messages.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Self {
        let mut this = Self::at(name.into(), Phase::Run);
        this.target(text.into());
        this
    }

    /// A change to a configuration that is read in slices.
    pub fn open(name: impl Into<String>, reading: Reading) -> Self {
        Self::at(name.into(), Phase::Read(reading))
    }

    /// The same change, but its lines are shown instead of run.
    pub fn plan(mut self) -> Self {
        self.plan = true;
        self
    }

    fn at(name: String, at: Phase) -> Self {
        Self {
            name,
            text: Arc::default(),
            target: Vec::new(),
            places: ByLine::default(),
            undo: Vec::new(),
            todo: None,
            retried: HashSet::new(),
            now: None,
            done: Vec::new(),
            failed: Vec::new(),
            again: false,
            plan: false,
            ended: (0, 0),
            at,
            world: PhantomData,
        }
    }

    fn target(&mut self, text: String) {
        let rest = PendingText::new(&self.name, text, false);
        self.text = Arc::clone(&rest.text);
        self.at = Phase::Target { rest, wrong: String::new(), count: 0 };
    }

    /// A line of the target.
    fn line(&self, at: usize) -> &str {
        &self.text[self.target[at].clone()]
    }

    /// Index of a line in the target.
    fn place(&self, line: &str) -> Option<usize> {
        self.places.get(line).copied()
    }

    /// Reads some lines of the target; lines that can't be parsed are errors.
    fn read(
        &mut self,
        (tree, world): (&Tree<W>, &W),
        mut rest: PendingText,
        mut wrong: String,
        mut count: usize,
    ) -> Result<Phase> {
        let pending = pending::all();
        let more = cli::slice(|| {
            let (Some((text, number)), Some(span)) = (rest.next(), rest.span()) else {
                return false;
            };
            let line = text.trim();
            // A line that failed to load doesn't prevent a rollback to the others.
            let known =
                |e: &Error| pending.failed.iter().any(|p| p.reason == e.brief() && p.text == line);
            for e in script::check(tree, text).into_iter().filter(|e| !known(&e.error)) {
                count += 1;
                if count <= LISTED {
                    let (at, column) = (number + e.line - 1, e.column);
                    // Writing to a String can't fail.
                    let _ = writeln!(wrong, "{}:{at}:{column}: {}", self.name, e.error.brief());
                }
            }
            self.places.insert(line, self.target.len());
            self.target.push(span);
            rest.skip();
            true
        });
        if more {
            return Ok(Phase::Target { rest, wrong, count });
        }
        if count == 0 {
            return Ok(Phase::Undo(world.config_lines()));
        }
        let text = format!("{wrong}{}: {count} wrong lines, nothing was changed", self.name);
        Err(Error::usage(text))
    }

    /// Collects, from some lines of the configuration in force, the ones that may conflict with a
    /// line that failed.
    fn look(&self, tree: &Tree<W>, around: &mut ConflictSearch, lines: Vec<ConfigLine>) {
        let ConflictSearch { failed, names: of, there, found, .. } = around;
        for line in lines {
            let it = line.text == failed.line();
            // Lines to take back are ordered as the configuration in force, lines to run as the
            // target.
            let behind = match failed {
                Action::Undo(_) => *there,
                Action::Do(failed) => self.place(&line.text) > self.place(failed),
            };
            *there |= it;
            // Most lines name none of its objects: that is detected without parsing them.
            let same = || of.iter().any(|name| line.text.contains(name.as_str()));
            if !it && behind && same() && !of.is_disjoint(&names(tree, &line.text)) {
                found.push(line);
            }
        }
    }

    /// Tries to work around a line that failed, or leaves it out.
    fn recover(&mut self, around: ConflictSearch) {
        let ConflictSearch { failed, error, there, mut found, .. } = around;
        let line = failed.line().to_string();
        let still = match &failed {
            Action::Undo(_) => there,
            Action::Do(_) => !there,
        };
        if !still || matches!(&failed, Action::Do(line) if pending::all().has(line)) {
            // Another line had that effect already; or it failed before, and still waits.
            return;
        }
        let ours: HashSet<&str> = found.iter().map(|l| l.text.as_str()).collect();
        let waiting: HashSet<String> = self
            .undo
            .iter()
            .filter(|l| ours.contains(l.text.as_str()))
            .map(|l| l.text.clone())
            .collect();
        found.retain(|l| !waiting.contains(&l.text));
        if found.is_empty() || !self.retried.insert(line) {
            self.failed.push((failed, error));
            return;
        }
        if let Action::Undo(line) = failed {
            self.undo.push(line);
        }
        self.undo.extend(found);
        self.todo = None;
    }

    /// Runs the next lines until one returns output or more work, or fails. `None`: there is none
    /// left.
    fn run(&mut self, tree: &Tree<W>, world: &W) -> Option<Step> {
        let mut step = Some(Step::More(String::new()));
        cli::slice(|| {
            let now = match self.undo.pop() {
                Some(line) => Action::Undo(line),
                None => match self.todo.as_mut().and_then(VecDeque::pop_front) {
                    Some(at) => Action::Do(self.line(at).to_string()),
                    None => {
                        step = None;
                        return false;
                    }
                },
            };
            // As at load: a line may wait for a device of the host.
            match world.restore(|| tree.execute(world, now.command())) {
                Ok(outcome) if matches!(outcome.output, Output::Empty) => {
                    self.done.push(now.into_command());
                    true
                }
                outcome => {
                    self.now = Some(now);
                    step = Some(Step::Ran(outcome));
                    false
                }
            }
        });
        step
    }
}

impl<W> Drop for Change<W> {
    fn drop(&mut self) {
        // A change that has ended has reported these lines.
        if !self.done.is_empty() {
            let (n, name) = (self.done.len(), &self.name);
            log::warn!(target: "config", "the change to {name} was given up after {n} lines: its client is gone");
        }
    }
}

impl<W: World> Sequence<W> for Change<W> {
    fn next(&mut self, tree: &Tree<W>, world: &W, last: Option<Result<Vec<OutputPiece>>>) -> Step {
        if let Some(failed) = self.now.take() {
            match last {
                Some(Err(error)) => {
                    let mut of = names(tree, failed.line());
                    of.extend(names(tree, failed.command()));
                    let around = ConflictSearch {
                        failed,
                        error,
                        names: of,
                        there: false,
                        found: Vec::new(),
                    };
                    self.at = Phase::ConflictSearch(world.config_lines(), Box::new(around));
                }
                _ => self.done.push(failed.into_command()),
            }
        }
        let at = match std::mem::replace(&mut self.at, Phase::Run) {
            Phase::Read(mut reading) => match reading.step() {
                Ok(None) => Phase::Read(reading),
                Ok(Some(text)) => {
                    self.target(text);
                    return Step::More(String::new());
                }
                Err(error) => return Step::Failed(error),
            },
            Phase::Target { rest, wrong, count } => {
                match self.read((tree, world), rest, wrong, count) {
                    Ok(at) => at,
                    Err(error) => return Step::Failed(error),
                }
            }
            Phase::Undo(mut lines) => {
                let (some, more) = some(world, &mut lines);
                let gone =
                    some.into_iter().filter(|l| self.place(&l.text).is_none()).collect::<Vec<_>>();
                self.undo.extend(gone);
                match (more, self.plan) {
                    (true, _) => Phase::Undo(lines),
                    (false, false) => Phase::Run,
                    (false, true) => Phase::There(world.config_lines(), ByLine::default()),
                }
            }
            Phase::Run if self.plan => return Step::Done(self.planned()),
            Phase::Run => match self.run(tree, world) {
                Some(step) => return step,
                None if self.todo.is_none() => {
                    Phase::There(world.config_lines(), ByLine::default())
                }
                None => Phase::Outcome {
                    lines: world.config_lines(),
                    more: 0,
                    extra: Vec::new(),
                    there: ByLine::default(),
                },
            },
            Phase::There(mut lines, mut there) => {
                let (some, more) = some(world, &mut lines);
                some.iter().for_each(|l| there.insert(&l.text, ()));
                if more { Phase::There(lines, there) } else { Phase::Missing(there, 0) }
            }
            Phase::Missing(there, from) => {
                let some = from..self.target.len().min(from + SLICE);
                let is_missing = |at: &usize| !there.contains(self.line(*at));
                let missing: Vec<_> = some.filter(is_missing).collect();
                self.todo.get_or_insert_default().extend(missing);
                match from + SLICE {
                    next if next < self.target.len() => Phase::Missing(there, next),
                    _ => Phase::Run,
                }
            }
            Phase::ConflictSearch(mut lines, mut around) => {
                let (some, more) = some(world, &mut lines);
                self.look(tree, &mut around, some);
                if more {
                    Phase::ConflictSearch(lines, around)
                } else {
                    self.recover(*around);
                    Phase::Run
                }
            }
            Phase::Outcome { mut lines, mut more, mut extra, mut there } => {
                let (some, left) = some(world, &mut lines);
                pending::all().forget_running(&some);
                for line in &some {
                    match self.place(&line.text) {
                        None => {
                            more += 1;
                            extra.extend((more <= LISTED).then(|| line.text.clone()));
                        }
                        Some(_) => there.insert(&line.text, ()),
                    }
                }
                if left {
                    Phase::Outcome { lines, more, extra, there }
                } else if !self.again && more + self.places.len() > there.len() {
                    (self.again, self.todo) = (true, None);
                    self.failed.clear();
                    Phase::Undo(world.config_lines())
                } else {
                    self.note_failed(tree);
                    let Some(error) = self.report_failed((more, &extra), &there) else {
                        return Step::Done(self.end(more, there.len()));
                    };
                    self.done.clear();
                    return Step::Failed(error);
                }
            }
        };
        self.at = at;
        Step::More(String::new())
    }

    fn cancel(&mut self) -> Error {
        let next = self.undo.last().map(|l| l.undo.clone()).unwrap_or_default();
        let error = self.report(&next);
        self.done.clear();
        error
    }
}
