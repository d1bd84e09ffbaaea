// SPDX-License-Identifier: Apache-2.0
//! Adding many routes: adjacent prefixes are written to the workers' table in one step.

use super::control::{Cx, Inner, full};
use super::entry::{Entry, SourcePaths};
use super::{Fib, Net, Path, PathKind, RouteIndex, Source, TableIndex};
use cli::Error;
use graph::World;
use std::collections::{BTreeMap, BTreeSet};
use tables::{Leaf, Route};
use wire::Prefix;

/// Entries not yet in the workers' table, sorted by prefix.
struct NewEntries<F: Net> {
    table: TableIndex,
    leaves: Vec<Route<F::Key>>,
    sources: Vec<SourcePaths>,
}

impl<F: Net> Fib<F> {
    /// As [`Self::add`] for each of these routes; fastest if they are sorted by prefix. Packets may
    /// find the first ones before the last are added. Returns how many were added, and the
    /// error that ended it, if one did.
    pub fn add_all<'p>(
        &self,
        world: &World,
        table: TableIndex,
        source: Source,
        routes: impl IntoIterator<Item = (Prefix<F::Addr>, &'p [Path<F::Addr>])>,
    ) -> (usize, Result<(), Error>)
    where
        F::Addr: 'p,
    {
        let (mut inner, cx) = (self.inner(), self.cx(world));
        let mut attached = BTreeMap::new();
        let any = (table, Prefix::DEFAULT);
        let mut new = NewEntries { table, leaves: Vec::new(), sources: Vec::new() };
        let mut done = 0;
        let mut add = |(prefix, paths)| {
            self.check(&inner, paths)?;
            for path in paths {
                if let PathKind::Attached { sw_if, .. } = path.kind {
                    attached.insert(sw_if, *path);
                }
            }
            let place = inner.prefix_entry(table, prefix)?;
            if place.route.is_none() && new.ascends(place.prefix) {
                return inner.prepare(&cx, &mut new, place.prefix, source, paths);
            }
            inner.enter_all(&cx, &mut new, &mut done)?;
            let place = inner.prefix_entry(table, prefix)?;
            inner.join(&cx, &place, source, paths)?;
            done += 1;
            Ok(())
        };
        let result = routes.into_iter().try_for_each(&mut add);
        let rest = inner.enter_all(&cx, &mut new, &mut done);
        drop(inner);
        self.settle(world);
        self.import(world, any, source, attached.values());
        (done, rest.and(result))
    }
}

impl<F: Net> NewEntries<F> {
    /// Returns true if the prefix sorts after all of these entries.
    fn ascends(&self, prefix: Prefix<F::Addr>) -> bool {
        let last = self.leaves.last();
        last.is_none_or(|last| (last.key, last.len) < (F::key(prefix.addr()), prefix.len()))
    }
}

impl<F: Net> Inner<F> {
    fn prepare(
        &mut self,
        cx: &Cx<'_>,
        new: &mut NewEntries<F>,
        prefix: Prefix<F::Addr>,
        source: Source,
        paths: &[Path<F::Addr>],
    ) -> Result<(), Error> {
        let route = cx.routes.allocate().ok_or_else(full)?;
        let list = self.intern(cx, paths);
        let adj = self.adj(list);
        cx.routes.point_to(route, adj);
        let leaf = Leaf { hop: adj.0, route: route.0 };
        new.leaves.push(Route { key: F::key(prefix.addr()), len: prefix.len(), leaf });
        new.sources.push(SourcePaths { source, list, stale: false });
        Ok(())
    }

    /// Writes the entries to the workers' table.
    fn enter_all(
        &mut self,
        cx: &Cx<'_>,
        new: &mut NewEntries<F>,
        done: &mut usize,
    ) -> Result<(), Error> {
        if new.leaves.is_empty() {
            return Ok(());
        }
        let n = self.table(new.table)?.lpm.insert_all(&new.leaves);
        let mut affected = BTreeSet::new();
        for (i, entry) in new.sources.drain(..).enumerate() {
            let Route { key, len, leaf } = new.leaves[i];
            let route = RouteIndex(leaf.route);
            if i >= n {
                cx.routes.free(route);
                self.let_go(cx, entry.list);
                continue;
            }
            self.entries.set(route, Some(Entry::new(entry)));
            if let Some(prefix) = Prefix::new(F::addr(key), len) {
                self.note_moved(cx.cross_family, new.table, prefix);
                if !self.vias.is_empty() {
                    affected.append(&mut self.affected(new.table, prefix));
                }
            }
        }
        *done += n;
        let all = new.leaves.len() == n;
        new.leaves.clear();
        self.refresh(cx, affected);
        if all { Ok(()) } else { Err(full()) }
    }
}
