// SPDX-License-Identifier: Apache-2.0
//! Operations on tables of any link type: make, delete, flush, replace.

use super::entry::SourcePaths;
use super::inner::{Cx, Table};
use super::lookup::Lookup;
use super::{Path, PathKind, RouteIndex, RouteKey, RouteTables, Source, TableIndex, TableRef};
use crate::{AdjIndex, Link};
use cli::{Error, retval};
use graph::World;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use tables::ResultKind;

/// A new table.
pub struct NewTable<'a> {
    /// The number that operators give it.
    pub id: u32,
    /// Its name.
    pub name: &'a str,
    /// True for the table of one link's link-local addresses.
    pub of_link: bool,
    /// The table that packets are looked up in; empty.
    pub lookup: Arc<dyn Lookup>,
    /// The routes that it begins with.
    pub routes: Vec<(RouteKey, Source, AdjIndex)>,
}

/// Number of removed routes, and the prefix to continue after.
type Removed = (usize, Option<RouteKey>);

impl RouteTables {
    /// The result that lookups have to return: routes only if packets are counted by route.
    pub(super) fn wanted(&self) -> ResultKind {
        if self.routes.counting() { ResultKind::Routes } else { ResultKind::Hops }
    }

    /// Rebuilds large tables after counting by route was turned on or off.
    pub(super) fn suit_counting(&self) {
        let inner = self.inner();
        for (_, table) in inner.links().flat_map(|link| inner.tables(link)) {
            table.lookup.set_wanted(self.wanted());
        }
    }

    /// Adds a table. Returns its index and its first route. A table without an owner stays until it
    /// has had one.
    ///
    /// # Errors
    /// No memory.
    pub fn add_table(
        &self,
        world: &World,
        link: Link,
        new: NewTable<'_>,
    ) -> Result<(TableIndex, Option<RouteIndex>), Error> {
        let mut inner = self.inner();
        new.lookup.set_wanted(self.wanted());
        let tables = inner.link_mut(link);
        let free = tables.all.iter().position(Option::is_none).unwrap_or(tables.all.len());
        let index = TableIndex(free as u32);
        if free == tables.all.len() {
            tables.all.push(None);
        }
        tables.all[free] = Some(Table {
            id: new.id,
            name: new.name.to_string(),
            lookup: new.lookup,
            of_link: new.of_link,
            implicit: 0,
            owners: Vec::new(),
            held: 0,
        });
        if !new.of_link {
            tables.ids.insert(new.id, index);
        }
        let (cx, mut first) = (Cx::new(self, world), None);
        for (key, source, adj) in new.routes {
            let place = inner.prefix_entry(TableRef { link, index }, key)?;
            let route = inner.put(&cx, &place, source, &[Path::new(PathKind::Fixed(adj))])?;
            first.get_or_insert(route);
        }
        Ok((index, first))
    }

    /// Lets a source own a table.
    pub(super) fn own_table(&self, world: &World, table: TableRef, source: Source) {
        let mut inner = self.inner();
        inner.unowned.remove(&table);
        if let Some(table) = inner.table_mut(table)
            && !table.owners.contains(&source)
        {
            table.owners.push(source);
            world.note_config_change();
        }
    }

    /// As [`Fib::delete_table`](super::Fib::delete_table), of a table that is there and may be
    /// deleted. `flush` removes routes of a source that aren't in this table's lookup.
    pub(super) fn disown_table(
        &self,
        world: &World,
        table: TableRef,
        source: Source,
        flush: &dyn Fn(Source),
    ) -> Result<(), Error> {
        let gone = {
            let mut inner = self.inner();
            let Some(at) = inner.table_mut(table) else { return Ok(()) };
            let is_own = |owner: &Source| *owner == source || !at.owners.contains(&source);
            let gone: Vec<Source> = at.owners.iter().copied().filter(is_own).collect();
            at.owners.retain(|owner| !gone.contains(owner));
            if at.owners.is_empty() {
                inner.unowned.insert(table);
            }
            gone
        };
        world.note_config_change();
        for source in gone.into_iter().chain([source]) {
            flush(source);
            self.remove_where(world, table, &|s, _| s == source)?;
        }
        self.note_left(world);
        Ok(())
    }

    /// Takes a reference on a table.
    pub(super) fn hold_table(&self, table: TableRef) {
        if let Some(table) = self.inner().table_mut(table) {
            table.held += 1;
        }
    }

    /// Gives back a reference that [`Self::hold_table`] took.
    pub(super) fn release_table(&self, world: &World, table: TableRef) {
        if let Some(table) = self.inner().table_mut(table) {
            table.held -= 1;
        }
        self.note_left(world);
    }

    /// Removes unused tables after an interface or an owner has left one.
    pub(crate) fn note_left(&self, world: &World) {
        self.reap_due.store(true, Ordering::Relaxed);
        self.settle(world);
    }

    /// Removes the tables without owner that nothing uses.
    pub(super) fn reap(&self, world: &World) {
        let unowned = self.inner().unowned.clone();
        for table in unowned {
            if self.user(world, table).is_none() {
                // The table being gone already is the wanted result.
                let _ = self.unmake_table(world, table);
            }
        }
    }

    /// As [`Fib::user`](super::Fib::user).
    pub(super) fn user(&self, world: &World, table: TableRef) -> Option<String> {
        let (lookup, id) = {
            let inner = self.inner();
            let at = inner.table(table).ok()?;
            if at.held > 0 {
                return Some("a feature uses it".into());
            }
            (at.lookup.clone(), (!at.of_link).then_some(at.id))
        };
        lookup.bound_interface(world, table.index, id).or_else(|| self.leading_to(table))
    }

    pub(super) fn unmake_table(&self, world: &World, table: TableRef) -> Result<(), Error> {
        self.remove_where(world, table, &|_, _| true)?;
        let (lookup, id) = {
            let inner = self.inner();
            let at = inner.table(table)?;
            (at.lookup.clone(), (!at.of_link).then_some(at.id))
        };
        lookup.forget(world, table.index, id);
        let mut inner = self.inner();
        inner.unowned.remove(&table);
        inner.attached.values_mut().for_each(|tables| _ = tables.remove(&table));
        let tables = inner.link_mut(table.link);
        tables.all[table.index.at()] = None;
        id.inspect(|id| _ = tables.ids.remove(id));
        Ok(())
    }

    /// Describes a route of another table that leads to this one, or a feature that follows a route
    /// in it, if there is one.
    fn leading_to(&self, to: TableRef) -> Option<String> {
        let names = |path: &Path| path.table() == Some(to);
        let inner = self.inner();
        let naming = inner.lists.iter().filter(|(_, list)| list.paths.iter().any(names));
        let (lists, trackers): (Vec<_>, Vec<_>) =
            naming.map(|(id, list)| (id, list.trackers)).unzip();
        if lists.is_empty() {
            return None;
        }
        if trackers.iter().any(|n| *n > 0) {
            return Some("a feature follows a route in it".into());
        }
        let all = inner.links().flat_map(|link| inner.tables(link));
        all.filter(|(other, _)| *other != to).find_map(|(at, other)| {
            let mut user = None;
            inner.walk(at, None, &mut |key, _, entry| {
                user = entry.all().any(|s| lists.contains(&s.list)).then_some(key);
                user.is_none()
            });
            Some(format!("{} of table {} leads to it", other.lookup.text(user?), other.id))
        })
    }

    /// Removes the paths in a table that `which` selects by source and whether they are stale.
    /// Returns how many.
    pub(super) fn remove_where(
        &self,
        world: &World,
        table: TableRef,
        which: &dyn Fn(Source, bool) -> bool,
    ) -> Result<usize, Error> {
        self.remove_some(world, table, None, usize::MAX, which).map(|(gone, _)| gone)
    }

    /// As [`Self::remove_where`], for at most `n` entries after `after`. Returns also the last of
    /// these, if there may be more.
    pub(super) fn remove_some(
        &self,
        world: &World,
        table: TableRef,
        after: Option<RouteKey>,
        mut n: usize,
        which: &dyn Fn(Source, bool) -> bool,
    ) -> Result<Removed, Error> {
        let mut inner = self.inner();
        inner.table(table)?;
        let (mut gone, mut last) = (Vec::new(), None);
        inner.walk(table, after, &mut |key, _, entry| {
            gone.extend(entry.all().filter(|s| which(s.source, s.stale)).map(|s| (key, s)));
            n -= 1;
            last = (n == 0).then_some(key);
            n > 0
        });
        let cx = Cx::new(self, world);
        let mut attached = Vec::new();
        for (key, SourcePaths { source, list, .. }) in &gone {
            let paths = inner.lists.get(*list).map(|list| list.paths.clone());
            let is_attached = |path: &Path| matches!(path.kind, PathKind::Attached { .. });
            attached.extend(
                paths
                    .filter(|paths| paths.iter().any(is_attached))
                    .map(|paths| (*key, *source, paths)),
            );
            let place = inner.prefix_entry(table, *key)?;
            inner.take(&cx, &place, *source);
        }
        drop(inner);
        for (key, source, paths) in attached {
            self.import(world, (table, key), source, &paths[..]);
        }
        Ok((gone.len(), last))
    }

    /// Marks a source's routes in a table as stale.
    pub(super) fn mark_stale(&self, table: TableRef, source: Source) -> Result<(), Error> {
        let mut inner = self.inner();
        let mut routes = Vec::new();
        inner.table(table)?.lookup.walk(None, &mut |_, route| {
            routes.push(route);
            true
        });
        let mut marked = 0;
        for route in routes {
            if let Some(entry) = inner.entries.get_mut(route) {
                marked += usize::from(entry.mark(source));
            }
        }
        inner.counts.marked(table.link, source, marked);
        Ok(())
    }
}

/// Refuses the deletion of a table that is always there.
pub(super) fn may_delete(index: TableIndex) -> Result<(), Error> {
    if index == TableIndex::DEFAULT {
        return Err(Error::unsupported("table 0 can't be deleted").retval(retval::INVALID_VALUE));
    }
    Ok(())
}
