// SPDX-License-Identifier: Apache-2.0
//! Routes that features follow, as tunnels follow the route to their remote endpoint.

use super::list::{ListId, State};
use super::{Extension, Fib, Net, Path, PathKind, PathListInfo, TableIndex};
use crate::{AdjIndex, ObjectType};
use cli::Error;
use graph::World;
use std::net::IpAddr;
use wire::{Ip4, Ip6};

/// The route to an address. When the route changes, one store moves all packets that are sent to
/// [`Self::adj`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tracked {
    list: ListId,
    is_v6: bool,
    /// The table of the route.
    pub table: TableIndex,
    /// The adjacency for packets to the address; its index stays the same. It drops packets while
    /// there is no route.
    pub adj: AdjIndex,
}

impl Tracked {
    /// Follows the route to an address in the table with this id, until [`Self::release`]. The
    /// table exists at least as long.
    ///
    /// # Errors
    /// A table that isn't there (−3), an address that is none of one host (−7).
    pub fn new(world: &World, table_id: u32, address: IpAddr) -> Result<Self, Error> {
        match address {
            IpAddr::V4(address) => world.get::<Fib<Ip4>>().track(world, table_id, address),
            IpAddr::V6(address) => world.get::<Fib<Ip6>>().track(world, table_id, address),
        }
    }

    /// Follows paths of a feature's own, as a route with these paths would, until
    /// [`Self::release`]. [`Self::table`] is the default one.
    ///
    /// # Errors
    /// As [`Fib::set`].
    pub fn over<F: Net>(world: &World, paths: &[Path<F::Addr>]) -> Result<Self, Error> {
        world.get::<Fib<F>>().track_paths(world, TableIndex::DEFAULT, paths)
    }

    /// The paths, with their current resolution.
    pub fn paths<F: Net>(self, world: &World) -> Option<PathListInfo<F>> {
        world.get::<Fib<F>>().path_list(self.list_of::<F>()?.0)
    }

    /// Stops following the route. No packet may be sent to the adjacency any more.
    pub fn release(self, world: &World) {
        if self.is_v6 {
            world.get::<Fib<Ip6>>().untrack(world, self.list);
        } else {
            world.get::<Fib<Ip4>>().untrack(world, self.list);
        }
    }

    /// Returns true if there is a route that can forward packets.
    pub fn is_resolved(self, world: &World) -> bool {
        if self.is_v6 {
            world.get::<Fib<Ip6>>().is_usable(self.list)
        } else {
            world.get::<Fib<Ip4>>().is_usable(self.list)
        }
    }

    /// Returns the path list, if it is one of this protocol.
    pub(super) fn list_of<F: Net>(self) -> Option<ListId> {
        (self.is_v6 == F::IS_V6).then_some(self.list)
    }
}

impl<F: Net> Fib<F> {
    fn track(&self, world: &World, table_id: u32, address: F::Addr) -> Result<Tracked, Error> {
        let table = self.find_table(table_id)?;
        self.track_paths(
            world,
            table,
            &[Path::new(PathKind::Recursive { table, nexthop: address })],
        )
    }

    #[inline(never)]
    fn track_paths(
        &self,
        world: &World,
        table: TableIndex,
        paths: &[Path<F::Addr>],
    ) -> Result<Tracked, Error> {
        self.with(world, |inner, cx| {
            self.check(inner, paths)?;
            let list = inner.intern(cx, paths);
            if let Some(list) = inner.lists.get_mut(list) {
                list.trackers += 1;
            }
            Ok(Tracked { list, is_v6: F::IS_V6, table, adj: inner.adj(list) })
        })
    }

    fn untrack(&self, world: &World, list: ListId) {
        self.with(world, |inner, cx| {
            if let Some(list) = inner.lists.get_mut(list) {
                list.trackers -= 1;
            }
            inner.let_go(cx, list);
        });
    }

    fn is_usable(&self, list: ListId) -> bool {
        self.inner().lists.get(list).is_some_and(|list| list.now.state != State::Unusable)
    }

    /// Returns true if a tracked route can forward packets. The other protocol's path list
    /// `watcher` is resolved again when that changes.
    pub(super) fn watch(&self, over: Tracked, watcher: ListId) -> bool {
        let mut inner = self.inner();
        let Some(list) = over.list_of::<F>().and_then(|list| inner.lists.get_mut(list)) else {
            return false;
        };
        list.watchers.insert(watcher);
        list.now.state != State::Unusable
    }

    /// Resolves the paths to an object again.
    pub(super) fn refresh_object(
        &self,
        world: &World,
        (kind, of): (Extension, &'static ObjectType),
        object: u32,
    ) {
        self.adjacencies.refresh_object(world, of, F::LINK, object);
        self.with(world, |inner, cx| {
            let lists = inner.objects.get(&(kind, object)).cloned().unwrap_or_default();
            inner.refresh(cx, lists);
        });
    }
}
