// SPDX-License-Identifier: Apache-2.0
//! The nodes.

use crate::engine::{Engine, Outcome, Place, Reason};
use crate::inward::MIN_MTU6;
use crate::packet::{FRAGMENT, HEADER6};
use crate::trace::NatTrace;
use buffer::{Buffer, Owned};
use graph::{Build, Cx, Next, Node, NodeIndex, ThreadIndex, World};
use net::IpMeta;
use wire::{Header, Ip6Fragment, IpProtocol, Ipv6Header, U16, U32};

/// The node on whose ticks sessions end.
pub const NODE: &str = "nat64-in2out";
/// The node of packets between users.
const HAIRPIN: &str = "nat64-hairpin";

macro_rules! edges {
    ($(#[$doc:meta])* $name:ident, $error:tt { $($(#[$own:meta])* $edge:ident,)* }) => {
        $(#[$doc])*
        #[derive(Next, Clone, Copy, PartialEq, Eq, Debug)]
        pub enum $name {
            $($(#[$own])* $edge,)*
            /// answered with an error of ICMP
            #[next($error, reason)]
            #[counter("answered with an error of ICMP")]
            Error,
            /// unsupported protocol
            #[drop]
            #[counter("unsupported protocol")]
            Protocol,
            /// no translation
            #[drop]
            #[counter("no translation")]
            NoTranslation,
            /// out of ports
            #[drop]
            #[counter("out of ports")]
            OutOfPorts,
            /// maximum BIB entries exceeded
            #[drop]
            #[counter("maximum BIB entries exceeded")]
            TooManyBindings,
            /// maximum sessions exceeded
            #[drop]
            #[counter("maximum sessions exceeded")]
            TooManySessions,
            /// unknown
            #[drop]
            #[counter("unknown")]
            Unknown,
        }

        impl From<Reason> for $name {
            fn from(reason: Reason) -> Self {
                match reason {
                    Reason::Protocol => Self::Protocol,
                    Reason::NoTranslation => Self::NoTranslation,
                    Reason::OutOfPorts => Self::OutOfPorts,
                    Reason::TooManyBindings => Self::TooManyBindings,
                    Reason::TooManySessions => Self::TooManySessions,
                    Reason::Unknown => Self::Unknown,
                }
            }
        }
    };
}

edges!(
    /// Edges of the nodes of users' packets.
    ToWorld, "ip6-icmp-error" {
        #[next_feature]
        Next,
        #[next("ip4-lookup")]
        Lookup,
        #[next("nat64-hairpin")]
        Hairpin,
        #[next("nat64-in2out-slowpath")]
        Slow,
    }
);

edges!(
    /// Edges of the node of the world's packets.
    ToUser, "ip4-icmp-error" {
        #[next_feature]
        Next,
        #[next("ip6-lookup")]
        Lookup,
        /// In fragments.
        #[keep]
        Split,
        /// packet that no buffer is left for
        #[drop]
        NoBuffer,
        /// The packet itself, once its fragments are on their way.
        #[free]
        Done,
    }
);

edges!(
    /// Edges of the node of packets between users.
    ToOther, "ip4-icmp-error" {
        #[next("ip6-lookup")]
        Lookup,
        /// To the thread that has the packet's sessions, or in fragments.
        #[keep]
        Elsewhere,
        /// packet that no buffer is left for
        #[drop]
        NoBuffer,
        /// The packet itself, once its fragments are on their way.
        #[free]
        Done,
    }
);

/// `nat64-in2out`; with `SLOW`, the node that makes sessions.
pub struct In2Out<const SLOW: bool>(Engine);

impl<const SLOW: bool> Build for In2Out<SLOW> {
    fn build(world: &World, thread: ThreadIndex) -> Self {
        Self(Engine::new(world, thread))
    }
}

impl<const SLOW: bool> Node for In2Out<SLOW> {
    const NAME: &'static str = if SLOW { "nat64-in2out-slowpath" } else { NODE };
    type Next = ToWorld;
    type Trace = NatTrace;

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> ToWorld {
        let outcome = self.0.work(b, (cx.now(), cx.turn), |work, b| match SLOW {
            true => work.slow_outward(b),
            false => work.fast_outward(b),
        });
        if TRACED {
            cx.trace(b, NatTrace::new(Self::NAME, b.rx_if, outcome));
        }
        self.0.count(Place::In2Out, b, outcome);
        match outcome {
            Outcome::Translated(_) | Outcome::TooLong(_) => ToWorld::Lookup,
            Outcome::Hairpin(_) => ToWorld::Hairpin,
            Outcome::Passed => ToWorld::Next,
            Outcome::Slow if SLOW => ToWorld::Unknown,
            Outcome::Slow => ToWorld::Slow,
            Outcome::Error(kind, code, rest) => {
                b.set_scratch(IpMeta::error(kind, code, rest));
                ToWorld::Error
            }
            Outcome::Drop(reason) => reason.into(),
        }
    }

    fn tick(&mut self, cx: &mut Cx<'_, false>) {
        // One node of a thread does it for all.
        if !SLOW && self.0.tick((cx.now(), cx.turn)) {
            cx.again();
        }
    }
}

/// `nat64-out2in`.
pub struct Out2In(Engine);

impl Build for Out2In {
    fn build(world: &World, thread: ThreadIndex) -> Self {
        Self(Engine::new(world, thread))
    }
}

impl Node for Out2In {
    const NAME: &'static str = "nat64-out2in";
    type Next = ToUser;
    type Trace = NatTrace;

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> ToUser {
        let now = (cx.now(), cx.turn);
        let outcome = self.0.work(b, now, |work, b| work.inward(b, Place::Out2In));
        if TRACED {
            cx.trace(b, NatTrace::new(Self::NAME, b.rx_if, outcome));
        }
        self.0.count(Place::Out2In, b, outcome);
        match outcome {
            Outcome::Translated(_) | Outcome::Hairpin(_) => ToUser::Lookup,
            Outcome::TooLong(_) => ToUser::Split,
            Outcome::Passed => ToUser::Next,
            Outcome::Slow => ToUser::Unknown,
            Outcome::Error(kind, code, rest) => {
                b.set_scratch(IpMeta::error(kind, code, rest));
                ToUser::Error
            }
            Outcome::Drop(reason) => reason.into(),
        }
    }

    fn keep(&mut self, mut b: Owned, cx: &mut Cx<'_, false>) {
        let all = split(&mut b, cx, |part, cx| cx.emit(ToUser::Lookup, part));
        cx.emit(if all { ToUser::Done } else { ToUser::NoBuffer }, b);
    }
}

/// `nat64-hairpin`: a packet of a user, translated, goes to another user.
pub struct Hairpin {
    engine: Engine,
    own: Option<NodeIndex>,
}

impl Build for Hairpin {
    fn build(world: &World, thread: ThreadIndex) -> Self {
        Self { engine: Engine::new(world, thread), own: world.node(HAIRPIN) }
    }
}

impl Hairpin {
    /// The thread that has the other user's binding, if it is another one.
    fn elsewhere(&self, b: &Buffer, cx: &Cx<'_, false>) -> Option<ThreadIndex> {
        other(&self.engine, self.engine.owner_of_end(b, cx.turn))
    }
}

/// A thread, if it is another one.
fn other(engine: &Engine, thread: Option<u16>) -> Option<ThreadIndex> {
    thread.map(ThreadIndex).filter(|thread| *thread != engine.thread)
}

/// True for what has not been translated yet.
fn is_ip4(b: &Buffer) -> bool {
    b.data().first().is_some_and(|first| first >> 4 == 4)
}

impl Node for Hairpin {
    const NAME: &'static str = HAIRPIN;
    type Next = ToOther;
    type Trace = NatTrace;

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> ToOther {
        if other(&self.engine, self.engine.owner_of_end(b, cx.turn)).is_some() {
            return ToOther::Elsewhere;
        }
        let now = (cx.now(), cx.turn);
        let outcome = self.engine.work(b, now, |work, b| work.inward(b, Place::Hairpin));
        if TRACED {
            cx.trace(b, NatTrace::new(Self::NAME, b.rx_if, outcome));
        }
        self.engine.count(Place::Hairpin, b, outcome);
        match outcome {
            Outcome::Translated(_) | Outcome::Hairpin(_) => ToOther::Lookup,
            Outcome::TooLong(_) => ToOther::Elsewhere,
            // Switched off meanwhile.
            Outcome::Passed => ToOther::NoTranslation,
            Outcome::Slow => ToOther::Unknown,
            Outcome::Error(kind, code, rest) => {
                b.set_scratch(IpMeta::error(kind, code, rest));
                ToOther::Error
            }
            Outcome::Drop(reason) => reason.into(),
        }
    }

    fn keep(&mut self, mut b: Owned, cx: &mut Cx<'_, false>) {
        if !is_ip4(&b) {
            let all = split(&mut b, cx, |part, cx| cx.emit(ToOther::Lookup, part));
            return cx.emit(if all { ToOther::Done } else { ToOther::NoBuffer }, b);
        }
        match (self.elsewhere(&b, cx), self.own) {
            (Some(thread), Some(node)) => cx.handoff(thread, node, b),
            // The settings have changed in between.
            _ => cx.emit(ToOther::NoTranslation, b),
        }
    }
}

/// Sends a packet of IPv6 in fragments that fit every link. One that is a fragment has its part of
/// the datagram in smaller ones. Returns false if there are too few buffers.
fn split(
    b: &mut Buffer,
    cx: &mut Cx<'_, false>,
    mut send: impl FnMut(Owned, &mut Cx<'_, false>),
) -> bool {
    const ROOM: usize = (MIN_MTU6 - HEADER6 - FRAGMENT) & !7;
    ip::finish_checksum(b);
    let Some(ip) = Ipv6Header::view(b.data()).copied() else { return true };
    let end = HEADER6 + usize::from(ip.payload_len.get());
    let before = b.data().get(HEADER6..).and_then(Ip6Fragment::view).copied();
    let before = before.filter(|_| ip.next_header == IpProtocol::FRAGMENT);
    let begin = HEADER6 + if before.is_some() { FRAGMENT } else { 0 };
    let (base, more) = before.map_or((0, false), |of| (of.offset(), of.more_fragments()));
    let id = before.map_or_else(|| cx.random() as u32, |of| of.id.get());
    let next = before.map_or(ip.next_header, |of| of.next_header);
    let mut at = begin;
    while at < end {
        let len = ROOM.min(end - at);
        let mut header = ip;
        header.next_header = IpProtocol::FRAGMENT;
        header.payload_len = U16::new((FRAGMENT + len) as u16);
        let offset = (base + at - begin) as u16;
        let fragment = Ip6Fragment {
            next_header: next,
            reserved: 0,
            offset_more: U16::new(offset | u16::from(more || at + len < end)),
            id: U32::new(id),
        };
        let mut bytes = [0; MIN_MTU6];
        let front = HEADER6 + FRAGMENT;
        if let Some(of) = Ipv6Header::view_mut(&mut bytes) {
            *of = header;
        }
        if let Some(of) = Ip6Fragment::view_mut(&mut bytes[HEADER6..]) {
            *of = fragment;
        }
        let Some(mut part) = cx.alloc() else { return false };
        let whole = b.copy_out(at, &mut bytes[front..front + len]) == len;
        if !whole || !part.set_data(&bytes[..front + len]) {
            cx.free(part);
            return false;
        }
        (part.rx_if, part.tx_if) = (b.rx_if, b.tx_if);
        (part.flags, part.trace) = (b.flags, b.trace);
        send(part, cx);
        at += len;
    }
    true
}

/// A door, as a type: a node that hands packets to the thread that has their sessions.
pub trait Door: Send + 'static {
    /// The node's name, and that of the node behind it.
    const NAMES: [&'static str; 2];
    /// The node's edges.
    type To: Next + Ways;
    /// The thread that has a packet's sessions.
    fn owner(engine: &Engine, b: &Buffer, cx: &Cx<'_, false>) -> Option<u16>;
}

/// Edges of a door.
pub trait Ways: Copy {
    /// The node behind it, and the way to another thread.
    const ALL: [Self; 4];
}

macro_rules! doors {
    ($($(#[$doc:meta])* $door:ident, $to:ident, $name:literal, $next:tt, $owner:ident;)*) => { $(
        $(#[$doc])*
        pub struct $door;

        #[derive(Next, Clone, Copy, PartialEq, Eq, Debug)]
        pub enum $to {
            #[next($next)]
            Here,
            /// To the thread that has the packet's sessions.
            #[keep]
            Elsewhere,
            /// same worker
            #[count]
            #[counter("same worker")]
            Same,
            /// do handoff
            #[count]
            #[counter("do handoff")]
            Handoff,
        }

        impl Ways for $to {
            const ALL: [Self; 4] = [Self::Here, Self::Elsewhere, Self::Same, Self::Handoff];
        }

        impl Door for $door {
            const NAMES: [&'static str; 2] = [$name, $next];
            type To = $to;
            fn owner(engine: &Engine, b: &Buffer, cx: &Cx<'_, false>) -> Option<u16> {
                engine.$owner(b, cx.turn)
            }
        }
    )* };
}

doors! {
    /// `nat64-in2out-handoff`.
    OfUsers, ToIn2Out, "nat64-in2out-handoff", "nat64-in2out", owner_of_user;
    /// `nat64-out2in-handoff`.
    OfWorld, ToOut2In, "nat64-out2in-handoff", "nat64-out2in", owner_of_end;
}

/// A node that hands packets off.
pub struct Handoff<D> {
    engine: Engine,
    next: Option<NodeIndex>,
    of: std::marker::PhantomData<fn() -> D>,
}

impl<D: Door> Build for Handoff<D> {
    fn build(world: &World, thread: ThreadIndex) -> Self {
        let next = world.node(D::NAMES[1]);
        Self { engine: Engine::new(world, thread), next, of: std::marker::PhantomData }
    }
}

impl<D: Door> Node for Handoff<D> {
    const NAME: &'static str = D::NAMES[0];
    type Next = D::To;
    type Trace = ();

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> D::To {
        let [here, elsewhere, same, handoff] = D::To::ALL;
        let owner = D::owner(&self.engine, b, &cx.untraced());
        if other(&self.engine, owner).is_some() {
            cx.count(handoff, 1);
            return elsewhere;
        }
        cx.count(same, 1);
        here
    }

    fn keep(&mut self, b: Owned, cx: &mut Cx<'_, false>) {
        let owner = D::owner(&self.engine, &b, cx);
        match (other(&self.engine, owner), self.next) {
            (Some(thread), Some(node)) => cx.handoff(thread, node, b),
            // The settings have changed in between.
            _ => cx.emit(D::To::ALL[0], b),
        }
    }
}
