// SPDX-License-Identifier: Apache-2.0
//! The answer of a command: one value, shown as text or as JSON.

use crate::{Error, List, Sequence, Table};
use serde_json::{Value, json};
use std::any::Any;
use std::fmt;
use std::time::Duration;

/// The answer of a command.
#[derive(Debug)]
pub enum Output {
    /// Done, no output.
    Empty,
    /// Text only; a program gets `{"text": …}`.
    Text(String),
    /// A table; a program gets an array of objects.
    Table(Table),
    /// Text for people, a value for programs.
    Both(String, Value),
    /// Grows with a table: made and sent in slices; see [`Output::list`].
    List(List),
    /// Takes time; the control loop polls it while everything else goes on.
    Task(Box<dyn Task>),
    /// Commands to run in place of this one (`exec FILE`): a name for messages, the text, and true
    /// if messages may not quote the text.
    Script(String, String, bool),
    /// A command that is made of others: a `Box<dyn Sequence<W>>`; see [`Output::sequence`].
    Sequence(Box<dyn Any>),
}

impl Output {
    /// An answer without output.
    pub fn empty() -> Self {
        Self::Empty
    }

    /// Text; a missing newline at the end is added when it is shown.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    /// Text for people and a value for programs, where a table does not fit.
    pub fn both(text: impl Into<String>, json: impl Into<Value>) -> Self {
        Self::Both(text.into(), json.into())
    }

    /// A command that takes time.
    pub fn task(task: impl Task + 'static) -> Self {
        Self::Task(Box::new(task))
    }

    /// Commands to run in place of this one; `name` stands in error messages.
    pub fn script(name: impl Into<String>, text: impl Into<String>) -> Self {
        Self::Script(name.into(), text.into(), false)
    }

    /// As [`Self::script`], for a caller that may not know the text: messages name the place of an
    /// error, and quote no word.
    pub fn discreet_script(name: impl Into<String>, text: impl Into<String>) -> Self {
        Self::Script(name.into(), text.into(), true)
    }

    /// A command that is made of others, for the world `W` that it was called with.
    pub fn sequence<W: 'static>(sequence: impl Sequence<W> + 'static) -> Self {
        let sequence: Box<dyn Sequence<W>> = Box::new(sequence);
        Self::Sequence(Box::new(sequence))
    }

    /// The text, ended by a newline unless it is empty. A list, a task, a script and a sequence
    /// have none of their own.
    pub fn to_text(&self) -> String {
        let mut text = match self {
            Self::Empty | Self::List(_) | Self::Task(_) | Self::Script(..) | Self::Sequence(_) => {
                String::new()
            }
            Self::Text(t) | Self::Both(t, _) => t.clone(),
            Self::Table(t) => t.render(),
        };
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        text
    }

    /// The value for programs; `{}` without output.
    pub fn to_json(&self) -> Value {
        match self {
            Self::Empty | Self::List(_) | Self::Task(_) | Self::Script(..) | Self::Sequence(_) => {
                json!({})
            }
            Self::Text(t) => json!({ "text": t }),
            Self::Both(_, v) => v.clone(),
            Self::Table(t) => t.to_json(),
        }
    }

    /// Returns the output for the operator: text, or indented JSON with a newline.
    pub fn show(&self, as_json: bool) -> String {
        if as_json { pretty(&self.to_json()) } else { self.to_text() }
    }
}

/// Indented JSON, ended by a newline.
pub(crate) fn pretty(value: &Value) -> String {
    format!("{value:#}\n")
}

impl From<()> for Output {
    fn from((): ()) -> Self {
        Self::Empty
    }
}

impl From<String> for Output {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<&str> for Output {
    fn from(text: &str) -> Self {
        Self::Text(text.into())
    }
}

impl From<Table> for Output {
    fn from(table: Table) -> Self {
        Self::Table(table)
    }
}

/// The state of a [`Task`].
#[derive(Debug)]
pub enum TaskState {
    /// Nothing new; poll again.
    Pending,
    /// More text for the operator (newlines are the task's own), and not done yet.
    Chunk(String),
    /// Done; the output (often [`Output::Empty`], else a summary) comes last. JSON has only it, or
    /// the chunks if it is empty.
    Done(Output),
    /// Ended by an error.
    Failed(Error),
}

/// A command that takes time. It must not block: each poll does the work that is due and returns.
/// Dropping a task ends it (its session went away).
pub trait Task {
    /// Continues the task; `now` is the daemon's clock, the same one that timers follow.
    fn poll(&mut self, now: Duration) -> TaskState;

    /// Called at the operator's ^C: the next polls should return the output so far and end.
    fn cancel(&mut self) {}

    /// Time at which the next poll is useful, if the task knows it; `None`: within 10 ms.
    fn wake_at(&self) -> Option<Duration> {
        None
    }
}

impl fmt::Debug for dyn Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Task")
    }
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;

    #[suite::test]
    fn one_value_two_forms() {
        assert_eq!(Output::text("a").show(false), "a\n");
        assert_eq!(Output::text("a\n").show(false), "a\n");
        assert_eq!(Output::empty().show(false), "");
        assert_eq!(Output::empty().show(true), "{}\n");
        assert_eq!(Output::text("a").to_json(), json!({"text": "a"}));
        let both = Output::both("up", json!({"state": "up"}));
        assert_eq!(
            (both.show(false).as_str(), both.show(true).as_str()),
            ("up\n", "{\n  \"state\": \"up\"\n}\n")
        );
    }
}
