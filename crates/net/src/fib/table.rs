// SPDX-License-Identifier: Apache-2.0
//! Operations on tables: make, delete, flush, replace.

use super::control::Table;
use super::entry::SourcePaths;
use super::{
    DeletedTable, Fib, FlowHash, Net, Path, PathKind, Published, RouteIndex, Source, TableIndex,
    TableInfo,
};
use crate::AdjIndex;
use cli::{Error, retval};
use graph::{SwIfIndex, World};
use std::marker::PhantomData;
use std::sync::Arc;
use tables::{Lpm, ResultKind};
use wire::Prefix;

/// Number of removed routes, and the prefix to continue after.
type Removed<F> = (usize, Option<Prefix<<F as wire::Family>::Addr>>);

impl<F: Net> Fib<F> {
    /// Returns the name that a table has if it is given none.
    pub fn usual_name(id: u32) -> String {
        format!("ipv{}-VRF:{id}", F::VERSION)
    }

    /// Makes the table of this id and lets a source own it; no name is the usual one. A table that
    /// exists keeps its name and gets one more owner.
    ///
    /// # Errors
    /// No address space.
    pub fn add_table(
        &self,
        world: &World,
        id: u32,
        name: &str,
        source: Source,
    ) -> Result<TableIndex, Error> {
        let index = match self.find_table(id) {
            Ok(index) => index,
            Err(_) if name.is_empty() => {
                self.make_table(world, id, &Self::usual_name(id), false)?
            }
            Err(_) => self.make_table(world, id, name, false)?,
        };
        let mut inner = self.inner();
        inner.unowned.remove(&index);
        if let Some(Some(table)) = inner.tables.get_mut(index.at())
            && !table.owners.contains(&source)
        {
            table.owners.push(source);
            world.note_config_change();
        }
        Ok(index)
    }

    /// Makes the table of an interface's link-local addresses, which isn't listed among the others.
    pub(crate) fn add_link_table(
        &self,
        world: &World,
        sw_if: SwIfIndex,
        name: &str,
    ) -> Result<TableIndex, Error> {
        self.make_table(world, sw_if.0, name, true)
    }

    /// The result that lookups have to return: routes only if packets are counted by route.
    fn wanted(&self) -> ResultKind {
        if self.routes.counting() { ResultKind::Routes } else { ResultKind::Hops }
    }

    /// Rebuilds large tables after counting by route was turned on or off.
    pub(super) fn suit_counting(&self) {
        let inner = self.inner();
        inner.tables.iter().flatten().for_each(|table| table.lpm.set_wanted(self.wanted()));
    }

    #[inline(never)]
    fn make_table(
        &self,
        world: &World,
        id: u32,
        name: &str,
        of_link: bool,
    ) -> Result<TableIndex, Error> {
        let mut inner = self.inner();
        let lpm = Lpm::new(&self.forest).map_err(|e| Error::limit(format!("table {id}: {e}")))?;
        lpm.set_wanted(self.wanted());
        let lpm = Arc::new(lpm);
        let free = inner.tables.iter().position(Option::is_none).unwrap_or(inner.tables.len());
        let index = TableIndex(free as u32);
        if free == inner.tables.len() {
            inner.tables.push(None);
        }
        inner.tables[free] = Some(Table {
            id,
            name: name.to_string(),
            lpm: lpm.clone(),
            of_link,
            implicit: 0,
            owners: Vec::new(),
            held: 0,
        });
        if !of_link {
            inner.ids.insert(id, index);
        }
        let cx = self.cx(world);
        // VPP sends no ICMP error about a packet without a route.
        let none = if world.compat_vpp() { AdjIndex::DROP } else { AdjIndex::NO_ROUTE };
        let default = (Prefix::DEFAULT, Source::Default, none);
        let special = if of_link { Vec::new() } else { F::special() };
        let mut put = |(prefix, source, adj)| {
            let place = inner.prefix_entry(index, prefix)?;
            inner.put(&cx, &place, source, &[Path::new(PathKind::Fixed(adj))])
        };
        let default = put(default)?;
        special.into_iter().map(put).try_for_each(|put| put.map(drop))?;
        self.tables
            .set(index.0, Published { lpm, flow: FlowHash::default().bits().into(), default });
        Ok(index)
    }

    /// The lowest unused id above 0.
    pub fn free_table_id(&self) -> u32 {
        let inner = self.inner();
        (1..).find(|id| !inner.ids.contains_key(id)).unwrap_or(u32::MAX)
    }

    /// Ends a source's ownership of a table and removes its routes there; a source that doesn't own
    /// the table ends the ownership of all sources. The table is removed once it has no owner
    /// and no [user](Self::user): no interface bound to it, no other table's route that leads
    /// to it, and no feature. Returns true if it is removed.
    ///
    /// # Errors
    /// One that isn't there (−3); the default one (−7).
    pub fn delete_table(&self, world: &World, id: u32, source: Source) -> Result<bool, Error> {
        let index = self.find_table(id)?;
        if index == TableIndex::DEFAULT {
            return Err(
                Error::unsupported("table 0 can't be deleted").retval(retval::INVALID_VALUE)
            );
        }
        let gone = {
            let mut inner = self.inner();
            let Some(Some(table)) = inner.tables.get_mut(index.at()) else { return Ok(true) };
            let is_own = |owner: &Source| *owner == source || !table.owners.contains(&source);
            let gone: Vec<Source> = table.owners.iter().copied().filter(is_own).collect();
            table.owners.retain(|owner| !gone.contains(owner));
            if table.owners.is_empty() {
                inner.unowned.insert(index);
            }
            gone
        };
        world.note_config_change();
        for source in gone.into_iter().chain([source]) {
            self.remove_all(world, index, source)?;
        }
        self.note_left(world);
        Ok(self.find_table(id).is_err())
    }

    /// Finds a table by its id and takes a reference on it: it stays, with its index, until
    /// [`Self::release_table`].
    ///
    /// # Errors
    /// A table that isn't there (−3).
    pub fn hold_table(&self, id: u32) -> Result<TableIndex, Error> {
        let index = self.find_table(id)?;
        if let Some(Some(table)) = self.inner().tables.get_mut(index.at()) {
            table.held += 1;
        }
        Ok(index)
    }

    /// Gives back a reference that [`Self::hold_table`] took. A table that nothing else uses is
    /// removed if it has no owner.
    pub fn release_table(&self, world: &World, index: TableIndex) {
        if let Some(Some(table)) = self.inner().tables.get_mut(index.at()) {
            table.held -= 1;
        }
        self.note_left(world);
    }

    /// Returns the sources that own a table.
    pub fn owners(&self, index: TableIndex) -> Vec<Source> {
        self.inner().table(index).map_or_else(|_| Vec::new(), |table| table.owners.clone())
    }

    /// Removes unused tables after an interface or an owner has left one.
    pub(crate) fn note_left(&self, world: &World) {
        self.cross_family.note_unused();
        self.settle(world);
    }

    /// Removes the tables without owner that nothing uses.
    #[inline(never)]
    pub(super) fn reap(&self, world: &World) {
        let unowned = self.inner().unowned.clone();
        for index in unowned {
            if self.user(world, index).is_none() {
                // The table being gone already is the wanted result.
                let _ = self.unmake_table(world, index);
            }
        }
    }

    /// Describes a user that keeps a table: an interface bound to it or made with it (the line that
    /// makes it names the table), a route of another table that resolves in it, or a feature that
    /// has a reference on it or follows a route in it.
    pub fn user(&self, world: &World, index: TableIndex) -> Option<String> {
        if self.inner().table(index).is_ok_and(|table| table.held > 0) {
            return Some("a feature uses it".into());
        }
        let bound = |i: &crate::Interface| if F::IS_V6 { i.fib6 } else { i.fib4 } == index.0;
        let interfaces = self.interfaces.list();
        if let Some(user) = interfaces.iter().find(|i| bound(i)) {
            return Some(format!("{} is in it", user.name));
        }
        let id = self.table_id(index).filter(|id| *id != 0);
        let named =
            |i: &&crate::Interface| id == Some(i.original.implied.tables[usize::from(F::IS_V6)]);
        if let Some(user) = interfaces.iter().find(named) {
            return Some(format!("{} was made with it", user.name));
        }
        if self.is_crossed_to(world, index) {
            return Some("routes of the other protocol lead to it".into());
        }
        self.leading_to(index)
    }

    pub(crate) fn unmake_table(&self, world: &World, index: TableIndex) -> Result<(), Error> {
        self.remove_where(world, index, |_, _| true)?;
        self.mfib.forget_table(world, index);
        let id =
            self.inner().table(index).ok().filter(|table| !table.of_link).map(|table| table.id);
        world.forget(&DeletedTable::<F> { index, id, family: PhantomData });
        let mut inner = self.inner();
        inner.tables[index.at()] = None;
        inner.unowned.remove(&index);
        inner.attached.values_mut().for_each(|tables| _ = tables.remove(&index));
        id.inspect(|id| _ = inner.ids.remove(id));
        drop(inner);
        self.tables.clear(index.0);
        Ok(())
    }

    /// Describes a route of another table that leads to this one, or a feature that follows a route
    /// in it, if there is one.
    fn leading_to(&self, index: TableIndex) -> Option<String> {
        let names = |path: &Path<F::Addr>| !path.crosses() && path.table() == Some(index);
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
        let all = inner
            .tables
            .iter()
            .enumerate()
            .filter_map(|(i, t)| Some((TableIndex(i as u32), t.as_ref()?)));
        all.filter(|(other, _)| *other != index).find_map(|(at, other)| {
            let mut user = None;
            inner.walk(at, None, |prefix, _, entry| {
                user = entry.all().any(|s| lists.contains(&s.list)).then_some(prefix);
                user.is_none()
            });
            Some(format!("{} of table {} leads to it", user?, other.id))
        })
    }

    /// Removes the paths in a table that `which` selects by source and whether they are stale.
    /// Returns how many.
    fn remove_where(
        &self,
        world: &World,
        table: TableIndex,
        which: impl Fn(Source, bool) -> bool,
    ) -> Result<usize, Error> {
        self.remove_some(world, table, None, usize::MAX, which).map(|(gone, _)| gone)
    }

    /// As [`Self::remove_where`], for at most `n` entries after `after`. Returns also the last of
    /// these, if there may be more.
    fn remove_some(
        &self,
        world: &World,
        table: TableIndex,
        after: Option<Prefix<F::Addr>>,
        mut n: usize,
        which: impl Fn(Source, bool) -> bool,
    ) -> Result<Removed<F>, Error> {
        let mut inner = self.inner();
        inner.table(table)?;
        let (mut gone, mut last) = (Vec::new(), None);
        inner.walk(table, after, |prefix, _, entry| {
            gone.extend(entry.all().filter(|s| which(s.source, s.stale)).map(|s| (prefix, s)));
            n -= 1;
            last = (n == 0).then_some(prefix);
            n > 0
        });
        let cx = self.cx(world);
        let mut attached = Vec::new();
        for (prefix, SourcePaths { source, list, .. }) in &gone {
            let paths = inner.lists.get(*list).map(|list| list.paths.clone());
            let is_attached = |path: &Path<F::Addr>| matches!(path.kind, PathKind::Attached { .. });
            attached.extend(
                paths
                    .filter(|paths| paths.iter().any(is_attached))
                    .map(|paths| (*prefix, *source, paths)),
            );
            let place = inner.prefix_entry(table, *prefix)?;
            inner.take(&cx, &place, *source);
        }
        drop(inner);
        self.notify_other(world);
        for (prefix, source, paths) in attached {
            self.import(world, (table, prefix), source, &paths[..]);
        }
        Ok((gone.len(), last))
    }

    /// As [`Self::flush`] of several sources, in pieces of at most `n` entries, after `after` or
    /// from the first. Returns the prefix to continue after, if there is more.
    ///
    /// # Errors
    /// A table that isn't there (−3).
    pub fn flush_some(
        &self,
        world: &World,
        table: TableIndex,
        sources: &[Source],
        after: Option<Prefix<F::Addr>>,
        n: usize,
    ) -> Result<Option<Prefix<F::Addr>>, Error> {
        if after.is_none() {
            sources.iter().for_each(|source| self.mfib.flush(world, table, *source));
        }
        let done = self.remove_some(world, table, after, n, |s, _| sources.contains(&s));
        self.settle(world);
        done.map(|(_, last)| last)
    }

    /// Removes all routes of a source in a table, multicast routes included. Returns the number of
    /// unicast routes removed.
    ///
    /// # Errors
    /// A table that isn't there (−3).
    #[inline(never)]
    pub fn flush(&self, world: &World, table: TableIndex, source: Source) -> Result<usize, Error> {
        let done = self.remove_all(world, table, source);
        self.settle(world);
        done
    }

    /// As [`Self::flush`], without removing tables that become unused.
    #[inline(never)]
    fn remove_all(&self, world: &World, table: TableIndex, source: Source) -> Result<usize, Error> {
        self.mfib.flush(world, table, source);
        self.remove_where(world, table, |s, _| s == source)
    }

    /// Marks a source's routes in a table as stale. They stay in force until [`Self::replace_end`],
    /// which removes those that were not set again. Paths that are added to a stale route
    /// replace its paths.
    ///
    /// # Errors
    /// A table that isn't there (−3).
    pub fn replace_begin(&self, table: TableIndex, source: Source) -> Result<(), Error> {
        let mut inner = self.inner();
        let mut routes = Vec::new();
        inner.table(table)?.lpm.for_each(&mut |route| routes.push(RouteIndex(route.leaf.route)));
        for route in routes {
            if let Some(entry) = inner.entries.get_mut(route) {
                entry.mark(source);
            }
        }
        self.mfib.replace_begin(table, source);
        Ok(())
    }

    /// Removes the source's routes that weren't set again since [`Self::replace_begin`]. Returns
    /// how many.
    ///
    /// # Errors
    /// A table that isn't there (−3).
    pub fn replace_end(
        &self,
        world: &World,
        table: TableIndex,
        source: Source,
    ) -> Result<usize, Error> {
        self.mfib.replace_end(world, table, source);
        let done = self.remove_where(world, table, |s, stale| s == source && stale);
        self.settle(world);
        done
    }

    /// The table of this id.
    ///
    /// # Errors
    /// One that isn't there (−3).
    pub fn find_table(&self, id: u32) -> Result<TableIndex, Error> {
        self.inner().ids.get(&id).copied().ok_or_else(|| {
            let ip = if F::IS_V6 { "ip6" } else { "ip" };
            Error::not_found(format!("there is no table {id}"))
                .hint(format!("`{ip} table add {id}' makes it"))
                .retval(retval::NO_SUCH_FIB)
        })
    }

    /// The id of a table.
    pub fn table_id(&self, index: TableIndex) -> Option<u32> {
        self.inner().table(index).ok().filter(|t| !t.of_link).map(|t| t.id)
    }

    /// All tables, by index.
    pub fn list_tables(&self) -> Vec<TableInfo> {
        let inner = self.inner();
        let all = inner.tables.iter().enumerate();
        all.filter_map(|(i, t)| {
            let t = t.as_ref().filter(|t| !t.of_link)?;
            let index = TableIndex(i as u32);
            Some(TableInfo {
                index,
                id: t.id,
                name: t.name.clone(),
                routes: t.lpm.len() - t.implicit,
            })
        })
        .collect()
    }
}
