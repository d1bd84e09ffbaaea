// SPDX-License-Identifier: Apache-2.0
//! `show ip fib`, `show ip table`.

use super::adjacency::{describe, next_number, write_adjacency};
use crate::walk::{prefixes, routes};
use cli::{Cell, Error, Matches, Output, Writer, retval};
use graph::{SwIfIndex, World};
use net::args::{given_interface, other_version, prefix, table as table_of};
use net::fib::{RouteInfo, TableInfo};
use net::{
    AdjIndex, AdjKind, Adjacencies, Fib, FlowRouterId, Interfaces, IpBinding, Link, LinkLocals,
    Links, Net, Path, PathKind, PathState, RouteTables, Routes, Sources, TableIndex, TableRef,
};
use serde_json::json;
use std::fmt::Write;
use std::net::IpAddr;
use std::sync::Arc;
use wire::{Ip6, Prefix};

pub fn tables<F: Net>(w: &World, m: &Matches) -> Result<Output, Error> {
    let only: Option<u32> = m.opt("table")?;
    let fib = w.get::<Fib<F>>();
    Ok(cli::columns!(fib.list_tables(), |_: &World, t| {
        let t = Some(t).filter(|t| only.is_none_or(|only| only == t.id))?;
        let hash = flow(&fib, t.index);
        "Table" right => t.id,
        "Name" => t.name,
        "FIB index" right => t.index.0,
        "Routes" right => t.routes,
        "Flow hash" => Cell::new(hash.join(" "), hash),
    }))
}

fn head<F: Net>(w: &World, fib: &Fib<F>, table: &TableInfo) -> String {
    let TableInfo { id, index, .. } = table;
    let router = match w.get::<FlowRouterId>().get() {
        0 => String::new(),
        id => format!(" router-id:{id}"),
    };
    let (flow, version) = (flow(fib, *index).join(" "), F::VERSION);
    let lock = |(name, count)| format!("{name}:{count}, ");
    let locks: String = locks(w, fib, table).into_iter().map(lock).collect();
    format!(
        "ipv{version}-VRF:{id}, fib_index:{index}, flow hash:[{flow} ] epoch:0 flags:none locks:[{locks}]{router}\n"
    )
}

/// Returns a table's locks: its sources, and the number of interfaces bound to it.
fn locks<F: Net>(w: &World, fib: &Fib<F>, table: &TableInfo) -> Vec<(String, usize)> {
    let name = |source| (w.get::<Sources>().name(source), 1);
    let mut locks: Vec<_> = fib.owners(table.index).into_iter().map(name).collect();
    let here = |sw_if: &SwIfIndex| IpBinding::of(w, *sw_if).table::<F>() == table.index;
    let bound = w.get::<Interfaces>().indices().filter(here).count();
    if bound > 0 && table.index != TableIndex::DEFAULT {
        locks.push(("interface".into(), bound));
    }
    locks
}

/// Names of the packet fields in a table's flow hash.
fn flow<F: Net>(fib: &Fib<F>, table: TableIndex) -> Vec<&'static str> {
    fib.flow_hash(table).unwrap_or_default().names()
}

pub fn show<F: Net>(w: &World, m: &Matches) -> Result<Output, Error> {
    let fib = w.get::<Fib<F>>();
    let mut chosen = fib.list_tables();
    let inside = m.flag("longer-prefixes").then(|| prefix::<F>(m, "prefix")).transpose()?;
    let via = m.opt::<IpAddr>("nexthop")?;
    let one = inside.is_none() && (m.has("prefix") || m.has("address"));
    if m.has("table") || (one || inside.is_some()) && !m.has("index") {
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
    if m.flag("mtrie") || m.flag("memory") {
        return Ok(lookup_memory(w, fib, chosen));
    }
    let (summary, detailed) = (m.flag("summary"), m.flag("detail"));
    if summary && via.is_some() {
        let error = Error::usage("`summary' counts prefixes, whatever their next hops are");
        return Err(error.at(m.span("nexthop")));
    }
    let mut only = match chosen.first() {
        Some(table) if one && !summary => Some(one_route(&fib, m, table.index)?),
        _ => None,
    };
    let detailed = detailed || only.is_some();
    let of = fib.clone();
    let parts = chosen.into_iter().flat_map(move |table| {
        let (index, wanted) = (table.index, Wanted { only: only.take(), summary, inside, via });
        parts(&of, table, index, wanted)
    });
    Ok(write_parts(parts, detailed, move |w, table: TableInfo, out| {
        out.text(|text| *text += &head(w, &fib, &table));
        out.object();
        out.field("table", table.id);
        out.field("fib_index", table.index.0);
        out.field("flow_hash", flow(&fib, table.index));
        out.field("flow_router_id", w.get::<FlowRouterId>().get());
        out.object_in("locks");
        for (name, count) in locks(w, &fib, &table) {
            let name = name.to_lowercase().replace('-', "_");
            out.field(&name, count);
        }
        out.end();
        table.index
    }))
}

/// The prefixes that another one covers, or all.
fn within<F: Net>(
    mut prefixes: Vec<Prefix<F::Addr>>,
    inside: Option<Prefix<F::Addr>>,
) -> Vec<Prefix<F::Addr>> {
    prefixes.retain(|prefix| inside.is_none_or(|inside| inside.covers(prefix)));
    prefixes
}

/// The routes of a table that a prefix covers, or all. `None` after some that it doesn't cover, so
/// that other work isn't kept waiting.
fn within_table<F: Net>(
    fib: &Arc<Fib<F>>,
    table: TableIndex,
    inside: Option<Prefix<F::Addr>>,
) -> Box<dyn Iterator<Item = Option<RouteInfo<F>>>> {
    if inside.is_none() {
        return Box::new(routes(fib, table).map(Some));
    }
    let of = fib.clone();
    Box::new(prefixes(fib, table).flat_map(move |some| {
        let of = of.clone();
        let found = within::<F>(some, inside).into_iter();
        found.map(move |prefix| of.route(table, prefix)).chain([None])
    }))
}

/// True if a route's packets go to this next hop, directly or by another route.
fn leads_to<F: Net>(route: &RouteInfo<F>, via: IpAddr) -> bool {
    let paths = route.sources.first().into_iter().flat_map(|source| &source.paths);
    paths.into_iter().any(|(path, _)| match path.kind {
        PathKind::Neighbor { nexthop, .. } | PathKind::Recursive { nexthop, .. } => nexthop == via,
        _ => false,
    })
}

/// Memory of the lookup structures.
fn lookup_memory<F: Net>(_: &World, fib: Arc<Fib<F>>, chosen: Vec<TableInfo>) -> Output {
    Output::list(chosen, move |w: &World, table: TableInfo, out: &mut Writer| {
        let usage = fib.usage_of(table.index).unwrap_or_default();
        out.text(|text| {
            *text += &head(w, &fib, &table);
            writeln!(
                text,
                "  {} routes, {} bytes for lookups, {} bytes for prefixes",
                usage.routes, usage.lookup, usage.prefixes
            )
        });
        out.value(|| {
            json!({ "table": table.id, "fib_index": table.index.0, "routes": usage.routes,
                "lookup_bytes": usage.lookup, "prefix_bytes": usage.prefixes })
        });
        Ok(())
    })
}

/// Part of the output about a table, which `H` describes.
enum Part<F: Net, H> {
    Head(H),
    Route(RouteInfo<F>),
    /// Some prefixes, which are counted by length.
    Prefixes(Vec<Prefix<F::Addr>>),
    Lengths,
    /// Routes that weren't asked for.
    None,
    End,
}

/// The routes of a table that are wanted.
struct Wanted<F: Net> {
    /// This one alone.
    only: Option<RouteInfo<F>>,
    /// Only their numbers by length.
    summary: bool,
    /// Routes that this prefix covers.
    inside: Option<Prefix<F::Addr>>,
    /// Routes that lead to this next hop.
    via: Option<IpAddr>,
}

/// The parts of a table.
fn parts<F: Net, H: 'static>(
    fib: &Arc<Fib<F>>,
    head: H,
    table: TableIndex,
    wanted: Wanted<F>,
) -> impl Iterator<Item = Part<F, H>> + use<F, H> {
    let Wanted { only, summary, inside, via } = wanted;
    let parts: Box<dyn Iterator<Item = Part<F, H>>> = match only {
        Some(route) => Box::new([Part::Route(route)].into_iter()),
        None if summary => {
            let some = prefixes(fib, table).map(move |some| within::<F>(some, inside));
            Box::new(some.map(Part::Prefixes).chain([Part::Lengths]))
        }
        None => Box::new(within_table(fib, table, inside).map(move |route| {
            let route = route.filter(|route| via.is_none_or(|via| leads_to(route, via)));
            route.map_or(Part::None, Part::Route)
        })),
    };
    [Part::Head(head)].into_iter().chain(parts).chain([Part::End])
}

/// Writes tables: `head` begins the object of one, and gives the table's index.
fn write_parts<F: Net, H: 'static>(
    parts: impl Iterator<Item = Part<F, H>> + 'static,
    detailed: bool,
    head: impl Fn(&World, H, &mut Writer) -> TableIndex + 'static,
) -> Output {
    let (mut index, mut lengths) = (TableIndex::DEFAULT, [0usize; 129]);
    Output::list(parts, move |w: &World, part, out: &mut Writer| {
        match part {
            Part::Head(of) => {
                index = head(w, of, out);
                out.array("routes");
            }
            Part::Route(route) => {
                out.text(|text| {
                    if detailed { detail(w, &route, index, text) } else { brief(w, &route, text) }
                });
                write_route(w, &route, out);
            }
            Part::Prefixes(some) => {
                some.iter().for_each(|prefix| lengths[usize::from(prefix.len())] += 1)
            }
            Part::Lengths => write_lengths(std::mem::replace(&mut lengths, [0; 129]), out),
            Part::None => {}
            Part::End => {
                out.end();
                out.end();
            }
        }
        Ok(())
    })
}

/// The tables of links' link-local addresses.
pub fn links(w: &World, m: &Matches) -> Result<Output, Error> {
    let only = given_interface(w, m, "interface")?;
    let (fib, links) = (w.get::<Fib<Ip6>>(), w.get::<LinkLocals>());
    let (summary, detailed) = (m.flag("summary"), m.flag("detail"));
    let one = m.has("prefix") || m.has("address");
    let mut one = match only.and_then(|only| links.table(only)) {
        Some(table) if one && !summary => Some(one_route(&fib, m, table)?),
        None if one => {
            let why = "name an interface that IPv6 is enabled on: each link has its own addresses";
            return Err(Error::usage(why).at(m.span(if m.has("prefix") {
                "prefix"
            } else {
                "address"
            })));
        }
        _ => None,
    };
    let detailed = detailed || one.is_some();
    let chosen = w.get::<Interfaces>().indices().flat_map(move |sw_if| {
        let table = links.table(sw_if).filter(|_| only.is_none_or(|only| only == sw_if));
        let parts = table.map(|table| {
            let wanted = Wanted { only: one.take(), summary, inside: None, via: None };
            parts(&fib, (sw_if, table), table, wanted)
        });
        parts.into_iter().flatten()
    });
    Ok(write_parts(chosen, detailed, |w, (sw_if, table): (SwIfIndex, TableIndex), out| {
        let name = w.get::<Interfaces>().name(sw_if);
        out.text(|text| writeln!(text, "{name} fib_index:{table}"));
        out.object();
        out.field("interface", name);
        out.field("fib_index", table.0);
        table
    }))
}

fn write_lengths(lengths: [usize; 129], out: &mut Writer) {
    out.text(|text| writeln!(text, "{:>20}{:>16}", "Prefix length", "Count"));
    for (len, count) in lengths.into_iter().enumerate().filter(|(_, count)| *count > 0) {
        out.text(|text| writeln!(text, "{len:>20}{count:>16}"));
        out.value(|| json!({ "prefix_length": len, "count": count }));
    }
}

/// The route of exactly this prefix, or the one that an address takes.
fn one_route<F: Net>(fib: &Fib<F>, m: &Matches, table: TableIndex) -> Result<RouteInfo<F>, Error> {
    let (name, found) = if m.has("prefix") {
        ("prefix", fib.route(table, prefix::<F>(m, "prefix")?))
    } else {
        let addr = F::of_ip(m.req::<IpAddr>("address")?)
            .ok_or_else(|| other_version::<F>(m, "address"))?;
        ("address", fib.covering(table, addr))
    };
    let none = || Error::not_found(format!("there is no route {}", m.str(name)));
    found.ok_or_else(|| none().at(m.span(name)).retval(retval::NO_SUCH_ENTRY))
}

fn brief<F: Net>(w: &World, route: &RouteInfo<F>, text: &mut String) {
    let _ = writeln!(text, "{}\n  unicast-{}-chain", route.prefix, F::NAME);
    forwarding(w, route, text);
}

/// The interface of a path that is down, and how.
fn down(w: &World, path: &PathKind) -> Option<String> {
    let (PathKind::Attached { sw_if, .. } | PathKind::Neighbor { sw_if, .. }) = path else {
        return None;
    };
    let interface = w.get::<Interfaces>().get(*sw_if).ok()?;
    let what = match (interface.admin_up, interface.link_up) {
        (false, _) => "down",
        (true, false) => "link down",
        (true, true) => return None,
    };
    Some(format!("{}: {what}", interface.name))
}

/// A path and its state, for `show`.
pub fn path_text(w: &World, link: Link, path: &Path, state: PathState) -> String {
    let name = |sw_if| w.get::<Interfaces>().name(sw_if);
    let table = |table| w.get::<RouteTables>().table_id(table).unwrap_or(u32::MAX);
    let what = match path.kind {
        PathKind::Attached { sw_if, .. } => format!("attached: {}", name(sw_if)),
        PathKind::Neighbor { sw_if, nexthop } => {
            format!("attached-nexthop: {nexthop} {}", name(sw_if))
        }
        PathKind::Recursive { table: t, nexthop } => {
            let id = table(TableRef::of_address(t, nexthop));
            format!("recursive: via {nexthop} in table {id}")
        }
        PathKind::Receive { sw_if, address } => format!("receive: {address} {}", name(sw_if)),
        PathKind::Lookup(t) => format!("lookup in table {}", table(t)),
        PathKind::SourceLookup(t) => format!("source lookup in table {}", table(t)),
        PathKind::Fixed(_) => "special:".into(),
        PathKind::Object(of, number) if of.interface.is_some() => {
            format!("{}: {}", of.name, name(SwIfIndex(number)))
        }
        PathKind::Object(of, number) => format!("{}: {number}", of.name),
    };
    let state = match state {
        PathState::Resolved => String::new(),
        PathState::Looped => " unresolved, looped".into(),
        PathState::Unresolved => match down(w, &path.kind) {
            Some(why) => format!(" unresolved ({why})"),
            None => " unresolved".into(),
        },
        PathState::Down => " next-hop down".into(),
    };
    let (proto, weight) = (w.get::<Links>().get(link).name, path.weight.max(1));
    format!("path: {proto} weight={weight} pref={} {what}{state}", path.preference)
}

pub fn detail<F: Net>(w: &World, route: &RouteInfo<F>, table: TableIndex, text: &mut String) {
    let _ = writeln!(text, "{} fib:{table}", route.prefix);
    for (i, source) in route.sources.iter().enumerate() {
        let active =
            if i == 0 { "src-flags:added,contributing,active," } else { "src-flags:added," };
        let _ = writeln!(text, "  {} {active}", w.get::<Sources>().name(source.source));
        let _ = writeln!(text, "    path-list:[{}] locks:{}", source.list, source.shared);
        for ((path, _), state) in source.paths.iter().zip(&source.states) {
            let _ = writeln!(text, "      {}", path_text(w, F::LINK, path, *state));
        }
    }
    let _ = writeln!(text, " forwarding:   unicast-{}-chain", F::NAME);
    forwarding(w, route, text);
}

/// The buckets of a load-balance; any other adjacency itself.
fn buckets(w: &World, index: AdjIndex) -> Vec<AdjIndex> {
    let adjacencies = w.get::<Adjacencies>();
    match adjacencies.info(index) {
        Some(info) if info.adj.kind == AdjKind::LoadBalance => {
            adjacencies.buckets_of(AdjIndex(info.adj.counter))
        }
        _ => vec![index],
    }
}

fn forwarding<F: Net>(w: &World, route: &RouteInfo<F>, text: &mut String) {
    let adjacencies = w.get::<Adjacencies>();
    let Some((adj, list)) = route.sources.first().map(|s| (s.adj, s.list)) else { return };
    let buckets = buckets(w, adj);
    let (index, n) = (route.index, buckets.len());
    let [(packets, bytes), via] = counters(w, route);
    let _ = write!(
        text,
        "  [@0]: dpo-load-balance: [proto:{} index:{index} buckets:{n} uRPF:{list} to:[{packets}:{bytes}]",
        F::NAME
    );
    if let (packets @ 1.., bytes) = via {
        let _ = write!(text, " via:[{packets}:{bytes}]");
    }
    text.push_str("]\n");
    for (i, bucket) in buckets.iter().enumerate() {
        if let Some(info) = adjacencies.info(*bucket) {
            let (number, what) = (next_number(info.adj.kind), describe(w, &info, F::LINK));
            let _ = writeln!(text, "    [{i}] [@{number}]: {what}");
        }
    }
}

/// Packets and bytes that took the route, and of recursive routes that follow it.
fn counters<F: Net>(w: &World, route: &RouteInfo<F>) -> [(u64, u64); 2] {
    let routes = w.get::<Routes>();
    [&routes.to, &routes.via].map(|counter| counter.sum(route.index.at()))
}

/// A route for programs. Nothing in text.
pub fn write_route<F: Net>(w: &World, route: &RouteInfo<F>, out: &mut Writer) {
    if !out.is_json() {
        return;
    }
    let adjacencies = w.get::<Adjacencies>();
    out.object();
    out.field("prefix", route.prefix.to_string());
    out.field("stats_index", route.index.0);
    for (key, (packets, bytes)) in ["to", "via"].into_iter().zip(counters(w, route)) {
        out.object_in(key);
        out.field("packets", packets);
        out.field("bytes", bytes);
        out.end();
    }
    out.array("sources");
    for source in &route.sources {
        out.object();
        out.field("source", w.get::<Sources>().name(source.source));
        out.field("path_list", source.list);
        out.field("locks", source.shared);
        out.array("paths");
        for ((path, found), state) in source.paths.iter().zip(&source.states) {
            out.object();
            out.field("path", path_text(w, F::LINK, path, *state));
            out.field("looped", *state == PathState::Looped);
            out.field("next_hop_down", *state == PathState::Down);
            out.field("weight", path.weight.max(1));
            out.field("preference", path.preference);
            out.field("resolved", found.is_some());
            out.end();
        }
        out.end();
        out.end();
    }
    out.end();
    out.array("forwarding");
    let buckets = route.sources.first().map(|s| buckets(w, s.adj)).unwrap_or_default();
    for info in buckets.into_iter().filter_map(|bucket| adjacencies.info(bucket)) {
        out.object();
        write_adjacency(w, &info, out);
        out.end();
    }
    out.end();
    out.end();
}
