// SPDX-License-Identifier: Apache-2.0
//! Neighbour discovery proxy (RFC 4861 7.2.8): for hosts that an operator named, or for all that
//! are routed elsewhere.

use crate::dad::Dad;
use crate::local::{LocalAddresses, addresses};
use crate::unicast_proxy::UnicastProxy;
use cli::{Error, Result};
use graph::{Build, Deleted, Node, Shared, SwIfIndex, ThreadIndex, World};
use msg::retval;
use net::fib::{Fib, Path, PathKind, Source, TableIndex};
use net::{Adj, AdjKind, Adjacencies, IfKind, IfView, Interfaces, IpBinding, Neighbor, Neighbors};
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard};
use sync::Turn;
use wire::{Ip6, Prefix};

/// The arc of unicast packets, where solicitations to one station are examined.
const ARC: &str = "ip6-unicast";

#[derive(Default)]
struct Inner {
    /// Hosts by the interface that they are behind, with the table of that interface.
    hosts: BTreeMap<(SwIfIndex, Ipv6Addr), TableIndex>,
    /// Interfaces where all other hosts are answered for.
    enabled: BTreeSet<SwIfIndex>,
}

/// The hosts that we answer for.
#[derive(Default)]
pub struct Proxies(Mutex<Inner>);

impl Shared for Proxies {
    fn make(_: &World) -> Self {
        Self::default()
    }

    fn forget(&self, world: &World, deleted: &Deleted<'_>) {
        let Some(&sw_if) = deleted.of::<SwIfIndex>() else { return };
        let hosts = self.hosts();
        for (_, ip) in hosts.iter().copied().filter(|(i, _)| *i == sw_if) {
            // A host that is gone already is no error.
            let _ = self.change_host(world, sw_if, ip, false);
        }
        let _ = self.enable(world, sw_if, false);
        // Without hosts, others answer for their own addresses only.
        if !hosts.is_empty() {
            publish_all(world);
        }
    }
}

fn ethernet(world: &World, sw_if: SwIfIndex) -> Result<net::Interface> {
    let interface = world.get::<Interfaces>().get(sw_if)?;
    if interface.kind != IfKind::Ethernet {
        let why = format!("{} carries no Ethernet frames", interface.name);
        return Err(Error::unsupported(why).retval(retval::NON_ETHERNET));
    }
    Ok(interface)
}

impl Proxies {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().expect("no panic inside")
    }

    /// The hosts, with the interface that they are behind.
    pub fn hosts(&self) -> Vec<(SwIfIndex, Ipv6Addr)> {
        self.inner().hosts.keys().copied().collect()
    }

    /// The interfaces where all other hosts are answered for.
    pub fn enabled(&self) -> Vec<SwIfIndex> {
        self.inner().enabled.iter().copied().collect()
    }

    /// Returns true if all other hosts are answered for on an interface.
    pub fn is_enabled(&self, sw_if: SwIfIndex) -> bool {
        self.inner().enabled.contains(&sw_if)
    }

    /// The hosts behind an interface, in order.
    pub fn behind(&self, sw_if: SwIfIndex) -> Vec<Ipv6Addr> {
        self.hosts().into_iter().filter(|(i, _)| *i == sw_if).map(|(_, ip)| ip).collect()
    }

    /// Hosts that solicitations on an interface are answered for: hosts of its table that are
    /// behind another one; and, for hosts behind this one, our addresses in their networks,
    /// which are on other links.
    pub fn seen_from(&self, world: &World, sw_if: SwIfIndex) -> Vec<Ipv6Addr> {
        let interfaces = world.get::<Interfaces>();
        let table = |i| IpBinding::of(world, i).table::<Ip6>();
        let other = |i: SwIfIndex| i != sw_if && table(i) == table(sw_if);
        let mut all: Vec<_> =
            self.hosts().into_iter().filter(|(i, _)| other(*i)).map(|(_, ip)| ip).collect();
        let behind = self.behind(sw_if);
        if !behind.is_empty() {
            let dad = world.get::<Dad>();
            for i in interfaces.indices().filter(|i| other(*i)) {
                let local = addresses(world, i).into_iter().filter(|prefix| {
                    let is_near = behind.iter().any(|host| prefix.contains(*host));
                    is_near && dad.state(i, prefix.addr()).is_none()
                });
                all.extend(local.map(|prefix| prefix.addr()));
            }
        }
        all.sort_unstable();
        all.dedup();
        all
    }

    /// Starts or stops answering for a host behind an interface, on the others of its table;
    /// packets to the host go there.
    ///
    /// # Errors
    /// An interface that isn't there (−2) or carries no Ethernet frames (−151); no address of one
    /// host (−7); one that isn't answered for (−6).
    pub fn set_host(&self, world: &World, sw_if: SwIfIndex, ip: Ipv6Addr, on: bool) -> Result<()> {
        self.change_host(world, sw_if, ip, on)?;
        publish_all(world);
        if !on {
            let here = world.get::<LocalAddresses>().here(sw_if);
            let left = |n: &Neighbor| n.sw_if == sw_if && n.ip == IpAddr::V6(ip) && !n.is_static;
            world.get::<Neighbors>().remove_if(world, |n| left(n) && !here.is_on_link(ip));
        }
        Ok(())
    }

    /// As [`Self::set_host`], without publishing to workers yet.
    fn change_host(&self, world: &World, sw_if: SwIfIndex, ip: Ipv6Addr, on: bool) -> Result<()> {
        let interface = ethernet(world, sw_if)?;
        if ip.is_multicast()
            || ip.is_unspecified()
            || ip.is_loopback()
            || ip.is_unicast_link_local()
        {
            let why = format!("{ip} is no address of a host on another link");
            return Err(Error::parse(why).retval(retval::INVALID_VALUE));
        }
        let fib = world.get::<Fib<Ip6>>();
        let host = Prefix::host(ip);
        // A host may be behind several interfaces; each is a path of its route.
        let path = Path::new(PathKind::Neighbor { sw_if, nexthop: ip.into() });
        if on {
            let table = IpBinding::of(world, sw_if).table::<Ip6>();
            fib.add(world, table, host, Source::Plugin, &[path])?;
            self.inner().hosts.insert((sw_if, ip), table);
        } else {
            let none = || {
                let why = format!("{ip} behind {} is not answered for", interface.name);
                Error::not_found(why).retval(retval::NO_SUCH_ENTRY)
            };
            let table = self.inner().hosts.remove(&(sw_if, ip)).ok_or_else(none)?;
            fib.remove(world, table, host, Source::Plugin, &[path])?;
        }
        Ok(())
    }

    /// Starts or stops answering for all hosts that are routed by other interfaces.
    ///
    /// # Errors
    /// An interface that isn't there (−2) or carries no Ethernet frames (−151).
    pub fn enable(&self, world: &World, sw_if: SwIfIndex, on: bool) -> Result<()> {
        ethernet(world, sw_if)?;
        if on {
            self.inner().enabled.insert(sw_if);
        } else {
            self.inner().enabled.remove(&sw_if);
        }
        publish(world, sw_if);
        Ok(())
    }
}

/// Moves the hosts behind an interface to the interface's new table.
pub fn moved(world: &World, sw_if: SwIfIndex) {
    let proxies = world.get::<Proxies>();
    let hosts = proxies.hosts();
    for (_, ip) in hosts.iter().copied().filter(|(i, _)| *i == sw_if) {
        let _ = proxies.change_host(world, sw_if, ip, false);
        if let Err(error) = proxies.change_host(world, sw_if, ip, true) {
            log::error!("{ip} is answered for no longer: {error}");
        }
    }
    if !hosts.is_empty() {
        publish_all(world);
    }
}

/// Publishes to workers the hosts that they answer for on all interfaces.
pub fn publish_all(world: &World) {
    for sw_if in world.get::<Interfaces>().indices() {
        if IpBinding::of(world, sw_if).is_enabled::<Ip6>() {
            publish(world, sw_if);
        }
    }
}

/// Handles changed addresses of an interface: they are answered for on others as well, if there are
/// hosts there.
pub fn changed(world: &World, sw_if: SwIfIndex) {
    publish(world, sw_if);
    if !world.get::<Proxies>().hosts().is_empty() {
        publish_all(world);
    }
}

/// Publishes to workers the addresses that an interface answers for.
pub fn publish(world: &World, sw_if: SwIfIndex) {
    let local = world.get::<LocalAddresses>();
    local.publish(world, sw_if);
    let on = local.here(sw_if).proxies();
    // Hosts that know our station probe a host by unicast to it; that has to be seen before it is
    // routed.
    let set = world.set_feature(ARC, UnicastProxy::NAME, sw_if, on);
    debug_assert!(set.is_ok(), "the arc is that of a feature this one needs");
    world.get::<crate::mld::Listener>().sync(world, sw_if);
}

/// The interfaces that packets to an address leave by, for workers.
pub struct Routed {
    fib: Arc<Fib<Ip6>>,
    adjacencies: Arc<Adjacencies>,
}

impl Build for Routed {
    fn build(world: &World, _: ThreadIndex) -> Self {
        Self { fib: world.get(), adjacencies: world.get() }
    }
}

impl Routed {
    /// Returns true if packets to an address leave by this interface, on one of several paths at
    /// least.
    #[inline(always)]
    pub fn here(&self, view: &IfView, sw_if: u32, ip: Ipv6Addr, turn: &Turn<'_>) -> bool {
        self.any_path(view, ip, turn, |tx_if| tx_if == sw_if)
    }

    /// Returns true if packets to an address that come in by an interface leave by another one, on
    /// one of several paths at least.
    #[inline(always)]
    pub fn elsewhere(&self, view: &IfView, rx_if: u32, ip: Ipv6Addr, turn: &Turn<'_>) -> bool {
        !ip.is_unicast_link_local()
            && !ip.is_multicast()
            && self.any_path(view, ip, turn, |tx_if| tx_if != rx_if)
    }

    /// Returns true if a path to an address has an output that `is_meant` accepts.
    #[inline(always)]
    fn any_path(
        &self,
        view: &IfView,
        ip: Ipv6Addr,
        turn: &Turn<'_>,
        is_meant: impl Fn(u32) -> bool,
    ) -> bool {
        let mut leaves = |adj: &Adj| {
            matches!(adj.kind, AdjKind::Rewrite | AdjKind::Incomplete | AdjKind::Glean)
                && is_meant(adj.tx_if)
        };
        let index = self.fib.adj(TableIndex(view.fib6), ip, turn);
        index.is_some_and(|index| self.adjacencies.find_member(index, turn, &mut leaves))
    }
}
