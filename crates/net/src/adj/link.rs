// SPDX-License-Identifier: Apache-2.0
//! Link types: the protocols of the packets that adjacencies forward.

use super::AdjKind;
use crate::MtuKind;
use graph::{Shared, World, filled};
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard};
use wire::EtherType;

/// A link type, by its number; [`Links`] knows more of it. IPv4 and IPv6 have the same number in
/// every instance, others the one that they get when their feature starts.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub struct Link(pub u8);

impl Link {
    /// IPv4.
    pub const IP4: Self = Self(0);
    /// IPv6.
    pub const IP6: Self = Self(1);

    /// The protocol of an address.
    pub const fn of(addr: IpAddr) -> Self {
        if addr.is_ipv4() { Self::IP4 } else { Self::IP6 }
    }

    /// As an index of a table.
    pub const fn at(self) -> usize {
        self.0 as usize
    }
}

/// Properties of a link type, for control.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LinkType {
    /// The name that begins its nodes' names: `ip4`.
    pub name: &'static str,
    /// The EtherType of its packets.
    pub ethertype: EtherType,
    /// The MTU of an interface that its packets have.
    pub mtu: MtuKind,
    /// The names of the nodes that its packets go to from lookups, by kind of adjacency; with
    /// placeholders for what differs between IPv4 and IPv6 ([`graph::filled`]). The node of
    /// [`AdjKind::Incomplete`] resolves next hops that are addresses of this link type.
    pub nodes: &'static [(AdjKind, &'static str)],
}

/// The nodes of both protocols of IP. Only IPv6 has link-local tables.
const IP: &[(AdjKind, &str)] = &[
    (AdjKind::Rewrite, "{ip}-rewrite"),
    (AdjKind::Incomplete, "{ip4-arp|ip6-discover-neighbor}"),
    (AdjKind::Glean, "{ip}-glean"),
    (AdjKind::Receive, "{ip}-local"),
    (AdjKind::Punt, "{ip}-punt"),
    (AdjKind::LinkLocal, "{ip}-link-local"),
    (AdjKind::Multicast, "{ip}-rewrite-mcast"),
];

/// The link types that every instance has, by number.
const STANDARD: [LinkType; 2] = [
    LinkType { name: "ip4", ethertype: EtherType::IP4, mtu: MtuKind::Ip4, nodes: IP },
    LinkType { name: "ip6", ethertype: EtherType::IP6, mtu: MtuKind::Ip6, nodes: IP },
];

/// The link types of an instance. Features register the ones that they bring.
#[derive(Default)]
pub struct Links(Mutex<Vec<LinkType>>);

impl Shared for Links {
    fn make(_: &World) -> Self {
        Self::default()
    }
}

impl Links {
    fn added(&self) -> MutexGuard<'_, Vec<LinkType>> {
        self.0.lock().expect("no panic inside")
    }

    /// Registers a link type; one of this name that is registered keeps its number.
    ///
    /// # Panics
    /// If there are more than 256.
    pub fn add(&self, link: LinkType) -> Link {
        let mut added = self.added();
        let known = added.iter().position(|known| known.name == link.name);
        let at = known.unwrap_or(added.len());
        if known.is_none() {
            added.push(link);
        }
        Link(u8::try_from(STANDARD.len() + at).expect("at most 256 link types"))
    }

    /// A link type.
    ///
    /// # Panics
    /// If it wasn't registered.
    pub fn get(&self, link: Link) -> LinkType {
        let standard = STANDARD.get(link.at()).copied();
        standard.unwrap_or_else(|| self.added()[link.at() - STANDARD.len()])
    }

    /// The name of the node that packets of a link type go to from a lookup that finds an adjacency
    /// of this kind; `None` if it has none.
    pub fn node(&self, kind: AdjKind, link: Link) -> Option<String> {
        let mut nodes = self.get(link).nodes.iter();
        let (_, name) = nodes.find(|(of, _)| *of == kind)?;
        Some(filled(name, link == Link::IP6))
    }
}
