// SPDX-License-Identifier: Apache-2.0
//! The command tree: finds the command that a line means, and runs it.

use crate::lex::{self, Shape, Token};
use crate::matcher::{Capture, Machine, MatchResult};
use crate::notes::{self, Notes};
use crate::program::Program;
use crate::{Error, Matches, Output, OutputPiece, Result, Runner, explain, grammar};
use std::borrow::Cow;
use std::time::Instant;

/// One command. Plugins declare them in a `static CLI: &[Command<World>]`.
pub struct Command<W: 'static> {
    /// The words of its name: `show interface`.
    pub path: &'static str,
    /// The grammar of what comes after the path; see the crate's documentation.
    pub usage: &'static str,
    /// One line for `?` and documentation.
    pub help: &'static str,
    /// Runs it. Called only with a line that fits the grammar.
    pub run: fn(&W, &Matches<'_>) -> Result<Output, Error>,
}

/// The world's live objects, for completion and `?`.
pub trait Live {
    /// Names of objects of `kind` (the type in `<name:kind>`) that begin with `prefix`.
    fn candidates(&self, kind: &str, prefix: &str) -> Vec<String>;
}

/// The answer of a command, and its form.
#[derive(Debug)]
pub struct Outcome {
    /// The output of the command.
    pub output: Output,
    /// True if the line ended in `-j` or `json`.
    pub json: bool,
}

pub(crate) struct Entry<W: 'static> {
    pub command: &'static Command<W>,
    pub program: Program,
    /// The usage line as operators see it.
    pub usage: String,
}

#[derive(Default)]
pub(crate) struct Branch {
    /// Sorted by word.
    pub children: Vec<(&'static str, usize)>,
    pub entry: Option<usize>,
    /// True if a command that can be run has this branch in its path.
    pub built: bool,
    /// True if the word is one of the reference's at this point.
    pub reference: bool,
    /// Owners (plugins, features) of the reference's commands below; each once, none if unknown.
    pub owners: Vec<&'static str>,
}

impl Branch {
    pub fn child(&self, word: &str) -> Option<usize> {
        let i = self.children.binary_search_by_key(&word, |(w, _)| w).ok()?;
        Some(self.children[i].1)
    }

    /// The child whose word begins with `prefix`, if it is unambiguous: the only one among the
    /// reference's words, so that its abbreviations keep their meaning beside other words; else
    /// the only one among the words of built commands.
    fn abbreviated(&self, prefix: &str, branches: &[Branch]) -> Option<usize> {
        let only = |wanted: fn(&Branch) -> bool| {
            let mut fitting = self
                .starting(prefix)
                .iter()
                .map(|(_, child)| *child)
                .filter(|c| wanted(&branches[*c]));
            fitting.next().filter(|_| fitting.next().is_none())
        };
        only(|b| b.reference).or_else(|| only(|b| b.built))
    }

    /// The children whose words begin with `prefix`.
    pub fn starting(&self, prefix: &str) -> &[(&'static str, usize)] {
        let from = self.children.partition_point(|(w, _)| *w < prefix);
        let n = self.children[from..].iter().take_while(|(w, _)| w.starts_with(prefix)).count();
        &self.children[from..from + n]
    }
}

/// All commands. `W` is the world they act on.
pub struct Tree<W: 'static> {
    pub(crate) branches: Vec<Branch>,
    pub(crate) entries: Vec<Entry<W>>,
    watch: Option<CommandHook>,
    expand: Option<Expand>,
    foreign: &'static [Foreign],
    pub(crate) meaning: Option<Meaning>,
}

/// The meaning of a word of a command, by the command's path and the word.
pub type Meaning = fn(path: &str, word: &str) -> Option<&'static str>;

/// Words with which a command of another system begins, and a hint at what does the same here.
pub type Foreign = (&'static str, &'static str);

/// Callback before each command, and once more with the error if it fails at once: gets the
/// command's path, and its line with secrets hidden.
pub type CommandHook = fn(path: &'static str, line: &str, failed: Option<&Error>);

/// Replaces macros in a text. The error is a line number, from 1, and a message.
pub type Expand = fn(text: &str) -> std::result::Result<Cow<'_, str>, (usize, String)>;

/// Replacement text for a secret.
pub const HIDDEN: &str = "<secret>";

/// A line that fits the grammar of its command.
pub struct Parsed<'a, W: 'static> {
    command: &'static Command<W>,
    line: &'a str,
    captures: Vec<Capture>,
    /// True if the line ended in `-j` or `json`.
    pub json: bool,
}

impl<W> Parsed<'_, W> {
    /// The command.
    pub fn command(&self) -> &'static Command<W> {
        self.command
    }

    /// The matches of its grammar.
    pub fn matches(&self) -> Matches<'_> {
        Matches { line: self.line, captures: &self.captures, notes: None }
    }
}

/// Ranges of the secrets in a line.
fn secret_spans(
    program: &Program,
    matches: &Matches<'_>,
) -> impl Iterator<Item = std::ops::Range<usize>> {
    program.secrets().flat_map(|name| matches.args(name).map(|(_, span)| span))
}

/// A line with [`HIDDEN`] in the place of each secret.
fn without_secrets<'l>(program: &Program, matches: &Matches<'l>) -> Cow<'l, str> {
    let mut spans: Vec<_> = secret_spans(program, matches).collect();
    spans.sort_unstable_by_key(|span| span.start);
    spans.into_iter().rev().fold(Cow::Borrowed(matches.line), |mut line, span| {
        line.to_mut().replace_range(span, HIDDEN);
        line
    })
}

/// The path down the tree that the words of a line lead along.
pub(crate) struct Walk<'t> {
    /// Branch after each word, the root first.
    pub steps: Vec<usize>,
    /// Words of the children that begin with the next word, if more than one does.
    pub ambiguous: Vec<&'t str>,
}

/// Memory that is used again for the next line.
#[derive(Default)]
pub(crate) struct Scratch {
    pub words: Vec<Token>,
    pub machine: Machine,
}

impl<W> Default for Tree<W> {
    fn default() -> Self {
        Self {
            branches: vec![Branch::default()],
            entries: Vec::new(),
            watch: None,
            expand: None,
            foreign: &[],
            meaning: None,
        }
    }
}

impl<W> Tree<W> {
    /// Builds the tree. Refuses paths that stand twice and usages that can't be read, all in one
    /// error.
    pub fn new(commands: impl IntoIterator<Item = &'static Command<W>>) -> Result<Self> {
        let mut tree = Self::default();
        tree.add(commands)?;
        Ok(tree)
    }

    /// Adds commands (of a plugin that comes later). The error names refused commands; the others
    /// are added.
    pub fn add(&mut self, commands: impl IntoIterator<Item = &'static Command<W>>) -> Result<()> {
        let errors: Vec<String> = commands
            .into_iter()
            .filter_map(|c| self.insert(c).err().map(|e| format!("command `{}': {e}", c.path)))
            .collect();
        if errors.is_empty() { Ok(()) } else { Err(Error::failed(errors.join("\n"))) }
    }

    fn insert(&mut self, command: &'static Command<W>) -> Result<(), String> {
        let program = Program::compile(command.usage)?;
        let at = self.path(command.path, |branch| branch.built = true);
        if at == 0 {
            return Err("no path".into());
        }
        if self.branches[at].entry.is_some() {
            return Err("this path is already taken".into());
        }
        let usage =
            format!("{} {}", command.path, grammar::show(command.usage)).trim_end().to_string();
        self.branches[at].entry = Some(self.entries.len());
        self.entries.push(Entry { command, program, usage });
        Ok(())
    }

    /// Calls `watch` with each command before it runs, as for a log of commands.
    pub fn watch(&mut self, watch: CommandHook) {
        self.watch = Some(watch);
    }

    /// Sets the function that replaces macros in the lines and scripts that sessions send, before
    /// they are read.
    pub fn set_expand(&mut self, expand: Expand) {
        self.expand = Some(expand);
    }

    /// A text with its macros replaced.
    pub(crate) fn expand<'t>(
        &self,
        text: &'t str,
    ) -> std::result::Result<Cow<'t, str>, (usize, String)> {
        self.expand.map_or(Ok(text.into()), |expand| expand(text))
    }

    /// Registers the commands of the reference system with their owners (a plugin, a feature;
    /// `None` for the rest). Unique abbreviations among them keep their meaning, and the error
    /// for a command that isn't built names its owner.
    pub fn refer(
        &mut self,
        commands: impl IntoIterator<Item = (&'static str, Option<&'static str>)>,
    ) {
        for (path, owner) in commands {
            self.path(path, |branch| {
                branch.reference = true;
                branch.owners.extend(owner.filter(|o| !branch.owners.contains(o)));
            });
        }
    }

    /// Sets hints for commands of other systems: they are given with the error for a line that fits
    /// no command here.
    pub fn set_foreign(&mut self, foreign: &'static [Foreign]) {
        self.foreign = foreign;
    }

    /// Sets where help finds what words of commands mean.
    pub fn set_meaning(&mut self, meaning: Meaning) {
        self.meaning = Some(meaning);
    }

    /// The hint for the longest words of another system with which a line begins.
    pub(crate) fn foreign_hint(&self, line: &str, words: &[Token]) -> Option<&'static str> {
        let begins = |foreign: &str| {
            let mut words = words.iter().map(|word| &line[word.outer()]);
            foreign.split(' ').all(|part| words.next() == Some(part))
        };
        let known = self.foreign.iter().filter(|(foreign, _)| begins(foreign));
        known.max_by_key(|(foreign, _)| foreign.len()).map(|(_, hint)| *hint)
    }

    /// The branch at the end of this path, made if it isn't there; `mark` is called with every
    /// branch on the path.
    fn path(&mut self, path: &'static str, mark: impl Fn(&mut Branch)) -> usize {
        let mut at = 0;
        for word in path.split_whitespace() {
            at = match self.branches[at].children.binary_search_by_key(&word, |(w, _)| w) {
                Ok(i) => self.branches[at].children[i].1,
                Err(i) => {
                    self.branches.push(Branch::default());
                    let new = self.branches.len() - 1;
                    self.branches[at].children.insert(i, (word, new));
                    new
                }
            };
            mark(&mut self.branches[at]);
        }
        at
    }

    /// Every command, in the order of their paths.
    pub fn commands(&self) -> Vec<&'static Command<W>> {
        let mut all: Vec<_> = self.entries.iter().map(|e| e.command).collect();
        all.sort_by_key(|c| c.path);
        all
    }

    /// The kinds of live objects that any grammar names; a test of the daemon holds them against
    /// its `Live`.
    pub fn live_kinds(&self) -> Vec<&'static str> {
        let mut kinds: Vec<_> = self.entries.iter().flat_map(|e| e.program.live()).collect();
        kinds.sort_unstable();
        kinds.dedup();
        kinds
    }

    /// Reads a line and runs its command. A blank line and a comment do nothing.
    pub fn execute(&self, world: &W, line: &str) -> Result<Outcome> {
        self.execute_with(world, line, &mut Scratch::default(), None)
    }

    /// Reads a line, runs its command to its end, and returns all output: for tests, and callers
    /// that may block.
    ///
    /// # Errors
    /// Errors of the line and of the command; output before the error is lost.
    pub fn answer(&self, world: &W, line: &str) -> Result<String> {
        self.run(&mut Runner::default(), world, line)
    }

    /// The notes that an operator gets beside the answer of a line, which is run to its end: for
    /// tests.
    ///
    /// # Errors
    /// As [`Self::answer`].
    pub fn notes(&self, world: &W, line: &str) -> Result<Vec<String>> {
        let mut runner = Runner::default();
        runner.set_noting(true);
        self.run(&mut runner, world, line)?;
        Ok(runner.take_notes())
    }

    fn run(&self, runner: &mut Runner, world: &W, line: &str) -> Result<String> {
        let mut said = Vec::new();
        runner.line(self, world, line, false, &mut said);
        let start = Instant::now();
        loop {
            if let Some(result) = runner.poll(self, world, start.elapsed(), &mut said) {
                return result.map(|()| {
                    said.into_iter()
                        .map(|(OutputPiece::Answer(t) | OutputPiece::Chunk(t))| t)
                        .collect()
                });
            }
        }
    }

    /// Reads a line without running it.
    pub fn check(&self, line: &str) -> Result<()> {
        self.find(line, &mut Scratch::default()).map(drop)
    }

    /// Reads a line and returns its command with the matches; `None` for a blank line or a comment.
    pub fn parse<'a>(&self, line: &'a str) -> Result<Option<Parsed<'a, W>>> {
        let mut scratch = Scratch::default();
        Ok(self.find(line, &mut scratch)?.map(|(entry, json)| Parsed {
            command: entry.command,
            line,
            captures: scratch.machine.captures,
            json,
        }))
    }

    /// The secrets in a line: values of its command's placeholders of type `secret`. None in a line
    /// that can't be parsed.
    pub fn secrets<'a>(&self, line: &'a str) -> Vec<&'a str> {
        let mut scratch = Scratch::default();
        let Ok(Some((entry, _))) = self.find(line, &mut scratch) else { return Vec::new() };
        let matches = Matches { line, captures: &scratch.machine.captures, notes: None };
        secret_spans(&entry.program, &matches).map(|span| &line[span]).collect()
    }

    pub(crate) fn execute_with(
        &self,
        world: &W,
        line: &str,
        scratch: &mut Scratch,
        notes: Option<&Notes>,
    ) -> Result<Outcome> {
        let Some((entry, json)) = self.find(line, scratch)? else {
            return Ok(Outcome { output: Output::Empty, json: false });
        };
        let matches = Matches { line, captures: &scratch.machine.captures, notes };
        if let Some(watch) = self.watch {
            watch(entry.command.path, &without_secrets(&entry.program, &matches), None);
        }
        let result = (entry.command.run)(world, &matches);
        if let (Some(watch), Err(e)) = (self.watch, &result) {
            watch(entry.command.path, &without_secrets(&entry.program, &matches), Some(e));
        }
        match result {
            Ok(output) => {
                if !entry.command.path.starts_with("show ") {
                    notes::networks(&entry.program, &matches);
                }
                Ok(Outcome { output, json })
            }
            Err(e) if e.kind() == crate::ErrorKind::Usage && e.usage_line().is_none() => {
                Err(e.with_usage(&entry.usage))
            }
            Err(e) => Err(e),
        }
    }

    /// Finds the command of a line; its captures are left in the scratch.
    pub(crate) fn find(
        &self,
        line: &str,
        scratch: &mut Scratch,
    ) -> Result<Option<(&Entry<W>, bool)>> {
        let Scratch { words, machine } = scratch;
        words.clear();
        lex::split(line, words);
        if words.is_empty() || is_comment(&line[words[0].outer()]) {
            return Ok(None);
        }
        let json = words.len() > 1
            && words.last().is_some_and(|w| {
                w.shape == Shape::Word && matches!(&line[w.inner()], "-j" | "json")
            });
        if json {
            let fewer = self.matching(line, &words[..words.len() - 1], machine);
            // A command that takes the rest of the line takes its last word too.
            if let Some(entry) = fewer.filter(|e| !e.program.takes_rest()) {
                return Ok(Some((entry, true)));
            }
        }
        match self.matching(line, words, machine) {
            Some(entry) => Ok(Some((entry, false))),
            None if json
                && let Some(entry) = self.matching(line, &words[..words.len() - 1], machine) =>
            {
                Ok(Some((entry, true)))
            }
            None => {
                let n = words.len() - usize::from(json);
                let error = explain::mismatch(self, line, &words[..n], machine);
                Err(match self.foreign_hint(line, &words[..n]) {
                    Some(hint) => error.hint(hint),
                    None => error,
                })
            }
        }
    }

    /// The deepest command on the path whose grammar takes the rest of the words.
    fn matching(&self, line: &str, words: &[Token], machine: &mut Machine) -> Option<&Entry<W>> {
        let walk = self.walk(line, words);
        walk.steps.iter().enumerate().rev().find_map(|(n, branch)| {
            let entry = &self.entries[self.branches[*branch].entry?];
            (machine.run(&entry.program, line, &words[n..]) == MatchResult::Matched)
                .then_some(entry)
        })
    }

    /// The words that a line's first words stand for, as far as they lead to commands: `show
    /// runtime` for `sh run x`.
    pub fn meaning(&self, line: &str) -> String {
        let mut words = Vec::new();
        lex::split(line, &mut words);
        let walk = self.walk(line, &words);
        let word = |at: &[usize]| {
            let children = &self.branches[at[0]].children;
            children.iter().find(|(_, child)| *child == at[1]).map_or("", |(word, _)| word)
        };
        walk.steps.windows(2).map(word).collect::<Vec<_>>().join(" ")
    }

    /// Returns true if the line begins with the path of a command; if `whole`, without abbreviating
    /// it.
    pub(crate) fn reaches(&self, line: &str, whole: bool) -> bool {
        let mut words = Vec::new();
        lex::split(line, &mut words);
        let walk = self.walk(line, &words);
        let is_whole = |n: usize| {
            let child = self.branches[walk.steps[n]].child(&line[words[n].inner()]);
            child == Some(walk.steps[n + 1])
        };
        (1..walk.steps.len())
            .rev()
            .find(|n| self.branches[walk.steps[*n]].entry.is_some())
            .is_some_and(|n| !whole || (0..n).all(is_whole))
    }

    /// Follows the words down the tree: a child's whole word, else the child that it abbreviates.
    pub(crate) fn walk(&self, line: &str, words: &[Token]) -> Walk<'_> {
        let mut walk = Walk { steps: vec![0], ambiguous: Vec::new() };
        let mut at = 0;
        for word in words.iter().take_while(|w| w.shape == Shape::Word) {
            let branch = &self.branches[at];
            let text = &line[word.inner()];
            let Some(next) =
                branch.child(text).or_else(|| branch.abbreviated(text, &self.branches))
            else {
                let built = |(_, child): &&(&str, usize)| self.branches[*child].built;
                walk.ambiguous =
                    branch.starting(text).iter().filter(built).map(|(word, _)| *word).collect();
                return walk;
            };
            at = next;
            walk.steps.push(at);
        }
        walk
    }
}

/// `# …` and `comment …`.
pub(crate) fn is_comment(first_word: &str) -> bool {
    first_word.starts_with('#') || first_word == "comment"
}
