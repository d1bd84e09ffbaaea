// SPDX-License-Identifier: Apache-2.0
//! The state of routes that only control reads and changes: tables, entries, path lists.

use super::count::Counts;
use super::entry::{Entries, Entry, SourcePaths};
use super::list::{ListId, PathList};
use super::lookup::{Lookup, last_of};
use super::{Path, RouteIndex, RouteKey, Routes, Source, TableIndex, TableRef};
use crate::adj::ObjectType;
use crate::{AdjIndex, Adjacencies, Interfaces, Link, NextHop, NextHops};
use cli::{Error, retval};
use graph::{SwIfIndex, World};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tables::{Leaf, Pool};

/// A table.
pub(super) struct Table {
    pub id: u32,
    pub name: String,
    pub lookup: Arc<dyn Lookup>,
    /// The table of one link's link-local addresses: `id` is the interface's index, and operators
    /// can't name it.
    pub of_link: bool,
    /// Number of implicit entries ([`Source::Implicit`]), which lists omit.
    pub implicit: usize,
    /// Sources that own the table. Without one, it is removed once it is unused.
    pub owners: Vec<Source>,
    /// References that features hold by [`Fib::hold_table`](super::Fib::hold_table).
    pub held: usize,
}

/// The tables of one link type.
#[derive(Default)]
pub(super) struct LinkTables {
    /// By index.
    pub all: Vec<Option<Table>>,
    /// Tables that operators can name, by id.
    pub ids: HashMap<u32, TableIndex>,
    /// Path lists by their paths. Looked up for each route that is set, hence the fast hash.
    pub interned: HashMap<Arc<[Path]>, ListId, foldhash::fast::RandomState>,
}

/// The control side's state: everything but what workers read.
#[derive(Default)]
pub(super) struct Inner {
    /// By link type.
    links: Vec<LinkTables>,
    pub entries: Entries,
    pub lists: Pool<PathList, ListId>,
    /// Path lists with a recursive path over this next hop.
    pub vias: BTreeMap<(TableRef, u128), BTreeSet<ListId>>,
    /// Path lists that lead to this neighbour.
    pub hops: HashMap<NextHop, BTreeSet<ListId>>,
    /// Path lists with a path on this interface.
    pub by_if: BTreeMap<SwIfIndex, BTreeSet<ListId>>,
    /// Path lists of a link type with a path to this object of a feature.
    pub objects: BTreeMap<(&'static ObjectType, u32, Link), BTreeSet<ListId>>,
    /// By interface, the tables where a source other than the interface's addresses has added a
    /// connected prefix.
    pub attached: BTreeMap<SwIfIndex, BTreeSet<TableRef>>,
    /// Tables without an owner that are still in use.
    pub unowned: BTreeSet<TableRef>,
    /// Numbers of routes by source.
    pub counts: Counts,
}

/// Shared state that resolving paths reads and changes.
pub(super) struct Cx<'a> {
    pub world: &'a World,
    pub routes: &'a Routes,
    pub adjacencies: &'a Adjacencies,
    pub interfaces: &'a Interfaces,
    pub nexthops: &'a NextHops,
    reap_due: &'a AtomicBool,
}

impl<'a> Cx<'a> {
    pub fn new(tables: &'a super::RouteTables, world: &'a World) -> Self {
        Self {
            world,
            routes: &tables.routes,
            adjacencies: &tables.adjacencies,
            interfaces: &tables.interfaces,
            nexthops: &tables.nexthops,
            reap_due: &tables.reap_due,
        }
    }

    /// Notes that a table may have lost its last user.
    pub fn note_unused(&self) {
        self.reap_due.store(true, Ordering::Relaxed);
    }
}

/// A prefix in a table, and its entry if there is one.
pub(super) struct PrefixEntry {
    pub table: TableRef,
    pub key: RouteKey,
    pub lookup: Arc<dyn Lookup>,
    pub route: Option<RouteIndex>,
}

impl PrefixEntry {
    /// Makes packets to the prefix take this adjacency, and count for this route.
    fn point_to(&self, cx: &Cx<'_>, route: RouteIndex, adj: AdjIndex) -> Result<(), Error> {
        let leaf = Leaf { hop: adj.0, route: route.0 };
        self.lookup.insert(self.key, leaf).map_err(|_| full())?;
        cx.routes.point_to(route, adj);
        Ok(())
    }
}

pub(super) fn full() -> Error {
    Error::limit("the route table is full").retval(retval::TABLE_TOO_BIG)
}

fn no_table(index: TableIndex) -> Error {
    Error::not_found(format!("there is no table of index {index}")).retval(retval::NO_SUCH_FIB)
}

impl Inner {
    /// The tables of a link type.
    pub fn link(&self, link: Link) -> Option<&LinkTables> {
        self.links.get(link.at())
    }

    /// As [`Self::link`]; a link type that had no tables gets some.
    pub fn link_mut(&mut self, link: Link) -> &mut LinkTables {
        if self.links.len() <= link.at() {
            self.links.resize_with(link.at() + 1, LinkTables::default);
        }
        &mut self.links[link.at()]
    }

    /// Number of link types that have tables.
    pub fn links(&self) -> impl Iterator<Item = Link> + use<> {
        (0..self.links.len()).map(|at| Link(at as u8))
    }

    /// All tables of a link type.
    pub fn tables(&self, link: Link) -> impl Iterator<Item = (TableRef, &Table)> {
        let all = self.link(link).map_or(&[][..], |tables| &tables.all);
        all.iter().enumerate().filter_map(move |(i, table)| {
            Some((TableRef { link, index: TableIndex(i as u32) }, table.as_ref()?))
        })
    }

    /// A table.
    ///
    /// # Errors
    /// One that isn't there (−3).
    pub fn table(&self, table: TableRef) -> Result<&Table, Error> {
        let found = || self.link(table.link)?.all.get(table.index.at())?.as_ref();
        found().ok_or_else(|| no_table(table.index))
    }

    pub fn table_mut(&mut self, table: TableRef) -> Option<&mut Table> {
        self.links.get_mut(table.link.at())?.all.get_mut(table.index.at())?.as_mut()
    }

    /// Finds a prefix in a table.
    ///
    /// # Errors
    /// A table that isn't there (−3).
    pub fn prefix_entry(&self, table: TableRef, key: RouteKey) -> Result<PrefixEntry, Error> {
        let lookup = self.table(table)?.lookup.clone();
        let route = lookup.get(key);
        Ok(PrefixEntry { table, key, lookup, route })
    }

    /// Returns a source's path list of a prefix, unless it is stale.
    pub fn paths_of(&self, place: &PrefixEntry, source: Source) -> Option<&PathList> {
        let sourced = self.entries.get(place.route?)?.of(source)?;
        self.lists.get(sourced.list).filter(|_| !sourced.stale)
    }

    /// Returns a source's path list of a prefix, stale or not.
    pub fn all_paths_of(&self, place: &PrefixEntry, source: Source) -> Option<&PathList> {
        self.lists.get(self.entries.get(place.route?)?.of(source)?.list)
    }

    pub fn adj(&self, list: ListId) -> AdjIndex {
        self.lists.get(list).map_or(AdjIndex::DROP, |list| list.adj)
    }

    /// Sets a source's paths to a prefix.
    pub fn put(
        &mut self,
        cx: &Cx<'_>,
        place: &PrefixEntry,
        source: Source,
        paths: &[Path],
    ) -> Result<RouteIndex, Error> {
        let list = self.intern(cx, place.table.link, paths);
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
            self.counts.set(place.table.link, new, old);
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
        place: &PrefixEntry,
        source: Source,
        paths: &[Path],
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
        place: &PrefixEntry,
        new: SourcePaths,
    ) -> Result<RouteIndex, Error> {
        let route = cx.routes.allocate().ok_or_else(full)?;
        place.point_to(cx, route, self.adj(new.list)).inspect_err(|_| cx.routes.free(route))?;
        self.entries.set(route, Some(Entry::new(new)));
        self.counts.set(place.table.link, new, None);
        self.count_implicit(place.table, false, new.source == Source::Implicit);
        self.changed(cx, place);
        Ok(route)
    }

    /// Updates a table's number of implicit entries: `was` and `is` say whether an entry was
    /// implicit, and is now.
    fn count_implicit(&mut self, table: TableRef, was: bool, is: bool) {
        if let Some(table) = self.table_mut(table) {
            table.implicit = table.implicit + usize::from(is) - usize::from(was);
        }
    }

    /// Removes a source's paths to a prefix; false if it has none.
    pub fn take(&mut self, cx: &Cx<'_>, place: &PrefixEntry, source: Source) -> bool {
        let Some(route) = place.route else { return false };
        let Some(entry) = self.entries.get_mut(route) else { return false };
        let Some(old) = entry.of(source) else { return false };
        let (before, was_implicit) = (entry.best.list, entry.is_implicit());
        let is_left = entry.remove(source);
        let is_implicit = is_left && entry.is_implicit();
        let now = entry.best.list;
        self.count_implicit(place.table, was_implicit, is_implicit);
        self.counts.removed(place.table.link, old);
        if !is_left {
            place.lookup.remove(place.key);
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
    fn changed(&mut self, cx: &Cx<'_>, place: &PrefixEntry) {
        if !self.vias.is_empty() {
            let affected = self.affected(place.table, place.key, place.lookup.width());
            self.refresh(cx, affected);
        }
    }

    /// Lists with a next hop in this prefix, which its entry may resolve.
    pub fn affected(&self, table: TableRef, key: RouteKey, width: u8) -> BTreeSet<ListId> {
        let range = (table, key.bits)..=(table, last_of(key, width));
        self.vias.range(range).flat_map(|(_, ids)| ids).copied().collect()
    }

    /// The longest entry that covers the first `len` bits of a key: its route index and the path
    /// list in force.
    pub fn covering(&self, table: TableRef, bits: u128, len: u8) -> Option<(RouteIndex, ListId)> {
        let (_, route) = self.table(table).ok()?.lookup.covering(bits, len)?;
        Some((route, self.entries.get(route)?.best.list))
    }

    /// Calls `f` on the entries after a prefix, in order, until it returns false.
    pub fn walk(
        &self,
        table: TableRef,
        after: Option<RouteKey>,
        f: &mut dyn FnMut(RouteKey, RouteIndex, &Entry) -> bool,
    ) {
        let Ok(table) = self.table(table) else { return };
        table.lookup.walk(after, &mut |key, route| {
            self.entries.get(route).is_none_or(|entry| f(key, route, entry))
        });
    }

    /// As [`Self::walk`], without implicit entries.
    pub fn walk_listed(
        &self,
        table: TableRef,
        after: Option<RouteKey>,
        f: &mut dyn FnMut(RouteKey, RouteIndex, &Entry) -> bool,
    ) {
        self.walk(table, after, &mut |key, route, entry| {
            entry.is_implicit() || f(key, route, entry)
        });
    }

    /// The lists with a path on this interface.
    pub fn lists_of(&self, sw_if: SwIfIndex) -> BTreeSet<ListId> {
        self.by_if.get(&sw_if).cloned().unwrap_or_default()
    }

    /// The lists that lead to these neighbours.
    pub fn lists_to(&self, hops: &[NextHop]) -> BTreeSet<ListId> {
        hops.iter().filter_map(|hop| self.hops.get(hop)).flatten().copied().collect()
    }

    /// Removes all paths that name an interface.
    pub fn forget(&mut self, cx: &Cx<'_>, sw_if: SwIfIndex) {
        self.attached.remove(&sw_if);
        let lists = self.lists_of(sw_if);
        if lists.is_empty() {
            return;
        }
        let mut all = Vec::new();
        let tables: Vec<TableRef> =
            self.links().flat_map(|link| self.tables(link)).map(|(table, _)| table).collect();
        for table in tables {
            self.walk(table, None, &mut |key, _, entry| {
                let named = entry.all().filter(|s| lists.contains(&s.list));
                all.extend(named.map(|s| (table, key, s)));
                true
            });
        }
        for (table, key, SourcePaths { source, list, .. }) in all {
            let (Some(list), Ok(place)) = (self.lists.get(list), self.prefix_entry(table, key))
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
}

/// Refuses what can't be a next hop.
pub(super) fn check_nexthop(nexthop: IpAddr) -> Result<(), Error> {
    if nexthop.is_multicast() || nexthop.is_unspecified() {
        return Err(Error::parse(format!("{nexthop} is no address of a next hop"))
            .retval(retval::INVALID_VALUE));
    }
    Ok(())
}
