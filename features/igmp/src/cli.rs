// SPDX-License-Identifier: Apache-2.0
//! The commands, and the lines that save what they set.

use crate::control::Igmp;
use crate::filter::Filter;
use crate::ranges::{RangeKind, assigned};
use crate::table::{Link, Mode, Proxy, Timers};
use cli::{Command, Matches, Output, Result, Writer};
use graph::{Phase, RunningConfig, Script, SwIfIndex, World};
use net::Interfaces;
use net::args::{interface, prefix};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::{self, Write as _};
use std::net::Ipv4Addr;
use wire::Ip4;

pub const COMMANDS: &[Command<World>] = cli::commands! {
    /// Enable IGMP on an interface: as a host that tells routers what it listens to, or as a router
    /// that asks hosts; or disable it
    "igmp", "{enable | disable} <mode:host|router> <interface:interface>" => enable;
    /// Listen to sources of a group by an interface, without any to all sources, or no longer;
    /// exclude: to all sources but these
    "igmp listen",
    "[enable | disable] int <interface:interface> [saddr <source:ip4>]... gaddr <group:ip4> [exclude]"
        => listen;
    /// Let hosts behind other interfaces listen by this upstream interface, which is a host, in a
    /// table; or end that
    "igmp proxy-dev", "<verb:add|del> vrf-id <table:u32> <interface:interface>" => |w, m| {
        let sw_if = interface(w, m, "interface")?;
        w.get::<Igmp>().set_proxy(w, m.req("table")?, sw_if, m.str("verb") == "add")
    };
    /// Add a downstream interface, which is a router, to the proxy of a table, or remove it
    "igmp proxy-dev itf", "<verb:add|del> vrf-id <table:u32> <interface:interface>" => |w, m| {
        let sw_if = interface(w, m, "interface")?;
        w.get::<Igmp>().set_downstream(w, m.req("table")?, sw_if, m.str("verb") == "add")
    };
    /// Set whether groups of a range have any source (asm) or named sources only (ssm)
    "igmp group-prefix", "<range:prefix4> {asm | ssm}" => |w, m| {
        let kind = if m.flag("ssm") { RangeKind::Ssm } else { RangeKind::Asm };
        w.get::<Igmp>().set_range(w, prefix::<Ip4>(m, "range")?, kind).map_err(m.at("range"))
    };
    /// Remove all groups of an interface
    "clear igmp", "int <interface:interface>" => |w, m| -> Result<()> {
        w.get::<Igmp>().clear(w, interface(w, m, "interface")?);
        Ok(())
    };
    /// Interfaces with IGMP, and the groups that are listened to
    "show igmp config" => show;
    /// Ranges of groups with named sources
    "show igmp ssm-ranges" => ranges;
    /// Seconds between queries, until sources are forgotten, and after hosts were asked
    "show igmp timers" => timers;
    /// Change IGMP's times, in seconds, for tests
    "test igmp timers", "([query <query:u32>] [src <source:u32>] [leave <leave:u32>])" => |w, m| {
        w.get::<Igmp>().set_timers(m.opt("query")?, m.opt("source")?, m.opt("leave")?)
    };
};

fn enable(w: &World, m: &Matches) -> Result<()> {
    let sw_if = interface(w, m, "interface")?;
    let mode = if m.str("mode") == "host" { Mode::Host } else { Mode::Router };
    match m.flag("enable") {
        true => w.get::<Igmp>().enable(w, sw_if, mode),
        false => w.get::<Igmp>().disable(w, sw_if, mode),
    }
}

fn listen(w: &World, m: &Matches) -> Result<()> {
    let igmp = w.get::<Igmp>();
    let (sw_if, group) = (interface(w, m, "interface")?, m.req::<Ipv4Addr>("group")?);
    let named = m.all::<Ipv4Addr>("source")?;
    let all = named.iter().all(Ipv4Addr::is_unspecified);
    let sources = || named.iter().copied().filter(|source| !source.is_unspecified());
    let old = igmp.table().links.get(&sw_if).and_then(|link| link.listens.get(&group).cloned());
    let old = old.unwrap_or_default();
    let filter = match (m.flag("disable"), m.flag("exclude")) {
        (true, _) if all => Filter::default(),
        (true, _) => {
            let gone = Filter::include(sources());
            Filter { exclude: old.exclude, sources: &old.sources - &gone.sources }
        }
        (false, true) => Filter::exclude(sources()),
        (false, false) if all => Filter::exclude([]),
        (false, false) => old.merge(&Filter::include(sources())),
    };
    igmp.listen(w, sw_if, group, filter).map_err(m.at("group"))
}

/// An interface, as it is shown.
struct Shown {
    mode: Mode,
    groups: Vec<(Ipv4Addr, Filter)>,
    /// The tables of its proxies, each with true for the upstream interface.
    proxies: Vec<(u32, bool)>,
}

fn shown(igmp: &Igmp, sw_if: SwIfIndex) -> Option<Shown> {
    let table = igmp.table();
    let link = table.links.get(&sw_if)?;
    let of_host = link.host.groups().map(|(group, filter)| (group, filter.clone()));
    let role = |(vrf, proxy): (&u32, &Proxy)| {
        let is_upstream = proxy.upstream == sw_if;
        (is_upstream || proxy.downstream.contains(&sw_if)).then_some((*vrf, is_upstream))
    };
    Some(Shown {
        mode: link.mode,
        groups: of_host.chain(link.router.groups()).collect(),
        proxies: table.proxies.iter().filter_map(role).collect(),
    })
}

fn show(w: &World, _: &Matches) -> Result<Output> {
    let igmp = w.get::<Igmp>();
    Ok(Output::list(igmp.interfaces(), move |w: &World, sw_if, out: &mut Writer| {
        let Some(link) = shown(&igmp, sw_if) else { return Ok(()) };
        let name = w.get::<Interfaces>().name(sw_if);
        let end = |upstream: bool| if upstream { "upstream" } else { "downstream" };
        out.text(|text| {
            writeln!(text, "interface: {name} mode: {}", link.mode.word())?;
            for (vrf, upstream) in &link.proxies {
                writeln!(text, "  proxy: table {vrf} {}", end(*upstream))?;
            }
            for (group, filter) in &link.groups {
                writeln!(text, "  group: {group} filter: {}", word(filter))?;
                filter.sources.iter().try_for_each(|source| writeln!(text, "    {source}"))?;
            }
            fmt::Result::Ok(())
        });
        out.value(|| {
            let groups: Vec<Value> = link
                .groups
                .iter()
                .map(|(group, filter)| {
                    json!({ "group": group, "filter": word(filter), "sources": filter.sources })
                })
                .collect();
            let proxies: BTreeMap<_, _> =
                link.proxies.iter().map(|(vrf, up)| (vrf.to_string(), end(*up))).collect();
            json!({
                "interface": name,
                "sw_if_index": sw_if.0,
                "mode": link.mode.word(),
                "proxies": proxies,
                "groups": groups,
            })
        });
        Ok(())
    }))
}

fn word(filter: &Filter) -> &'static str {
    if filter.exclude { "exclude" } else { "include" }
}

fn ranges(w: &World, _: &Matches) -> Result<Output> {
    let ranges = w.get::<Igmp>().table().ranges.list();
    Ok(Output::list(ranges, |_: &World, (range, kind), out: &mut Writer| {
        let kind = kind_word(kind);
        out.text(|text| writeln!(text, "{range} {kind}"));
        out.value(|| json!({ "range": range.to_string(), "kind": kind }));
        Ok(())
    }))
}

fn kind_word(kind: RangeKind) -> &'static str {
    if kind == RangeKind::Ssm { "ssm" } else { "asm" }
}

fn timers(w: &World, _: &Matches) -> Result<Output> {
    let Timers { query, source, leave } = w.get::<Igmp>().table().timers;
    let text = format!("query: {query}\nsrc: {source}\nleave: {leave}\n");
    Ok(Output::both(text, json!({ "query": query, "src": source, "leave": leave })))
}

/// Hosts, routers, a proxy and ranges.
pub const EXAMPLES: &[Script] = &[Script::here(
    "IGMP",
    "create loopback interface
     create loopback interface
     create loopback interface
     set interface state loop0 up
     igmp enable host loop0
     igmp enable router loop1
     igmp enable router loop2
     igmp enable router local0
     igmp disable router local0
     igmp listen enable int loop0 saddr 10.0.0.1 gaddr 232.1.1.1
     igmp listen enable int loop0 saddr 10.0.0.2 gaddr 232.1.1.1
     igmp listen int loop0 gaddr 239.1.1.1
     igmp listen int loop0 saddr 10.0.0.1 saddr 10.0.0.2 gaddr 239.1.1.2 exclude
     igmp listen int loop0 saddr 10.0.0.1 gaddr 239.1.1.3
     igmp listen disable int loop0 saddr 10.0.0.1 gaddr 239.1.1.3
     igmp proxy-dev add vrf-id 0 loop0
     igmp proxy-dev itf add vrf-id 0 loop1
     igmp proxy-dev itf add vrf-id 0 loop2
     igmp proxy-dev itf del vrf-id 0 loop2
     igmp group-prefix 232.0.0.0/8 asm
     igmp group-prefix 239.232.0.0/16 ssm
     igmp group-prefix 239.232.7.0/24 asm",
)];

/// Listening needs an interface that is up.
pub const LISTENING: Phase = Phase { name: "listened groups", after: &["up"], before: &[] };

/// Writes ranges, interfaces, proxies, and what is listened to.
pub fn write_config(world: &World, config: &mut RunningConfig) {
    let igmp = world.get::<Igmp>();
    let ranges = igmp.table().ranges.list();
    let range_line =
        |range: &dyn fmt::Display, word: &str| format!("igmp group-prefix {range} {word}");
    if !ranges.iter().any(|(range, _)| *range == assigned()) {
        let line = |word| range_line(&assigned(), word);
        config.push(Phase::SETTINGS, line("asm"), line("ssm"));
    }
    // A range follows those that contain it.
    let mut ranges: Vec<_> =
        ranges.into_iter().filter(|r| *r != (assigned(), RangeKind::Ssm)).collect();
    ranges.sort_by_key(|(range, _)| range.len());
    for (range, kind) in ranges {
        let other = if kind == RangeKind::Ssm { RangeKind::Asm } else { RangeKind::Ssm };
        let line = |kind| range_line(&range, kind_word(kind));
        config.push(Phase::SETTINGS, line(kind), line(other));
    }
    let links: Vec<_> =
        igmp.table().links.iter().map(|(sw_if, link)| (*sw_if, link.mode)).collect();
    config.list(Phase::FEATURES, links, |world, (sw_if, mode), lines| {
        let name = world.get::<Interfaces>().word(sw_if);
        let line = |verb| format!("igmp {verb} {} {name}", mode.word());
        lines.push(line("enable"), line("disable"));
    });
    let proxies: Vec<_> = igmp.table().proxies.iter().map(|(vrf, p)| (*vrf, p.clone())).collect();
    config.list(Phase::FEATURES, proxies, |world, (vrf, proxy), lines| {
        let interfaces = world.get::<Interfaces>();
        let upstream = interfaces.word(proxy.upstream);
        let line = |verb| format!("igmp proxy-dev {verb} vrf-id {vrf} {upstream}");
        lines.push(line("add"), line("del"));
        for downstream in &proxy.downstream {
            let name = interfaces.word(*downstream);
            let line = |verb| format!("igmp proxy-dev itf {verb} vrf-id {vrf} {name}");
            lines.push(line("add"), line("del"));
        }
    });
    let listens: Vec<_> = {
        let table = igmp.table();
        let of_link = |(sw_if, link): (&SwIfIndex, &Link)| {
            let listens = link.listens.iter().map(|(group, filter)| (*group, filter.clone()));
            listens.map(|(group, filter)| (*sw_if, group, filter)).collect::<Vec<_>>()
        };
        table.links.iter().flat_map(of_link).collect()
    };
    config.list(LISTENING, listens, |world, (sw_if, group, filter), lines| {
        let name = world.get::<Interfaces>().word(sw_if);
        let mut line = format!("igmp listen enable int {name}");
        filter.sources.iter().for_each(|source| _ = write!(line, " saddr {source}"));
        _ = write!(line, " gaddr {group}");
        if filter.exclude {
            line += " exclude";
        }
        lines.push(line, format!("igmp listen disable int {name} gaddr {group}"));
    });
}
