// SPDX-License-Identifier: Apache-2.0
//! Errors of commands: a message, its place in the line, a hint, and the binary API's return value.

use crate::retval::{self, Retval};
use std::fmt;
use std::ops::Range;

/// The result of a command and of everything it calls.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The kind of an error, for callers that decide by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// The line is no command, or not what the command's grammar wants.
    Usage,
    /// A value was written wrongly.
    Parse,
    /// The named object does not exist.
    NotFound,
    /// A limit was reached: full table, name already taken, number out of range.
    Limit,
    /// Known, but not built in, or not possible here.
    Unsupported,
    /// Everything else.
    Failed,
}

impl ErrorKind {
    /// The word that stands for the kind in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Usage => "usage",
            Self::Parse => "parse",
            Self::NotFound => "not-found",
            Self::Limit => "limit",
            Self::Unsupported => "unsupported",
            Self::Failed => "failed",
        }
    }
}

/// An error an operator can act on: the message, its place in the line, and a hint.
///
/// ```
/// use cli::Error;
/// let e = Error::not_found("no interface `eth9'").hint("did you mean `eth0'?").retval(cli::retval::INVALID_SW_IF_INDEX);
/// assert_eq!(e.to_string(), "no interface `eth9' (did you mean `eth0'?)");
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Error(Box<Inner>);

#[derive(Clone, PartialEq, Eq)]
struct Inner {
    kind: ErrorKind,
    message: String,
    hint: Option<String>,
    usage: Option<String>,
    span: Option<Range<usize>>,
    column: Option<usize>,
    retval: Retval,
}

impl Error {
    /// An error of `kind`; its return value is unspecified (−1) until [`Error::retval`] sets
    /// another.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self(Box::new(Inner {
            kind,
            message: message.into(),
            hint: None,
            usage: None,
            span: None,
            column: None,
            retval: retval::UNSPECIFIED,
        }))
    }

    /// The line does not fit the grammar; the command's usage is added to what the operator sees.
    pub fn usage(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Usage, message)
    }

    /// A value that can't be read.
    pub fn parse(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Parse, message)
    }

    /// No such object.
    pub fn not_found(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::NotFound, message)
    }

    /// A limit was reached.
    pub fn limit(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Limit, message)
    }

    /// Not built, or not possible on this machine.
    pub fn unsupported(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Unsupported, message)
    }

    /// Any other failure.
    pub fn failed(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Failed, message)
    }

    /// Adds a hint, usually a nearest known word (see [`crate::nearest`]).
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.0.hint = Some(hint.into());
        self
    }

    /// Adds `did you mean …` when one of `known` is near to `word`.
    pub fn near<S: AsRef<str>>(self, word: &str, known: impl IntoIterator<Item = S>) -> Self {
        match crate::nearest(word, known) {
            Some(best) => self.hint(format!("did you mean `{best}'?")),
            None => self,
        }
    }

    /// Points at the bytes of the line that are wrong ([`crate::Matches::span`]).
    pub fn at(mut self, span: impl Into<Option<Range<usize>>>) -> Self {
        self.0.span = span.into();
        self
    }

    /// Shows the column (from 1, in characters) before the message.
    pub(crate) fn column(mut self, column: usize) -> Self {
        self.0.column = Some(column);
        self
    }

    /// Sets the return value of the binary API that stands for this error.
    pub fn retval(mut self, retval: Retval) -> Self {
        self.0.retval = retval;
        self
    }

    /// Sets the usage line shown below the message.
    pub fn with_usage(mut self, usage: impl Into<String>) -> Self {
        self.0.usage = Some(usage.into());
        self
    }

    /// The kind.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The message alone, one line.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// Message and hint without usage and place, one line.
    pub fn brief(&self) -> String {
        match &self.0.hint {
            Some(h) => format!("{} ({h})", self.0.message),
            None => self.0.message.clone(),
        }
    }

    /// The hint, if there is one.
    pub fn hint_text(&self) -> Option<&str> {
        self.0.hint.as_deref()
    }

    /// The usage line, if there is one.
    pub fn usage_line(&self) -> Option<&str> {
        self.0.usage.as_deref()
    }

    /// The bytes of the line that are wrong.
    pub fn span(&self) -> Option<Range<usize>> {
        self.0.span.clone()
    }

    /// Returns the return value for the binary API.
    pub fn reason(&self) -> Retval {
        self.0.retval
    }

    /// Returns true if the error has this return value.
    pub fn is(&self, reason: Retval) -> bool {
        self.reason() == reason
    }

    /// Returns the number of the return value, below zero.
    pub fn code(&self) -> i32 {
        self.reason().code()
    }

    /// The error as an object `{"error": {…}}`.
    pub fn to_json(&self) -> serde_json::Value {
        let mut e = serde_json::json!({ "kind": self.kind().name(), "message": self.message(), "retval": self.code() });
        if let Some(h) = self.hint_text() {
            e["hint"] = h.into();
        }
        if let Some(u) = self.usage_line() {
            e["usage"] = u.into();
        }
        if let Some(s) = self.span() {
            e["span"] = serde_json::json!([s.start, s.end]);
        }
        serde_json::json!({ "error": e })
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(c) = self.0.column {
            write!(f, "column {c}: ")?;
        }
        f.write_str(&self.brief())?;
        if let Some(u) = &self.0.usage {
            write!(f, "\nusage: {u}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {self} [{}]", self.kind(), self.code())
    }
}

impl std::error::Error for Error {}

impl From<String> for Error {
    fn from(message: String) -> Self {
        Self::failed(message)
    }
}

impl From<&str> for Error {
    fn from(message: &str) -> Self {
        Self::failed(message)
    }
}

impl From<std::io::Error> for Error {
    fn from(e: std::io::Error) -> Self {
        let kind = match e.kind() {
            std::io::ErrorKind::NotFound => ErrorKind::NotFound,
            std::io::ErrorKind::Unsupported => ErrorKind::Unsupported,
            _ => ErrorKind::Failed,
        };
        Self::new(kind, e.to_string())
    }
}
