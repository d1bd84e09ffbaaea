// SPDX-License-Identifier: Apache-2.0
//! Entries: the sources of a prefix, each with its path list.

use super::list::ListId;
use super::{Net, Path, PathState, RouteIndex, Source};
use crate::{AdjIndex, Link};
use std::ops::Deref;
use wire::Prefix;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct SourcePaths {
    pub source: Source,
    /// The source replaces its routes (`replace_begin`), and hasn't set this one again yet.
    pub stale: bool,
    pub list: ListId,
}

const _: () = assert!(size_of::<Option<Entry>>() == 24);

/// An entry's sources. Kept small, since there may be millions of entries.
pub(super) struct Entry {
    pub best: SourcePaths,
    /// The other sources, best first. Usually there are none, and an empty box takes no memory.
    pub others: Box<[SourcePaths]>,
}

impl Entry {
    pub fn new(best: SourcePaths) -> Self {
        Self { best, others: Box::default() }
    }

    /// Returns true if the entry exists only because an RFC requires it: lists and dumps omit it.
    pub fn is_implicit(&self) -> bool {
        self.best.source == Source::Implicit
    }

    pub fn all(&self) -> impl Iterator<Item = SourcePaths> {
        std::iter::once(self.best).chain(self.others.iter().copied())
    }

    pub fn of(&self, source: Source) -> Option<SourcePaths> {
        self.all().find(|s| s.source == source)
    }

    /// Marks a source's paths as stale until it sets them again. Returns true if they weren't.
    pub fn mark(&mut self, source: Source) -> bool {
        let mut all = std::iter::once(&mut self.best).chain(&mut self.others);
        let of = all.find(|s| s.source == source);
        of.is_some_and(|of| !std::mem::replace(&mut of.stale, true))
    }

    /// Sets a source's path list, and returns the previous one.
    pub fn set(&mut self, new: SourcePaths) -> Option<SourcePaths> {
        if self.best.source == new.source {
            return Some(std::mem::replace(&mut self.best, new));
        }
        let old = self.of(new.source);
        let mut all: Vec<_> = self.all().filter(|s| s.source != new.source).collect();
        all.push(new);
        all.sort_by_key(|s| s.source);
        self.put(all);
        old
    }

    /// Removes a source; false if the entry has no source left.
    pub fn remove(&mut self, source: Source) -> bool {
        if self.others.is_empty() {
            return self.best.source != source;
        }
        let all: Vec<_> = self.all().filter(|s| s.source != source).collect();
        let some = !all.is_empty();
        self.put(all);
        some
    }

    fn put(&mut self, mut all: Vec<SourcePaths>) {
        if all.is_empty() {
            return;
        }
        self.best = all.remove(0);
        self.others = all.into();
    }
}

/// Capacity that is kept when entries are removed.
const SPARE: usize = 1 << 12;

/// All entries, by route index.
#[derive(Default)]
pub(super) struct Entries(Vec<Option<Entry>>);

impl Entries {
    pub fn get(&self, route: RouteIndex) -> Option<&Entry> {
        self.0.get(route.at())?.as_ref()
    }

    pub fn get_mut(&mut self, route: RouteIndex) -> Option<&mut Entry> {
        self.0.get_mut(route.at())?.as_mut()
    }

    pub fn set(&mut self, route: RouteIndex, entry: Option<Entry>) {
        if entry.is_none() {
            return self.clear(route);
        }
        if self.0.len() <= route.at() {
            self.0.resize_with(route.at() + 1, || None);
        }
        self.0[route.at()] = entry;
    }

    /// Clears an entry; gives memory back when most entries are unused. Route indices are allocated
    /// lowest first, so the end is free first.
    fn clear(&mut self, route: RouteIndex) {
        let Some(entry) = self.0.get_mut(route.at()) else { return };
        *entry = None;
        if route.at() + 1 == self.0.len() {
            let len = self.0.iter().rposition(Option::is_some).map_or(0, |last| last + 1);
            self.0.truncate(len);
            if self.0.capacity() > SPARE.max(4 * len) {
                self.0.shrink_to(2 * len);
            }
        }
    }

    pub fn all(&self) -> impl Iterator<Item = &Entry> {
        self.0.iter().flatten()
    }

    /// Number of entries, and the capacity.
    pub fn count(&self) -> (usize, usize) {
        (self.all().count(), self.0.capacity())
    }
}

/// One source's paths, for `show`.
#[derive(Clone, Debug)]
pub struct RouteSource {
    /// The source.
    pub source: Source,
    /// Its path list.
    pub path_list: PathListInfo,
}

impl Deref for RouteSource {
    type Target = PathListInfo;
    fn deref(&self) -> &PathListInfo {
        &self.path_list
    }
}

/// A path list, for `show`.
#[derive(Clone, Debug)]
pub struct PathListInfo {
    /// Its index.
    pub list: u32,
    /// The link type of the packets that take it.
    pub link: Link,
    /// Number of entries that share it.
    pub shared: usize,
    /// The paths, each with its adjacency if it is usable.
    pub paths: Vec<(Path, Option<AdjIndex>)>,
    /// For each path, whether it is usable, and if not, why.
    pub states: Vec<PathState>,
    /// The adjacency for all used paths together, which workers find if the list's source is in
    /// force.
    pub adj: AdjIndex,
}

/// An entry, for `show`.
#[derive(Clone, Debug)]
pub struct RouteInfo<F: Net> {
    /// The prefix, without host bits.
    pub prefix: Prefix<F::Addr>,
    /// Its route index, also the index of its counters.
    pub index: RouteIndex,
    /// The sources, best first.
    pub sources: Vec<RouteSource>,
}
