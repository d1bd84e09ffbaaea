// SPDX-License-Identifier: Apache-2.0
//! The commands, and the lines that save what they set.

use crate::control::Svs;
use cli::{Command, Error, Matches, Output, Result, Table, Writer};
use graph::{Phase, RunningConfig, Script, SwIfIndex, World};
use net::args::interface;
use net::{Interfaces, Net};
use std::net::IpAddr;
use wire::{Address, Ip4, Ip6, Prefix};

pub const COMMANDS: &[Command<World>] = cli::commands! {
    /// Create or delete a table of sources, whose routes lead to other tables
    "svs table", "([add|delete] [ip4|ip6] {table-id <table:u32>})" => table;
    /// Let packets from these sources be looked up in a table
    "svs route",
    "([add|delete] <prefix:prefix> {table-id <table:u32>} [src-table-id <to:u32>])" => route;
    /// Select the tables of an interface's packets by their sources
    "svs enable",
    "([enable|disable] [ip4|ip6] {table-id <table:u32>} <interface:interface>)" => enable;
    /// Tables by the source of packets
    "show svs" => show;
};

fn table(w: &World, m: &Matches) -> Result<()> {
    let (id, del) = (m.req("table")?, m.flag("delete"));
    let done = net::by_version!(m.flag("ip6"), F => {
        let svs = w.get::<Svs<F>>();
        if del { svs.delete_table(w, id) } else { svs.add_table(w, id) }
    });
    done.map_err(m.at("table"))
}

fn route(w: &World, m: &Matches) -> Result<Output> {
    fn set<F: Net>(w: &World, m: &Matches, prefix: Prefix<F::Addr>) -> Result<()> {
        let (svs, id) = (w.get::<Svs<F>>(), m.req("table")?);
        if m.flag("delete") {
            return svs.delete_route(w, id, prefix);
        }
        let to = m.opt("to")?.ok_or_else(|| Error::parse("expected src-table-id and a table"))?;
        svs.add_route(w, id, prefix, to)
    }
    match m.arg("prefix").map(|arg| arg.value) {
        Some(cli::Value::Prefix(IpAddr::V4(addr), len)) => set::<Ip4>(w, m, prefix(m, addr, len)?)?,
        Some(cli::Value::Prefix(IpAddr::V6(addr), len)) => set::<Ip6>(w, m, prefix(m, addr, len)?)?,
        _ => return Err(Error::parse("expected a prefix").at(m.span("prefix"))),
    }
    Ok(Output::empty())
}

fn prefix<A: Address>(m: &Matches, addr: A, len: u8) -> Result<Prefix<A>> {
    let wrong = || Error::parse("a network has no such length").at(m.span("prefix"));
    Prefix::new(addr, len).ok_or_else(wrong)
}

fn enable(w: &World, m: &Matches) -> Result<()> {
    let (sw_if, id, off) = (interface(w, m, "interface")?, m.req("table")?, m.flag("disable"));
    let done = net::by_version!(m.flag("ip6"), F => {
        let svs = w.get::<Svs<F>>();
        if off { svs.disable(w, sw_if, id) } else { svs.enable(w, sw_if, id) }
    });
    done.map_err(m.at("table"))
}

/// A part of `show svs`.
enum Part {
    Routes,
    Route(&'static str, u32, String, Option<u32>),
    Interfaces,
    Interface(&'static str, SwIfIndex, u32),
}

fn parts<F: Net>(w: &World) -> (Vec<Part>, Vec<Part>) {
    let svs = w.get::<Svs<F>>();
    let routes = svs.routes();
    let empty = svs.tables().into_iter().filter(|id| !routes.iter().any(|(of, ..)| of == id));
    let empty = empty.map(|id| Part::Route(F::NAME, id, String::new(), None)).collect::<Vec<_>>();
    let route = |(id, prefix, to): &(u32, Prefix<F::Addr>, u32)| {
        Part::Route(F::NAME, *id, prefix.to_string(), Some(*to))
    };
    let all = routes.iter().map(route).chain(empty).collect();
    let interface = |(sw_if, id)| Part::Interface(F::NAME, sw_if, id);
    (all, svs.interfaces().into_iter().map(interface).collect())
}

fn show(w: &World, _: &Matches) -> Result<Output> {
    let ((routes4, interfaces4), (routes6, interfaces6)) = (parts::<Ip4>(w), parts::<Ip6>(w));
    let routes = [Part::Routes].into_iter().chain(routes4).chain(routes6);
    let interfaces = [Part::Interfaces].into_iter().chain(interfaces4).chain(interfaces6);
    let none = || cli::Cell::new("-", serde_json::Value::Null);
    let parts: Vec<_> = routes.chain(interfaces).collect();
    Ok(Output::record(parts, move |w: &World, part, out: &mut Writer| {
        match part {
            Part::Routes => {
                out.array("routes");
                let table = Table::new().left("protocol").right("table").left("sources");
                out.table(&table.right("lookup in"));
            }
            Part::Route(protocol, id, prefix, to) => {
                let prefix = if prefix.is_empty() { none() } else { prefix.into() };
                out.row([protocol.into(), id.into(), prefix, to.map_or_else(none, Into::into)]);
            }
            Part::Interfaces => {
                out.text(|text| text.push('\n'));
                out.end();
                out.array("interfaces");
                out.table(&Table::new().left("protocol").right("table").left("interface"));
            }
            Part::Interface(protocol, sw_if, id) => {
                let name = w.get::<Interfaces>().name(sw_if);
                out.row([protocol.into(), id.into(), name.into()]);
            }
        }
        Ok(())
    }))
}

/// Tables of sources and their routes, which lead to tables only.
pub const TABLES: Phase =
    Phase { name: "tables of sources", after: &["tables"], before: &["interfaces"] };

/// Commands that set what is kept here, for the tests that save and restore it.
pub const EXAMPLES: &[Script] = &[Script::here(
    "tables by source",
    "create loopback interface
     create loopback interface
     ip table add 7
     ip6 table add 7
     svs table add ip4 table-id 70
     svs table add ip6 table-id 70
     svs table add ip4 table-id 71
     svs table add ip4 table-id 72
     svs table delete ip4 table-id 72
     svs route add 10.0.0.0/8 table-id 70 src-table-id 7
     svs route add 10.1.0.0/16 table-id 70 src-table-id 0
     svs route add 10.2.0.0/16 table-id 70 src-table-id 7
     svs route delete 10.2.0.0/16 table-id 70
     svs route add 2001:db8::/32 table-id 70 src-table-id 7
     svs enable ip4 table-id 70 loop0
     svs enable ip6 table-id 70 loop0
     svs enable ip4 table-id 71 loop1
     svs enable disable ip4 table-id 71 loop1",
)];

/// Writes tables, routes and interfaces.
pub fn write_config(world: &World, config: &mut RunningConfig) {
    write::<Ip4>(world, config);
    write::<Ip6>(world, config);
}

fn write<F: Net>(world: &World, config: &mut RunningConfig) {
    let svs = world.get::<Svs<F>>();
    config.list(TABLES, svs.tables(), |_, id, lines| {
        let line = |verb| format!("svs table {verb} {} table-id {id}", F::NAME);
        lines.push(line("add"), line("delete"));
    });
    config.list(TABLES, svs.routes(), |_, (id, prefix, to), lines| {
        let line = |verb| format!("svs route {verb} {prefix} table-id {id}");
        lines.push(format!("{} src-table-id {to}", line("add")), line("delete"));
    });
    config.list(Phase::FEATURES, svs.interfaces(), |world, (sw_if, id), lines| {
        let name = world.get::<Interfaces>().word(sw_if);
        let line = |verb| format!("svs enable {verb} {} table-id {id} {name}", F::NAME);
        lines.push(line("enable"), line("disable"));
    });
}
