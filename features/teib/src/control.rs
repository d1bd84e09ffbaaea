// SPDX-License-Identifier: Apache-2.0
//! The entries.

use cli::{Error, Result};
use graph::{Deleted, Shared, SwIfIndex, World};
use msg::retval;
use net::fib::Source;
use net::{Fib, IfEvent, IfKind, Interfaces, Net, Path, PathKind, TableIndex};
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard};
use wire::{Address, Ip4, Ip6, Prefix};

/// Where a peer is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Endpoint {
    /// Its address in the underlay.
    pub nexthop: IpAddr,
    /// The table, by its id, that packets to it are routed in.
    pub table: u32,
}

/// An entry that was added, or one that is removed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TeibEvent {
    /// The interface.
    pub sw_if: SwIfIndex,
    /// The peer, in the overlay.
    pub peer: IpAddr,
    /// Where it is.
    pub to: Endpoint,
    /// It was added.
    pub added: bool,
}

type Subscriber = Arc<dyn Fn(&World, TeibEvent) -> Result<()> + Send + Sync>;

#[derive(Clone, Copy)]
struct Entry {
    to: Endpoint,
    /// Index of the table that has the peer's host route.
    route: Option<TableIndex>,
}

type Entries = BTreeMap<(SwIfIndex, IpAddr), Entry>;

/// The peers of all interfaces.
pub struct Teib {
    entries: Mutex<Entries>,
    subscribers: Mutex<Vec<Subscriber>>,
}

impl Shared for Teib {
    fn make(world: &World) -> Self {
        world.get::<Interfaces>().subscribe(|world, event| {
            if let IfEvent::Table(sw_if, is_v6) = event {
                world.get::<Teib>().move_routes(world, sw_if, is_v6);
            }
        });
        Self { entries: Mutex::default(), subscribers: Mutex::default() }
    }

    fn forget(&self, world: &World, deleted: &Deleted<'_>) {
        if let Some(&sw_if) = deleted.of::<SwIfIndex>() {
            for peer in self.peers(sw_if) {
                self.take(world, sw_if, peer);
            }
        }
    }
}

impl Teib {
    fn entries(&self) -> MutexGuard<'_, Entries> {
        self.entries.lock().expect("no panic inside")
    }

    fn peers(&self, sw_if: SwIfIndex) -> Vec<IpAddr> {
        self.entries().keys().filter(|(of, _)| *of == sw_if).map(|(_, peer)| *peer).collect()
    }

    /// Calls `f` for every entry that is added and, in advance, for every one that is removed. An error refuses an entry.
    pub fn subscribe(&self, f: impl Fn(&World, TeibEvent) -> Result<()> + Send + Sync + 'static) {
        self.subscribers.lock().expect("no panic inside").push(Arc::new(f));
    }

    fn tell(&self, world: &World, event: TeibEvent) -> Result<()> {
        let all = self.subscribers.lock().expect("no panic inside").clone();
        all.into_iter().try_for_each(|subscriber| subscriber(world, event))
    }

    /// Says where a peer is. On a multipoint interface the peer gets a host route.
    ///
    /// # Errors
    /// What isn't there (interface −2, table −3); addresses that are none of one host (−7); a peer that is known (−81); what a subscriber
    /// says.
    pub fn add(&self, world: &World, sw_if: SwIfIndex, peer: IpAddr, to: Endpoint) -> Result<()> {
        world.get::<Interfaces>().check(sw_if)?;
        for address in [peer, to.nexthop] {
            if address.is_multicast() || address.is_unspecified() {
                let why = format!("{address} is no address of one host");
                return Err(Error::parse(why).retval(retval::INVALID_VALUE));
            }
        }
        if to.nexthop.is_ipv6() {
            world.get::<Fib<Ip6>>().find_table(to.table)?;
        } else {
            world.get::<Fib<Ip4>>().find_table(to.table)?;
        }
        if self.entries().contains_key(&(sw_if, peer)) {
            let name = world.get::<Interfaces>().name(sw_if);
            return Err(Error::failed(format!("{peer} on {name} is known already: delete it first"))
                .retval(retval::VALUE_EXIST));
        }
        self.tell(world, TeibEvent { sw_if, peer, to, added: true })?;
        let route = add_route(world, sw_if, peer);
        self.entries().insert((sw_if, peer), Entry { to, route });
        world.note_config_change();
        Ok(())
    }

    /// Forgets where a peer is.
    ///
    /// # Errors
    /// An interface that isn't there (−2); a peer that isn't known (−6).
    pub fn remove(&self, world: &World, sw_if: SwIfIndex, peer: IpAddr) -> Result<()> {
        world.get::<Interfaces>().check(sw_if)?;
        if !self.take(world, sw_if, peer) {
            let name = world.get::<Interfaces>().name(sw_if);
            return Err(
                Error::not_found(format!("{peer} on {name} isn't known")).retval(retval::NO_SUCH_ENTRY)
            );
        }
        world.note_config_change();
        Ok(())
    }

    fn take(&self, world: &World, sw_if: SwIfIndex, peer: IpAddr) -> bool {
        let Some(Entry { to, route }) = self.entries().remove(&(sw_if, peer)) else { return false };
        if let Some(table) = route {
            remove_route(world, table, sw_if, peer);
        }
        if let Err(error) = self.tell(world, TeibEvent { sw_if, peer, to, added: false }) {
            log::warn!("the end of {peer} in the tunnel endpoint information base: {error}");
        }
        true
    }

    /// The interface has another table: the host routes of its peers move there.
    fn move_routes(&self, world: &World, sw_if: SwIfIndex, is_v6: bool) {
        for peer in self.peers(sw_if).into_iter().filter(|peer| peer.is_ipv6() == is_v6) {
            let old = self.entries().get(&(sw_if, peer)).and_then(|entry| entry.route);
            if let Some(old) = old {
                remove_route(world, old, sw_if, peer);
            }
            let route = add_route(world, sw_if, peer);
            if let Some(entry) = self.entries().get_mut(&(sw_if, peer)) {
                entry.route = route;
            }
        }
    }

    /// Where a peer is.
    pub fn find(&self, sw_if: SwIfIndex, peer: IpAddr) -> Option<Endpoint> {
        self.entries().get(&(sw_if, peer)).map(|entry| entry.to)
    }

    /// All peers.
    pub fn list(&self) -> Vec<(SwIfIndex, IpAddr, Endpoint)> {
        self.entries().iter().map(|((sw_if, peer), entry)| (*sw_if, *peer, entry.to)).collect()
    }
}

/// The host route of a peer: by its interface.
fn route<F: Net>(sw_if: SwIfIndex, peer: F::Addr) -> (Prefix<F::Addr>, [Path<F::Addr>; 1]) {
    (Prefix::host(peer), [Path::new(PathKind::Neighbor { sw_if, nexthop: peer.into() })])
}

/// Adds it, if the interface has several peers, and returns the table. Link-local addresses are in the table of the link.
fn add_route(world: &World, sw_if: SwIfIndex, peer: IpAddr) -> Option<TableIndex> {
    let interface = world.get::<Interfaces>().get(sw_if).ok().filter(|i| i.kind == IfKind::Multipoint)?;
    let (table, added) = match peer {
        IpAddr::V4(peer) => {
            let (table, (prefix, paths)) = (interface.fib4, route::<Ip4>(sw_if, peer));
            (table, world.get::<Fib<Ip4>>().set(world, TableIndex(table), prefix, Source::Neighbor, &paths))
        }
        IpAddr::V6(peer) => {
            let table = if peer.link_local() { interface.link6 } else { interface.fib6 };
            let (prefix, paths) = route::<Ip6>(sw_if, peer);
            (table, world.get::<Fib<Ip6>>().set(world, TableIndex(table), prefix, Source::Neighbor, &paths))
        }
    };
    if let Err(error) = &added {
        log::warn!("no host route for {peer}: {error}");
    }
    added.ok().map(|_| TableIndex(table))
}

/// Removes it. It may have gone with the table.
fn remove_route(world: &World, table: TableIndex, sw_if: SwIfIndex, peer: IpAddr) {
    _ = match peer {
        IpAddr::V4(peer) => {
            let (prefix, paths) = route::<Ip4>(sw_if, peer);
            world.get::<Fib<Ip4>>().remove(world, table, prefix, Source::Neighbor, &paths)
        }
        IpAddr::V6(peer) => {
            let (prefix, paths) = route::<Ip6>(sw_if, peer);
            world.get::<Fib<Ip6>>().remove(world, table, prefix, Source::Neighbor, &paths)
        }
    };
}
