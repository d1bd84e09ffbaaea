// SPDX-License-Identifier: Apache-2.0
#![forbid(unsafe_code)]
//! The arguments of a command, declared once: the words that it reads, the line of the saved
//! configuration and the members of its JSON come from one struct.
//!
//! ```
//! use object::{Arguments, Choice};
//!
//! #[derive(Clone, Copy, PartialEq, Debug)]
//! enum Mode { Xor, Lacp }
//!
//! impl Choice for Mode {
//!     const ALL: &'static [(&'static str, Self)] = &[("xor", Self::Xor), ("lacp", Self::Lacp)];
//! }
//!
//! #[derive(Arguments, PartialEq, Debug)]
//! struct Bond {
//!     #[words("{mode <mode:xor|lacp>}")]
//!     mode: Mode,
//!     #[words("[weight <weight:u32>]", default = 1)]
//!     weight: u32,
//!     #[words("[numa-only]")]
//!     numa_only: bool,
//! }
//!
//! assert_eq!(Bond::USAGE, "{mode <mode:xor|lacp>} [weight <weight:u32>] [numa-only]");
//! ```
//!
//! [`Arguments`] is derived. Each field has one of these:
//!
//! | attribute | meaning |
//! |---|---|
//! | `#[words("[vni <vni:u32>]")]` | its part of the usage. The type reads and writes it ([`Argument`]) |
//! | `#[part]` | its type has words of its own ([`Arguments`]), and they stand here |
//! | `#[unsaid]` | no words: it has its default, isn't saved and isn't in JSON |
//!
//! Behind the usage may stand: `default`, or `default = VALUE`, which a missing argument has and
//! which isn't written, unless `always` stands there, too; `then = FUNCTION` from the value that
//! was read to the one that it has, or to an error, which is marked in the line; `json = "NAME"`,
//! for a member that isn't named as the field.
//!
//! A field that must be there (`{…}`) and is not, is an error that names its placeholder; one that
//! may be left out (`[…]`) has a default, is an `Option`, or a `bool`. Members of JSON are in the
//! order of the fields.

// The derived code names the crate.
#[cfg(feature = "tests")]
extern crate self as object;

#[cfg(feature = "tests")]
mod tests;
mod values;

pub use object_derive::Arguments;
pub use values::Choice;

use cli::{Error, Matches, Output, Result};
use graph::{SwIfIndex, World};
use net::Interfaces;
use serde_json::{Map, Value, json};

/// Members of an object in JSON, in their order.
pub type Members = Map<String, Value>;

/// The answer of a command that makes a device: the name, and for programs also the number.
pub fn made(world: &World, sw_if: SwIfIndex) -> Output {
    let name = world.get::<Interfaces>().name(sw_if);
    Output::both(name.clone(), json!({ "name": name, "sw_if_index": sw_if.0 }))
}

/// A struct that a command reads.
pub trait Arguments: Sized {
    /// Its part of the command's usage.
    const USAGE: &'static str;

    /// Reads it.
    ///
    /// # Errors
    /// An argument that is missing or wrong, marked in the line.
    fn read(world: &World, m: &Matches) -> Result<Self>;

    /// Writes the words that [`Self::read`] reads, without those of defaults, each with a blank in
    /// front.
    fn write(&self, world: &World, line: &mut String);

    /// Adds what it is to an object in JSON.
    fn members(&self, world: &World, to: &mut Members);

    /// The words of [`Self::write`].
    fn words(&self, world: &World) -> String {
        let mut line = String::new();
        self.write(world, &mut line);
        line
    }
}

/// The usage of an argument, in pairs of a literal and the placeholder behind it, either of which
/// may be missing (""): `{dst <to:ip> | group <group:ip> <by:interface>}` is `("dst", "to")`,
/// `("group", "group")`, `("", "by")`.
#[derive(Clone, Copy, Debug)]
pub struct Words(pub &'static [(&'static str, &'static str)]);

impl Words {
    /// The first literal, or "".
    pub fn literal(self) -> &'static str {
        self.0.first().map_or("", |(literal, _)| literal)
    }

    /// The first placeholder, or "".
    pub fn placeholder(self) -> &'static str {
        self.0.first().map_or("", |(_, placeholder)| placeholder)
    }

    /// The literal in front of a placeholder, or "".
    pub fn before(self, placeholder: &str) -> &'static str {
        self.0.iter().find(|(_, name)| *name == placeholder).map_or("", |(literal, _)| literal)
    }

    /// Marks the place of an error in the line: the first of its words that is there.
    pub fn mark(self, m: &Matches, error: Error) -> Error {
        let mut names = self.0.iter().flat_map(|(literal, name)| [*name, *literal]);
        match names.find_map(|name| m.span(name)) {
            Some(span) => error.at(span),
            None => error,
        }
    }

    /// An argument that is missing.
    pub fn missing(self) -> Error {
        let pairs = self.0.iter().filter(|(literal, name)| !literal.is_empty() || !name.is_empty());
        let words = pairs.map(|(literal, name)| match (literal.is_empty(), name.is_empty()) {
            (_, true) => literal.to_string(),
            (true, false) => format!("<{name}>"),
            (false, false) => format!("{literal} <{name}>"),
        });
        Error::usage(format!("expected {}", words.collect::<Vec<_>>().join(" or ")))
    }
}

/// A value of one argument, or of a few that only make sense together.
pub trait Argument: Sized {
    /// Reads it; `None` if it isn't in the line.
    ///
    /// # Errors
    /// Words that aren't such a value.
    fn read(world: &World, m: &Matches, words: Words) -> Result<Option<Self>>;

    /// Writes its words, each with a blank in front.
    fn write(&self, world: &World, words: Words, line: &mut String);

    /// It in JSON.
    fn value(&self, world: &World) -> Value;

    /// Adds its members to an object in JSON: one, unless it is more than one value.
    fn members(&self, world: &World, _: Words, name: &str, to: &mut Members) {
        to.insert(name.to_string(), self.value(world));
    }
}
