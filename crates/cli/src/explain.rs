// SPDX-License-Identifier: Apache-2.0
//! Explains why a line fits no command: the first wrong word, and the words that were expected
//! there.

use crate::kind::Kind;
use crate::lex::{Shape, Token};
use crate::matcher::{Expected, Machine, MatchResult};
use crate::program::Op;
use crate::tree::{Branch, Entry, Tree};
use crate::{Error, nearest};

/// The error for a line that fits no command.
pub(crate) fn mismatch<W>(
    tree: &Tree<W>,
    line: &str,
    words: &[Token],
    machine: &mut Machine,
) -> Error {
    let walk = tree.walk(line, words);
    let depth = walk.steps.len() - 1;
    let last = &tree.branches[walk.steps[depth]];
    if depth > 0 && !last.built {
        return not_built(line, words, depth, last);
    }
    // Of all commands on the path, the one that parsed most of the line; the deepest among equals.
    let mut best: Option<(usize, &Entry<W>, Expected, MatchResult)> = None;
    for (n, branch) in walk.steps.iter().enumerate().rev() {
        let Some(entry) = tree.branches[*branch].entry.map(|e| &tree.entries[e]) else { continue };
        let (ended, expected) = machine.explain(&entry.program, line, &words[n..]);
        if best.as_ref().is_none_or(|(at, ..)| n + expected.at > *at) {
            best = Some((n + expected.at, entry, expected, ended));
        }
    }
    match best {
        Some((at, entry, expected, ended)) if at > depth || last.entry.is_some() => {
            let error = if ended == MatchResult::GaveUp {
                Error::usage("the line is too ambiguous to be understood")
            } else {
                unexpected(line, words, at, entry, &expected)
            };
            error.with_usage(&entry.usage)
        }
        _ => {
            let built = last.children.iter().filter(|(_, child)| tree.branches[*child].built);
            unknown(built.map(|(w, _)| *w), &walk.ambiguous, line, words, depth)
        }
    }
}

/// The words lead to a command of the reference that this build lacks.
fn not_built(line: &str, words: &[Token], depth: usize, branch: &Branch) -> Error {
    let path = words[0].start as usize..words[depth - 1].end as usize;
    let what = clip(&line[path.clone()]);
    let error = match branch.owners.as_slice() {
        [] => format!("`{what}' is a command of VPP that is not part of this build"),
        [owner] => format!("`{what}' belongs to {owner}, which is not part of this build"),
        several => {
            format!("`{what}' belongs to {}, which are not part of this build", all(several))
        }
    };
    Error::unsupported(error).at(path)
}

/// `a`, `a and b`, `a, b and c`.
fn all(words: &[&str]) -> String {
    match words {
        [most @ .., last] if !most.is_empty() => format!("{} and {last}", most.join(", ")),
        one => one.concat(),
    }
}

/// The words lead to no command.
fn unknown(
    known: impl Iterator<Item = &'static str>,
    ambiguous: &[&str],
    line: &str,
    words: &[Token],
    depth: usize,
) -> Error {
    let path = if depth == 0 {
        ""
    } else {
        line[words[0].start as usize..words[depth - 1].end as usize].trim()
    };
    let Some(word) = words.get(depth) else {
        let known: Vec<_> = known.collect();
        return Error::usage(format!("`{path}' is not complete: expected {}", list(&known)))
            .at(line.len()..line.len());
    };
    let text = &line[word.outer()];
    if !ambiguous.is_empty() {
        let error = Error::usage(format!("ambiguous input `{text}': {}", list(ambiguous)));
        return error.at(word.outer());
    }
    let context = if path.is_empty() { String::new() } else { format!("{path}: ") };
    Error::usage(format!("{context}unknown input `{}'", clip(text)))
        .near(text, known)
        .at(word.outer())
}

/// The command is known, the word at `at` (or the end of the line) is not what its grammar wants.
fn unexpected<W>(
    line: &str,
    words: &[Token],
    at: usize,
    entry: &Entry<W>,
    expected: &Expected,
) -> Error {
    let mut literals: Vec<&str> = Vec::new();
    let mut wanted: Vec<String> = Vec::new();
    let mut kinds: Vec<(&str, &Kind)> = Vec::new();
    let mut end = false;
    for pc in &expected.pcs {
        match &entry.program.ops[*pc] {
            Op::Literal(word) => {
                literals.push(word);
                wanted.push(format!("`{word}'"));
            }
            Op::Arg(_, Kind::OneOf(choice)) => {
                literals.extend(choice);
                wanted.extend(choice.iter().map(|w| format!("`{w}'")));
            }
            Op::Arg(name, kind) => {
                kinds.push((name, kind));
                wanted.push(format!("<{name}>"));
            }
            Op::End => end = true,
            _ => {}
        }
    }
    if end {
        wanted.push("the end of the line".into());
    }
    let wanted = list(&wanted);
    let Some(word) = words.get(at) else {
        let after = words.last().map_or(line.len(), |w| w.end as usize);
        return Error::usage(format!("the line is not complete: expected {wanted}"))
            .at(after..after);
    };
    let text = &line[word.outer()];
    let shown = clip(text);
    let span = word.outer();
    let column = column(line, span.start);
    let meant = meant(&kinds, literals.is_empty(), text);
    let error = match word.shape {
        Shape::OpenQuote => Error::usage("this quote is not closed"),
        Shape::OpenBlock => Error::usage("this `{' is not closed"),
        Shape::Word if meant.is_some() => {
            let (name, kind) = meant.expect("there is one");
            Error::usage(format!("<{name}>: {}", kind.explain(&shown)))
        }
        _ => Error::usage(format!("`{shown}' is not expected here: expected {wanted}")),
    };
    match nearest(text, &literals) {
        Some(_) if literals.contains(&text) => error,
        Some(word) => error.hint(format!("did you mean `{word}'?")),
        None => match kinds.as_slice() {
            [(name, kind)]
                if meant.is_none()
                    && kind.rank() == 1
                    && word.shape == Shape::Word
                    && !is_word_of(entry, text) =>
            {
                error.hint(format!("<{name}>: {}", kind.explain(&shown)))
            }
            _ => error,
        },
    }
    .at(span)
    .column(column)
}

/// The column of byte `at` in its line, from 1, in characters.
pub(crate) fn column(text: &str, at: usize) -> usize {
    let line_start = text[..at].rfind('\n').map_or(0, |n| n + 1);
    text[line_start..at].chars().count() + 1
}

/// True if a word is one of the command's own: it stands at the wrong place, or twice.
fn is_word_of<W>(entry: &Entry<W>, text: &str) -> bool {
    entry.program.ops.iter().any(|op| matches!(op, Op::Literal(word) if *word == text))
}

/// The placeholder that a word was probably meant for: its type explains best what is wrong. One
/// that stands alone, one that has the form of the word, or the prefix where a word has a length.
fn meant<'k>(
    kinds: &[(&'k str, &'k Kind)],
    alone: bool,
    text: &str,
) -> Option<(&'k str, &'k Kind)> {
    let is_prefix = |kind: &Kind| {
        matches!(
            kind,
            Kind::Prefix
                | Kind::Prefix4
                | Kind::Prefix6
                | Kind::IfAddr
                | Kind::IfAddr4
                | Kind::IfAddr6
        )
    };
    match kinds {
        [one] => (alone || looks_like(one.1, text)).then_some(*one),
        _ if text.contains('/') => kinds.iter().find(|(_, kind)| is_prefix(kind)).copied(),
        _ => None,
    }
}

/// Returns true if `text` was probably meant for this type: one with a form of its own, and a
/// leading digit.
fn looks_like(kind: &Kind, text: &str) -> bool {
    kind.rank() == 1 && text.starts_with(|c: char| c.is_ascii_digit())
}

fn clip(text: &str) -> String {
    let first = text.lines().next().unwrap_or("");
    if first.chars().count() > 60 || first.len() < text.len() {
        format!("{}…", first.chars().take(60).collect::<String>())
    } else {
        first.to_string()
    }
}

/// `a`, `a or b`, `a, b or c`; long lists are cut.
fn list<S: AsRef<str>>(words: &[S]) -> String {
    const MOST: usize = 12;
    let words: Vec<&str> = words.iter().map(AsRef::as_ref).collect();
    match words.as_slice() {
        [] => "nothing more".into(),
        [one] => one.to_string(),
        [most @ .., last] if words.len() <= MOST => format!("{} or {last}", most.join(", ")),
        many => format!("{}, … ({} more)", many[..MOST].join(", "), many.len() - MOST),
    }
}
