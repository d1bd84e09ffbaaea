// SPDX-License-Identifier: Apache-2.0
//! Path lists as long as they are needed, and the indices by which changes find them.

use super::inner::{Cx, Inner};
use super::key::bits_of;
use super::list::{ListId, PathList, Resolved, distinct};
use super::{Path, PathKind, TableRef};
use crate::adj::ObjectType;
use crate::{AdjIndex, Link, NextHop};
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

impl Inner {
    /// Takes a reference on the list with these paths; makes the list if it is new.
    pub fn intern(&mut self, cx: &Cx<'_>, link: Link, paths: &[Path]) -> ListId {
        let id = self.list_of(cx, link, &distinct(paths));
        if let Some(list) = self.lists.get_mut(id) {
            list.refs += 1;
        }
        id
    }

    /// The list with these paths, which differ; makes it if it is new. It takes no reference.
    pub(super) fn list_of(&mut self, cx: &Cx<'_>, link: Link, paths: &[Path]) -> ListId {
        if let Some(&id) = self.link_mut(link).interned.get(paths) {
            return id;
        }
        let paths: Arc<[_]> = paths.into();
        let adj = match &paths[..] {
            [Path { kind: PathKind::Fixed(adj), .. }] if *adj != AdjIndex::NO_ROUTE => {
                Some(adj.for_link(link))
            }
            _ => None,
        };
        let id = self.lists.insert(PathList {
            link,
            paths: paths.clone(),
            refs: 0,
            trackers: 0,
            adj: adj.unwrap_or_default(),
            owned: adj.is_none(),
            now: Resolved::default(),
            users: BTreeSet::new(),
            twin_of: BTreeSet::new(),
        });
        for path in paths.iter() {
            self.list(cx, id, link, path);
        }
        self.link_mut(link).interned.insert(paths, id);
        let now = self.resolve(cx, id);
        if adj.is_none() {
            let adj = cx.adjacencies.alias(now.target);
            if let Some(list) = self.lists.get_mut(id) {
                list.adj = adj;
            }
        }
        self.follow(id, now);
        id
    }

    /// Enters a path of a list into the indices.
    fn list(&mut self, cx: &Cx<'_>, id: ListId, link: Link, path: &Path) {
        if let Some(sw_if) = path.sw_if() {
            self.by_if.entry(sw_if).or_default().insert(id);
        }
        match path.kind {
            PathKind::Recursive { table, nexthop } => {
                let table = TableRef::of_address(table, nexthop);
                self.vias.entry((table, bits_of(nexthop))).or_default().insert(id);
            }
            PathKind::Object(of, number) => {
                let lists = self.objects.entry((of, number, link)).or_default();
                let is_first = lists.is_empty();
                lists.insert(id);
                if is_first {
                    (of.used)(cx.world, link, number, true);
                }
            }
            _ => {}
        }
    }

    /// Removes a path of a list from the indices.
    fn unlist(&mut self, cx: &Cx<'_>, id: ListId, link: Link, path: &Path) {
        if let Some(sw_if) = path.sw_if() {
            remove(&mut self.by_if, sw_if, id);
        }
        match path.kind {
            PathKind::Recursive { table, nexthop } => {
                let table = TableRef::of_address(table, nexthop);
                remove(&mut self.vias, (table, bits_of(nexthop)), id);
            }
            PathKind::Object(of, number) => {
                let key = (of, number, link);
                // A list may have several paths to an object, for example of different weights.
                let was_used = self.objects.contains_key(&key);
                remove(&mut self.objects, key, id);
                if was_used && !self.objects.contains_key(&key) {
                    (of.used)(cx.world, link, number, false);
                }
            }
            _ => {}
        }
    }

    /// Gives a reference on a list back.
    pub fn let_go(&mut self, cx: &Cx<'_>, id: ListId) {
        let Some(list) = self.lists.get_mut(id) else { return };
        list.refs -= 1;
        if list.paths.iter().any(|path| path.table().is_some()) {
            cx.note_unused();
        }
        if list.refs == 0 {
            self.collect(cx, id);
        }
    }

    /// Returns true if an entry or a feature uses a list, or one that needs it as a twin. Lists
    /// may be each other's twins in a circle, so that counting references isn't enough.
    fn is_needed(&self, id: ListId) -> bool {
        let (mut left, mut seen) = (vec![id], BTreeSet::from([id]));
        while let Some(list) = left.pop().and_then(|id| self.lists.get(id)) {
            if list.refs > 0 {
                return true;
            }
            left.extend(list.twin_of.iter().copied().filter(|of| seen.insert(*of)));
        }
        false
    }

    /// Removes a list if nothing needs it, and its twins that nothing else needs.
    pub(super) fn collect(&mut self, cx: &Cx<'_>, id: ListId) {
        let (mut left, mut gone, mut users) = (vec![id], Vec::new(), BTreeSet::new());
        while let Some(id) = left.pop() {
            if self.is_needed(id) {
                continue;
            }
            let Some(list) = self.lists.remove(id) else { continue };
            self.link_mut(list.link).interned.remove(&list.paths);
            list.paths.iter().for_each(|path| self.unlist(cx, id, list.link, path));
            for followed in &list.now.follows {
                if let Some(followed) = self.lists.get_mut(*followed) {
                    followed.users.remove(&id);
                }
            }
            for twin in &list.now.twins {
                if let Some(twin) = self.lists.get_mut(*twin) {
                    twin.twin_of.remove(&id);
                }
            }
            self.index_hops(id, &list.now.hops, &[]);
            left.extend(&list.now.twins);
            users.extend(&list.users);
            gone.push(list);
        }
        self.refresh(cx, users);
        for list in gone {
            list.now.left_out.iter().for_each(|adj| cx.adjacencies.release(*adj));
            if list.owned {
                cx.adjacencies.release(list.adj);
            }
        }
    }

    /// Stores what a list resolves to now, and keeps the indices of lists up to date.
    pub(super) fn follow(&mut self, id: ListId, now: Resolved) {
        let Some(list) = self.lists.get_mut(id) else { return };
        let old = std::mem::replace(&mut list.now, now.clone());
        for gone in old.follows.difference(&now.follows) {
            if let Some(list) = self.lists.get_mut(*gone) {
                list.users.remove(&id);
            }
        }
        for new in now.follows.difference(&old.follows) {
            if let Some(list) = self.lists.get_mut(*new) {
                list.users.insert(id);
            }
        }
        for gone in old.twins.difference(&now.twins) {
            if let Some(list) = self.lists.get_mut(*gone) {
                list.twin_of.remove(&id);
            }
        }
        for new in now.twins.difference(&old.twins) {
            if let Some(list) = self.lists.get_mut(*new) {
                list.twin_of.insert(id);
            }
        }
        if old.hops != now.hops {
            self.index_hops(id, &old.hops, &now.hops);
        }
    }

    /// Updates the index of lists by neighbour.
    fn index_hops(&mut self, id: ListId, old: &[NextHop], new: &[NextHop]) {
        for hop in old {
            if let Entry::Occupied(mut lists) = self.hops.entry(*hop) {
                lists.get_mut().remove(&id);
                if lists.get().is_empty() {
                    lists.remove();
                }
            }
        }
        for hop in new {
            self.hops.entry(*hop).or_default().insert(id);
        }
    }

    /// The link types whose packets routes lead to this object.
    pub fn links_to(&self, of: &'static ObjectType, number: u32) -> Vec<Link> {
        let of_all = (of, number, Link(0))..=(of, number, Link(u8::MAX));
        self.objects.range(of_all).map(|((.., link), _)| *link).collect()
    }

    /// The lists with a path to this object.
    pub fn lists_to_object(&self, of: &'static ObjectType, number: u32) -> BTreeSet<ListId> {
        let of_all = (of, number, Link(0))..=(of, number, Link(u8::MAX));
        self.objects.range(of_all).flat_map(|(_, lists)| lists).copied().collect()
    }
}

/// Removes a list from an index of lists.
fn remove<K: Ord + Copy>(lists: &mut BTreeMap<K, BTreeSet<ListId>>, key: K, id: ListId) {
    let Some(ids) = lists.get_mut(&key) else { return };
    ids.remove(&id);
    if ids.is_empty() {
        lists.remove(&key);
    }
}
