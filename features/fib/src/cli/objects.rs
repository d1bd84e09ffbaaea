// SPDX-License-Identifier: Apache-2.0
//! Objects of forwarding: load-balances, path lists, entries, sources.

use super::adjacency::{describe, indices, kind_name, one, write_line};
use super::fib::{detail, path_text, write_route};
use crate::walk::of_tables;
use cli::{Error, Matches, Output, OutputPiece, Sequence, Step, Table, Tree, Writer, retval};
use graph::World;
use net::fib::{PathListInfo, RouteInfo, TableInfo};
use net::{
    Adj, AdjIndex, AdjInfo, AdjKind, Adjacencies, Fib, Links, Mfib, Net, RouteTables, Sources,
    TableUsage, Usage,
};
use serde_json::json;
use std::fmt::Write;
use std::rc::Rc;
use wire::{Ip4, Ip6};

/// Adjacencies of one kind, each with the fields that `more` writes.
fn objects(
    w: &World,
    m: &Matches,
    kind: AdjKind,
    more: impl Fn(&World, AdjIndex, &mut Writer) + 'static,
) -> Result<Output, Error> {
    let all = w.get::<Adjacencies>();
    // An alias is shown with its routes.
    let chosen = move |info: &AdjInfo| info.adj.kind == kind && info.target.is_none();
    let only = one(&all, m, chosen, kind_name(kind))?;
    Ok(Output::list(indices(&all, only), move |w: &World, index, out: &mut Writer| {
        let Some(info) = all.info(index).filter(chosen) else { return Ok(()) };
        out.text(|text| write_line(w, &info, text));
        out.object();
        out.field("index", index.0);
        out.field("locks", info.refs);
        more(w, index, out);
        out.end();
        Ok(())
    }))
}

pub fn load_balance(w: &World, m: &Matches) -> Result<Output, Error> {
    objects(w, m, AdjKind::LoadBalance, |w, index, out| {
        let adjacencies = w.get::<Adjacencies>();
        let buckets = adjacencies.buckets_of(index);
        for (i, bucket) in buckets.iter().enumerate() {
            if let Some(info) = adjacencies.info(*bucket) {
                out.text(|text| {
                    writeln!(text, "  [{i}] [@{bucket}]: {}", describe(w, &info, info.adj.link))
                });
            }
        }
        out.field("leads", buckets.into_iter().map(|bucket| bucket.0).collect::<Vec<_>>());
    })
}

pub fn lookups(w: &World, m: &Matches) -> Result<Output, Error> {
    objects(w, m, AdjKind::Lookup, |w, index, out| {
        out.field("leads", w.get::<Adjacencies>().info(index).map(|info| info.adj.table));
    })
}

pub fn sources(w: &World, m: &Matches) -> Result<Output, Error> {
    let sources = w.get::<Sources>();
    let mut all = sources.all();
    if !m.flag("prio") {
        all.sort_by_key(|source| source.id());
    }
    Ok(cli::columns!(all, |_: &World, source| {
        "id" right => u32::from(source.id()),
        "source" => sources.name(source),
        "priority" right => u32::from(source.priority()),
    }))
}

/// One entry of either version, or the end of the list.
enum Entry {
    Four(Rc<TableInfo>, RouteInfo<Ip4>),
    Six(Rc<TableInfo>, RouteInfo<Ip6>),
    End,
}

/// Entries of all tables, or the details of the entry with a given index.
pub fn entries(w: &World, m: &Matches) -> Result<Output, Error> {
    let (fib4, fib6) = (w.get::<Fib<Ip4>>(), w.get::<Fib<Ip6>>());
    let four = of_tables(&fib4, fib4.list_tables()).map(|(table, route)| Entry::Four(table, route));
    let six = of_tables(&fib6, fib6.list_tables()).map(|(table, route)| Entry::Six(table, route));
    let only: Option<u32> = m.opt("index")?;
    let none = only.map(|only| {
        let error = Error::not_found(format!("there is no entry {only}"));
        error.at(m.span("index")).retval(retval::NO_SUCH_ENTRY)
    });
    let mut found = false;
    Ok(Output::list(
        four.chain(six).chain([Entry::End]),
        move |w: &World, entry, out: &mut Writer| {
            found |= match entry {
                Entry::Four(table, route) => write_entry(w, only, &table, &route, out),
                Entry::Six(table, route) => write_entry(w, only, &table, &route, out),
                Entry::End => return none.clone().filter(|_| !found).map_or(Ok(()), Err),
            };
            Ok(())
        },
    ))
}

/// Writes an entry if it is wanted; returns true if it is.
fn write_entry<F: Net>(
    w: &World,
    only: Option<u32>,
    table: &TableInfo,
    route: &RouteInfo<F>,
    out: &mut Writer,
) -> bool {
    let (index, prefix) = (route.index.0, &route.prefix);
    match only {
        Some(only) if only != index => return false,
        Some(_) => {
            out.text(|text| detail(w, route, table.index, text));
            write_route(w, route, out);
        }
        None => {
            out.text(|text| writeln!(text, "{index}@{prefix} fib:{}", table.index));
            out.value(
                || json!({ "index": index, "prefix": prefix.to_string(), "table": table.id }),
            );
        }
    }
    true
}

/// Path lists, each with the number of entries that share it.
pub fn path_lists(w: &World, m: &Matches) -> Result<Output, Error> {
    let tables = w.get::<RouteTables>();
    let mut numbers = 0..tables.path_lists_end();
    if let Some(only) = m.opt::<u32>("index")? {
        if tables.path_list(only).is_none() {
            let error = Error::not_found(format!("there is no path list {only}"));
            return Err(error.at(m.span("index")).retval(retval::NO_SUCH_ENTRY));
        }
        numbers = only..only.saturating_add(1);
    }
    Ok(Output::list(numbers, move |w: &World, number, out: &mut Writer| {
        if let Some(list) = tables.path_list(number) {
            write_list(w, &list, out);
        }
        Ok(())
    }))
}

fn write_list(w: &World, list: &PathListInfo, out: &mut Writer) {
    let proto = w.get::<Links>().get(list.link).name;
    let states = list.paths.iter().zip(&list.states);
    let paths: Vec<String> =
        states.map(|((path, _), state)| path_text(w, list.link, path, *state)).collect();
    out.text(|text| {
        let PathListInfo { list, shared, adj, .. } = list;
        writeln!(text, "path-list:[{list}] {proto} locks:{shared} leads to [@{adj}]")?;
        paths.iter().try_for_each(|path| writeln!(text, "  {path}"))
    });
    out.value(|| json!({ "index": list.list, "proto": proto, "locks": list.shared, "adjacency": list.adj.0, "paths": paths }));
}

/// Memory of routes and of the objects that they refer to.
pub fn memory(w: &World, _: &Matches) -> Result<Output, Error> {
    let usage =
        ["load-balance", "adjacency", "alias"].map(|name| Usage::new(name, size_of::<Adj>()));
    Ok(Output::sequence(Memory { indices: Box::new(w.get::<Adjacencies>().indices()), usage }))
}

/// Adds up adjacencies in slices: there may be one for each route.
struct Memory {
    /// Adjacencies that are still to be counted.
    indices: Box<dyn Iterator<Item = AdjIndex>>,
    /// Load-balances with their buckets, other adjacencies, aliases.
    usage: [Usage; 3],
}

impl Sequence<World> for Memory {
    fn next(
        &mut self,
        _: &Tree<World>,
        w: &World,
        _: Option<cli::Result<Vec<OutputPiece>>>,
    ) -> Step {
        let all = w.get::<Adjacencies>();
        let more = cli::slice(|| {
            let Some(index) = self.indices.next() else { return false };
            let Some(info) = all.info(index) else { return true };
            let (at, buckets) = match (info.target, info.adj.kind) {
                (Some(_), _) => (2, 0),
                (None, AdjKind::LoadBalance) => (0, all.buckets_of(info.index).len()),
                (None, _) => (1, 0),
            };
            self.usage[at].used += 1;
            self.usage[at].bytes += size_of::<Adj>() + buckets * size_of::<AdjIndex>();
            true
        });
        if more {
            return Step::More(String::new());
        }
        let adjacencies = self.usage.map(|usage| Usage { allocated: usage.used, ..usage });
        Step::Done(memory_table(w, adjacencies))
    }
}

fn memory_table(w: &World, adjacencies: [Usage; 3]) -> Output {
    let routes = w.get::<RouteTables>().usage();
    let ((groups4, mfib4), (groups6, mfib6)) =
        (w.get::<Mfib<Ip4>>().usage(), w.get::<Mfib<Ip6>>().usage());
    let tables = [
        ("IPv4 unicast", w.get::<Fib<Ip4>>().table_usage()),
        ("IPv6 unicast", w.get::<Fib<Ip6>>().table_usage()),
        ("IPv4 multicast", groups4),
        ("IPv6 multicast", groups6),
    ];
    let objects: Vec<Usage> =
        routes.into_iter().chain(adjacencies).chain([mfib4 + mfib6]).collect();
    let head = Table::new().left("SAFI").right("Number").right("Routes").right("Lookup bytes");
    let (mut shown, mut of_tables) = (head.right("Prefix bytes"), Vec::new());
    for (safi, usage) in tables {
        let TableUsage { tables, routes, lookup, prefixes } = usage;
        shown.row([safi.into(), tables.into(), routes.into(), lookup.into(), prefixes.into()]);
        of_tables.push(json!({ "safi": safi, "number": tables, "routes": routes, "lookup_bytes": lookup, "prefix_bytes": prefixes }));
    }
    let mut nodes =
        Table::new().left("Name").right("Size").right("In use").right("Allocated").right("Bytes");
    let mut of_nodes = Vec::new();
    for Usage { name, size, used, allocated, bytes } in objects {
        nodes.row([name.into(), size.into(), used.into(), allocated.into(), bytes.into()]);
        of_nodes.push(
            json!({ "name": name, "size": size, "in_use": used, "allocated": allocated, "bytes": bytes }),
        );
    }
    let text = format!("Tables\n{}\nObjects\n{}", shown.render(), nodes.render());
    Output::both(text, json!({ "tables": of_tables, "objects": of_nodes }))
}
