// SPDX-License-Identifier: Apache-2.0
//! Lines of a saved configuration that aren't in force: they failed when it was loaded or gone back
//! to, or their turn hasn't come.
//!
//! They belong to the configuration all the same: `save` writes them again, until they are run or
//! an operator removes them.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cli::script::Lines;
use cli::{Error, Tree};
use graph::{ConfigLine, ConfigLines};

use crate::world::World;

/// A line that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pending {
    /// The file it stands in.
    pub file: Arc<str>,
    /// Line number, from 1; 0 for a command that was to take back a line which isn't in the file.
    pub line: usize,
    /// The command.
    pub text: String,
    /// Why it failed.
    pub reason: String,
    /// Number of the failed line, of the same file, that makes the object which this line misses.
    pub needs: Option<usize>,
    /// True if it stood in the saved configuration; otherwise it stood in a script that is run at
    /// every start.
    pub kept: bool,
}

/// The text of a file, of which a part is still to be run.
#[derive(Clone, Debug)]
pub struct PendingText {
    /// Its name.
    pub file: Arc<str>,
    /// All of it.
    pub text: Arc<String>,
    /// True if it is the saved configuration.
    pub kept: bool,
    /// True if U+FFFD may stand for bytes that weren't UTF-8.
    pub lossy: bool,
    at: usize,
    number: usize,
}

impl PendingText {
    /// The whole of a file.
    pub fn new(file: &str, text: String, kept: bool) -> PendingText {
        PendingText { file: file.into(), text: text.into(), kept, lossy: true, at: 0, number: 1 }
    }

    /// The lines of a block that a line of this file runs: they are lines of this file.
    pub fn block(&self, text: String, line: usize) -> PendingText {
        PendingText { text: text.into(), at: 0, number: line, ..self.clone() }
    }

    /// Returns to the first line.
    pub fn again(&self) -> PendingText {
        PendingText { at: 0, number: 1, ..self.clone() }
    }

    /// Range of the next line in the text, without blanks around it.
    pub fn span(&self) -> Option<Range<usize>> {
        let line = Lines::new(&self.text[self.at..]).next()?;
        let start = self.at + line.offset + line.text.len() - line.text.trim_start().len();
        Some(start..self.at + line.offset + line.text.trim_end().len())
    }

    /// The next line and its number.
    pub fn next(&self) -> Option<(&str, usize)> {
        let line = Lines::new(&self.text[self.at..]).next()?;
        Some((line.text, self.number + line.number - 1))
    }

    /// The number of the line at hand.
    pub fn number(&self) -> usize {
        self.number
    }

    /// Goes behind the next line.
    pub fn skip(&mut self) {
        let Some(line) = Lines::new(&self.text[self.at..]).next() else { return };
        let newlines = line.text.bytes().filter(|b| *b == b'\n').count();
        self.number += line.number - 1 + newlines;
        self.at += line.offset + line.text.len();
    }

    fn lines(&self) -> impl Iterator<Item = &str> {
        Lines::new(&self.text[self.at..]).map(|line| line.text.trim())
    }
}

/// All lines that aren't in force.
#[derive(Default, Debug)]
pub struct PendingLines {
    /// Lines that failed, in the order in which they were tried.
    pub failed: Vec<Pending>,
    /// Rest of the file that is being loaded.
    pub rest: Option<PendingText>,
    /// Rests of the files that run it by `exec`, the outermost file first.
    pub outer: Vec<PendingText>,
    /// Interfaces that lines of files have set up, each with its line.
    pub raised: Vec<(String, Pending)>,
}

static ALL: Mutex<PendingLines> = Mutex::new(PendingLines {
    failed: Vec::new(),
    rest: None,
    outer: Vec::new(),
    raised: Vec::new(),
});

/// The lines that aren't in force.
pub fn all() -> MutexGuard<'static, PendingLines> {
    ALL.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Reads some more of the configuration in force: forgets failed lines that are in force by now.
/// Returns true if there is more, and the lines that wait for something.
pub fn look<W: World>(world: &W, from: &mut ConfigLines) -> (bool, Vec<ConfigLine>) {
    let mut lines = Vec::new();
    let more = cli::slice(|| world.config_step(from, &mut lines));
    all().forget_running(&lines);
    lines.retain(|line| line.waits.is_some());
    (more, lines)
}

impl PendingLines {
    /// Forgets failed lines that are in force by now.
    pub fn forget_running(&mut self, running: &[ConfigLine]) {
        if !self.failed.is_empty() {
            let running: HashSet<&str> = running.iter().map(|l| l.text.as_str()).collect();
            self.failed.retain(|p| !running.contains(p.text.as_str()));
        }
    }

    /// Checks whether a line of the file at hand may run this file. A file that runs itself never
    /// ends, since a line that fails doesn't end a file.
    ///
    /// # Errors
    /// The file is being run already.
    pub fn may_enter(&self, file: &str) -> Result<(), Error> {
        let path = |file: &str| std::fs::canonicalize(file).ok();
        let mut running = self.rest.iter().chain(&self.outer);
        if running.any(|outer| path(&outer.file).is_some_and(|outer| Some(outer) == path(file))) {
            return Err(Error::failed(format!("{file} is being run already")));
        }
        Ok(())
    }

    /// Begins a file that a line of the file at hand runs.
    pub fn enter(&mut self, file: PendingText) {
        self.outer.extend(self.rest.replace(file));
    }

    /// Ends the file at hand; the file that runs it goes on, if there is one.
    pub fn leave(&mut self) {
        self.rest = self.outer.pop();
    }

    /// Returns true if this line failed before.
    pub fn has(&self, text: &str) -> bool {
        self.failed.iter().any(|p| p.text == text)
    }

    /// Returns the lines that `save` writes besides the configuration in force.
    pub fn saved(&self) -> Vec<String> {
        let failed = self.failed.iter().filter(|p| p.kept).map(|p| p.text.as_str());
        let rests = self.rest.iter().chain(self.outer.iter().rev());
        let rest = rests.filter(|rest| rest.kept).flat_map(PendingText::lines);
        failed.chain(rest).map(String::from).collect()
    }

    /// Notes that a line failed.
    pub fn add<W>(
        &mut self,
        tree: &Tree<W>,
        rest: &PendingText,
        (text, line): (&str, usize),
        error: &Error,
    ) {
        let missing = error.span().and_then(|span| text.get(span));
        let needs = missing.and_then(|missing| {
            let same = self.failed.iter().filter(|p| p.file == rest.file);
            same.into_iter().find(|p| makes(tree, &p.text, missing)).map(|p| p.line)
        });
        let (reason, file) = (error.brief(), Arc::clone(&rest.file));
        self.failed.push(Pending {
            file,
            line,
            text: text.to_string(),
            reason,
            needs,
            kept: rest.kept,
        });
    }
}

/// Returns true if a line that failed was to make the object `name`. `create host-interface name
/// v0` makes `host-v0`, and `create loopback interface instance 0` makes `loop0`.
fn makes<W>(tree: &Tree<W>, line: &str, name: &str) -> bool {
    let creates = line.starts_with("create ");
    let named = |word: &str| word == name || creates && !word.is_empty() && name.ends_with(word);
    match tree.parse(line) {
        Ok(Some(parsed)) => parsed.matches().texts().any(named),
        _ => line.split_whitespace().skip(1).any(named),
    }
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;

    #[suite::test]
    fn the_rest_of_a_file_keeps_its_numbers() {
        let text = "# a\n\nfirst\n  block {\n x\n}\n# b\n\nlast\n";
        let mut rest = PendingText::new("f", text.into(), true);
        let mut seen = Vec::new();
        while let Some((line, number)) = rest.next() {
            assert_eq!(rest.span().map(|span| &text[span]), Some(line.trim()));
            seen.push((line.trim().to_string(), number));
            rest.skip();
            let left: Vec<_> = rest.lines().collect();
            assert!(text.ends_with("last\n") && left.len() + seen.len() == 3, "{left:?}");
        }
        let seen: Vec<_> = seen.iter().map(|(l, n)| (l.as_str(), *n)).collect();
        assert_eq!(seen, [("first", 3), ("block {\n x\n}", 4), ("last", 9)]);
    }
}
