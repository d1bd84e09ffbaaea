// SPDX-License-Identifier: Apache-2.0
//! Tables, and how IPv4 and IPv6 differ.

use super::{RouteKey, Source};
use crate::{AdjIndex, Both, ByVersion, IfView, Link};
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use tables::Key;
use wire::{Family, Ip4, Ip6, Prefix};
use zerocopy::{FromBytes, Immutable, IntoBytes};

/// A protocol's part of routing, beside [`Family`].
pub trait Net: Family {
    /// An address as a key of the lookup tables.
    type Key: Key;
    /// The protocol as adjacencies name it.
    const LINK: Link;
    /// An address as a key.
    fn key(addr: Self::Addr) -> Self::Key;
    /// A key in the lower bits of a [`RouteKey`].
    fn bits_of_key(key: Self::Key) -> u128;
    /// The key in the lower bits of a [`RouteKey`].
    fn key_of_bits(bits: u128) -> Self::Key;
    /// The prefix of a table's key.
    fn prefix(key: RouteKey) -> Prefix<Self::Addr>;
    /// The address, if it is of this protocol.
    fn of_ip(ip: IpAddr) -> Option<Self::Addr>;
    /// The table of an interface, for workers.
    fn table_of(view: &IfView) -> TableIndex;
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
    /// This protocol's of a pair.
    fn of_both<T: ByVersion>(both: &mut Both<T>) -> &mut T::Of<Self::Addr>;
}

impl<T: ByVersion> Both<T> {
    /// That of a version.
    #[inline(always)]
    pub fn of<F: Net>(&mut self) -> &mut T::Of<F::Addr> {
        F::of_both(self)
    }
}

impl Net for Ip4 {
    type Key = u32;
    const LINK: Link = Link::IP4;
    #[inline(always)]
    fn key(addr: Ipv4Addr) -> u32 {
        addr.to_bits()
    }
    fn bits_of_key(key: u32) -> u128 {
        key.into()
    }
    fn key_of_bits(bits: u128) -> u32 {
        bits as u32
    }
    fn prefix(RouteKey { bits, len }: RouteKey) -> Prefix<Ipv4Addr> {
        Prefix::new(Ipv4Addr::from_bits(bits as u32), len).unwrap_or(Prefix::DEFAULT)
    }
    fn of_ip(ip: IpAddr) -> Option<Ipv4Addr> {
        if let IpAddr::V4(addr) = ip { Some(addr) } else { None }
    }
    #[inline(always)]
    fn table_of(view: &IfView) -> TableIndex {
        TableIndex(view.fib4)
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
    #[inline(always)]
    fn of_both<T: ByVersion>(both: &mut Both<T>) -> &mut T::Of<Ipv4Addr> {
        &mut both.ip4
    }
}

impl Net for Ip6 {
    type Key = u128;
    const LINK: Link = Link::IP6;
    #[inline(always)]
    fn key(addr: Ipv6Addr) -> u128 {
        addr.to_bits()
    }
    fn bits_of_key(key: u128) -> u128 {
        key
    }
    fn key_of_bits(bits: u128) -> u128 {
        bits
    }
    fn prefix(RouteKey { bits, len }: RouteKey) -> Prefix<Ipv6Addr> {
        Prefix::new(Ipv6Addr::from_bits(bits), len).unwrap_or(Prefix::DEFAULT)
    }
    fn of_ip(ip: IpAddr) -> Option<Ipv6Addr> {
        if let IpAddr::V6(addr) = ip { Some(addr) } else { None }
    }
    #[inline(always)]
    fn table_of(view: &IfView) -> TableIndex {
        TableIndex(view.fib6)
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
    #[inline(always)]
    fn of_both<T: ByVersion>(both: &mut Both<T>) -> &mut T::Of<Ipv6Addr> {
        &mut both.ip6
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
