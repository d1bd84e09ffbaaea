// SPDX-License-Identifier: Apache-2.0
//! Adjacencies: the forwarding results that routes lead to.
//!
//! An adjacency is a fixed-size value that workers read through [`Adjacencies::get`]: the next
//! node, the interface to leave by, the layer-2 header to put in front. Routes name adjacencies by
//! [`AdjIndex`] and share them: there's one for each neighbour, whatever the number of routes over
//! it.
//!
//! An alias is an index of its own with a copy of another adjacency, which workers read in one
//! step. Routes name aliases, so that one store moves a million routes to another next hop.

mod control;
mod follow;
mod link;
mod make;
mod object;
mod ordinary;
#[cfg(feature = "tests")]
mod tests;

use buffer::Buffer;
use graph::{NodeIndex, SwIfIndex};
pub use link::{Link, LinkType, Links};
pub use make::ethernet_rewrite;
pub use object::{ObjectInterface, ObjectType, Objects};
pub use ordinary::{Ordinaries, Ordinary, SmallLoadBalance};
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::{Arc, Mutex};
use sync::{Slots, Turn};
use wire::{Address, Header};
use zerocopy::{FromBytes, Immutable, IntoBytes};

/// Index of an adjacency.
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
pub struct AdjIndex(pub u32);

impl AdjIndex {
    /// Nothing in the table covers the destination.
    pub const NO_ROUTE: Self = Self(0);
    /// Dropped by a route.
    pub const DROP: Self = Self(1);
    /// Dropped because no packet may go to such an address (RFC 1812 5.3.7).
    pub const MARTIAN: Self = Self(2);
    /// Handed to the punt path.
    pub const PUNT: Self = Self(3);
    /// Dropped with an ICMP "host unreachable".
    pub const UNREACH: Self = Self(4);
    /// Dropped with an ICMP "administratively prohibited".
    pub const PROHIBIT: Self = Self(5);
    /// Delivered here, whatever the interface.
    pub const RECEIVE: Self = Self(6);
    /// Looked up again in the table of the link that the packet belongs to (IPv6, RFC 4291 2.5.6).
    pub const LINK_LOCAL: Self = Self(7);
    /// [`Self::PUNT`] for IPv6 routes.
    pub(crate) const PUNT6: Self = Self(8);
    /// [`Self::RECEIVE`] for IPv6 routes.
    pub(crate) const RECEIVE6: Self = Self(9);
    /// The indices above are the same in every instance; further ones start here.
    pub(crate) const FIRST: u32 = 16;

    /// As an index of a table.
    #[inline(always)]
    pub const fn at(self) -> usize {
        self.0 as usize
    }

    /// The variant for packets of a link type of an adjacency that every instance has: punt and
    /// receive have one for each protocol.
    pub(crate) const fn for_link(self, link: Link) -> Self {
        match (self, link) {
            (Self::PUNT, Link::IP6) => Self::PUNT6,
            (Self::RECEIVE, Link::IP6) => Self::RECEIVE6,
            _ => self,
        }
    }
}

impl fmt::Display for AdjIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The action of an adjacency on packets.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[repr(u8)]
pub enum AdjKind {
    /// A neighbour whose layer-2 address is known: [`Adj::rewrite`] is put in front, and the packet
    /// is sent.
    Rewrite,
    /// A neighbour that has to be resolved: [`Adj::nexthop`] on [`Adj::tx_if`].
    Incomplete,
    /// A connected network: the destination itself is the neighbour, and has to be resolved on
    /// [`Adj::tx_if`].
    Glean,
    /// Delivered here.
    Receive,
    /// Handed to the punt path.
    Punt,
    /// Looked up again, in the table of the link that the packet belongs to.
    LinkLocal,
    /// To groups on an interface: [`Adj::rewrite`] is put in front, with the group's layer-2
    /// address.
    Multicast,
    /// Handed to a feature's node, for its object of number [`Adj::table`].
    Feature,
    /// A load-balance over several adjacencies: [`Adjacencies::buckets`].
    LoadBalance,
    /// Looked up again, in the table of index [`Adj::table`].
    Lookup,
    /// As [`Self::Lookup`], by the packet's source.
    LookupSource,
    /// Dropped: no route.
    #[default]
    NoRoute,
    /// Dropped by a route.
    Drop,
    /// Dropped: no packet may go to such an address.
    Martian,
    /// Dropped with an ICMP "host unreachable".
    Unreach,
    /// Dropped with an ICMP "administratively prohibited".
    Prohibit,
}

impl AdjKind {
    /// Returns true if the packet goes to [`Adj::next`] without further lookup.
    #[inline(always)]
    pub const fn forwards(self) -> bool {
        (self as u8) <= Self::Feature as u8
    }
}

/// Maximum length of a rewrite, in bytes.
pub const MAX_REWRITE: usize = 128;
/// Bytes of a rewrite in the first cache line of an adjacency, and behind it.
const NEAR: usize = 32;
const FAR: usize = MAX_REWRITE - NEAR;

/// An adjacency as workers read it. The first cache line has all that a forwarded packet with an
/// ordinary header needs.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub struct Adj {
    /// The node that packets go to from the lookup.
    pub next: NodeIndex,
    /// The interface's output node, the next node of packets after the rewrite.
    pub output: NodeIndex,
    /// The interface to leave by; `u32::MAX` if there is none.
    pub tx_if: u32,
    /// Maximum length of an IP packet, header included, in bytes.
    pub mtu: u16,
    /// Length of the layer-2 header that is put in front, in bytes.
    pub rewrite_len: u8,
    /// See [`AdjKind`].
    pub kind: AdjKind,
    /// Of [`AdjKind::Lookup`] and [`AdjKind::LookupSource`], the table's index; of
    /// [`AdjKind::LoadBalance`], the number of buckets less one, a mask of ones; of
    /// [`AdjKind::Feature`], the number of its object.
    pub table: u32,
    /// The cell of [`Adjacencies::counters`] that packets are counted in.
    pub counter: u32,
    /// The route that was followed to come here from a recursive path, by
    /// [`RouteIndex`](crate::RouteIndex); 0 if none was.
    pub via: u32,
    /// Of [`AdjKind::Feature`], the adjacency that packets take behind the object, if the object
    /// sends them by a route: its index stays the same, whatever the route leads to.
    pub over: AdjIndex,
    /// The header's last bytes, at the end.
    near: [u8; NEAR],
    /// The bytes of the header before `near`, at the end.
    far: [u8; FAR],
    nexthop: [u8; 16],
    /// The protocol of its packets.
    pub link: Link,
    /// The protocol of the next hop: IPv4 packets may go to an IPv6 next hop (RFC 8950).
    pub nexthop_link: Link,
}

const _: () = assert!(size_of::<Adj>() == 192 && std::mem::offset_of!(Adj, far) == 64);

impl Default for Adj {
    fn default() -> Self {
        Self {
            next: NOWHERE,
            output: NOWHERE,
            tx_if: u32::MAX,
            mtu: u16::MAX,
            rewrite_len: 0,
            kind: AdjKind::NoRoute,
            table: 0,
            counter: 0,
            via: 0,
            over: AdjIndex::NO_ROUTE,
            near: [0; NEAR],
            far: [0; FAR],
            nexthop: [0; 16],
            link: Link::IP4,
            nexthop_link: Link::IP4,
        }
    }
}

/// A layer-2 header, as a value.
#[derive(Clone, Copy)]
pub struct Rewrite {
    /// The header is at the end of these bytes.
    bytes: [u8; MAX_REWRITE],
    len: usize,
}

impl std::ops::Deref for Rewrite {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        &self.bytes[MAX_REWRITE - self.len..]
    }
}

impl std::ops::DerefMut for Rewrite {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[MAX_REWRITE - self.len..]
    }
}

/// A node that no instance has: packets to it are freed.
pub(crate) const NOWHERE: NodeIndex = NodeIndex(graph::MAX_NODES as u32);

impl Adj {
    /// The neighbour, the interface's address (glean) or the address that is ours (receive).
    pub fn nexthop(&self) -> IpAddr {
        match self.nexthop_link {
            Link::IP6 => Ipv6Addr::from(self.nexthop).into(),
            _ => self.nexthop4().into(),
        }
    }

    /// [`Self::nexthop`] as an IPv4 address, for an adjacency with an IPv4 next hop.
    #[inline(always)]
    pub fn nexthop4(&self) -> Ipv4Addr {
        let [a, b, c, d, ..] = self.nexthop;
        Ipv4Addr::new(a, b, c, d)
    }

    /// [`Self::nexthop`] of an adjacency whose protocol is known.
    #[inline(always)]
    pub fn nexthop_as<A: Address>(&self) -> A {
        A::Octets::view(&self.nexthop).map_or(A::ZERO, |octets| A::of_octets(*octets))
    }

    /// The layer-2 header that is put in front.
    #[inline(always)]
    pub fn rewrite(&self) -> Rewrite {
        let mut bytes = [0; MAX_REWRITE];
        bytes[..FAR].copy_from_slice(&self.far);
        bytes[FAR..].copy_from_slice(&self.near);
        Rewrite { bytes, len: usize::from(self.rewrite_len).min(MAX_REWRITE) }
    }

    fn set_rewrite(&mut self, rewrite: &[u8]) {
        let mut bytes = [0; MAX_REWRITE];
        bytes[MAX_REWRITE - rewrite.len()..].copy_from_slice(rewrite);
        self.far.copy_from_slice(&bytes[..FAR]);
        self.near.copy_from_slice(&bytes[FAR..]);
        self.rewrite_len = rewrite.len() as u8;
    }

    /// First and last 8 bytes of a layer-2 header of 8 to 16 bytes, for [`Buffer::push_ends`];
    /// nearly all headers have such a length.
    #[inline(always)]
    pub fn short_rewrite(&self) -> Option<[[u8; 8]; 2]> {
        let len = usize::from(self.rewrite_len);
        if !(8..=16).contains(&len) {
            return None;
        }
        Some([*self.near[NEAR - len..].first_chunk()?, *self.near.last_chunk()?])
    }

    /// Puts the layer-2 header in front of a packet; returns false if there is no room.
    #[inline(always)]
    #[must_use]
    pub fn put(&self, b: &mut Buffer) -> bool {
        match self.short_rewrite() {
            Some([first, last]) => b.push_ends(&first, &last, self.rewrite_len.into()),
            None => self.put_slowly(b),
        }
    }

    /// As [`Self::put`], for headers of other lengths.
    #[inline(never)]
    fn put_slowly(&self, b: &mut Buffer) -> bool {
        let rewrite = self.rewrite();
        b.push_slice(rewrite.len()).map(|to| to.copy_from_slice(&rewrite)).is_some()
    }

    fn set_nexthop(&mut self, nexthop: IpAddr) {
        self.nexthop = [0; 16];
        self.nexthop_link = Link::of(nexthop);
        match nexthop {
            IpAddr::V4(a) => self.nexthop[..4].copy_from_slice(&a.octets()),
            IpAddr::V6(a) => self.nexthop = a.octets(),
        }
    }
}

impl fmt::Debug for Adj {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Adj")
            .field("kind", &self.kind)
            .field("tx_if", &self.tx_if)
            .field("nexthop", &self.nexthop())
            .field("next", &self.next)
            .field("mtu", &self.mtu)
            .field("rewrite", &&*self.rewrite())
            .finish_non_exhaustive()
    }
}

/// All adjacencies of an instance.
pub struct Adjacencies {
    slots: Slots<Adj>,
    buckets: Slots<Box<[AdjIndex]>>,
    ordinary: ordinary::Records,
    inner: Mutex<control::Inner>,
    /// `/net/adjacency`: packets and bytes that the lookup sent to each.
    pub counters: Arc<stats::Combined>,
}

impl Adjacencies {
    /// Returns an adjacency; `None` only for an index that was never allocated or was released.
    #[inline(always)]
    pub fn get<'t>(&'t self, index: AdjIndex, turn: &'t Turn<'_>) -> Option<&'t Adj> {
        self.slots.get(index.0, turn)
    }

    /// The compact records of ordinary adjacencies and small load-balances, which are faster to
    /// read than [`Self::get`].
    #[inline(always)]
    pub fn ordinaries(&self) -> Ordinaries<'_> {
        self.ordinary.view()
    }

    /// The buckets of an [`AdjKind::LoadBalance`]: their number is a power of two, a packet takes
    /// that of `flow_hash & (len - 1)`.
    #[inline(always)]
    pub fn buckets<'t>(&'t self, adj: &Adj, turn: &'t Turn<'_>) -> &'t [AdjIndex] {
        self.buckets.get(adj.counter, turn).map_or(&[], |b| b)
    }
}

/// An adjacency as control keeps it, for `show`.
#[derive(Clone, Copy, Debug)]
pub struct AdjInfo {
    /// Its index.
    pub index: AdjIndex,
    /// The value that workers read.
    pub adj: Adj,
    /// Number of references by routes, neighbours and others.
    pub refs: u32,
    /// The target, if it is an alias.
    pub target: Option<AdjIndex>,
    /// Of [`AdjKind::Feature`], the type of its object.
    pub object: Option<&'static ObjectType>,
}

impl AdjInfo {
    /// The interface, if it has one.
    pub fn sw_if(&self) -> Option<SwIfIndex> {
        (self.adj.tx_if != u32::MAX).then_some(SwIfIndex(self.adj.tx_if))
    }
}
