// SPDX-License-Identifier: Apache-2.0
//! Errors in configuration text: where, what, the line with a caret, and a hint.

use std::fmt;
use std::ops::Range;

use crate::source::{Origin, Source};

/// Number of characters of a line that an error shows. Joined arguments can be long.
const SHOWN: usize = 96;

/// One error in a configuration text.
///
/// Prints as `file:line:column: what` or `argument N: what`, followed by the line, a caret line and
/// the hint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// Description of the error, without the position.
    pub message: String,
    /// A remedy, if one is known.
    pub hint: Option<String>,
    /// The position in words: `file:line:column` or `argument N`.
    pub place: String,
    /// The line it stands on, cut to a readable length.
    line: String,
    /// Characters before the caret, and the number of carets.
    caret: (usize, usize),
}

impl Error {
    /// An error about the bytes `span` of `source`.
    pub fn new(source: &Source, span: Range<usize>, message: impl Into<String>) -> Error {
        let text = source.text.as_str();
        let start = span.start.min(text.len());
        let from = text[..start].rfind('\n').map_or(0, |i| i + 1);
        let to = text[start..].find('\n').map_or(text.len(), |i| start + i);
        let before: Vec<char> = text[from..start].chars().collect();
        let place = match &source.origin {
            Origin::File(name) => {
                let line = text[..start].matches('\n').count() + 1;
                format!("{name}:{line}:{}", before.len() + 1)
            }
            Origin::Arguments(starts) => match starts.iter().rev().find(|(_, at)| *at <= start) {
                Some((number, _)) => format!("argument {number}"),
                None => "arguments".into(),
            },
        };
        let marked = text[start..span.end.clamp(start, to)].chars().count().max(1);
        let (line, lead) = window(&before, text[start..to].trim_end());
        let caret = (lead, marked.min(line.chars().count().saturating_sub(lead).max(1)));
        Error { message: message.into(), hint: None, place, line, caret }
    }

    /// The same error with a hint.
    pub fn hint(mut self, hint: impl Into<String>) -> Error {
        self.hint = Some(hint.into());
        self
    }
}

/// The part of a line around the error, with tabs as single spaces so that the caret stands where
/// it should. Returns the text and the number of characters before the error.
fn window(before: &[char], after: &str) -> (String, usize) {
    let room = SHOWN / 2;
    let cut = before.len().saturating_sub(room);
    let mut line = String::new();
    if cut > 0 {
        line.push('…');
    }
    line.extend(&before[cut..]);
    let lead = line.chars().count();
    let mut rest = after.chars();
    line.extend(rest.by_ref().take(SHOWN - room));
    if rest.next().is_some() {
        line.push('…');
    }
    (line.replace(|c: char| c.is_control(), " "), lead)
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let (lead, carets) = self.caret;
        writeln!(f, "{}: {}", self.place, self.message)?;
        writeln!(f, "    {}", self.line)?;
        write!(f, "    {}{}", " ".repeat(lead), "^".repeat(carets))?;
        match &self.hint {
            Some(hint) => write!(f, "\n  {hint}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Error {}

#[cfg(feature = "tests")]
mod tests {
    use super::*;

    #[suite::test]
    fn a_long_line_is_cut_around_the_error() {
        let text = format!("{} wrong {}", "a ".repeat(200), "b ".repeat(200));
        let at = text.find("wrong").unwrap();
        let shown = Error::new(&Source::arguments(1, &[&text]), at..at + 5, "no").to_string();
        let lines: Vec<&str> = shown.lines().collect();
        assert!(lines[1].chars().count() < SHOWN + 10);
        let column = lines[2].find('^').unwrap();
        let marked: String = lines[1].chars().skip(column).take(5).collect();
        assert_eq!(marked, "wrong");
    }
}
