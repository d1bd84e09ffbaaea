// SPDX-License-Identifier: Apache-2.0
//! Scripts: checked whole with all errors reported, then run in order, a slice at a time.

use crate::explain::column;
use crate::lex;
use crate::notes::NoteBook;
use crate::tree::{Scratch, is_comment};
use crate::{Error, ErrorKind, Outcome, Result, Tree};

/// One command of a script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line<'a> {
    /// The command; a block goes over several lines.
    pub text: &'a str,
    /// The line it begins on, from 1.
    pub number: usize,
    /// Offset of the command, in bytes from the start of the script.
    pub offset: usize,
}

/// The commands of a script: blank lines and comments are left out, a `{` holds its lines together.
#[derive(Debug, Clone)]
pub struct Lines<'a> {
    text: &'a str,
    at: usize,
    number: usize,
}

impl<'a> Lines<'a> {
    /// The commands of `text`.
    pub fn new(text: &'a str) -> Self {
        Self { text, at: 0, number: 1 }
    }
}

impl<'a> Iterator for Lines<'a> {
    type Item = Line<'a>;

    fn next(&mut self) -> Option<Line<'a>> {
        loop {
            let rest = &self.text[self.at..];
            if rest.is_empty() {
                return None;
            }
            let mut end = line_end(rest);
            let first = rest[..end].split_whitespace().next().unwrap_or("");
            let hash = first.starts_with('#');
            if !hash && rest[..end].contains('{') {
                end = block_line_end(rest, end);
            }
            let line = Line { text: rest[..end].trim_end(), number: self.number, offset: self.at };
            self.at += end;
            self.number += rest[..end].bytes().filter(|b| *b == b'\n').count();
            if !first.is_empty() && !is_comment(first) {
                return Some(line);
            }
        }
    }
}

/// Bytes of a command at most, the lines of its blocks included.
pub const MAX_COMMAND: usize = 16 << 20;

/// A block that is open where a line ends, for text that comes line by line.
#[derive(Debug)]
pub struct OpenBlock(lex::Braces);

impl OpenBlock {
    /// The block that is open at the end of a command's first line.
    pub fn after(line: &str) -> Option<Self> {
        lex::Braces::open(line).map(Self)
    }

    /// Returns true if it, or another one that begins behind its end, is open at the end of a
    /// further line.
    pub fn continues(&mut self, line: &str) -> bool {
        self.0.continues(line)
    }
}

/// Closes the blocks that are open where `text` ends, as VPP does for a client's command, which
/// ends there for certain.
pub fn close_blocks(text: &mut String) {
    let open = Lines::new(text).last().and_then(|line| lex::Braces::open(line.text));
    if let Some(open) = open {
        text.push('\n');
        text.extend(std::iter::repeat_n('}', open.depth()));
    }
}

/// Offset behind the first newline.
fn line_end(text: &str) -> usize {
    text.find('\n').map_or(text.len(), |n| n + 1)
}

/// Offset behind the line on which the last block that begins on the first line, or on a line it
/// leads to, is closed.
fn block_line_end(text: &str, mut end: usize) -> usize {
    let mut from = 0;
    let mut words = Vec::new();
    loop {
        words.clear();
        lex::split(&text[from..end], &mut words);
        let Some(open) = words.last().filter(|w| w.shape == lex::Shape::OpenBlock) else {
            return end;
        };
        let Some(close) = lex::block_end(text.as_bytes(), from + open.start as usize) else {
            return text.len();
        };
        from = close;
        end = close + line_end(&text[close..]);
    }
}

/// An error and its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptError {
    /// Line, from 1.
    pub line: usize,
    /// Column, from 1, in characters.
    pub column: usize,
    /// The error there.
    pub error: Error,
}

/// Lines checked or run in one turn; keeps a turn well below a millisecond for simple commands.
const SLICE: usize = 256;
/// Errors listed; more are counted.
const LISTED: usize = 100;

/// All errors of a script's lines, without running it.
pub fn check<W>(tree: &Tree<W>, text: &str) -> Vec<ScriptError> {
    let mut scratch = Scratch::default();
    let lines = Lines::new(text);
    lines
        .filter_map(|l| tree.find(l.text, &mut scratch).err().map(|e| locate(text, l, e)))
        .collect()
}

/// A running script: first all lines are checked, and if all are correct they are run, one slice a
/// call. `quit` ends it early.
pub struct Script {
    name: String,
    text: String,
    /// True if messages may not quote the text.
    discreet: bool,
    /// Offset of the next slice.
    at: usize,
    number: usize,
    /// The line that was run last.
    current: usize,
    checked: bool,
    errors: Vec<ScriptError>,
    found: usize,
    scratch: Scratch,
}

/// The result of one turn of a script.
#[derive(Debug)]
pub enum TurnResult {
    /// Call again.
    More,
    /// A command was run and has output.
    Answer(Outcome),
    /// All done.
    Done,
}

impl Script {
    /// A script; `name` stands in messages.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            text: text.into(),
            discreet: false,
            at: 0,
            number: 1,
            current: 1,
            checked: false,
            errors: Vec::new(),
            found: 0,
            scratch: Scratch::default(),
        }
    }

    /// Makes messages name only the place of an error, without quoting the text.
    pub fn discreet(self) -> Self {
        Self { discreet: true, ..self }
    }

    /// Returns the part of an error that may be shown.
    pub(crate) fn reason(&self, error: &Error) -> String {
        match (self.discreet, error.kind()) {
            (false, _) => error.brief(),
            (true, ErrorKind::Usage | ErrorKind::Parse) => {
                "this line can't be understood; the file is another user's".into()
            }
            (true, _) => "this command failed; the file is another user's".into(),
        }
    }

    /// The place of the command that was run last, as `name:line`.
    pub fn position(&self) -> String {
        format!("{}:{}", self.name, self.current)
    }

    /// Runs one slice. An error ends the script: either lines that can't be parsed (nothing was
    /// run), or the command that failed (the commands before it are done).
    pub(crate) fn turn<W>(
        &mut self,
        tree: &Tree<W>,
        world: &W,
        mut notes: Option<&mut NoteBook>,
    ) -> Result<TurnResult> {
        // Notes quote the text.
        notes = notes.filter(|_| !self.discreet);
        let mut lines = Lines { text: &self.text, at: self.at, number: self.number };
        for _ in 0..SLICE {
            let Some(line) =
                lines.next().filter(|l| !matches!(l.text.trim(), "quit" | "exit" | "q"))
            else {
                if self.checked {
                    return Ok(TurnResult::Done);
                }
                (self.checked, self.at, self.number) = (true, 0, 1);
                return self.verdict().map(|()| TurnResult::More);
            };
            if !self.checked {
                if let Err(error) = tree.find(line.text, &mut self.scratch) {
                    self.found += 1;
                    if self.errors.len() < LISTED {
                        self.errors.push(locate(&self.text, line, error));
                    }
                }
                continue;
            }
            let outcome = {
                let sink = notes.as_deref().and_then(NoteBook::sink);
                tree.execute_with(world, line.text, &mut self.scratch, sink)
            };
            (self.at, self.number, self.current) = (lines.at, lines.number, line.number);
            if let Some(notes) = notes.as_deref_mut().filter(|_| outcome.is_ok()) {
                notes.collect(Some(format!("{}:{}", self.name, line.number)));
            }
            match outcome {
                Ok(o) if matches!(o.output, crate::Output::Empty) => {}
                Ok(o) => return Ok(TurnResult::Answer(o)),
                Err(e) => {
                    let e = locate(&self.text, line, e);
                    return Err(self.located(&e));
                }
            }
        }
        (self.at, self.number) = (lines.at, lines.number);
        Ok(TurnResult::More)
    }

    /// The errors of all lines as one.
    fn verdict(&mut self) -> Result<()> {
        let n = self.found;
        if n == 0 {
            return Ok(());
        }
        let mut message: String =
            self.errors.iter().map(|e| self.located(e).message().to_string() + "\n").collect();
        if n > self.errors.len() {
            message += &format!("{}: … {} more\n", self.name, n - self.errors.len());
        }
        message +=
            &format!("{}: {n} error{}, nothing was run", self.name, if n == 1 { "" } else { "s" });
        Err(Error::usage(message))
    }

    /// An error that names its place.
    fn located(&self, e: &ScriptError) -> Error {
        let message = format!("{}:{}:{}: {}", self.name, e.line, e.column, self.reason(&e.error));
        Error::new(e.error.kind(), message).retval(e.error.reason())
    }
}

/// Puts an error at its place in the script.
fn locate(script: &str, line: Line<'_>, error: Error) -> ScriptError {
    let blank = line.text.len() - line.text.trim_start().len();
    let at = line.offset + error.span().map_or(blank, |s| s.start);
    let newlines = script[line.offset..at].bytes().filter(|b| *b == b'\n').count();
    ScriptError { line: line.number + newlines, column: column(script, at), error }
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;
    use crate::tests::{Toy, tree};

    #[suite::test]
    fn splits_into_commands() {
        let text = "\n# a { comment\nshow errors\n  new {\n a { b\n} } more {\n\n}\n\ncomment {\n x\n}\necho a{\nlast";
        let lines: Vec<_> = Lines::new(text).map(|l| (l.number, l.text)).collect();
        assert_eq!(
            lines,
            [
                (3, "show errors"),
                (4, "  new {\n a { b\n} } more {\n\n}"),
                (13, "echo a{"),
                (14, "last")
            ]
        );
        for l in Lines::new(text) {
            assert!(text[l.offset..].starts_with(l.text));
        }
        assert_eq!(Lines::new("a {\nb").count(), 1);
        assert_eq!(Lines::new("a\r\n").next().unwrap().text, "a");
    }

    #[suite::test]
    fn blocks_that_are_open_at_the_end_are_closed() {
        for (text, closed) in [
            ("a {\n b\n c { d\n", "a {\n b\n c { d\n\n}}"),
            ("a {\n}\nb { \"}\"", "a {\n}\nb { \"}\"\n}"),
            ("a { b }\n", "a { b }\n"),
            ("a {\n}\n# it's a { comment", "a {\n}\n# it's a { comment"),
            ("", ""),
        ] {
            let mut text = text.to_string();
            close_blocks(&mut text);
            assert_eq!(text, closed);
        }
    }

    fn run(text: &str) -> (Result<()>, String) {
        let (tree, world) = (tree(), Toy::new());
        let mut script = Script::new("s", text);
        loop {
            match script.turn(&tree, &world, None) {
                Ok(TurnResult::Done) => return (Ok(()), world.said()),
                Ok(_) => {}
                Err(e) => return (Err(e), world.said()),
            }
        }
    }

    #[suite::test]
    fn reports_all_errors_and_runs_nothing() {
        let (r, said) = run(
            "show errors\n foo bar\nset interface mtu 1 x\npacket-generator new {\n a } oops\n",
        );
        let e = r.unwrap_err();
        let lines: Vec<_> = e.message().lines().collect();
        assert_eq!(lines[0], "s:2:2: unknown input `foo'");
        assert!(lines[1].starts_with("s:3:19: <mtu>: `1' is not between"), "{}", lines[1]);
        assert!(lines[2].starts_with("s:5:6: `oops' is not expected here"), "{}", lines[2]);
        assert_eq!(lines[3..], ["s: 3 errors, nothing was run"]);
        assert_eq!(said, "");
        let many = "x\n".repeat(1000);
        let e = run(&many).0.unwrap_err();
        assert!(e.message().ends_with("s: … 900 more\ns: 1000 errors, nothing was run"));
    }

    #[suite::test]
    fn a_discreet_script_tells_places_only() {
        let (tree, world) = (tree(), Toy::new());
        let said = |text: &str| {
            let mut script = Script::new("s", text).discreet();
            let error = (0..9).find_map(|_| script.turn(&tree, &world, None).err()).unwrap();
            error.to_string()
        };
        let wrong = said("root:secret:19000\n show secret\n");
        assert!(wrong.contains("s:1:1: this line can't") && wrong.contains("s:2:7: "), "{wrong}");
        assert!(!wrong.contains("secret") && !wrong.contains("root"), "{wrong}");
        assert!(said("fail -7\n").starts_with("s:1:1: this command failed"));
    }

    #[suite::test]
    fn stops_at_the_command_that_fails() {
        let (r, said) =
            run("set interface state local0 up\n\nfail -7\nset interface state local0 down\n");
        let e = r.unwrap_err();
        assert_eq!((e.message(), e.code()), ("s:3:1: it failed", -7));
        assert_eq!(said.lines().count(), 1);
    }

    #[suite::test]
    fn runs_many_slices_in_order_and_quits_early() {
        let text: String = (64..2000).map(|n| format!("set interface mtu {n} local0\n")).collect();
        let (r, said) = run(&format!("{text}quit\nthis is never read\n"));
        r.unwrap();
        let mtus: Vec<u32> =
            said.lines().map(|l| l[8..].split('"').next().unwrap().parse().unwrap()).collect();
        assert_eq!(mtus, (64..2000).collect::<Vec<_>>());
        assert_eq!(check(&tree(), &text), []);
        assert_eq!(check(&tree(), "show errors\nfoo\n")[0].line, 2);
    }
}
