// SPDX-License-Identifier: Apache-2.0
//! Main-thread side of neighbour resolution: handles the notes that workers post.

use super::full_table::FullTableLog;
use super::rate_limit::RateLimits;
use super::resolver::{Resolver, is_ip4};
use super::waiting::ItemReservation;
use super::{DetectedNeighbor, Glean, Protocol, Report, Reports, Target, Unresolved};
use graph::{Deleted, FieldDef, NodeIndex, Runtime, Shared, StateDef, SwIfIndex, World, name_of};
use net::{
    Adjacencies, IfEvent, Interface, Interfaces, IpMeta, LearnResult, Link, NeighborEvent,
    Neighbors, Net, Refusal, RemovalReason,
};
use std::sync::{Arc, Mutex};
use wire::Family;

type AddrOf<P> = <<P as Protocol>::Net as Family>::Addr;
type TargetOf<P> = Target<AddrOf<P>>;

/// Neighbours resolved by now: the packets that wait for them may be released.
struct Resolved<P: Protocol>(Mutex<Vec<TargetOf<P>>>);

impl<P: Protocol> Shared for Resolved<P> {
    fn make(_: &World) -> Self {
        Self(Mutex::default())
    }

    /// Drops packets that wait for neighbours on a deleted interface.
    fn forget(&self, world: &World, deleted: &Deleted<'_>) {
        if let Some(&sw_if) = deleted.of::<SwIfIndex>() {
            on_resolvers::<P>(world, move |resolver| resolver.give_up_on(sw_if.0));
        }
    }
}

impl<P: Protocol> Resolved<P> {
    fn push(&self, target: TargetOf<P>) {
        self.0.lock().expect("no panic inside").push(target);
    }
}

/// The state of a protocol, for its plugin.
pub const fn state<P: Protocol>() -> StateDef {
    StateDef::group(
        const {
            &[
                StateDef::of::<Reports<P>>(),
                StateDef::of::<RateLimits<P>>(),
                StateDef::of::<FullTableLog<P>>(),
                StateDef::of::<Resolved<P>>(),
            ]
        },
    )
}

/// Buffer field of packets that wait for a neighbour, for the protocol's plugin.
pub const FIELD: FieldDef = FieldDef::of::<ItemReservation>();

/// Called once by a protocol's plugin, when all nodes are there.
pub fn start<P: Protocol>(world: &World) {
    let neighbors = world.get::<Neighbors>();
    neighbors.start(world, P::Net::IS_V6, P::PROBE);
    neighbors.subscribe(|world, event| match event {
        NeighborEvent::Set { new, .. } => {
            if let Some(ip) = P::Net::of_ip(new.ip) {
                world.get::<Resolved<P>>().push(Target { sw_if: new.sw_if.0, ip });
                world.get::<Reports<P>>().wake();
            }
        }
        NeighborEvent::Gone { gone, why: RemovalReason::Recycled }
            if gone.ip.is_ipv6() == P::Net::IS_V6 =>
        {
            world.get::<FullTableLog<P>>().displaced(world, gone.sw_if);
        }
        NeighborEvent::Gone { gone, why: RemovalReason::Removed }
            if gone.ip.is_ipv6() == P::Net::IS_V6 =>
        {
            world.get::<Reports<P>>().forgotten(gone.sw_if);
        }
        NeighborEvent::Gone { .. } => {}
    });
    Reports::<P>::start(world);
    world.get::<Interfaces>().subscribe(|world, event| match event {
        IfEvent::Admin(sw_if, false) | IfEvent::Link(sw_if, false) => {
            on_resolvers::<P>(world, move |resolver| resolver.give_up_on(sw_if.0));
        }
        IfEvent::Mac(sw_if) => on_resolvers::<P>(world, move |resolver| resolver.renew(sw_if.0)),
        IfEvent::Address(sw_if, ip6) if ip6 == P::Net::IS_V6 => {
            on_resolvers::<P>(world, move |resolver| resolver.renew(sw_if.0));
        }
        _ => {}
    });
}

type OfThread<P> = fn(&mut Runtime, NodeIndex) -> Option<&mut Resolver<P>>;

/// The two nodes where packets wait.
fn resolvers<P: Protocol>(world: &World) -> [(NodeIndex, OfThread<P>); 2] {
    let node = |name| world.node(name).expect("the protocol's plugin brings the node");
    [
        (node(name_of::<Unresolved<P>>()), |rt, n| {
            Some(&mut rt.node_mut::<Unresolved<P>>(n)?.resolver)
        }),
        (node(name_of::<Glean<P>>()), |rt, n| Some(&mut rt.node_mut::<Glean<P>>(n)?.resolver)),
    ]
}

/// Runs `f` on the resolver of both nodes, on every thread.
fn on_resolvers<P: Protocol>(
    world: &World,
    f: impl Fn(&mut Resolver<P>) + Send + Sync + Clone + 'static,
) {
    let nodes = resolvers::<P>(world);
    world.on_threads(move |rt| {
        for (node, of) in nodes {
            if let Some(resolver) = of(rt, node) {
                f(resolver);
            }
        }
    });
}

/// Releases the packets that wait for resolved neighbours, on every thread.
fn release<P: Protocol>(world: &World, resolved: Vec<TargetOf<P>>) {
    let (nodes, adjacencies) = (resolvers::<P>(world), world.get::<Adjacencies>());
    // For packets of IPv4 and of IPv6: a next hop of IPv6 may take both.
    let way = |link, target: TargetOf<P>| {
        let adj = adjacencies.find_neighbor_for(link, SwIfIndex(target.sw_if), target.ip.into())?;
        Some((adj, adjacencies.info(adj)?.adj.next))
    };
    let ready: Vec<_> = resolved
        .into_iter()
        .map(|target| (target, [Link::IP4, Link::IP6].map(|link| way(link, target))))
        .filter(|(_, ways)| ways.iter().any(Option::is_some))
        .collect();
    if ready.is_empty() {
        return;
    }
    world.on_threads(move |rt| {
        for (node, of) in nodes {
            for &(target, ways) in &ready {
                let Some(mut released) = of(rt, node).map(|r| r.release(target)) else { break };
                for mut b in released.drain(..) {
                    let Some((adj, next)) = ways[usize::from(!is_ip4(&b))] else { continue };
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

/// Sends frames of control's own by an interface, from the main thread. A frame that finds no
/// buffers is counted for the interface as `COUNTERS/tx/no-buffers`.
pub fn transmit<P: Protocol>(world: &World, interface: &Interface, frames: Vec<Vec<u8>>) {
    let unsent = world.stats.simple(&format!("{}/tx/no-buffers", P::COUNTERS));
    net::transmit(world, interface, frames, &unsent);
}

/// Handles the notes of one run of the process.
pub(super) struct Learner<'w, P: Protocol> {
    world: &'w World,
    resolved: Arc<Resolved<P>>,
    neighbors: Arc<Neighbors>,
}

impl<'w, P: Protocol> Learner<'w, P> {
    pub fn new(world: &'w World) -> Self {
        Self { world, resolved: world.get(), neighbors: world.get() }
    }

    pub fn take(&mut self, note: Report<AddrOf<P>>) {
        match note {
            Report::Asked(Target { sw_if, ip }) => {
                self.neighbors.note_solicitation(self.world, SwIfIndex(sw_if), ip.into())
            }
            Report::Unanswered(Target { sw_if, ip }) => {
                self.neighbors.unanswered(self.world, SwIfIndex(sw_if), ip.into());
            }
            Report::Detected(seen) => self.seen(seen),
            Report::Conflict(who, mac) => P::conflict(self.world, who, mac),
        }
    }

    fn seen(&mut self, seen: DetectedNeighbor<AddrOf<P>>) {
        let Target { sw_if, ip } = seen.who;
        let Some(evidence) = P::weigh(self.world, &seen) else {
            return self.refused(sw_if, "ignored");
        };
        let known = || self.neighbors.get(SwIfIndex(sw_if), ip.into()).map(|n| n.mac);
        let Some(mac) = seen.mac.or_else(known) else { return self.refused(sw_if, "unknown") };
        match self.neighbors.learn(self.world, SwIfIndex(sw_if), ip.into(), mac, evidence) {
            // A known neighbour was asked for nevertheless: by a route that doesn't see its entry.
            LearnResult::Confirmed { asked: true } => self.resolved.push(seen.who),
            LearnResult::Refused(why) => {
                self.refused(sw_if, why.name());
                if why == Refusal::Full {
                    self.world.get::<FullTableLog<P>>().refused(self.world);
                }
            }
            // The subscriber of neighbour events has been notified.
            _ => {}
        }
    }

    fn refused(&self, sw_if: u32, why: &str) {
        let counter = self.world.stats.simple(&format!("{}/refused/{why}", P::COUNTERS));
        counter.control().add(sw_if as usize, 1);
    }

    /// Releases the waiting packets of resolved neighbours on the workers.
    pub fn finish(self) {
        let resolved = std::mem::take(&mut *self.resolved.0.lock().expect("no panic inside"));
        if !resolved.is_empty() {
            release::<P>(self.world, resolved);
        }
    }
}
