// SPDX-License-Identifier: Apache-2.0
//! The nodes that translate: `nat44-ei-in2out` and its kind, and those of packets between users.

use crate::engine::{Engine, Outcome, Place, Reason};
use crate::trace::NatTrace;
use ::nat::nodes::At;
use ::nat::packet::{Packet, report_time_exceeded};
use buffer::{Buffer, Owned};
use graph::{Build, Cx, Next, Node, NodeIndex, ThreadIndex, World};
use std::marker::PhantomData;

/// The node that goes on with packets between users of two threads.
pub const FINISH: &str = "nat44-ei-in2out-hairpinning-finish-ip4-lookup";

/// The edges of a node for what becomes of packets.
pub trait Edges: Next {
    /// The slow path.
    const SLOW: Self;
    /// The next feature.
    const NEXT: Self;
    /// The routes, without the rest of the features.
    const LOOKUP: Self;
    /// Another thread.
    const ELSEWHERE: Self;
    /// An error to the sender: the packet's hops are used up.
    const EXPIRED: Self;
    /// Counts sessions that were ended for users with fewer.
    const DISPLACED: Self;
    /// The edge of a drop.
    fn of(reason: Reason) -> Self;
}

macro_rules! edges {
    (
        $(#[$doc:meta])* $name:ident, slow = $slow:ident
        { $($(#[$own:meta])* $edge:ident $(= $reason:ident)?,)* }
    ) => {
        $(#[$doc])*
        #[derive(Next, Clone, Copy, PartialEq, Eq, Debug)]
        pub enum $name {
            #[next_feature]
            Next,
            #[next("ip4-lookup")]
            Lookup,
            /// To the thread that has the session of the packet's destination.
            #[keep]
            Elsewhere,
            #[next("ip4-icmp-error", reason)]
            #[counter("time_exceeded")]
            /// time to live expired in front of the translation
            Expired,
            /// out of ports
            #[drop]
            #[counter("out of ports")]
            OutOfPorts,
            /// maximum sessions exceeded
            #[drop]
            #[counter("maximum sessions exceeded")]
            TooManySessions,
            /// cannot create NAT user
            #[drop]
            #[counter("cannot create NAT user")]
            TooManyUsers,
            /// unsupported ICMP type
            #[drop]
            #[counter("unsupported ICMP type")]
            IcmpType,
            /// unsupported protocol
            #[drop]
            #[counter("unsupported protocol")]
            Protocol,
            /// no translation
            #[drop]
            #[counter("no translation")]
            NoTranslation,
            /// sessions ended for users with fewer
            #[count]
            #[counter("sessions ended for users with fewer")]
            Displaced,
            $($(#[$own])* $edge,)*
        }

        impl Edges for $name {
            const SLOW: Self = Self::$slow;
            const NEXT: Self = Self::Next;
            const LOOKUP: Self = Self::Lookup;
            const ELSEWHERE: Self = Self::Elsewhere;
            const EXPIRED: Self = Self::Expired;
            const DISPLACED: Self = Self::Displaced;

            fn of(reason: Reason) -> Self {
                match reason {
                    Reason::OutOfPorts => Self::OutOfPorts,
                    Reason::TooManySessions => Self::TooManySessions,
                    Reason::TooManyUsers => Self::TooManyUsers,
                    Reason::IcmpType => Self::IcmpType,
                    Reason::Protocol => Self::Protocol,
                    $($(Reason::$reason => Self::$edge,)?)*
                    _ => Self::NoTranslation,
                }
            }
        }
    };
}

edges!(
    /// Edges of the nodes of users' packets.
    ToOutside, slow = Slow {
        #[next("nat44-ei-in2out-slowpath")]
        Slow,
        /// outside VRF ID not found
        #[drop]
        #[counter("outside VRF ID not found")]
        NoTable = NoOutsideTable,
    }
);
edges!(
    /// Edges of the nodes of packets that leave.
    ToOutput, slow = Slow {
        #[next("nat44-ei-in2out-output-slowpath")]
        Slow,
        /// outside VRF ID not found
        #[drop]
        #[counter("outside VRF ID not found")]
        NoTable = NoOutsideTable,
    }
);
edges!(
    /// Edges of the node of the world's packets.
    ToInside, slow = NoTranslation {}
);

::nat::places! {
    /// Packets of users.
    In2Out: ["nat44-ei-in2out", "nat44-ei-in2out-slowpath"] => ToOutside;
    /// Packets of the world.
    Out2In: ["nat44-ei-out2in", "nat44-ei-out2in"] => ToInside;
    /// Packets that leave.
    Output: ["nat44-ei-in2out-output", "nat44-ei-in2out-output-slowpath"] => ToOutput;
}

/// A node that translates; with `SLOW`, the one that makes sessions.
pub struct Translate<A, const SLOW: bool> {
    engine: Engine,
    finish: Option<NodeIndex>,
    of: PhantomData<fn() -> A>,
}

impl<A: At<To: Edges>, const SLOW: bool> Build for Translate<A, SLOW> {
    fn build(world: &World, thread: ThreadIndex) -> Self {
        let engine = Engine::new(world, thread);
        Self { engine, finish: world.node(FINISH), of: PhantomData }
    }
}

impl<A: At<To: Edges>, const SLOW: bool> Translate<A, SLOW> {
    #[inline(always)]
    fn edge(&self, b: &mut Buffer, done: (Outcome, Option<Packet>), dpo: bool) -> A::To {
        self.engine.count((A::PLACE, SLOW), b, done);
        match done.0 {
            Outcome::Translated(_) | Outcome::Mapped | Outcome::Passed if dpo => A::To::LOOKUP,
            Outcome::Translated(_) | Outcome::Mapped | Outcome::Passed => A::To::NEXT,
            Outcome::Elsewhere(_) => A::To::ELSEWHERE,
            Outcome::Slow if SLOW => A::To::of(Reason::NoTranslation),
            Outcome::Slow => A::To::SLOW,
            Outcome::TimeExpired => {
                report_time_exceeded(b);
                A::To::EXPIRED
            }
            Outcome::Drop(reason) => A::To::of(reason),
        }
    }
}

impl<A: At<To: Edges>, const SLOW: bool> Node for Translate<A, SLOW> {
    const NAME: &'static str = A::NAMES[SLOW as usize];
    type Next = A::To;
    type Trace = NatTrace;

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> A::To {
        let now = (cx.now(), cx.turn);
        let done = self.engine.work(b, A::PLACE, now, |work, b| match A::PLACE {
            Place::Out2In => work.inward(b),
            _ if SLOW => work.outward(b),
            _ => work.fast(b),
        });
        if TRACED {
            cx.trace(b, NatTrace::new((A::PLACE, SLOW), b.rx_if, done));
        }
        // A route to the pool has led here: there are no features to go on with.
        let dpo = A::PLACE == Place::Out2In && self.engine.nat.settings(cx.turn).dpo;
        self.edge(b, done, dpo)
    }

    fn keep(&mut self, b: Owned, cx: &mut Cx<'_, false>) {
        let thread = owner_of_destination(&self.engine, &b, cx);
        match (thread, self.finish) {
            (Some(thread), Some(node)) => cx.handoff(thread, node, b),
            // The settings have changed in between.
            _ => cx.emit(A::To::LOOKUP, b),
        }
    }

    fn end<const TRACED: bool>(&mut self, cx: &mut Cx<'_, TRACED>) {
        if SLOW || A::PLACE == Place::Out2In {
            cx.count(A::To::DISPLACED, self.engine.displaced(cx.turn).into());
        }
        self.engine.send_events(A::To::LOOKUP, cx);
    }

    fn tick(&mut self, cx: &mut Cx<'_, false>) {
        // One node of a thread does it for all.
        if A::PLACE != Place::In2Out || SLOW {
            return;
        }
        if self.engine.tick((cx.now(), cx.turn)) {
            cx.again();
        }
        self.engine.send_events(A::To::LOOKUP, cx);
    }
}

/// The thread that has the session of a packet's destination, if it is another one.
fn owner_of_destination(engine: &Engine, b: &Buffer, cx: &Cx<'_, false>) -> Option<ThreadIndex> {
    let p = engine.around.read(b, Place::In2Out)?;
    let thread = engine.nat.settings(cx.turn).workers.of_port(p.to.port);
    Some(ThreadIndex(thread)).filter(|thread| *thread != engine.thread)
}

/// Edges of the nodes of packets between users.
#[derive(Next, Clone, Copy, PartialEq, Eq, Debug)]
pub enum ToUser {
    #[next_feature]
    Next,
    #[next("ip4-lookup")]
    Lookup,
    /// To the thread that has the session of the packet's destination.
    #[keep]
    Elsewhere,
    /// no translation
    #[drop]
    #[counter("no translation")]
    NoTranslation,
}

/// `nat44-ei-hairpinning`: a packet to this router's addresses may be one to a user behind them.
/// With `FINISH`, the node of packets whose source was translated on another thread.
pub struct Hairpin<const FINISH: bool> {
    engine: Engine,
    own: Option<NodeIndex>,
}

impl<const F: bool> Build for Hairpin<F> {
    fn build(world: &World, thread: ThreadIndex) -> Self {
        Self { engine: Engine::new(world, thread), own: world.node(FINISH) }
    }
}

impl<const F: bool> Node for Hairpin<F> {
    const NAME: &'static str = if F { FINISH } else { "nat44-ei-hairpinning" };
    type Next = ToUser;
    type Trace = NatTrace;

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> ToUser {
        let now = (cx.now(), cx.turn);
        let place = Place::In2Out;
        let done = self.engine.work(b, place, now, |work, b| work.finish_hairpin(b));
        if TRACED {
            cx.trace(b, NatTrace::new((place, F), b.rx_if, done));
        }
        match done.0 {
            Outcome::Mapped => ToUser::Lookup,
            Outcome::Elsewhere(_) => ToUser::Elsewhere,
            Outcome::Drop(_) => ToUser::NoTranslation,
            _ if F => ToUser::Lookup,
            _ => ToUser::Next,
        }
    }

    fn keep(&mut self, b: Owned, cx: &mut Cx<'_, false>) {
        match (owner_of_destination(&self.engine, &b, cx), self.own) {
            (Some(thread), Some(node)) => cx.handoff(thread, node, b),
            // The settings have changed in between.
            _ => cx.emit(ToUser::NoTranslation, b),
        }
    }
}
