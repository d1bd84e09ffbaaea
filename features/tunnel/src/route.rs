// SPDX-License-Identifier: Apache-2.0
//! The path of a tunnel's outer packets: the route to the other end, or a group.

use crate::groups::{Groups, Joined};
use crate::model::TunnelEndpoints;
use cli::Result;
use graph::{SwIfIndex, World};
use net::{AdjIndex, Adjacencies, Interfaces, Link, Outlook, TableIndex, Tracked};
use std::net::IpAddr;

/// The path of outer packets.
#[derive(Clone, Copy, Debug)]
pub struct Route {
    /// The adjacency of outer packets.
    pub adj: AdjIndex,
    /// Index of the table in which outer packets are routed.
    pub table: TableIndex,
    to: Destination,
}

/// The destination of outer packets.
#[derive(Clone, Copy, Debug)]
enum Destination {
    /// The other end: its route is followed.
    End(Tracked),
    /// A multicast group.
    Group(Joined),
}

impl Route {
    /// Follows the route to the other end.
    pub(crate) fn to(world: &World, remote: IpAddr, table: u32) -> Result<Self> {
        let followed = Tracked::new(world, table, remote)?;
        Ok(Self { adj: followed.adj, table: followed.table, to: Destination::End(followed) })
    }

    /// Joins a group, to which outer packets leave by an interface.
    pub(crate) fn to_group(world: &World, by: SwIfIndex, ends: &TunnelEndpoints) -> Result<Self> {
        let table = ends.table_index(world)?;
        let adjacencies = world.get::<Adjacencies>();
        let adj = adjacencies.multicast(world, by, Link::of(ends.remote))?;
        let joined = world.get::<Groups>().join(world, by, ends);
        let joined = joined.inspect_err(|_| adjacencies.release(adj))?;
        Ok(Self { adj, table, to: Destination::Group(joined) })
    }

    /// Stops to follow the route, or leaves the group.
    pub(crate) fn release(self, world: &World) {
        match self.to {
            Destination::End(followed) => followed.release(world),
            Destination::Group(joined) => {
                world.get::<Groups>().leave(world, joined);
                world.get::<Adjacencies>().release(self.adj);
            }
        }
    }

    /// Returns the state of the path of outer packets, for people.
    pub(crate) fn outlook(self, world: &World) -> Outlook {
        match self.to {
            Destination::End(followed) => followed.outlook(world),
            Destination::Group(joined) => {
                let interface = world.get::<Interfaces>().get(joined.sw_if);
                let obstacle = interface.ok().and_then(|interface| interface.why_down());
                Outlook { is_resolved: Some(obstacle.is_none()), obstacle }
            }
        }
    }
}
