// SPDX-License-Identifier: Apache-2.0
//! Outcome of a change: reports, and the lines that are pending afterwards.

use std::fmt::Write as _;
use std::iter;

use cli::{Error, Output, Tree, Writer};
use graph::ConfigLine;
use serde_json::json;

use super::{Action, ByLine, Change, LISTED, PendingText, pending};
use crate::world::World;

/// Part of the answer to `replace FILE plan`.
enum PlanPart {
    Head(String),
    Undo(ConfigLine),
    Middle,
    Run(String),
    End,
}

impl PlanPart {
    fn write(self, out: &mut Writer) {
        match self {
            PlanPart::Head(head) => {
                out.text(|text| text.push_str(&head));
                out.array("undo");
            }
            PlanPart::Undo(ConfigLine { text: line, undo, .. }) => {
                out.text(|text| *text += &format!("-{line}\n"));
                out.value(|| json!({ "line": line, "undo": undo }));
            }
            PlanPart::Middle => {
                out.end();
                out.array("run");
            }
            PlanPart::Run(line) => {
                out.text(|text| *text += &format!("+{line}\n"));
                out.value(|| line);
            }
            PlanPart::End => out.end(),
        }
    }
}

impl<W: World> Change<W> {
    /// Reports a change that was cancelled before this command.
    pub(super) fn report(&self, command: &str) -> Error {
        let mut text = format!("{}: `{command}': cancelled", self.name);
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
        Error::failed(text)
    }

    /// Keeps the lines that failed as pending ones: those of the target, and commands that should
    /// have taken lines back. Pending lines of another configuration are dropped with it.
    pub(super) fn note_failed(&self, tree: &Tree<W>) {
        let mut all = pending::all();
        all.failed.retain(|p| p.line > 0 && (!p.kept || self.place(&p.text).is_some()));
        for (failed, error) in &self.failed {
            let at = match failed {
                Action::Undo(_) => None,
                Action::Do(line) => self.place(line),
            };
            let number = |at: usize| 1 + self.text[..self.target[at].start].matches('\n').count();
            let file = PendingText::new(&self.name, String::new(), at.is_some());
            all.add(tree, &file, (failed.command(), at.map_or(0, number)), error);
        }
    }

    /// Reports a change in which lines failed: these, and the lines in which the configuration in
    /// force differs from the target now.
    pub(super) fn report_failed(
        &self,
        (more, extra): (usize, &[String]),
        there: &ByLine<()>,
    ) -> Option<Error> {
        let (_, first) = self.failed.first()?;
        let lines = |n| if n == 1 { "1 line".to_string() } else { format!("{n} lines") };
        let (wrong, n) = (self.failed.len(), self.done.len());
        let mut text = format!("{}: {} failed, {} run", self.name, lines(wrong), lines(n));
        let missing = || self.target.iter().map(|span| &self.text[span.clone()]);
        let missing = || missing().filter(|line| !there.contains(line));
        let mut failed = self.failures();
        let mut list = |what: &str, count: usize, all: &mut dyn Iterator<Item = String>| {
            if count > 0 {
                // Writing to a String can't fail.
                let _ = write!(text, "\n{} {what}", lines(count));
                all.take(LISTED).for_each(|line| _ = write!(text, "\n  {line}"));
            }
        };
        list("failed:", wrong, &mut failed);
        list("of it not in force:", missing().count(), &mut missing().map(String::from));
        list("in force and not in it:", more, &mut extra.iter().cloned());
        Some(Error::new(first.kind(), text).retval(first.reason()))
    }

    /// The lines that failed, each with its error.
    pub fn failures(&self) -> impl Iterator<Item = String> {
        self.failed.iter().map(|(it, error)| format!("`{}': {}", it.command(), error.brief()))
    }

    /// After the change: the number of lines that were run, and of those in which the configuration
    /// in force still differs from the target, since the daemon writes them in other words.
    pub fn ended(&self) -> (usize, usize) {
        self.ended
    }

    /// Shows the lines of a change that isn't run.
    pub(super) fn planned(&mut self) -> Output {
        let undo = std::mem::take(&mut self.undo);
        let run = self.todo.take().unwrap_or_default();
        let text = match undo.len() + run.len() {
            0 => format!("{}: nothing to change\n", self.name),
            _ => format!("{}: {} to take back, {} to run\n", self.name, undo.len(), run.len()),
        };
        let run: Vec<_> = run.into_iter().map(|at| self.line(at).to_string()).collect();
        let undo = undo.into_iter().rev().map(PlanPart::Undo);
        let run = run.into_iter().map(PlanPart::Run);
        let parts = iter::once(PlanPart::Head(text)).chain(undo);
        let parts = parts.chain([PlanPart::Middle]).chain(run).chain([PlanPart::End]);
        Output::record(parts, |_: &W, part, out: &mut Writer| {
            part.write(out);
            Ok(())
        })
    }

    pub(super) fn end(&mut self, more: usize, there: usize) -> Output {
        let less = self.places.len() - there;
        let n = self.done.len();
        self.ended = (n, more + less);
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
        let (mut text, mut done) = (Some(text), std::mem::take(&mut self.done).into_iter());
        Output::record_while(move |_: &W, out: &mut Writer| {
            if let Some(text) = text.take() {
                out.text(|all| all.push_str(&text));
                out.field("more", more);
                out.field("less", less);
                out.array("run");
            }
            let line = done.next();
            let is_more = line.is_some();
            match line {
                Some(line) => out.value(|| line),
                None => out.end(),
            }
            Ok(is_more)
        })
    }
}
