// SPDX-License-Identifier: Apache-2.0
//! Tables and paths, and how IPv4 and IPv6 differ.

use super::{Extension, Labels, Source};
use crate::{AdjIndex, IfView, Link};
use graph::SwIfIndex;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use tables::Key;
use wire::{Address, Family, Ip4, Ip6, Prefix};
use zerocopy::{FromBytes, Immutable, IntoBytes};

/// A protocol's part of routing, beside [`Family`].
pub trait Net: Family {
    /// An address as a key of the lookup tables.
    type Key: Key;
    /// The other protocol, which next hops may be of.
    type Other: Net<Other = Self>;
    /// The protocol as adjacencies name it.
    const LINK: Link;
    /// An address as a key.
    fn key(addr: Self::Addr) -> Self::Key;
    /// A key as an address.
    fn addr(key: Self::Key) -> Self::Addr;
    /// The address, if it is of this protocol.
    fn of_ip(ip: IpAddr) -> Option<Self::Addr>;
    /// The table of an interface, for workers.
    fn table_of(view: &IfView) -> TableIndex;
    /// This protocol's variant of an adjacency that every instance has: punt and receive have one
    /// for each.
    fn fixed(adj: AdjIndex) -> AdjIndex;
    /// Routes of every table, beside the default route: VPP's, and implicit ones to addresses that
    /// no packet may go to (RFC 1812 5.3.7, RFC 4291 2.5), which any other source overrides.
    fn special() -> Vec<(Prefix<Self::Addr>, Source, AdjIndex)>;
    /// The prefix of all groups, in the tables of multicast routes.
    fn groups() -> Prefix<Self::Addr>;
    /// Groups that every router listens to on its links: [`Source::Default`] for groups that VPP
    /// has too.
    fn heard() -> Vec<(Prefix<Self::Addr>, Source)>;
    /// Returns true if packets to a group stay on their link (RFC 5771 4, RFC 4291 2.7).
    fn stays_on_link(group: Self::Addr) -> bool;
    /// Returns true if packets to a group stay in their node (RFC 4291 2.7: scope 1).
    fn stays_in_node(group: Self::Addr) -> bool;
}

impl Net for Ip4 {
    type Key = u32;
    type Other = Ip6;
    const LINK: Link = Link::Ip4;
    #[inline(always)]
    fn key(addr: Ipv4Addr) -> u32 {
        addr.to_bits()
    }
    fn addr(key: u32) -> Ipv4Addr {
        Ipv4Addr::from_bits(key)
    }
    fn of_ip(ip: IpAddr) -> Option<Ipv4Addr> {
        if let IpAddr::V4(addr) = ip { Some(addr) } else { None }
    }
    #[inline(always)]
    fn table_of(view: &IfView) -> TableIndex {
        TableIndex(view.fib4)
    }
    fn fixed(adj: AdjIndex) -> AdjIndex {
        adj
    }
    fn special() -> Vec<(Prefix<Ipv4Addr>, Source, AdjIndex)> {
        [
            ([0, 0, 0, 0], 8, Source::Implicit, AdjIndex::MARTIAN),
            ([0, 0, 0, 0], 32, Source::Default, AdjIndex::MARTIAN),
            ([127, 0, 0, 0], 8, Source::Implicit, AdjIndex::MARTIAN),
            ([224, 0, 0, 0], 4, Source::Special, AdjIndex::DROP),
            ([240, 0, 0, 0], 4, Source::Special, AdjIndex::MARTIAN),
            ([255, 255, 255, 255], 32, Source::Default, AdjIndex::RECEIVE),
        ]
        .into_iter()
        .filter_map(|(addr, len, source, adj)| Some((Prefix::new(addr.into(), len)?, source, adj)))
        .collect()
    }
    fn groups() -> Prefix<Ipv4Addr> {
        Prefix::DEFAULT
    }
    /// The groups of all hosts and all routers, as VPP lists them; and the rest of 224.0.0.0/24,
    /// for routing protocols and IGMP.
    fn heard() -> Vec<(Prefix<Ipv4Addr>, Source)> {
        let listed =
            [1, 2].map(|last| (Prefix::host(Ipv4Addr::new(224, 0, 0, last)), Source::Default));
        let of_link =
            Prefix::new(Ipv4Addr::new(224, 0, 0, 0), 24).map(|prefix| (prefix, Source::Implicit));
        listed.into_iter().chain(of_link).collect()
    }
    #[inline(always)]
    fn stays_on_link(group: Ipv4Addr) -> bool {
        matches!(group.octets(), [224, 0, 0, _])
    }
    #[inline(always)]
    fn stays_in_node(_: Ipv4Addr) -> bool {
        false
    }
}

impl Net for Ip6 {
    type Key = u128;
    type Other = Ip4;
    const LINK: Link = Link::Ip6;
    #[inline(always)]
    fn key(addr: Ipv6Addr) -> u128 {
        addr.to_bits()
    }
    fn addr(key: u128) -> Ipv6Addr {
        Ipv6Addr::from_bits(key)
    }
    fn of_ip(ip: IpAddr) -> Option<Ipv6Addr> {
        if let IpAddr::V6(addr) = ip { Some(addr) } else { None }
    }
    #[inline(always)]
    fn table_of(view: &IfView) -> TableIndex {
        TableIndex(view.fib6)
    }
    fn fixed(adj: AdjIndex) -> AdjIndex {
        match adj {
            AdjIndex::PUNT => AdjIndex::PUNT6,
            AdjIndex::RECEIVE => AdjIndex::RECEIVE6,
            adj => adj,
        }
    }
    fn special() -> Vec<(Prefix<Ipv6Addr>, Source, AdjIndex)> {
        [
            (Ipv6Addr::UNSPECIFIED, 128, Source::Implicit, AdjIndex::MARTIAN),
            (Ipv6Addr::LOCALHOST, 128, Source::Implicit, AdjIndex::MARTIAN),
            (Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 0), 10, Source::Special, AdjIndex::LINK_LOCAL),
            (Ipv6Addr::new(0xff00, 0, 0, 0, 0, 0, 0, 0), 8, Source::Implicit, AdjIndex::DROP),
        ]
        .into_iter()
        .filter_map(|(addr, len, source, adj)| Some((Prefix::new(addr, len)?, source, adj)))
        .collect()
    }
    fn groups() -> Prefix<Ipv6Addr> {
        Prefix::new(Ipv6Addr::new(0xff00, 0, 0, 0, 0, 0, 0, 0), 8).unwrap_or(Prefix::DEFAULT)
    }
    /// The groups of all nodes, all routers, MLDv2 routers (RFC 3810 5.2.14) and solicited nodes,
    /// as VPP lists them; and the others of link scope, well known and not (RFC 4291 2.7, RFC
    /// 3306 4, RFC 3956 3), and all routers of the site (RFC 4291 2.8).
    fn heard() -> Vec<(Prefix<Ipv6Addr>, Source)> {
        let link = |rest: [u16; 3]| Ipv6Addr::new(0xff02, 0, 0, 0, 0, rest[0], rest[1], rest[2]);
        let hosts = [1, 2, 0x16].map(|last| (link([0, 0, last]), 128));
        let listed = hosts.into_iter().chain([(link([1, 0xff00, 0]), 104)]);
        let of_link = [0xff02, 0xff12, 0xff32, 0xff72]
            .map(|first| (Ipv6Addr::new(first, 0, 0, 0, 0, 0, 0, 0), 16));
        let others = of_link.into_iter().chain([(Ipv6Addr::new(0xff05, 0, 0, 0, 0, 0, 0, 2), 128)]);
        let all =
            listed.map(|at| (at, Source::Default)).chain(others.map(|at| (at, Source::Implicit)));
        all.filter_map(|((addr, len), source)| Some((Prefix::new(addr, len)?, source))).collect()
    }
    #[inline(always)]
    fn stays_on_link(group: Ipv6Addr) -> bool {
        matches!(group.octets(), [0xff, second, ..] if second & 15 == 2)
    }
    #[inline(always)]
    fn stays_in_node(group: Ipv6Addr) -> bool {
        matches!(group.octets(), [0xff, second, ..] if second & 15 == 1)
    }
}

/// Index of a table, by which workers and interfaces name it. Indices are dense and are allocated
/// when a table is made.
#[derive(
    Clone,
    Copy,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    Debug,
    Default,
    FromBytes,
    IntoBytes,
    Immutable,
)]
#[repr(transparent)]
pub struct TableIndex(pub u32);

impl TableIndex {
    /// The table of id 0, which is always there.
    pub const DEFAULT: Self = Self(0);

    /// As an index of an array.
    #[inline(always)]
    pub const fn at(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for TableIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A table, for `show`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TableInfo {
    /// Its index.
    pub index: TableIndex,
    /// The number that operators give it.
    pub id: u32,
    /// The name that operators give it.
    pub name: String,
    /// Number of entries in it.
    pub routes: usize,
}

/// The target of a path.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum PathKind<A> {
    /// The destinations are neighbours on the interface; `address` is its own in that network, or
    /// zero.
    Attached {
        /// The interface.
        sw_if: SwIfIndex,
        /// Its address.
        address: A,
    },
    /// To a neighbour on an interface. Its address may be of the other protocol (RFC 8950).
    Neighbor {
        /// The interface.
        sw_if: SwIfIndex,
        /// The neighbour.
        nexthop: IpAddr,
    },
    /// Recursive: resolved by the entry that covers the next hop.
    Recursive {
        /// The table to look it up in.
        table: TableIndex,
        /// The next hop.
        nexthop: A,
    },
    /// Recursive path over a next hop of the other family, resolved in that family's table.
    RecursiveOther {
        /// The table to look it up in.
        table: TableIndex,
        /// The next hop.
        nexthop: IpAddr,
    },
    /// Local delivery: an address of an interface.
    Receive {
        /// The interface.
        sw_if: SwIfIndex,
        /// Its address.
        address: A,
    },
    /// The packet's destination is looked up in another table.
    Lookup(TableIndex),
    /// The packet's source is looked up in a table, and the packet takes the route found there.
    SourceLookup(TableIndex),
    /// One of the adjacencies that every instance has: drop, unreachable, prohibited, punt, local.
    Fixed(AdjIndex),
    /// To the object of this number of a feature that takes such paths.
    Extension(Extension, u32),
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
pub struct Path<A> {
    /// The target.
    pub kind: PathKind<A>,
    /// Its share of the flows, relative to the weights of the other paths with the same
    /// preference; 0 counts as 1.
    pub weight: u8,
    /// Preference: of the usable paths, those with the lowest value are used.
    pub preference: u8,
    /// Of a recursive path: the routes that may resolve it.
    pub resolve_via: ResolveVia,
    /// MPLS labels to push. Paths with labels are refused: MPLS isn't built yet.
    pub labels: Labels,
}

impl<A: Address> Path<A> {
    /// A path of weight 1 and preference 0.
    pub const fn new(kind: PathKind<A>) -> Self {
        Self { kind, weight: 1, preference: 0, resolve_via: ResolveVia::Any, labels: Labels::NONE }
    }

    /// The interface that the path names.
    pub fn sw_if(&self) -> Option<SwIfIndex> {
        match self.kind {
            PathKind::Attached { sw_if, .. }
            | PathKind::Neighbor { sw_if, .. }
            | PathKind::Receive { sw_if, .. } => Some(sw_if),
            PathKind::Extension(Extension::InterfaceRx | Extension::Dvr, sw_if) => {
                Some(SwIfIndex(sw_if))
            }
            _ => None,
        }
    }

    /// The table that the path names; one of the other protocol if it [crosses](Self::crosses).
    pub(super) fn table(&self) -> Option<TableIndex> {
        match self.kind {
            PathKind::Recursive { table, .. }
            | PathKind::RecursiveOther { table, .. }
            | PathKind::Lookup(table)
            | PathKind::SourceLookup(table) => Some(table),
            _ => None,
        }
    }

    /// Returns true if the path follows a route of the other protocol.
    pub(super) fn crosses(&self) -> bool {
        matches!(self.kind, PathKind::RecursiveOther { .. })
    }
}
