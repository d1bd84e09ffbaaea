// SPDX-License-Identifier: Apache-2.0
//! Single-word values: sizes, page sizes, core lists, listen addresses, groups, log levels.

use std::fmt::Display;
use std::path::PathBuf;

/// A value written as one word.
pub trait Value: Sized {
    /// Its name in the help, as `<file>` or `on|off`.
    const SYNTAX: &'static str;
    /// Reads it, or returns what was expected.
    fn parse(word: &str) -> Result<Self, String>;
    /// The word that [`Value::parse`] reads back.
    fn show(&self) -> String;
}

/// An unsigned integer, decimal or `0x` hexadecimal.
fn integer<T: TryFrom<u64>>(word: &str) -> Result<T, String> {
    let parsed = match word.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).ok(),
        None => word.parse::<u64>().ok(),
    };
    let n = parsed.ok_or_else(|| format!("expected a number, not `{word}`"))?;
    T::try_from(n).map_err(|_| format!("`{word}` is too large"))
}

macro_rules! integers {
    ($($t:ty),*) => {$(
        impl Value for $t {
            const SYNTAX: &'static str = "<n>";
            fn parse(word: &str) -> Result<Self, String> {
                integer(word)
            }
            fn show(&self) -> String {
                self.to_string()
            }
        }
    )*};
}
integers!(u16, u32, u64);

impl Value for f64 {
    const SYNTAX: &'static str = "<seconds>";
    fn parse(word: &str) -> Result<Self, String> {
        let n = word.parse::<f64>().ok().filter(|n| n.is_finite() && *n >= 0.0);
        n.ok_or_else(|| format!("expected seconds, not `{word}`"))
    }
    fn show(&self) -> String {
        self.to_string()
    }
}

impl Value for String {
    const SYNTAX: &'static str = "<text>";
    fn parse(word: &str) -> Result<Self, String> {
        Ok(word.to_string())
    }
    fn show(&self) -> String {
        crate::text::quoted(self)
    }
}

/// A path. A relative one is taken from the directory in which the daemon was started.
impl Value for PathBuf {
    const SYNTAX: &'static str = "<path>";
    fn parse(word: &str) -> Result<Self, String> {
        if word.is_empty() || word.contains('\0') {
            return Err("expected a path".into());
        }
        std::path::absolute(word).map_err(|e| format!("`{word}`: {e}"))
    }
    fn show(&self) -> String {
        crate::text::quoted(&self.display().to_string())
    }
}

/// `on` or `off`.
impl Value for bool {
    const SYNTAX: &'static str = "on|off";
    fn parse(word: &str) -> Result<Self, String> {
        match word {
            "on" | "enable" | "yes" => Ok(true),
            "off" | "disable" | "no" => Ok(false),
            _ => Err(format!("expected `on` or `off`, not `{word}`")),
        }
    }
    fn show(&self) -> String {
        if *self { "on" } else { "off" }.into()
    }
}

/// A size in bytes, written with an optional `K`, `M`, `G` or `T` (powers of 1024).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Size(
    /// Bytes.
    pub u64,
);

impl Value for Size {
    const SYNTAX: &'static str = "<n>[K|M|G]";
    fn parse(word: &str) -> Result<Self, String> {
        let wrong = || format!("expected a size as 4096, 64K, 32M or 1G, not `{word}`");
        let digits = word.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        let shift = match word[digits.len()..].to_ascii_lowercase().as_str() {
            "" => 0,
            "k" | "kb" => 10,
            "m" | "mb" => 20,
            "g" | "gb" => 30,
            "t" | "tb" => 40,
            _ => return Err(wrong()),
        };
        let n: u64 = digits.parse().map_err(|_| wrong())?;
        n.checked_mul(1 << shift).map(Size).ok_or_else(|| format!("`{word}` is too large"))
    }
    fn show(&self) -> String {
        match self.0 {
            0 => "0".into(),
            n if n % (1 << 30) == 0 => format!("{}G", n >> 30),
            n if n % (1 << 20) == 0 => format!("{}M", n >> 20),
            n if n % (1 << 10) == 0 => format!("{}K", n >> 10),
            n => n.to_string(),
        }
    }
}

/// A size limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// No limit.
    Unlimited,
    /// At most so many bytes.
    Bytes(u64),
}

impl Value for Limit {
    const SYNTAX: &'static str = "unlimited|<n>[K|M|G]";
    fn parse(word: &str) -> Result<Self, String> {
        if word == "unlimited" {
            Ok(Limit::Unlimited)
        } else {
            Size::parse(word).map(|s| Limit::Bytes(s.0))
        }
    }
    fn show(&self) -> String {
        match self {
            Limit::Unlimited => "unlimited".into(),
            Limit::Bytes(n) => Size(*n).show(),
        }
    }
}

/// A memory page size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageSize {
    /// The system's ordinary page.
    Default,
    /// The system's default huge page.
    DefaultHugepage,
    /// Pages of so many bytes, a power of two.
    Bytes(u64),
}

impl Value for PageSize {
    const SYNTAX: &'static str = "default|default-hugepage|4K|2M|1G";
    fn parse(word: &str) -> Result<Self, String> {
        match word {
            "default" => return Ok(PageSize::Default),
            "default-hugepage" => return Ok(PageSize::DefaultHugepage),
            _ => {}
        }
        let Size(n) = Size::parse(word)?;
        if !n.is_power_of_two() || n < 4096 {
            return Err(format!("`{word}` is no page size"));
        }
        Ok(PageSize::Bytes(n))
    }
    fn show(&self) -> String {
        match self {
            PageSize::Default => "default".into(),
            PageSize::DefaultHugepage => "default-hugepage".into(),
            PageSize::Bytes(n) => Size(*n).show(),
        }
    }
}

/// The largest logical core number that is accepted.
const MAX_CORE: u16 = 4095;

/// Logical cores, ascending, each once; written as `2,3,5-7`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CoreList(
    /// The core numbers.
    pub Vec<u16>,
);

impl Value for CoreList {
    const SYNTAX: &'static str = "<core>[-<core>][,…]";
    fn parse(word: &str) -> Result<Self, String> {
        let core = |s: &str| {
            let n =
                s.parse::<u16>().map_err(|_| format!("expected cores as 2,3,5-7, not `{word}`"))?;
            if n <= MAX_CORE { Ok(n) } else { Err(format!("there is no core {n}")) }
        };
        let mut cores = Vec::new();
        for part in word.split(',') {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let (first, last) = (core(first)?, core(last)?);
            if first > last {
                return Err(format!("`{part}` ends before it begins"));
            }
            cores.extend(first..=last);
        }
        cores.sort_unstable();
        cores.dedup();
        Ok(CoreList(cores))
    }
    fn show(&self) -> String {
        let run = |r: &[u16]| {
            if r.len() == 1 { r[0].to_string() } else { format!("{}-{}", r[0], r[r.len() - 1]) }
        };
        self.0.chunk_by(|a, b| a + 1 == *b).map(run).collect::<Vec<_>>().join(",")
    }
}

/// Logical cores written as a hexadecimal mask.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CoreMask(
    /// The core numbers, ascending.
    pub CoreList,
);

impl Value for CoreMask {
    const SYNTAX: &'static str = "<hex mask>";
    fn parse(word: &str) -> Result<Self, String> {
        let wrong = || format!("expected a hexadecimal mask of cores, not `{word}`");
        let digits = word.strip_prefix("0x").unwrap_or(word);
        if digits.is_empty() || digits.len() > usize::from(MAX_CORE / 4) {
            return Err(wrong());
        }
        let mut cores = Vec::new();
        for (i, c) in digits.chars().rev().enumerate() {
            let nibble = c.to_digit(16).ok_or_else(wrong)?;
            cores.extend(
                (0..4u16).filter(|bit| nibble >> bit & 1 == 1).map(|bit| i as u16 * 4 + bit),
            );
        }
        if cores.is_empty() {
            Err("the mask names no core".into())
        } else {
            Ok(CoreMask(CoreList(cores)))
        }
    }
    fn show(&self) -> String {
        let cores = &self.0.0;
        let top = cores.last().map_or(0, |c| c / 4);
        let nibble =
            |n: u16| (0..4).filter(|b| cores.contains(&(n * 4 + b))).fold(0u32, |m, b| m | 1 << b);
        let digits = (0..=top).rev().filter_map(|n| char::from_digit(nibble(n), 16));
        std::iter::once('0').chain(std::iter::once('x')).chain(digits).collect()
    }
}

/// The address that a socket listens on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Listen {
    /// A Unix socket. A relative path lies in the runtime directory.
    Unix(PathBuf),
    /// A TCP socket; the host is an address or a name.
    Tcp(String, u16),
}

impl Value for Listen {
    const SYNTAX: &'static str = "<path>|[<address>]:<port>";
    fn parse(word: &str) -> Result<Self, String> {
        let wrong = || format!("expected a socket path or address:port, not `{word}`");
        if word.is_empty() || word.contains('\0') {
            return Err(wrong());
        }
        if word.contains('/') {
            return Ok(Listen::Unix(PathBuf::from(word)));
        }
        let (host, port) = match word.rsplit_once(':') {
            Some((host, port)) => (host, port),
            None if word.bytes().all(|b| b.is_ascii_digit()) => ("", word),
            None => return Ok(Listen::Unix(PathBuf::from(word))),
        };
        let port = port.parse::<u16>().map_err(|_| wrong())?;
        let host = host.strip_prefix('[').and_then(|h| h.strip_suffix(']')).unwrap_or(host);
        if !host.is_empty() && crate::text::quoted(host) != host {
            return Err(wrong());
        }
        // An address that was left out must not open a router's CLI to the world.
        Ok(Listen::Tcp(if host.is_empty() { "localhost" } else { host }.into(), port))
    }
    fn show(&self) -> String {
        match self {
            Listen::Unix(path) => crate::text::quoted(&path.display().to_string()),
            Listen::Tcp(host, port) if host.contains(':') => format!("[{host}]:{port}"),
            Listen::Tcp(host, port) => format!("{host}:{port}"),
        }
    }
}

/// A path of a socket; a relative one lies in the runtime directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SocketPath(
    /// As written.
    pub PathBuf,
);

impl Value for SocketPath {
    const SYNTAX: &'static str = "<path>";
    fn parse(word: &str) -> Result<Self, String> {
        if word.is_empty() || word.contains('\0') {
            Err("expected a path".into())
        } else {
            Ok(SocketPath(word.into()))
        }
    }
    fn show(&self) -> String {
        crate::text::quoted(&self.0.display().to_string())
    }
}

/// A group or user, by number or name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Account {
    /// By number.
    Id(u32),
    /// By name, looked up at the start.
    Name(String),
}

impl Value for Account {
    const SYNTAX: &'static str = "<number>|<name>";
    fn parse(word: &str) -> Result<Self, String> {
        if word.is_empty() || word.contains(':') {
            return Err(format!("`{word}` is neither a number nor a name"));
        }
        Ok(word.parse().map_or_else(|_| Account::Name(word.into()), Account::Id))
    }
    fn show(&self) -> String {
        match self {
            Account::Id(n) => n.to_string(),
            Account::Name(name) => crate::text::quoted(name),
        }
    }
}

/// `enable` or `disable`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Enable(
    /// True for `enable`.
    pub bool,
);

impl Value for Enable {
    const SYNTAX: &'static str = "enable|disable";
    fn parse(word: &str) -> Result<Self, String> {
        match word {
            "enable" => Ok(Enable(true)),
            "disable" => Ok(Enable(false)),
            _ => Err(format!("expected `enable` or `disable`, not `{word}`")),
        }
    }
    fn show(&self) -> String {
        if self.0 { "enable" } else { "disable" }.into()
    }
}

macro_rules! choices {
    ($(#[$doc:meta])* $name:ident, $syntax:literal, $($(#[$d:meta])* $variant:ident = $word:literal $(| $alias:literal)*),+) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name { $($(#[$d])* $variant),+ }

        impl Value for $name {
            const SYNTAX: &'static str = $syntax;
            fn parse(word: &str) -> Result<Self, String> {
                match word {
                    $($word $(| $alias)* => Ok($name::$variant),)+
                    _ => Err(format!("expected {}, not `{word}`", $syntax)),
                }
            }
            fn show(&self) -> String {
                match self { $($name::$variant => $word),+ }.into()
            }
        }
    };
}

choices! {
    /// The lowest severity that is logged.
    Level, "error|warn|notice|info|debug|disabled",
    /// Nothing.
    Disabled = "disabled" | "off",
    /// Errors only. `emerg`, `alert` and `crit` mean the same.
    Error = "error" | "err" | "crit" | "alert" | "emerg",
    /// And warnings.
    Warn = "warn" | "warning",
    /// And what an operator wants to know.
    Notice = "notice",
    /// As `notice`: the two aren't distinguished.
    Info = "info",
    /// Everything.
    Debug = "debug"
}

choices! {
    /// A scheduling policy of the kernel.
    Policy, "other|batch|idle|fifo|rr",
    /// SCHED_OTHER
    Other = "other",
    /// SCHED_BATCH
    Batch = "batch",
    /// SCHED_IDLE
    Idle = "idle",
    /// SCHED_FIFO, a real-time policy
    Fifo = "fifo",
    /// SCHED_RR, a real-time policy
    Rr = "rr"
}

/// Joins words with single spaces.
pub fn spaced<T: Display>(words: &[T]) -> String {
    words.iter().map(T::to_string).collect::<Vec<_>>().join(" ")
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;
    use crate::text;
    use proptest::prelude::*;

    #[suite::test]
    fn sizes() {
        assert_eq!(Size::parse("32m"), Ok(Size(32 << 20)));
        assert_eq!(Size::parse("1G").unwrap().show(), "1G");
        assert!(Size::parse("99999999999999999T").is_err());
        assert!(Size::parse("m").is_err());
        assert!(PageSize::parse("3M").is_err());
    }

    #[suite::test]
    fn cores() {
        assert_eq!(CoreList::parse("18-19,2,3"), Ok(CoreList(vec![2, 3, 18, 19])));
        assert_eq!(CoreList::parse("7,1,2,3").unwrap().show(), "1-3,7");
        assert!(CoreList::parse("3-1").unwrap_err().contains("ends before"));
        assert!(CoreList::parse("0-65535").is_err());
        assert_eq!(CoreMask::parse("0x1a"), Ok(CoreMask(CoreList(vec![1, 3, 4]))));
        assert_eq!(CoreMask::parse("0x1a").unwrap().show(), "0x1a");
    }

    #[suite::test]
    fn a_tcp_listener_without_address_is_local() {
        assert_eq!(Listen::parse(":5002"), Ok(Listen::Tcp("localhost".into(), 5002)));
        assert_eq!(Listen::parse("5002"), Ok(Listen::Tcp("localhost".into(), 5002)));
        assert_eq!(Listen::parse("[::1]:5002"), Ok(Listen::Tcp("::1".into(), 5002)));
        assert_eq!(Listen::parse("0.0.0.0:1"), Ok(Listen::Tcp("0.0.0.0".into(), 1)));
        assert_eq!(Listen::parse("cli.sock"), Ok(Listen::Unix("cli.sock".into())));
        assert!(Listen::parse("host:70000").is_err());
    }

    fn comes_back<V: Value + PartialEq + std::fmt::Debug>(word: &str) -> Result<(), TestCaseError> {
        if let Ok(value) = V::parse(word) {
            let shown = value.show();
            let tokens = text::tokens(&crate::Source::file("", shown.as_str())).unwrap();
            let [text::Token { kind: text::TokenKind::Word(again), .. }] = &tokens[..] else {
                return Err(TestCaseError::fail(format!("{shown} is not one word")));
            };
            prop_assert_eq!(V::parse(again), Ok(value));
        }
        Ok(())
    }

    proptest! {
        #[suite::test]
        fn every_value_is_shown_as_one_word(word in "[^{}]{0,20}") {
            comes_back::<String>(&word)?;
            comes_back::<Listen>(&word)?;
            comes_back::<SocketPath>(&word)?;
            comes_back::<Account>(&word)?;
            comes_back::<Size>(&word)?;
            comes_back::<CoreList>(&word)?;
            comes_back::<CoreMask>(&word)?;
        }
    }
}
