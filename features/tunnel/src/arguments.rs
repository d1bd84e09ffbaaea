// SPDX-License-Identifier: Apache-2.0
//! Arguments that the commands of several kinds have.

use crate::datagrams::{Datagrams, Next};
use crate::model::{Flags, TunnelEndpoints, unspecified};
use cli::{Error, Matches, Result, quote, retval};
use graph::World;
use net::Interfaces;
use object::{Argument, Members, Words};
use serde_json::Value;
use std::net::IpAddr;

/// Words in front of the address here, one of them in each command.
const HERE: [&str; 3] = ["src", "local", "our"];

/// `{src <source:ip>} {dst <destination:ip> | group <group:ip> <interface:interface>}
/// [encap-vrf-id <table:u32>]`: the kind chooses the first two literals and the last one, and the
/// first two placeholders, which also are the names in JSON. The group may be missing. So may be
/// the other end, where `[…]` says so: then it is unspecified.
impl Argument for TunnelEndpoints {
    fn read(world: &World, m: &Matches, words: Words) -> Result<Option<Self>> {
        let [here, there] = ends(words);
        let local: IpAddr = m.req(here)?;
        let table = m.opt("table")?.unwrap_or(0);
        if m.has("group") {
            let by = world.get::<Interfaces>().find(m.str("interface"));
            let by = by.map_err(m.at("interface"))?;
            return Ok(Some(Self {
                remote: m.req("group")?,
                group_interface: Some(by),
                local,
                table,
            }));
        }
        let remote = m.opt(there)?.unwrap_or(unspecified(local));
        Ok(Some(Self { local, remote, table, group_interface: None }))
    }

    fn write(&self, world: &World, words: Words, line: &mut String) {
        let Self { local, remote, table, group_interface } = self;
        for end in words.0.iter().filter(|(_, name)| ends(words).contains(name)) {
            *line += &match (HERE.contains(&end.0), group_interface) {
                (true, _) => format!(" {} {local}", end.0),
                // A tunnel with several other ends: one with a single end has its address.
                (false, None) if remote.is_unspecified() => String::new(),
                (false, None) => format!(" {} {remote}", end.0),
                (false, Some(by)) => {
                    // Interfaces are made before they are renamed.
                    let made = world.get::<Interfaces>().get(*by).map(|made| made.original.name);
                    format!(" group {remote} {}", quote(&made.unwrap_or_default()))
                }
            };
        }
        if *table != 0 {
            *line += &format!(" {} {table}", words.before("table"));
        }
    }

    fn value(&self, _: &World) -> Value {
        Value::from(self.remote.to_string())
    }

    fn members(&self, world: &World, words: Words, _: &str, to: &mut Members) {
        let [here, there] = ends(words);
        to.insert(here.into(), self.local.to_string().into());
        to.insert(there.into(), self.remote.to_string().into());
        if !words.before("group").is_empty() {
            to.insert("group_interface".into(), self.group_interface.value(world));
        }
        to.insert("table".into(), self.table.into());
    }
}

/// The placeholders of the address here and the other one.
fn ends(words: Words) -> [&'static str; 2] {
    let mut names = ["", ""];
    for (literal, name) in words.0 {
        match *literal {
            here if HERE.contains(&here) => names[0] = name,
            "dst" | "remote" | "client" => names[1] = name,
            _ => {}
        }
    }
    names
}

/// The words of what is copied, each with its flag.
const COPIES: [(&str, Flags); 8] = [
    ("encap-copy-df", Flags::COPY_DF),
    ("encap-set-df", Flags::SET_DF),
    ("encap-copy-dscp", Flags::COPY_DSCP),
    ("encap-copy-ecn", Flags::COPY_ECN),
    ("decap-copy-ecn", Flags::DECAP_COPY_ECN),
    ("encap-inner-hash", Flags::INNER_HASH),
    ("encap-copy-hop-limit", Flags::COPY_HOP_LIMIT),
    ("encap-copy-flow-label", Flags::COPY_FLOW_LABEL),
];

impl Flags {
    /// The words of what is copied.
    pub fn words(self) -> Vec<&'static str> {
        COPIES.iter().filter(|(_, flag)| self.contains(*flag)).map(|(word, _)| *word).collect()
    }
}

impl Argument for Flags {
    fn read(_: &World, m: &Matches, _: Words) -> Result<Option<Self>> {
        let set = COPIES.iter().filter(|(word, _)| m.flag(word));
        Ok(Some(set.fold(Self::default(), |all, (_, flag)| all | *flag)))
    }

    fn write(&self, _: &World, _: Words, line: &mut String) {
        self.words().iter().for_each(|word| *line += &format!(" {word}"));
    }

    fn value(&self, _: &World) -> Value {
        Value::from(self.words())
    }
}

/// `[decap-next <next:l2|drop|node> [<node:word>]]`; the words `ip4` and `ip6`, where a command has
/// them, are the nodes of these protocols.
impl Argument for Next {
    fn read(_: &World, m: &Matches, _: Words) -> Result<Option<Self>> {
        Self::parse(m).map(Some)
    }

    fn write(&self, _: &World, _: Words, line: &mut String) {
        *line += &self.words();
    }

    fn value(&self, _: &World) -> Value {
        Value::from(self.name())
    }
}

/// A port that is chosen, of commands and of messages: 0 is the usual one.
///
/// # Errors
/// None: a function for `#[words]`.
pub fn chosen_port<K: Datagrams>(port: u16) -> Result<u16> {
    Ok(if port == 0 { K::PORT } else { port })
}

/// Checks a network identifier of a command.
///
/// # Errors
/// As [`check_vni`].
pub fn vni(vni: u32) -> Result<u32> {
    check_vni(vni).map_err(|e| e.retval(retval::UNSPECIFIED))
}

/// Checks a network identifier, of commands and of messages (RFC 7348 5, RFC 8926 3.4: 24 bits; 0
/// is one of them).
///
/// # Errors
/// More than 24 bits.
pub fn check_vni(vni: u32) -> Result<u32> {
    if vni >> 24 != 0 {
        let why = format!("a network identifier has 24 bits, up to 16777215: {vni}");
        return Err(Error::parse(why).retval(retval::INVALID_VALUE));
    }
    Ok(vni)
}
