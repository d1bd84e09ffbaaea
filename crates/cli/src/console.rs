// SPDX-License-Identifier: Apache-2.0
//! One client of the CLI, served: a session, and the commands that run for it.

use crate::session::{Config, Event, Session, SessionKind};
use crate::terminal::{self, SessionChange, Terminal};
use crate::{Error, Live, OutputPiece, Runner, Tree};
use std::time::Duration;

/// A client that has sent nothing for this long, and no telnet, gets a prompt.
const PATIENCE: Duration = Duration::from_secs(1);
/// Delay of the first extra NUL to an idle script ([`Session::remind`]). It doubles with each NUL.
const REMINDER: Duration = Duration::from_millis(10);
/// Upper bound of that delay.
const MAX_REMINDER: Duration = Duration::from_secs(1);
/// Commands taken up in one turn.
const EVENTS: usize = 64;
/// With this many unsent bytes, a session waits until its client has read.
const MAX_BACKLOG: usize = 256 << 10;

/// Everything of a CLI connection but the socket. The owner moves bytes and calls
/// [`Console::poll`]:
///
/// ```
/// use cli::{Command, Console, Live, Tree, session::{Config, SessionKind, terminal_type}};
/// use std::time::Duration;
/// struct World;
/// impl Live for World {
///     fn candidates(&self, _: &str, _: &str) -> Vec<String> { vec![] }
/// }
/// static CLI: &[Command<World>] =
///     &[Command { path: "show clock", usage: "", help: "The time", run: |_, _| Ok("Time now 1".into()) }];
/// let (tree, world) = (Tree::new(CLI).unwrap(), World);
/// let mut console = Console::new(SessionKind::Socket, &Config::default());
/// console.sent(console.output().len()); // the greeting, written to the socket
/// console.input(&terminal_type("vppctl")); // read from the socket
/// console.input(b"show clock\n\0");
/// console.poll(&tree, &world, Duration::ZERO);
/// assert_eq!(console.output(), b"Time now 1\n\0");
/// ```
pub struct Console {
    session: Session,
    runner: Runner,
    local: Tree<Terminal>,
    /// True if the answer to the current request is JSON.
    json: bool,
    since: Option<Duration>,
    /// True if the last turn ended before all events were handled.
    more: bool,
    /// True if the client needs further NULs to find the end of its script.
    needs_reminders: bool,
    /// Time at which an idle script gets its next NUL, and the delay from the previous one.
    reminder: Option<(Duration, Duration)>,
}

impl Console {
    /// A connection that has just come.
    pub fn new(kind: SessionKind, config: &Config) -> Self {
        Self {
            session: Session::new(kind, config),
            runner: Runner::default(),
            local: terminal::tree(),
            json: false,
            since: None,
            more: false,
            needs_reminders: false,
            reminder: None,
        }
    }

    /// Sends further NULs while a script is idle, for the program `vppctl` itself: it shows none,
    /// and ends its script only when something comes. Other clients that give its terminal type may
    /// divide answers by NULs, so they get one NUL for each command.
    pub fn remind_idle_scripts(&mut self) {
        self.needs_reminders = true;
    }

    /// Bytes from the client; [`Console::poll`] acts on them.
    pub fn input(&mut self, bytes: &[u8]) {
        self.session.feed(bytes);
        self.reminder = None;
        self.more = true;
    }

    /// The client sends no more.
    pub fn eof(&mut self) {
        self.session.eof();
        self.more = true;
    }

    /// Returns true if more should be read from the client now.
    pub fn wants_input(&self) -> bool {
        self.session.wants_input() && self.session.output().len() < MAX_BACKLOG
    }

    /// Bytes for the client.
    pub fn output(&self) -> &[u8] {
        self.session.output()
    }

    /// The first `n` bytes of the output were written.
    pub fn sent(&mut self, n: usize) {
        self.session.sent(n);
    }

    /// Returns true if the session is over; the rest of [`Console::output`] should still be
    /// written. Drop it then: a task that still runs ends with it.
    pub fn is_closed(&self) -> bool {
        self.session.is_closed()
    }

    /// The session, for the size of the daemon's own terminal and the like.
    pub fn session(&mut self) -> &mut Session {
        &mut self.session
    }

    /// Returns true if a command runs.
    pub fn is_busy(&self) -> bool {
        self.runner.is_busy()
    }

    /// Time of the next poll if nothing comes from the client; `None`: no need.
    pub fn wake_at(&self, now: Duration) -> Option<Duration> {
        if self.session.is_closed() || self.session.output().len() >= MAX_BACKLOG {
            return None;
        }
        if self.more {
            return Some(now);
        }
        if self.rests() {
            return None;
        }
        let patience = self.session.is_new().then(|| self.since.map_or(now, |t| t + PATIENCE));
        let reminder = self.reminder.map(|(at, _)| at);
        self.runner.wake_at(now).into_iter().chain(patience).chain(reminder).min()
    }

    /// Handles input and continues running commands, for one short turn. `now` is the daemon's
    /// clock.
    pub fn poll<W: Live>(&mut self, tree: &Tree<W>, world: &W, now: Duration) {
        self.turn(tree, world, now);
        self.remind(now);
    }

    fn remind(&mut self, now: Duration) {
        let idle = self.needs_reminders && self.session.is_idle_script();
        if !idle || self.session.is_closed() {
            self.reminder = None;
            return;
        }
        let first = if self.session.has_answered() { REMINDER } else { MAX_REMINDER };
        let (at, wait) = *self.reminder.get_or_insert((now + first, first));
        if now >= at {
            self.session.remind();
            let wait = (2 * wait).min(MAX_REMINDER);
            self.reminder = Some((now + wait, wait));
        }
    }

    fn turn<W: Live>(&mut self, tree: &Tree<W>, world: &W, now: Duration) {
        let since = *self.since.get_or_insert(now);
        if self.session.is_new() && now.saturating_sub(since) >= PATIENCE {
            self.session.impatient();
        }
        let mut pieces = Vec::new();
        self.more = false;
        for _ in 0..EVENTS {
            if self.session.is_closed() {
                return;
            }
            if self.session.output().len() >= MAX_BACKLOG {
                break;
            }
            let event = self.session.next_event();
            let idle = event.is_none();
            if let Some(event) = event {
                self.event(tree, world, event, &mut pieces);
            }
            if self.runner.is_busy() {
                if self.rests() {
                    return;
                }
                let result = self.runner.poll(tree, world, now, &mut pieces);
                pieces.drain(..).for_each(|s| self.session.emit(s));
                self.notes();
                match result {
                    Some(result) => self.session.done(result, self.json),
                    None => return,
                }
            } else if idle {
                return;
            }
        }
        self.more = true;
    }

    fn event<W: Live>(
        &mut self,
        tree: &Tree<W>,
        world: &W,
        event: Event,
        pieces: &mut Vec<OutputPiece>,
    ) {
        self.runner.set_noting(self.session.takes_notes());
        match event {
            // Shown and saved, such a line wouldn't be what was typed, and no start would run it.
            Event::Run { line, json } if line.contains(char::REPLACEMENT_CHARACTER) => {
                let why = "the line is not UTF-8, or has U+FFFD in place of what wasn't";
                self.session.done(Err(Error::parse(why)), json);
            }
            Event::Run { line, json } => {
                let line = match tree.expand(&line) {
                    Ok(line) => line,
                    Err((_, why)) => return self.session.done(Err(Error::parse(why)), json),
                };
                self.json = json
                    || line
                        .split_whitespace()
                        .next_back()
                        .is_some_and(|w| matches!(w, "-j" | "json"));
                if self.is_local(tree, &line) {
                    return self.local(&line);
                }
                self.runner.line(tree, world, &line, json, pieces);
                pieces.drain(..).for_each(|s| self.session.emit(s));
                self.notes();
            }
            Event::Script { name, text, json } => {
                self.json = json;
                match tree.expand(&text) {
                    Ok(text) => self.runner.script(name, text, json),
                    Err((line, why)) => {
                        self.session.done(Err(Error::parse(format!("{name}:{line}: {why}"))), json);
                    }
                }
            }
            Event::Complete { line, cursor } => {
                let found = self.complete(tree, world, &line, cursor);
                self.session.completed(&found);
            }
            Event::Help { line, cursor } => {
                let found = self.complete(tree, world, &line, cursor);
                self.session.help(&found);
            }
            Event::Cancel => self.runner.cancel(),
            Event::Enough => self.runner.enough(),
        }
    }

    /// Sends the notes of commands behind their answers.
    fn notes(&mut self) {
        for note in self.runner.take_notes() {
            self.session.note(&note);
        }
    }

    /// Returns true while a long answer is suspended, because its operator reads a page of it.
    fn rests(&self) -> bool {
        self.session.is_paging() && self.runner.is_long()
    }

    fn complete<W: Live>(
        &self,
        tree: &Tree<W>,
        world: &W,
        line: &str,
        cursor: usize,
    ) -> crate::Completion {
        let mut found = tree.complete(world, line, cursor);
        if !self.session.is_framed() {
            found.join(self.local.complete(&Terminal::default(), line, cursor));
        }
        found
    }

    /// Returns true if a line is a command of the session. If both trees match an abbreviation, the
    /// world's command wins, unless the session has a command of the same name: the world's is
    /// then only for clients without a terminal.
    fn is_local<W>(&self, tree: &Tree<W>, line: &str) -> bool {
        let local = |whole| self.local.reaches(line, whole);
        let world = || tree.reaches(line, false) && !self.local.reaches(&tree.meaning(line), true);
        !self.session.is_framed() && (local(true) || (local(false) && !world()))
    }

    fn local(&mut self, line: &str) {
        let terminal = self.session.terminal();
        let result = self.local.execute(&terminal, line).map(|o| {
            let text = o.output.show(o.json);
            if !text.is_empty() {
                self.session.emit(OutputPiece::Answer(text));
            }
        });
        for change in terminal.changes.take() {
            match change {
                SessionChange::Pager(on) => self.session.set_pager(on),
                SessionChange::History(lines) => self.session.set_history(lines),
            }
        }
        self.session.done(result, self.json);
    }
}
