// SPDX-License-Identifier: Apache-2.0
//! Routes.

use super::table::IpTable;
use super::{again, source};
use cli::{Error, Result};
use graph::World;
use msg::{Messages, retval};
use net::api::{FibPath, Prefix, path_of, path_to};
use net::fib::RouteInfo;
use net::{Fib, Net, RouteTables, Source, TableIndex};
use std::sync::Arc;
use wire::{Ip4, Ip6};

pub(super) fn messages(m: &mut Messages<World>) {
    m.call(add_del);
    m.call(add_del_v2);
    m.dump(dump);
    m.dump_some(dump_v2);
    m.call(|w, r: IpRouteLookup| find(w, r.table_id, r.exact != 0, &r.prefix).map(IpRoute::from));
    m.call(|w, r: IpRouteLookupV2| find(w, r.table_id, r.exact != 0, &r.prefix));
}

msg::messages! {
    /// A route.
    #[from(IpRouteV2)]
    IpRoute,
    /// A route and its source.
    IpRouteV2,
    /// Adds or removes a route of the binary API, or paths of it.
    IpRouteAddDel,
    /// Adds or removes a route of any source, or paths of it.
    IpRouteAddDelV2,
    /// Asks for all routes of a table.
    IpRouteDump,
    /// A route.
    IpRouteDetails,
    /// Asks for the routes of a table that are from a source.
    IpRouteV2Dump,
    /// A route and its source.
    IpRouteV2Details,
    /// Asks for the route of exactly this prefix, or the one that packets to it take.
    IpRouteLookup,
    /// Asks for the route of exactly this prefix, or the one that packets to it take.
    IpRouteLookupV2,
    /// A route and its source.
    IpRouteLookupV2Reply,
}

impl IpRouteV2 {
    fn of<F: Net>(tables: &RouteTables, table_id: u32, route: &RouteInfo<F>) -> Self {
        // Only paths of the best source, which packets take.
        let best = route.sources.first();
        let paths = best.map_or(&[][..], |s| &s.paths);
        Self {
            table_id,
            stats_index: route.index.0,
            prefix: route.prefix.into(),
            src: best.map_or(0, |s| source::id(s.source)),
            paths: paths.iter().map(|(path, _)| path_to(tables, F::LINK, path)).collect(),
        }
    }
}

fn add_del(w: &World, r: IpRouteAddDel) -> Result<u32> {
    let change = Change { is_add: r.is_add, is_multipath: r.is_multipath, source: Source::Api };
    change.make(w, r.route.table_id, &r.route.prefix, &r.route.paths)
}

fn add_del_v2(w: &World, r: IpRouteAddDelV2) -> Result<u32> {
    let source = source::to_add(w, r.route.src)?;
    let change = Change { is_add: r.is_add, is_multipath: r.is_multipath, source };
    change.make(w, r.route.table_id, &r.route.prefix, &r.route.paths)
}

struct Change {
    is_add: bool,
    is_multipath: bool,
    source: Source,
}

impl Change {
    /// The route's number, if it was added.
    fn make(&self, w: &World, table: u32, prefix: &Prefix, paths: &[FibPath]) -> Result<u32> {
        if let Some(prefix) = prefix.of::<Ip4>()? {
            return self.make_of::<Ip4>(w, table, prefix, paths);
        }
        prefix
            .of::<Ip6>()?
            .map_or(Ok(u32::MAX), |prefix| self.make_of::<Ip6>(w, table, prefix, paths))
    }

    fn make_of<F: Net>(
        &self,
        w: &World,
        table: u32,
        prefix: wire::Prefix<F::Addr>,
        paths: &[FibPath],
    ) -> Result<u32> {
        let fib = w.get::<Fib<F>>();
        let table = fib.find_table(table)?;
        let source = self.source;
        let paths =
            paths.iter().map(|path| path_of(w, F::LINK, path)).collect::<Result<Vec<_>>>()?;
        let paths = crate::host::paths_to::<F>(w, prefix, &paths);
        let removed = |gone| again(gone, retval::NO_SUCH_ENTRY, ()).map(|()| u32::MAX);
        match (self.is_add, self.is_multipath) {
            (true, true) => Ok(fib.add(w, table, prefix, source, &paths)?.0),
            (true, false) => Ok(fib.set(w, table, prefix, source, &paths)?.0),
            (false, true) if paths.is_empty() => {
                Err(Error::usage("which paths?").retval(retval::NO_PATHS_IN_ROUTE))
            }
            (false, true) => removed(fib.remove(w, table, prefix, source, &paths)),
            (false, false) => removed(fib.remove(w, table, prefix, source, &[])),
        }
    }
}

/// Routes read at once.
const CHUNK: usize = 256;

/// The routes of a table as they are when their turn comes: the table may change meanwhile.
struct Walk<F: Net> {
    fib: Arc<Fib<F>>,
    tables: Arc<RouteTables>,
    table: TableIndex,
    id: u32,
    /// The next ones.
    chunk: std::vec::IntoIter<RouteInfo<F>>,
    /// The last one that was read.
    last: Option<wire::Prefix<F::Addr>>,
}

/// The routes of a table of either version.
fn walk(w: &World, table: &IpTable) -> Result<Box<dyn Iterator<Item = IpRouteV2>>> {
    net::by_version!(table.is_ip6, walk_of(w, table.table_id))
}

fn walk_of<F: Net>(w: &World, id: u32) -> Result<Box<dyn Iterator<Item = IpRouteV2>>> {
    let fib = w.get::<Fib<F>>();
    let table = fib.find_table(id)?;
    Ok(Box::new(Walk {
        fib,
        tables: w.get(),
        table,
        id,
        chunk: Vec::new().into_iter(),
        last: None,
    }))
}

impl<F: Net> Iterator for Walk<F> {
    type Item = IpRouteV2;

    fn next(&mut self) -> Option<IpRouteV2> {
        if self.chunk.as_slice().is_empty() {
            // The index may be another table's meanwhile.
            self.fib.table_id(self.table).filter(|id| *id == self.id)?;
            let chunk = self.fib.routes_from(self.table, self.last, CHUNK);
            self.last = chunk.last().map_or(self.last, |route| Some(route.prefix));
            self.chunk = chunk.into_iter();
        }
        self.chunk.next().map(|route| IpRouteV2::of(&self.tables, self.id, &route))
    }
}

fn dump(w: &World, r: IpRouteDump) -> Result<impl Iterator<Item = IpRouteDetails> + use<>> {
    Ok(walk(w, &r.table)?.map(|route| IpRouteDetails { route: route.into() }))
}

fn dump_v2(
    w: &World,
    r: IpRouteV2Dump,
) -> Result<impl Iterator<Item = Option<IpRouteV2Details>> + use<>> {
    let is_wanted = move |route: &IpRouteV2| r.src == 0 || route.src == r.src;
    Ok(walk(w, &r.table)?.map(move |route| is_wanted(&route).then_some(IpRouteV2Details { route })))
}

fn find(w: &World, table_id: u32, exact: bool, prefix: &Prefix) -> Result<IpRouteV2> {
    if let Some(prefix) = prefix.of::<Ip4>()? {
        return find_of::<Ip4>(w, table_id, exact, prefix);
    }
    let none = || Error::not_found("there is no such route").retval(retval::NO_SUCH_ENTRY);
    find_of::<Ip6>(w, table_id, exact, prefix.of::<Ip6>()?.ok_or_else(none)?)
}

fn find_of<F: Net>(
    w: &World,
    table_id: u32,
    exact: bool,
    prefix: wire::Prefix<F::Addr>,
) -> Result<IpRouteV2> {
    let fib = w.get::<Fib<F>>();
    let route = fib.lookup(fib.find_table(table_id)?, prefix, exact)?;
    Ok(IpRouteV2::of(&w.get::<RouteTables>(), table_id, &route))
}
