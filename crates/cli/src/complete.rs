// SPDX-License-Identifier: Apache-2.0
//! Tab and `?`: candidates for the word at the cursor.

use crate::kind::Kind;
use crate::lex::{self, Shape, Token};
use crate::matcher::Machine;
use crate::program::Op;
use crate::tree::{Entry, Live, Tree};
use std::collections::BTreeMap;

/// The candidates for the word at the cursor.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Completion {
    /// Start of the word under the cursor, in bytes; a candidate replaces the text from there to
    /// the cursor.
    pub start: usize,
    /// Sorted; words first, then placeholders.
    pub candidates: Vec<Candidate>,
    /// Usage and help of the command that the line has reached.
    pub about: Option<String>,
}

/// A word or placeholder that can stand at the cursor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// The word, or the placeholder as it is shown: `<prefix>`, `<cr>`.
    pub text: String,
    /// A few words about it.
    pub help: String,
    /// True if the text can be put into the line as it is.
    pub is_word: bool,
}

impl Completion {
    /// The words that can be inserted.
    pub fn words(&self) -> Vec<&str> {
        self.candidates.iter().filter(|c| c.is_word).map(|c| c.text.as_str()).collect()
    }

    /// The longest text that all words begin with; `None` without words.
    pub fn common(&self) -> Option<&str> {
        let words = self.words();
        let (first, others) = words.split_first()?;
        let same = |n: &usize| {
            others.iter().all(|w| w.get(..*n) == first.get(..*n) && first.is_char_boundary(*n))
        };
        let n = (0..=first.len()).rev().find(same).unwrap_or(0);
        Some(&first[..n])
    }

    /// Puts another one's candidates among these; both must be for the same line.
    pub(crate) fn join(&mut self, other: Self) {
        self.candidates.extend(other.candidates);
        self.about = self.about.take().or(other.about);
        self.sort();
    }

    fn sort(&mut self) {
        self.candidates.sort_by(|a, b| (!a.is_word, &a.text).cmp(&(!b.is_word, &b.text)));
        self.candidates.dedup_by(|a, b| a.text == b.text);
    }

    /// Returns the text that `?` prints.
    pub fn help(&self) -> String {
        let mut out = self.about.clone().unwrap_or_default();
        if self.candidates.is_empty() && out.is_empty() {
            return "  nothing fits here\n".into();
        }
        let width = self.candidates.iter().map(|c| c.text.chars().count()).max().unwrap_or(0);
        for c in &self.candidates {
            let pad = width - c.text.chars().count();
            out += format!("  {}{:pad$}  {}", c.text, "", c.help).trim_end();
            out.push('\n');
        }
        out
    }
}

impl<W: Live> Tree<W> {
    /// Returns the candidates at byte `cursor` of the line, live objects included.
    pub fn complete(&self, world: &W, line: &str, cursor: usize) -> Completion {
        let head = &line[..line.floor_char_boundary(cursor)];
        let mut words = Vec::new();
        lex::split(head, &mut words);
        let under = words.pop_if(|w| w.end as usize == head.len());
        let (start, prefix) = match under {
            None => (head.len(), ""),
            Some(Token { shape: Shape::Word, start, .. }) => {
                (start as usize, &head[start as usize..])
            }
            Some(_) => return Completion { start: head.len(), ..Completion::default() },
        };
        let mut found = Completion { start, ..Completion::default() };
        if words.iter().any(|w| matches!(w.shape, Shape::OpenBlock | Shape::OpenQuote)) {
            return found;
        }
        let walk = self.walk(head, &words);
        let last = *walk.steps.last().expect("the root");
        if walk.steps.len() == words.len() + 1 {
            let built = |(_, child): &&(&str, usize)| self.branches[*child].built;
            for (word, child) in self.branches[last].starting(prefix).iter().filter(built) {
                found.candidates.push(Candidate {
                    text: word.to_string(),
                    help: self.summary(*child),
                    is_word: true,
                });
            }
        }
        let mut machine = Machine::default();
        for (n, branch) in walk.steps.iter().enumerate().rev() {
            let Some(entry) = self.branches[*branch].entry.map(|e| &self.entries[e]) else {
                continue;
            };
            let before = found.candidates.len();
            let candidates = &mut found.candidates;
            entry.expected(world, head, &words[n..], prefix, &mut machine, candidates);
            for literal in candidates[before..].iter_mut().filter(|c| c.is_word) {
                let meaning = self.meaning.and_then(|of| of(entry.command.path, &literal.text));
                literal.help = match (meaning, literal.help.as_str()) {
                    (None, help) => help.into(),
                    (Some(text), "") => text.into(),
                    (Some(text), value) => format!("{value}; {text}"),
                };
            }
            if found.candidates.len() > before || n == words.len() {
                if prefix.is_empty() {
                    found.about = Some(format!("{}\n{}\n", entry.usage, entry.command.help));
                }
                break;
            }
        }
        found.sort();
        found
    }

    /// A few words about a branch: its command's help, else what comes next.
    fn summary(&self, branch: usize) -> String {
        let b = &self.branches[branch];
        if let Some(e) = b.entry {
            return self.entries[e].command.help.to_string();
        }
        let built = b.children.iter().filter(|(_, child)| self.branches[*child].built);
        let words: Vec<&str> = built.map(|(w, _)| *w).collect();
        let more = if words.len() > 6 { ", …" } else { "" };
        format!("{}{more}", words[..words.len().min(6)].join(", "))
    }
}

impl<W: Live> Entry<W> {
    /// Adds the candidates that the command's grammar takes after `words` and that begin with
    /// `prefix`.
    fn expected(
        &self,
        world: &W,
        line: &str,
        words: &[Token],
        prefix: &str,
        machine: &mut Machine,
        into: &mut Vec<Candidate>,
    ) {
        let (_, expected) = machine.explain(&self.program, line, words);
        if expected.at != words.len() {
            return;
        }
        let mut add = |text: &str, help: String, is_word: bool| {
            into.push(Candidate { text: text.to_string(), help, is_word });
        };
        let ops = &self.program.ops;
        let mut live: BTreeMap<&str, &str> = BTreeMap::new();
        for pc in &expected.pcs {
            match &ops[*pc] {
                Op::Literal(word) if word.starts_with(prefix) => {
                    let follows = match ops.get(pc + 1) {
                        Some(Op::Arg(name, kind)) => format!("<{name}>: {}", kind.describe()),
                        _ => String::new(),
                    };
                    add(word, follows, true);
                }
                Op::Arg(_, Kind::OneOf(words)) => {
                    words
                        .iter()
                        .filter(|w| w.starts_with(prefix))
                        .for_each(|w| add(w, String::new(), true));
                }
                Op::Arg(name, kind) => {
                    if let Kind::Live(kind) = kind {
                        live.insert(kind, name);
                    }
                    if prefix.is_empty() || !matches!(kind, Kind::Live(_)) {
                        add(&format!("<{name}>"), kind.describe(), false);
                    }
                }
                Op::End if prefix.is_empty() => add("<cr>", "run it".into(), false),
                _ => {}
            }
        }
        for kind in live.keys() {
            for name in world.candidates(kind, prefix) {
                add(&name, kind.to_string(), true);
            }
        }
    }
}
