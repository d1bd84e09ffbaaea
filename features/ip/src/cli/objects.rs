// SPDX-License-Identifier: Apache-2.0
//! What forwarding is made of: choices among paths, lists of paths, entries, sources.

use super::adjacency::describe;
use super::fib::{detail, path_text, route_json};
use crate::protocols::Protocols;
use cli::{Error, Matches, Output, Table};
use graph::World;
use net::{Adj, AdjIndex, AdjKind, Adjacencies, Fib, Mfib, Net, Sources, TableUsage, Usage};
use serde_json::{Value, json};
use std::fmt::Write;
use wire::{Ip4, Ip6};

/// Adjacencies of one kind, each with what `more` says of it.
fn objects(
    w: &World,
    m: &Matches,
    kind: AdjKind,
    more: impl Fn(AdjIndex, &mut String) -> Value,
) -> Result<Output, Error> {
    let only = m.opt::<u32>("index")?.map(AdjIndex);
    let mut all = w.get::<Adjacencies>().list();
    // An alias is seen at the routes that it belongs to.
    all.retain(|info| info.adj.kind == kind && info.target.is_none());
    all.retain(|info| only.is_none_or(|only| only == info.index));
    if let Some(only) = only.filter(|_| all.is_empty()) {
        let error = Error::not_found(format!("there is no {} {only}", super::adjacency::kind_name(kind)));
        return Err(error.at(m.span("index")).retval(-6));
    }
    let (mut text, mut json) = (String::new(), Vec::new());
    for info in &all {
        // Writing to a String can't fail.
        let _ = writeln!(text, "[@{}] locks:{} {}", info.index, info.refs, describe(w, info, info.adj.link));
        json.push(json!({ "index": info.index.0, "locks": info.refs, "leads": more(info.index, &mut text) }));
    }
    Ok(Output::both(text, Value::Array(json)))
}

pub fn load_balance(w: &World, m: &Matches) -> Result<Output, Error> {
    let adjacencies = w.get::<Adjacencies>();
    objects(w, m, AdjKind::LoadBalance, |index, text| {
        let buckets = adjacencies.buckets_of(index);
        for (i, bucket) in buckets.iter().enumerate() {
            if let Some(info) = adjacencies.info(*bucket) {
                let _ = writeln!(text, "  [{i}] [@{bucket}]: {}", describe(w, &info, info.adj.link));
            }
        }
        buckets.into_iter().map(|bucket| bucket.0).collect()
    })
}

pub fn lookups(w: &World, m: &Matches) -> Result<Output, Error> {
    let adjacencies = w.get::<Adjacencies>();
    objects(w, m, AdjKind::Lookup, |index, _| adjacencies.info(index).map(|info| info.adj.table).into())
}

pub fn sources(w: &World, m: &Matches) -> Result<Output, Error> {
    let sources = w.get::<Sources>();
    let mut all = sources.all();
    if !m.flag("prio") {
        all.sort_by_key(|source| source.id());
    }
    let mut table = Table::new().right("id").left("source").right("priority");
    for source in all {
        table.row([
            u32::from(source.id()).into(),
            sources.name(source).into(),
            u32::from(source.priority()).into(),
        ]);
    }
    Ok(table.into())
}

pub fn local<F: Net>(w: &World, _: &Matches) -> Result<Output, Error> {
    let mut table = Table::new().right("number").left("protocol").left("node");
    for (protocol, node) in w.get::<Protocols<F>>().list() {
        table.row([
            u32::from(protocol.0).into(),
            protocol.to_string().into(),
            w.node_name(node).to_string().into(),
        ]);
    }
    Ok(table.into())
}

/// Entries of all tables; one of a number with all that is known of it.
pub fn entries(w: &World, m: &Matches) -> Result<Output, Error> {
    let only: Option<u32> = m.opt("index")?;
    let (mut text, mut json) = (String::new(), Vec::new());
    entries_of::<Ip4>(w, only, &mut text, &mut json);
    entries_of::<Ip6>(w, only, &mut text, &mut json);
    if let Some(only) = only.filter(|_| json.is_empty()) {
        let error = Error::not_found(format!("there is no entry {only}"));
        return Err(error.at(m.span("index")).retval(-6));
    }
    Ok(Output::both(text, Value::Array(json)))
}

fn entries_of<F: Net>(w: &World, only: Option<u32>, text: &mut String, json: &mut Vec<Value>) {
    let fib = w.get::<Fib<F>>();
    for table in fib.list_tables() {
        fib.for_each(table.index, |route| match only {
            Some(only) if only == route.index.0 => {
                text.push_str(&detail(w, &route, table.index));
                json.push(route_json(w, &route));
            }
            Some(_) => {}
            None => {
                let _ = writeln!(text, "{}@{} fib:{}", route.index, route.prefix, table.index);
                let (index, prefix) = (route.index.0, route.prefix.to_string());
                json.push(json!({ "index": index, "prefix": prefix, "table": table.id }));
            }
        });
    }
}

/// Lists of paths, each with the entries that share it counted.
pub fn path_lists(w: &World, m: &Matches) -> Result<Output, Error> {
    let only: Option<u32> = m.opt("index")?;
    let (mut text, mut json) = (String::new(), Vec::new());
    lists_of::<Ip4>(w, only, &mut text, &mut json);
    lists_of::<Ip6>(w, only, &mut text, &mut json);
    if let Some(only) = only.filter(|_| json.is_empty()) {
        let error = Error::not_found(format!("there is no path list {only}"));
        return Err(error.at(m.span("index")).retval(-6));
    }
    Ok(Output::both(text, Value::Array(json)))
}

fn lists_of<F: Net>(w: &World, only: Option<u32>, text: &mut String, json: &mut Vec<Value>) {
    for list in w.get::<Fib<F>>().path_lists().into_iter().filter(|l| only.is_none_or(|only| only == l.list))
    {
        let _ = writeln!(
            text,
            "path-list:[{}] {} locks:{} leads to [@{}]",
            list.list,
            F::NAME,
            list.shared,
            list.adj
        );
        let mut paths = Vec::new();
        for ((path, _), state) in list.paths.iter().zip(&list.states) {
            let path = path_text::<F>(w, path, *state);
            let _ = writeln!(text, "  {path}");
            paths.push(path);
        }
        json.push(json!({ "index": list.list, "proto": F::NAME, "locks": list.shared, "adjacency": list.adj.0, "paths": paths }));
    }
}

/// What routes, and what they lead to, take of memory.
pub fn memory(w: &World, _: &Matches) -> Result<Output, Error> {
    let [fib4, fib6] = [w.get::<Fib<Ip4>>().usage(), w.get::<Fib<Ip6>>().usage()];
    let ((groups4, mfib4), (groups6, mfib6)) = (w.get::<Mfib<Ip4>>().usage(), w.get::<Mfib<Ip6>>().usage());
    let tables = [
        ("IPv4 unicast", w.get::<Fib<Ip4>>().table_usage()),
        ("IPv6 unicast", w.get::<Fib<Ip6>>().table_usage()),
        ("IPv4 multicast", groups4),
        ("IPv6 multicast", groups6),
    ];
    let shared = fib4.into_iter().zip(fib6).map(|(of4, of6)| of4 + of6);
    let objects: Vec<Usage> = shared.chain(adjacencies(w)).chain([mfib4 + mfib6]).collect();
    let head = Table::new().left("SAFI").right("Number").right("Routes").right("Lookup bytes");
    let (mut shown, mut of_tables) = (head.right("Prefix bytes"), Vec::new());
    for (safi, usage) in tables {
        let TableUsage { tables, routes, lookup, prefixes } = usage;
        shown.row([safi.into(), tables.into(), routes.into(), lookup.into(), prefixes.into()]);
        of_tables.push(json!({ "safi": safi, "number": tables, "routes": routes, "lookup_bytes": lookup, "prefix_bytes": prefixes }));
    }
    let mut nodes = Table::new().left("Name").right("Size").right("In use").right("Allocated").right("Bytes");
    let mut of_nodes = Vec::new();
    for Usage { name, size, used, allocated, bytes } in objects {
        nodes.row([name.into(), size.into(), used.into(), allocated.into(), bytes.into()]);
        of_nodes.push(
            json!({ "name": name, "size": size, "in_use": used, "allocated": allocated, "bytes": bytes }),
        );
    }
    let text = format!("Tables\n{}\nObjects\n{}", shown.render(), nodes.render());
    Ok(Output::both(text, json!({ "tables": of_tables, "objects": of_nodes })))
}

/// Load-balances with their buckets, what packets leave by, and what stands in for another.
fn adjacencies(w: &World) -> [Usage; 3] {
    let all = w.get::<Adjacencies>();
    let mut usage = ["load-balance", "adjacency", "alias"].map(|name| Usage::new(name, size_of::<Adj>()));
    for info in all.list() {
        let (at, buckets) = match (info.target, info.adj.kind) {
            (Some(_), _) => (2, 0),
            (None, AdjKind::LoadBalance) => (0, all.buckets_of(info.index).len()),
            (None, _) => (1, 0),
        };
        usage[at].used += 1;
        usage[at].bytes += size_of::<Adj>() + buckets * size_of::<AdjIndex>();
    }
    usage.map(|usage| Usage { allocated: usage.used, ..usage })
}
