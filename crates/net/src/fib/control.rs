// SPDX-License-Identifier: Apache-2.0
//! What can be done with tables and routes.

use super::entry::{Entry, Sourced};
use super::list::{ListId, PathList};
use super::{Fib, Net, Path, PathKind, RouteInfo, RouteSource, Source, TableIndex, TableInfo};
use crate::{AdjIndex, Adjacencies, IfEvent, Interfaces};
use cli::Error;
use graph::{SwIfIndex, World};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use tables::{Lpm, Pool};
use wire::{Address, Family, Prefix};

pub(super) struct Table<F: Net> {
    pub id: u32,
    pub name: String,
    pub lpm: Arc<F::Lpm>,
    pub routes: BTreeMap<Prefix<F::Addr>, Entry>,
}

/// Everything but what workers read.
pub(super) struct Inner<F: Net> {
    /// By index.
    pub tables: Vec<Option<Table<F>>>,
    pub lists: Pool<PathList<F>, ListId>,
    pub interned: HashMap<Arc<[Path<F::Addr>]>, ListId>,
    /// Lists with a recursive path to this next hop.
    pub vias: BTreeMap<(TableIndex, F::Addr), BTreeSet<ListId>>,
}

impl<F: Net> Default for Inner<F> {
    fn default() -> Self {
        Self { tables: Vec::new(), lists: Pool::new(), interned: HashMap::new(), vias: BTreeMap::new() }
    }
}

/// What resolving needs of the rest.
pub(super) struct Cx<'a> {
    pub world: &'a World,
    pub adjacencies: &'a Adjacencies,
    pub interfaces: &'a Interfaces,
}

fn no_table(index: TableIndex) -> Error {
    Error::not_found(format!("there is no table of index {index}")).retval(-3)
}

impl<F: Net> Inner<F> {
    pub fn table(&mut self, index: TableIndex) -> Result<&mut Table<F>, Error> {
        self.tables.get_mut(index.at()).and_then(Option::as_mut).ok_or_else(|| no_table(index))
    }

    /// Sets what a source says of a prefix.
    pub fn put(
        &mut self,
        cx: &Cx<'_>,
        index: TableIndex,
        prefix: Prefix<F::Addr>,
        source: Source,
        paths: Vec<Path<F::Addr>>,
    ) -> Result<(), Error> {
        self.table(index)?;
        let list = self.intern(cx, paths);
        let new = Sourced { source, list };
        let table =
            self.tables.get_mut(index.at()).and_then(Option::as_mut).ok_or_else(|| no_table(index))?;
        let adj = |lists: &Pool<PathList<F>, ListId>, id| lists.get(id).map_or(AdjIndex::DROP, |l| l.adj).0;
        let key = F::key(prefix.addr());
        let mut old = None;
        let full = match table.routes.get_mut(&prefix) {
            Some(entry) => {
                let before = entry.best.list;
                old = entry.set(new);
                let now = entry.best.list;
                if now == before {
                    // The new list is held by the entry, whether it counts or not.
                    if let Some(old) = old {
                        self.let_go(cx, old);
                    }
                    return Ok(());
                }
                table.lpm.insert(key, prefix.len(), adj(&self.lists, now)).is_err()
            }
            None => match table.lpm.insert(key, prefix.len(), adj(&self.lists, list)) {
                Ok(_) => {
                    table.routes.insert(prefix, Entry::new(new));
                    false
                }
                Err(_) => {
                    self.let_go(cx, list);
                    true
                }
            },
        };
        if full {
            return Err(Error::limit("the route table is full"));
        }
        let affected = self.affected(index, prefix);
        if !affected.is_empty() {
            self.refresh(cx, affected);
        }
        if let Some(old) = old {
            self.let_go(cx, old);
        }
        Ok(())
    }

    /// Removes what a source says of a prefix; false if it says nothing.
    pub fn take(
        &mut self,
        cx: &Cx<'_>,
        index: TableIndex,
        prefix: Prefix<F::Addr>,
        source: Source,
    ) -> Result<bool, Error> {
        let table =
            self.tables.get_mut(index.at()).and_then(Option::as_mut).ok_or_else(|| no_table(index))?;
        let Some(entry) = table.routes.get_mut(&prefix) else { return Ok(false) };
        let Some(old) = entry.of(source) else { return Ok(false) };
        let before = entry.best.list;
        let key = F::key(prefix.addr());
        if !entry.remove(source) {
            table.routes.remove(&prefix);
            table.lpm.remove(key, prefix.len());
        } else if entry.best.list != before {
            let adj = self.lists.get(entry.best.list).map_or(AdjIndex::DROP, |l| l.adj);
            // The prefix is there, so there is room for it.
            let _ = table.lpm.insert(key, prefix.len(), adj.0);
        } else {
            self.let_go(cx, old);
            return Ok(true);
        }
        let affected = self.affected(index, prefix);
        self.refresh(cx, affected);
        self.let_go(cx, old);
        Ok(true)
    }

    fn info(&self, prefix: Prefix<F::Addr>, entry: &Entry) -> RouteInfo<F> {
        let sources = entry.all().filter_map(|Sourced { source, list }| {
            let l = self.lists.get(list)?;
            let paths = l.paths.iter().copied().zip(l.now.found.iter().copied()).collect();
            Some(RouteSource { source, list: list.0, shared: l.refs, paths, adj: l.adj })
        });
        RouteInfo { prefix, sources: sources.collect() }
    }
}

impl<F: Net> Fib<F> {
    fn cx<'a>(&'a self, world: &'a World) -> Cx<'a> {
        Cx { world, adjacencies: &self.adjacencies, interfaces: &self.interfaces }
    }

    /// Makes the table of this id.
    ///
    /// # Errors
    /// An id that is taken; no address space.
    pub fn add_table(&self, world: &World, id: u32, name: &str) -> Result<TableIndex, Error> {
        let mut inner = self.inner();
        if inner.tables.iter().flatten().any(|t| t.id == id) {
            return Err(Error::failed(format!("there is a table {id} already")).retval(-56));
        }
        let lpm = F::new_lpm(world.qsbr.clone()).map_err(|e| Error::limit(format!("table {id}: {e}")))?;
        let lpm = Arc::new(lpm);
        let free = inner.tables.iter().position(Option::is_none).unwrap_or(inner.tables.len());
        let index = TableIndex(free as u32);
        if free == inner.tables.len() {
            inner.tables.push(None);
        }
        inner.tables[free] =
            Some(Table { id, name: name.to_string(), lpm: lpm.clone(), routes: BTreeMap::new() });
        let cx = self.cx(world);
        let fixed = |adj| vec![Path::new(PathKind::Fixed(adj))];
        inner.put(&cx, index, Prefix::DEFAULT, Source::Default, fixed(AdjIndex::NO_ROUTE))?;
        for (prefix, adj) in F::special() {
            inner.put(&cx, index, prefix, Source::Special, fixed(adj))?;
        }
        self.tables.set(index.0, lpm);
        Ok(index)
    }

    /// Deletes a table with all its routes.
    ///
    /// # Errors
    /// One that isn't there; the default one; one that interfaces or routes of other tables use.
    pub fn delete_table(&self, world: &World, id: u32) -> Result<(), Error> {
        let index = self.find_table(id)?;
        if index == TableIndex::DEFAULT {
            return Err(Error::unsupported("table 0 can't be deleted"));
        }
        let bound = |i: &crate::Interface| if F::IS_V6 { i.fib6 } else { i.fib4 } == index.0;
        if let Some(user) = self.interfaces.list().into_iter().find(bound) {
            return Err(Error::failed(format!("{} is in table {id}: move it first", user.name)));
        }
        let mut inner = self.inner();
        let cx = self.cx(world);
        let names = |path: &Path<F::Addr>| match path.kind {
            PathKind::Lookup(table) | PathKind::Recursive { table, .. } => table == index,
            _ => false,
        };
        for table in inner.tables.iter().flatten().filter(|t| t.id != id) {
            let user = table.routes.iter().find(|(_, entry)| {
                entry.all().any(|s| inner.lists.get(s.list).is_some_and(|l| l.paths.iter().any(names)))
            });
            if let Some((prefix, _)) = user {
                return Err(Error::failed(format!("{prefix} of table {} leads to table {id}", table.id)));
            }
        }
        let table = inner.table(index)?;
        let all: Vec<_> = table
            .routes
            .iter()
            .flat_map(|(p, e)| e.all().map(|s| (*p, s.source)).collect::<Vec<_>>())
            .collect();
        for (prefix, source) in all {
            inner.take(&cx, index, prefix, source)?;
        }
        inner.tables[index.at()] = None;
        self.tables.clear(index.0);
        Ok(())
    }

    /// The table of this id.
    ///
    /// # Errors
    /// One that isn't there (−3).
    pub fn find_table(&self, id: u32) -> Result<TableIndex, Error> {
        let inner = self.inner();
        let at = inner.tables.iter().position(|t| t.as_ref().is_some_and(|t| t.id == id));
        at.map(|i| TableIndex(i as u32)).ok_or_else(|| {
            Error::not_found(format!("there is no table {id}"))
                .hint(format!("`ip table add {id}' makes it"))
                .retval(-3)
        })
    }

    /// The id of a table.
    pub fn table_id(&self, index: TableIndex) -> Option<u32> {
        self.inner().tables.get(index.at())?.as_ref().map(|t| t.id)
    }

    /// All tables, by index.
    pub fn list_tables(&self) -> Vec<TableInfo> {
        let inner = self.inner();
        let all = inner.tables.iter().enumerate();
        all.filter_map(|(i, t)| {
            let t = t.as_ref()?;
            let index = TableIndex(i as u32);
            Some(TableInfo { index, id: t.id, name: t.name.clone(), routes: t.routes.len() })
        })
        .collect()
    }

    /// Refuses paths that name what isn't there, or can't be.
    fn check(&self, inner: &Inner<F>, paths: &[Path<F::Addr>]) -> Result<(), Error> {
        if paths.is_empty() {
            return Err(Error::usage("a route needs a path"));
        }
        for path in paths {
            if let Some(sw_if) = path.sw_if() {
                self.interfaces.get(sw_if)?;
            }
            match path.kind {
                PathKind::Neighbor { nexthop, .. } | PathKind::Recursive { nexthop, .. }
                    if nexthop.multicast() || nexthop == F::Addr::ZERO =>
                {
                    return Err(Error::parse(format!("{nexthop} is no address of a next hop")).retval(-7));
                }
                PathKind::Recursive { table, .. } | PathKind::Lookup(table)
                    if inner.tables.get(table.at()).is_none_or(Option::is_none) =>
                {
                    return Err(no_table(table));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Sets a source's paths to a prefix, in place of those that it had. Host bits of the prefix are ignored.
    ///
    /// # Errors
    /// A table, an interface that isn't there; a next hop that can't be; a full table.
    pub fn set(
        &self,
        world: &World,
        table: TableIndex,
        prefix: Prefix<F::Addr>,
        source: Source,
        paths: &[Path<F::Addr>],
    ) -> Result<(), Error> {
        let mut inner = self.inner();
        self.check(&inner, paths)?;
        inner.put(&self.cx(world), table, prefix.network(), source, paths.to_vec())
    }

    /// Adds paths to those that a source has to a prefix; one that is there takes the new weight and preference.
    ///
    /// # Errors
    /// As [`Self::set`].
    pub fn add(
        &self,
        world: &World,
        table: TableIndex,
        prefix: Prefix<F::Addr>,
        source: Source,
        paths: &[Path<F::Addr>],
    ) -> Result<(), Error> {
        let prefix = prefix.network();
        let mut inner = self.inner();
        self.check(&inner, paths)?;
        let old = inner.table(table)?.routes.get(&prefix).and_then(|e| e.of(source));
        let mut all = old.and_then(|id| inner.lists.get(id)).map_or_else(Vec::new, |l| l.paths.to_vec());
        for path in paths {
            match all.iter_mut().find(|old| old.kind == path.kind) {
                Some(old) => *old = *path,
                None => all.push(*path),
            }
        }
        inner.put(&self.cx(world), table, prefix, source, all)
    }

    /// Removes some of a source's paths to a prefix, or all of them (`paths` empty).
    ///
    /// # Errors
    /// What isn't there (−6); a table that isn't there (−3).
    pub fn remove(
        &self,
        world: &World,
        table: TableIndex,
        prefix: Prefix<F::Addr>,
        source: Source,
        paths: &[Path<F::Addr>],
    ) -> Result<(), Error> {
        let prefix = prefix.network();
        let mut inner = self.inner();
        let old = inner.table(table)?.routes.get(&prefix).and_then(|e| e.of(source));
        let none = || Error::not_found(format!("there is no route {prefix} from the {source}")).retval(-6);
        let mut all = old.and_then(|id| inner.lists.get(id)).ok_or_else(none)?.paths.to_vec();
        let had = all.len();
        all.retain(|old| !paths.iter().any(|p| p.kind == old.kind));
        if all.len() == had && !paths.is_empty() {
            return Err(Error::not_found(format!("the route {prefix} has no such path")).retval(-6));
        }
        let cx = self.cx(world);
        if paths.is_empty() || all.is_empty() {
            inner.take(&cx, table, prefix, source)?;
            return Ok(());
        }
        inner.put(&cx, table, prefix, source, all)
    }

    /// What is known of exactly this prefix.
    pub fn route(&self, table: TableIndex, prefix: Prefix<F::Addr>) -> Option<RouteInfo<F>> {
        let inner = self.inner();
        let table = inner.tables.get(table.at())?.as_ref()?;
        let prefix = prefix.network();
        Some(inner.info(prefix, table.routes.get(&prefix)?))
    }

    /// The entry that packets to this address take.
    pub fn covering(&self, table: TableIndex, addr: F::Addr) -> Option<RouteInfo<F>> {
        let prefix = self.inner().covering(table, addr, <F as Family>::BITS)?.0;
        self.route(table, prefix)
    }

    /// Calls `f` on every entry of a table in order. `f` must not use this again.
    pub fn for_each(&self, table: TableIndex, mut f: impl FnMut(RouteInfo<F>)) {
        let inner = self.inner();
        if let Some(Some(table)) = inner.tables.get(table.at()) {
            table.routes.iter().for_each(|(prefix, entry)| f(inner.info(*prefix, entry)));
        }
    }

    /// How many entries a table has of each prefix length.
    pub fn lengths(&self, table: TableIndex) -> Vec<(u8, usize)> {
        let mut lengths = BTreeMap::new();
        if let Some(Some(table)) = self.inner().tables.get(table.at()) {
            table.routes.keys().for_each(|p| *lengths.entry(p.len()).or_default() += 1);
        }
        lengths.into_iter().collect()
    }

    pub(super) fn on_interface(&self, world: &World, event: IfEvent) {
        match event {
            IfEvent::Admin(sw_if, _) | IfEvent::Link(sw_if, _) => {
                let mut inner = self.inner();
                let lists = inner.lists_of(sw_if);
                inner.refresh(&self.cx(world), lists);
            }
            IfEvent::Deleting(sw_if) => self.forget(world, sw_if),
            _ => {}
        }
    }

    /// Removes all paths that name an interface.
    fn forget(&self, world: &World, sw_if: SwIfIndex) {
        let mut inner = self.inner();
        let lists = inner.lists_of(sw_if);
        if lists.is_empty() {
            return;
        }
        let mut all = Vec::new();
        for (i, table) in inner.tables.iter().enumerate() {
            let routes = table.iter().flat_map(|t| &t.routes);
            all.extend(routes.flat_map(|(prefix, entry)| {
                let sources = entry.all().filter(|s| lists.contains(&s.list));
                sources.map(|s| (TableIndex(i as u32), *prefix, s)).collect::<Vec<_>>()
            }));
        }
        let cx = self.cx(world);
        for (table, prefix, Sourced { source, list }) in all {
            let Some(list) = inner.lists.get(list) else { continue };
            let left: Vec<_> = list.paths.iter().filter(|p| p.sw_if() != Some(sw_if)).copied().collect();
            // Neither can fail: table and entry are there.
            let _ = match left.is_empty() {
                true => inner.take(&cx, table, prefix, source).map(drop),
                false => inner.put(&cx, table, prefix, source, left),
            };
        }
    }

    /// Adds or removes what a feature of this crate says, whatever the state of the interface.
    pub(super) fn with<R>(&self, world: &World, f: impl FnOnce(&mut Inner<F>, &Cx<'_>) -> R) -> R {
        f(&mut self.inner(), &self.cx(world))
    }
}

impl<F: Net> Inner<F> {
    /// The lists with a path on this interface.
    fn lists_of(&self, sw_if: SwIfIndex) -> BTreeSet<ListId> {
        let names = |list: &PathList<F>| list.paths.iter().any(|p| p.sw_if() == Some(sw_if));
        self.lists.iter().filter(|(_, list)| names(list)).map(|(id, _)| id).collect()
    }
}
