// SPDX-License-Identifier: Apache-2.0
//! The commands: parse, call, print.

use crate::control::{self, Arp, Gratuitous};
use crate::ranges::Ranges;
use cli::{Command, Matches, Output, Result};
use graph::World;
use msg::retval;
use net::Interfaces;
use serde_json::json;

pub const COMMANDS: &[Command<World>] = &[
    Command {
        path: "set arp proxy",
        usage: "[del] [table-id <table:u32>] start <start:ip4> end <end:ip4>",
        help: "Answer ARP requests for a range of addresses, where proxy ARP is enabled",
        run: set_range,
    },
    Command {
        path: "set interface proxy-arp",
        usage: "<interface:interface> [enable|disable]",
        help: "Answer for others on this interface",
        run: set_interface,
    },
    Command {
        path: "set arp gratuitous",
        usage: "<what:learn|update|ignore>",
        help: "What an announcement does: add neighbours, update those that are known, nothing",
        run: set_gratuitous,
    },
    Command {
        path: "show arp proxy",
        usage: "",
        help: "Addresses that are answered for, and the interfaces where",
        run: show_proxy,
    },
];

fn set_range(w: &World, m: &Matches) -> Result<Output> {
    let (start, end) = (m.req("start")?, m.req("end")?);
    control::set_range(w, m.get("table").unwrap_or(0), start, end, !m.flag("del"))
        .map_err(|e| if e.code() == retval::NO_SUCH_FIB { e.at(m.span("table")) } else { e })?;
    Ok(Output::empty())
}

fn set_interface(w: &World, m: &Matches) -> Result<Output> {
    let sw_if = w.get::<Interfaces>().find(m.str("interface")).map_err(|e| e.at(m.span("interface")))?;
    control::set_proxy(w, sw_if, !m.flag("disable"))?;
    Ok(Output::empty())
}

fn set_gratuitous(w: &World, m: &Matches) -> Result<Output> {
    w.get::<Arp>().set_gratuitous(match m.str("what") {
        "learn" => Gratuitous::Learn,
        "update" => Gratuitous::Update,
        _ => Gratuitous::Ignore,
    });
    Ok(Output::empty())
}

fn show_proxy(w: &World, _: &Matches) -> Result<Output> {
    let ranges = w.get::<Ranges>().list();
    let interfaces: Vec<_> = control::proxies(w).into_iter().map(|i| i.name).collect();
    let mut text = String::from("Proxy arps enabled for:\n");
    for r in &ranges {
        let id = control::table_id(w, r.table);
        text += &format!(
            "  Fib_index {}   {} - {}{}\n",
            r.table,
            r.start,
            r.end,
            if id == r.table { String::new() } else { format!(" (table {id})") }
        );
    }
    text += &format!(
        "Interfaces: {}\n",
        if interfaces.is_empty() { "none".to_string() } else { interfaces.join(" ") }
    );
    let json = json!({
        "ranges": ranges.iter().map(|r| json!({
            "table_id": control::table_id(w, r.table),
            "start": r.start.to_string(),
            "end": r.end.to_string(),
        })).collect::<Vec<_>>(),
        "interfaces": interfaces,
    });
    Ok(Output::both(text, json))
}
