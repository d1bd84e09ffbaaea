// SPDX-License-Identifier: Apache-2.0
//! The tables of one protocol, with the types of its addresses.

use super::bulk::Changed;
use super::count::SourceCount;
use super::lookup::{IpTable, Lookup, key};
use super::table::{NewTable, may_delete};
use super::{
    FlowRouterId, Net, Path, RouteIndex, RouteTables, Source, TableIndex, TableInfo, TableRef,
};
use crate::{AdjIndex, Interface, IpBinding, Mfib, NextHop};
use cli::{Error, retval};
use graph::{Shared, SwIfIndex, World};
use std::marker::PhantomData;
use std::sync::Arc;
use sync::{Slots, Turn};
use tables::{Forest, Lpm};
use wire::Prefix;

/// A table that is being deleted, for [`graph::Shared::forget`].
#[derive(Clone, Copy, Debug)]
pub struct DeletedTable<F> {
    /// Its index, which the next new table may get.
    pub index: TableIndex,
    /// Its id; the tables of link-local addresses have none.
    pub id: Option<u32>,
    family: PhantomData<F>,
}

/// The route tables of one protocol.
pub struct Fib<F: Net> {
    pub(super) tables: Slots<Arc<IpTable<F>>>,
    /// Memory that small tables share.
    forest: Arc<Forest>,
    pub(super) router_id: Arc<FlowRouterId>,
    /// The multicast tables, one for each route table.
    mfib: Arc<Mfib<F>>,
    pub(super) all: Arc<RouteTables>,
}

impl<F: Net> Shared for Fib<F> {
    fn make(world: &World) -> Self {
        let this = Self {
            tables: Slots::new(world.qsbr.clone()),
            forest: Forest::new(world.qsbr.clone())
                .expect("address space for routes (is `ulimit -v' set?)"),
            router_id: world.get(),
            mfib: world.get(),
            all: world.get(),
        };
        this.add_table(world, 0, "default", Source::Default).expect("memory for the first table");
        this
    }
}

impl<F: Net> Fib<F> {
    /// The lookup table of a route table: a leaf's hop is an [`AdjIndex`], its route a
    /// [`RouteIndex`].
    #[inline(always)]
    pub fn table<'t>(&'t self, index: TableIndex, turn: &'t Turn<'_>) -> Option<&'t Lpm<F::Key>> {
        self.tables.get(index.0, turn).map(|table| &table.lpm)
    }

    /// The adjacency of packets to this address; `None` if there is no such table.
    #[inline(always)]
    pub fn adj(&self, index: TableIndex, addr: F::Addr, turn: &Turn<'_>) -> Option<AdjIndex> {
        Some(AdjIndex(self.table(index, turn)?.lookup(F::key(addr), turn).hop))
    }

    /// Returns true if packets to this address take the default route.
    pub fn is_default(&self, index: TableIndex, addr: F::Addr, turn: &Turn<'_>) -> bool {
        self.tables.get(index.0, turn).is_some_and(|table| {
            let route = RouteIndex(table.lpm.lookup(F::key(addr), turn).route);
            table.default.get() == Some(&route)
        })
    }

    /// The table of this index as paths name it.
    pub const fn table_ref(index: TableIndex) -> TableRef {
        TableRef { link: F::LINK, index }
    }

    /// Checks whether a route may have these paths.
    ///
    /// # Errors
    /// As [`Self::set`].
    pub fn check_paths(&self, paths: &[Path]) -> Result<(), Error> {
        self.all.check(&self.all.inner(), paths)
    }

    /// Sets a source's paths to a prefix, in place of those that it had. Host bits of the prefix
    /// are ignored.
    ///
    /// # Errors
    /// A table (−3) or an interface (−2) that doesn't exist; no path (−52); an address that can't
    /// be a next hop (−7); a full table (−99).
    pub fn set(
        &self,
        world: &World,
        table: TableIndex,
        prefix: Prefix<F::Addr>,
        source: Source,
        paths: &[Path],
    ) -> Result<RouteIndex, Error> {
        self.all.set(world, (Self::table_ref(table), key::<F>(prefix)), source, paths)
    }

    /// Adds paths to those that a source has to a prefix; one that is there takes the new weight
    /// and preference.
    ///
    /// # Errors
    /// As [`Self::set`].
    pub fn add(
        &self,
        world: &World,
        table: TableIndex,
        prefix: Prefix<F::Addr>,
        source: Source,
        paths: &[Path],
    ) -> Result<RouteIndex, Error> {
        self.all.add(world, (Self::table_ref(table), key::<F>(prefix)), source, paths)
    }

    /// As [`Self::add`] for each of these routes; fastest if they are sorted by prefix. Packets may
    /// find the first ones before the last are added. Returns how many were added, and the
    /// error that ended it, if one did.
    pub fn add_all<'p>(
        &self,
        world: &World,
        table: TableIndex,
        source: Source,
        routes: impl IntoIterator<Item = (Prefix<F::Addr>, &'p [Path])>,
    ) -> (usize, Result<(), Error>) {
        let mut routes = routes.into_iter().map(|(prefix, paths)| (key::<F>(prefix), paths));
        self.all.add_all(world, Self::table_ref(table), source, &mut routes)
    }

    /// Sets a source's paths to each of these prefixes, in place of those that it had; no paths
    /// remove its route, if there is one. Fastest if they are sorted by prefix. `done` gets each
    /// prefix with its result, an error as of [`Self::set`]: the others are changed all the same.
    /// Packets may find the first ones before the last are changed.
    pub fn change_all<'p>(
        &self,
        world: &World,
        table: TableIndex,
        source: Source,
        changes: impl IntoIterator<Item = (Prefix<F::Addr>, &'p [Path])>,
        mut done: impl FnMut(Prefix<F::Addr>, Result<Changed, Error>),
    ) {
        let mut changes = changes.into_iter().map(|(prefix, paths)| (key::<F>(prefix), paths));
        let mut done = |key, changed| done(F::prefix(key), changed);
        self.all.change_all(world, Self::table_ref(table), source, &mut changes, &mut done);
    }

    /// Number of routes of a source, in all tables together.
    pub fn count(&self, source: Source) -> SourceCount {
        self.all.inner().counts.get(F::LINK, source)
    }

    /// Removes some of a source's paths to a prefix, or all of them (`paths` empty).
    ///
    /// # Errors
    /// No such table (−3), route or path (−6).
    pub fn remove(
        &self,
        world: &World,
        table: TableIndex,
        prefix: Prefix<F::Addr>,
        source: Source,
        paths: &[Path],
    ) -> Result<(), Error> {
        self.all.remove(world, (Self::table_ref(table), key::<F>(prefix)), source, paths)
    }

    /// Returns true if a route of this protocol, other than the neighbour's own host route, leads
    /// to this neighbour.
    pub fn leads_by(&self, hop: NextHop) -> bool {
        self.all.leads_by(F::LINK, hop)
    }

    /// Updates host routes after the networks of an interface have changed: neighbours in a network
    /// get one, others lose theirs.
    pub(crate) fn sync_neighbors(&self, world: &World, sw_if: SwIfIndex) {
        self.all.sync_neighbors(world, F::LINK, sw_if);
    }
}

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
        self.all.own_table(world, Self::table_ref(index), source);
        Ok(index)
    }

    /// Makes the table of an interface's link-local addresses, which isn't listed among the others.
    pub(crate) fn add_link_table(
        &self,
        world: &World,
        sw_if: SwIfIndex,
    ) -> Result<TableIndex, Error> {
        self.make_table(world, sw_if.0, "", true)
    }

    fn make_table(
        &self,
        world: &World,
        id: u32,
        name: &str,
        of_link: bool,
    ) -> Result<TableIndex, Error> {
        let table = IpTable::<F>::new(&self.forest);
        let table = Arc::new(table.map_err(|e| Error::limit(format!("table {id}: {e}")))?);
        // VPP sends no ICMP error about a packet without a route.
        let none = if world.compat_vpp() { AdjIndex::DROP } else { AdjIndex::NO_ROUTE };
        let special = if of_link { Vec::new() } else { F::special() };
        let routes = [(Prefix::DEFAULT, Source::Default, none)].into_iter().chain(special);
        let routes = routes.map(|(prefix, source, adj)| (key::<F>(prefix), source, adj)).collect();
        let lookup: Arc<dyn Lookup> = table.clone();
        let new = NewTable { id, name, of_link, lookup, routes };
        let (index, default) = self.all.add_table(world, F::LINK, new)?;
        // A new table has no default route yet.
        let _ = table.default.set(default.unwrap_or_default());
        self.tables.set(index.0, table);
        Ok(index)
    }

    /// The lowest unused id above 0.
    pub fn free_table_id(&self) -> u32 {
        let inner = self.all.inner();
        let is_free = |id: &u32| inner.link(F::LINK).is_none_or(|t| !t.ids.contains_key(id));
        (1..).find(is_free).unwrap_or(u32::MAX)
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
        may_delete(index)?;
        let flush = |source| self.mfib.flush(world, index, source);
        self.all.disown_table(world, Self::table_ref(index), source, &flush)?;
        Ok(self.find_table(id).is_err())
    }

    /// Finds a table by its id and takes a reference on it: it stays, with its index, until
    /// [`Self::release_table`].
    ///
    /// # Errors
    /// A table that isn't there (−3).
    pub fn hold_table(&self, id: u32) -> Result<TableIndex, Error> {
        let index = self.find_table(id)?;
        self.all.hold_table(Self::table_ref(index));
        Ok(index)
    }

    /// Gives back a reference that [`Self::hold_table`] took. A table that nothing else uses is
    /// removed if it has no owner.
    pub fn release_table(&self, world: &World, index: TableIndex) {
        self.all.release_table(world, Self::table_ref(index));
    }

    /// Returns the sources that own a table.
    pub fn owners(&self, index: TableIndex) -> Vec<Source> {
        let inner = self.all.inner();
        inner.table(Self::table_ref(index)).map_or_else(|_| Vec::new(), |t| t.owners.clone())
    }

    /// Removes unused tables after an interface or an owner has left one.
    pub(crate) fn note_left(&self, world: &World) {
        self.all.note_left(world);
    }

    /// Describes a user that keeps a table: an interface bound to it or made with it (the line that
    /// makes it names the table), a route of another table that resolves in it, or a feature that
    /// has a reference on it or follows a route in it.
    pub fn user(&self, world: &World, index: TableIndex) -> Option<String> {
        self.all.user(world, Self::table_ref(index))
    }

    /// Describes an interface that keeps a table.
    pub(super) fn bound_interface(
        &self,
        world: &World,
        index: TableIndex,
        id: Option<u32>,
    ) -> Option<String> {
        let bound = |i: &Interface| IpBinding::of(world, i.sw_if).table::<F>() == index;
        let interfaces = self.all.interfaces.list();
        if let Some(user) = interfaces.iter().find(|i| bound(i)) {
            return Some(format!("{} is in it", user.name));
        }
        let id = id.filter(|id| *id != 0)?;
        let named = |i: &&Interface| id == i.original.implied.tables[usize::from(F::IS_V6)];
        interfaces.iter().find(named).map(|user| format!("{} was made with it", user.name))
    }

    pub(crate) fn unmake_table(&self, world: &World, index: TableIndex) -> Result<(), Error> {
        self.all.unmake_table(world, Self::table_ref(index))
    }

    /// Removes what else has the index of a table that is being deleted.
    pub(super) fn forget_table(&self, world: &World, index: TableIndex, id: Option<u32>) {
        self.mfib.forget_table(world, index);
        world.forget(&DeletedTable::<F> { index, id, family: PhantomData });
        self.tables.clear(index.0);
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
        let which = |source: Source, _| sources.contains(&source);
        let (table, after) = (Self::table_ref(table), after.map(key::<F>));
        let done = self.all.remove_some(world, table, after, n, &which);
        self.all.settle(world);
        done.map(|(_, last)| last.map(F::prefix))
    }

    /// Removes all routes of a source in a table, multicast routes included. Returns the number of
    /// unicast routes removed.
    ///
    /// # Errors
    /// A table that isn't there (−3).
    pub fn flush(&self, world: &World, table: TableIndex, source: Source) -> Result<usize, Error> {
        self.mfib.flush(world, table, source);
        let done = self.all.remove_where(world, Self::table_ref(table), &|s, _| s == source);
        self.all.settle(world);
        done
    }

    /// Marks a source's routes in a table as stale. They stay in force until [`Self::replace_end`],
    /// which removes those that were not set again. Paths that are added to a stale route
    /// replace its paths.
    ///
    /// # Errors
    /// A table that isn't there (−3).
    pub fn replace_begin(&self, table: TableIndex, source: Source) -> Result<(), Error> {
        self.all.mark_stale(Self::table_ref(table), source)?;
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
        let which = |s: Source, stale| s == source && stale;
        let done = self.all.remove_where(world, Self::table_ref(table), &which);
        self.all.settle(world);
        done
    }

    /// As [`Self::replace_end`], in pieces of at most `n` entries, after `after` or from the first.
    /// Returns the prefix to continue after, if there is more.
    ///
    /// # Errors
    /// A table that isn't there (−3).
    pub fn replace_end_some(
        &self,
        world: &World,
        table: TableIndex,
        source: Source,
        after: Option<Prefix<F::Addr>>,
        n: usize,
    ) -> Result<Option<Prefix<F::Addr>>, Error> {
        if after.is_none() {
            self.mfib.replace_end(world, table, source);
        }
        let which = |s: Source, stale| s == source && stale;
        let (table, after) = (Self::table_ref(table), after.map(key::<F>));
        let done = self.all.remove_some(world, table, after, n, &which);
        self.all.settle(world);
        done.map(|(_, last)| last.map(F::prefix))
    }

    /// The table of this id.
    ///
    /// # Errors
    /// One that isn't there (−3).
    pub fn find_table(&self, id: u32) -> Result<TableIndex, Error> {
        let inner = self.all.inner();
        inner.link(F::LINK).and_then(|tables| tables.ids.get(&id).copied()).ok_or_else(|| {
            let ip = if F::IS_V6 { "ip6" } else { "ip" };
            Error::not_found(format!("there is no table {id}"))
                .hint(format!("`{ip} table add {id}' makes it"))
                .retval(retval::NO_SUCH_FIB)
        })
    }

    /// The id of a table.
    pub fn table_id(&self, index: TableIndex) -> Option<u32> {
        self.all.table_id(Self::table_ref(index))
    }

    /// All tables, by index.
    pub fn list_tables(&self) -> Vec<TableInfo> {
        let inner = self.all.inner();
        let named = inner.tables(F::LINK).filter(|(_, t)| !t.of_link);
        named
            .map(|(table, t)| TableInfo {
                index: table.index,
                id: t.id,
                name: t.name.clone(),
                routes: t.lookup.count() - t.implicit,
            })
            .collect()
    }
}
