// SPDX-License-Identifier: Apache-2.0
//! Routes that features follow, as tunnels do to their far ends.

use super::list::{ListId, State};
use super::{Extension, Fib, Net, Path, PathKind, TableIndex};
use crate::AdjIndex;
use cli::Error;
use graph::World;

/// The way to an address by whatever route covers it. When that changes, one store moves all packets that are sent to [`Self::adj`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tracked {
    list: ListId,
    is_v6: bool,
    /// Where packets to the address go, now and after changes: an adjacency that no packet is forwarded by if there is no route.
    pub adj: AdjIndex,
}

impl Tracked {
    /// The path list, if it is one of this protocol's.
    pub(super) fn list_of<F: Net>(self) -> Option<ListId> {
        (self.is_v6 == F::IS_V6).then_some(self.list)
    }
}

impl<F: Net> Fib<F> {
    /// Follows the route to an address, until [`Self::untrack`]. The table stays as long.
    ///
    /// # Errors
    /// A table that isn't there (−3), an address that is none of one host (−7).
    pub fn track(&self, world: &World, table: TableIndex, address: F::Addr) -> Result<Tracked, Error> {
        let paths = [Path::new(PathKind::Recursive { table, nexthop: address })];
        self.with(world, |inner, cx| {
            self.check(inner, &paths)?;
            let list = inner.intern(cx, &paths);
            if let Some(list) = inner.lists.get_mut(list) {
                list.trackers += 1;
            }
            Ok(Tracked { list, is_v6: F::IS_V6, adj: inner.adj(list) })
        })
    }

    /// Follows a route no longer. No packet may be sent by it any more.
    pub fn untrack(&self, world: &World, tracked: Tracked) {
        if let Some(list) = tracked.list_of::<F>() {
            self.with(world, |inner, cx| {
                if let Some(list) = inner.lists.get_mut(list) {
                    list.trackers -= 1;
                }
                inner.let_go(cx, list);
            });
        }
    }

    /// An object of a feature is there, or has changed: routes with paths to it lead there.
    pub fn refresh_object(&self, world: &World, kind: Extension, object: u32) {
        let is_to = |path: &Path<F::Addr>| path.kind == PathKind::Extension(kind, object);
        self.with(world, |inner, cx| {
            let lists = inner.lists.iter().filter(|(_, list)| list.paths.iter().any(is_to));
            let lists: Vec<ListId> = lists.map(|(id, _)| id).collect();
            inner.refresh(cx, lists);
        });
    }

    /// Whether a route has a path to this object of a feature, usable or not.
    pub fn names_object(&self, kind: Extension, object: u32) -> bool {
        let is_to = |path: &Path<F::Addr>| path.kind == PathKind::Extension(kind, object);
        self.inner().lists.values().any(|list| list.paths.iter().any(is_to))
    }

    /// Whether there is a route that packets can be forwarded by.
    pub fn is_resolved(&self, tracked: Tracked) -> bool {
        let inner = self.inner();
        let list = tracked.list_of::<F>().and_then(|list| inner.lists.get(list));
        list.is_some_and(|list| list.now.state != State::Unusable)
    }
}
