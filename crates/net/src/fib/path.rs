// SPDX-License-Identifier: Apache-2.0
//! Paths: what routes lead to.

use super::{TableIndex, TableRef};
use crate::AdjIndex;
use crate::adj::ObjectType;
use graph::SwIfIndex;
use std::net::IpAddr;

/// The target of a path.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum PathKind {
    /// The destinations are neighbours on the interface; `address` is its own in that network, or
    /// unspecified.
    Attached {
        /// The interface.
        sw_if: SwIfIndex,
        /// Its address.
        address: IpAddr,
    },
    /// To a neighbour on an interface. Its address may be of another protocol than the route (RFC
    /// 8950).
    Neighbor {
        /// The interface.
        sw_if: SwIfIndex,
        /// The neighbour.
        nexthop: IpAddr,
    },
    /// Recursive: resolved by the entry that covers the next hop in a table of the next hop's
    /// protocol.
    Recursive {
        /// The table.
        table: TableIndex,
        /// The next hop.
        nexthop: IpAddr,
    },
    /// Local delivery: an address of an interface.
    Receive {
        /// The interface.
        sw_if: SwIfIndex,
        /// Its address.
        address: IpAddr,
    },
    /// The packet's destination is looked up in another table.
    Lookup(TableRef),
    /// The packet's source is looked up in a table, and the packet takes the route found there.
    SourceLookup(TableRef),
    /// One of the adjacencies that every instance has: drop, unreachable, prohibited, punt, local.
    Fixed(AdjIndex),
    /// To the object of this number of a feature.
    Object(&'static ObjectType, u32),
}

/// State of a path: usable, or the reason why it is not.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum PathState {
    /// Usable.
    #[default]
    Resolved,
    /// Its interface is down, or its target isn't there.
    Unresolved,
    /// The route that it follows leads back to this path's list.
    Looped,
    /// Its next hop is down ([`NextHops`](crate::NextHops)): it is used only while no other path is
    /// usable.
    Down,
}

/// Constraint on the route that resolves a recursive path.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum ResolveVia {
    /// Any route.
    #[default]
    Any,
    /// A host route to the next hop.
    Host,
    /// A connected network, or a neighbour's host route.
    Attached,
}

/// A path of an entry.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Path {
    /// The target.
    pub kind: PathKind,
    /// Its share of the flows, relative to the weights of the other paths with the same
    /// preference; 0 counts as 1.
    pub weight: u8,
    /// Preference: of the usable paths, those with the lowest value are used.
    pub preference: u8,
    /// Of a recursive path: the routes that may resolve it.
    pub resolve_via: ResolveVia,
}

impl Path {
    /// A path of weight 1 and preference 0.
    pub const fn new(kind: PathKind) -> Self {
        Self { kind, weight: 1, preference: 0, resolve_via: ResolveVia::Any }
    }

    /// The interface that the path names.
    pub fn sw_if(&self) -> Option<SwIfIndex> {
        match self.kind {
            PathKind::Attached { sw_if, .. }
            | PathKind::Neighbor { sw_if, .. }
            | PathKind::Receive { sw_if, .. } => Some(sw_if),
            PathKind::Object(of, number) => of.interface.map(|_| SwIfIndex(number)),
            _ => None,
        }
    }

    /// The table that the path names.
    pub(super) fn table(&self) -> Option<TableRef> {
        match self.kind {
            PathKind::Recursive { table, nexthop } => Some(TableRef::of_address(table, nexthop)),
            PathKind::Lookup(table) | PathKind::SourceLookup(table) => Some(table),
            _ => None,
        }
    }
}
