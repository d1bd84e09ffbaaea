// SPDX-License-Identifier: Apache-2.0
//! The commands: parse, call, print.

use crate::control::{self, Arp, Gratuitous};
use crate::ranges::{Range, Ranges};
use cli::{Command, Matches, Output, Result, Writer};
use graph::{SwIfIndex, World};
use msg::retval;
use net::Interfaces;
use serde_json::json;
use std::fmt::Write as _;

pub const COMMANDS: &[Command<World>] = &[
    Command {
        path: "set arp proxy",
        usage: "([del] [table-id <table:u32>] {start <start:ip4>} {end <end:ip4>})",
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
        help: "Set the effect of an announcement: add neighbours, update known ones, none",
        run: set_gratuitous,
    },
    Command {
        path: "set arp announce",
        usage: "<state:on|off>",
        help: "Send gratuitous ARP when an address is added, an interface comes up or its MAC address changes",
        run: set_announce,
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
        .map_err(|e| if e.is(retval::NO_SUCH_FIB) { e.at(m.span("table")) } else { e })?;
    Ok(Output::empty())
}

fn set_interface(w: &World, m: &Matches) -> Result<Output> {
    let sw_if =
        w.get::<Interfaces>().find(m.str("interface")).map_err(|e| e.at(m.span("interface")))?;
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

fn set_announce(w: &World, m: &Matches) -> Result<Output> {
    w.get::<Arp>().set_announces(m.str("state") == "on");
    Ok(Output::empty())
}

fn show_proxy(w: &World, _: &Matches) -> Result<Output> {
    enum Part {
        Head,
        Range(Range),
        Interfaces,
        Interface(SwIfIndex),
        Tail,
    }
    let ranges = w.get::<Ranges>().list().into_iter().map(Part::Range);
    let interfaces = w.get::<Interfaces>().indices().map(Part::Interface);
    let parts = [Part::Head].into_iter().chain(ranges);
    let parts = parts.chain([Part::Interfaces]).chain(interfaces).chain([Part::Tail]);
    let mut names = String::new();
    Ok(Output::record(parts, move |w: &World, part, out: &mut Writer| {
        match part {
            Part::Head => {
                out.text(|text| text.push_str("Proxy arps enabled for:\n"));
                out.array("ranges");
            }
            Part::Range(Range { table, start, end }) => {
                let id = control::table_id(w, table);
                let of = if id == table { String::new() } else { format!(" (table {id})") };
                out.text(|text| writeln!(text, "  Fib_index {table}   {start} - {end}{of}"));
                out.value(|| json!({ "table_id": id, "start": start.to_string(), "end": end.to_string() }));
            }
            Part::Interfaces => {
                out.end();
                out.array("interfaces");
            }
            Part::Interface(sw_if) => {
                let Some(name) = control::proxy(w, sw_if) else { return Ok(()) };
                names.push(' ');
                names += &name;
                out.value(|| name);
            }
            Part::Tail => out.text(|text| {
                writeln!(text, "Interfaces:{}", if names.is_empty() { " none" } else { &names })
            }),
        }
        Ok(())
    }))
}
