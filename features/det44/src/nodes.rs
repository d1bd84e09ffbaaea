// SPDX-License-Identifier: Apache-2.0
//! `det44-in2out` and `det44-out2in`.

use crate::engine::{Engine, Outcome, Reason, Side};
use crate::settings::{IN2OUT, OUT2IN};
use buffer::{Buffer, Owned};
use graph::{Build, Cx, Next, Node, ThreadIndex, Trace, World};
use nat::packet::Packet;
use net::IpMeta;
use std::fmt;
use std::marker::PhantomData;
use wire::Icmp4Type;
use wire::icmp::code4;

/// The direction of a node, as a type.
pub trait Way: Send + 'static {
    /// See [`Side`].
    const SIDE: Side;
    /// The node's name.
    const NAME: &'static str;
    /// The edges.
    type To: Edges;
}

/// The edges of a node for what becomes of packets.
pub trait Edges: Next {
    /// The next feature.
    const NEXT: Self;
    /// To the thread that has the user's sessions.
    const ELSEWHERE: Self;
    /// The counter of translated packets.
    const GOOD: Self;
    /// The edge of a reason.
    fn of(reason: Reason) -> Self;
}

macro_rules! edges {
    (
        $(#[$doc:meta])* $name:ident, $good:literal
        $(, $(#[$own:meta])* $edge:ident)*
    ) => {
        $(#[$doc])*
        #[derive(Next, Clone, Copy, PartialEq, Eq, Debug)]
        pub enum $name {
            #[next_feature]
            Next,
            /// To the thread that has the user's sessions.
            #[keep]
            Elsewhere,
            /// packets translated
            #[count]
            #[counter($good)]
            Good,
            #[next("ip4-icmp-error", reason)]
            #[counter("time_exceeded")]
            /// time to live expired in front of the translation
            Expired,
            /// no map has the address, or no session the packet
            #[drop]
            #[counter("No translation")]
            NoTranslation,
            /// neither TCP nor UDP nor ICMP, or without their headers
            #[drop]
            #[counter("Unsupported protocol")]
            Protocol,
            /// ICMP that is neither an echo message nor an error
            #[drop]
            #[counter("unsupported ICMP type")]
            IcmpType,
            /// an ICMP error with a wrong checksum
            #[drop]
            #[counter("damaged ICMP error")]
            Damaged,
            $($(#[$own])* $edge,)*
        }

        impl Edges for $name {
            const NEXT: Self = Self::Next;
            const ELSEWHERE: Self = Self::Elsewhere;
            const GOOD: Self = Self::Good;

            fn of(reason: Reason) -> Self {
                match reason {
                    Reason::TimeExpired => Self::Expired,
                    Reason::Protocol => Self::Protocol,
                    Reason::IcmpType => Self::IcmpType,
                    Reason::Damaged => Self::Damaged,
                    $(Reason::$edge => Self::$edge,)*
                    _ => Self::NoTranslation,
                }
            }
        }
    };
}

edges!(
    /// Edges of the node of users' packets.
    ToOutside, "Good in2out packets processed",
    /// every port of the user is in use towards the destination
    #[drop]
    #[counter("Out of ports")]
    OutOfPorts,
    #[next("ip4-icmp-error", reason)]
    #[counter("maximum sessions per user exceeded")]
    /// the user has as many sessions as it may have
    TooMany,
    /// the thread has as many sessions as it may have
    #[drop]
    #[counter("maximum sessions exceeded")]
    Full
);
edges!(
    /// Edges of the node of the world's packets.
    ToInside, "Good out2in packets processed"
);

/// Packets of users.
pub struct In2Out;
/// Packets of the world.
pub struct Out2In;

impl Way for In2Out {
    const SIDE: Side = Side::Inside;
    const NAME: &'static str = IN2OUT;
    type To = ToOutside;
}

impl Way for Out2In {
    const SIDE: Side = Side::Outside;
    const NAME: &'static str = OUT2IN;
    type To = ToInside;
}

/// The record of a packet.
#[derive(Clone, Copy)]
pub struct DetTrace {
    side: Side,
    sw_if: u32,
    packet: Option<Packet>,
    outcome: Outcome,
}

impl Trace for DetTrace {
    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let direction = if self.side == Side::Inside { "IN2OUT" } else { "OUT2IN" };
        write!(f, "DET44_{direction}: sw_if_index {}, ", self.sw_if)?;
        match self.outcome {
            Outcome::Translated(at) => write!(f, "session {at}"),
            Outcome::Passed => f.write_str("not translated"),
            Outcome::Elsewhere(thread) => write!(f, "to thread {thread}"),
            Outcome::Refused(reason) => write!(f, "refused: {reason:?}"),
        }?;
        let Some(p) = self.packet else { return Ok(()) };
        write!(f, "\n{} -> {} protocol {}", p.from, p.to, p.protocol.0)
    }
}

/// A node.
pub struct Translate<W> {
    engine: Engine,
    way: PhantomData<fn() -> W>,
}

impl<W: Way> Build for Translate<W> {
    fn build(world: &World, thread: ThreadIndex) -> Self {
        Self { engine: Engine::new(world, thread), way: PhantomData }
    }
}

/// The ICMP error that answers a packet.
fn error_of(reason: Reason) -> Option<IpMeta> {
    match reason {
        Reason::TimeExpired => {
            Some(IpMeta::error(Icmp4Type::TIME_EXCEEDED.0, code4::TTL_IN_TRANSIT, 0))
        }
        Reason::TooMany => {
            Some(IpMeta::error(Icmp4Type::UNREACHABLE.0, code4::HOST_UNREACHABLE, 0))
        }
        _ => None,
    }
}

impl<W: Way> Node for Translate<W> {
    const NAME: &'static str = W::NAME;
    type Next = W::To;
    type Trace = DetTrace;

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> W::To {
        let packet = self.engine.read(b);
        let outcome = self.engine.translate(b, W::SIDE, packet, (cx.now(), cx.turn));
        if TRACED {
            cx.trace(b, DetTrace { side: W::SIDE, sw_if: b.rx_if, packet, outcome });
        }
        match outcome {
            Outcome::Translated(_) => {
                cx.count(W::To::GOOD, 1);
                W::To::NEXT
            }
            Outcome::Passed => W::To::NEXT,
            Outcome::Elsewhere(_) => W::To::ELSEWHERE,
            Outcome::Refused(reason) => {
                if let Some(error) = error_of(reason) {
                    b.set_scratch(error);
                }
                W::To::of(reason)
            }
        }
    }

    fn keep(&mut self, b: Owned, cx: &mut Cx<'_, false>) {
        let packet = self.engine.read(&b);
        match self.engine.elsewhere(&b, W::SIDE, packet, cx.turn) {
            Some(thread) => cx.handoff(ThreadIndex(thread), cx.node(), b),
            // The settings have changed in between.
            None => cx.emit(W::To::of(Reason::NoTranslation), b),
        }
    }

    fn tick(&mut self, cx: &mut Cx<'_, false>) {
        // One node of a thread does it for both.
        if W::SIDE == Side::Inside && self.engine.tick((cx.now(), cx.turn)) {
            cx.again();
        }
    }
}
