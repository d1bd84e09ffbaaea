// SPDX-License-Identifier: Apache-2.0
//! The commands, and the lines that save what they set.

use crate::control::{self, Arp, Gratuitous};
use crate::ranges::{Range, Ranges};
use cli::{Command, Matches, Output, Result, Writer};
use graph::{Phase, RunningConfig, SwIfIndex, World};
use msg::retval;
use net::args::{interface, write_switches};
use net::{Fib, Interfaces, TableIndex};
use serde_json::json;
use std::fmt::Write as _;
use wire::Ip4;

pub const COMMANDS: &[Command<World>] = cli::commands! {
    /// Answer ARP requests for a range of addresses, where proxy ARP is enabled
    "set arp proxy",
    "([del] [table-id <table:u32>] {start <start:ip4>} {end <end:ip4>})" => set_range;
    /// Answer for others on this interface
    "set interface proxy-arp", "<interface:interface> [enable|disable]"
        => |w, m| control::set_proxy(w, interface(w, m, "interface")?, !m.flag("disable"));
    /// Set the effect of an announcement: add neighbours, update known ones, none
    "set arp gratuitous", "<what:learn|update|ignore>" => set_gratuitous;
    /// Send gratuitous ARP when an address is added, an interface comes up or its MAC address
    /// changes
    "set arp announce", "<state:on|off>" => |w, m| {
        w.get::<Arp>().set_announces(m.str("state") == "on");
        Ok(())
    };
    /// Addresses that are answered for, and the interfaces where
    "show arp proxy" => show_proxy;
};

/// Words for the effect of an announcement.
const WORDS: [(&str, Gratuitous); 3] =
    [("learn", Gratuitous::Learn), ("update", Gratuitous::Update), ("ignore", Gratuitous::Ignore)];

fn set_range(w: &World, m: &Matches) -> Result<()> {
    let (start, end) = (m.req("start")?, m.req("end")?);
    control::set_range(w, m.get("table").unwrap_or(0), start, end, !m.flag("del"))
        .map_err(|e| if e.is(retval::NO_SUCH_FIB) { e.at(m.span("table")) } else { e })
}

fn set_gratuitous(w: &World, m: &Matches) -> Result<()> {
    let named = WORDS.iter().find(|(word, _)| *word == m.str("what"));
    named.iter().for_each(|(_, what)| w.get::<Arp>().set_gratuitous(*what));
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

/// Writes the commands that restore the settings.
pub fn write_config(world: &World, config: &mut RunningConfig) {
    let word = |what| WORDS.iter().find(|(_, it)| *it == what).map_or("", |(word, _)| word);
    let (now, usual) = (world.get::<Arp>().gratuitous(), Gratuitous::default());
    if now != usual {
        config.value(Phase::SETTINGS, "set arp gratuitous", word(now), word(usual));
    }
    if world.get::<Arp>().announces() {
        config.push(Phase::SETTINGS, "set arp announce on", "set arp announce off");
    }
    config.list(Phase::FEATURES, world.get::<Ranges>().list(), |world, range, lines| {
        let table = match world.get::<Fib<Ip4>>().table_id(TableIndex(range.table)) {
            // The table was deleted: nothing is left to configure there.
            None => return,
            Some(0) => String::new(),
            Some(id) => format!("table-id {id} "),
        };
        let rest = format!("{table}start {} end {}", range.start, range.end);
        lines.push(format!("set arp proxy {rest}"), format!("set arp proxy del {rest}"));
    });
    let proxies = world.get::<Arp>().proxies();
    let line = "set interface proxy-arp";
    write_switches(config, Phase::FEATURES, proxies, line, ["enable", "disable"]);
}
