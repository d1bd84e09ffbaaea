// SPDX-License-Identifier: Apache-2.0
//! Shows long output a screen at a time.

use super::keys::Key;

/// Text on the last line while output waits.
const MORE: &str = "-- more -- (space: page, enter: line, q: stop)";

#[derive(Debug, Default)]
pub(crate) struct Pager {
    /// Rows of a page; 0 shows everything at once.
    pub rows: usize,
    pub columns: usize,
    /// Lines not yet shown, the last one first.
    waiting: Vec<String>,
    /// Rows shown since the operator last pressed a key.
    shown: usize,
    /// `q` was pressed: the rest of this answer is discarded.
    stopped: bool,
    /// `G` was pressed: the rest of this answer is shown at once.
    flowing: bool,
    /// The question stands on the screen.
    asking: bool,
}

impl Pager {
    /// A pager that shows everything at once until it knows the size of the window.
    pub fn new() -> Self {
        Self { columns: 80, ..Self::default() }
    }

    /// A new answer begins.
    pub fn begin(&mut self) {
        (self.shown, self.stopped, self.flowing) = (0, false, false);
    }

    pub fn is_waiting(&self) -> bool {
        self.asking
    }

    /// Returns true if the operator doesn't want the rest of this answer.
    pub fn is_stopped(&self) -> bool {
        self.stopped
    }

    /// Takes text (whole lines) and shows as much as fits.
    pub fn show(&mut self, text: &str, out: &mut Vec<u8>) {
        if self.stopped {
            return;
        }
        self.waiting.splice(0..0, text.lines().rev().map(str::to_string));
        self.go_on(out);
    }

    /// Handles a key while output waits.
    pub fn key(&mut self, key: Key, out: &mut Vec<u8>) {
        match key {
            Key::Char(' ' | 'f') => self.shown = 0,
            Key::Enter | Key::Down => self.shown = self.shown.saturating_sub(1),
            Key::Char('G' | 'g') => {
                self.flowing = true;
            }
            Key::Char('q' | 'Q') | Key::Interrupt | Key::Eof => {
                self.erase(out);
                self.waiting.clear();
                self.stopped = true;
                return;
            }
            _ => return,
        }
        self.go_on(out);
    }

    fn go_on(&mut self, out: &mut Vec<u8>) {
        self.erase(out);
        while let Some(line) = self.waiting.last() {
            let rows = line.chars().count().div_ceil(self.columns.max(1)).max(1);
            // One row stays for the question; a line longer than the screen is shown all the same.
            if !self.flowing && self.rows > 1 && self.shown > 0 && self.shown + rows > self.rows - 1
            {
                self.asking = true;
                out.extend(MORE.as_bytes());
                return;
            }
            self.shown += rows;
            put(line, out);
            self.waiting.pop();
        }
    }

    fn erase(&mut self, out: &mut Vec<u8>) {
        if std::mem::take(&mut self.asking) {
            out.extend(b"\r\x1b[K");
        }
    }
}

fn put(line: &str, out: &mut Vec<u8>) {
    out.extend(line.as_bytes());
    out.extend(b"\r\n");
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;

    fn pager() -> (Pager, Vec<u8>) {
        (Pager { rows: 4, columns: 10, ..Pager::default() }, Vec::new())
    }

    fn seen(out: &mut Vec<u8>) -> String {
        String::from_utf8(std::mem::take(out))
            .unwrap()
            .replace(MORE, "MORE")
            .replace("\r\x1b[K", "")
    }

    #[suite::test]
    fn pages_lines_and_stops() {
        let (mut p, mut out) = pager();
        p.begin();
        p.show("1\n2\n3\n4\n5\n", &mut out);
        assert_eq!(seen(&mut out), "1\r\n2\r\n3\r\nMORE");
        p.show("6\n7\n8\n9\n", &mut out);
        assert_eq!(seen(&mut out), "MORE");
        p.key(Key::Enter, &mut out);
        assert_eq!(seen(&mut out), "4\r\nMORE");
        p.key(Key::Char(' '), &mut out);
        assert_eq!(seen(&mut out), "5\r\n6\r\n7\r\nMORE");
        p.key(Key::Char('x'), &mut out);
        assert_eq!(seen(&mut out), "");
        p.key(Key::Char('q'), &mut out);
        assert!(!p.is_waiting());
        p.show("10\n", &mut out);
        assert_eq!(seen(&mut out), "");
        p.begin();
        p.show("11\n", &mut out);
        assert_eq!(seen(&mut out), "11\r\n");
    }

    #[suite::test]
    fn long_lines_take_several_rows() {
        let (mut p, mut out) = pager();
        p.show(&format!("{}\nb\nc\n", "a".repeat(25)), &mut out);
        assert_eq!(seen(&mut out), format!("{}\r\nMORE", "a".repeat(25)));
        p.key(Key::Char('G'), &mut out);
        assert_eq!(seen(&mut out), "b\r\nc\r\n");
        assert!(!p.is_waiting());
    }

    #[suite::test]
    fn what_flows_goes_on_until_the_next_answer() {
        let (mut p, mut out) = pager();
        p.begin();
        p.show("1\n2\n3\n4\n", &mut out);
        p.key(Key::Char('G'), &mut out);
        p.show("5\n6\n7\n8\n9\n", &mut out);
        assert_eq!(seen(&mut out), "1\r\n2\r\n3\r\nMORE4\r\n5\r\n6\r\n7\r\n8\r\n9\r\n");
        p.begin();
        p.show("1\n2\n3\n4\n", &mut out);
        assert!(p.is_waiting());
    }

    #[suite::test]
    fn no_rows_no_paging() {
        let mut p = Pager::default();
        let mut out = Vec::new();
        p.show(&"x\n".repeat(1000), &mut out);
        assert_eq!(seen(&mut out).lines().count(), 1000);
    }
}
