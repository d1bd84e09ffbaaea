// SPDX-License-Identifier: Apache-2.0
//! The line a person is typing: editing, history, drawing.

use super::keys::Key;

/// The effect of a key beyond editing.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Edit {
    None,
    Submit(String),
    Complete,
    Help,
    Interrupt,
    Eof,
}

/// A line is cut here; more comes as scripts.
const MAX_LINE: usize = 64 << 10;

#[derive(Debug)]
pub(crate) struct Editor {
    pub prompt: String,
    line: String,
    /// Offset in bytes, always between characters.
    cursor: usize,
    history: Vec<String>,
    /// Lines of history kept.
    pub limit: usize,
    /// Position of ↑ and ↓ in the history; `history.len()` is the new line, kept in `aside`
    /// meanwhile.
    browsing: usize,
    aside: String,
    pub columns: usize,
}

impl Editor {
    pub fn new(prompt: &str, limit: usize) -> Self {
        Self {
            prompt: prompt.to_string(),
            line: String::new(),
            cursor: 0,
            history: Vec::new(),
            limit,
            browsing: 0,
            aside: String::new(),
            columns: 80,
        }
    }

    pub fn line(&self) -> &str {
        &self.line
    }

    pub fn cursor(&self) -> usize {
        self.cursor
    }

    pub fn history(&self) -> &[String] {
        &self.history
    }

    /// Replaces the text from `start` to the cursor by `text`.
    pub fn replace(&mut self, start: usize, text: &str, out: &mut Vec<u8>) {
        if start <= self.cursor && self.line.is_char_boundary(start) {
            self.line.replace_range(start..self.cursor, text);
            self.cursor = start + text.len();
            self.draw(out);
        }
    }

    pub fn remember(&mut self, line: &str) {
        if !line.trim().is_empty() && self.history.last().is_none_or(|l| l != line) {
            self.history.push(line.to_string());
        }
        let over = self.history.len().saturating_sub(self.limit);
        self.history.drain(..over);
    }

    /// Discards the line that was being typed.
    pub fn clear(&mut self) {
        self.line.clear();
        self.cursor = 0;
        self.browsing = self.history.len();
    }

    pub fn key(&mut self, key: Key, out: &mut Vec<u8>) -> Edit {
        match key {
            Key::Char('?') if !self.in_quotes() => return Edit::Help,
            Key::Char(c) => self.insert(c, out),
            Key::Enter => {
                // The cursor goes behind the line, so that output starts below all of it.
                self.cursor = self.line.len();
                self.draw(out);
                out.extend(b"\r\n");
                let line = std::mem::take(&mut self.line);
                self.clear();
                return Edit::Submit(line);
            }
            Key::Tab => return Edit::Complete,
            Key::Interrupt => {
                out.extend(b"^C\r\n");
                self.clear();
                return Edit::Interrupt;
            }
            Key::Eof if self.line.is_empty() => return Edit::Eof,
            Key::Eof | Key::Delete => self.cut(self.cursor, self.right(), out),
            Key::Backspace => self.cut(self.left(), self.cursor, out),
            Key::CutToEnd => self.cut(self.cursor, self.line.len(), out),
            Key::CutToStart => self.cut(0, self.cursor, out),
            Key::CutWord => self.cut(self.word_left(), self.cursor, out),
            Key::Left => self.go(self.left(), out),
            Key::Right => self.go(self.right(), out),
            Key::Home => self.go(0, out),
            Key::End => self.go(self.line.len(), out),
            Key::WordLeft => self.go(self.word_left(), out),
            Key::WordRight => self.go(self.word_right(), out),
            Key::Up => self.browse(self.browsing.wrapping_sub(1), out),
            Key::Down => self.browse(self.browsing + 1, out),
            Key::Redraw => {
                out.extend(b"\x1b[2J\x1b[H");
                self.draw(out);
            }
        }
        Edit::None
    }

    fn insert(&mut self, c: char, out: &mut Vec<u8>) {
        if self.line.len() >= MAX_LINE {
            out.push(7);
            return;
        }
        self.line.insert(self.cursor, c);
        self.cursor += c.len_utf8();
        let width = self.prompt.chars().count() + self.line.chars().count();
        if self.cursor == self.line.len() && width < self.columns {
            out.extend(c.encode_utf8(&mut [0; 4]).as_bytes());
        } else {
            self.draw(out);
        }
    }

    fn cut(&mut self, from: usize, to: usize, out: &mut Vec<u8>) {
        if from < to {
            self.line.replace_range(from..to, "");
            self.cursor = from;
            self.draw(out);
        }
    }

    fn go(&mut self, to: usize, out: &mut Vec<u8>) {
        if self.cursor != to {
            self.cursor = to;
            self.draw(out);
        }
    }

    fn browse(&mut self, to: usize, out: &mut Vec<u8>) {
        let here = self.browsing.min(self.history.len());
        if to > self.history.len() || to == here {
            return;
        }
        if here == self.history.len() {
            self.aside = std::mem::take(&mut self.line);
        }
        self.line =
            self.history.get(to).cloned().unwrap_or_else(|| std::mem::take(&mut self.aside));
        self.browsing = to;
        self.cursor = self.line.len();
        self.draw(out);
    }

    fn left(&self) -> usize {
        self.line[..self.cursor].char_indices().next_back().map_or(0, |(i, _)| i)
    }

    fn right(&self) -> usize {
        self.line[self.cursor..].chars().next().map_or(self.cursor, |c| self.cursor + c.len_utf8())
    }

    fn word_left(&self) -> usize {
        let head = self.line[..self.cursor].trim_end_matches(' ');
        head.rfind(' ').map_or(0, |i| i + 1)
    }

    fn word_right(&self) -> usize {
        let rest = &self.line[self.cursor..];
        let blanks = rest.len() - rest.trim_start_matches(' ').len();
        rest[blanks..].find(' ').map_or(self.line.len(), |i| self.cursor + blanks + i)
    }

    fn in_quotes(&self) -> bool {
        self.line[..self.cursor].matches('"').count() % 2 == 1
    }

    /// Draws prompt and line anew. A line that is too long for the terminal is shown in part,
    /// around the cursor.
    pub fn draw(&self, out: &mut Vec<u8>) {
        let prompt = self.prompt.chars().count();
        let room = self.columns.saturating_sub(prompt + 1).max(8);
        let before = self.line[..self.cursor].chars().count();
        let skip = before.saturating_sub(room);
        let shown: String = self.line.chars().skip(skip).take(room).collect();
        out.extend(format!("\r{}{shown}\x1b[K", self.prompt).as_bytes());
        let back = shown.chars().count() - (before - skip);
        if back > 0 {
            out.extend(format!("\x1b[{back}D").as_bytes());
        }
    }
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;
    use crate::session::keys::Keys;

    fn typed(editor: &mut Editor, bytes: &[u8]) -> (Vec<Edit>, String) {
        let (mut keys, mut out) = (Keys::default(), Vec::new());
        let edits = bytes.iter().filter_map(|b| keys.receive(*b)).map(|k| editor.key(k, &mut out));
        let edits = edits.filter(|e| *e != Edit::None).collect();
        (edits, String::from_utf8(out).unwrap())
    }

    fn line(bytes: &[u8]) -> String {
        let mut e = Editor::new("> ", 10);
        typed(&mut e, bytes);
        let (head, tail) = e.line().split_at(e.cursor());
        format!("{head}|{tail}")
    }

    #[suite::test]
    fn edits() {
        assert_eq!(line(b"abc\x1b[D\x1b[DX"), "aX|bc");
        assert_eq!(line(b"abc\x01X\x05Y\x02\x7f"), "Xab|Y");
        assert_eq!(line(b"one two  three\x17\x17"), "one |");
        assert_eq!(line(b"one two\x1bb\x0b"), "one |");
        assert_eq!(line(b"one two\x1bb\x15"), "|two");
        assert_eq!(line(b"one two\x01\x1bf\x1b[3~"), "one|two");
        assert_eq!(line("é→x\x02\x02\x04".as_bytes()), "é|x");
        assert_eq!(line(b"\x7f\x02\x0b\x15\x17"), "|");
    }

    #[suite::test]
    fn echoes_what_is_typed_and_redraws_what_changes() {
        let mut e = Editor::new("> ", 10);
        assert_eq!(typed(&mut e, b"ab").1, "ab");
        assert_eq!(typed(&mut e, b"\x02c").1, "\r> ab\x1b[K\x1b[1D\r> acb\x1b[K\x1b[1D");
        let (edits, out) = typed(&mut e, b"\r");
        assert_eq!((edits, out.as_str()), (vec![Edit::Submit("acb".into())], "\r> acb\x1b[K\r\n"));
    }

    #[suite::test]
    fn shows_a_part_of_long_lines() {
        let mut e = Editor::new("> ", 10);
        e.columns = 20;
        typed(&mut e, "0123456789abcdefghijkl".as_bytes());
        let mut out = Vec::new();
        e.draw(&mut out);
        assert_eq!(out, b"\r> 56789abcdefghijkl\x1b[K");
        typed(&mut e, b"\x01");
        out.clear();
        e.draw(&mut out);
        assert_eq!(out, b"\r> 0123456789abcdefg\x1b[K\x1b[17D");
    }

    #[suite::test]
    fn history() {
        let mut e = Editor::new("> ", 2);
        ["one", "two", "two", " ", "three"].iter().for_each(|l| e.remember(l));
        assert_eq!(e.history(), ["two", "three"]);
        e.clear();
        typed(&mut e, b"new\x1b[A");
        assert_eq!(e.line(), "three");
        typed(&mut e, b"\x1b[A\x1b[A\x1b[A");
        assert_eq!(e.line(), "two");
        typed(&mut e, b"\x1b[B\x1b[B");
        assert_eq!(e.line(), "new");
        typed(&mut e, b"\x1b[B");
        assert_eq!(e.line(), "new");
    }

    #[suite::test]
    fn asks() {
        let mut e = Editor::new("> ", 2);
        assert_eq!(
            typed(&mut e, b"sh?\"?\"\t\x03\x04").0,
            [Edit::Help, Edit::Complete, Edit::Interrupt, Edit::Eof]
        );
    }
}
