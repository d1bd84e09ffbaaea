// SPDX-License-Identifier: Apache-2.0
//! Routes that features follow, as tunnels follow the route to their remote endpoint.

use super::list::{ListId, State};
use super::{Fib, Path, PathKind, PathListInfo, RouteTables, TableIndex};
use crate::adj::{ObjectType, Objects};
use crate::{AdjIndex, Link};
use cli::Error;
use graph::World;
use std::net::IpAddr;
use wire::{Ip4, Ip6};

/// The route to an address. When the route changes, one store moves all packets that are sent to
/// [`Self::adj`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tracked {
    pub(super) list: ListId,
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
        let table = match address {
            IpAddr::V4(_) => world.get::<Fib<Ip4>>().find_table(table_id)?,
            IpAddr::V6(_) => world.get::<Fib<Ip6>>().find_table(table_id)?,
        };
        let path = Path::new(PathKind::Recursive { table, nexthop: address });
        Ok(Self { table, ..Self::over(world, Link::of(address), &[path])? })
    }

    /// Follows paths of a feature's own for packets of a link type, as a route with these paths
    /// would, until [`Self::release`]. [`Self::table`] is the default one.
    ///
    /// # Errors
    /// As [`Fib::set`].
    pub fn over(world: &World, link: Link, paths: &[Path]) -> Result<Self, Error> {
        world.get::<RouteTables>().track(world, link, paths)
    }

    /// The paths, with their current resolution.
    pub fn paths(self, world: &World) -> Option<PathListInfo> {
        world.get::<RouteTables>().path_list(self.list.0)
    }

    /// Stops following the route. No packet may be sent to the adjacency any more.
    pub fn release(self, world: &World) {
        world.get::<RouteTables>().with(world, |inner, cx| {
            if let Some(list) = inner.lists.get_mut(self.list) {
                list.trackers -= 1;
            }
            inner.let_go(cx, self.list);
        });
    }

    /// Returns true if there is a route that can forward packets.
    pub fn is_resolved(self, world: &World) -> bool {
        let tables = world.get::<RouteTables>();
        tables.inner().lists.get(self.list).is_some_and(|list| list.now.state != State::Unusable)
    }
}

impl RouteTables {
    fn track(&self, world: &World, link: Link, paths: &[Path]) -> Result<Tracked, Error> {
        self.with(world, |inner, cx| {
            self.check(inner, paths)?;
            let list = inner.intern(cx, link, paths);
            if let Some(list) = inner.lists.get_mut(list) {
                list.trackers += 1;
            }
            Ok(Tracked { list, table: TableIndex::DEFAULT, adj: inner.adj(list) })
        })
    }
}

impl Objects {
    /// Resolves the paths to an object again, after it was created or has changed.
    pub fn refresh(world: &World, of: &'static ObjectType, number: u32) {
        let tables = world.get::<RouteTables>();
        let links: Vec<Link> = tables.inner().links_to(of, number);
        for link in links {
            tables.adjacencies.refresh_object(world, of, link, number);
        }
        tables.with(world, |inner, cx| {
            let lists = inner.lists_to_object(of, number);
            inner.refresh(cx, lists);
        });
    }

    /// Returns true if a route has a path to this object, usable or not.
    pub fn is_used(world: &World, of: &'static ObjectType, number: u32) -> bool {
        !world.get::<RouteTables>().inner().links_to(of, number).is_empty()
    }
}
