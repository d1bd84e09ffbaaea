// SPDX-License-Identifier: Apache-2.0
//! The commands of MACIP ACLs.

use super::control::{MacipAcl, MacipAcls};
use super::{Action, Network, Rule, show};
use crate::cli::TAG;
use crate::words::Reader;
use cli::{Command, Error, Matches, Output, Result};
use graph::World;
use net::args::interface;
use serde_json::json;
use std::net::IpAddr;
use wire::{MacAddr, Prefix};

pub const SET: Command<World> = Command {
    path: "set acl-plugin macip acl",
    usage: "[index <index:u32> | at <number:u32>] <rules:rest>",
    help: "Make an ACL of hosts, or replace one (`index'): permit, deny or action N, ip PREFIX \
           mac MAC mask MASK, rules with commas between them, [tag WORD]",
    run: set,
};
pub const DELETE: Command<World> = Command {
    path: "delete acl-plugin macip acl",
    usage: "index <index:u32>",
    help: "Delete an ACL of hosts, and take it away from interfaces",
    run: |w, m| {
        let number = m.req("index")?;
        w.get::<MacipAcls>().delete(w, number).map_err(|e| e.at(m.span("index")))?;
        let said = format!("Deleted MACIP ACL index:{number}\n");
        Ok(Output::both(said, json!({ "index": number })))
    },
};
pub const APPLY: Command<World> = Command {
    path: "set acl-plugin macip interface",
    usage: "<interface:interface> acl <index:u32> [del]",
    help: "Let only these hosts send by an interface, or end that",
    run: apply,
};
pub const SHOW_ACL: Command<World> = Command {
    path: "show acl-plugin macip acl",
    usage: "[index <index:u32>]",
    help: "ACLs of hosts and their rules",
    run: show::acls,
};
pub const SHOW_INTERFACE: Command<World> = Command {
    path: "show acl-plugin macip interface",
    usage: "",
    help: "Interfaces with an ACL of hosts",
    run: show::interfaces,
};

impl Reader<'_> {
    fn mac(&mut self, expected: &str) -> Result<MacAddr> {
        let word = self.next(expected)?;
        word.parse().map_err(|_| self.wrong(expected, word))
    }

    /// A mask as a MAC address, or as the number of its first bits.
    fn mask(&mut self) -> Result<MacAddr> {
        let expected = "a mask, such as ff:ff:ff:00:00:00, or a number of bits up to 48";
        let word = self.next(expected)?;
        if let Ok(len) = word.parse::<u8>()
            && len <= 48
        {
            let ones = (1_u64 << 48) - 1;
            return Ok(MacAddr::from_bits(ones & !(ones >> len)));
        }
        word.parse().map_err(|_| self.wrong(expected, word))
    }

    fn host_rule(&mut self) -> Result<Rule> {
        let expected = "permit, deny or action N";
        let word = self.next(expected)?;
        let action = match word {
            "permit" => Action::Permit,
            "deny" => Action::Deny,
            "action" => {
                let number = self.number("an action of 0 to 3")?;
                Action::of(number).map_err(|e| e.at(self.at()))?
            }
            _ => {
                let known = ["permit", "deny", "action"];
                return Err(self.wrong(expected, word).near(word, known));
            }
        };
        let (mut network, mut mac, mut mask) =
            ((IpAddr::from([0; 4]), 0), MacAddr::default(), MacAddr::default());
        let ends = |word: &str| ["permit", "deny", "action", "tag"].contains(&word);
        while let Some(word) = self.peek().filter(|word| !ends(word)) {
            self.next(word)?;
            match word {
                "ip" => network = self.prefix()?,
                "mac" => mac = self.mac("a MAC address")?,
                "mask" => mask = self.mask()?,
                _ => {
                    let known = ["ip", "mac", "mask", "tag"];
                    return Err(self.wrong("ip, mac or mask", word).near(word, known));
                }
            }
        }
        let (addr, len) = network;
        let known = match addr {
            IpAddr::V4(addr) => Prefix::new(addr, len).map(Network::Ip4),
            IpAddr::V6(addr) => Prefix::new(addr, len).map(Network::Ip6),
        };
        let too_long = || Error::parse(format!("{addr} has no network of {len} bits"));
        let network = known.ok_or_else(|| too_long().at(self.at()))?;
        Ok(Rule { action, mac, mask, network })
    }
}

fn set(w: &World, m: &Matches) -> Result<Output> {
    let mut reader = Reader::new(m.str("rules"), m.span("rules").map_or(0, |span| span.start));
    let mut acl = MacipAcl { tag: TAG.into(), rules: Vec::new() };
    while reader.peek().is_some() {
        if reader.take("tag") {
            acl.tag = reader.next("a tag")?.to_string();
        } else {
            acl.rules.push(reader.host_rule()?);
        }
    }
    let acls = w.get::<MacipAcls>();
    let number = match m.opt("number")? {
        Some(number) => {
            acls.restore(w, number, acl)?;
            number
        }
        None => acls.set(w, m.opt("index")?, acl).map_err(|e| e.at(m.span("index")))?,
    };
    Ok(Output::both(format!("MACIP ACL index:{number}\n"), json!({ "index": number })))
}

fn apply(w: &World, m: &Matches) -> Result<Output> {
    let sw_if = interface(w, m, "interface")?;
    let acls = w.get::<MacipAcls>();
    if m.flag("del") {
        acls.withdraw(w, sw_if)?;
    } else {
        acls.apply(w, sw_if, m.req("index")?).map_err(|e| e.at(m.span("index")))?;
    }
    Ok(Output::empty())
}
