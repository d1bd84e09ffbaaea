// SPDX-License-Identifier: Apache-2.0
//! The commands about the session itself.

use crate::{Command, Live, Output, Tree};
use std::cell::RefCell;

/// A session as its own commands see it.
#[derive(Debug, Default)]
pub(crate) struct Terminal {
    pub columns: usize,
    pub rows: usize,
    pub pager: bool,
    /// Lines of history kept.
    pub lines: usize,
    pub history: Vec<String>,
    pub changes: RefCell<Vec<SessionChange>>,
}

/// A change of the session that a command asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SessionChange {
    Pager(bool),
    History(usize),
}

impl Live for Terminal {
    fn candidates(&self, _kind: &str, _prefix: &str) -> Vec<String> {
        Vec::new()
    }
}

impl Terminal {
    fn change(&self, change: SessionChange) -> crate::Result<Output> {
        self.changes.borrow_mut().push(change);
        Ok(Output::empty())
    }
}

const fn leave(path: &'static str) -> Command<Terminal> {
    // The session takes these words itself; they are here for `?` and Tab.
    Command { path, usage: "", help: "Leave the CLI", run: |_, _| Ok(Output::empty()) }
}

/// Default number of history lines.
pub(crate) const DEFAULT_HISTORY: usize = 100;

static TERMINAL: &[Command<Terminal>] = &[
    leave("quit"),
    leave("exit"),
    leave("q"),
    Command {
        path: "history",
        usage: "",
        help: "Lines entered in this session",
        run: |t, _| {
            let text: String =
                t.history.iter().enumerate().map(|(i, l)| format!("{:4}  {l}\n", i + 1)).collect();
            Ok(Output::both(text, t.history.clone()))
        },
    },
    Command {
        path: "show terminal",
        usage: "",
        help: "Settings of this session",
        run: |t, _| {
            let on = if t.pager { "on" } else { "off" };
            let text = format!(
                "Terminal: {} columns, {} rows\nPager: {on}\nHistory: {} of {} lines\n",
                t.columns,
                t.rows,
                t.history.len(),
                t.lines
            );
            let json = serde_json::json!({
                "columns": t.columns, "rows": t.rows, "pager": t.pager, "history": t.history.len(), "history_limit": t.lines,
            });
            Ok(Output::both(text, json))
        },
    },
    Command {
        path: "set terminal pager",
        usage: "[on|off] [limit <lines:u32>]",
        help: "Page long output of this session, of any length",
        run: |t, m| t.change(SessionChange::Pager(!m.flag("off"))),
    },
    Command {
        path: "set terminal history",
        usage: "[on|off] [limit <lines:0-10000>]",
        help: "Lines of history this session keeps",
        run: |t, m| match m.flag("off") {
            true => t.change(SessionChange::History(0)),
            false => t.change(SessionChange::History(m.get("lines").unwrap_or(DEFAULT_HISTORY))),
        },
    },
];

/// The commands of every session.
pub(crate) fn tree() -> Tree<Terminal> {
    Tree::new(TERMINAL).expect("the grammars above")
}
