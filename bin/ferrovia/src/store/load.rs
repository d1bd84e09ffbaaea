// SPDX-License-Identifier: Apache-2.0
//! Loads a saved configuration: each line stands for itself, and lines that fail are kept with the
//! reason.

use std::marker::PhantomData;

use cli::{Error, Outcome, Output, OutputPiece, Result, Sequence, Step, Tree};
use graph::ConfigLines;

use super::pending::{self, Pending, PendingText};
use super::protect;
use crate::commands::UNCOMMENT;
use crate::macros;
use crate::world::World;

/// Lines that are run in one turn.
const SLICE: usize = 256;
/// Failures that the log names.
const NAMED: usize = 5;

/// A file that is being loaded.
pub struct Load<W> {
    file: String,
    /// The line that is running, and its number.
    now: Option<(String, usize)>,
    /// Lines to be tried once more, if it isn't a file.
    again: Option<Vec<Pending>>,
    /// True if the line at hand may have macros: those of saved configurations have none.
    macros: bool,
    run: usize,
    /// Places and reasons.
    failed: Vec<(String, String)>,
    /// Set once all lines were run: the configuration in force is then read for lines that wait.
    outcome: Option<ConfigLines>,
    waiting: usize,
    world: PhantomData<fn(W)>,
}

impl<W: World> Load<W> {
    /// Loads a file's text. Until its turn has come, each line is pending.
    pub fn file(name: &str, text: String, kept: bool, lossy: bool) -> Self {
        let mut rest = PendingText::new(name, text, kept);
        rest.lossy = lossy;
        pending::all().rest = Some(rest);
        Self::new(name.into(), None)
    }

    /// Tries the lines once more that failed.
    ///
    /// # Errors
    /// A file is being loaded.
    pub fn again() -> Result<Self> {
        idle()?;
        let mut again = pending::all().failed.clone();
        again.reverse();
        let file = "pending lines".into();
        Ok(Self::new(file, Some(again)))
    }

    fn new(file: String, again: Option<Vec<Pending>>) -> Self {
        let (now, failed, outcome) = (None, Vec::new(), None);
        Self {
            file,
            now,
            again,
            macros: false,
            run: 0,
            failed,
            outcome,
            waiting: 0,
            world: PhantomData,
        }
    }

    /// The next line and its number; a script ends at `quit`.
    fn next_line(&mut self) -> Option<(String, usize)> {
        if let Some(again) = &mut self.again {
            let next = again.pop()?;
            self.macros = !next.kept;
            return Some((next.text, next.line));
        }
        let mut all = pending::all();
        loop {
            let rest = all.rest.as_ref()?;
            self.macros = !rest.kept;
            match rest.next() {
                Some((text, line)) if !matches!(text.trim(), "quit" | "exit" | "q") => {
                    return Some((text.trim().to_string(), line));
                }
                _ => all.leave(),
            }
        }
    }

    /// Begins the script that a line of a file runs: its lines stand for themselves, too.
    fn enter(&mut self, on: (&Tree<W>, &W), line: (String, usize), file: &str, text: String) {
        let inner = {
            let all = pending::all();
            let block = all.rest.as_ref().filter(|_| file == UNCOMMENT);
            let inner = block.map(|rest| Ok(rest.block(text.clone(), line.1)));
            inner.unwrap_or_else(|| {
                all.may_enter(file).map(|()| PendingText::new(file, text, false))
            })
        };
        match inner {
            Ok(inner) => {
                self.ended(on, line, None);
                pending::all().enter(inner);
            }
            Err(error) => self.ended(on, line, Some(error)),
        }
    }

    fn execute(&self, tree: &Tree<W>, world: &W, line: &str) -> Result<Outcome> {
        let line = match self.macros {
            true => macros::expand(line).map_err(|(_, why)| Error::parse(why))?,
            false => line.into(),
        };
        protect::check(tree, world, &line)?;
        world.restore(|| tree.execute(world, &line))
    }

    /// Records the result of a line. Without a filter that failed, interfaces go down.
    fn ended(
        &mut self,
        (tree, world): (&Tree<W>, &W),
        line: (String, usize),
        error: Option<Error>,
    ) {
        let failed = error.is_some().then(|| line.0.clone());
        self.record(tree, line, error);
        if let Some(text) = failed {
            protect::take_down(tree, world, &text);
        }
    }

    fn record(&mut self, tree: &Tree<W>, (text, line): (String, usize), error: Option<Error>) {
        let raised = if error.is_none() { protect::raised(tree, &text) } else { None };
        let mut all = pending::all();
        match &error {
            None => self.run += 1,
            Some(error) => {
                let inner = all.rest.as_ref().filter(|_| !all.outer.is_empty());
                let file = inner.map(|rest| format!("{} ", rest.file)).unwrap_or_default();
                self.failed.push((format!("{file}line {line}"), error.brief()));
            }
        }
        if self.again.is_some() {
            let at = all.failed.iter().position(|p| (&p.text, p.line) == (&text, line));
            match (error, at) {
                (None, Some(at)) => {
                    let entry = all.failed.remove(at);
                    all.raised.extend(raised.map(|name| (name, entry)));
                }
                (Some(error), Some(at)) => all.failed[at].reason = error.brief(),
                (_, None) => {}
            }
            return;
        }
        let Some(mut rest) = all.rest.take() else { return };
        rest.skip();
        all.raised.extend(raised.map(|name| (name, protect::entry(&rest, line, &text))));
        if let Some(error) = error {
            all.add(tree, &rest, (&text, line), &error);
        }
        all.rest = Some(rest);
    }

    fn end(&self) -> Output {
        let (run, failed, waiting) = (self.run, self.failed.len(), self.waiting);
        let mut text = format!("{}: {run} lines were run", self.file);
        if waiting + failed > 0 {
            text += &format!(
                ", {failed} failed, {waiting} wait for the host: see `show config pending'"
            );
            for (place, reason) in self.failed.iter().take(NAMED) {
                text += &format!("; {place}: {reason}");
            }
            if failed > NAMED {
                text += "; …";
            }
            log::warn!(target: "config", "{text}");
        } else {
            log::info!(target: "config", "{text}");
        }
        if self.again.is_none() {
            // The log has it.
            return Output::Empty;
        }
        text.push('\n');
        Output::both(text, serde_json::json!({ "run": run, "failed": failed, "waiting": waiting }))
    }
}

/// Refuses commands that would disturb a file that is being loaded.
///
/// # Errors
/// A file is being loaded.
pub fn idle() -> Result<()> {
    match &pending::all().rest {
        None => Ok(()),
        Some(rest) => {
            let text = format!("{} is still being loaded, line {}", rest.file, rest.number());
            Err(Error::failed(text).hint("try again when it is done"))
        }
    }
}

impl<W: World> Sequence<W> for Load<W> {
    fn next(&mut self, tree: &Tree<W>, world: &W, last: Option<Result<Vec<OutputPiece>>>) -> Step {
        if let (Some(line), Some(ended)) = (self.now.take(), last) {
            let said = ended.map(|said| {
                for OutputPiece::Answer(text) | OutputPiece::Chunk(text) in said {
                    text.lines().for_each(|l| log::info!(target: "cli", "{}: {l}", self.file));
                }
            });
            self.ended((tree, world), line, said.err());
        }
        if let Some(lines) = &mut self.outcome {
            let (more, waiting) = pending::look(world, lines);
            self.waiting += waiting.len();
            return if more { Step::More(String::new()) } else { Step::Done(self.end()) };
        }
        for _ in 0..SLICE {
            let Some(line) = self.next_line() else {
                if self.again.is_none() {
                    pending::all().rest = None;
                }
                self.outcome = Some(world.config_lines());
                return Step::More(String::new());
            };
            let lossy = pending::all().rest.as_ref().is_none_or(|rest| rest.lossy);
            let outcome = if lossy && line.0.contains(char::REPLACEMENT_CHARACTER) {
                Err(Error::parse("is not UTF-8"))
            } else {
                self.execute(tree, world, &line.0)
            };
            match outcome {
                Ok(outcome) if matches!(outcome.output, Output::Empty) => {
                    self.ended((tree, world), line, None)
                }
                Ok(Outcome { output: Output::Script(file, text, _), .. })
                    if self.again.is_none() =>
                {
                    self.enter((tree, world), line, &file, text)
                }
                Err(error) => self.ended((tree, world), line, Some(error)),
                outcome => {
                    self.now = Some(line);
                    return Step::Ran(outcome);
                }
            }
        }
        Step::More(String::new())
    }
}
