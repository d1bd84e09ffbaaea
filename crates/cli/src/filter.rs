// SPDX-License-Identifier: Apache-2.0
//! `COMMAND | include TEXT`: some lines of an answer.

use crate::OutputPiece;
use crate::lex::{self, Shape};

/// Selects lines of an answer by a text that they have or lack. The text is taken as it is, not as
/// a pattern.
pub(crate) struct Filter {
    verb: Verb,
    text: String,
    /// Number of lines selected so far.
    selected: usize,
    /// Beginning of a line whose end hasn't come yet.
    open: String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Verb {
    Include,
    Exclude,
    /// From the first line that has the text on.
    Begin,
    /// The number of lines that have the text.
    Count,
}

impl Filter {
    /// Splits a line at its `|` into command and filter. `None`: it has no filter.
    pub fn split(line: &str) -> Option<(&str, Self)> {
        if !line.contains('|') {
            return None;
        }
        let mut words = Vec::new();
        lex::split(line, &mut words);
        let at = words.iter().rposition(|w| w.shape == Shape::Word && &line[w.inner()] == "|")?;
        let verb = match &line[words.get(at + 1)?.inner()] {
            "include" | "inc" | "i" => Verb::Include,
            "exclude" | "exc" | "e" => Verb::Exclude,
            "begin" | "beg" | "b" => Verb::Begin,
            "count" | "c" => Verb::Count,
            _ => return None,
        };
        let text = match &words[at + 2..] {
            // All lines are counted.
            [] if verb == Verb::Count => String::new(),
            [] => return None,
            [one] => line[one.inner()].to_string(),
            [first, .., last] => line[first.outer().start..last.outer().end].to_string(),
        };
        let command = line[..words[at].outer().start].trim_end();
        Some((command, Self { verb, text, selected: 0, open: String::new() }))
    }

    /// The selected lines of a piece of the answer; `None` if there are none.
    pub fn piece(&mut self, piece: OutputPiece) -> Option<OutputPiece> {
        let (text, make): (_, fn(String) -> OutputPiece) = match piece {
            OutputPiece::Answer(text) => (text, OutputPiece::Answer),
            OutputPiece::Chunk(text) => (text, OutputPiece::Chunk),
        };
        let mut selected = String::new();
        for line in text.split_inclusive('\n') {
            if !line.ends_with('\n') {
                self.open += line;
                continue;
            }
            let whole = std::mem::take(&mut self.open) + line;
            self.line(&whole, &mut selected);
        }
        (!selected.is_empty()).then(|| make(selected))
    }

    fn line(&mut self, line: &str, selected: &mut String) {
        let has = line.contains(&self.text);
        let is_selected = match self.verb {
            Verb::Include | Verb::Count => has,
            Verb::Exclude => !has,
            Verb::Begin => has || self.selected > 0,
        };
        if is_selected {
            self.selected += 1;
            if self.verb != Verb::Count {
                selected.push_str(line);
            }
        }
    }

    /// The end of the answer: a last line without an end, and the count.
    pub fn end(mut self) -> Option<OutputPiece> {
        let mut text = String::new();
        if !self.open.is_empty() {
            let line = std::mem::take(&mut self.open);
            self.line(&line, &mut text);
        }
        if self.verb == Verb::Count {
            text = format!("{}\n", self.selected);
        }
        (!text.is_empty()).then_some(OutputPiece::Answer(text))
    }
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;

    fn answer(line: &str, pieces: &[&str]) -> Option<String> {
        let (_, mut filter) = Filter::split(line)?;
        let mut text = String::new();
        let mut add = |piece| {
            if let Some(OutputPiece::Answer(t) | OutputPiece::Chunk(t)) = piece {
                text += &t;
            }
        };
        for piece in pieces {
            add(filter.piece(OutputPiece::Answer(piece.to_string())));
        }
        add(filter.end());
        Some(text)
    }

    #[suite::test]
    fn lines_are_selected() {
        // Pieces may end inside a line.
        let pieces = ["one x\ntwo\nth", "ree x y\nfour\n", "five x"];
        for (filter, want) in [
            ("include x", "one x\nthree x y\nfive x"),
            ("include x y", "three x y\n"),
            ("i 'x y'", "three x y\n"),
            ("exclude x", "two\nfour\n"),
            ("begin three", "three x y\nfour\nfive x"),
            ("count x", "3\n"),
            ("count", "5\n"),
            ("include none", ""),
        ] {
            assert_eq!(answer(&format!("show | {filter}"), &pieces).as_deref(), Some(want));
        }
    }

    #[suite::test]
    fn only_a_filter_is_one() {
        let command = |line| Filter::split(line).map(|(command, _)| command);
        assert_eq!(command("show interface | include a"), Some("show interface"));
        assert_eq!(command("a '| include b' | count"), Some("a '| include b'"));
        for line in ["", "|", "show a|include b", "a | b", "a | include", "x '| include b'"] {
            assert_eq!(command(line), None, "{line}");
        }
    }
}
