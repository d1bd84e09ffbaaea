// SPDX-License-Identifier: Apache-2.0
//! From the configuration in force to another one, by the lines in which they differ.
//!
//! Lines that only the one in force has are taken back, the last first; then the lines that only the other has are run, in
//! order. What one needs and another holds on to (an interface's table and its addresses) is not known beforehand: a line
//! that fails is tried once more without the lines behind it that name the same things. What these, or a deletion, take
//! with them that belongs to both is run again.

use std::collections::{BTreeSet, HashSet, VecDeque};
use std::fmt::Write as _;
use std::marker::PhantomData;

use cli::script::{self, ScriptError};
use cli::{Error, Output, Result, Said, Sequence, Step, Tree};
use graph::ConfigLine;
use serde_json::json;

use super::file::lines;
use super::pending;
use crate::run::World;

/// A change on its way.
pub struct Change<W> {
    /// What is changed to, for messages.
    name: String,
    text: String,
    target: Vec<String>,
    /// To be taken back, the next one last.
    undo: Vec<ConfigLine>,
    /// To be run. `None`: to be found out, when nothing is to be taken back.
    todo: Option<VecDeque<String>>,
    /// Tried a second time already.
    retried: HashSet<String>,
    /// What is running.
    now: Option<Doing>,
    /// What was run.
    done: Vec<String>,
    world: PhantomData<fn(W)>,
}

enum Doing {
    Undo(ConfigLine),
    Do(String),
}

impl Doing {
    fn command(&self) -> &str {
        match self {
            Doing::Undo(line) => &line.undo,
            Doing::Do(line) => line,
        }
    }
}

/// Lines of a failure's report.
const LISTED: usize = 20;

/// Lines that only the first has.
pub fn only<'a>(
    these: impl IntoIterator<Item = &'a str>,
    those: impl IntoIterator<Item = &'a str>,
) -> Vec<&'a str> {
    let those: HashSet<&str> = those.into_iter().collect();
    these.into_iter().filter(|line| !those.contains(line)).collect()
}

/// The texts of lines.
pub fn texts(lines: &[ConfigLine]) -> impl Iterator<Item = &str> {
    lines.iter().map(|l| l.text.as_str())
}

fn strs(lines: &[String]) -> impl Iterator<Item = &str> {
    lines.iter().map(String::as_str)
}

/// The things that a command names.
fn names<W>(tree: &Tree<W>, line: &str) -> BTreeSet<String> {
    let parsed = tree.parse(line).ok().flatten();
    parsed.map_or_else(BTreeSet::new, |p| p.matches().texts().map(String::from).collect())
}

impl<W: World> Change<W> {
    /// To what the text says; `name` stands in messages.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Self {
        let text = text.into();
        Self {
            name: name.into(),
            target: lines(&text),
            text,
            undo: Vec::new(),
            todo: None,
            retried: HashSet::new(),
            now: None,
            done: Vec::new(),
            world: PhantomData,
        }
    }

    fn start(&mut self, tree: &Tree<W>, world: &W) -> Result<()> {
        // Lines that can't be understood, and couldn't when they were loaded, don't keep the others from being gone back to.
        let known = |e: &ScriptError| {
            let all = pending::all();
            all.failed.iter().any(|p| p.reason == e.error.brief() && self.target.contains(&p.text))
        };
        let errors: Vec<_> = script::check(tree, &self.text).into_iter().filter(|e| !known(e)).collect();
        if !errors.is_empty() {
            let line =
                |e: &ScriptError| format!("{}:{}:{}: {}\n", self.name, e.line, e.column, e.error.brief());
            let n = errors.len();
            let all: String = errors.iter().take(LISTED).map(line).collect();
            return Err(Error::usage(format!("{all}{}: {n} wrong lines, nothing was changed", self.name)));
        }
        let target: HashSet<&str> = strs(&self.target).collect();
        self.undo =
            world.running_config().into_iter().filter(|l| !target.contains(l.text.as_str())).collect();
        Ok(())
    }

    /// Finds a way around a line that failed, or ends the change.
    fn recover(&mut self, tree: &Tree<W>, world: &W, failed: Doing, error: &Error) -> Result<()> {
        let running = world.running_config();
        let (line, there) = match &failed {
            Doing::Undo(line) => (&line.text, texts(&running).any(|l| l == line.text)),
            Doing::Do(line) => (line, !texts(&running).any(|l| l == line)),
        };
        if !there || matches!(&failed, Doing::Do(line) if pending::all().has(line)) {
            // Another line had that effect already; or it failed before, and still waits.
            return Ok(());
        }
        let mut of = names(tree, line);
        of.extend(names(tree, failed.command()));
        // Taking back goes by the order of what is there; what is to be run has its place in the order of the target.
        let behind: HashSet<&str> = match &failed {
            Doing::Undo(_) => texts(&running).skip_while(|l| l != line).skip(1).collect(),
            Doing::Do(_) => strs(&self.target).skip_while(|l| l != line).skip(1).collect(),
        };
        let waiting: HashSet<&str> = texts(&self.undo).collect();
        let in_the_way: Vec<ConfigLine> = running
            .iter()
            .filter(|l| behind.contains(l.text.as_str()) && !waiting.contains(l.text.as_str()))
            .filter(|l| !of.is_disjoint(&names(tree, &l.text)))
            .cloned()
            .collect();
        if in_the_way.is_empty() || !self.retried.insert(line.clone()) {
            return Err(self.report(failed.command(), error));
        }
        if let Doing::Undo(line) = failed {
            self.undo.push(line);
        }
        self.undo.extend(in_the_way);
        self.todo = None;
        Ok(())
    }

    fn report(&self, command: &str, error: &Error) -> Error {
        let mut text = format!("{}: `{command}': {}", self.name, error.brief());
        let n = self.done.len();
        // Writing to a String can't fail.
        let _ = match n {
            0 => write!(text, "\nnothing was changed"),
            1 => write!(text, "\nbefore that 1 line was run:"),
            _ => write!(text, "\nbefore that {n} lines were run:"),
        };
        for line in self.done.iter().rev().take(LISTED).rev() {
            let _ = write!(text, "\n  {line}");
        }
        Error::new(error.kind(), text).retval(error.code())
    }

    fn end(&self, world: &W) -> Output {
        let running = world.running_config();
        // What was pending of another configuration is gone with it.
        let target: HashSet<&str> = strs(&self.target).collect();
        let mut all = pending::all();
        all.failed.retain(|p| !p.kept || target.contains(p.text.as_str()));
        all.forget_running(&running);
        drop(all);
        let more = only(texts(&running), strs(&self.target)).len();
        let less = only(strs(&self.target), texts(&running)).len();
        let n = self.done.len();
        let mut text = match n {
            0 => format!("{}: nothing to change\n", self.name),
            1 => format!("{}: 1 line was run\n", self.name),
            _ => format!("{}: {n} lines were run\n", self.name),
        };
        if more + less > 0 {
            text += &format!(
                "{more} lines of the configuration in force are not in it, {less} of it read differently now\n"
            );
        }
        Output::both(text, json!({ "run": self.done, "more": more, "less": less }))
    }
}

impl<W: World> Sequence<W> for Change<W> {
    fn next(&mut self, tree: &Tree<W>, world: &W, last: Option<Result<Vec<Said>>>) -> Step {
        let ended = match (self.now.take(), last) {
            (Some(now), Some(Ok(_))) => {
                self.done.push(now.command().to_string());
                Ok(())
            }
            (Some(now), Some(Err(error))) => self.recover(tree, world, now, &error),
            _ => self.start(tree, world),
        };
        if let Err(error) = ended {
            return Step::Failed(error);
        }
        let now = match self.undo.pop() {
            Some(line) => Doing::Undo(line),
            None => {
                let todo = self.todo.get_or_insert_with(|| {
                    let running = world.running_config();
                    only(strs(&self.target), texts(&running)).into_iter().map(String::from).collect()
                });
                match todo.pop_front() {
                    Some(line) => Doing::Do(line),
                    None => return Step::Done(self.end(world)),
                }
            }
        };
        let command = now.command().to_string();
        self.now = Some(now);
        // As when it is loaded: what the host lacks is waited for.
        Step::Ran(world.restore(|| tree.execute(world, &command)))
    }

    fn cancel(&mut self) -> Error {
        let next = self.undo.last().map(|l| l.undo.clone()).unwrap_or_default();
        self.report(&next, &Error::failed("cancelled"))
    }
}
