// SPDX-License-Identifier: Apache-2.0
//! Queries of routes, for `show`, dumps and features.

use super::entry::{Entry, SourcePaths};
use super::inner::Inner;
use super::list::ListId;
use super::lookup::key;
use super::{
    Fib, Net, Path, PathKind, PathListInfo, RouteIndex, RouteInfo, RouteKey, RouteSource, Source,
    TableIndex, TableRef,
};
use cli::{Error, retval};
use wire::{Family, Prefix};

/// Entries read under one lock when a whole table is walked.
const CHUNK: usize = 256;

impl Inner {
    fn sources(&self, entry: &Entry) -> Vec<RouteSource> {
        let sources = entry.all().filter_map(|SourcePaths { source, list, .. }| {
            Some(RouteSource { source, path_list: self.lists.get(list)?.info(list) })
        });
        sources.collect()
    }

    fn info(&self, index: RouteIndex) -> Option<(RouteIndex, Vec<RouteSource>)> {
        Some((index, self.sources(self.entries.get(index)?)))
    }
}

fn route_info<F: Net>(
    key: RouteKey,
    (index, sources): (RouteIndex, Vec<RouteSource>),
) -> RouteInfo<F> {
    RouteInfo { prefix: F::prefix(key), index, sources }
}

impl<F: Net> Fib<F> {
    /// The entry of exactly this prefix.
    pub fn route(&self, table: TableIndex, prefix: Prefix<F::Addr>) -> Option<RouteInfo<F>> {
        let (inner, key) = (self.all.inner(), key::<F>(prefix));
        let route = inner.table(Self::table_ref(table)).ok()?.lookup.get(key)?;
        inner.info(route).map(|info| route_info(key, info))
    }

    /// The entry that packets to this address take.
    pub fn covering(&self, table: TableIndex, addr: F::Addr) -> Option<RouteInfo<F>> {
        self.longest(table, Prefix::host(addr))
    }

    fn longest(&self, table: TableIndex, prefix: Prefix<F::Addr>) -> Option<RouteInfo<F>> {
        let (inner, RouteKey { bits, len }) = (self.all.inner(), key::<F>(prefix));
        let (key, route) = inner.table(Self::table_ref(table)).ok()?.lookup.covering(bits, len)?;
        inner.info(route).map(|info| route_info(key, info))
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
        self.all.inner().table(Self::table_ref(table))?;
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
        if prefix.len() != <F as Family>::BITS {
            return None;
        }
        {
            let inner = self.all.inner();
            let nexthop = prefix.network().addr().into();
            let path = Path::new(PathKind::Recursive { table, nexthop });
            let list = inner.link(F::LINK)?.interned.get(&[path][..])?;
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
        let inner = self.all.inner();
        let mut all = Vec::new();
        inner.walk_listed(Self::table_ref(table), after.map(key::<F>), &mut |key, index, entry| {
            if all.len() < n {
                all.push(route_info(key, (index, inner.sources(entry))));
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
        let table = Self::table_ref(table);
        self.all.inner().walk_listed(table, after.map(key::<F>), &mut |key, _, _| {
            all.push(F::prefix(key));
            all.len() < n
        });
        all
    }

    /// Calls `f` with the prefixes of a source among at most `n` entries after `after` (or from the
    /// first), in order. Returns the prefix to continue after, if there may be more.
    pub fn for_some_of(
        &self,
        table: TableIndex,
        source: Source,
        after: Option<Prefix<F::Addr>>,
        mut n: usize,
        mut f: impl FnMut(Prefix<F::Addr>, RouteIndex),
    ) -> Option<Prefix<F::Addr>> {
        let (table, mut last) = (Self::table_ref(table), None);
        self.all.inner().walk(table, after.map(key::<F>), &mut |key, index, entry| {
            if entry.of(source).is_some() {
                f(F::prefix(key), index);
            }
            n -= 1;
            last = (n == 0).then(|| F::prefix(key));
            n > 0
        });
        last
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
        self.all.inner().walk_listed(Self::table_ref(table), None, &mut |key, _, _| {
            lengths[usize::from(key.len)] += 1;
            true
        });
        (0..).zip(lengths).filter(|(_, count)| *count > 0).collect()
    }
}

impl super::RouteTables {
    /// The path list with this index.
    pub fn path_list(&self, number: u32) -> Option<PathListInfo> {
        let id = ListId(number);
        self.inner().lists.get(id).map(|list| list.info(id))
    }

    /// An upper bound of the indices of path lists.
    pub fn path_lists_end(&self) -> u32 {
        self.inner().lists.end()
    }

    /// The best source's path list of the entry that packets with this key take in a table, and the
    /// entry's prefix as text.
    pub(super) fn best_paths(&self, table: TableRef, bits: u128) -> Option<(String, PathListInfo)> {
        let inner = self.inner();
        let lookup = &inner.table(table).ok()?.lookup;
        let (key, route) = lookup.covering(bits, lookup.width())?;
        let list = inner.entries.get(route)?.best.list;
        Some((lookup.text(key), inner.lists.get(list)?.info(list)))
    }
}
