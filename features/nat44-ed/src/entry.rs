// SPDX-License-Identifier: Apache-2.0
//! The nodes on the arcs: `nat-pre-in2out` and its kind. They lead packets to the node that
//! translates them, on the thread that has their sessions.

use crate::engine::{Engine, Place};
use crate::key::{End, has_ports, spread_of};
use crate::packet::Packet;
use crate::session::INWARD;
use crate::settings::Settings;
use ::nat::quoted::Quoted;
use buffer::{Buffer, Owned};
use graph::{Build, Cx, Node, NodeIndex, ThreadIndex, World};
use std::marker::PhantomData;
use sync::Turn;

/// The direction in which packets of an interface are translated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Way {
    /// The one of this place.
    Of(Place),
    /// That of their session, or else of their destination.
    ByPacket,
}

/// A node that leads to the ones that translate, as a type.
pub trait Door: Send + 'static {
    /// The node's name.
    const NAME: &'static str;
    /// The direction.
    const WAY: Way;
    /// True for the one that counts handoffs.
    const HANDS_OFF: bool;
}

macro_rules! doors {
    ($($(#[$doc:meta])* $name:ident = $node:literal, $way:expr, $hands_off:literal;)*) => {
        $(
            $(#[$doc])*
            pub struct $name;
            impl Door for $name {
                const NAME: &'static str = $node;
                const WAY: Way = $way;
                const HANDS_OFF: bool = $hands_off;
            }
        )*
    };
}

doors! {
    /// Of an interface to users.
    PreIn = "nat-pre-in2out", Way::Of(Place::In2Out), false;
    /// Of an interface to the world.
    PreOut = "nat-pre-out2in", Way::Of(Place::Out2In), false;
    /// Of an interface that packets leave by.
    PreOutput = "nat-pre-in2out-output", Way::Of(Place::Output), false;
    /// Of an interface to both.
    Classify = "nat44-ed-classify", Way::ByPacket, false;
    /// As [`PreIn`], with several workers.
    HandoffIn = "nat44-in2out-worker-handoff", Way::Of(Place::In2Out), true;
    /// As [`PreOut`], with several workers.
    HandoffOut = "nat44-out2in-worker-handoff", Way::Of(Place::Out2In), true;
    /// As [`PreOutput`], with several workers.
    HandoffOutput = "nat44-in2out-output-worker-handoff", Way::Of(Place::Output), true;
    /// As [`Classify`], with several workers.
    HandoffClassify = "nat44-handoff-classify", Way::ByPacket, true;
}

::nat::entry_edges!("nat44-ed-in2out", "nat44-ed-out2in", "nat44-ed-in2out-output");

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

/// The place of a node's packets before anything is known of them.
const fn at<D: Door>() -> Place {
    match D::WAY {
        Way::Of(place) => place,
        Way::ByPacket => Place::In2Out,
    }
}

impl Engine {
    /// The direction of a packet between interfaces that have both roles.
    fn direction(&self, p: &Packet, b: &Buffer, fib: u32, (now, turn): (u64, &Turn<'_>)) -> Place {
        let quoted = if p.is_error() { Quoted::read(b, p.upper) } else { None };
        let key = quoted.map_or(p.key(fib), |quoted| quoted.reversed(fib));
        let flows = self.flows.of(self.thread, turn);
        match flows.and_then(|flows| flows.live(&key, now)) {
            Some((_, INWARD)) => Place::Out2In,
            Some(_) => Place::In2Out,
            None => self.direction_of_new(p, self.nat.settings(turn), turn),
        }
    }

    /// Packets to an address that the world knows are the world's.
    fn direction_of_new(&self, p: &Packet, settings: &Settings, turn: &Turn<'_>) -> Place {
        let mapping = self.nat.mappings.by_external(p.to, p.protocol, turn);
        let is_external = mapping.is_some_and(|(_, mapping)| !mapping.identity);
        if is_external || settings.is_pool(p.to.addr) { Place::Out2In } else { Place::In2Out }
    }

    /// The thread that has the sessions of a packet; `None` if any thread may take it.
    fn owner(
        &self,
        (p, b): (&Packet, &Buffer),
        place: Place,
        fib: u32,
        turn: &Turn<'_>,
    ) -> Option<u16> {
        let settings = self.nat.settings(turn);
        let mut p = *p;
        if p.is_error()
            && let Some(quoted) = Quoted::read(b, p.upper)
        {
            (p.from, p.to, p.protocol) = (quoted.to, quoted.from, quoted.protocol);
        }
        match place {
            Place::Out2In => self.owner_of_inward(&p, fib, settings, turn),
            Place::In2Out | Place::Output => {
                Some(self.owner_of_outward(&p, place, fib, settings, turn))
            }
        }
    }

    /// The worker of a mapping, or of a port of the pool. What passes as it is has the worker of
    /// the user that it goes to, so that answers find its session.
    fn owner_of_inward(
        &self,
        p: &Packet,
        fib: u32,
        settings: &Settings,
        turn: &Turn<'_>,
    ) -> Option<u16> {
        if let Some((_, mapping)) = self.nat.mappings.by_external(p.to, p.protocol, turn) {
            return mapping.thread_of(spread_of(p.from.addr));
        }
        let is_pool = settings.is_pool(p.to.addr) || is_twice(settings, p.to);
        if is_pool {
            return has_ports(p.protocol).then(|| settings.thread_of_port(p.to.port));
        }
        Some(settings.thread_of_user(p.to.addr, fib))
    }

    /// The worker of a user. Between two users it is one that both directions agree upon: that of
    /// the port that one of them has got, or the lower one of two with mappings.
    fn owner_of_outward(
        &self,
        p: &Packet,
        place: Place,
        fib: u32,
        settings: &Settings,
        turn: &Turn<'_>,
    ) -> u16 {
        let own = settings.thread_of_user(p.from.addr, fib);
        if place == Place::Output {
            return own;
        }
        let mappings = &self.nat.mappings;
        if let Some((_, mapping)) = mappings.by_external(p.to, p.protocol, turn) {
            let fibs = [fib, settings.inside, settings.outside];
            if mapping.is_balanced() || mappings.by_local(p.from, p.protocol, fibs, turn).is_none()
            {
                return own;
            }
            return mapping.thread_of(0).map_or(own, |other| own.min(other));
        }
        let is_pool = settings.is_pool(p.to.addr) || is_twice(settings, p.to);
        if is_pool && has_ports(p.protocol) { settings.thread_of_port(p.to.port) } else { own }
    }
}

fn is_twice(settings: &Settings, end: End) -> bool {
    settings.twice.iter().any(|address| address.addr == end.addr)
}

impl<D: Door> Enter<D> {
    /// The thread of a packet, if it is another one.
    fn elsewhere(&self, b: &Buffer, turn: &Turn<'_>) -> Option<ThreadIndex> {
        if self.threads == 1 {
            return None;
        }
        let place = at::<D>();
        let p = self.engine.around.read(b, place)?;
        let fib = self.engine.around.table(b, place, turn);
        let settings = self.engine.nat.settings(turn);
        let place = match D::WAY {
            Way::Of(place) => place,
            Way::ByPacket => self.engine.direction_of_new(&p, settings, turn),
        };
        let thread = self.engine.owner((&p, b), place, fib, turn)?;
        (thread != self.engine.thread.0).then_some(ThreadIndex(thread))
    }
}

impl<D: Door> Node for Enter<D> {
    const NAME: &'static str = D::NAME;
    type Next = To;
    type Trace = ();

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        if self.elsewhere(b, cx.turn).is_some() {
            cx.count(To::Handoff, D::HANDS_OFF.into());
            return To::Elsewhere;
        }
        cx.count(To::Same, D::HANDS_OFF.into());
        let place = match D::WAY {
            Way::Of(place) => place,
            Way::ByPacket => {
                let p = self.engine.around.read(b, Place::In2Out);
                let fib = self.engine.around.table(b, Place::In2Out, cx.turn);
                let now = (cx.now(), cx.turn);
                let place = p.map_or(Place::In2Out, |p| self.engine.direction(&p, b, fib, now));
                let inward = place == Place::Out2In;
                cx.count(if inward { To::NextOut2In } else { To::NextIn2Out }, 1);
                place
            }
        };
        To::of(place)
    }

    fn keep(&mut self, b: Owned, cx: &mut Cx<'_, false>) {
        // A packet whose direction its session tells comes to this node again, there.
        let node = match D::WAY {
            Way::Of(place) => self.nodes[place as usize],
            Way::ByPacket => Some(cx.node()),
        };
        match (self.elsewhere(&b, cx.turn), node) {
            (Some(thread), Some(node)) => cx.handoff(thread, node, b),
            // The settings have changed in between.
            _ => cx.emit(To::of(at::<D>()), b),
        }
    }
}
