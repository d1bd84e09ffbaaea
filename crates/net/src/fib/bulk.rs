// SPDX-License-Identifier: Apache-2.0
//! Changes of many routes: new adjacent prefixes are written to the workers' table in one step.

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

/// The result of one of many changes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Changed {
    /// The route has the new paths.
    Set(RouteIndex),
    /// The source has no paths to the prefix any more. Other sources may have the route still.
    Removed(RouteIndex),
    /// The source had none.
    Nothing,
}

/// Called with each prefix and its result.
type Done<'a> = &'a mut dyn FnMut(RouteKey, Result<Changed, Error>);

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
            inner.enter_all(&cx, &mut new, &mut |_, one| done += usize::from(one.is_ok()))?;
            let place = inner.prefix_entry(table, key)?;
            inner.join(&cx, &place, source, paths)?;
            done += 1;
            Ok(())
        };
        let result = Iterator::try_for_each(&mut routes, &mut add);
        let rest = inner.enter_all(&cx, &mut new, &mut |_, one| done += usize::from(one.is_ok()));
        drop(inner);
        self.settle(world);
        let any = RouteKey { bits: 0, len: 0 };
        self.import(world, (table, any), source, attached.values());
        (done, rest.and(result))
    }

    /// As [`Fib::change_all`](super::Fib::change_all).
    pub fn change_all(
        &self,
        world: &World,
        table: TableRef,
        source: Source,
        changes: &mut dyn Iterator<Item = (RouteKey, &[Path])>,
        done: Done<'_>,
    ) {
        let (mut inner, cx) = (self.inner(), Cx::new(self, world));
        let mut new = NewEntries { table, leaves: Vec::new(), sources: Vec::new() };
        // Connected prefixes: neighbours' host routes depend on them.
        let mut attached: Vec<(RouteKey, Vec<Path>)> = Vec::new();
        for (key, paths) in changes {
            let mut change = || {
                if !new.ascends(key) {
                    // Prefixes that fail are reported by themselves.
                    let _ = inner.enter_all(&cx, &mut new, done);
                }
                if !paths.is_empty() {
                    self.check(&inner, paths)?;
                }
                let place = inner.prefix_entry(table, key)?;
                let old = inner.all_paths_of(&place, source).map_or(&[][..], |old| &old.paths[..]);
                let is_attached = |path: &&Path| matches!(path.kind, PathKind::Attached { .. });
                let of: Vec<_> = old.iter().chain(paths).filter(is_attached).copied().collect();
                if !of.is_empty() {
                    attached.push((key, of));
                }
                match place.route {
                    Some(route) if paths.is_empty() => {
                        let is_gone = inner.take(&cx, &place, source);
                        Ok(Some(if is_gone { Changed::Removed(route) } else { Changed::Nothing }))
                    }
                    None if paths.is_empty() => Ok(Some(Changed::Nothing)),
                    Some(_) => inner.put(&cx, &place, source, paths).map(|r| Some(Changed::Set(r))),
                    None => inner.prepare(&cx, &mut new, key, source, paths).map(|()| None),
                }
            };
            match change() {
                Ok(None) => {} // reported with the others of its step
                Ok(Some(changed)) => done(key, Ok(changed)),
                Err(error) => done(key, Err(error)),
            }
        }
        let _ = inner.enter_all(&cx, &mut new, done);
        drop(inner);
        self.settle(world);
        for (key, paths) in attached {
            self.import(world, (table, key), source, &paths);
        }
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
        done: Done<'_>,
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
                done(key, Err(full()));
                continue;
            }
            self.counts.set(new.table.link, entry, None);
            self.entries.set(route, Some(Entry::new(entry)));
            if !self.vias.is_empty() {
                affected.append(&mut self.affected(new.table, key, lookup.width()));
            }
        }
        for (key, leaf) in &new.leaves[..n] {
            done(*key, Ok(Changed::Set(RouteIndex(leaf.route))));
        }
        let all = new.leaves.len() == n;
        new.leaves.clear();
        self.refresh(cx, affected);
        if all { Ok(()) } else { Err(full()) }
    }
}
