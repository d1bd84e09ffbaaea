// SPDX-License-Identifier: Apache-2.0
#![forbid(unsafe_code)]
//! The tables of the binary API: modules, messages, types and services.
//!
//! `published/vpp-26.06.tsv` has what VPP publishes, `published/own.tsv` our own messages, in the
//! same form. `msg::messages!` makes Rust types of the lines that a crate names; the daemon reads
//! CRCs, services and the description of messages here. A line is parsed when it is asked for.

mod describe;
mod parse;

pub use describe::{Field, Multiplicity, Shape, Type, size_of_scalar};

use std::collections::BTreeMap;
use std::sync::OnceLock;

const PUBLISHED: &str = include_str!("../published/vpp-26.06.tsv");
const OWN: &str = include_str!("../published/own.tsv");

/// A module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Module {
    /// `major.minor.patch`
    pub version: &'static str,
    /// The CRC of the whole; 0 for one of our own.
    pub crc: u32,
    /// Its messages, without those that VPP doesn't publish.
    pub messages: Vec<&'static str>,
}

/// A message.
#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    /// Its name.
    pub name: &'static str,
    /// Its module.
    pub module: &'static str,
    /// Its CRC; none for one of our own.
    pub crc: Option<u32>,
    /// Its fields, those of the head first.
    pub fields: Vec<Field>,
}

/// The fields between a message's number and its own fields, by name, in the order in which they
/// stand there.
const HEAD: [(&str, &str); 4] =
    [("client_index", "u32"), ("context", "u32"), ("retval", "i32"), ("pid", "u32")];

impl Message {
    /// Number of fields of the head: the client's index, the request's number, then a reply's
    /// return value; or the client's index and the process id of one that asked for events.
    pub fn head(&self) -> usize {
        let mut before = "";
        let belongs = |field: &&Field| {
            let follows = match field.name {
                "client_index" => before.is_empty(),
                "context" => ["", "client_index"].contains(&before),
                "retval" => before == "context" && self.name.ends_with("_reply"),
                "pid" => before == "client_index",
                _ => false,
            };
            before = field.name;
            follows && HEAD.contains(&(field.name, field.kind.name))
        };
        self.fields.iter().take_while(belongs).count()
    }
}

/// The messages that answer a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Service {
    /// The request.
    pub request: &'static str,
    /// The reply, or the details of a dump.
    pub reply: &'static str,
    /// Any number of answers.
    pub stream: bool,
    /// The details, when a reply ends the stream.
    pub stream_msg: Option<&'static str>,
    /// The events that it asks for.
    pub events: Vec<&'static str>,
}

/// A line about a message.
#[derive(Clone, Copy)]
struct Line {
    module: &'static str,
    crc: Option<u32>,
    fields: &'static str,
}

/// Both tables.
#[derive(Default)]
pub struct Tables {
    modules: BTreeMap<&'static str, Module>,
    messages: BTreeMap<&'static str, Line>,
    /// The parts of a line behind the name, with its letter.
    types: BTreeMap<&'static str, (&'static str, Vec<&'static str>)>,
    services: BTreeMap<&'static str, &'static str>,
}

/// The tables.
pub fn tables() -> &'static Tables {
    static TABLES: OnceLock<Tables> = OnceLock::new();
    TABLES.get_or_init(|| {
        let mut tables = Tables::default();
        tables.add(PUBLISHED);
        tables.add(OWN);
        tables
    })
}

impl Tables {
    fn add(&mut self, text: &'static str) {
        let mut module = "";
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let parts: Vec<&'static str> = line.split('\t').collect();
            let crc = |text| u32::from_str_radix(text, 16).ok();
            match parts[..] {
                // Our own messages in a module of VPP's stand behind its name alone.
                ["module", name] => module = name,
                ["module", name, version, sum] => {
                    module = name;
                    let known = Module { version, crc: crc(sum).unwrap_or(0), messages: vec![] };
                    self.modules.insert(name, known);
                }
                ["m", name, sum, fields] => {
                    let crc = crc(sum);
                    self.messages.insert(name, Line { module, crc, fields });
                    if let (Some(_), Some(module)) = (crc, self.modules.get_mut(module)) {
                        module.messages.push(name);
                    }
                }
                ["s", request, service] => {
                    self.services.insert(request, service);
                }
                [letter @ ("a" | "e" | "f" | "t" | "u"), name, ..] => {
                    self.types.insert(name, (letter, parts[2..].to_vec()));
                }
                _ => panic!("a line that no table has: {line}"),
            }
        }
    }

    /// A module.
    pub fn module(&self, name: &str) -> Option<&Module> {
        self.modules.get(name)
    }

    /// The modules that VPP publishes, by name.
    pub fn published(&self) -> impl Iterator<Item = (&'static str, &Module)> {
        let all = self.modules.iter().map(|(name, module)| (*name, module));
        all.filter(|(_, module)| module.crc != 0)
    }

    /// A message.
    pub fn message(&self, name: &str) -> Option<Message> {
        let (name, &Line { module, crc, fields }) = self.messages.get_key_value(name)?;
        Some(Message { name, module, crc, fields: parse::fields(self, fields) })
    }

    /// A type: its name is without `vl_api_` and `_t`.
    pub fn kind(&self, name: &str) -> Option<Type> {
        let (name, (letter, parts)) = self.types.get_key_value(name)?;
        Some(Type { name, shape: parse::shape(self, letter, parts) })
    }

    /// The answers to a request; `None` for what isn't one.
    pub fn service(&self, request: &str) -> Option<Service> {
        let (request, _) = self.messages.get_key_value(request)?;
        match self.services.get(request) {
            Some(line) => parse::service(request, line),
            None => {
                let (reply, _) = self.messages.get_key_value(&*format!("{request}_reply"))?;
                Some(Service { request, reply, ..Service::default() })
            }
        }
    }

    /// The names of all messages and types.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.messages.keys().chain(self.types.keys()).copied()
    }
}
