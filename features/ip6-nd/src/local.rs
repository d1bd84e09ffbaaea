// SPDX-License-Identifier: Apache-2.0
//! The addresses that we answer for, by interface, as workers read them.

use crate::dad::{self, Dad};
use crate::proxy::Proxies;
use graph::{Deleted, Shared, SwIfIndex, World};
use net::{Addresses, HoldReason, IpBinding, LinkLocals, is_nominal};
use std::net::Ipv6Addr;
use sync::{Slots, Turn};
use wire::{Ip6, Ip6Prefix, Prefix};

/// The role of an address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// The interface's own.
    Own,
    /// All routers' of the network (RFC 4291 2.6.1).
    Anycast,
    /// The interface's own, but still being probed by solicitations with this nonce.
    Tentative([u8; 6]),
    /// Another host's, which we answer for.
    Proxy,
}

/// An address that we answer for, with the length of its network.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LocalAddress {
    pub prefix: Ip6Prefix,
    pub role: Role,
}

/// The addresses that one interface answers for.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct InterfaceAddresses {
    /// Its addresses, the link-local one first.
    own: Vec<LocalAddress>,
    /// Addresses that are answered for and are another host's, or ours on another link; in order.
    proxied: Vec<Ipv6Addr>,
    /// Hosts of networks on other links that are on this one, in order.
    behind: Vec<Ipv6Addr>,
    /// Other hosts are answered for wherever their route leads by another interface.
    pub proxies_all: bool,
    /// Router advertisements are sent.
    pub advertises: bool,
}

impl InterfaceAddresses {
    /// Returns the role of an address, if it has one.
    #[inline(always)]
    pub fn role(&self, ip: Ipv6Addr) -> Option<Role> {
        if let Some(local) = self.own.iter().find(|o| o.prefix.addr() == ip) {
            return Some(local.role);
        }
        self.proxied.binary_search(&ip).is_ok().then_some(Role::Proxy)
    }

    /// Returns true if an address is on the link.
    #[inline(always)]
    pub fn is_on_link(&self, ip: Ipv6Addr) -> bool {
        ip.is_unicast_link_local()
            || self.own.iter().any(|o| o.prefix.contains(ip))
            || self.behind.binary_search(&ip).is_ok()
    }

    /// Returns true if other hosts are answered for.
    #[inline(always)]
    pub fn proxies(&self) -> bool {
        self.proxies_all || !self.proxied.is_empty()
    }

    /// All addresses that are ours, or may be, or are answered for: their groups are joined.
    pub fn all(&self) -> impl Iterator<Item = Ipv6Addr> {
        self.own.iter().map(|o| o.prefix.addr()).chain(self.proxied.iter().copied())
    }

    fn usable(&self) -> impl Iterator<Item = Ip6Prefix> {
        self.own.iter().filter(|o| o.role == Role::Own).map(|o| o.prefix)
    }

    /// Source address for soliciting a neighbour: the link-local one, else the one in its network,
    /// else any.
    #[inline(always)]
    pub fn source_for(&self, ip: Ipv6Addr) -> Option<Ipv6Addr> {
        if let Some(link_local) = self.link_local() {
            return Some(link_local);
        }
        let near = self.usable().find(|p| p.contains(ip) && p.len() < 128);
        near.or_else(|| self.usable().next()).map(|p| p.addr())
    }

    /// The link-local address, once it may be used.
    #[inline(always)]
    pub fn link_local(&self) -> Option<Ipv6Addr> {
        self.usable().map(|p| p.addr()).find(Ipv6Addr::is_unicast_link_local)
    }
}

/// The addresses that all interfaces answer for.
pub struct LocalAddresses(Slots<InterfaceAddresses>);

impl Shared for LocalAddresses {
    fn make(world: &World) -> Self {
        Self(Slots::new(world.qsbr.clone()))
    }

    fn forget(&self, _: &World, deleted: &Deleted<'_>) {
        if let Some(sw_if) = deleted.of::<SwIfIndex>() {
            self.0.clear(sw_if.0);
        }
    }
}

impl LocalAddresses {
    /// Returns the addresses that an interface with IPv6 answers for.
    #[inline(always)]
    pub fn of<'t>(&'t self, sw_if: u32, turn: &'t Turn<'_>) -> Option<&'t InterfaceAddresses> {
        self.0.get(sw_if, turn)
    }

    /// Returns a copy for control.
    pub fn here(&self, sw_if: SwIfIndex) -> InterfaceAddresses {
        self.0.read(sw_if.0, |here| here.cloned()).unwrap_or_default()
    }

    /// Publishes the addresses that an interface answers for, and the ones that it may use.
    pub fn publish(&self, world: &World, sw_if: SwIfIndex) {
        hold_back(world, sw_if);
        let enabled = IpBinding::of(world, sw_if).is_enabled::<Ip6>();
        if !enabled {
            self.0.clear(sw_if.0);
            return;
        }
        let proxies = world.get::<Proxies>();
        let here = InterfaceAddresses {
            own: own(world, sw_if),
            proxied: proxies.seen_from(world, sw_if),
            behind: proxies.behind(sw_if),
            proxies_all: proxies.is_enabled(sw_if),
            advertises: crate::ra::advertises(world, sw_if),
        };
        self.0.set(sw_if.0, here);
    }
}

/// Keeps tentative and duplicate addresses from being used (RFC 4862 5.4, 5.4.5).
fn hold_back(world: &World, sw_if: SwIfIndex) {
    let all = world.get::<Dad>().of(sw_if).into_iter();
    let held: Vec<_> = all
        .map(|(ip, state)| match state {
            dad::State::Tentative { .. } => (ip, HoldReason::Tentative),
            dad::State::Duplicate => (ip, HoldReason::Duplicate),
        })
        .collect();
    world.get::<Addresses<Ip6>>().hold_back(world, sw_if, &held);
    let links = world.get::<LinkLocals>();
    let hold = held.iter().find(|(ip, _)| links.address(sw_if) == Some(*ip)).map(|(_, hold)| *hold);
    links.hold_back(world, sw_if, hold);
}

/// The addresses of an interface that are a host's, the link-local one first.
pub fn addresses(world: &World, sw_if: SwIfIndex) -> Vec<Ip6Prefix> {
    listed(world, sw_if).into_iter().filter(|prefix| !is_nominal(prefix.addr())).collect()
}

/// All addresses of an interface, also those that it has in name only, the link-local one first.
pub fn listed(world: &World, sw_if: SwIfIndex) -> Vec<Ip6Prefix> {
    let link_local = world.get::<LinkLocals>().address(sw_if).and_then(|a| Prefix::new(a, 64));
    let mut all: Vec<Ip6Prefix> = link_local.into_iter().collect();
    all.extend(world.get::<Addresses<Ip6>>().list(sw_if));
    all
}

fn own(world: &World, sw_if: SwIfIndex) -> Vec<LocalAddress> {
    let dad = world.get::<Dad>();
    let all = addresses(world, sw_if);
    let mut own: Vec<LocalAddress> = Vec::with_capacity(2 * all.len());
    for prefix in &all {
        let role = match dad.state(sw_if, prefix.addr()) {
            Some(dad::State::Duplicate) => continue,
            Some(dad::State::Tentative { nonce, .. }) => Role::Tentative(nonce),
            None => Role::Own,
        };
        own.push(LocalAddress { prefix: *prefix, role });
    }
    for prefix in all {
        let network = prefix.network();
        // RFC 4291 2.6.1; that of `::/n` would be the unspecified address, which no node has
        // (2.5.2).
        let is_address = !network.addr().is_unspecified();
        if is_address
            && prefix.len() < 127
            && prefix.has_host_bits()
            && !prefix.addr().is_unicast_link_local()
        {
            own.push(LocalAddress { prefix: network, role: Role::Anycast });
        }
    }
    own
}
