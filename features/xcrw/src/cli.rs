// SPDX-License-Identifier: Apache-2.0
//! The commands: parse, call, print.

use crate::control::{CrossConnect, NextNode, Rewrite, Rewrites, Table};
use cli::{Command, Error, Matches, Output, Result, Writer};
use graph::{SwIfIndex, World};
use net::{Fib, Interfaces};
use serde_json::json;
use std::fmt::Write as _;
use wire::{Ip4, Ip6};

pub const COMMANDS: &[Command<World>] = cli::commands! {
    /// Put bytes in front of the frames that an interface receives and send them to a node, or end
    /// that
    "set interface l2 xcrw",
    "<interface:interface> [next <next:word>] [del] [tx-fib-id <table:u32>] [ipv6] [rw <rw:word>] \
     [instance <instance:u32>]" => set;
    /// Cross-connects that put bytes in front of frames
    "show l2xcrw" => show;
};

/// Bytes in hexadecimal, two digits each.
fn bytes(text: &str) -> Option<Vec<u8>> {
    let digit = |c: &u8| char::from(*c).to_digit(16).map(|digit| digit as u8);
    let byte = |pair: &[u8]| match pair {
        [high, low] => Some(digit(high)? << 4 | digit(low)?),
        _ => None,
    };
    text.as_bytes().chunks(2).map(byte).collect()
}

/// Bytes as [`bytes`] reads them.
pub fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn set(w: &World, m: &Matches) -> Result<()> {
    let from = net::args::interface(w, m, "interface")?;
    let all = w.get::<Rewrites>();
    if m.flag("del") {
        return all.delete(w, from);
    }
    if let Some(word) = ["next", "rw"].into_iter().find(|word| m.str(word).is_empty()) {
        return Err(Error::usage(format!("`{word}' is missing")));
    }
    let next = NextNode::find(w, m.str("next")).map_err(m.at("next"))?;
    let rw = bytes(m.str("rw"));
    let bytes =
        rw.ok_or_else(|| Error::parse("no bytes of two hexadecimal digits each").at(m.span("rw")))?;
    let is_ip6 = m.flag("ipv6");
    let table = match m.opt::<u32>("table")? {
        None => None,
        Some(id) => {
            let found = if is_ip6 {
                w.get::<Fib<Ip6>>().find_table(id)
            } else {
                w.get::<Fib<Ip4>>().find_table(id)
            };
            Some(Table { is_ip6, index: found.map_err(m.at("table"))? })
        }
    };
    all.set(w, from, m.opt("instance")?, Rewrite { bytes, next, table })
}

/// The id of a table.
pub fn table_id(w: &World, table: Table) -> Option<u32> {
    let Table { is_ip6, index } = table;
    if is_ip6 { w.get::<Fib<Ip6>>().table_id(index) } else { w.get::<Fib<Ip4>>().table_id(index) }
}

fn show(w: &World, _: &Matches) -> Result<Output> {
    let all = w.get::<Rewrites>().list();
    if all.is_empty() {
        return Ok(Output::both("no cross-connects with rewrite", json!([])));
    }
    Ok(Output::list(all, |w: &World, (from, one): (SwIfIndex, CrossConnect), out: &mut Writer| {
        let name = |sw_if| w.get::<Interfaces>().name(sw_if);
        let Rewrite { bytes, next, table } = &one.rewrite;
        let (from, to, next, rw) = (name(from), name(one.sink), next.name(w), to_hex(bytes));
        let id = table.and_then(|table| table_id(w, table));
        out.text(|text| {
            _ = write!(text, "{from} -> {to} next {next}");
            if let (Some(id), Some(table)) = (id, table) {
                _ = write!(text, " tx-fib-id {id}{}", if table.is_ip6 { " ipv6" } else { "" });
            }
            writeln!(text, " rw {rw}")
        });
        out.value(|| {
            let is_ip6 = table.map(|table| table.is_ip6);
            json!({ "interface": from, "xcrw": to, "next": next, "table": id, "ipv6": is_ip6, "rewrite": rw })
        });
        Ok(())
    }))
}
