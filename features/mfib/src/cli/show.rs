// SPDX-License-Identifier: Apache-2.0
//! `show ip mfib` and its kind.

use super::route::group;
use cli::{Cell, Error, Matches, Output, Result, Table, Writer, retval};
use graph::{SwIfIndex, World};
use net::args::{given_interface, table as table_of};
use net::fib::TableInfo;
use net::mfib::{EntryFlags, ItfFlags, Mpath, MpathKind, MrouteInfo, Mroutes};
use net::{AdjIndex, AdjKind, Adjacencies, Fib, Interfaces, Mfib, Net, Sources, TableIndex};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::sync::Arc;
use wire::{Ip4, Ip6};

pub fn mfib<F: Net>(w: &World, m: &Matches) -> Result<Output> {
    let (fib, mfib) = (w.get::<Fib<F>>(), w.get::<Mfib<F>>());
    let only = group::<F>(m)?;
    let mut chosen = fib.list_tables();
    if m.has("table") || only.is_some() && !m.has("index") {
        let index = table_of::<F>(w, m, "table")?;
        chosen.retain(|t| t.index == index);
    }
    if let Some(index) = m.opt::<u32>("index")? {
        chosen.retain(|t| t.index.0 == index);
        if chosen.is_empty() {
            let error = Error::not_found(format!("there is no table of index {index}"));
            return Err(error.at(m.span("index")).retval(retval::NO_SUCH_FIB));
        }
    }
    let mut found = None;
    if let (Some(group), Some(table)) = (only, chosen.first().filter(|_| !m.flag("summary"))) {
        let route = if m.has("prefix") {
            mfib.entry(table.index, group)
        } else {
            mfib.best(table.index, group.addr, group.source)
        };
        let none = || {
            Error::not_found(format!("there is no multicast route {group}"))
                .retval(retval::NO_SUCH_ENTRY)
        };
        found = Some(route.ok_or_else(none)?);
    }
    let summary = m.flag("summary");
    let parts = chosen.into_iter().flat_map(move |table| {
        let routes: Box<dyn Iterator<Item = MrouteInfo<F>>> = match found.take() {
            Some(route) => Box::new([route].into_iter()),
            None => Box::new(routes(&mfib, table.index)),
        };
        [Part::Table(table)].into_iter().chain(routes.map(Part::Route)).chain([Part::End])
    });
    let mut count = 0;
    Ok(Output::list(parts, move |w: &World, part: Part<F>, out: &mut Writer| {
        match part {
            Part::Table(table) => {
                let TableInfo { id, index, .. } = table;
                out.text(|text| writeln!(text, "ipv{}-VRF:{id}, fib_index:{index}", F::VERSION));
                out.object();
                out.field("table", id);
                out.field("fib_index", index.0);
                if !summary {
                    out.array("routes");
                }
                count = 0;
            }
            Part::Route(_) if summary => count += 1,
            Part::Route(route) => {
                out.text(|text| detail(w, &route, text));
                out.value(|| to_json(w, &route));
            }
            Part::End if summary => {
                out.text(|text| writeln!(text, "  {count} entries"));
                out.field("entries", count);
                out.end();
            }
            Part::End => {
                out.end();
                out.end();
            }
        }
        Ok(())
    }))
}

/// An element of the output of `show ip mfib`.
enum Part<F: Net> {
    Table(TableInfo),
    Route(MrouteInfo<F>),
    End,
}

/// The routes of a table, each read when it is printed.
fn routes<F: Net>(
    mfib: &Arc<Mfib<F>>,
    table: TableIndex,
) -> impl Iterator<Item = MrouteInfo<F>> + use<F> {
    let mfib = mfib.clone();
    cli::pieces(move |after, n| mfib.list(table, after, n), |route| route.group)
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

/// Description of the adjacency of an output.
fn output_text(w: &World, index: AdjIndex) -> String {
    let Some(info) = w.get::<Adjacencies>().info(index) else { return "dpo-drop".into() };
    match (info.adj.kind, info.sw_if()) {
        (AdjKind::Multicast, Some(sw_if)) => {
            let bytes: String =
                info.adj.rewrite().iter().map(|byte| format!("{byte:02x}")).collect();
            format!("mcast: {} mtu:{} {bytes}", w.get::<Interfaces>().name(sw_if), info.adj.mtu)
        }
        (AdjKind::Receive, _) => "dpo-receive".into(),
        (AdjKind::Rewrite | AdjKind::Incomplete, _) => {
            fib::describe_adjacency(w, &info, info.adj.link)
        }
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
        let _ =
            write!(text, "  src:{} flags:{}", w.get::<Sources>().name(source.source), source.flags);
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

/// A route of either protocol, and the id of its table.
enum Route {
    Four(u32, MrouteInfo<Ip4>),
    Six(u32, MrouteInfo<Ip6>),
    End,
}

/// All routes of all tables.
fn all(w: &World) -> impl Iterator<Item = Route> + use<> {
    fn of<F: Net>(w: &World) -> impl Iterator<Item = (u32, MrouteInfo<F>)> + use<F> {
        let (fib, mfib) = (w.get::<Fib<F>>(), w.get::<Mfib<F>>());
        let of = move |t: TableInfo| routes(&mfib, t.index).map(move |route| (t.id, route));
        fib.list_tables().into_iter().flat_map(of)
    }
    let four = of::<Ip4>(w).map(|(table, route)| Route::Four(table, route));
    four.chain(of::<Ip6>(w).map(|(table, route)| Route::Six(table, route))).chain([Route::End])
}

pub fn entries(w: &World, _: &Matches) -> Result<Output> {
    fn row<F: Net>(w: &World, table: u32, route: &MrouteInfo<F>, out: &mut Writer) {
        let (packets, bytes) = counters(w, route);
        out.row([
            Cell::from(route.index.0),
            table.into(),
            route.group.to_string().into(),
            route.flags().to_string().into(),
            Cell::from(route.interfaces.len()),
            Cell::from(route.outputs.len()),
            packets.into(),
            bytes.into(),
        ]);
    }
    let table = Table::new().right("index").right("table").left("group").left("flags");
    let table = table.right("interfaces").right("outputs").right("packets").right("bytes");
    Ok(table.list(all(w), |w: &World, route, out: &mut Writer| {
        match route {
            Route::Four(table, route) => row(w, table, &route, out),
            Route::Six(table, route) => row(w, table, &route, out),
            Route::End => {}
        }
        Ok(())
    }))
}

pub fn interfaces(w: &World, m: &Matches) -> Result<Output> {
    fn rows<F: Net>(
        w: &World,
        table: u32,
        route: &MrouteInfo<F>,
        only: Option<SwIfIndex>,
        out: &mut Writer,
    ) {
        for (sw_if, flags) in
            route.interfaces.iter().filter(|(i, _)| only.is_none_or(|only| only == *i))
        {
            out.row([
                w.get::<Interfaces>().name(*sw_if).into(),
                table.into(),
                route.group.to_string().into(),
                Cell::from(flags.to_string()),
            ]);
        }
    }
    let only = given_interface(w, m, "interface")?;
    let table = Table::new().left("interface").right("table").left("group").left("flags");
    Ok(table.list(all(w), move |w: &World, route, out: &mut Writer| {
        match route {
            Route::Four(table, route) => rows(w, table, &route, only, out),
            Route::Six(table, route) => rows(w, table, &route, only, out),
            Route::End => {}
        }
        Ok(())
    }))
}

pub fn replicate(w: &World, m: &Matches) -> Result<Output> {
    fn add<F: Net>(w: &World, route: &MrouteInfo<F>, out: &mut Writer) {
        let index = route.index.0;
        out.text(|text| {
            let _ = write!(text, "[@{index}]: ");
            replicates(w, route, text);
        });
        out.value(|| {
            let outputs =
                route.outputs.iter().map(|output| output_text(w, *output)).collect::<Vec<_>>();
            json!({ "index": index, "group": route.group.to_string(), "outputs": outputs })
        });
    }
    let only = m.opt::<u32>("index")?;
    let none = only.map(|index| {
        let error = Error::not_found(format!("there is no multicast route {index}"));
        error.at(m.span("index")).retval(retval::NO_SUCH_ENTRY)
    });
    // Routes that all tables have come once for each table.
    let mut seen = BTreeSet::new();
    let mut new =
        move |v6, index| only.is_none_or(|only| only == index) && seen.insert((v6, index));
    let mut found = false;
    Ok(Output::list(all(w), move |w: &World, route, out: &mut Writer| {
        match route {
            Route::Four(_, route) if new(false, route.index.0) => add(w, &route, out),
            Route::Six(_, route) if new(true, route.index.0) => add(w, &route, out),
            Route::End => return none.clone().filter(|_| !found).map_or(Ok(()), Err),
            _ => return Ok(()),
        }
        found = true;
        Ok(())
    }))
}

fn flags(
    names: impl IntoIterator<Item = (u32, &'static str, &'static str), IntoIter: 'static>,
) -> Output {
    cli::columns!(names, |_: &World, (bits, word, letters)| {
        "bits" right => bits,
        "flag" => word,
        "letters" => letters,
    })
}

pub fn route_flags(_: &World, _: &Matches) -> Result<Output> {
    Ok(flags(EntryFlags::NAMES.iter().map(|(flag, word, letters)| (flag.bits(), *word, *letters))))
}

pub fn itf_flags(_: &World, _: &Matches) -> Result<Output> {
    Ok(flags(ItfFlags::NAMES.iter().map(|(flag, word, letters)| (flag.bits(), *word, *letters))))
}
