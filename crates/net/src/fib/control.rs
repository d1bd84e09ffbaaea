// SPDX-License-Identifier: Apache-2.0
//! Verbs of routes: set, add, remove; and the control side's tables.

use super::cross::{CrossFamily, PendingChanges};
use super::entry::{Entries, Entry, SourcePaths};
use super::list::{ListId, PathList};
use super::resolve::ROUNDS;
use super::{
    Extension, Fib, Net, Path, PathKind, ResolveVia, RouteIndex, Routes, Source, TableIndex,
};
use crate::{AdjIndex, Adjacencies, IfEvent, Interfaces, NextHop, NextHops};
use cli::{Error, retval};
use graph::{SwIfIndex, World};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::IpAddr;
use std::sync::Arc;
use tables::{Leaf, Lpm, Pool};
use wire::Prefix;

pub(super) struct Table<F: Net> {
    pub id: u32,
    pub name: String,
    pub lpm: Arc<Lpm<F::Key>>,
    /// The table of one link's link-local addresses: `id` is the interface's index, and operators
    /// can't name it.
    pub of_link: bool,
    /// Number of implicit entries ([`Source::Implicit`]), which lists omit.
    pub implicit: usize,
    /// Sources that own the table. Without one, it is removed once it is unused.
    pub owners: Vec<Source>,
    /// References that features hold by [`Fib::hold_table`].
    pub held: usize,
}

/// The control side's state: everything but what workers read.
pub(super) struct Inner<F: Net> {
    /// By index.
    pub tables: Vec<Option<Table<F>>>,
    /// Tables that operators can name, by id.
    pub ids: HashMap<u32, TableIndex>,
    pub entries: Entries,
    pub lists: Pool<PathList<F>, ListId>,
    /// Path lists by their paths. Looked up for each route that is set, hence the fast hash.
    pub interned: HashMap<Arc<[Path<F::Addr>]>, ListId, foldhash::fast::RandomState>,
    /// Path lists with a recursive path over this next hop.
    pub vias: BTreeMap<(TableIndex, F::Addr), BTreeSet<ListId>>,
    /// Path lists that lead to this neighbour.
    pub hops: HashMap<NextHop, BTreeSet<ListId>>,
    /// Path lists with a path on this interface.
    pub by_if: BTreeMap<SwIfIndex, BTreeSet<ListId>>,
    /// Path lists with a recursive path over this next hop of the other protocol.
    pub cross_family: BTreeMap<(TableIndex, IpAddr), BTreeSet<ListId>>,
    /// Path lists with a path to this object of a feature.
    pub objects: BTreeMap<(Extension, u32), BTreeSet<ListId>>,
    pub moved: PendingChanges<F>,
    /// Path lists of the other protocol to resolve again: a route that their objects send packets
    /// by has changed.
    pub watchers_due: BTreeSet<ListId>,
    /// By interface, the tables where a source other than the interface's addresses has added a
    /// connected prefix.
    pub attached: BTreeMap<SwIfIndex, BTreeSet<TableIndex>>,
    /// Tables without an owner that are still in use.
    pub unowned: BTreeSet<TableIndex>,
}

impl<F: Net> Default for Inner<F> {
    fn default() -> Self {
        Self {
            tables: Vec::new(),
            ids: HashMap::new(),
            entries: Entries::default(),
            lists: Pool::new(),
            interned: HashMap::default(),
            vias: BTreeMap::new(),
            hops: HashMap::new(),
            by_if: BTreeMap::new(),
            cross_family: BTreeMap::new(),
            objects: BTreeMap::new(),
            moved: PendingChanges::default(),
            watchers_due: BTreeSet::new(),
            attached: BTreeMap::new(),
            unowned: BTreeSet::new(),
        }
    }
}

/// Shared state that resolving paths reads and changes.
pub(super) struct Cx<'a> {
    pub world: &'a World,
    pub routes: &'a Routes,
    pub adjacencies: &'a Adjacencies,
    pub interfaces: &'a Interfaces,
    pub nexthops: &'a NextHops,
    pub cross_family: &'a CrossFamily,
}

/// A prefix in a table, and its entry if there is one.
pub(super) struct PrefixEntry<F: Net> {
    pub table: TableIndex,
    pub prefix: Prefix<F::Addr>,
    pub lpm: Arc<Lpm<F::Key>>,
    pub route: Option<RouteIndex>,
}

impl<F: Net> PrefixEntry<F> {
    /// Makes packets to the prefix take this adjacency, and count for this route.
    fn point_to(&self, cx: &Cx<'_>, route: RouteIndex, adj: AdjIndex) -> Result<(), Error> {
        let leaf = Leaf { hop: adj.0, route: route.0 };
        self.lpm.insert(F::key(self.prefix.addr()), self.prefix.len(), leaf).map_err(|_| full())?;
        cx.routes.point_to(route, adj);
        Ok(())
    }
}

pub(super) fn full() -> Error {
    Error::limit("the route table is full").retval(retval::TABLE_TOO_BIG)
}

/// Refuses what can't be a next hop.
fn check_nexthop(nexthop: IpAddr) -> Result<(), Error> {
    if nexthop.is_multicast() || nexthop.is_unspecified() {
        return Err(Error::parse(format!("{nexthop} is no address of a next hop"))
            .retval(retval::INVALID_VALUE));
    }
    Ok(())
}

pub(super) fn no_table(index: TableIndex) -> Error {
    Error::not_found(format!("there is no table of index {index}")).retval(retval::NO_SUCH_FIB)
}

impl<F: Net> Inner<F> {
    pub fn table(&self, index: TableIndex) -> Result<&Table<F>, Error> {
        self.tables.get(index.at()).and_then(Option::as_ref).ok_or_else(|| no_table(index))
    }

    /// Finds a prefix in a table, without its host bits.
    pub fn prefix_entry(
        &self,
        table: TableIndex,
        prefix: Prefix<F::Addr>,
    ) -> Result<PrefixEntry<F>, Error> {
        let prefix = prefix.network();
        let lpm = self.table(table)?.lpm.clone();
        let route = lpm.get(F::key(prefix.addr()), prefix.len()).map(|leaf| RouteIndex(leaf.route));
        Ok(PrefixEntry { table, prefix, lpm, route })
    }

    /// Returns a source's path list of a prefix, unless it is stale.
    pub fn paths_of(&self, place: &PrefixEntry<F>, source: Source) -> Option<&PathList<F>> {
        let sourced = self.entries.get(place.route?)?.of(source)?;
        self.lists.get(sourced.list).filter(|_| !sourced.stale)
    }

    /// Returns a source's path list of a prefix, stale or not.
    fn all_paths_of(&self, place: &PrefixEntry<F>, source: Source) -> Option<&PathList<F>> {
        self.lists.get(self.entries.get(place.route?)?.of(source)?.list)
    }

    pub fn adj(&self, list: ListId) -> AdjIndex {
        self.lists.get(list).map_or(AdjIndex::DROP, |list| list.adj)
    }

    /// Sets a source's paths to a prefix.
    #[inline(never)]
    pub fn put(
        &mut self,
        cx: &Cx<'_>,
        place: &PrefixEntry<F>,
        source: Source,
        paths: &[Path<F::Addr>],
    ) -> Result<RouteIndex, Error> {
        let list = self.intern(cx, paths);
        let new = SourcePaths { source, list, stale: false };
        let Some(route) = place.route else {
            return self.enter(cx, place, new).inspect_err(|_| self.let_go(cx, list));
        };
        if let Some(entry) = self.entries.get_mut(route) {
            let (before, was_implicit) = (entry.best.list, entry.is_implicit());
            let old = entry.set(new);
            let (now, is_implicit) = (entry.best.list, entry.is_implicit());
            if now != before {
                if let Err(error) = place.point_to(cx, route, self.adj(now)) {
                    self.undo(route, new, old);
                    self.let_go(cx, list);
                    return Err(error);
                }
                self.changed(cx, place);
            }
            self.count_implicit(place.table, was_implicit, is_implicit);
            // The entry references the new list, whether it is in force or not.
            if let Some(old) = old {
                self.let_go(cx, old.list);
            }
        }
        Ok(route)
    }

    /// Adds paths to those that a source has to a prefix.
    pub fn join(
        &mut self,
        cx: &Cx<'_>,
        place: &PrefixEntry<F>,
        source: Source,
        paths: &[Path<F::Addr>],
    ) -> Result<RouteIndex, Error> {
        let Some(old) = self.paths_of(place, source) else {
            return self.put(cx, place, source, paths);
        };
        let all: Vec<_> = old.paths.iter().chain(paths).copied().collect();
        self.put(cx, place, source, &all)
    }

    /// Restores a source's previous paths after a failure.
    fn undo(&mut self, route: RouteIndex, new: SourcePaths, old: Option<SourcePaths>) {
        let Some(entry) = self.entries.get_mut(route) else { return };
        match old {
            Some(old) => _ = entry.set(old),
            None => _ = entry.remove(new.source),
        }
    }

    fn enter(
        &mut self,
        cx: &Cx<'_>,
        place: &PrefixEntry<F>,
        new: SourcePaths,
    ) -> Result<RouteIndex, Error> {
        let route = cx.routes.allocate().ok_or_else(full)?;
        place.point_to(cx, route, self.adj(new.list)).inspect_err(|_| cx.routes.free(route))?;
        self.entries.set(route, Some(Entry::new(new)));
        self.count_implicit(place.table, false, new.source == Source::Implicit);
        self.changed(cx, place);
        Ok(route)
    }

    /// Updates a table's number of implicit entries: `was` and `is` say whether an entry was
    /// implicit, and is now.
    fn count_implicit(&mut self, table: TableIndex, was: bool, is: bool) {
        if let Some(Some(table)) = self.tables.get_mut(table.at()) {
            table.implicit = table.implicit + usize::from(is) - usize::from(was);
        }
    }

    /// Removes a source's paths to a prefix; false if it has none.
    #[inline(never)]
    pub fn take(&mut self, cx: &Cx<'_>, place: &PrefixEntry<F>, source: Source) -> bool {
        let Some(route) = place.route else { return false };
        let Some(entry) = self.entries.get_mut(route) else { return false };
        let Some(old) = entry.of(source) else { return false };
        let (before, was_implicit) = (entry.best.list, entry.is_implicit());
        let is_left = entry.remove(source);
        let is_implicit = is_left && entry.is_implicit();
        let now = entry.best.list;
        self.count_implicit(place.table, was_implicit, is_implicit);
        if !is_left {
            place.lpm.remove(F::key(place.prefix.addr()), place.prefix.len());
            self.entries.set(route, None);
            self.changed(cx, place);
            // Not before the path lists that followed it are resolved anew.
            cx.routes.free(route);
        } else if now != before {
            if place.point_to(cx, route, self.adj(now)).is_err() {
                // Without memory for the new leaf packets are dropped: the old path is no longer
                // valid.
                let _ = place.point_to(cx, route, AdjIndex::DROP);
            }
            self.changed(cx, place);
        }
        self.let_go(cx, old.list);
        true
    }

    /// An entry was added, removed or leads elsewhere: resolves the path lists that follow it.
    fn changed(&mut self, cx: &Cx<'_>, place: &PrefixEntry<F>) {
        self.note_moved(cx.cross_family, place.table, place.prefix);
        if !self.vias.is_empty() {
            let affected = self.affected(place.table, place.prefix);
            self.refresh(cx, affected);
        }
    }
}

impl<F: Net> Fib<F> {
    pub(super) fn cx<'a>(&'a self, world: &'a World) -> Cx<'a> {
        Cx {
            world,
            routes: &self.routes,
            adjacencies: &self.adjacencies,
            interfaces: &self.interfaces,
            nexthops: &self.nexthops,
            cross_family: &self.cross_family,
        }
    }

    /// Refuses paths that name missing objects, or that can't exist.
    #[inline(never)]
    pub(super) fn check(&self, inner: &Inner<F>, paths: &[Path<F::Addr>]) -> Result<(), Error> {
        if paths.is_empty() {
            return Err(Error::usage("a route needs a path").retval(retval::NO_PATHS_IN_ROUTE));
        }
        for path in paths {
            if let Some(sw_if) = path.sw_if() {
                self.interfaces.check(sw_if)?;
            }
            if !path.labels.is_empty() {
                return Err(
                    Error::unsupported("MPLS labels in routes").retval(retval::UNIMPLEMENTED)
                );
            }
            match path.kind {
                PathKind::RecursiveOther { .. } if path.resolve_via != ResolveVia::Any => {
                    let why = "a choice of routes to a next hop of the other protocol";
                    return Err(Error::unsupported(why).retval(retval::UNIMPLEMENTED));
                }
                PathKind::Neighbor { nexthop, .. } | PathKind::RecursiveOther { nexthop, .. } => {
                    check_nexthop(nexthop)?;
                }
                PathKind::Recursive { table, nexthop } => {
                    check_nexthop(nexthop.into())?;
                    inner.table(table)?;
                }
                PathKind::Lookup(table) | PathKind::SourceLookup(table) => {
                    inner.table(table)?;
                }
                PathKind::Extension(kind, _) => _ = self.extensions.object_type(kind)?,
                _ => {}
            }
        }
        Ok(())
    }

    /// Checks whether a route may have these paths.
    ///
    /// # Errors
    /// As [`Self::set`].
    pub fn check_paths(&self, paths: &[Path<F::Addr>]) -> Result<(), Error> {
        self.check(&self.inner(), paths)
    }

    /// Sets a source's paths to a prefix, in place of those that it had. Host bits of the prefix
    /// are ignored.
    ///
    /// # Errors
    /// A table (−3) or an interface (−2) that isn't there; no path (−52); a next hop that can't be
    /// (−7); a full table (−99).
    #[inline(never)]
    pub fn set(
        &self,
        world: &World,
        table: TableIndex,
        prefix: Prefix<F::Addr>,
        source: Source,
        paths: &[Path<F::Addr>],
    ) -> Result<RouteIndex, Error> {
        let (route, old) = self.with(world, |inner, cx| {
            self.check(inner, paths)?;
            let place = inner.prefix_entry(table, prefix)?;
            let old = inner.all_paths_of(&place, source).map(|old| old.paths.clone());
            inner.put(cx, &place, source, paths).map(|route| (route, old))
        })?;
        self.import(
            world,
            (table, prefix),
            source,
            old.iter().flat_map(|old| &old[..]).chain(paths),
        );
        Ok(route)
    }

    /// Adds paths to those that a source has to a prefix; one that is there takes the new weight
    /// and preference.
    ///
    /// # Errors
    /// As [`Self::set`].
    #[inline(never)]
    pub fn add(
        &self,
        world: &World,
        table: TableIndex,
        prefix: Prefix<F::Addr>,
        source: Source,
        paths: &[Path<F::Addr>],
    ) -> Result<RouteIndex, Error> {
        self.with(world, |inner, cx| {
            self.check(inner, paths)?;
            let place = inner.prefix_entry(table, prefix)?;
            inner.join(cx, &place, source, paths)
        })
        .inspect(|_| self.import(world, (table, prefix), source, paths))
    }

    /// Removes some of a source's paths to a prefix, or all of them (`paths` empty).
    ///
    /// # Errors
    /// What isn't there (−6); a table that isn't there (−3).
    #[inline(never)]
    pub fn remove(
        &self,
        world: &World,
        table: TableIndex,
        prefix: Prefix<F::Addr>,
        source: Source,
        paths: &[Path<F::Addr>],
    ) -> Result<(), Error> {
        let gone = self.with(world, |inner, cx| {
            let place = inner.prefix_entry(table, prefix)?;
            let none = || {
                Error::not_found(format!("there is no route {} from the {source}", place.prefix))
                    .retval(retval::NO_SUCH_ENTRY)
            };
            let all = paths.is_empty();
            let old = if all {
                inner.all_paths_of(&place, source)
            } else {
                inner.paths_of(&place, source)
            };
            let old = old.ok_or_else(none)?.paths.clone();
            if !all {
                let mut left = old.to_vec();
                left.retain(|old| !paths.iter().any(|p| p.kind == old.kind));
                if left.len() == old.len() {
                    let why = format!("the route {} has no such path", place.prefix);
                    return Err(Error::not_found(why).retval(retval::NO_SUCH_ENTRY));
                }
                if !left.is_empty() {
                    return inner.put(cx, &place, source, &left).map(|_| old);
                }
            }
            inner.take(cx, &place, source);
            Ok(old)
        })?;
        self.import(world, (table, prefix), source, &gone[..]);
        Ok(())
    }

    pub(super) fn on_interface(&self, world: &World, event: IfEvent) {
        if let IfEvent::Admin(sw_if, _) | IfEvent::Link(sw_if, _) = event {
            self.with(world, |inner, cx| {
                let lists = inner.lists_of(sw_if);
                inner.refresh(cx, lists);
            });
        }
    }

    pub(super) fn on_nexthops(&self, world: &World, hops: &[NextHop]) {
        self.with(world, |inner, cx| {
            let lists: BTreeSet<ListId> =
                hops.iter().filter_map(|hop| inner.hops.get(hop)).flatten().copied().collect();
            inner.refresh(cx, lists);
        });
    }

    /// Changes routes, then updates what depends on them.
    pub(super) fn with<R>(&self, world: &World, f: impl FnOnce(&mut Inner<F>, &Cx<'_>) -> R) -> R {
        let done = f(&mut self.inner(), &self.cx(world));
        self.settle(world);
        done
    }

    fn has_watchers_due(&self) -> bool {
        !self.inner().watchers_due.is_empty()
    }

    /// After routes have changed: refreshes routes of the other protocol, and removes tables that
    /// have become unused.
    #[inline(never)]
    pub(super) fn settle(&self, world: &World) {
        let other = world.get::<Fib<F::Other>>();
        self.notify_other(world);
        // Routes of both protocols may follow each other through objects of features.
        for _ in 0..ROUNDS {
            if !other.has_watchers_due() {
                break;
            }
            other.notify_other(world);
            if !self.has_watchers_due() {
                break;
            }
            self.notify_other(world);
        }
        // A removed table may have been the last user of another one.
        while self.cross_family.take_unused() {
            self.reap(world);
            world.get::<Fib<F::Other>>().reap(world);
        }
    }
}

impl<F: Net> Inner<F> {
    /// Removes all paths that name an interface.
    pub(super) fn forget(&mut self, cx: &Cx<'_>, sw_if: SwIfIndex) {
        self.attached.remove(&sw_if);
        let lists = self.lists_of(sw_if);
        if lists.is_empty() {
            return;
        }
        let mut all = Vec::new();
        for i in 0..self.tables.len() {
            let table = TableIndex(i as u32);
            self.walk(table, None, |prefix, _, entry| {
                all.extend(
                    entry.all().filter(|s| lists.contains(&s.list)).map(|s| (table, prefix, s)),
                );
                true
            });
        }
        for (table, prefix, SourcePaths { source, list, .. }) in all {
            let (Some(list), Ok(place)) = (self.lists.get(list), self.prefix_entry(table, prefix))
            else {
                continue;
            };
            let left: Vec<_> =
                list.paths.iter().filter(|p| p.sw_if() != Some(sw_if)).copied().collect();
            if left.is_empty() {
                self.take(cx, &place, source);
            } else {
                // Can't fail: table and entry exist.
                let _ = self.put(cx, &place, source, &left);
            }
        }
    }

    /// The lists with a path on this interface.
    fn lists_of(&self, sw_if: SwIfIndex) -> BTreeSet<ListId> {
        self.by_if.get(&sw_if).cloned().unwrap_or_default()
    }
}
