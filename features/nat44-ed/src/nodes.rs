// SPDX-License-Identifier: Apache-2.0
//! The nodes that translate: `nat44-ed-in2out` and its kind.

use crate::engine::{Engine, Outcome, Place, Reason};
use crate::packet::{Packet, report_time_exceeded};
use crate::trace::NatTrace;
use ::nat::nodes::At;
use buffer::Buffer;
use graph::{Build, Cx, Next, Node, ThreadIndex, World};
use std::marker::PhantomData;

/// The edges of a node for what becomes of packets.
pub trait Edges: Next {
    /// The slow path.
    const SLOW: Self;
    /// The next feature.
    const NEXT: Self;
    /// An error to the sender: the packet's hops are used up.
    const EXPIRED: Self;
    /// Counts sessions that were ended for users with fewer.
    const DISPLACED: Self;
    /// Counts those of them that were ended for their port.
    const TAKEN: Self;
    /// The edge of a drop.
    fn of(reason: Reason) -> Self;
}

macro_rules! edges {
    (
        $(#[$doc:meta])* $name:ident, $slow:tt
        $(, $(#[$own:meta])* $edge:ident)*
    ) => {
        $(#[$doc])*
        #[derive(Next, Clone, Copy, PartialEq, Eq, Debug)]
        pub enum $name {
            #[next_feature]
            Next,
            #[next($slow)]
            Slow,
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
            TooMany,
            /// non-SYN packet try to create session
            #[drop]
            #[counter("non-SYN packet try to create session")]
            NonSyn,
            /// unsupported ICMP type
            #[drop]
            #[counter("unsupported ICMP type")]
            IcmpType,
            /// unsupported protocol
            #[drop]
            #[counter("unsupported protocol")]
            Protocol,
            /// couldn't translate packet
            #[drop]
            #[counter("couldn't translate packet")]
            Untranslatable,
            /// sessions ended for users with fewer
            #[count]
            #[counter("sessions ended for users with fewer")]
            Displaced,
            /// ports taken for users with fewer
            #[count]
            #[counter("ports taken for users with fewer")]
            Taken,
            $($(#[$own])* $edge,)*
        }

        impl Edges for $name {
            const SLOW: Self = Self::Slow;
            const NEXT: Self = Self::Next;
            const EXPIRED: Self = Self::Expired;
            const DISPLACED: Self = Self::Displaced;
            const TAKEN: Self = Self::Taken;

            fn of(reason: Reason) -> Self {
                match reason {
                    Reason::OutOfPorts => Self::OutOfPorts,
                    Reason::TooManySessions => Self::TooMany,
                    Reason::NonSyn => Self::NonSyn,
                    Reason::IcmpType => Self::IcmpType,
                    Reason::Protocol => Self::Protocol,
                    $(Reason::$edge => Self::$edge,)*
                    _ => Self::Untranslatable,
                }
            }
        }
    };
}

edges!(
    /// Edges of the nodes of users' packets.
    ToOutside, "nat44-ed-in2out-slowpath"
);
edges!(
    /// Edges of the nodes of packets that leave.
    ToOutput, "nat44-ed-in2out-output-slowpath"
);

edges!(
    /// Edges of the nodes of the world's packets.
    ToInside, "nat44-ed-out2in-slowpath",
    /// no translation
    #[drop]
    #[counter("no translation")]
    NoTranslation,
    /// drops due to TCP in transitory timeout
    #[drop]
    #[counter("drops due to TCP in transitory timeout")]
    TcpClosed,
    /// hash table add failed
    #[drop]
    #[counter("hash table add failed")]
    KeyTaken
);

::nat::places! {
    /// Packets of users.
    In2Out: ["nat44-ed-in2out", "nat44-ed-in2out-slowpath"] => ToOutside;
    /// Packets of the world.
    Out2In: ["nat44-ed-out2in", "nat44-ed-out2in-slowpath"] => ToInside;
    /// Packets that leave.
    Output: ["nat44-ed-in2out-output", "nat44-ed-in2out-output-slowpath"] => ToOutput;
}

/// A node that translates; with `SLOW`, the one that makes sessions.
pub struct Translate<A, const SLOW: bool> {
    engine: Engine,
    of: PhantomData<fn() -> A>,
}

impl<A: At<To: Edges>, const SLOW: bool> Build for Translate<A, SLOW> {
    fn build(world: &World, thread: ThreadIndex) -> Self {
        Self { engine: Engine::new(world, thread), of: PhantomData }
    }
}

impl<A: At<To: Edges>, const SLOW: bool> Translate<A, SLOW> {
    #[inline(always)]
    fn edge(&self, b: &mut Buffer, done: (Outcome, Option<Packet>)) -> A::To {
        self.engine.count((A::PLACE, SLOW), b, done);
        match done.0 {
            Outcome::Translated(_) | Outcome::Passed => A::To::NEXT,
            Outcome::Slow if SLOW => A::To::of(Reason::Untranslatable),
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
        let done = match SLOW {
            true => self.engine.slow(b, A::PLACE, now),
            false => self.engine.fast(b, A::PLACE, now),
        };
        if TRACED {
            cx.trace(b, NatTrace::new((A::PLACE, SLOW), b.rx_if, done));
        }
        self.edge(b, done)
    }

    fn end<const TRACED: bool>(&mut self, cx: &mut Cx<'_, TRACED>) {
        if SLOW {
            let displaced = self.engine.displaced(cx.turn);
            cx.count(A::To::DISPLACED, displaced.sessions.into());
            cx.count(A::To::TAKEN, displaced.ports.into());
        }
    }

    fn tick(&mut self, cx: &mut Cx<'_, false>) {
        // One node of a thread does it for all.
        if A::PLACE == Place::In2Out && !SLOW && self.engine.tick((cx.now(), cx.turn)) {
            cx.again();
        }
    }
}
