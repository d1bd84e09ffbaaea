// SPDX-License-Identifier: Apache-2.0
//! Configuration of ARP, and the handling of the workers' reports by control.

use crate::disabled::ArpDisabled;
use crate::frame::{LEN, Request};
use crate::own::is_on_link;
use crate::proxy::ArpProxy;
use crate::ranges::{Range, Ranges};
use crate::reply::ArpReply;
use cli::Error;
use graph::{Build, Deleted, Node, Shared, SwIfIndex, ThreadIndex, World};
use ip_neighbor::resolve::{
    self, DetectedNeighbor, Lanes, Protocol, RequestBuilder, Target, is_own, source_for, transmit,
};
use msg::retval;
use net::fib::{Fib, PathKind, Source, TableIndex};
use net::{
    Addresses, Evidence, IfEvent, IfKind, IfView, Interface, Interfaces, IpBinding, Neighbor,
    Neighbors, Prober,
};
use std::collections::{BTreeSet, HashMap};
use std::net::{IpAddr, Ipv4Addr};
use std::sync::{Arc, Mutex, MutexGuard};
use sync::Turn;
use wire::{Ip4, MacAddr};

/// The arc of received ARP packets.
pub const ARC: &str = "arp";
/// An address is defended at most this often (RFC 5227 2.4), in nanoseconds.
const DEFEND_INTERVAL: u64 = 10_000_000_000;

/// Handling of another host's gratuitous ARP.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Gratuitous {
    /// Adds or updates a neighbour.
    Learn,
    /// Updates a neighbour that is known.
    #[default]
    Update,
    /// Nothing.
    Ignore,
}

/// Another station uses an address of ours.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Conflict {
    /// Where.
    pub sw_if: SwIfIndex,
    /// Our address.
    pub ip: Ipv4Addr,
    /// The other station.
    pub mac: MacAddr,
}

type OnConflict = Arc<dyn Fn(&World, Conflict) + Send + Sync>;

#[derive(Default)]
struct Inner {
    gratuitous: Gratuitous,
    /// Gratuitous ARP is sent: see [`Arp::set_announces`].
    announce: bool,
    /// When each address was defended last.
    defended: HashMap<(SwIfIndex, Ipv4Addr), u64>,
    /// Each interface's addresses at its last change: those that are new are announced.
    own: HashMap<SwIfIndex, Vec<Ipv4Addr>>,
    /// Interfaces where commands or messages have enabled proxy ARP.
    proxies: BTreeSet<SwIfIndex>,
    on_conflict: Vec<OnConflict>,
}

impl Inner {
    fn forget(&mut self, sw_if: SwIfIndex) {
        self.defended.retain(|(i, _), _| *i != sw_if);
        self.own.remove(&sw_if);
        self.proxies.remove(&sw_if);
    }
}

/// The control side of ARP.
#[derive(Default)]
pub struct Arp(Mutex<Inner>);

impl Shared for Arp {
    fn make(_: &World) -> Self {
        Self::default()
    }

    fn forget(&self, _: &World, deleted: &Deleted<'_>) {
        if let Some(sw_if) = deleted.of::<SwIfIndex>() {
            self.inner().forget(*sw_if);
        }
    }
}

impl Arp {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().expect("no panic inside")
    }

    /// Returns the handling of another host's gratuitous ARP.
    pub fn gratuitous(&self) -> Gratuitous {
        self.inner().gratuitous
    }

    /// Sets the handling of another host's gratuitous ARP.
    pub fn set_gratuitous(&self, what: Gratuitous) {
        self.inner().gratuitous = what;
    }

    /// Returns true if gratuitous ARP is sent.
    pub fn announces(&self) -> bool {
        self.inner().announce
    }

    /// Sends gratuitous ARP when an address is added, an interface comes up or its MAC address
    /// changes; or doesn't.
    pub fn set_announces(&self, on: bool) {
        self.inner().announce = on;
    }

    /// Interfaces where commands or messages have enabled proxy ARP; `set interface feature` alone
    /// isn't counted.
    pub fn proxies(&self) -> Vec<SwIfIndex> {
        self.inner().proxies.iter().copied().collect()
    }

    /// Calls `f` when another station uses an address of ours, on the control thread; not more
    /// often than the address is defended.
    pub fn subscribe_conflicts(&self, f: impl Fn(&World, Conflict) + Send + Sync + 'static) {
        self.inner().on_conflict.push(Arc::new(f));
    }
}

/// Called once, when all nodes are there.
pub fn start(world: &Arc<World>) -> Result<(), String> {
    ethernet::register_ethertype(world, wire::EtherType::ARP, "arp-input")?;
    resolve::start::<Arp>(world);
    world.get::<Interfaces>().subscribe(on_interface);
    Ok(())
}

fn on_interface(world: &World, event: IfEvent) {
    match event {
        IfEvent::Added(sw_if) if is_ethernet(world, sw_if) => {
            let features =
                [(ArpDisabled::NAME, true), (ArpReply::NAME, false), (ArpProxy::NAME, false)];
            set_features(world, sw_if, &features);
        }
        IfEvent::Ip(sw_if, false, on) if is_ethernet(world, sw_if) => {
            set_features(world, sw_if, &[(ArpDisabled::NAME, !on), (ArpReply::NAME, on)]);
        }
        IfEvent::Admin(sw_if, true) | IfEvent::Link(sw_if, true) | IfEvent::Mac(sw_if)
            if world.get::<Arp>().announces() =>
        {
            announce(world, sw_if);
        }
        IfEvent::Moved(sw_if) => announce(world, sw_if),
        IfEvent::Address(sw_if, false) => on_address(world, sw_if),
        _ => {}
    }
}

fn is_ethernet(world: &World, sw_if: SwIfIndex) -> bool {
    world.get::<Interfaces>().get(sw_if).is_ok_and(|i| i.kind == IfKind::Ethernet)
}

fn set_features(world: &World, sw_if: SwIfIndex, features: &[(&str, bool)]) {
    for (feature, on) in features {
        world.set_feature(ARC, feature, sw_if, *on).expect("this plugin brings arc and features");
    }
}

/// The interface's addresses have changed: new ones may be announced, and neighbours that are no
/// longer on the link are removed.
fn on_address(world: &World, sw_if: SwIfIndex) {
    let own = world.get::<Addresses<Ip4>>().list(sw_if);
    let now: Vec<Ipv4Addr> = own.iter().map(|p| p.addr()).collect();
    let arp = world.get::<Arp>();
    let before = {
        let own = &mut arp.inner().own;
        // An interface that is being deleted loses its addresses last, and leaves nothing here.
        if now.is_empty() { own.remove(&sw_if) } else { own.insert(sw_if, now.clone()) }
    };
    let before = before.unwrap_or_default();
    if arp.announces() {
        announce_some(world, sw_if, now.into_iter().filter(|ip| !before.contains(ip)).collect());
    }
    world.get::<Neighbors>().remove_if(world, |n| {
        let IpAddr::V4(ip) = n.ip else { return false };
        n.sw_if == sw_if && !n.is_static && !is_on_link(&own, ip) && !is_attached(world, sw_if, ip)
    });
}

/// Returns true if a host outside of an interface's networks is on its link all the same: on an
/// unnumbered link, or because a route leads there. Same decision as in [`crate::reply`] for
/// packets.
fn is_attached(world: &World, sw_if: SwIfIndex, ip: Ipv4Addr) -> bool {
    let here = |kind: PathKind| match kind {
        PathKind::Attached { sw_if: at, .. } => at == sw_if,
        PathKind::Neighbor { sw_if: at, nexthop } => at == sw_if && nexthop == IpAddr::V4(ip),
        _ => false,
    };
    let route = world.get::<Fib<Ip4>>().covering(IpBinding::of(world, sw_if).table::<Ip4>(), ip);
    // The host's own route leads here while it is a known neighbour: only routes from other sources
    // count.
    let said = route
        .iter()
        .flat_map(|route| &route.sources)
        .filter(|said| said.source != Source::Neighbor);
    world.get::<Addresses<Ip4>>().unnumbered(sw_if).is_some()
        || said.flat_map(|said| &said.paths).any(|(path, _)| here(path.kind))
}

/// Sends requests and announcements by an interface, from the main thread.
pub fn send(world: &World, interface: &Interface, requests: Vec<Request>) {
    let tx = Lanes::tx::<Arp>(world, ThreadIndex(0));
    for request in &requests {
        let lane = if request.sender == request.target { &tx.gratuitous } else { &tx.requests };
        lane.add(interface.sw_if.at(), 1);
    }
    let frames = requests.into_iter().map(|r| r.frame(interface.mac).to_vec()).collect();
    transmit::<Arp>(world, interface, frames);
}

/// Sends gratuitous ARP for our addresses on an interface, if it is up.
fn announce(world: &World, sw_if: SwIfIndex) {
    let own = world.get::<Addresses<Ip4>>().list(sw_if);
    announce_some(world, sw_if, own.iter().map(|p| p.addr()).collect());
}

fn announce_some(world: &World, sw_if: SwIfIndex, own: Vec<Ipv4Addr>) {
    let Ok(interface) = world.get::<Interfaces>().get(sw_if) else { return };
    if interface.admin_up
        && interface.link_up
        && interface.kind == IfKind::Ethernet
        && !own.is_empty()
    {
        send(world, &interface, own.into_iter().map(Request::announce).collect());
    }
}

/// Asks neighbours whether they are still there, each at his station if that is known.
fn probe(world: &World, due: &[Neighbor]) {
    let (interfaces, own) = (world.get::<Interfaces>(), world.get::<Addresses<Ip4>>());
    for same in due.chunk_by(|a, b| a.sw_if == b.sw_if) {
        let Some(Ok(interface)) = same.first().map(|n| interfaces.get(n.sw_if)) else { continue };
        let own = own.list(interface.sw_if);
        let request = |n: &Neighbor| {
            let IpAddr::V4(target) = n.ip else { return None };
            Some(Request { sender: source_for(&own, target)?, target, to: n.mac })
        };
        let requests: Vec<_> = same.iter().filter_map(request).collect();
        if !requests.is_empty() {
            send(world, &interface, requests);
        }
    }
}

impl Protocol for Arp {
    type Net = Ip4;
    type Requests = ArpRequests;
    const PROCESS: &'static str = "arp-process";
    const COUNTERS: &'static str = "/net/arp";
    const PROBE: Prober = probe;
    const SOURCE_OF_ROUTE: bool = true;

    fn weigh(world: &World, seen: &DetectedNeighbor<Ipv4Addr>) -> Option<Evidence> {
        match (seen.evidence, world.get::<Arp>().gratuitous()) {
            (Evidence::Announcement { .. }, Gratuitous::Ignore) => None,
            (Evidence::Announcement { .. }, how) => {
                Some(Evidence::Announcement { create: how == Gratuitous::Learn })
            }
            (evidence, _) => Some(evidence),
        }
    }

    fn conflict(world: &World, who: Target<Ipv4Addr>, mac: MacAddr) {
        let conflict = Conflict { sw_if: SwIfIndex(who.sw_if), ip: who.ip, mac };
        let Conflict { sw_if, ip, mac } = conflict;
        let Ok(interface) = world.get::<Interfaces>().get(sw_if) else { return };
        let now = world.clock.now();
        let subscribers = {
            let arp = world.get::<Arp>();
            let mut inner = arp.inner();
            let last = inner.defended.get(&(sw_if, ip));
            if last.is_some_and(|last| now < last + DEFEND_INTERVAL) {
                return;
            }
            inner.defended.insert((sw_if, ip), now);
            inner.on_conflict.clone()
        };
        log::warn!("{mac} uses our address {ip} on {}", interface.name);
        // VPP doesn't defend its addresses (RFC 5227 2.4).
        if !world.compat_vpp() {
            send(world, &interface, vec![Request::announce(ip)]);
        }
        for f in subscribers {
            f(world, conflict);
        }
    }
}

/// Builds a thread's ARP requests.
pub struct ArpRequests {
    own: Arc<Addresses<Ip4>>,
}

impl Build for ArpRequests {
    fn build(world: &World, _: ThreadIndex) -> Self {
        Self { own: world.get() }
    }
}

impl RequestBuilder<Ip4> for ArpRequests {
    type Frame = [u8; LEN];

    #[inline(always)]
    fn request(
        &self,
        view: &IfView,
        target: Target<Ipv4Addr>,
        source: Option<Ipv4Addr>,
        turn: &Turn<'_>,
    ) -> Option<[u8; LEN]> {
        let own = self.own.of(target.sw_if, turn);
        let source =
            source.filter(|source| is_own(own, *source)).or_else(|| source_for(own, target.ip))?;
        Some(Request::who_has(target.ip, source).frame(view.mac))
    }
}

/// Answers for others on an interface, or no longer.
///
/// # Errors
/// An interface that isn't there (−2) or carries no Ethernet frames (−151).
pub fn set_proxy(world: &World, sw_if: SwIfIndex, on: bool) -> Result<(), Error> {
    let interface = world.get::<Interfaces>().get(sw_if)?;
    if interface.kind != IfKind::Ethernet {
        let why = format!("{} carries no Ethernet frames", interface.name);
        return Err(Error::unsupported(why).retval(retval::NON_ETHERNET));
    }
    world.set_feature(ARC, ArpProxy::NAME, sw_if, on).map_err(Error::failed)?;
    let arp = world.get::<Arp>();
    let mut inner = arp.inner();
    _ = if on { inner.proxies.insert(sw_if) } else { inner.proxies.remove(&sw_if) };
    Ok(())
}

/// The interfaces where others are answered for.
pub fn proxies(world: &World) -> Vec<Interface> {
    let enabled = |i: &Interface| is_proxy(world, i.sw_if);
    world.get::<Interfaces>().list().into_iter().filter(enabled).collect()
}

/// The name of an interface, if others are answered for there.
pub fn proxy(world: &World, sw_if: SwIfIndex) -> Option<String> {
    is_proxy(world, sw_if).then(|| world.get::<Interfaces>().name(sw_if))
}

fn is_proxy(world: &World, sw_if: SwIfIndex) -> bool {
    world.get::<Arp>().inner().proxies.contains(&sw_if)
}

/// Adds or removes a proxy ARP range `start ..= end` in the table of this id.
///
/// # Errors
/// A table that isn't there (−3); the errors of [`Ranges::add`] and [`Ranges::remove`].
pub fn set_range(
    world: &World,
    table: u32,
    start: Ipv4Addr,
    end: Ipv4Addr,
    on: bool,
) -> Result<(), Error> {
    let table = world.get::<Fib<Ip4>>().find_table(table)?.0;
    let (ranges, range) = (world.get::<Ranges>(), Range { table, start, end });
    if on { ranges.add(range) } else { ranges.remove(range) }
}

/// The id of a table; its index if it is gone.
pub fn table_id(world: &World, index: u32) -> u32 {
    world.get::<Fib<Ip4>>().table_id(TableIndex(index)).unwrap_or(index)
}
