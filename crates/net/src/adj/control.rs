// SPDX-License-Identifier: Apache-2.0
//! The control side of adjacencies: their reference counts, and the effects of interface events on
//! them.

use super::make::{mtu_of, next_node};
use super::ordinary::Records;
use super::{Adj, AdjIndex, AdjInfo, AdjKind, Adjacencies, Link, ObjectType};
use crate::{IfEvent, IfKind, Interfaces};
use graph::{Deleted, Shared, SwIfIndex, World};
use std::collections::{BTreeSet, HashMap};
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard};
use sync::{GraceTicket, Slots};

/// Identity of an adjacency: there is one adjacency for each key, except aliases and fixed ones.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum Key {
    Neighbor(Link, SwIfIndex, IpAddr),
    Glean(Link, SwIfIndex, IpAddr),
    Receive(Link, SwIfIndex, IpAddr),
    Multicast(Link, SwIfIndex),
    Lookup(Link, u32),
    LookupSource(Link, u32),
    Object(&'static ObjectType, Link, u32),
    LoadBalance(Vec<AdjIndex>),
    Alias(AdjIndex),
    /// A route as recursive paths follow it: the route's index, and the adjacency that the route
    /// leads to.
    Via(u32, AdjIndex),
    Fixed,
}

impl Key {
    /// Returns the adjacency that an alias or a via adjacency is a copy of.
    fn target(&self) -> Option<AdjIndex> {
        match *self {
            Self::Alias(target) | Self::Via(_, target) => Some(target),
            _ => None,
        }
    }

    /// Returns the interface that it belongs to.
    fn sw_if(&self) -> Option<SwIfIndex> {
        match *self {
            Self::Neighbor(_, sw_if, _)
            | Self::Glean(_, sw_if, _)
            | Self::Receive(_, sw_if, _)
            | Self::Multicast(_, sw_if) => Some(sw_if),
            _ => None,
        }
    }

    /// Returns the copy of the target that workers read: a via adjacency sets [`Adj::via`].
    fn shown(&self, adj: Adj) -> Adj {
        match *self {
            Self::Via(via, _) => Adj { via, ..adj },
            _ => adj,
        }
    }
}

struct Entry {
    adj: Adj,
    key: Key,
    refs: u32,
    /// The aliases and via adjacencies that are copies of this one.
    aliases: BTreeSet<AdjIndex>,
}

#[derive(Default)]
pub(super) struct Inner {
    all: Vec<Option<Entry>>,
    pub(super) by_key: HashMap<Key, AdjIndex>,
    /// Link types that neighbours have adjacencies for have numbers below this one.
    links: u8,
    /// Adjacencies of each interface, without copies, so that an event of an interface doesn't
    /// walk all others.
    by_if: HashMap<u32, BTreeSet<AdjIndex>>,
    /// Released indices; packets in flight may still name them until the grace period is over.
    cooling: Vec<(GraceTicket, AdjIndex)>,
    free: Vec<AdjIndex>,
    /// Number of writes to adjacencies that workers may have read.
    stores: u64,
    /// The indices of these adjacencies, in the order of the writes, from the first call of
    /// `journal` on: a daemon that has the tests in it doesn't grow by them.
    #[cfg(feature = "tests")]
    journal: Option<Vec<AdjIndex>>,
}

impl Inner {
    fn info(&self, index: AdjIndex) -> Option<AdjInfo> {
        let entry = self.all.get(index.at())?.as_ref()?;
        let mut shown = entry;
        while let Some(target) = shown.key.target() {
            shown = self.all.get(target.at())?.as_ref()?;
        }
        let object = if let Key::Object(of, ..) = shown.key { Some(of) } else { None };
        Some(AdjInfo {
            index,
            adj: entry.adj,
            refs: entry.refs,
            target: entry.key.target(),
            object,
        })
    }

    /// Allocates an unused index.
    fn index(&mut self) -> AdjIndex {
        let cooled = self.cooling.iter().take_while(|(ticket, _)| ticket.is_over()).count();
        self.free.extend(self.cooling.drain(..cooled).map(|(_, index)| index));
        self.free.pop().unwrap_or_else(|| {
            self.all.push(None);
            AdjIndex(self.all.len() as u32 - 1)
        })
    }

    /// Takes a reference on the adjacency with this key, if there is one.
    fn hold(&mut self, key: &Key) -> Option<AdjIndex> {
        let index = *self.by_key.get(key)?;
        if let Some(entry) = &mut self.all[index.at()] {
            entry.refs += 1;
        }
        Some(index)
    }

    /// Lists an adjacency under the interface of its key.
    fn list_by_if(&mut self, key: &Key, index: AdjIndex) {
        if let Some(sw_if) = key.sw_if() {
            self.by_if.entry(sw_if.0).or_default().insert(index);
        }
    }

    fn unlist_by_if(&mut self, key: &Key, index: AdjIndex) {
        if let Some(sw_if) = key.sw_if()
            && let Some(all) = self.by_if.get_mut(&sw_if.0)
        {
            all.remove(&index);
            if all.is_empty() {
                self.by_if.remove(&sw_if.0);
            }
        }
    }

    /// The adjacencies of a neighbour, that for packets of its own protocol first.
    pub(super) fn neighbors(&self, sw_if: SwIfIndex, nexthop: IpAddr) -> Vec<AdjIndex> {
        let (own, links) = (Link::of(nexthop), self.links);
        let others = (0..links).map(Link).filter(|link| *link != own);
        let key = |link| Key::Neighbor(link, sw_if, nexthop);
        [own]
            .into_iter()
            .chain(others)
            .filter_map(|link| self.by_key.get(&key(link)).copied())
            .collect()
    }

    fn link(&mut self, target: AdjIndex, alias: AdjIndex) {
        if let Some(Some(entry)) = self.all.get_mut(target.at()) {
            entry.aliases.insert(alias);
        }
    }

    fn unlink(&mut self, target: AdjIndex, alias: AdjIndex) {
        if let Some(Some(entry)) = self.all.get_mut(target.at()) {
            entry.aliases.remove(&alias);
        }
    }
}

impl Shared for Adjacencies {
    fn make(world: &World) -> Self {
        let this = Self {
            slots: Slots::new(world.qsbr.clone()),
            buckets: Slots::new(world.qsbr.clone()),
            ordinary: Records::new(),
            inner: Mutex::default(),
            counters: world.stats.combined("/net/adjacency"),
        };
        let fixed = [
            (AdjIndex::NO_ROUTE, AdjKind::NoRoute, Link::IP4),
            (AdjIndex::DROP, AdjKind::Drop, Link::IP4),
            (AdjIndex::MARTIAN, AdjKind::Martian, Link::IP4),
            (AdjIndex::PUNT, AdjKind::Punt, Link::IP4),
            (AdjIndex::UNREACH, AdjKind::Unreach, Link::IP4),
            (AdjIndex::PROHIBIT, AdjKind::Prohibit, Link::IP4),
            (AdjIndex::RECEIVE, AdjKind::Receive, Link::IP4),
            (AdjIndex::LINK_LOCAL, AdjKind::LinkLocal, Link::IP6),
            (AdjIndex::PUNT6, AdjKind::Punt, Link::IP6),
            (AdjIndex::RECEIVE6, AdjKind::Receive, Link::IP6),
        ];
        (0..AdjIndex::FIRST as usize).for_each(|index| this.counters.start(index));
        {
            let mut inner = this.inner();
            inner.all.resize_with(AdjIndex::FIRST as usize, || None);
            for (index, kind, link) in fixed {
                let next = next_node(world, kind, link);
                let adj = Adj { kind, next, link, counter: index.0, ..Adj::default() };
                this.store(index, adj);
                inner.all[index.at()] =
                    Some(Entry { adj, key: Key::Fixed, refs: 1, aliases: BTreeSet::new() });
            }
        }
        world
            .get::<Interfaces>()
            .subscribe_mover(|world, event| world.get::<Adjacencies>().on_event(world, event));
        this
    }

    fn forget(&self, _: &World, deleted: &Deleted<'_>) {
        let Some(&sw_if) = deleted.of::<SwIfIndex>() else { return };
        for index in self.over(sw_if) {
            // It drops packets until the last reference to it is released.
            self.change(index, |adj| {
                *adj = Adj {
                    kind: AdjKind::Drop,
                    link: adj.link,
                    counter: adj.counter,
                    ..Adj::default()
                };
            });
        }
    }
}

impl Adjacencies {
    pub(super) fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().expect("no panic inside")
    }

    /// Publishes an adjacency to workers under its index.
    fn store(&self, index: AdjIndex, adj: Adj) {
        self.slots.set(index.0, adj);
        let is_choice = adj.kind == AdjKind::LoadBalance;
        let buckets = if is_choice { self.buckets_of(AdjIndex(adj.counter)) } else { Vec::new() };
        self.ordinary.set(index, &adj, &buckets);
    }

    /// Takes a reference on the adjacency with this key, if there is one.
    pub(super) fn hold_known(&self, key: &Key) -> Option<AdjIndex> {
        self.inner().hold(key)
    }

    /// Takes a reference on the adjacency with this key; `make` makes it if there is none.
    pub(super) fn hold(&self, key: Key, make: impl FnOnce() -> Adj) -> AdjIndex {
        let mut inner = self.inner();
        if let Some(index) = inner.hold(&key) {
            return index;
        }
        let index = inner.index();
        let adj = Adj { counter: index.0, ..make() };
        if let Key::LoadBalance(buckets) = &key {
            self.buckets.set(index.0, buckets.clone().into());
        }
        self.counters.start(index.at());
        self.store(index, adj);
        inner.all[index.at()] =
            Some(Entry { adj, key: key.clone(), refs: 1, aliases: BTreeSet::new() });
        inner.list_by_if(&key, index);
        if let Key::Neighbor(link, ..) = key {
            inner.links = inner.links.max(link.0 + 1);
        }
        inner.by_key.insert(key, index);
        index
    }

    /// Makes an alias: a new index for `target`, which [`Self::retarget`] changes. Takes over the
    /// caller's reference on the target.
    pub fn alias(&self, target: AdjIndex) -> AdjIndex {
        let mut inner = self.inner();
        self.copy(&mut inner, Key::Alias(target), target)
    }

    /// Returns a copy of a route's adjacency for recursive paths that follow the route:
    /// [`Adj::via`] names it. Takes over the caller's reference on the target.
    pub(crate) fn via(&self, route: u32, target: AdjIndex) -> AdjIndex {
        let mut inner = self.inner();
        let key = Key::Via(route, target);
        let Some(index) = inner.hold(&key) else {
            let index = self.copy(&mut inner, key.clone(), target);
            inner.by_key.insert(key, index);
            return index;
        };
        drop(inner);
        // The existing adjacency has a reference on the target already.
        self.release(target);
        index
    }

    /// Makes a new index with a copy of `target`.
    fn copy(&self, inner: &mut Inner, key: Key, target: AdjIndex) -> AdjIndex {
        let index = inner.index();
        let adj = key.shown(inner.all[target.at()].as_ref().map(|e| e.adj).unwrap_or_default());
        self.store(index, adj);
        inner.all[index.at()] = Some(Entry { adj, key, refs: 1, aliases: BTreeSet::new() });
        inner.link(target, index);
        index
    }

    /// Changes the target of an alias. Takes over the caller's reference on the new target, and
    /// returns the old one, which the caller has to [`Self::release`] later.
    ///
    /// # Panics
    /// If `alias` is not an alias, or the target is an alias of it.
    #[must_use]
    pub fn retarget(&self, alias: AdjIndex, target: AdjIndex) -> AdjIndex {
        let mut inner = self.inner();
        let mut at = target;
        while let Some(next) = inner.all.get(at.at()).and_then(|e| e.as_ref()?.key.target()) {
            assert!(at != alias, "an alias of itself");
            at = next;
        }
        let Some(Some(Entry { key: Key::Alias(kept), .. })) = inner.all.get_mut(alias.at()) else {
            panic!("adjacency {alias} is no alias")
        };
        let old = std::mem::replace(kept, target);
        inner.unlink(old, alias);
        inner.link(target, alias);
        let adj = inner.all[target.at()].as_ref().map(|e| e.adj).unwrap_or_default();
        self.show(&mut inner, alias, adj);
        old
    }

    /// Publishes a new value of an adjacency and of its aliases to workers.
    fn show(&self, inner: &mut Inner, index: AdjIndex, adj: Adj) {
        inner.stores += 1;
        #[cfg(feature = "tests")]
        if let Some(journal) = &mut inner.journal {
            journal.push(index);
        }
        let Some(Some(entry)) = inner.all.get_mut(index.at()) else { return };
        let adj = entry.key.shown(adj);
        entry.adj = adj;
        self.store(index, adj);
        for alias in entry.aliases.clone() {
            self.show(inner, alias, adj);
        }
    }

    /// Number of writes to adjacencies that workers may have read: the cost of changes.
    pub fn stores(&self) -> u64 {
        self.inner().stores
    }

    /// Takes the indices of the adjacencies written since the last call; the first call begins.
    #[cfg(feature = "tests")]
    pub(crate) fn journal(&self) -> Vec<AdjIndex> {
        self.inner().journal.replace(Vec::new()).unwrap_or_default()
    }

    /// Takes another reference on an adjacency.
    pub fn hold_again(&self, index: AdjIndex) {
        if let Some(Some(entry)) = self.inner().all.get_mut(index.at()) {
            entry.refs += 1;
        }
    }

    /// Releases a reference that [`Self::neighbor`] and the other functions took. The last one
    /// deletes the adjacency: no table that workers look packets up in may name it any more.
    /// Packets in flight still find it: its index is used again only after a grace period.
    pub fn release(&self, index: AdjIndex) {
        let mut held = vec![index];
        while let Some(index) = held.pop() {
            let mut inner = self.inner();
            let Some(slot) = inner.all.get_mut(index.at()) else { continue };
            let Some(entry) = slot.as_mut().filter(|e| e.key != Key::Fixed) else { continue };
            entry.refs -= 1;
            if entry.refs > 0 {
                continue;
            }
            let Some(entry) = slot.take() else { continue };
            inner.by_key.remove(&entry.key);
            inner.unlist_by_if(&entry.key, index);
            match entry.key {
                Key::LoadBalance(mut buckets) => {
                    buckets.sort_unstable();
                    buckets.dedup();
                    held.extend(buckets);
                }
                Key::Alias(target) | Key::Via(_, target) => {
                    inner.unlink(target, index);
                    held.push(target);
                }
                _ => {}
            }
            inner.cooling.push((self.slots.domain().grace(), index));
        }
    }

    pub(super) fn change(&self, index: AdjIndex, f: impl FnOnce(&mut Adj)) {
        let mut inner = self.inner();
        if let Some(Some(entry)) = inner.all.get_mut(index.at()) {
            let mut adj = entry.adj;
            f(&mut adj);
            self.show(&mut inner, index, adj);
        }
    }

    /// Describes an adjacency, for `show`.
    pub fn info(&self, index: AdjIndex) -> Option<AdjInfo> {
        self.inner().info(index)
    }

    /// Describes all adjacencies, by index.
    pub fn list(&self) -> Vec<AdjInfo> {
        let inner = self.inner();
        (0..inner.all.len() as u32).filter_map(|index| inner.info(AdjIndex(index))).collect()
    }

    /// All indices ever allocated, also unused ones: for walks in slices, which call [`Self::info`]
    /// when an adjacency's turn comes.
    pub fn indices(&self) -> impl Iterator<Item = AdjIndex> + use<> {
        (0..self.inner().all.len() as u32).map(AdjIndex)
    }

    /// The members of a load-balance, one for each bucket.
    pub fn buckets_of(&self, index: AdjIndex) -> Vec<AdjIndex> {
        self.buckets.read(index.0, |b| b.map(|b| b.to_vec()).unwrap_or_default())
    }

    /// The adjacencies over an interface, without aliases.
    fn over(&self, sw_if: SwIfIndex) -> Vec<AdjIndex> {
        let mut all: Vec<AdjIndex> = self
            .inner()
            .by_if
            .get(&sw_if.0)
            .map_or_else(Vec::new, |all| all.iter().copied().collect());
        // Some may be left from a deleted interface with the same index: such adjacencies drop, and
        // name no interface.
        all.retain(|at| self.info(*at).is_some_and(|info| info.sw_if() == Some(sw_if)));
        all
    }

    fn on_event(&self, world: &World, event: IfEvent) {
        let (IfEvent::Mac(sw_if) | IfEvent::Mtu(sw_if)) = event else { return };
        let Ok(interface) = world.get::<Interfaces>().get(sw_if) else { return };
        for index in self.over(sw_if) {
            self.change(index, |adj| match event {
                IfEvent::Mac(_) if adj.rewrite_len >= 14 && interface.kind == IfKind::Ethernet => {
                    let mut rewrite = adj.rewrite();
                    rewrite[6..12].copy_from_slice(&interface.mac.0);
                    adj.set_rewrite(&rewrite);
                }
                _ => adj.mtu = mtu_of(world, &interface, adj.link),
            });
        }
    }
}
