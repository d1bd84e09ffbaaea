// SPDX-License-Identifier: Apache-2.0
//! What a session is told and what it asks for.

#[cfg(doc)]
use super::Session;

/// Where the session's bytes come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionKind {
    /// A socket: greet, and find out who it is.
    Socket,
    /// The daemon's own terminal in raw mode (`unix interactive`): columns, rows.
    Terminal(u16, u16),
    /// A stream without telnet: lines in, output out.
    Plain,
}

/// How sessions look.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// Shown when a person comes; lines ended by newlines.
    pub banner: String,
    /// Before each line, `ferrovia# ` or VPP's `vpp# `.
    pub prompt: String,
    /// Lines of history kept for each session.
    pub history: usize,
    /// Whether long output is paged.
    pub pager: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            banner: "Ferrovia\n\n".into(),
            prompt: "ferrovia# ".into(),
            history: crate::terminal::DEFAULT_HISTORY,
            pager: true,
        }
    }
}

/// What the session wants to have done. Until it is answered, no further one comes, but [`Event::Cancel`] and
/// [`Event::Enough`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// Run this command; answer by [`Session::say`] and [`Session::done`].
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
    /// The operator wants to see no more of the answer that comes.
    Enough,
}
