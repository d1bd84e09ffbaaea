// SPDX-License-Identifier: Apache-2.0
//! The words of a line as matched by a command's grammar, and their conversion to values.

use crate::kind::{self, Kind, Value};
use crate::matcher::{Capture, CaptureKind};
use crate::notes::Notes;
use crate::{Error, Result};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::ops::{Range, RangeInclusive};
use wire::{Ip4Prefix, Ip6Prefix, Prefix};

/// One argument: the text as written, and as its declared type read it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Arg<'a> {
    /// As written, without quotes or braces.
    pub text: &'a str,
    /// As read by the placeholder's type.
    pub value: Value,
}

/// The matches of a grammar: literals as flags, placeholders as values, repetitions as groups.
///
/// Every look-up also sees the matches inside repeated groups; [`Matches::groups`] returns the
/// groups one by one.
#[derive(Clone, Copy)]
pub struct Matches<'a> {
    pub(crate) line: &'a str,
    pub(crate) captures: &'a [Capture],
    /// None if nobody reads notes.
    pub(crate) notes: Option<&'a Notes>,
}

impl<'a> Matches<'a> {
    /// Returns true if the literal stood in the line.
    pub fn flag(&self, literal: &str) -> bool {
        self.captures.iter().any(|c| c.kind == CaptureKind::Literal && c.name == literal)
    }

    /// Returns true if the placeholder or the literal was given.
    pub fn has(&self, name: &str) -> bool {
        self.captures.iter().any(|c| named(c, name))
    }

    /// Text and value of a placeholder, the first one of that name.
    pub fn arg(&self, name: &str) -> Option<Arg<'a>> {
        self.args(name).next().map(|(arg, _)| arg)
    }

    /// The value of a placeholder, `None` when it was not given. For placeholders whose declared
    /// type always fits `T` (`<n:u16>` into `u16` or `u32`); debug builds panic when it does
    /// not, which is a mistake in the command. Where reading can fail (`<mode:word>` into an
    /// enum), use [`Matches::opt`] or [`Matches::req`].
    pub fn get<T: FromArg>(&self, name: &str) -> Option<T> {
        let value = T::from_arg(self.arg(name)?);
        debug_assert!(value.is_ok(), "<{name}> can't be read: {:?}", value.err());
        value.ok()
    }

    /// The value of a placeholder, `None` when it was not given, an error when it can't be read as
    /// `T`.
    pub fn opt<T: FromArg>(&self, name: &str) -> Result<Option<T>> {
        let Some((arg, span)) = self.args(name).next() else { return Ok(None) };
        read(name, arg, span).map(Some)
    }

    /// The value of a placeholder that must be there.
    pub fn req<T: FromArg>(&self, name: &str) -> Result<T> {
        self.opt(name)?.ok_or_else(|| Error::usage(format!("<{name}> is missing")))
    }

    /// The text of a placeholder as written, without quotes or braces; empty when it was not given.
    pub fn str(&self, name: &str) -> &'a str {
        self.arg(name).map_or("", |a| a.text)
    }

    /// All values of a placeholder that may stand several times.
    pub fn all<T: FromArg>(&self, name: &str) -> Result<Vec<T>> {
        self.args(name).map(|(arg, span)| read(name, arg, span)).collect()
    }

    /// The texts of all placeholders, in the order of the line.
    pub fn texts(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        let line = self.line;
        let args = self.captures.iter().filter(|c| matches!(c.kind, CaptureKind::Arg(_)));
        args.map(move |c| &line[c.start as usize..c.end as usize])
    }

    /// Texts and places in the line of all placeholders of that name.
    pub fn args<'n>(
        &self,
        name: &'n str,
    ) -> impl Iterator<Item = (Arg<'a>, Range<usize>)> + use<'a, 'n> {
        let line = self.line;
        self.captures.iter().filter_map(move |c| match c.kind {
            CaptureKind::Arg(value) if c.name == name => {
                let span = c.start as usize..c.end as usize;
                Some((Arg { text: &line[span.clone()], value }, span))
            }
            _ => None,
        })
    }

    /// The turns of repeated groups `{…}...` in which the literal or placeholder `name` was given,
    /// in order.
    pub fn groups<'n>(&self, name: &'n str) -> impl Iterator<Item = Matches<'a>> + use<'a, 'n> {
        self.turns().filter(move |g| g.has(name))
    }

    /// All turns of the repeated groups of this level, in order.
    pub fn turns(&self) -> impl Iterator<Item = Matches<'a>> + use<'a> {
        let (line, mut rest, notes) = (self.line, self.captures, self.notes);
        std::iter::from_fn(move || {
            let open = rest.iter().position(|c| c.kind == CaptureKind::Open)?;
            let mut depth = 0usize;
            let close = rest[open..].iter().position(|c| {
                match c.kind {
                    CaptureKind::Open => depth += 1,
                    CaptureKind::Close => depth -= 1,
                    _ => {}
                }
                depth == 0
            })?;
            let captures = &rest[open + 1..open + close];
            rest = &rest[open + close + 1..];
            Some(Matches { line, captures, notes })
        })
    }

    /// Range of a placeholder or literal in the line, in bytes; for [`Error::at`].
    pub fn span(&self, name: &str) -> Option<Range<usize>> {
        self.captures.iter().find(|c| named(c, name)).map(|c| c.start as usize..c.end as usize)
    }

    /// Points an error at a placeholder or literal: `.map_err(m.at("interface"))`.
    pub fn at<'n>(&self, name: &'n str) -> impl Fn(Error) -> Error + use<'a, 'n> {
        let matches = *self;
        move |error| error.at(matches.span(name))
    }

    /// Adds a note to the answer, if there is something to note and an operator reads it: the
    /// command does what it was told, and that may be a mistake. Called before the change that it
    /// is about, or after.
    pub fn note(&self, note: impl FnOnce() -> Option<String>) {
        if let Some(notes) = self.notes
            && let Some(note) = note()
        {
            notes.add(note);
        }
    }

    /// Returns true if an operator reads notes: otherwise nothing has to be looked up for them.
    pub fn takes_notes(&self) -> bool {
        self.notes.is_some()
    }

    /// The whole line.
    pub fn line(&self) -> &'a str {
        self.line
    }
}

fn named(c: &Capture, name: &str) -> bool {
    c.name == name && matches!(c.kind, CaptureKind::Literal | CaptureKind::Arg(_))
}

fn read<T: FromArg>(name: &str, arg: Arg<'_>, span: Range<usize>) -> Result<T> {
    T::from_arg(arg).map_err(|why| Error::parse(format!("<{name}>: {why}")).at(span))
}

impl std::fmt::Debug for Matches<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let text = |c: &Capture| &self.line[c.start as usize..c.end as usize];
        f.debug_list()
            .entries(self.captures.iter().map(|c| match c.kind {
                CaptureKind::Literal => c.name.to_string(),
                CaptureKind::Arg(_) => format!("<{}>={}", c.name, text(c)),
                CaptureKind::Open => "{".into(),
                CaptureKind::Close => "}".into(),
            }))
            .finish()
    }
}

/// A type that placeholders can be read as. Features implement it for their own enums:
///
/// ```
/// use cli::{Arg, FromArg};
/// #[derive(Debug, PartialEq)]
/// enum Mode { Polling, Interrupt }
/// impl FromArg for Mode {
///     fn from_arg(arg: Arg<'_>) -> Result<Self, String> {
///         match arg.text {
///             "polling" => Ok(Mode::Polling),
///             "interrupt" => Ok(Mode::Interrupt),
///             other => Err(format!("`{other}' is no mode")),
///         }
///     }
/// }
/// ```
pub trait FromArg: Sized {
    /// Reads the argument; the error is the reason why it can't be read.
    fn from_arg(arg: Arg<'_>) -> Result<Self, String>;
}

fn wrong<T>(arg: Arg<'_>, kind: &Kind) -> Result<T, String> {
    Err(kind.explain(arg.text))
}

macro_rules! unsigned {
    ($($t:ty, $kind:ident;)*) => { $(impl FromArg for $t {
        fn from_arg(arg: Arg<'_>) -> Result<Self, String> {
            let n = match arg.value {
                Value::U64(n) => Some(n),
                Value::Text => kind::number(arg.text),
                _ => None,
            };
            n.and_then(|n| n.try_into().ok()).map_or_else(|| wrong(arg, &Kind::$kind), Ok)
        }
    })* };
}
unsigned!(u8, U8; u16, U16; u32, U32; u64, U64; usize, U64;);

macro_rules! by_kind {
    ($($t:ty, $kind:ident, $pattern:pat => $value:expr;)*) => { $(impl FromArg for $t {
        fn from_arg(arg: Arg<'_>) -> Result<Self, String> {
            let value = if arg.value == Value::Text { Kind::$kind.read(arg.text) } else { Some(arg.value) };
            match value {
                Some($pattern) => Ok($value),
                _ => wrong(arg, &Kind::$kind),
            }
        }
    })* };
}
by_kind! {
    wire::MacAddr, Mac, Value::Mac(m) => m.into();
    i64, I32, Value::I64(n) => n;
    f64, F64, Value::F64(x) => x;
    Ipv4Addr, Ip4, Value::Ip(IpAddr::V4(a)) => a;
    Ipv6Addr, Ip6, Value::Ip(IpAddr::V6(a)) => a;
    IpAddr, Ip, Value::Ip(a) => a;
    (IpAddr, u8), Prefix, Value::Prefix(a, len) => (a, len);
    [u8; 6], Mac, Value::Mac(m) => m;
    RangeInclusive<u64>, Range, Value::Range(a, b) => a..=b;
}

impl FromArg for Ip4Prefix {
    fn from_arg(arg: Arg<'_>) -> Result<Self, String> {
        match <(IpAddr, u8)>::from_arg(arg)? {
            (IpAddr::V4(a), len) => {
                Prefix::new(a, len).ok_or_else(|| Kind::Prefix4.explain(arg.text))
            }
            _ => wrong(arg, &Kind::Prefix4),
        }
    }
}

impl FromArg for Ip6Prefix {
    fn from_arg(arg: Arg<'_>) -> Result<Self, String> {
        match <(IpAddr, u8)>::from_arg(arg)? {
            (IpAddr::V6(a), len) => {
                Prefix::new(a, len).ok_or_else(|| Kind::Prefix6.explain(arg.text))
            }
            _ => wrong(arg, &Kind::Prefix6),
        }
    }
}

impl FromArg for i32 {
    fn from_arg(arg: Arg<'_>) -> Result<Self, String> {
        i64::from_arg(arg).and_then(|n| n.try_into().map_err(|_| Kind::I32.explain(arg.text)))
    }
}

impl FromArg for String {
    fn from_arg(arg: Arg<'_>) -> Result<Self, String> {
        Ok(arg.text.to_string())
    }
}

impl FromArg for std::path::PathBuf {
    fn from_arg(arg: Arg<'_>) -> Result<Self, String> {
        Ok(arg.text.into())
    }
}
