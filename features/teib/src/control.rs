// SPDX-License-Identifier: Apache-2.0
//! The entries.

use cli::{Error, Result};
use graph::{Deleted, Shared, SwIfIndex, World};
use msg::retval;
use net::fib::Source;
use net::{Fib, IfEvent, IfKind, Interfaces, IpBinding, Net, Path, PathKind, TableIndex};
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::ops::RangeInclusive;
use std::sync::{Arc, Mutex, MutexGuard};
use wire::{Ip4, Ip6, Prefix};

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
    /// Index of the table that packets to it are routed in: held.
    table: TableIndex,
    /// Index of the table that has the peer's host route.
    route: Option<TableIndex>,
}

type Entries = BTreeMap<(SwIfIndex, IpAddr), Entry>;

/// Returns the range of an interface's entries in a map by interface and peer.
pub fn of_interface(sw_if: SwIfIndex) -> RangeInclusive<(SwIfIndex, IpAddr)> {
    let last = Ipv6Addr::from_bits(u128::MAX);
    (sw_if, Ipv4Addr::UNSPECIFIED.into())..=(sw_if, last.into())
}

/// The peers of all interfaces.
pub struct Teib {
    entries: Mutex<Entries>,
    subscribers: Mutex<Vec<Subscriber>>,
}

impl Shared for Teib {
    fn make(world: &World) -> Self {
        world.get::<Interfaces>().subscribe(|world, event| {
            // IPv6 brings the table of link-local addresses, and takes it.
            if let IfEvent::Table(sw_if, is_v6) | IfEvent::Ip(sw_if, is_v6, _) = event {
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
        self.entries().range(of_interface(sw_if)).map(|((_, peer), _)| *peer).collect()
    }

    /// Calls `f` for every entry that is added and, in advance, for every one that is removed. An
    /// error refuses an entry.
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
    /// Something that isn't there (interface −2, table −3); addresses that are none of one host
    /// (−7); a peer that is known (−81); what a subscriber says.
    pub fn add(&self, world: &World, sw_if: SwIfIndex, peer: IpAddr, to: Endpoint) -> Result<()> {
        world.get::<Interfaces>().check(sw_if)?;
        for address in [peer, to.nexthop] {
            if address.is_multicast() || address.is_unspecified() {
                let why = wire::not_one_host(address);
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
            return Err(Error::failed(format!(
                "{peer} on {name} is known already: delete it first"
            ))
            .retval(retval::VALUE_EXIST));
        }
        self.tell(world, TeibEvent { sw_if, peer, to, added: true })?;
        let table = if to.nexthop.is_ipv6() {
            world.get::<Fib<Ip6>>().hold_table(to.table)?
        } else {
            world.get::<Fib<Ip4>>().hold_table(to.table)?
        };
        let route = add_route(world, sw_if, peer);
        self.entries().insert((sw_if, peer), Entry { to, table, route });
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
            return Err(Error::not_found(format!("{peer} on {name} isn't known"))
                .retval(retval::NO_SUCH_ENTRY));
        }
        world.note_config_change();
        Ok(())
    }

    fn take(&self, world: &World, sw_if: SwIfIndex, peer: IpAddr) -> bool {
        let gone = self.entries().remove(&(sw_if, peer));
        let Some(Entry { to, table, route }) = gone else { return false };
        if let Some(table) = route {
            set_route(world, table, sw_if, peer, false);
        }
        if let Err(error) = self.tell(world, TeibEvent { sw_if, peer, to, added: false }) {
            log::warn!("the end of {peer} in the tunnel endpoint information base: {error}");
        }
        if to.nexthop.is_ipv6() {
            world.get::<Fib<Ip6>>().release_table(world, table);
        } else {
            world.get::<Fib<Ip4>>().release_table(world, table);
        }
        true
    }

    /// The interface has another table: the host routes of its peers move there.
    fn move_routes(&self, world: &World, sw_if: SwIfIndex, is_v6: bool) {
        for peer in self.peers(sw_if).into_iter().filter(|peer| peer.is_ipv6() == is_v6) {
            let old = self.entries().get(&(sw_if, peer)).and_then(|entry| entry.route);
            if old == table_of(world, sw_if, peer) {
                continue;
            }
            if let Some(old) = old {
                set_route(world, old, sw_if, peer, false);
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

/// Returns the table for the host route of a peer; none unless the interface is a multipoint one.
fn table_of(world: &World, sw_if: SwIfIndex, peer: IpAddr) -> Option<TableIndex> {
    let interface = world.get::<Interfaces>().get(sw_if).ok()?;
    if interface.kind != IfKind::Multipoint {
        return None;
    }
    IpBinding::of(world, sw_if).table_of(peer)
}

/// Adds the host route of a peer, by its interface. Returns the table.
fn add_route(world: &World, sw_if: SwIfIndex, peer: IpAddr) -> Option<TableIndex> {
    let table = table_of(world, sw_if, peer)?;
    set_route(world, table, sw_if, peer, true).then_some(table)
}

/// Adds or removes a host route. Returns whether that could be done.
fn set_route(
    world: &World,
    table: TableIndex,
    sw_if: SwIfIndex,
    peer: IpAddr,
    wanted: bool,
) -> bool {
    match peer {
        IpAddr::V4(host) => set_route_of::<Ip4>(world, table, sw_if, host, wanted),
        IpAddr::V6(host) => set_route_of::<Ip6>(world, table, sw_if, host, wanted),
    }
}

fn set_route_of<F: Net>(
    world: &World,
    table: TableIndex,
    sw_if: SwIfIndex,
    host: F::Addr,
    wanted: bool,
) -> bool {
    let fib = world.get::<Fib<F>>();
    let (prefix, paths) =
        (Prefix::host(host), [Path::new(PathKind::Neighbor { sw_if, nexthop: host.into() })]);
    if !wanted {
        // It may have gone with the table.
        return fib.remove(world, table, prefix, Source::Neighbor, &paths).is_ok();
    }
    // Another interface may have a peer of the same address.
    let added = fib.add(world, table, prefix, Source::Neighbor, &paths);
    if let Err(error) = &added {
        log::warn!("no host route for {prefix}: {error}");
    }
    added.is_ok()
}
