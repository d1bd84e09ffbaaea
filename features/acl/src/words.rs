// SPDX-License-Identifier: Apache-2.0
//! The words of rules in commands.

use cli::{Error, Result};
use std::net::IpAddr;
use std::ops::Range;

/// A word of the rules, and where it stands.
type Word<'a> = (&'a str, Range<usize>);

/// The words of the rules. A comma begins another rule, as its verdict does anyway. What is in
/// quotes is one word.
fn words(text: &str) -> Vec<Word<'_>> {
    let is_gap = |c: char| c.is_whitespace() || c == ',';
    let (mut all, mut at) = (Vec::new(), 0);
    while let Some(skipped) = text[at..].find(|c| !is_gap(c)) {
        at += skipped;
        let rest = &text[at..];
        let quote = rest.chars().next().filter(|c| ['"', '\''].contains(c));
        let quoted = quote.and_then(|quote| rest[1..].find(quote).map(|len| at + 1..at + 1 + len));
        let len = rest.find(is_gap).unwrap_or(rest.len());
        let (word, end) = match quoted {
            Some(inside) => (inside.clone(), inside.end + 1),
            None => (at..at + len, at + len),
        };
        all.push((&text[word.clone()], word));
        at = end;
    }
    all
}

/// Reads the words of rules one after the other.
pub struct Reader<'a> {
    words: std::iter::Peekable<std::vec::IntoIter<Word<'a>>>,
    /// Where the rules begin in the line.
    from: usize,
    last: Range<usize>,
}

impl<'a> Reader<'a> {
    /// Reads the words of a line's rest that begins at this column.
    pub fn new(text: &'a str, from: usize) -> Self {
        let words = words(text).into_iter().peekable();
        Self { words, from, last: from..from }
    }

    /// The next word, which ought to be what `expected` says.
    pub fn next(&mut self, expected: &str) -> Result<&'a str> {
        match self.words.next() {
            Some((word, at)) => {
                self.last = self.from + at.start..self.from + at.end;
                Ok(word)
            }
            None => Err(Error::parse(format!("expected {expected} at the end of the line"))),
        }
    }

    /// The next word, which stays.
    pub fn peek(&mut self) -> Option<&'a str> {
        self.words.peek().map(|(word, _)| *word)
    }

    /// The next word, if it is this one.
    pub fn take(&mut self, word: &str) -> bool {
        self.peek() == Some(word) && self.next(word).is_ok()
    }

    /// The error for the last word.
    pub fn wrong(&self, expected: &str, word: &str) -> Error {
        Error::parse(format!("expected {expected}, not `{word}'")).at(self.last.clone())
    }

    /// The next word, as a number.
    pub fn number<T: std::str::FromStr>(&mut self, expected: &str) -> Result<T> {
        let word = self.next(expected)?;
        word.parse().map_err(|_| self.wrong(expected, word))
    }

    /// The next word, as a network.
    pub fn prefix(&mut self) -> Result<(IpAddr, u8)> {
        let expected = "a network, such as 10.0.0.0/8";
        let word = self.next(expected)?;
        let (addr, len) = word.split_once('/').ok_or_else(|| self.wrong(expected, word))?;
        let addr = addr.parse().map_err(|_| self.wrong(expected, word))?;
        Ok((addr, len.parse().map_err(|_| self.wrong(expected, word))?))
    }

    /// Byte range, in the line, of the word taken last.
    pub fn at(&self) -> Range<usize> {
        self.last.clone()
    }
}
