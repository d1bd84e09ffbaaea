// SPDX-License-Identifier: Apache-2.0
//! Construction of each kind of adjacency.

use super::control::Key;
use super::{Adj, AdjIndex, AdjKind, Adjacencies, Link, Links, MAX_REWRITE, NOWHERE, Rewrite};
use crate::{IfKind, Interface, Interfaces, Neighbors};
use cli::Error;
use graph::{NodeIndex, SwIfIndex, World};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use wire::{EtherType, MacAddr};

/// Next node for packets that the lookup sends to an adjacency of this kind.
pub(super) fn next_node(world: &World, kind: AdjKind, link: Link) -> NodeIndex {
    let name = world.get::<Links>().node(kind, link);
    name.and_then(|name| world.node(&name)).unwrap_or(NOWHERE)
}

pub(super) fn mtu_of(world: &World, interface: &Interface, link: Link) -> u16 {
    interface.mtu_of(world.get::<Links>().get(link).mtu)
}

fn ethertype(world: &World, link: Link) -> EtherType {
    world.get::<Links>().get(link).ethertype
}

/// The Ethernet header from an interface to `dst`. A sub-interface's tags are put in by its output
/// node.
pub fn ethernet_rewrite(interface: &Interface, dst: MacAddr, ethertype: EtherType) -> Vec<u8> {
    [dst.0.as_slice(), &interface.mac.0, &ethertype.0.to_be_bytes()].concat()
}

impl Adjacencies {
    /// Takes a reference on the adjacency of a neighbour. A new one is incomplete, except on an
    /// interface without layer-2 addresses or with only one peer, which needs no resolution.
    ///
    /// # Errors
    /// An interface that isn't there.
    pub fn neighbor(
        &self,
        world: &World,
        sw_if: SwIfIndex,
        nexthop: IpAddr,
    ) -> Result<AdjIndex, Error> {
        self.neighbor_for(world, Link::of(nexthop), sw_if, nexthop)
    }

    /// As [`Self::neighbor`], for packets of `link`, which may be of another protocol than the next
    /// hop (RFC 8950).
    ///
    /// # Errors
    /// An interface that isn't there.
    pub fn neighbor_for(
        &self,
        world: &World,
        link: Link,
        sw_if: SwIfIndex,
        nexthop: IpAddr,
    ) -> Result<AdjIndex, Error> {
        let interfaces = world.get::<Interfaces>();
        let frames = interfaces.kind(sw_if)?;
        let peer = interfaces.peer(sw_if);
        let is_one = peer.is_some() || frames == IfKind::Ip;
        let derived = match frames {
            IfKind::Multipoint => interfaces.get(sw_if)?.device.header_to(nexthop),
            _ => None,
        };
        let is_known = is_one || derived.is_some();
        let kind = if is_known { AdjKind::Rewrite } else { unknown(frames) };
        // Without layer-2 addresses, and with only one, all neighbours share one adjacency.
        let nexthop = match nexthop {
            IpAddr::V4(_) if is_one => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
            IpAddr::V6(_) if is_one => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
            nexthop => nexthop,
        };
        let key = Key::Neighbor(link, sw_if, nexthop);
        if let Some(index) = self.hold_known(&key) {
            return Ok(index);
        }
        let interface = interfaces.get(sw_if)?;
        let header = |peer| ethernet_rewrite(&interface, peer, ethertype(world, link));
        let known = match peer.map(header).or(derived) {
            Some(header) => Some(header),
            None if link == Link::of(nexthop) => None,
            None => self.rewrite_to(sw_if, nexthop).map(|rewrite| rewrite.to_vec()),
        };
        let is_unknown = kind == AdjKind::Incomplete && known.is_none();
        let index = self.hold(key, || {
            let mut adj = on_interface(world, &interface, kind, link, nexthop);
            if let Some(rewrite) = known {
                fill(world, &mut adj, &rewrite);
            }
            adj
        });
        if is_unknown {
            world.get::<Neighbors>().note_fresh(sw_if, nexthop);
        }
        Ok(index)
    }

    /// Returns the layer-2 header for packets of the neighbour's own protocol, if its layer-2
    /// address is known.
    fn rewrite_to(&self, sw_if: SwIfIndex, nexthop: IpAddr) -> Option<Rewrite> {
        let adj = self.info(self.find_neighbor(sw_if, nexthop)?)?.adj;
        (adj.kind == AdjKind::Rewrite).then(|| adj.rewrite())
    }

    /// Finds the adjacency of a neighbour, if there is one; takes no reference.
    pub fn find_neighbor(&self, sw_if: SwIfIndex, nexthop: IpAddr) -> Option<AdjIndex> {
        self.find_neighbor_for(Link::of(nexthop), sw_if, nexthop)
    }

    /// As [`Self::find_neighbor`], for packets of `link`.
    pub fn find_neighbor_for(
        &self,
        link: Link,
        sw_if: SwIfIndex,
        nexthop: IpAddr,
    ) -> Option<AdjIndex> {
        self.inner().by_key.get(&Key::Neighbor(link, sw_if, nexthop)).copied()
    }

    /// Finds the adjacencies of a neighbour for packets of all link types, the neighbour's own
    /// protocol first; takes no reference.
    pub fn find_neighbors(&self, sw_if: SwIfIndex, nexthop: IpAddr) -> Vec<AdjIndex> {
        self.inner().neighbors(sw_if, nexthop)
    }

    /// Completes a neighbour's adjacencies: from now on `rewrite` (see [`ethernet_rewrite`]) is put
    /// in front of packets. Returns the first adjacency; `None` if there is none.
    ///
    /// # Panics
    /// If the rewrite is longer than [`MAX_REWRITE`].
    pub fn complete(
        &self,
        world: &World,
        sw_if: SwIfIndex,
        nexthop: IpAddr,
        rewrite: &[u8],
    ) -> Option<AdjIndex> {
        assert!(rewrite.len() <= MAX_REWRITE);
        let all = self.find_neighbors(sw_if, nexthop);
        for index in &all {
            self.change(*index, |adj| fill(world, adj, rewrite));
        }
        all.first().copied()
    }

    /// Makes a neighbour's adjacencies incomplete: its layer-2 address is no longer known. Returns
    /// the first one.
    pub fn incomplete(&self, world: &World, sw_if: SwIfIndex, nexthop: IpAddr) -> Option<AdjIndex> {
        let all = self.find_neighbors(sw_if, nexthop);
        for index in &all {
            self.change(*index, |adj| {
                adj.kind =
                    world.get::<Interfaces>().kind(sw_if).map_or(AdjKind::Incomplete, unknown);
                adj.next = next_node(world, adj.kind, adj.nexthop_link);
                adj.rewrite_len = 0;
            });
        }
        all.first().copied()
    }

    /// Takes a reference on the glean adjacency of a connected network: its destinations are
    /// neighbours that have to be resolved. `address` is the interface's own in that network
    /// (or unspecified).
    ///
    /// # Errors
    /// An interface that isn't there.
    pub fn glean(
        &self,
        world: &World,
        sw_if: SwIfIndex,
        address: IpAddr,
    ) -> Result<AdjIndex, Error> {
        let interface = world.get::<Interfaces>().get(sw_if)?;
        let is_derived = || {
            let any = if address.is_ipv6() {
                IpAddr::V6(Ipv6Addr::UNSPECIFIED)
            } else {
                IpAddr::V4(Ipv4Addr::UNSPECIFIED)
            };
            let is_multipoint = interface.kind == IfKind::Multipoint;
            (is_multipoint && interface.device.header_to(any).is_some()).then_some(any)
        };
        if let Some(any) = is_derived() {
            return self.neighbor(world, sw_if, any);
        }
        if interface.kind == IfKind::Ip || interface.peer().is_some() {
            return self.neighbor(world, sw_if, address);
        }
        let key = Key::Glean(Link::of(address), sw_if, address);
        // Without address resolution, a destination is known or unreachable.
        let kind =
            if interface.kind == IfKind::Multipoint { AdjKind::Unreach } else { AdjKind::Glean };
        Ok(self.hold(key, || on_interface(world, &interface, kind, Link::of(address), address)))
    }

    /// Takes a reference on the adjacency of packets for a local address on an interface.
    ///
    /// # Errors
    /// An interface that isn't there.
    pub fn receive(
        &self,
        world: &World,
        sw_if: SwIfIndex,
        address: IpAddr,
    ) -> Result<AdjIndex, Error> {
        let interface = world.get::<Interfaces>().get(sw_if)?;
        let key = Key::Receive(Link::of(address), sw_if, address);
        Ok(self.hold(key, || {
            on_interface(world, &interface, AdjKind::Receive, Link::of(address), address)
        }))
    }

    /// Takes a reference on the adjacency of packets to multicast groups on an interface; the
    /// rewrite node fills in the group's bits of the layer-2 address.
    ///
    /// # Errors
    /// An interface that isn't there.
    pub fn multicast(
        &self,
        world: &World,
        sw_if: SwIfIndex,
        link: Link,
    ) -> Result<AdjIndex, Error> {
        let interface = world.get::<Interfaces>().get(sw_if)?;
        let (all, dst) = match link {
            Link::IP6 => {
                (IpAddr::V6(Ipv6Addr::UNSPECIFIED), MacAddr::ip6_multicast(Ipv6Addr::UNSPECIFIED))
            }
            _ => (IpAddr::V4(Ipv4Addr::UNSPECIFIED), MacAddr::ip4_multicast(Ipv4Addr::UNSPECIFIED)),
        };
        Ok(self.hold(Key::Multicast(link, sw_if), || {
            let mut adj = on_interface(world, &interface, AdjKind::Multicast, link, all);
            if interface.kind == IfKind::Ethernet {
                adj.set_rewrite(&ethernet_rewrite(&interface, dst, ethertype(world, link)));
            }
            adj
        }))
    }

    /// Takes a reference on the adjacency of packets to look up once more, in the table of this
    /// index.
    pub fn lookup(&self, link: Link, table: u32) -> AdjIndex {
        self.hold(Key::Lookup(link, table), || Adj {
            kind: AdjKind::Lookup,
            table,
            link,
            ..Adj::default()
        })
    }

    /// Takes a reference on the adjacency of packets whose source is looked up, in the table of
    /// this index.
    pub fn lookup_source(&self, link: Link, table: u32) -> AdjIndex {
        let adj = || Adj { kind: AdjKind::LookupSource, table, link, ..Adj::default() };
        self.hold(Key::LookupSource(link, table), adj)
    }

    /// Takes a reference on the load-balance with these buckets, whose number is a power of two.
    /// Takes over the caller's reference on each member (one for a member, not one for a
    /// bucket).
    ///
    /// # Panics
    /// If the number of buckets is no power of two.
    pub fn load_balance(&self, link: Link, buckets: &[AdjIndex]) -> AdjIndex {
        assert!(buckets.len().is_power_of_two());
        let key = Key::LoadBalance(buckets.to_vec());
        let table = buckets.len() as u32 - 1;
        let mut fresh = false;
        let index = self.hold(key, || {
            fresh = true;
            Adj { kind: AdjKind::LoadBalance, table, link, ..Adj::default() }
        });
        if !fresh {
            // The existing load-balance has references on the members already.
            let mut members = buckets.to_vec();
            members.sort_unstable();
            members.dedup();
            members.into_iter().for_each(|member| self.release(member));
        }
        index
    }
}

/// The kind of the adjacency of a next hop whose layer-2 address is unknown.
const fn unknown(frames: IfKind) -> AdjKind {
    match frames {
        // No layer-2 address is needed.
        IfKind::Ip => AdjKind::Rewrite,
        // There is no address resolution.
        IfKind::Multipoint => AdjKind::Unreach,
        IfKind::Ethernet | IfKind::Local => AdjKind::Incomplete,
    }
}

/// Completes an adjacency. On Ethernet the EtherType at the end of the rewrite is that of its
/// packets, whatever the next hop's.
fn fill(world: &World, adj: &mut Adj, rewrite: &[u8]) {
    adj.kind = AdjKind::Rewrite;
    adj.next = next_node(world, adj.kind, adj.link);
    let mut rewrite = rewrite.to_vec();
    if adj.link != adj.nexthop_link
        && world
            .get::<Interfaces>()
            .kind(SwIfIndex(adj.tx_if))
            .is_ok_and(|kind| kind == IfKind::Ethernet)
        && let Some((_, last)) = rewrite.split_last_chunk_mut()
    {
        *last = ethertype(world, adj.link).0.to_be_bytes();
    }
    adj.set_rewrite(&rewrite);
}

fn on_interface(
    world: &World,
    interface: &Interface,
    kind: AdjKind,
    link: Link,
    nexthop: IpAddr,
) -> Adj {
    // Address resolution uses the next hop's protocol.
    let asks = if kind == AdjKind::Incomplete { Link::of(nexthop) } else { link };
    let mut adj = Adj {
        next: next_node(world, kind, asks),
        output: interface.output,
        tx_if: interface.sw_if.0,
        mtu: mtu_of(world, interface, link),
        kind,
        link,
        ..Adj::default()
    };
    adj.set_nexthop(nexthop);
    adj
}
