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

pub const COMMANDS: &[Command<World>] = cli::commands! {
    /// Answer ARP requests for a range of addresses, where proxy ARP is enabled
    "set arp proxy",
    "([del] [table-id <table:u32>] {start <start:ip4>} {end <end:ip4>})" => set_range;
    /// Answer for others on this interface
    "set interface proxy-arp", "<interface:interface> [enable|disable]" => set_interface;
    /// Set the effect of an announcement: add neighbours, update known ones, none
    "set arp gratuitous", "<what:learn|update|ignore>" => set_gratuitous;
    /// Send gratuitous ARP when an address is added, an interface comes up or its MAC address
    /// changes
    "set arp announce", "<state:on|off>" => set_announce;
    /// Addresses that are answered for, and the interfaces where
    "show arp proxy" => show_proxy;
};

fn set_range(w: &World, m: &Matches) -> Result<()> {
    let (start, end) = (m.req("start")?, m.req("end")?);
    control::set_range(w, m.get("table").unwrap_or(0), start, end, !m.flag("del"))
        .map_err(|e| if e.is(retval::NO_SUCH_FIB) { e.at(m.span("table")) } else { e })
}

fn set_interface(w: &World, m: &Matches) -> Result<()> {
    let sw_if = net::args::interface(w, m, "interface")?;
    control::set_proxy(w, sw_if, !m.flag("disable"))
}

fn set_gratuitous(w: &World, m: &Matches) -> Result<()> {
    w.get::<Arp>().set_gratuitous(match m.str("what") {
        "learn" => Gratuitous::Learn,
        "update" => Gratuitous::Update,
        _ => Gratuitous::Ignore,
    });
    Ok(())
}

fn set_announce(w: &World, m: &Matches) -> Result<()> {
    w.get::<Arp>().set_announces(m.str("state") == "on");
    Ok(())
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
