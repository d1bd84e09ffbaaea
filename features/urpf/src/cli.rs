// SPDX-License-Identifier: Apache-2.0
//! The commands: parse, call, print.

use crate::control::{self, Check, CheckSettings, Mode, Urpf};
use cli::{Cell, Command, Matches, Output, Result, Table, Writer, retval};
use graph::World;
use net::Interfaces;
use net::args::given_interface;
use serde_json::json;
use std::net::IpAddr;
use wire::{Ip4Prefix, Ip6Prefix};

pub const COMMANDS: &[Command<World>] = cli::commands! {
    /// Drop packets whose source has no route, or none by this interface
    "set urpf",
    "([ip4|ip6] [rx|tx] [off|strict|loose] [allow-default|deny-default] <interface:interface> [table <table:u32>])"
        => set;
    /// Let sources of a network pass whatever their routes say
    "set urpf-accept", "([table <table:u32>] [add|del] <prefix:prefix>)" => accept;
    /// Where sources are checked
    "show urpf", "[<interface:interface>]" => show;
};

fn set(w: &World, m: &Matches) -> Result<()> {
    let sw_if = net::args::interface(w, m, "interface")?;
    let mode = match () {
        () if m.flag("off") => Mode::Off,
        () if m.flag("loose") => Mode::Loose,
        () => Mode::Strict,
    };
    let check = Check { sw_if, v6: m.flag("ip6"), rx: !m.flag("tx") };
    let how = CheckSettings { mode, table: m.opt("table")?, deny_default: m.flag("deny-default") };
    let set = control::set(w, check, how);
    set.map_err(|e| if e.is(retval::NO_SUCH_FIB) { e.at(m.span("table")) } else { e })
}

fn accept(w: &World, m: &Matches) -> Result<()> {
    let text = m.str("prefix");
    let prefix = match text.contains(':') {
        true => text.parse::<Ip6Prefix>().ok().map(|p| (IpAddr::from(p.addr()), p.len())),
        false => text.parse::<Ip4Prefix>().ok().map(|p| (IpAddr::from(p.addr()), p.len())),
    };
    let prefix =
        prefix.ok_or_else(|| cli::Error::parse("expected a prefix").at(m.span("prefix")))?;
    control::accept(w, m.opt("table")?.unwrap_or(0), prefix, !m.flag("del"))
}

fn show(w: &World, m: &Matches) -> Result<Output> {
    let interfaces = w.get::<Interfaces>();
    let only = given_interface(w, m, "interface")?;
    let table = Table::new()
        .left("interface")
        .left("family")
        .left("direction")
        .left("mode")
        .left("default route")
        .right("table");
    enum Part {
        Head,
        Check(Check, CheckSettings),
        Accepted,
        Prefix(u32, String),
    }
    let checks = w.get::<Urpf>().list().into_iter().map(|(check, how)| Part::Check(check, how));
    let accepted =
        control::accepted(w).into_iter().map(|(table, prefix)| Part::Prefix(table, prefix));
    let parts = [Part::Head].into_iter().chain(checks).chain([Part::Accepted]).chain(accepted);
    Ok(Output::record(parts, move |_: &World, part, out: &mut Writer| {
        match part {
            Part::Head => {
                out.table(&table);
                out.array("checks");
            }
            Part::Check(check, _) if only.is_some_and(|sw_if| sw_if != check.sw_if) => {}
            Part::Check(check, how) => out.row([
                interfaces.name(check.sw_if).into(),
                (if check.v6 { "ip6" } else { "ip4" }).into(),
                (if check.rx { "rx" } else { "tx" }).into(),
                how.mode.name().into(),
                (if how.deny_default { "deny" } else { "allow" }).into(),
                how.table.map_or_else(|| Cell::new("own", serde_json::Value::Null), Cell::from),
            ]),
            Part::Accepted => {
                out.end();
                out.array("accepted");
            }
            Part::Prefix(table, prefix) => {
                out.text(|text| *text += &format!("accepted in table {table}: {prefix}\n"));
                out.value(|| json!({ "table": table, "prefix": prefix }));
            }
        }
        Ok(())
    }))
}
