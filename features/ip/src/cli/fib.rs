// SPDX-License-Identifier: Apache-2.0
//! `show ip fib`, `show ip table`.

use super::adjacency::{describe, to_json};
use super::{interface, other_version, route::prefix, table as table_of};
use cli::{Cell, Error, Matches, Output, Table};
use graph::{SwIfIndex, World};
use net::fib::{RouteInfo, TableInfo};
use net::{
    AdjIndex, AdjKind, Adjacencies, Extension, Fib, FlowRouterId, Interfaces, LinkLocals, Net, Path,
    PathKind, PathState, Routes, Sources, TableIndex,
};
use serde_json::{Value, json};
use std::fmt::Write;
use std::net::IpAddr;
use wire::Ip6;

pub fn tables<F: Net>(w: &World, m: &Matches) -> Result<Output, Error> {
    let only: Option<u32> = m.opt("table")?;
    let mut table =
        Table::new().right("Table").left("Name").right("FIB index").right("Routes").left("Flow hash");
    let fib = w.get::<Fib<F>>();
    for t in fib.list_tables() {
        if only.is_none_or(|only| only == t.id) {
            let hash = flow(&fib, t.index).join(" ");
            table.row([t.id.into(), t.name.into(), t.index.0.into(), Cell::from(t.routes), hash.into()]);
        }
    }
    Ok(table.into())
}

fn head<F: Net>(w: &World, fib: &Fib<F>, table: &TableInfo) -> String {
    let TableInfo { id, index, .. } = table;
    let router = match w.get::<FlowRouterId>().get() {
        0 => String::new(),
        id => format!(" router-id:{id}"),
    };
    let flow = flow(fib, *index).join(" ");
    format!("ipv{}-VRF:{id}, fib_index:{index}, flow hash:[{flow} ]{router}\n", F::VERSION)
}

/// What chooses among equal paths.
fn flow<F: Net>(fib: &Fib<F>, table: TableIndex) -> Vec<&'static str> {
    fib.flow_hash(table).unwrap_or_default().names()
}

pub fn show<F: Net>(w: &World, m: &Matches) -> Result<Output, Error> {
    let fib = w.get::<Fib<F>>();
    let mut chosen = fib.list_tables();
    let one = m.has("prefix") || m.has("address");
    if m.has("table") || one && !m.has("index") {
        let index = table_of::<F>(w, m, "table")?;
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
        text += &head(w, &fib, &table);
        let (more, routes) = if m.flag("summary") {
            summary(&fib, table.index)
        } else if one {
            let route = one_route(&fib, m, table.index)?;
            (detail(w, &route, table.index), json!([route_json(w, &route)]))
        } else {
            all(w, &fib, table.index, m.flag("detail"))
        };
        text += &more;
        json.push(json!({
            "table": table.id,
            "fib_index": table.index.0,
            "flow_hash": flow(&fib, table.index),
            "flow_router_id": w.get::<FlowRouterId>().get(),
            "routes": routes,
        }));
    }
    Ok(Output::both(text, Value::Array(json)))
}

/// The tables of links.
pub fn links(w: &World, m: &Matches) -> Result<Output, Error> {
    let only = if m.has("interface") { Some(interface(w, m)?) } else { None };
    let (fib, links) = (w.get::<Fib<Ip6>>(), w.get::<LinkLocals>());
    let (mut text, mut json) = (String::new(), Vec::new());
    for i in w.get::<Interfaces>().list().into_iter().filter(|i| only.is_none_or(|only| only == i.sw_if)) {
        let Some(table) = links.table(i.sw_if) else { continue };
        // Writing to a String can't fail.
        let _ = writeln!(text, "{} fib_index:{table}", i.name);
        let (more, routes) = all(w, &fib, table, false);
        text += &more;
        json.push(json!({ "interface": i.name, "fib_index": table.0, "routes": routes }));
    }
    Ok(Output::both(text, Value::Array(json)))
}

fn summary<F: Net>(fib: &Fib<F>, table: TableIndex) -> (String, Value) {
    let mut text = format!("{:>20}{:>16}\n", "Prefix length", "Count");
    let mut json = Vec::new();
    for (len, count) in fib.lengths(table) {
        // Writing to a String can't fail.
        let _ = writeln!(text, "{len:>20}{count:>16}");
        json.push(json!({ "prefix_length": len, "count": count }));
    }
    (text, Value::Array(json))
}

/// The route of exactly this prefix, or the one that an address takes.
fn one_route<F: Net>(fib: &Fib<F>, m: &Matches, table: TableIndex) -> Result<RouteInfo<F>, Error> {
    let (name, found) = if m.has("prefix") {
        ("prefix", fib.route(table, prefix::<F>(m, "prefix")?))
    } else {
        let addr = F::of_ip(m.req::<IpAddr>("address")?).ok_or_else(|| other_version::<F>(m, "address"))?;
        ("address", fib.covering(table, addr))
    };
    let none = || Error::not_found(format!("there is no route {}", m.str(name)));
    found.ok_or_else(|| none().at(m.span(name)).retval(-6))
}

fn all<F: Net>(w: &World, fib: &Fib<F>, table: TableIndex, detailed: bool) -> (String, Value) {
    let mut routes = Vec::new();
    fib.for_each(table, |route| routes.push(route));
    let mut text = String::new();
    for route in &routes {
        if detailed {
            text += &detail(w, route, table);
        } else {
            let _ = writeln!(text, "{}\n  unicast-{}-chain", route.prefix, F::NAME);
            forwarding(w, route, &mut text);
        }
    }
    (text, Value::Array(routes.iter().map(|route| route_json(w, route)).collect()))
}

pub fn path_text<F: Net>(w: &World, path: &Path<F::Addr>, state: PathState) -> String {
    let name = |sw_if| w.get::<Interfaces>().name(sw_if);
    let table = |index| w.get::<Fib<F>>().table_id(index).unwrap_or(u32::MAX);
    let what = match path.kind {
        PathKind::Attached { sw_if, .. } => format!("attached: {}", name(sw_if)),
        PathKind::Neighbor { sw_if, nexthop } => format!("attached-nexthop: {nexthop} {}", name(sw_if)),
        PathKind::Recursive { table: t, nexthop } => {
            format!("recursive: via {nexthop} in table {}", table(t))
        }
        PathKind::Receive { sw_if, address } => format!("receive: {address} {}", name(sw_if)),
        PathKind::Lookup(t) => format!("lookup in table {}", table(t)),
        PathKind::Fixed(_) => "special:".into(),
        PathKind::Extension(Extension::InterfaceRx, sw_if) => {
            format!("interface-rx: {}", name(SwIfIndex(sw_if)))
        }
        PathKind::Extension(kind, object) => format!("{}: {object}", kind.name()),
    };
    let state = match state {
        PathState::Resolved => "",
        PathState::Looped => " unresolved, looped",
        PathState::Unresolved => " unresolved",
        PathState::Down => " next-hop down",
    };
    format!("path: {} weight={} pref={} {what}{state}", F::NAME, path.weight.max(1), path.preference)
}

pub fn detail<F: Net>(w: &World, route: &RouteInfo<F>, table: TableIndex) -> String {
    let mut text = format!("{} fib:{table}\n", route.prefix);
    for (i, source) in route.sources.iter().enumerate() {
        let active = if i == 0 { "src-flags:added,contributing,active," } else { "src-flags:added," };
        let _ = writeln!(text, "  {} {active}", w.get::<Sources>().name(source.source));
        let _ = writeln!(text, "    path-list:[{}] locks:{}", source.list, source.shared);
        for ((path, _), state) in source.paths.iter().zip(&source.states) {
            let _ = writeln!(text, "      {}", path_text::<F>(w, path, *state));
        }
    }
    text += &format!(" forwarding:   unicast-{}-chain\n", F::NAME);
    forwarding(w, route, &mut text);
    text
}

/// The buckets that an adjacency comes to; itself, if there is no choice.
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
    let Some(adj) = route.sources.first().map(|s| s.adj) else { return };
    let buckets = buckets(w, adj);
    let (index, n) = (route.index, buckets.len());
    let [(packets, bytes), via] = counters(w, route);
    let _ = write!(
        text,
        "  [@0]: dpo-load-balance: [proto:{} index:{index} buckets:{n} to:[{packets}:{bytes}]",
        F::NAME
    );
    if let (packets @ 1.., bytes) = via {
        let _ = write!(text, " via:[{packets}:{bytes}]");
    }
    text.push_str("]\n");
    for (i, bucket) in buckets.iter().enumerate() {
        if let Some(info) = adjacencies.info(*bucket) {
            let _ = writeln!(text, "    [{i}] [@{bucket}]: {}", describe(w, &info, F::LINK));
        }
    }
}

/// Packets and bytes that took the route, and of recursive routes that followed it.
fn counters<F: Net>(w: &World, route: &RouteInfo<F>) -> [(u64, u64); 2] {
    let routes = w.get::<Routes>();
    [&routes.to, &routes.via].map(|counter| counter.sum(route.index.at()))
}

pub fn route_json<F: Net>(w: &World, route: &RouteInfo<F>) -> Value {
    let adjacencies = w.get::<Adjacencies>();
    let sources: Vec<Value> = route
        .sources
        .iter()
        .map(|s| {
            let paths: Vec<Value> = s
                .paths
                .iter()
                .zip(&s.states)
                .map(|((path, found), state)| {
                    json!({
                        "path": path_text::<F>(w, path, *state),
                        "looped": *state == PathState::Looped,
                        "next_hop_down": *state == PathState::Down,
                        "weight": path.weight.max(1),
                        "preference": path.preference,
                        "resolved": found.is_some(),
                    })
                })
                .collect();
            json!({ "source": w.get::<Sources>().name(s.source), "path_list": s.list, "locks": s.shared, "paths": paths })
        })
        .collect();
    let forwarding: Vec<Value> = route
        .sources
        .first()
        .map(|s| buckets(w, s.adj))
        .unwrap_or_default()
        .into_iter()
        .filter_map(|bucket| Some(to_json(w, &adjacencies.info(bucket)?)))
        .collect();
    let [to, via] = counters(w, route).map(|(packets, bytes)| json!({ "packets": packets, "bytes": bytes }));
    json!({
        "prefix": route.prefix.to_string(),
        "stats_index": route.index.0,
        "to": to,
        "via": via,
        "sources": sources,
        "forwarding": forwarding,
    })
}
