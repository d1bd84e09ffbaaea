// SPDX-License-Identifier: Apache-2.0
//! Queries of routes, for `show`, dumps and features.

use super::control::Inner;
use super::entry::{Entry, SourcePaths};
use super::list::ListId;
use super::{
    Fib, Net, Path, PathKind, PathListInfo, RouteIndex, RouteInfo, RouteSource, Source, TableIndex,
};
use cli::{Error, retval};
use tables::Route;
use wire::{Family, Prefix};

/// Entries read under one lock when a whole table is walked.
const CHUNK: usize = 256;

fn prefix_of<F: Net>(route: Route<F::Key>) -> Option<Prefix<F::Addr>> {
    Prefix::new(F::addr(route.key), route.len)
}

impl<F: Net> Inner<F> {
    #[inline(never)]
    fn info(&self, prefix: Prefix<F::Addr>, index: RouteIndex, entry: &Entry) -> RouteInfo<F> {
        let sources = entry.all().filter_map(|SourcePaths { source, list, .. }| {
            Some(RouteSource { source, path_list: self.lists.get(list)?.info(list) })
        });
        RouteInfo { prefix, index, sources: sources.collect() }
    }

    /// Calls `f` on the entries after a prefix, in order, until it returns false.
    pub fn walk(
        &self,
        table: TableIndex,
        after: Option<Prefix<F::Addr>>,
        mut f: impl FnMut(Prefix<F::Addr>, RouteIndex, &Entry) -> bool,
    ) {
        let Ok(table) = self.table(table) else { return };
        table.lpm.walk(after.map(|p| (F::key(p.addr()), p.len())), &mut |route| {
            let index = RouteIndex(route.leaf.route);
            match (prefix_of::<F>(route), self.entries.get(index)) {
                (Some(prefix), Some(entry)) => f(prefix, index, entry),
                _ => true,
            }
        });
    }

    /// As [`Self::walk`], without implicit entries.
    fn walk_listed(
        &self,
        table: TableIndex,
        after: Option<Prefix<F::Addr>>,
        mut f: impl FnMut(Prefix<F::Addr>, RouteIndex, &Entry) -> bool,
    ) {
        self.walk(table, after, |prefix, index, entry| {
            entry.is_implicit() || f(prefix, index, entry)
        });
    }

    /// The longest entry that covers the first `len` bits of an address: its route index and the
    /// path list in force.
    pub fn covering(
        &self,
        table: TableIndex,
        addr: F::Addr,
        len: u8,
    ) -> Option<(RouteIndex, ListId)> {
        let route = RouteIndex(self.table(table).ok()?.lpm.covering(F::key(addr), len)?.leaf.route);
        Some((route, self.entries.get(route)?.best.list))
    }
}

impl<F: Net> Fib<F> {
    /// The entry of exactly this prefix.
    pub fn route(&self, table: TableIndex, prefix: Prefix<F::Addr>) -> Option<RouteInfo<F>> {
        let inner = self.inner();
        let place = inner.prefix_entry(table, prefix).ok()?;
        Some(inner.info(place.prefix, place.route?, inner.entries.get(place.route?)?))
    }

    /// The entry that packets to this address take.
    pub fn covering(&self, table: TableIndex, addr: F::Addr) -> Option<RouteInfo<F>> {
        self.longest(table, Prefix::host(addr))
    }

    /// The path list with this index.
    pub fn path_list(&self, number: u32) -> Option<PathListInfo<F>> {
        let id = ListId(number);
        self.inner().lists.get(id).map(|list| list.info(id))
    }

    /// An upper bound of the indices of path lists.
    pub fn path_lists_end(&self) -> u32 {
        self.inner().lists.end()
    }

    fn longest(&self, table: TableIndex, prefix: Prefix<F::Addr>) -> Option<RouteInfo<F>> {
        let inner = self.inner();
        let route = inner.table(table).ok()?.lpm.covering(F::key(prefix.addr()), prefix.len())?;
        let index = RouteIndex(route.leaf.route);
        Some(inner.info(prefix_of::<F>(route)?, index, inner.entries.get(index)?))
    }

    /// The entry of exactly this prefix, implicit ones excepted, or the longest that covers it. A
    /// host whose route a feature follows ([`Tracked`](super::Tracked)) has an entry, as in
    /// VPP: it shows the one that covers it.
    ///
    /// # Errors
    /// No such table (−3), no such entry (−6).
    pub fn lookup(
        &self,
        table: TableIndex,
        prefix: Prefix<F::Addr>,
        exact: bool,
    ) -> Result<RouteInfo<F>, Error> {
        self.inner().table(table)?;
        let is_listed =
            |route: &RouteInfo<F>| route.sources.iter().any(|s| s.source != Source::Implicit);
        let exactly =
            || self.route(table, prefix).filter(is_listed).or_else(|| self.followed(table, prefix));
        let found = if exact { exactly() } else { self.longest(table, prefix) };
        found.ok_or_else(|| {
            Error::not_found(format!("there is no route {}", prefix.network()))
                .retval(retval::NO_SUCH_ENTRY)
        })
    }

    /// The route to a host as the feature that follows it sees it.
    fn followed(&self, table: TableIndex, prefix: Prefix<F::Addr>) -> Option<RouteInfo<F>> {
        if prefix.len() != F::BITS {
            return None;
        }
        {
            let inner = self.inner();
            let path = Path::new(PathKind::Recursive { table, nexthop: prefix.network().addr() });
            let list = inner.interned.get(&[path][..])?;
            inner.lists.get(*list).filter(|list| list.trackers > 0)?;
        }
        self.longest(table, prefix).map(|cover| RouteInfo { prefix, ..cover })
    }

    /// At most `n` entries of a table in order, after `after` (or from the first). The table may
    /// change between two calls, and `after` may be gone: an entry that exists all the time is
    /// returned once.
    pub fn routes_from(
        &self,
        table: TableIndex,
        after: Option<Prefix<F::Addr>>,
        n: usize,
    ) -> Vec<RouteInfo<F>> {
        let inner = self.inner();
        let mut all = Vec::new();
        inner.walk_listed(table, after, |prefix, index, entry| {
            if all.len() < n {
                all.push(inner.info(prefix, index, entry));
            }
            all.len() < n
        });
        all
    }

    /// As [`Self::routes_from`], the prefixes alone.
    pub fn prefixes_from(
        &self,
        table: TableIndex,
        after: Option<Prefix<F::Addr>>,
        n: usize,
    ) -> Vec<Prefix<F::Addr>> {
        let mut all = Vec::new();
        self.inner().walk_listed(table, after, |prefix, _, _| {
            all.push(prefix);
            all.len() < n
        });
        all
    }

    /// Calls `f` on every entry of a table in order; the table may change meanwhile.
    pub fn for_each(&self, table: TableIndex, mut f: impl FnMut(RouteInfo<F>)) {
        let mut after = None;
        loop {
            let chunk = self.routes_from(table, after, CHUNK);
            let Some(last) = chunk.last() else { return };
            after = Some(last.prefix);
            chunk.into_iter().for_each(&mut f);
        }
    }

    /// Number of entries of each prefix length in a table.
    pub fn lengths(&self, table: TableIndex) -> Vec<(u8, usize)> {
        let mut lengths = vec![0; usize::from(<F as Family>::BITS) + 1];
        self.inner().walk_listed(table, None, |prefix, _, _| {
            lengths[usize::from(prefix.len())] += 1;
            true
        });
        (0..).zip(lengths).filter(|(_, count)| *count > 0).collect()
    }
}
