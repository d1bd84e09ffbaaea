// SPDX-License-Identifier: Apache-2.0
//! VPP's published API: names, CRCs, layouts. Declarations are compared with it, and the
//! documentation lists from it which messages are missing.

use crate::describe::{Field, Shape, Type};
use crate::table::{Entry, Table};
use std::collections::BTreeMap;

/// Documentation of a message that VPP's module doesn't have.
pub const OWN: &str = "VPP has no such message";

const FACTS: &str = include_str!("../published/vpp-26.06.tsv");

/// A published message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Its CRC.
    pub crc: u32,
    /// Its fields, as [`Field::layout`] writes them, divided by commas.
    pub layout: &'static str,
    /// Its module.
    pub module: &'static str,
}

/// A published module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Module {
    /// `major.minor.patch`
    pub version: &'static str,
    /// The CRC of the whole.
    pub crc: u32,
    /// Its messages, by name.
    pub messages: Vec<&'static str>,
}

/// Everything that is published.
#[derive(Clone, Debug, Default)]
pub struct Published {
    /// Modules, by name.
    pub modules: BTreeMap<&'static str, Module>,
    /// Messages, by name.
    pub messages: BTreeMap<&'static str, Message>,
    /// Types, by name: the line that describes them.
    types: BTreeMap<&'static str, String>,
    /// Services that are more than a request and its reply, by request.
    services: BTreeMap<&'static str, &'static str>,
}

/// Reads the table.
pub fn read() -> Published {
    let mut all = Published::default();
    let mut module = "";
    for line in FACTS.lines().filter(|l| !l.starts_with('#')) {
        let parts: Vec<&'static str> = line.split('\t').collect();
        let crc =
            |at: usize| parts.get(at).and_then(|t| u32::from_str_radix(t, 16).ok()).unwrap_or(0);
        match parts[..] {
            ["module", name, version, _] => {
                module = name;
                all.modules.insert(name, Module { version, crc: crc(3), messages: Vec::new() });
            }
            ["m", name, _, layout] => {
                all.modules.entry(module).or_default().messages.push(name);
                all.messages.insert(name, Message { crc: crc(2), layout, module });
            }
            ["s", name, service] => {
                all.services.insert(name, service);
            }
            [kind @ ("a" | "e" | "f" | "t" | "u"), name, ..] => {
                all.types.insert(name, format!("{kind} {}", parts[2..].join(" ")));
            }
            _ => {}
        }
    }
    all
}

fn layout(fields: &[Field]) -> String {
    fields.iter().map(Field::layout).collect::<Vec<_>>().join(", ")
}

fn type_line(kind: &Type) -> String {
    let members = |letter, base: &str, all: &[(&str, u32)]| {
        let all: Vec<_> = all.iter().map(|(name, value)| format!("{name}={value}")).collect();
        format!("{letter} {base} {}", all.join(", "))
    };
    match &kind.shape {
        Shape::Alias(of) => match of.shape {
            Shape::Fixed(_, n) => format!("a {}[{n}]", of.wire_name()),
            _ => format!("a {}", of.wire_name()),
        },
        Shape::Enum(base, all) => members('e', base, all),
        Shape::Flags(base, all) => members('f', base, all),
        Shape::Struct(fields) => format!("t {}", layout(fields)),
        Shape::Union(arms) => format!("u {}", layout(arms)),
        Shape::Scalar | Shape::Text(_) | Shape::Fixed(..) => String::new(),
    }
}

impl Published {
    /// Differences between the declarations of a table and the published API, a line for each.
    /// Modules of our own are no difference, and messages of our own in VPP's modules aren't if
    /// their documentation says so by the words of [`OWN`].
    pub fn differences<W: 'static>(&self, table: &Table<W>) -> Vec<String> {
        let mut found = Vec::new();
        for (_, entry) in table.entries() {
            self.message(entry, table, &mut found);
        }
        for module in table.modules() {
            if let Some(published) = self.modules.get(module.name)
                && (published.version, published.crc) != (module.version, module.crc)
            {
                found.push(format!(
                    "module {}: {} {:#010x} is declared, {} {:#010x} published",
                    module.name, module.version, module.crc, published.version, published.crc
                ));
            }
            for service in &module.services {
                let mut said = service.reply.to_string();
                match (service.stream, service.stream_msg) {
                    (_, Some(details)) => said += &format!(" stream={details}"),
                    (true, None) => said += " stream",
                    (false, None) => {}
                }
                if !service.events.is_empty() {
                    said += &format!(" events={}", service.events.join("+"));
                }
                let plain = format!("{}_reply", service.request);
                let published = self.services.get(service.request).copied().unwrap_or(&plain);
                if self.messages.contains_key(service.request) && published != said {
                    found.push(format!(
                        "service {}: {said} is declared, {published} published",
                        service.request
                    ));
                }
            }
        }
        found.sort();
        found.dedup();
        found
    }

    fn message<W: 'static>(&self, entry: &Entry<W>, table: &Table<W>, found: &mut Vec<String>) {
        let module = table.modules()[entry.module].name;
        let Some(published) = self.messages.get(entry.name) else {
            let request = entry.name.strip_suffix("_reply").unwrap_or(entry.name);
            let is_own =
                |e: &Entry<W>| [entry.name, request].contains(&e.name) && e.doc.contains(OWN);
            if self.modules.contains_key(module) && !table.entries().any(|(_, e)| is_own(e)) {
                found.push(format!(
                    "{}: isn't published in {module}; the documentation of a message of our own says `{OWN}`",
                    entry.name
                ));
            }
            return;
        };
        if published.module != module {
            found
                .push(format!("{}: is in {module}, published in {}", entry.name, published.module));
        }
        let declared = layout(&entry.fields);
        if declared != published.layout {
            found.push(format!(
                "{}: ({declared}) is declared, ({}) published",
                entry.name, published.layout
            ));
        }
        if entry.crc != published.crc {
            found.push(format!(
                "{}: CRC {:08x}, published {:08x}",
                entry.name, entry.crc, published.crc
            ));
        }
        for field in &entry.fields {
            field.kind.visit(&mut |kind| {
                let declared = type_line(kind);
                match self.types.get(kind.name) {
                    Some(published) if *published != declared => {
                        found.push(format!(
                            "type {}: ({declared}) is declared, ({published}) published",
                            kind.name
                        ));
                    }
                    Some(_) => {}
                    None => found.push(format!("type {}: isn't published", kind.name)),
                }
            });
        }
    }
}
