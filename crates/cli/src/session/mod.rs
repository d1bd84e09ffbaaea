// SPDX-License-Identifier: Apache-2.0
//! The server's side of the CLI socket, without the socket: bytes in, events and bytes out.
//!
//! A session detects the kind of its client:
//!
//! - `vppctl` with a command or a script sends terminal type `vppctl`: no banner, prompt, echo or
//!   pager; every line is answered by its output and one NUL; the program `vppctl` itself gets
//!   further ones while a script is idle (`Session::remind`);
//! - `ferroctl` sends `ferroctl` and uses [`crate::frames`];
//! - any other terminal type, or none at all (`WONT TTYPE`), is a person: banner, prompt, editing,
//!   history, Tab, `?`, pager;
//! - a client that sends a line without telnet (`socat`, `nc`) gets the output and nothing else;
//! - a client that sends nothing for a while ([`Session::impatient`]), and no telnet, gets banner
//!   and prompt.

mod answer;
mod editor;
mod keys;
mod pager;
mod telnet;
#[cfg(feature = "tests")]
mod tests;
mod types;

use crate::OutputPiece;
use crate::frames::{self, Malformed, Reply, Request};
use crate::lex::Braces;
use crate::terminal::Terminal;
use editor::{Edit, Editor};
use keys::Keys;
use pager::Pager;
use std::collections::VecDeque;
use telnet::{Telnet, TelnetEvent};
pub use types::{Config, Event, SessionKind};

/// The first bytes of every CLI connection.
pub const GREETING: &[u8] = &telnet::GREETING;

/// The telnet answer that gives the terminal's type.
pub fn terminal_type(name: &str) -> Vec<u8> {
    telnet::terminal_type(name)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// Not yet known.
    New,
    Vppctl,
    Frames,
    /// A terminal.
    Person,
    /// Lines; with a prompt if the client sent nothing for a while.
    Plain {
        prompt: bool,
    },
}

/// The input that the session waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Waiting {
    /// Input from the client.
    No,
    /// The answer to a line or a script.
    Command,
    /// The answer to a question about a line.
    Question,
}

/// Bytes of input kept while a command runs; beyond this [`Session::wants_input`] returns false.
const MAX_AHEAD: usize = 64 << 10;
/// Limit of a line without frames, in bytes; an open block that reaches it is run as it is.
const MAX_LINE: usize = crate::script::MAX_COMMAND;

/// One connection.
#[derive(Debug)]
pub struct Session {
    mode: Mode,
    waiting: Waiting,
    telnet: Option<Telnet>,
    /// Data bytes not yet processed.
    inbox: VecDeque<u8>,
    /// Requests not yet processed.
    requests: VecDeque<Result<Request, Malformed>>,
    frames: Vec<u8>,
    malformed: bool,
    /// The line being received, the lines of its open block, and the nesting of its braces.
    line: Vec<u8>,
    block: String,
    braces: Option<Braces>,
    keys: Keys,
    /// Editing and history.
    editor: Editor,
    pager: Pager,
    /// Rows of the window; 0 if unknown.
    rows: usize,
    config: Config,
    cancel: bool,
    enough: bool,
    /// True if a command was answered.
    answered: bool,
    /// True if the client ends its command by a NUL: it sends one command, not a script.
    one_shot: bool,
    eof: bool,
    closed: bool,
    out: Vec<u8>,
}

impl Session {
    /// A connection that has just come.
    pub fn new(kind: SessionKind, config: &Config) -> Self {
        let mut s = Self {
            mode: Mode::New,
            waiting: Waiting::No,
            telnet: None,
            inbox: VecDeque::new(),
            requests: VecDeque::new(),
            frames: Vec::new(),
            malformed: false,
            line: Vec::new(),
            block: String::new(),
            braces: None,
            keys: Keys::default(),
            editor: Editor::new(&config.prompt, config.history),
            pager: Pager::new(),
            rows: 0,
            config: config.clone(),
            cancel: false,
            enough: false,
            answered: false,
            one_shot: false,
            eof: false,
            closed: false,
            out: Vec::new(),
        };
        match kind {
            SessionKind::Socket => {
                s.telnet = Some(Telnet::default());
                s.out.extend(GREETING);
            }
            SessionKind::Plain => s.mode = Mode::Plain { prompt: false },
            SessionKind::Terminal(columns, rows) => {
                s.window(columns, rows);
                s.greet_person();
            }
        }
        s
    }

    /// Takes bytes from the client, in pieces of any size.
    pub fn feed(&mut self, bytes: &[u8]) {
        for byte in bytes {
            let heard = match &mut self.telnet {
                Some(t) => t.receive(*byte),
                None => TelnetEvent::Data(*byte),
            };
            match heard {
                TelnetEvent::Nothing => {}
                TelnetEvent::Terminal(name) => self.introduced(name.as_deref()),
                TelnetEvent::Window(columns, rows) => self.window(columns, rows),
                TelnetEvent::Data(byte) => self.data(byte),
            }
        }
        if self.mode == Mode::Frames && !self.malformed {
            self.unframe();
        }
    }

    /// Handles the end of input. The lines of a plain client are still answered; sessions of all
    /// other clients end.
    pub fn eof(&mut self) {
        self.eof = true;
        self.closed |= !matches!(self.mode, Mode::Plain { .. });
    }

    /// Called if the client has sent nothing for a while (a second): if it sent no telnet either,
    /// shows banner and prompt.
    pub fn impatient(&mut self) {
        if self.mode == Mode::New {
            self.mode = Mode::Plain { prompt: true };
            self.out.extend(self.config.banner.clone().as_bytes());
            self.prompt();
        }
    }

    /// Sets the size of the window (0: unknown), for the daemon's own terminal.
    pub fn window(&mut self, columns: u16, rows: u16) {
        self.editor.columns = if columns == 0 { 80 } else { columns.into() };
        self.rows = rows.into();
        self.set_pager(self.config.pager);
    }

    /// Returns true if more input should be read now.
    pub fn wants_input(&self) -> bool {
        !self.eof && !self.closed && self.inbox.len() < MAX_AHEAD && self.requests.len() < 64
    }

    /// Bytes for the client.
    pub fn output(&self) -> &[u8] {
        &self.out
    }

    /// Removes the first `n` bytes of the output, which are sent.
    pub fn sent(&mut self, n: usize) {
        self.out.drain(..n);
    }

    /// Returns true if the session is over; the rest of [`Session::output`] is still to be sent.
    pub fn is_closed(&self) -> bool {
        self.closed
    }

    /// Ends the session; waiting output is still sent.
    pub fn close(&mut self) {
        self.closed = true;
    }

    /// Returns true if the client is `vppctl` with a script of which nothing is left to be done.
    pub(crate) fn is_idle_script(&self) -> bool {
        self.mode == Mode::Vppctl
            && !self.one_shot
            && self.waiting == Waiting::No
            && self.inbox.is_empty()
    }

    /// Returns true if a command was answered.
    pub(crate) fn has_answered(&self) -> bool {
        self.answered
    }

    /// Sends a further NUL to an idle script. `vppctl` sends `quit` only when something comes from
    /// the socket after the end of its standard input: if all answers came before, it would
    /// wait for ever. It shows no NUL.
    pub(crate) fn remind(&mut self) {
        if self.out.is_empty() {
            self.out.push(0);
        }
    }

    /// Returns true if the kind of client is not yet known.
    pub fn is_new(&self) -> bool {
        self.mode == Mode::New
    }

    /// Returns true if the client uses [`crate::frames`].
    pub fn is_framed(&self) -> bool {
        self.mode == Mode::Frames
    }

    /// Returns true if the operator reads a page.
    pub fn is_paging(&self) -> bool {
        self.pager.is_waiting()
    }

    /// Returns true if an answer is due.
    pub fn is_waiting(&self) -> bool {
        self.waiting != Waiting::No
    }

    /// Sets the number of lines of history kept.
    pub fn set_history(&mut self, lines: usize) {
        self.editor.limit = lines;
        self.editor.remember("");
    }

    /// Sets whether long output is paged.
    pub fn set_pager(&mut self, on: bool) {
        self.config.pager = on;
        self.pager.columns = self.editor.columns;
        self.pager.rows = if on { self.rows } else { 0 };
    }

    /// Returns the settings that `show terminal` shows.
    pub(crate) fn terminal(&self) -> Terminal {
        Terminal {
            columns: self.editor.columns,
            rows: self.rows,
            pager: self.config.pager,
            lines: self.editor.limit,
            history: self.editor.history().to_vec(),
            ..Terminal::default()
        }
    }

    fn introduced(&mut self, terminal: Option<&str>) {
        match (self.mode, terminal) {
            // A client whose first line came before its terminal type is no person.
            (Mode::New | Mode::Plain { .. }, Some("vppctl")) => self.mode = Mode::Vppctl,
            (Mode::New, Some(frames::TERMINAL)) => self.mode = Mode::Frames,
            (Mode::New, _) => self.greet_person(),
            _ => {}
        }
    }

    fn greet_person(&mut self) {
        self.mode = Mode::Person;
        let banner = self.config.banner.replace('\n', "\r\n");
        self.out.extend(banner.as_bytes());
        self.prompt();
    }

    fn data(&mut self, byte: u8) {
        match self.mode {
            Mode::Frames if self.malformed => return,
            Mode::Frames => return self.frames.push(byte),
            Mode::New => self.mode = Mode::Plain { prompt: false },
            // ^C does not wait behind input that was typed ahead, which is discarded.
            Mode::Person
                if byte == 3 && self.waiting == Waiting::Command && !self.pager.is_waiting() =>
            {
                self.cancel = true;
                self.inbox.clear();
                return;
            }
            _ => {}
        }
        self.inbox.push_back(byte);
    }

    fn unframe(&mut self) {
        loop {
            match Request::decode(&mut self.frames) {
                Ok(None) => return,
                Ok(Some(Request::Cancel)) => self.cancel |= self.waiting == Waiting::Command,
                Ok(Some(Request::Enough)) => self.enough |= self.waiting == Waiting::Command,
                Ok(Some(request)) => self.requests.push_back(Ok(request)),
                Err(e) => {
                    // Nothing behind it can be parsed.
                    self.requests.push_back(Err(e));
                    self.malformed = true;
                    return;
                }
            }
        }
    }

    fn reply(&mut self, reply: &Reply) {
        self.out.extend(reply.encode());
    }

    /// Returns the next event for the owner. Call it until it returns `None`, after each
    /// [`Session::feed`], [`Session::done`], [`Session::eof`].
    pub fn next_event(&mut self) -> Option<Event> {
        if std::mem::take(&mut self.cancel) && self.waiting == Waiting::Command {
            return Some(Event::Cancel);
        }
        if std::mem::take(&mut self.enough) && self.waiting == Waiting::Command {
            return Some(Event::Enough);
        }
        while !self.closed {
            // While a page waits, keys are for the pager, whether or not the command is done.
            if self.waiting != Waiting::No && !self.pager.is_waiting() {
                return None;
            }
            let event = match self.mode {
                Mode::New => return None,
                Mode::Frames => self.requests.pop_front().and_then(|r| self.request(r)),
                Mode::Person => match self.inbox.pop_front() {
                    Some(byte) => match self.key(byte) {
                        None => continue,
                        event => event,
                    },
                    None => None,
                },
                Mode::Vppctl | Mode::Plain { .. } => self.next_line(),
            };
            if event.is_none() && self.eof {
                self.closed = true;
            }
            return event;
        }
        None
    }

    fn request(&mut self, request: Result<Request, Malformed>) -> Option<Event> {
        self.waiting = Waiting::Command;
        Some(match request {
            Ok(Request::Run(line, json)) => Event::Run { line, json },
            Ok(Request::Script(name, text, json)) => Event::Script { name, text, json },
            Ok(Request::Complete(line, cursor)) => {
                self.waiting = Waiting::Question;
                Event::Complete { line, cursor }
            }
            Ok(Request::Help(line, cursor)) => {
                self.waiting = Waiting::Question;
                Event::Help { line, cursor }
            }
            // They have been acted on where frames are decoded.
            Ok(Request::Cancel | Request::Enough) => {
                self.waiting = Waiting::No;
                return None;
            }
            Err(e) => {
                self.reply(&Reply::Error(e.to_string()));
                self.reply(&Reply::End(-1));
                self.closed = true;
                return None;
            }
        })
    }

    fn key(&mut self, byte: u8) -> Option<Event> {
        let key = self.keys.receive(byte)?;
        if self.pager.is_waiting() {
            self.pager.key(key, &mut self.out);
            // The rest of the answer needn't be made.
            if self.pager.is_stopped() && self.waiting == Waiting::Command {
                return Some(Event::Enough);
            }
            if !self.pager.is_waiting() && self.waiting == Waiting::No {
                self.prompt();
            }
            return None;
        }
        let (line, cursor) =
            (self.block.clone() + self.editor.line(), self.block.len() + self.editor.cursor());
        match self.editor.key(key, &mut self.out) {
            Edit::None => None,
            Edit::Submit(text) => self.line_received(text),
            Edit::Complete => {
                self.waiting = Waiting::Question;
                Some(Event::Complete { line, cursor })
            }
            Edit::Help => {
                self.waiting = Waiting::Question;
                self.out.extend(b"?\r\n");
                Some(Event::Help { line, cursor })
            }
            Edit::Interrupt => {
                self.block.clear();
                self.prompt();
                None
            }
            Edit::Eof => {
                self.out.extend(b"\r\n");
                self.closed = true;
                None
            }
        }
    }

    /// Handles the next line of a client that sends lines.
    fn next_line(&mut self) -> Option<Event> {
        while let Some(byte) = self.inbox.pop_front() {
            let event = match byte {
                b'\n' => {
                    let line = std::mem::take(&mut self.line);
                    let line = String::from_utf8_lossy(&line).trim_end_matches('\r').to_string();
                    self.line_received(line)
                }
                // vppctl ends its command by a NUL: a block that is still open stays open for ever.
                0 => {
                    self.one_shot = true;
                    self.flush()
                }
                _ if self.line.len() < MAX_LINE => {
                    self.line.push(byte);
                    None
                }
                _ => {
                    self.emit(OutputPiece::Answer("line too long\n".into()));
                    self.closed = true;
                    None
                }
            };
            if event.is_some() || self.closed {
                return event;
            }
        }
        if self.eof { self.flush() } else { None }
    }

    /// Runs the text received so far.
    fn flush(&mut self) -> Option<Event> {
        let line = std::mem::take(&mut self.line);
        let line = std::mem::take(&mut self.block) + &String::from_utf8_lossy(&line);
        if line.trim().is_empty() {
            return None;
        }
        self.waiting = Waiting::Command;
        Some(Event::Run { line, json: false })
    }

    fn line_received(&mut self, line: String) -> Option<Event> {
        if self.block.is_empty() && matches!(line.trim(), "quit" | "exit" | "q") {
            self.closed = true;
            return None;
        }
        if self.mode == Mode::Person {
            self.editor.remember(&line);
            self.editor.clear();
        }
        let first = self.block.is_empty();
        if first {
            self.braces = Braces::open(&line);
        }
        let continues = self.braces.as_mut().is_some_and(|b| first || b.continues(&line));
        self.block += &line;
        if continues && self.block.len() < MAX_LINE {
            self.block.push('\n');
            self.prompt();
            return None;
        }
        let line = std::mem::take(&mut self.block);
        self.pager.begin();
        self.waiting = Waiting::Command;
        Some(Event::Run { line, json: false })
    }
}
