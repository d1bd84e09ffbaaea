// SPDX-License-Identifier: Apache-2.0
//! Operations on entries and tables.

use super::mroutes::Numbers;
use super::table::{Entry, Node, Nodes, SourceEntry, Table, full};
use super::{
    Change, Group, ItfFlags, Mfib, Mpath, MpathKind, Mroute, MrouteIndex, MrouteInfo, MrouteOutput,
    MrouteSource, group,
};
use crate::{Net, Source, TableIndex, TableUsage, Usage};
use cli::{Error, retval};
use graph::{SwIfIndex, World};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use tables::Lpm;

/// The control side's state: everything but what workers read.
pub struct Inner<F: Net> {
    /// The entries that every table has.
    pub defaults: Nodes<F::Addr>,
    tables: BTreeMap<TableIndex, Table<F>>,
    /// Allocates the numbers of sender lists.
    lists: Numbers,
}

impl<F: Net> Default for Inner<F> {
    fn default() -> Self {
        Self { defaults: BTreeMap::new(), tables: BTreeMap::new(), lists: Numbers::default() }
    }
}

impl<F: Net> Inner<F> {
    fn default_at(defaults: &Nodes<F::Addr>, at: (F::Addr, u8)) -> Option<MrouteIndex> {
        defaults.get(&at)?.own.as_ref().map(|entry| entry.index)
    }

    fn entry(&self, table: TableIndex, group: Group<F::Addr>) -> Option<&Entry> {
        self.tables.get(&table)?.nodes.get(&(group.addr, group.len))?.entry(group.source)
    }

    fn entry_mut(&mut self, table: TableIndex, group: Group<F::Addr>) -> Option<&mut Entry> {
        self.tables
            .get_mut(&table)?
            .nodes
            .get_mut(&(group.addr, group.len))?
            .entry_mut(group.source)
    }
}

fn no_entry<A>(group: Group<A>) -> Error
where
    Group<A>: std::fmt::Display,
{
    Error::not_found(format!("there is no multicast route {group}")).retval(retval::NO_SUCH_ENTRY)
}

impl<F: Net> Mfib<F> {
    /// Adds an entry, or changes a source's part of it.
    ///
    /// # Errors
    /// An invalid sender address (−7); an interface that isn't there (−2); no room (−99).
    #[inline(never)]
    pub fn update(
        &self,
        world: &World,
        table: TableIndex,
        group: Group<F::Addr>,
        source: Source,
        change: Change<'_>,
    ) -> Result<MrouteIndex, Error> {
        group::check::<F>(&group)?;
        for sw_if in change.paths.iter().filter_map(|path| path.kind.sw_if()) {
            self.interfaces.get(sw_if)?;
        }
        let mut inner = self.inner();
        let is_new = inner.entry(table, group).is_none();
        if is_new {
            self.insert(&mut inner, table, group, source)?;
        }
        let Some(entry) = inner.entry_mut(table, group) else { return Err(no_entry(group)) };
        let part = entry.sources.entry(source).or_default();
        if std::mem::take(&mut part.stale) {
            *part = SourceEntry::default();
        }
        part.flags = change.flags.unwrap_or(part.flags);
        part.rpf_id = change.rpf_id.unwrap_or(part.rpf_id);
        for path in change.paths {
            part.paths.insert(path.kind, path.flags - ItfFlags::SIGNAL_PRESENT);
        }
        let index = entry.index;
        self.publish(world, table, group, entry);
        if is_new && let Err(why) = self.link(&mut inner, table, group) {
            self.forget_source(world, &mut inner, table, group, source);
            return Err(why);
        }
        Ok(index)
    }

    /// Makes a new entry, which workers don't see yet.
    fn insert(
        &self,
        inner: &mut Inner<F>,
        table: TableIndex,
        group: Group<F::Addr>,
        source: Source,
    ) -> Result<(), Error> {
        if !inner.tables.contains_key(&table) {
            let lpm = Arc::new(Lpm::new(&self.forest).map_err(|_| full())?);
            let new = Table { lpm, nodes: BTreeMap::new() };
            for at in inner.defaults.keys() {
                new.point_to(*at, Inner::<F>::default_at(&inner.defaults, *at))?;
            }
            self.tables.set(table.0, new.lpm.clone());
            inner.tables.insert(table, new);
        }
        let Some(table) = inner.tables.get_mut(&table) else { return Err(full()) };
        let entry = Entry {
            index: self.mroutes.allocate(),
            sources: BTreeMap::from([(source, SourceEntry::default())]),
            waiting: BTreeMap::new(),
            outputs: Vec::new(),
        };
        let node = table.nodes.entry((group.addr, group.len)).or_default();
        match group.source {
            None => node.own = Some(entry),
            Some(source) => drop(node.senders.insert(source, entry)),
        }
        Ok(())
    }

    /// Publishes a group to workers after an entry was added or removed.
    fn link(
        &self,
        inner: &mut Inner<F>,
        table: TableIndex,
        group: Group<F::Addr>,
    ) -> Result<(), Error> {
        let at = (group.addr, group.len);
        let Inner { tables, lists, defaults } = inner;
        let Some(table) = tables.get_mut(&table) else { return Ok(()) };
        let unused = table.nodes.get_mut(&at).and_then(|node| self.list_senders(node, lists));
        table.point_to(at, Inner::<F>::default_at(defaults, at))?;
        if let Some(unused) = unused {
            self.senders.clear(unused);
            lists.give(unused, self.senders.domain());
        }
        if group.source.is_none() {
            for follower in table.followers(at) {
                table.point_to(follower, Inner::<F>::default_at(defaults, follower))?;
            }
        }
        Ok(())
    }

    /// Removes some of a source's paths from an entry, or the source's whole part (`paths` empty).
    /// A part without paths is removed.
    ///
    /// # Errors
    /// No such entry, source or path (−6).
    #[inline(never)]
    pub fn remove(
        &self,
        world: &World,
        table: TableIndex,
        group: Group<F::Addr>,
        source: Source,
        paths: &[MpathKind],
    ) -> Result<(), Error> {
        let mut inner = self.inner();
        let part = inner.entry_mut(table, group).and_then(|entry| entry.sources.get_mut(&source));
        let part = part.ok_or_else(|| no_entry(group))?;
        let before = part.paths.len();
        part.paths.retain(|path, _| !paths.contains(path));
        if !paths.is_empty() && part.paths.len() == before {
            let why = format!("the multicast route {group} has no such path");
            return Err(Error::not_found(why).retval(retval::NO_SUCH_ENTRY));
        }
        if paths.is_empty() || part.paths.is_empty() {
            self.forget_source(world, &mut inner, table, group, source);
        } else if let Some(entry) = inner.entry_mut(table, group) {
            self.publish(world, table, group, entry);
        }
        Ok(())
    }

    /// Removes a source's part of an entry; and the entry, if no source is left.
    fn forget_source(
        &self,
        world: &World,
        inner: &mut Inner<F>,
        table: TableIndex,
        group: Group<F::Addr>,
        source: Source,
    ) {
        let Some(entry) = inner.entry_mut(table, group) else { return };
        entry.sources.remove(&source);
        if !entry.sources.is_empty() {
            return self.publish(world, table, group, entry);
        }
        let at = (group.addr, group.len);
        let Some(node) = inner.tables.get_mut(&table).and_then(|t| t.nodes.get_mut(&at)) else {
            return;
        };
        let gone = match group.source {
            None => node.own.take(),
            Some(source) => node.senders.remove(&source),
        };
        // Can't fail for lack of room: the table shrinks.
        let linked = self.link(inner, table, group);
        debug_assert!(linked.is_ok());
        if let Some(table) = inner.tables.get_mut(&table)
            && table.nodes.get(&at).is_some_and(super::table::Node::is_empty)
        {
            table.nodes.remove(&at);
        }
        if let Some(gone) = gone {
            self.mroutes.free(gone.index);
            self.release(gone.outputs);
        }
        if inner.tables.get(&table).is_some_and(|table| table.nodes.is_empty()) {
            self.tables.clear(table.0);
            inner.tables.remove(&table);
        }
    }

    /// Lists the sources of entries that `which` selects, each with its table and group.
    fn select(
        inner: &Inner<F>,
        only: Option<TableIndex>,
        which: impl Fn(Source, &SourceEntry) -> bool,
    ) -> Vec<(TableIndex, Group<F::Addr>, Source)> {
        let mut all = Vec::new();
        for (index, table) in
            inner.tables.iter().filter(|(index, _)| only.is_none_or(|only| only == **index))
        {
            for ((addr, len), node) in &table.nodes {
                for (source, entry) in node.entries() {
                    let group = Group { addr: *addr, len: *len, source };
                    let part = entry.sources.iter().filter(|(source, part)| which(**source, part));
                    all.extend(part.map(|(source, _)| (*index, group, *source)));
                }
            }
        }
        all
    }

    fn remove_where(
        &self,
        world: &World,
        table: TableIndex,
        which: impl Fn(Source, &SourceEntry) -> bool,
    ) {
        let mut inner = self.inner();
        for (table, group, source) in Self::select(&inner, Some(table), which) {
            self.forget_source(world, &mut inner, table, group, source);
        }
    }

    /// Removes all entries of a table, which is about to go.
    pub(crate) fn forget_table(&self, world: &World, table: TableIndex) {
        self.remove_where(world, table, |_, _| true);
    }

    /// Removes all entries of a source in a table.
    #[inline(never)]
    pub fn flush(&self, world: &World, table: TableIndex, source: Source) {
        self.remove_where(world, table, |of, _| of == source);
    }

    /// Marks a source's entries in a table as stale: the source sets them again. The entries stay
    /// as they are until [`Self::replace_end`].
    pub fn replace_begin(&self, table: TableIndex, source: Source) {
        let mut inner = self.inner();
        for (table, group, _) in Self::select(&inner, Some(table), |of, _| of == source) {
            let part =
                inner.entry_mut(table, group).and_then(|entry| entry.sources.get_mut(&source));
            part.into_iter().for_each(|part| part.stale = true);
        }
    }

    /// Removes the source's entries that weren't set again since [`Self::replace_begin`].
    pub fn replace_end(&self, world: &World, table: TableIndex, source: Source) {
        self.remove_where(world, table, |of, part| of == source && part.stale);
    }

    /// Publishes the entries with paths over an interface again. If the interface is being deleted,
    /// removes these paths first.
    pub(super) fn update_interface(&self, world: &World, sw_if: SwIfIndex, is_going: bool) {
        let names = |path: &MpathKind| path.sw_if() == Some(sw_if);
        let mut inner = self.inner();
        let all = Self::select(&inner, None, |_, part| part.paths.keys().any(names));
        for (table, group, source) in all {
            let Some(entry) = inner.entry_mut(table, group) else { continue };
            if is_going && let Some(part) = entry.sources.get_mut(&source) {
                part.paths.retain(|path, _| !names(path));
                if part.paths.is_empty() {
                    self.forget_source(world, &mut inner, table, group, source);
                    continue;
                }
            }
            self.publish(world, table, group, entry);
        }
    }

    /// The entry of exactly this group.
    pub fn entry(&self, table: TableIndex, group: Group<F::Addr>) -> Option<MrouteInfo<F>> {
        let inner = self.inner();
        let entry = inner.entry(table, group).or_else(|| {
            inner.defaults.get(&(group.addr, group.len)).and_then(|node| node.entry(group.source))
        });
        entry.map(|entry| info(group, entry))
    }

    /// The entry that packets from a sender to a group take; without a sender, the entry for
    /// senders without an entry of their own.
    pub fn best(
        &self,
        table: TableIndex,
        addr: F::Addr,
        source: Option<F::Addr>,
    ) -> Option<MrouteInfo<F>> {
        let own = source.and_then(|source| self.entry(table, group::from::<F>(source, addr)));
        own.or_else(|| {
            let prefixes = (0..=F::BITS).rev().filter_map(|len| wire::Prefix::new(addr, len));
            prefixes.map(Group::any).find_map(|group| self.entry(table, group))
        })
    }

    /// At most `n` entries of a table after `after` (or from the first), in order of group and
    /// sender, without implicit ones ([`Source::Implicit`]).
    pub fn list(
        &self,
        table: TableIndex,
        after: Option<Group<F::Addr>>,
        n: usize,
    ) -> Vec<MrouteInfo<F>> {
        let inner = self.inner();
        let own = inner.tables.get(&table).map(|table| &table.nodes);
        let from = after.map_or(Bound::Unbounded, |group| Bound::Included((group.addr, group.len)));
        let range = (from, Bound::Unbounded);
        // Both are in order; of two entries for one group, the table's own is in force.
        let mut places: BTreeSet<(F::Addr, u8)> =
            inner.defaults.range(range).map(|(at, _)| *at).collect();
        places.extend(
            own.into_iter()
                .flat_map(|nodes| nodes.range(range))
                .map(|(at, _)| *at)
                .take(n.saturating_add(1)),
        );
        let behind = |group: &Group<F::Addr>| after.is_none_or(|after| *group > after);
        let mut all = Vec::new();
        for at @ (addr, len) in places {
            let own = own.and_then(|nodes| nodes.get(&at));
            let default = inner.defaults.get(&at).filter(|default| {
                let is_listed = |entry: &Entry| !entry.sources.contains_key(&Source::Implicit);
                default.own.as_ref().is_some_and(is_listed)
                    && own.is_none_or(|node| node.own.is_none())
            });
            let entries = default.into_iter().chain(own).flat_map(super::table::Node::entries);
            let entries = entries.map(|(source, entry)| (Group { addr, len, source }, entry));
            let entries = entries.filter(|(group, _)| behind(group)).take(n - all.len());
            all.extend(entries.map(|(group, entry)| info(group, entry)));
            if all.len() >= n {
                break;
            }
        }
        all.truncate(n);
        all
    }

    /// Memory usage of the tables with entries of their own, and of the entries.
    pub fn usage(&self) -> (TableUsage, Usage) {
        let inner = self.inner();
        let tables = inner.tables.values().map(|table| TableUsage::of(&*table.lpm)).sum();
        let mut entries = Usage::new("mfib-entry", size_of::<Entry>() + size_of::<Mroute>());
        let nodes = inner.tables.values().flat_map(|table| table.nodes.values());
        for (_, entry) in nodes.flat_map(Node::entries) {
            let paths = entry.sources.values().map(|part| part.paths.len()).sum::<usize>();
            entries.used += 1;
            entries.bytes += entries.size
                + paths * size_of::<(MpathKind, ItfFlags)>()
                + entry.outputs.len() * size_of::<MrouteOutput>();
        }
        entries.allocated = entries.used;
        (tables, entries)
    }

    /// Number of entries of a table's own.
    pub fn count(&self, table: TableIndex) -> usize {
        let inner = self.inner();
        inner
            .tables
            .get(&table)
            .map_or(0, |table| table.nodes.values().map(|node| node.entries().count()).sum())
    }
}

fn info<F: Net>(group: Group<F::Addr>, entry: &Entry) -> MrouteInfo<F> {
    let source = |(source, part): (&Source, &SourceEntry)| MrouteSource {
        source: *source,
        flags: part.flags,
        rpf_id: part.rpf_id,
        paths: part
            .paths
            .iter()
            .map(|(kind, flags)| Mpath { kind: *kind, flags: *flags })
            .collect(),
    };
    let sources: Vec<_> = entry.sources.iter().map(source).collect();
    let mut interfaces: BTreeMap<SwIfIndex, ItfFlags> = BTreeMap::new();
    for path in sources.first().map_or(&[][..], |best| &best.paths) {
        if let Some(sw_if) = path.kind.sw_if() {
            let all = interfaces.entry(sw_if).or_default();
            *all |= path.flags;
        }
    }
    for (sw_if, flags) in &mut interfaces {
        if entry.waiting.get(&sw_if.0).is_some_and(|waiting| waiting.load(Ordering::Acquire)) {
            *flags |= ItfFlags::SIGNAL_PRESENT;
        }
    }
    MrouteInfo {
        group,
        index: entry.index,
        sources,
        interfaces: interfaces.into_iter().collect(),
        outputs: entry.outputs.iter().map(|output| output.adj).collect(),
    }
}
