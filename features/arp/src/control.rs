// SPDX-License-Identifier: Apache-2.0
//! The verbs of ARP, and what control does with what workers tell it.

use crate::counters::ArpLanes;
use crate::disabled::ArpDisabled;
use crate::frame::Request;
use crate::notes::{Note, Notes};
use crate::own::{is_on_link, source_for};
use crate::proxy::ArpProxy;
use crate::ranges::{Range, Ranges};
use crate::reply::ArpReply;
use crate::resolver::Resolver;
use crate::waiting::Target;
use crate::{glean::Ip4Glean, unresolved::Ip4Arp};
use cli::Error;
use graph::{Node, NodeIndex, Runtime, Shared, SwIfIndex, ThreadIndex, World};
use msg::retval;
use net::fib::{Fib, TableIndex};
use net::{
    Addresses, Evidence, IfEvent, IfKind, Interface, Interfaces, IpMeta, Learned, Neighbor, NeighborEvent,
    Neighbors,
};
use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::{Arc, Mutex, MutexGuard};
use wire::{ArpOp, Ip4, MacAddr};

/// The arc of received ARP packets.
pub const ARC: &str = "arp";
/// An address is defended at most this often (RFC 5227 2.4), in nanoseconds.
const DEFEND_INTERVAL: u64 = 10_000_000_000;

/// What an announcement of somebody else does.
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
    /// When an address was defended last.
    defended: HashMap<(SwIfIndex, Ipv4Addr), u64>,
    /// The addresses of each interface, as they were announced.
    own: HashMap<SwIfIndex, Vec<Ipv4Addr>>,
    /// Neighbours that are known now: what waits for them may go.
    resolved: Vec<Target>,
    on_conflict: Vec<OnConflict>,
}

impl Inner {
    fn forget(&mut self, sw_if: SwIfIndex) {
        self.defended.retain(|(i, _), _| *i != sw_if);
        self.own.remove(&sw_if);
    }
}

/// The control side of ARP.
#[derive(Default)]
pub struct Arp(Mutex<Inner>);

impl Shared for Arp {
    fn make(_: &World) -> Self {
        Self::default()
    }
}

impl Arp {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().expect("no panic inside")
    }

    /// What an announcement of somebody else does.
    pub fn gratuitous(&self) -> Gratuitous {
        self.inner().gratuitous
    }

    /// Says what an announcement of somebody else does.
    pub fn set_gratuitous(&self, what: Gratuitous) {
        self.inner().gratuitous = what;
    }

    /// Calls `f` when another station uses an address of ours, on the control thread; not more often than the address is
    /// defended.
    pub fn subscribe_conflicts(&self, f: impl Fn(&World, Conflict) + Send + Sync + 'static) {
        self.inner().on_conflict.push(Arc::new(f));
    }
}

/// Called once, when all nodes are there.
pub fn start(world: &Arc<World>) -> Result<(), String> {
    ethernet::register_ethertype(world, wire::EtherType::ARP, "arp-input")?;
    // Made first: routes to neighbours are there before what waits for them goes.
    world.get::<Addresses<Ip4>>();
    let neighbors = world.get::<Neighbors>();
    neighbors.start(world, false, probe);
    neighbors.subscribe(|world, event| {
        if let NeighborEvent::Set { new: Neighbor { sw_if, ip: IpAddr::V4(ip), .. }, .. } = *event {
            world.get::<Arp>().inner().resolved.push(Target { sw_if: sw_if.0, ip });
            world.get::<Notes>().wake();
        }
    });
    Notes::start(world);
    world.get::<Interfaces>().subscribe(on_interface);
    Ok(())
}

fn on_interface(world: &World, event: IfEvent) {
    match event {
        IfEvent::Added(sw_if) if is_ethernet(world, sw_if) => {
            let features = [(ArpDisabled::NAME, true), (ArpReply::NAME, false), (ArpProxy::NAME, false)];
            set_features(world, sw_if, &features);
        }
        IfEvent::Ip(sw_if, false, on) if is_ethernet(world, sw_if) => {
            set_features(world, sw_if, &[(ArpDisabled::NAME, !on), (ArpReply::NAME, on)]);
        }
        IfEvent::Deleting(sw_if) => {
            set_features(
                world,
                sw_if,
                &[ArpDisabled::NAME, ArpReply::NAME, ArpProxy::NAME].map(|f| (f, false)),
            );
            world.get::<Arp>().inner().forget(sw_if);
            give_up_on(world, sw_if);
        }
        IfEvent::Admin(sw_if, false) | IfEvent::Link(sw_if, false) => give_up_on(world, sw_if),
        IfEvent::Admin(sw_if, true) | IfEvent::Link(sw_if, true) | IfEvent::Mac(sw_if) => {
            announce(world, sw_if)
        }
        IfEvent::Address(sw_if, false) => on_address(world, sw_if),
        _ => {}
    }
}

fn is_ethernet(world: &World, sw_if: SwIfIndex) -> bool {
    world.get::<Interfaces>().get(sw_if).is_ok_and(|i| i.kind == IfKind::Ethernet)
}

fn set_features(world: &World, sw_if: SwIfIndex, features: &[(&str, bool)]) {
    for (feature, on) in features {
        world.set_feature(ARC, feature, sw_if, on.then_some(0)).expect("this plugin brings arc and features");
    }
}

/// The interface's addresses have changed: new ones are announced, and who is no longer on the link is forgotten.
fn on_address(world: &World, sw_if: SwIfIndex) {
    let own = world.get::<Addresses<Ip4>>().list(sw_if);
    let now: Vec<Ipv4Addr> = own.iter().map(|p| p.addr()).collect();
    let before = world.get::<Arp>().inner().own.insert(sw_if, now.clone()).unwrap_or_default();
    announce_some(world, sw_if, now.into_iter().filter(|ip| !before.contains(ip)).collect());
    world.get::<Neighbors>().remove_if(world, |n| {
        let IpAddr::V4(ip) = n.ip else { return false };
        n.sw_if == sw_if && !n.is_static && !is_on_link(&own, ip)
    });
}

/// What a thread's node of either kind has waiting.
fn resolver<N: Node>(
    rt: &mut Runtime,
    node: NodeIndex,
    of: fn(&mut N) -> &mut Resolver,
) -> Option<&mut Resolver> {
    rt.node_mut::<N>(node).map(of)
}

type OfThread = fn(&mut Runtime, NodeIndex) -> Option<&mut Resolver>;

/// The two nodes where packets wait.
fn resolvers(world: &World) -> [(NodeIndex, OfThread); 2] {
    let node = |name| world.node(name).expect("this plugin brings the node");
    [
        (node(Ip4Arp::NAME), |rt, n| resolver(rt, n, |node: &mut Ip4Arp| &mut node.resolver)),
        (node(Ip4Glean::NAME), |rt, n| resolver(rt, n, |node: &mut Ip4Glean| &mut node.resolver)),
    ]
}

fn give_up_on(world: &World, sw_if: SwIfIndex) {
    let nodes = resolvers(world);
    world.on_threads(move |rt| {
        for (node, of) in nodes {
            if let Some(resolver) = of(rt, node) {
                resolver.give_up_on(sw_if.0);
            }
        }
    });
}

/// Lets go what waits for neighbours that are known now, on every thread.
fn release(world: &World, resolved: Vec<Target>) {
    let (nodes, adjacencies) = (resolvers(world), world.get::<net::Adjacencies>());
    let ready: Vec<_> = resolved
        .into_iter()
        .filter_map(|target| {
            let adj = adjacencies.find_neighbor(SwIfIndex(target.sw_if), target.ip.into())?;
            Some((target, adj, adjacencies.info(adj)?.adj.next))
        })
        .collect();
    if ready.is_empty() {
        return;
    }
    world.on_threads(move |rt| {
        for (node, of) in nodes {
            for &(target, adj, next) in &ready {
                let Some(mut released) = of(rt, node).map(|r| r.release(target)) else { break };
                for mut b in released.drain(..) {
                    // The neighbour's own adjacency: that of the lookup may be gone by now.
                    let fib = b.scratch::<IpMeta>().fib;
                    b.set_scratch(IpMeta::of(adj, fib));
                    rt.inject(next, b);
                }
                if let Some(resolver) = of(rt, node) {
                    resolver.put_back(released);
                }
            }
        }
    });
}

/// Sends requests by an interface, from the main thread.
fn send(world: &World, interface: &Interface, requests: Vec<Request>) {
    let (sw_if, mac, output) = (interface.sw_if.0, interface.mac, interface.output);
    let tx = ArpLanes::tx(world, ThreadIndex(0));
    world.on_thread(ThreadIndex(0), move |rt| {
        for request in requests {
            let Some(mut b) = rt.cache().alloc() else { return };
            if request.write(&mut b, sw_if, mac) {
                tx.add(sw_if, ArpOp::REQUEST, request.sender == request.target);
                rt.inject(output, b);
            }
        }
    });
}

/// Tells everybody where our addresses on an interface are, if it is up.
pub fn announce(world: &World, sw_if: SwIfIndex) {
    let own = world.get::<Addresses<Ip4>>().list(sw_if);
    announce_some(world, sw_if, own.iter().map(|p| p.addr()).collect());
}

fn announce_some(world: &World, sw_if: SwIfIndex, own: Vec<Ipv4Addr>) {
    let Ok(interface) = world.get::<Interfaces>().get(sw_if) else { return };
    if interface.admin_up && interface.link_up && interface.kind == IfKind::Ethernet && !own.is_empty() {
        send(world, &interface, own.into_iter().map(Request::announce).collect());
    }
}

/// Asks neighbours whether they are still there, each at his station.
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

/// Takes the notes of one turn.
pub struct Learner<'w> {
    world: &'w World,
    arp: Arc<Arp>,
    neighbors: Arc<Neighbors>,
}

impl<'w> Learner<'w> {
    pub fn new(world: &'w World) -> Self {
        Self { world, arp: world.get(), neighbors: world.get() }
    }

    pub fn take(&mut self, note: Note) {
        match note {
            Note::Asked { sw_if, ip } => self.neighbors.ask(self.world, SwIfIndex(sw_if), ip.into()),
            Note::Seen { sw_if, ip, mac, evidence } => self.seen(sw_if, ip, mac, evidence),
            Note::Conflict { sw_if, ip, mac } => self.conflict(Conflict { sw_if: SwIfIndex(sw_if), ip, mac }),
        }
    }

    fn seen(&mut self, sw_if: u32, ip: Ipv4Addr, mac: MacAddr, evidence: Evidence) {
        let evidence = match (evidence, self.arp.gratuitous()) {
            (Evidence::Announcement { .. }, Gratuitous::Ignore) => return self.refused(sw_if, "ignored"),
            (Evidence::Announcement { .. }, how) => {
                Evidence::Announcement { create: how == Gratuitous::Learn }
            }
            (evidence, _) => evidence,
        };
        match self.neighbors.learn(self.world, SwIfIndex(sw_if), ip.into(), mac, evidence) {
            // One that is known was asked for all the same: by a route that doesn't see it.
            Learned::Confirmed { asked: true } => self.arp.inner().resolved.push(Target { sw_if, ip }),
            Learned::Refused(why) => self.refused(sw_if, why.name()),
            // The subscriber has heard of it.
            _ => {}
        }
    }

    fn refused(&self, sw_if: u32, why: &str) {
        // Only control counts here, so a lane of its own isn't needed.
        self.world.stats.simple(&format!("/net/arp/refused/{why}")).lane(0).add(sw_if as usize, 1);
    }

    fn conflict(&mut self, conflict: Conflict) {
        let Conflict { sw_if, ip, mac } = conflict;
        let Ok(interface) = self.world.get::<Interfaces>().get(sw_if) else { return };
        let now = self.world.clock.now();
        let subscribers = {
            let mut inner = self.arp.inner();
            let last = inner.defended.get(&(sw_if, ip));
            if last.is_some_and(|last| now < last + DEFEND_INTERVAL) {
                return;
            }
            inner.defended.insert((sw_if, ip), now);
            inner.on_conflict.clone()
        };
        log::warn!("{mac} uses our address {ip} on {}", interface.name);
        send(self.world, &interface, vec![Request::announce(ip)]);
        for f in subscribers {
            f(self.world, conflict);
        }
    }

    /// Lets the workers know.
    pub fn finish(self) {
        let resolved = std::mem::take(&mut self.arp.inner().resolved);
        if !resolved.is_empty() {
            release(self.world, resolved);
        }
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
    world.set_feature(ARC, ArpProxy::NAME, sw_if, on.then_some(0)).map_err(Error::failed)
}

/// The interfaces where others are answered for.
pub fn proxies(world: &World) -> Vec<Interface> {
    let arc = world.arc(ARC).expect("this plugin brings the arc");
    let enabled = |i: &Interface| world.features_of(arc, i.sw_if).iter().any(|(f, _)| *f == ArpProxy::NAME);
    world.get::<Interfaces>().list().into_iter().filter(enabled).collect()
}

/// Answers for the addresses `start ..= end` in the table of this id, or no longer.
///
/// # Errors
/// A table that isn't there (−3); those of [`Ranges::add`] and [`Ranges::remove`].
pub fn set_range(world: &World, table: u32, start: Ipv4Addr, end: Ipv4Addr, on: bool) -> Result<(), Error> {
    let table = world.get::<Fib<Ip4>>().find_table(table)?.0;
    let (ranges, range) = (world.get::<Ranges>(), Range { table, start, end });
    if on { ranges.add(range) } else { ranges.remove(range) }
}

/// The id of a table; its index if it is gone.
pub fn table_id(world: &World, index: u32) -> u32 {
    world.get::<Fib<Ip4>>().table_id(TableIndex(index)).unwrap_or(index)
}
