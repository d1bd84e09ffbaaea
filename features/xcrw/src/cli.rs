// SPDX-License-Identifier: Apache-2.0
//! The commands, and the lines that save what they set.

use crate::control::{CrossConnect, NextNode, Rewrite, Rewrites, Table};
use cli::{Command, Error, Matches, Output, Result, Writer, quote};
use graph::{Phase, RunningConfig, Script, SwIfIndex, World};
use net::{Fib, Interfaces};
use serde_json::json;
use std::collections::BTreeMap;
use std::fmt::Write as _;

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
            let found = net::by_version!(is_ip6, F => w.get::<Fib<F>>().find_table(id));
            Some(Table { is_ip6, index: found.map_err(m.at("table"))? })
        }
    };
    all.set(w, from, m.opt("instance")?, Rewrite { bytes, next, table })
}

/// The id of a table.
pub fn table_id(w: &World, table: Table) -> Option<u32> {
    let Table { is_ip6, index } = table;
    net::by_version!(is_ip6, F => w.get::<Fib<F>>().table_id(index))
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

/// Commands that set what is kept here, for the tests that save and restore it.
pub const EXAMPLES: &[Script] = &[Script::here(
    "cross-connects with rewrite",
    "create loopback interface
     create loopback interface
     create loopback interface
     create loopback interface
     ip table add 7
     ip6 table add 8
     set interface l2 xcrw loop1 next ip4-lookup tx-fib-id 7 rw 4500001400000000
     set interface l2 xcrw loop2 next ip6-lookup tx-fib-id 8 ipv6 rw 60
     set interface l2 xcrw loop3 next loop1-output rw 0102 instance 9
     set interface l2 xcrw loop0 next ip4-lookup rw 4500
     create loopback interface
     set interface l2 xcrw loop0 next loop4-output rw 01
     create loopback interface
     set interface l2 xcrw loop5 next ip4-lookup rw 4500
     set interface l2 xcrw loop5 del
     set interface l2 xcrw loop1 next ip4-lookup tx-fib-id 7 rw 45000015
     set interface state xcrw9 down
     set interface name loop1 inside",
)];

/// Next node of a cross-connect whose line names the output of an interface that isn't made yet.
const NO_NEXT: &str = "error-drop";

/// Returns true if it sends by an interface that is made after its own: another line of the
/// configuration has that.
fn sends_later(one: &CrossConnect) -> bool {
    one.rewrite.next.output().is_some_and(|output| output > one.sink)
}

/// The line of a cross-connect, by the name of the interface that receives.
fn line(world: &World, from: &str, one: &CrossConnect, next: &str) -> String {
    let CrossConnect { instance, rewrite: Rewrite { bytes, table, .. }, .. } = one;
    let mut line = format!("set interface l2 xcrw {} next {}", quote(from), quote(next));
    if let Some(table) = table {
        // Cross-connects go with their tables.
        let id = table_id(world, *table).unwrap_or_default();
        line += &format!(" tx-fib-id {id}{}", if table.is_ip6 { " ipv6" } else { "" });
    }
    line + &format!(" rw {} instance {instance}", to_hex(bytes))
}

/// Writes the cross-connects as lines that make their interfaces.
pub fn write_config(world: &World, config: &mut RunningConfig) {
    let all = world.get::<Rewrites>().list();
    let by_sink: BTreeMap<_, _> =
        all.iter().map(|(from, one)| (one.sink, (*from, one.clone()))).collect();
    let sinks: Vec<_> = by_sink.keys().copied().collect();
    config.interfaces(sinks, move |world, sink, lines| {
        let Some((from, one)) = by_sink.get(&sink) else { return };
        let Ok(interface) = world.get::<Interfaces>().get(*from) else { return };
        let next =
            if sends_later(one) { NO_NEXT.into() } else { one.rewrite.next.made_name(world) };
        let name = &interface.original.name;
        let line = line(world, name, one, &next);
        lines.push(line, format!("set interface l2 xcrw {} del", quote(name)));
    });
    config.list(Phase::BINDINGS, all, |world, (from, one), lines| {
        if sends_later(&one) {
            let name = world.get::<Interfaces>().name(from);
            let next = one.rewrite.next.name(world);
            let [line, undo] = [&next, NO_NEXT].map(|next| line(world, &name, &one, next));
            lines.push(line, undo);
        }
    });
}
