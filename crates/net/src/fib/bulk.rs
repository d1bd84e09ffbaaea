// SPDX-License-Identifier: Apache-2.0
//! Adding many routes: adjacent prefixes are written to the workers' table in one step.

use super::entry::{Entry, SourcePaths};
use super::inner::{Cx, Inner, full};
use super::{Path, PathKind, RouteIndex, RouteKey, RouteTables, Source, TableRef};
use cli::Error;
use graph::World;
use std::collections::{BTreeMap, BTreeSet};
use tables::Leaf;

/// Entries not yet in the workers' table, sorted by prefix.
struct NewEntries {
    table: TableRef,
    leaves: Vec<(RouteKey, Leaf)>,
    sources: Vec<SourcePaths>,
}

impl RouteTables {
    /// As [`Fib::add_all`](super::Fib::add_all).
    pub fn add_all<'p>(
        &self,
        world: &World,
        table: TableRef,
        source: Source,
        mut routes: &mut dyn Iterator<Item = (RouteKey, &'p [Path])>,
    ) -> (usize, Result<(), Error>) {
        let (mut inner, cx) = (self.inner(), Cx::new(self, world));
        let mut attached = BTreeMap::new();
        let mut new = NewEntries { table, leaves: Vec::new(), sources: Vec::new() };
        let mut done = 0;
        let mut add = |(key, paths): (RouteKey, &'p [Path])| {
            self.check(&inner, paths)?;
            for path in paths {
                if let PathKind::Attached { sw_if, .. } = path.kind {
                    attached.insert(sw_if, *path);
                }
            }
            let place = inner.prefix_entry(table, key)?;
            if place.route.is_none() && new.ascends(key) {
                return inner.prepare(&cx, &mut new, key, source, paths);
            }
            inner.enter_all(&cx, &mut new, &mut done)?;
            let place = inner.prefix_entry(table, key)?;
            inner.join(&cx, &place, source, paths)?;
            done += 1;
            Ok(())
        };
        let result = Iterator::try_for_each(&mut routes, &mut add);
        let rest = inner.enter_all(&cx, &mut new, &mut done);
        drop(inner);
        self.settle(world);
        let any = RouteKey { bits: 0, len: 0 };
        self.import(world, (table, any), source, attached.values());
        (done, rest.and(result))
    }
}

impl NewEntries {
    /// Returns true if the prefix sorts after all of these entries.
    fn ascends(&self, key: RouteKey) -> bool {
        self.leaves.last().is_none_or(|(last, _)| *last < key)
    }
}

impl Inner {
    fn prepare(
        &mut self,
        cx: &Cx<'_>,
        new: &mut NewEntries,
        key: RouteKey,
        source: Source,
        paths: &[Path],
    ) -> Result<(), Error> {
        let route = cx.routes.allocate().ok_or_else(full)?;
        let list = self.intern(cx, new.table.link, paths);
        let adj = self.adj(list);
        cx.routes.point_to(route, adj);
        new.leaves.push((key, Leaf { hop: adj.0, route: route.0 }));
        new.sources.push(SourcePaths { source, list, stale: false });
        Ok(())
    }

    /// Writes the entries to the workers' table.
    fn enter_all(
        &mut self,
        cx: &Cx<'_>,
        new: &mut NewEntries,
        done: &mut usize,
    ) -> Result<(), Error> {
        if new.leaves.is_empty() {
            return Ok(());
        }
        let lookup = self.table(new.table)?.lookup.clone();
        let n = lookup.insert_all(&new.leaves);
        let mut affected = BTreeSet::new();
        for (i, entry) in new.sources.drain(..).enumerate() {
            let (key, leaf) = new.leaves[i];
            let route = RouteIndex(leaf.route);
            if i >= n {
                cx.routes.free(route);
                self.let_go(cx, entry.list);
                continue;
            }
            self.entries.set(route, Some(Entry::new(entry)));
            if !self.vias.is_empty() {
                affected.append(&mut self.affected(new.table, key, lookup.width()));
            }
        }
        *done += n;
        let all = new.leaves.len() == n;
        new.leaves.clear();
        self.refresh(cx, affected);
        if all { Ok(()) } else { Err(full()) }
    }
}
