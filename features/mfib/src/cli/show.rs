// SPDX-License-Identifier: Apache-2.0
//! `show ip mfib` and its kind.

use super::route::group;
use super::table as table_of;
use cli::{Cell, Error, Matches, Output, Result, Table};
use graph::World;
use net::fib::TableInfo;
use net::mfib::{EntryFlags, ItfFlags, Mpath, MpathKind, MrouteInfo, Mroutes};
use net::{AdjIndex, AdjKind, Adjacencies, Fib, Interfaces, Mfib, Net, Sources};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fmt::Write;
use wire::{Ip4, Ip6};

pub fn mfib<F: Net>(w: &World, m: &Matches) -> Result<Output> {
    let (fib, mfib) = (w.get::<Fib<F>>(), w.get::<Mfib<F>>());
    let only = group::<F>(m)?;
    let mut chosen = fib.list_tables();
    if m.has("table") || only.is_some() && !m.has("index") {
        let index = table_of::<F>(w, m)?;
        chosen.retain(|t| t.index == index);
    }
    if let Some(index) = m.opt::<u32>("index")? {
        chosen.retain(|t| t.index.0 == index);
        if chosen.is_empty() {
            let error = Error::not_found(format!("there is no table of index {index}"));
            return Err(error.at(m.span("index")).retval(-3));
        }
    }
    let (mut text, mut json) = (String::new(), Vec::new());
    for table in chosen {
        text += &format!("ipv{}-VRF:{}, fib_index:{}\n", F::VERSION, table.id, table.index);
        if m.flag("summary") {
            let count = mfib.list(table.index, None, usize::MAX).len();
            text += &format!("  {count} entries\n");
            json.push(json!({ "table": table.id, "fib_index": table.index.0, "entries": count }));
            continue;
        }
        let routes = match only {
            None => mfib.list(table.index, None, usize::MAX),
            Some(group) if m.has("prefix") => mfib.entry(table.index, group).into_iter().collect(),
            Some(group) => mfib.best(table.index, group.addr, group.source).into_iter().collect(),
        };
        if let Some(group) = only.filter(|_| routes.is_empty()) {
            return Err(Error::not_found(format!("there is no multicast route {group}")).retval(-6));
        }
        for route in &routes {
            detail(w, route, &mut text);
        }
        let routes: Vec<_> = routes.iter().map(|route| to_json(w, route)).collect();
        json.push(json!({ "table": table.id, "fib_index": table.index.0, "routes": routes }));
    }
    Ok(Output::both(text, Value::Array(json)))
}

fn path_text(w: &World, path: &Mpath) -> String {
    let flags = path.flags;
    match path.kind {
        MpathKind::Local => format!("local: {flags}"),
        MpathKind::Interface { sw_if, nexthop } => {
            let nexthop = nexthop.map(|nexthop| format!("{nexthop} ")).unwrap_or_default();
            format!("{nexthop}{}: {flags}", w.get::<Interfaces>().name(sw_if))
        }
    }
}

/// What becomes of packets at an output.
fn output_text(w: &World, index: AdjIndex) -> String {
    let Some(info) = w.get::<Adjacencies>().info(index) else { return "dpo-drop".into() };
    match (info.adj.kind, info.sw_if()) {
        (AdjKind::Multicast, Some(sw_if)) => {
            let bytes: String = info.adj.rewrite().iter().map(|byte| format!("{byte:02x}")).collect();
            format!("mcast: {} mtu:{} {bytes}", w.get::<Interfaces>().name(sw_if), info.adj.mtu)
        }
        (AdjKind::Receive, _) => "dpo-receive".into(),
        _ => "dpo-drop".into(),
    }
}

/// Packets and bytes that were accepted.
fn counters<F: Net>(w: &World, route: &MrouteInfo<F>) -> (u64, u64) {
    w.get::<Mroutes>().counters.sum(route.index.0 as usize)
}

fn replicates<F: Net>(w: &World, route: &MrouteInfo<F>, text: &mut String) {
    let ((packets, bytes), index, n) = (counters(w, route), route.index.0, route.outputs.len());
    // Writing to a String can't fail.
    let _ = writeln!(text, "dpo-replicate: [index:{index} buckets:{n} to:[{packets}:{bytes}]]");
    for (i, output) in route.outputs.iter().enumerate() {
        let _ = writeln!(text, "    [{i}] [@{output}]: {}", output_text(w, *output));
    }
}

fn detail<F: Net>(w: &World, route: &MrouteInfo<F>, text: &mut String) {
    let _ = writeln!(text, "{}: flags:{}", route.group, route.flags());
    for source in &route.sources {
        let _ = write!(text, "  src:{} flags:{}", w.get::<Sources>().name(source.source), source.flags);
        if source.rpf_id != net::mfib::NO_RPF_ID {
            let _ = write!(text, " rpf-id:{}", source.rpf_id);
        }
        text.push('\n');
        for path in &source.paths {
            let _ = writeln!(text, "    path: {}", path_text(w, path));
        }
    }
    text.push_str("  Interfaces:\n");
    for (sw_if, flags) in &route.interfaces {
        let _ = writeln!(text, "    {}: {flags}", w.get::<Interfaces>().name(*sw_if));
    }
    let _ = write!(text, "  multicast-{}-chain\n  [@{}]: ", F::NAME, route.index.0);
    replicates(w, route, text);
}

fn to_json<F: Net>(w: &World, route: &MrouteInfo<F>) -> Value {
    let name = |sw_if| w.get::<Interfaces>().name(sw_if);
    let path = |path: &Mpath| {
        let nexthop = match path.kind {
            MpathKind::Interface { nexthop, .. } => nexthop,
            MpathKind::Local => None,
        };
        json!({
            "interface": path.kind.sw_if().map(name),
            "local": path.kind == MpathKind::Local,
            "nexthop": nexthop,
            "flags": path.flags.words(),
        })
    };
    let (packets, bytes) = counters(w, route);
    let sources = route.sources.iter().map(|s| {
        json!({
            "source": w.get::<Sources>().name(s.source),
            "flags": s.flags.words(),
            "rpf_id": (s.rpf_id != net::mfib::NO_RPF_ID).then_some(s.rpf_id),
            "paths": s.paths.iter().map(path).collect::<Vec<_>>(),
        })
    });
    let interfaces = route.interfaces.iter();
    json!({
        "group": route.group.addr.to_string(),
        "length": route.group.len,
        "source": route.group.source.map(|source| source.to_string()),
        "flags": route.flags().words(),
        "stats_index": route.index.0,
        "packets": packets,
        "bytes": bytes,
        "sources": sources.collect::<Vec<_>>(),
        "interfaces": interfaces.map(|(sw_if, flags)| json!({ "interface": name(*sw_if), "flags": flags.words() })).collect::<Vec<_>>(),
        "outputs": route.outputs.iter().map(|output| output_text(w, *output)).collect::<Vec<_>>(),
    })
}

/// All routes of all tables of a protocol.
fn all<F: Net>(w: &World) -> Vec<(TableInfo, MrouteInfo<F>)> {
    let (fib, mfib) = (w.get::<Fib<F>>(), w.get::<Mfib<F>>());
    let of =
        |t: TableInfo| mfib.list(t.index, None, usize::MAX).into_iter().map(move |route| (t.clone(), route));
    fib.list_tables().into_iter().flat_map(of).collect()
}

pub fn entries(w: &World, _: &Matches) -> Result<Output> {
    fn rows<F: Net>(w: &World, table: &mut Table) {
        for (t, route) in all::<F>(w) {
            let (packets, bytes) = counters(w, &route);
            table.row([
                Cell::from(route.index.0),
                t.id.into(),
                route.group.to_string().into(),
                route.flags().to_string().into(),
                Cell::from(route.interfaces.len()),
                Cell::from(route.outputs.len()),
                packets.into(),
                bytes.into(),
            ]);
        }
    }
    let table = Table::new().right("index").right("table").left("group").left("flags");
    let mut table = table.right("interfaces").right("outputs").right("packets").right("bytes");
    rows::<Ip4>(w, &mut table);
    rows::<Ip6>(w, &mut table);
    Ok(table.into())
}

pub fn interfaces(w: &World, m: &Matches) -> Result<Output> {
    fn rows<F: Net>(w: &World, table: &mut Table, only: Option<graph::SwIfIndex>) {
        for (t, route) in all::<F>(w) {
            for (sw_if, flags) in route.interfaces.iter().filter(|(i, _)| only.is_none_or(|only| only == *i))
            {
                table.row([
                    w.get::<Interfaces>().name(*sw_if).into(),
                    t.id.into(),
                    route.group.to_string().into(),
                    Cell::from(flags.to_string()),
                ]);
            }
        }
    }
    let find = || w.get::<Interfaces>().find(m.str("interface")).map_err(|e| e.at(m.span("interface")));
    let only = m.has("interface").then(find).transpose()?;
    let mut table = Table::new().left("interface").right("table").left("group").left("flags");
    rows::<Ip4>(w, &mut table, only);
    rows::<Ip6>(w, &mut table, only);
    Ok(table.into())
}

pub fn replicate(w: &World, m: &Matches) -> Result<Output> {
    fn add<F: Net>(w: &World, only: Option<u32>, text: &mut String, json: &mut Vec<Value>) {
        let mut seen = BTreeSet::new();
        for (_, route) in all::<F>(w) {
            let index = route.index.0;
            // Those that all tables have come once for each.
            if !seen.insert(index) || only.is_some_and(|only| only != index) {
                continue;
            }
            let _ = write!(text, "[@{index}]: ");
            replicates(w, &route, text);
            let outputs = route.outputs.iter().map(|output| output_text(w, *output)).collect::<Vec<_>>();
            json.push(json!({ "index": index, "group": route.group.to_string(), "outputs": outputs }));
        }
    }
    let only = m.opt::<u32>("index")?;
    let (mut text, mut json) = (String::new(), Vec::new());
    add::<Ip4>(w, only, &mut text, &mut json);
    add::<Ip6>(w, only, &mut text, &mut json);
    if let Some(index) = only.filter(|_| json.is_empty()) {
        return Err(Error::not_found(format!("there is no multicast route {index}"))
            .at(m.span("index"))
            .retval(-6));
    }
    Ok(Output::both(text, Value::Array(json)))
}

fn flags(names: impl Iterator<Item = (u32, &'static str, &'static str)>) -> Output {
    let mut table = Table::new().right("bits").left("flag").left("letters");
    for (bits, word, letters) in names {
        table.row([bits.into(), word.into(), Cell::from(letters)]);
    }
    table.into()
}

pub fn route_flags(_: &World, _: &Matches) -> Result<Output> {
    Ok(flags(EntryFlags::NAMES.iter().map(|(flag, word, letters)| (flag.0, *word, *letters))))
}

pub fn itf_flags(_: &World, _: &Matches) -> Result<Output> {
    Ok(flags(ItfFlags::NAMES.iter().map(|(flag, word, letters)| (flag.0, *word, *letters))))
}
