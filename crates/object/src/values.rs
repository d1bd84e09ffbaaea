// SPDX-License-Identifier: Apache-2.0
//! Values of arguments.

use crate::{Argument, Words};
use cli::{Error, Matches, Result, quote};
use graph::{SwIfIndex, World};
use net::Interfaces;
use serde_json::Value;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::PathBuf;
use wire::{Ip4Prefix, Ip6Prefix, MacAddr};

/// Writes a literal and a value.
fn put(words: Words, value: &str, line: &mut String) {
    for word in [words.literal(), value] {
        if !word.is_empty() {
            line.push(' ');
            line.push_str(word);
        }
    }
}

/// Types that a placeholder can be read as: how they are written, and what they are in JSON.
macro_rules! placeholders {
    ($($Type:ty, |$it:ident| $word:expr, $json:expr;)*) => { $(
        impl Argument for $Type {
            fn read(_: &World, m: &Matches, words: Words) -> Result<Option<Self>> {
                m.opt(words.placeholder())
            }

            fn write(&self, _: &World, words: Words, line: &mut String) {
                let $it = self;
                put(words, &$word, line);
            }

            fn value(&self, _: &World) -> Value {
                let $it = self;
                Value::from($json)
            }
        }
    )* };
}

placeholders! {
    u8, |it| it.to_string(), *it;
    u16, |it| it.to_string(), *it;
    u32, |it| it.to_string(), *it;
    u64, |it| it.to_string(), *it;
    f64, |it| it.to_string(), *it;
    IpAddr, |it| it.to_string(), it.to_string();
    Ipv4Addr, |it| it.to_string(), it.to_string();
    Ipv6Addr, |it| it.to_string(), it.to_string();
    Ip4Prefix, |it| it.to_string(), it.to_string();
    Ip6Prefix, |it| it.to_string(), it.to_string();
    MacAddr, |it| it.to_string(), it.to_string();
    String, |it| quote(it), it.as_str();
    PathBuf, |it| quote(&it.to_string_lossy()), it.to_string_lossy();
}

/// A word that is there or not; with a placeholder, 0 or 1.
impl Argument for bool {
    fn read(_: &World, m: &Matches, words: Words) -> Result<Option<Self>> {
        match words.placeholder() {
            "" => Ok(Some(m.flag(words.literal()))),
            name => Ok(m.opt::<u64>(name)?.map(|bit| bit != 0)),
        }
    }

    fn write(&self, _: &World, words: Words, line: &mut String) {
        match (words.placeholder(), *self) {
            ("", true) => put(words, "", line),
            ("", false) => {}
            (_, bit) => put(words, if bit { "1" } else { "0" }, line),
        }
    }

    fn value(&self, _: &World) -> Value {
        Value::from(*self)
    }
}

/// An argument that may be left out.
impl<T: Argument> Argument for Option<T> {
    fn read(world: &World, m: &Matches, words: Words) -> Result<Option<Self>> {
        T::read(world, m, words).map(Some)
    }

    fn write(&self, world: &World, words: Words, line: &mut String) {
        if let Some(value) = self {
            value.write(world, words, line);
        }
    }

    fn value(&self, world: &World) -> Value {
        self.as_ref().map_or(Value::Null, |value| value.value(world))
    }
}

/// An interface, by its name of now.
impl Argument for SwIfIndex {
    fn read(world: &World, m: &Matches, words: Words) -> Result<Option<Self>> {
        let name = words.placeholder();
        if !m.has(name) {
            return Ok(None);
        }
        let found = world.get::<Interfaces>().find(m.str(name));
        found.map(Some).map_err(|error| words.mark(m, error))
    }

    fn write(&self, world: &World, words: Words, line: &mut String) {
        put(words, &quote(&world.get::<Interfaces>().name(*self)), line);
    }

    fn value(&self, world: &World) -> Value {
        Value::from(world.get::<Interfaces>().name(*self))
    }
}

/// An enum whose values are words: of a placeholder (`<mode:xor|lacp>`), or literals of their own
/// (`[v2 | v3]`).
pub trait Choice: Copy + PartialEq + 'static {
    /// All values, each with its word.
    const ALL: &'static [(&'static str, Self)];

    /// The word of this one.
    fn word(self) -> &'static str {
        Self::ALL.iter().find(|(_, it)| *it == self).map_or("", |(word, _)| word)
    }

    /// The value of a word.
    fn of_word(word: &str) -> Option<Self> {
        Self::ALL.iter().find(|(name, _)| *name == word).map(|(_, it)| *it)
    }
}

impl<T: Choice> Argument for T {
    fn read(_: &World, m: &Matches, words: Words) -> Result<Option<Self>> {
        let name = words.placeholder();
        if !name.is_empty() {
            let given = m.has(name).then(|| m.str(name));
            let read = |word| Self::of_word(word).ok_or_else(|| words.mark(m, unknown::<T>(word)));
            return given.map(read).transpose();
        }
        let mut given = T::ALL.iter().filter(|(word, _)| m.flag(word));
        match (given.next(), given.next()) {
            (Some((word, _)), Some((other, _))) => {
                Err(Error::usage(format!("either {word} or {other}")))
            }
            (given, _) => Ok(given.map(|(_, it)| *it)),
        }
    }

    fn write(&self, _: &World, words: Words, line: &mut String) {
        match words.placeholder() {
            "" => put(Words(&[]), self.word(), line),
            _ => put(words, self.word(), line),
        }
    }

    fn value(&self, _: &World) -> Value {
        Value::from(self.word())
    }
}

fn unknown<T: Choice>(word: &str) -> Error {
    let known: Vec<_> = T::ALL.iter().map(|(word, _)| *word).collect();
    Error::parse(format!("expected one of {}, not {word}", known.join(", ")))
}
