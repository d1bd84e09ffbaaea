// SPDX-License-Identifier: Apache-2.0
//! Reading tokens one after the other, with errors that know their place.

use crate::error::Error;
use crate::source::Source;
use crate::text::{Token, TokenKind};
use crate::value::{Size, Value};

fn is_off(word: &str) -> bool {
    matches!(word, "disable" | "off") || word.starts_with("no-")
}

fn is_size(word: &str) -> bool {
    Size::parse(word).is_ok()
}

/// A position in the tokens of a text.
pub struct Cursor<'a> {
    source: &'a Source,
    tokens: &'a [Token],
    at: usize,
    /// Notes on words that were accepted but have no effect, one sentence each.
    pub notes: Vec<String>,
}

impl<'a> Cursor<'a> {
    /// At the first token.
    pub fn new(source: &'a Source, tokens: &'a [Token]) -> Cursor<'a> {
        Cursor { source, tokens, at: 0, notes: Vec::new() }
    }

    /// No token is left.
    pub fn at_end(&self) -> bool {
        self.at >= self.tokens.len()
    }

    /// The number of tokens read.
    pub fn position(&self) -> usize {
        self.at
    }

    /// The text from token `from` up to here.
    pub fn text_since(&self, from: usize) -> String {
        match self.tokens.get(from..self.at) {
            Some([first, .., last]) => self.source.text[first.start..last.end].to_string(),
            Some([only]) => self.source.text[only.start..only.end].to_string(),
            _ => String::new(),
        }
    }

    fn kind(&self, ahead: usize) -> Option<&'a TokenKind> {
        self.tokens.get(self.at + ahead).map(|t| &t.kind)
    }

    /// The word `ahead` tokens from here, if a word stands there.
    pub fn peek_word(&self, ahead: usize) -> Option<&'a str> {
        match self.kind(ahead) {
            Some(TokenKind::Word(word)) => Some(word),
            _ => None,
        }
    }

    /// Steps over `{ }`, if that stands here.
    pub fn empty_block(&mut self) -> bool {
        let empty =
            self.kind(0) == Some(&TokenKind::Open) && self.kind(1) == Some(&TokenKind::Close);
        self.at += if empty { 2 } else { 0 };
        empty
    }

    /// Steps over the block or word that stands here, if all that it does is to switch off
    /// (`disable`, `off`, `no-…`) or to size (a word with a number) what a section is about.
    pub fn harmless_block(&mut self) -> bool {
        let (mut end, mut depth) = (self.at, 0usize);
        loop {
            let word = match self.tokens.get(end).map(|t| &t.kind) {
                Some(TokenKind::Open) => {
                    depth += 1;
                    ""
                }
                Some(TokenKind::Close) if depth > 0 => {
                    depth -= 1;
                    ""
                }
                Some(TokenKind::Word(word)) => word,
                _ => return false,
            };
            let next = self.tokens.get(end + 1).map(|t| &t.kind);
            let next_word = match next {
                Some(TokenKind::Word(word)) => word,
                _ => "",
            };
            // The name of a size or of an inner block is no setting of its own.
            let names = next == Some(&TokenKind::Open) || is_off(next_word) || is_size(next_word);
            if !(word.is_empty() || is_off(word) || is_size(word) || names) {
                return false;
            }
            end += 1;
            if depth == 0 && !(names && next != Some(&TokenKind::Close)) {
                break;
            }
        }
        self.at = end;
        true
    }

    /// Steps over `n` tokens.
    pub fn skip(&mut self, n: usize) {
        self.at = (self.at + n).min(self.tokens.len());
    }

    /// An error about the token that comes next, or about the end of the text.
    pub fn error_here(&self, message: impl Into<String>) -> Error {
        match self.tokens.get(self.at) {
            Some(t) => Error::new(self.source, t.start..t.end, message),
            None => {
                let end = self.source.text.trim_end().len();
                Error::new(self.source, end..end, message)
            }
        }
    }

    /// An error about the token just read.
    pub fn error_before(&self, message: impl Into<String>) -> Error {
        match self.at.checked_sub(1).and_then(|i| self.tokens.get(i)) {
            Some(t) => Error::new(self.source, t.start..t.end, message),
            None => self.error_here(message),
        }
    }

    /// The next token as a word; `what` says what it should be.
    pub fn word(&mut self, what: &str) -> Result<&'a str, Error> {
        let Some(word) = self.peek_word(0) else {
            let after = self.at.checked_sub(1).and_then(|i| match &self.tokens.get(i)?.kind {
                TokenKind::Word(word) => Some(word),
                _ => None,
            });
            return Err(match after {
                Some(word) => self.error_before(format!("`{word}` wants {what}")),
                None => self.error_here(format!("expected {what}")),
            });
        };
        self.at += 1;
        Ok(word)
    }

    /// The next word as a value.
    pub fn value<V: Value>(&mut self) -> Result<V, Error> {
        let word = self.word(V::SYNTAX)?;
        V::parse(word).map_err(|message| self.error_before(message))
    }

    /// The next word, which has to be one of `known`.
    pub fn keyword(&mut self, known: &[&'static str], place: &str) -> Result<&'static str, Error> {
        let list = || known.iter().map(|k| format!("`{k}`")).collect::<Vec<_>>().join(", ");
        let word = self.word(&format!("one of {}", list()))?;
        if let Some(found) = known.iter().find(|k| **k == word) {
            return Ok(found);
        }
        let error = self.error_before(format!("unknown word `{word}` in {place}"));
        Err(match cli::nearest(word, known.iter().copied()) {
            Some(meant) => error.hint(format!("did you mean `{meant}`?")),
            None => error.hint(format!("known are {}", list())),
        })
    }

    /// `{ item item … }`, or one item without braces: runs `item` once for each.
    pub fn block(
        &mut self,
        what: &str,
        mut item: impl FnMut(&mut Cursor<'a>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        if self.kind(0) != Some(&TokenKind::Open) {
            if self.peek_word(0).is_none() {
                self.word(what)?;
            }
            return item(self);
        }
        self.at += 1;
        while self.kind(0) != Some(&TokenKind::Close) {
            if self.at_end() {
                return Err(self.error_here("expected `}`"));
            }
            item(self)?;
        }
        self.at += 1;
        Ok(())
    }
}
