// SPDX-License-Identifier: Apache-2.0
//! Tables and routes that were set, as commands.

use crate::cli::route::FIXED;
use crate::walk::of_tables;
use cli::quote;
use graph::{Phase, RunningConfig, SwIfIndex, World, filled};
use net::fib::ResolveVia;
use net::{
    Fib, FlowHash, FlowRouterId, Interfaces, Net, Path, PathKind, Routes, Source, TableIndex,
    TableRef,
};
use std::collections::BTreeMap;
use wire::{Ip4, Ip6};

/// Writes the configuration.
pub fn write_config(world: &World, config: &mut RunningConfig) {
    tables::<Ip4>(world, config);
    tables::<Ip6>(world, config);
    routes::<Ip4>(world, config);
    routes::<Ip6>(world, config);
    let id = world.get::<FlowRouterId>().get();
    if id != 0 {
        config.value(Phase::TABLES, "set ip flow-hash router-id", id, 0);
    }
    if !world.get::<Routes>().counting() {
        config.value(Phase::TABLES, "set ip route-counters", "off", "on");
    }
}

fn tables<F: Net>(world: &World, config: &mut RunningConfig) {
    let (fib, ip) = (world.get::<Fib<F>>(), if F::IS_V6 { "ip6" } else { "ip" });
    config.list(Phase::TABLES, fib.list_tables(), move |_, table, lines| {
        let id = table.id;
        if table.index != TableIndex::DEFAULT {
            let own = table.name != Fib::<F>::usual_name(id);
            let name = if own { format!(" name {}", quote(&table.name)) } else { String::new() };
            lines.push(format!("{ip} table add {id}{name}"), format!("{ip} table del {id}"));
        }
        let flow = fib.flow_hash(table.index).unwrap_or_default();
        if flow != FlowHash::default() {
            let words = |flow: FlowHash| flow.names().join(" ");
            let line = format!("set {ip} flow-hash table {id}");
            lines.value(&line, words(flow), words(FlowHash::default()));
        }
    });
}

/// One line for each path: what is added to a route doesn't disturb its other paths.
fn routes<F: Net>(world: &World, config: &mut RunningConfig) {
    let tables = world.get::<Fib<F>>().list_tables();
    let ids = Ids::new(world);
    let interfaces = world.get::<Interfaces>();
    config.list(
        Phase::ROUTES,
        of_tables(&world.get::<Fib<F>>(), tables),
        move |_, (table, route), lines| {
            let set =
                route.sources.iter().filter(|s| matches!(s.source, Source::Cli | Source::Api));
            let mut of = String::new();
            if table.index != TableIndex::DEFAULT {
                of = format!(" table {}", table.id);
            }
            for (path, _) in set.flat_map(|s| &s.paths) {
                let rest = format!(
                    "{}{of} {}",
                    route.prefix,
                    via::<F>(&interfaces, &ids, table.index, path)
                );
                lines.push(format!("ip route add {rest}"), format!("ip route del {rest}"));
            }
        },
    );
}

/// The ids of the tables of both protocols.
pub struct Ids(BTreeMap<TableRef, u32>);

impl Ids {
    /// Of all tables that exist now.
    pub fn new(world: &World) -> Self {
        fn of<F: Net>(world: &World) -> Vec<(TableRef, u32)> {
            let all = world.get::<Fib<F>>().list_tables();
            all.iter().map(|t| (Fib::<F>::table_ref(t.index), t.id)).collect()
        }
        Self(of::<Ip4>(world).into_iter().chain(of::<Ip6>(world)).collect())
    }
}

/// A path of a route in `table`, as commands have it.
pub fn via<F: Net>(interfaces: &Interfaces, ids: &Ids, table: TableIndex, path: &Path) -> String {
    let name = |sw_if| quote(&interfaces.name(sw_if));
    let id = |table: TableRef| ids.0.get(&table).copied().unwrap_or(u32::MAX);
    let mut text = match path.kind {
        PathKind::Neighbor { sw_if, nexthop } => format!("via {nexthop} {}", name(sw_if)),
        PathKind::Recursive { table: t, nexthop } => {
            let at = TableRef::of_address(t, nexthop);
            // Without the words, a next hop of the route's protocol is in the route's table.
            let is_same = at == Fib::<F>::table_ref(table);
            let words = format!(" next-hop-table {}", id(at));
            format!("via {nexthop}{}", if is_same { "" } else { &words })
        }
        PathKind::Attached { sw_if, .. } => format!("via {}", name(sw_if)),
        PathKind::Lookup(t) => format!("via {}-lookup-in-table {}", F::NAME, id(t)),
        PathKind::SourceLookup(t) => format!("via {}-source-lookup-in-table {}", F::NAME, id(t)),
        PathKind::Receive { sw_if, address } => format!("via local {address} {}", name(sw_if)),
        // A route has no other adjacency of these; its line would be refused and stay pending.
        PathKind::Fixed(adj) => {
            let words = FIXED.iter().find(|(_, of)| *of == adj).map(|(words, _)| words[0]);
            words.map_or_else(|| format!("via adjacency {}", adj.0), |word| format!("via {word}"))
        }
        PathKind::Object(of, number) => {
            let words = filled(of.words, F::IS_V6);
            match of.interface {
                Some(_) => format!("via {words} {}", name(SwIfIndex(number))),
                None => format!("via {words} {number}"),
            }
        }
    };
    if path.weight > 1 {
        text += &format!(" weight {}", path.weight);
    }
    if path.preference != 0 {
        text += &format!(" preference {}", path.preference);
    }
    text += match path.resolve_via {
        ResolveVia::Any => "",
        ResolveVia::Host => " resolve-via-host",
        ResolveVia::Attached => " resolve-via-attached",
    };
    text
}
