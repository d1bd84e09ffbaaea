// SPDX-License-Identifier: Apache-2.0
//! The nodes on the arcs that choose the direction or the thread: `nat44-ei-classify` and its kind.
//! They lead packets to the node that translates them, on the thread that has their sessions.

use crate::engine::{Engine, Place};
use crate::settings::{OUTPUT_INSIDE, Settings, role};
use ::nat::key::has_ports;
use ::nat::packet::Packet;
use ::nat::quoted::Quoted;
use buffer::{Buffer, Owned};
use graph::{Build, Cx, Node, NodeIndex, ThreadIndex, World};
use std::marker::PhantomData;
use sync::Turn;

/// A node that leads to the ones that translate, as a type.
pub trait Door: Send + 'static {
    /// The node's name.
    const NAME: &'static str;
    /// The place of its packets; `None` if their destination tells it.
    const PLACE: Option<Place>;
    /// True for the one that counts handoffs.
    const HANDS_OFF: bool;
}

macro_rules! doors {
    ($($(#[$doc:meta])* $name:ident = $node:literal, $place:expr, $hands_off:literal;)*) => {
        $(
            $(#[$doc])*
            pub struct $name;
            impl Door for $name {
                const NAME: &'static str = $node;
                const PLACE: Option<Place> = $place;
                const HANDS_OFF: bool = $hands_off;
            }
        )*
    };
}

doors! {
    /// Of an interface to users and to the world.
    Classify = "nat44-ei-classify", None, false;
    /// As [`Classify`], with several workers.
    HandoffClassify = "nat44-ei-handoff-classify", None, true;
    /// Of an interface to users, with several workers.
    HandoffIn = "nat44-ei-in2out-worker-handoff", Some(Place::In2Out), true;
    /// Of an interface to the world, with several workers.
    HandoffOut = "nat44-ei-out2in-worker-handoff", Some(Place::Out2In), true;
    /// Of an interface that packets leave by, with several workers.
    HandoffOutput = "nat44-ei-in2out-output-worker-handoff", Some(Place::Output), true;
}

::nat::entry_edges!("nat44-ei-in2out", "nat44-ei-out2in", "nat44-ei-in2out-output");

impl Engine {
    /// The direction of a packet between interfaces that have both roles: to an address that the
    /// world knows it is the world's.
    fn direction(&self, p: &Packet, settings: &Settings, turn: &Turn<'_>) -> Place {
        let mapping = self.nat.mappings.by_external(p.to, p.protocol, turn);
        let is_external = mapping.is_some_and(|(_, mapping)| !mapping.identity);
        if is_external || settings.is_pool(p.to.addr) { Place::Out2In } else { Place::In2Out }
    }

    /// The thread that has the session of a packet; `None` if any thread may take it.
    fn owner(
        &self,
        (p, b): (&Packet, &Buffer),
        (place, fib): (Place, u32),
        turn: &Turn<'_>,
    ) -> Option<u16> {
        let settings = self.nat.settings(turn);
        let mut p = *p;
        if p.is_error()
            && let Some(quoted) = Quoted::read(b, p.upper)
        {
            (p.from, p.to, p.protocol) = (quoted.to, quoted.from, quoted.protocol);
        }
        if place == Place::Out2In {
            if let Some((_, mapping)) = self.nat.mappings.by_external(p.to, p.protocol, turn) {
                return mapping.thread_of(0);
            }
            let is_user = settings.is_pool(p.to.addr) && has_ports(p.protocol);
            return is_user.then(|| settings.workers.of_port(p.to.port));
        }
        if place == Place::Output && b.rx_if != b.tx_if {
            // From one such interface to another it is a packet of the world, which the session of
            // its destination lets pass.
            let roles = settings.role(b.rx_if);
            if roles & role::OUTPUT != 0 && roles & OUTPUT_INSIDE == 0 {
                let fib = self.around.table_of_interface(b.tx_if, turn);
                return Some(settings.thread_of_user(p.to.addr, fib));
            }
        }
        Some(settings.thread_of_user(p.from.addr, fib))
    }
}

/// A node that leads to the ones that translate.
pub struct Enter<D> {
    engine: Engine,
    /// Number of the instance's threads.
    threads: usize,
    /// The nodes that translate, by [`Place`].
    nodes: [Option<NodeIndex>; 3],
    of: PhantomData<fn() -> D>,
}

impl<D: Door> Build for Enter<D> {
    fn build(world: &World, thread: ThreadIndex) -> Self {
        Self {
            engine: Engine::new(world, thread),
            threads: world.threads(),
            nodes: To::NODES.map(|name| world.node(name)),
            of: PhantomData,
        }
    }
}

impl<D: Door> Enter<D> {
    /// The place of a packet, and its thread, if it is another one.
    fn find(&self, b: &Buffer, turn: &Turn<'_>) -> (Place, Option<ThreadIndex>) {
        let at = D::PLACE.unwrap_or(Place::In2Out);
        let Some(p) = self.engine.around.read(b, at) else { return (at, None) };
        let settings = self.engine.nat.settings(turn);
        let place = D::PLACE.unwrap_or_else(|| self.engine.direction(&p, settings, turn));
        if self.threads == 1 {
            return (place, None);
        }
        let fib = self.engine.table(b, place, turn);
        let thread = self.engine.owner((&p, b), (place, fib), turn);
        let thread = thread.map(ThreadIndex).filter(|thread| *thread != self.engine.thread);
        (place, thread)
    }
}

impl<D: Door> Node for Enter<D> {
    const NAME: &'static str = D::NAME;
    type Next = To;
    type Trace = ();

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        let (place, thread) = self.find(b, cx.turn);
        if D::PLACE.is_none() {
            let inward = place == Place::Out2In;
            cx.count(if inward { To::NextOut2In } else { To::NextIn2Out }, 1);
        }
        if thread.is_some() {
            cx.count(To::Handoff, D::HANDS_OFF.into());
            return To::Elsewhere;
        }
        cx.count(To::Same, D::HANDS_OFF.into());
        To::of(place)
    }

    fn keep(&mut self, b: Owned, cx: &mut Cx<'_, false>) {
        let (place, thread) = self.find(&b, cx.turn);
        match (thread, self.nodes[place as usize]) {
            (Some(thread), Some(node)) => cx.handoff(thread, node, b),
            // The settings have changed in between.
            _ => cx.emit(To::of(place), b),
        }
    }
}
