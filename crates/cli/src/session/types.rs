// SPDX-License-Identifier: Apache-2.0
//! Configuration of sessions, and the events that they return.

#[cfg(doc)]
use super::Session;

/// The source of the session's bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionKind {
    /// A socket: greet, and detect the kind of client.
    Socket,
    /// The daemon's own terminal in raw mode (`unix interactive`): columns, rows.
    Terminal(u16, u16),
    /// A stream without telnet: lines in, output out.
    Plain,
}

/// The look of sessions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// Text shown when a person connects; lines ended by newlines.
    pub banner: String,
    /// Text before each line, `ferrovia# ` or VPP's `vpp# `.
    pub prompt: String,
    /// Lines of history kept for each session.
    pub history: usize,
    /// True if long output is paged.
    pub pager: bool,
    /// True if operators are shown the notes of commands.
    pub notes: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            banner: "Ferrovia\n\n".into(),
            prompt: "ferrovia# ".into(),
            history: crate::terminal::DEFAULT_HISTORY,
            pager: true,
            notes: true,
        }
    }
}

/// A request of the session to its owner. Until it is answered, no other comes, except
/// [`Event::Cancel`] and [`Event::Enough`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// Run this command; answer by [`Session::emit`] and [`Session::done`].
    Run {
        /// The command; a block goes over several lines.
        line: String,
        /// Answer in JSON.
        json: bool,
    },
    /// Check and run these commands; the same answers.
    Script {
        /// For messages.
        name: String,
        /// The commands.
        text: String,
        /// Answer in JSON.
        json: bool,
    },
    /// Tab; answer by [`Session::completed`].
    Complete {
        /// The line so far.
        line: String,
        /// In bytes.
        cursor: usize,
    },
    /// `?`; answer by [`Session::help`].
    Help {
        /// The line so far.
        line: String,
        /// In bytes.
        cursor: usize,
    },
    /// ^C while a command runs.
    Cancel,
    /// The operator wants no more of the answer that comes.
    Enough,
}
