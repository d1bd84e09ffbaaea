// SPDX-License-Identifier: Apache-2.0
//! The nodes of the AFTR: `dslite-in2out`, its slow path, and `dslite-out2in`. Routes lead packets
//! there.

use crate::engine::{Engine, Outcome, Reason};
use crate::outer::{self, Payload};
use buffer::{Buffer, FieldValue, Flags, Owned};
use graph::{Build, Cx, Next, Node, NodeIndex, ThreadIndex, Trace, World};
use ip_reassembly::CustomNext;
use net::{IpMeta, TableIndex};
use std::fmt;
use std::net::Ipv6Addr;
use wire::icmp::code4;
use wire::{Header, Icmp4Type, Ipv4Header};
use zerocopy::{Immutable, IntoBytes, TryFromBytes};

/// Names of the nodes.
pub const IN2OUT: &str = "dslite-in2out";
pub const OUT2IN: &str = "dslite-out2in";
const SLOW: &str = "dslite-in2out-slowpath";

/// The B4 of a packet without a session: from `dslite-in2out` to its slow path, which clears it.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq, TryFromBytes, IntoBytes, Immutable)]
#[repr(C)]
pub struct Behind([u8; 16]);

impl FieldValue for Behind {
    const RARE: bool = true;
}

macro_rules! edges {
    ($(#[$doc:meta])* $name:ident, $valid:literal { $($(#[$own:meta])* $edge:ident,)* }) => {
        $(#[$doc])*
        #[derive(Next, Clone, Copy, PartialEq, Eq, Debug)]
        pub enum $name {
            $($(#[$own])* $edge,)*
            /// To the thread that has the sessions.
            #[keep]
            Elsewhere,
            /// packets translated
            #[count]
            #[counter($valid)]
            Valid,
            /// no translation
            #[drop]
            #[counter("no translation")]
            NoTranslation,
            /// neither TCP nor UDP nor ICMP, or without their headers
            #[drop]
            #[counter("unsupported protocol")]
            Protocol,
            /// ICMP that is neither an echo message nor an error
            #[drop]
            #[counter("unsupported icmp type")]
            IcmpType,
            /// out of ports
            #[drop]
            #[counter("out of ports")]
            OutOfPorts,
            /// maximum sessions exceeded
            #[drop]
            #[counter("maximum sessions exceeded")]
            TooMany,
            /// fragment of a user whose first one wasn't seen
            #[drop]
            #[counter("fragment without the first one")]
            Fragment,
            /// super-packets can't be put into IPv6, nor taken out of it
            #[drop]
            #[counter("super-packet")]
            Super,
            /// unknown
            #[drop]
            #[counter("unknown")]
            Unknown,
        }

        impl From<Reason> for $name {
            fn from(reason: Reason) -> Self {
                match reason {
                    Reason::NoTranslation => Self::NoTranslation,
                    Reason::Protocol => Self::Protocol,
                    Reason::IcmpType => Self::IcmpType,
                    Reason::OutOfPorts => Self::OutOfPorts,
                    Reason::TooMany => Self::TooMany,
                    Reason::Fragment => Self::Fragment,
                    Reason::Unknown => Self::Unknown,
                }
            }
        }
    };
}

edges!(
    /// Edges of the nodes of users' packets.
    ToWorld, "valid in2out DS-Lite packets" {
        #[next("ip4-lookup")]
        Lookup,
        #[next("ip6-icmp-input")]
        Icmp,
        #[next("dslite-in2out-slowpath")]
        Slow,
        #[next("ip6-full-reassembly-custom")]
        Reassemble,
        /// neither IPv4 nor ICMPv6 inside IPv6
        #[drop]
        #[counter("bad ip6 protocol")]
        BadProtocol,
        /// malformed packet of IPv4 inside IPv6, or a congestion mark that it can't have
        #[drop]
        #[counter("malformed packet inside")]
        Malformed,
    }
);

edges!(
    /// Edges of the node of the world's packets.
    ToUser, "valid out2in DS-Lite packets" {
        #[next("ip6-lookup")]
        Lookup,
        #[next("ip4-full-reassembly-custom")]
        Reassemble,
        #[next("ip4-icmp-error", reason)]
        #[counter("time_exceeded")]
        /// time to live expired in front of the tunnel
        Expired,
    }
);

/// The record of a packet.
#[derive(Clone, Copy)]
pub struct DsLiteTrace {
    node: &'static str,
    b4: Option<Ipv6Addr>,
    outcome: Outcome,
}

impl Trace for DsLiteTrace {
    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.node.to_uppercase().replacen("DSLITE-", "DSLITE_", 1))?;
        if let Some(b4) = self.b4 {
            write!(f, "B4 {b4}, ")?;
        }
        match self.outcome {
            Outcome::Translated(at) => write!(f, "session {at}"),
            Outcome::Slow => f.write_str("no session"),
            Outcome::TimeExpired => f.write_str("time to live expired"),
            Outcome::Drop(reason) => write!(f, "dropped: {reason:?}"),
        }
    }
}

/// `dslite-in2out`; with `IS_SLOW`, the node that makes sessions.
pub struct In2Out<const IS_SLOW: bool> {
    engine: Engine,
    behind: buffer::Field<Behind>,
}

impl<const IS_SLOW: bool> Build for In2Out<IS_SLOW> {
    fn build(world: &World, thread: ThreadIndex) -> Self {
        Self { engine: Engine::new(world, thread), behind: world.field() }
    }
}

impl<const IS_SLOW: bool> In2Out<IS_SLOW> {
    /// Takes the header off; `Err` for a packet that goes elsewhere.
    #[inline(always)]
    fn open<const TRACED: bool>(
        &self,
        b: &mut Buffer,
        cx: &mut Cx<'_, TRACED>,
    ) -> Result<Ipv6Addr, ToWorld> {
        if IS_SLOW {
            let behind = b.find_field(self.behind).ok_or(ToWorld::Unknown)?;
            b.clear_field(self.behind);
            return Ok(Ipv6Addr::from_octets(behind.0));
        }
        let (b4, payload) = outer::read(b).ok_or(ToWorld::Malformed)?;
        let at = match payload {
            Payload::Ip4(at) => at,
            Payload::Icmp => return Err(ToWorld::Icmp),
            Payload::Fragment => {
                b.set_scratch(CustomNext { node: cx.node().0 });
                return Err(ToWorld::Reassemble);
            }
            Payload::Other => return Err(ToWorld::BadProtocol),
        };
        if b.flags.contains(Flags::GSO) {
            return Err(ToWorld::Super);
        }
        if self.engine.elsewhere_of_b4(b4, cx.turn).is_some() {
            return Err(ToWorld::Elsewhere);
        }
        match outer::take(b, at, self.engine.l4, cx.cache()) {
            true => Ok(b4),
            false => Err(ToWorld::Malformed),
        }
    }
}

impl<const IS_SLOW: bool> Node for In2Out<IS_SLOW> {
    const NAME: &'static str = if IS_SLOW { SLOW } else { IN2OUT };
    const DROP: &'static str = "ip6-drop";
    type Next = ToWorld;
    type Trace = DsLiteTrace;

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> ToWorld {
        let b4 = match self.open(b, cx) {
            Ok(b4) => b4,
            Err(to) => return to,
        };
        let outcome = self.engine.outward(b, b4, IS_SLOW, (cx.now(), cx.turn));
        if TRACED {
            cx.trace(b, DsLiteTrace { node: Self::NAME, b4: Some(b4), outcome });
        }
        match outcome {
            Outcome::Translated(_) => {
                cx.count(ToWorld::Valid, 1);
                b.tx_if = TableIndex::DEFAULT.0;
                b.flags.insert(Flags::TABLE);
                ToWorld::Lookup
            }
            Outcome::Slow if IS_SLOW => ToWorld::Unknown,
            Outcome::Slow => {
                b.set_field(self.behind, Behind(b4.octets()));
                ToWorld::Slow
            }
            Outcome::TimeExpired => ToWorld::Unknown,
            Outcome::Drop(reason) => reason.into(),
        }
    }

    fn keep(&mut self, b: Owned, cx: &mut Cx<'_, false>) {
        let b4 = outer::read(&b).map(|(b4, _)| b4);
        match b4.and_then(|b4| self.engine.elsewhere_of_b4(b4, cx.turn)) {
            Some(thread) => cx.handoff(thread, cx.node(), b),
            // The settings have changed in between.
            None => cx.emit(ToWorld::NoTranslation, b),
        }
    }

    fn tick(&mut self, cx: &mut Cx<'_, false>) {
        // One node of a thread does it for all.
        if !IS_SLOW && self.engine.tick((cx.now(), cx.turn)) {
            cx.again();
        }
    }
}

/// `dslite-out2in`.
pub struct Out2In(Engine);

impl Build for Out2In {
    fn build(world: &World, thread: ThreadIndex) -> Self {
        Self(Engine::new(world, thread))
    }
}

impl Node for Out2In {
    const NAME: &'static str = OUT2IN;
    const DROP: &'static str = "ip4-drop";
    type Next = ToUser;
    type Trace = DsLiteTrace;

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> ToUser {
        let is_fragment = Ipv4Header::view(b.data()).is_some_and(Ipv4Header::is_fragment);
        if is_fragment {
            // Its part alone doesn't tell the session.
            b.set_scratch(CustomNext { node: cx.node().0 });
            return ToUser::Reassemble;
        }
        if b.flags.contains(Flags::GSO) {
            return ToUser::Super;
        }
        if self.0.elsewhere_of_port(b, cx.turn).is_some() {
            return ToUser::Elsewhere;
        }
        let outcome = self.0.inward(b, (cx.now(), cx.turn));
        if TRACED {
            cx.trace(b, DsLiteTrace { node: OUT2IN, b4: None, outcome });
        }
        match outcome {
            Outcome::Translated(_) => {
                cx.count(ToUser::Valid, 1);
                ToUser::Lookup
            }
            Outcome::TimeExpired => {
                let (kind, code) = (Icmp4Type::TIME_EXCEEDED.0, code4::TTL_IN_TRANSIT);
                b.set_scratch(IpMeta::error(kind, code, 0));
                ToUser::Expired
            }
            Outcome::Slow => ToUser::Unknown,
            Outcome::Drop(reason) => reason.into(),
        }
    }

    fn keep(&mut self, b: Owned, cx: &mut Cx<'_, false>) {
        match self.0.elsewhere_of_port(&b, cx.turn) {
            Some(thread) => cx.handoff(thread, cx.node(), b),
            // The settings have changed in between.
            None => cx.emit(ToUser::NoTranslation, b),
        }
    }
}

/// The node of this name and index, as an object of routes.
pub fn node(world: &World, name: &str) -> Result<NodeIndex, cli::Error> {
    world.node(name).ok_or_else(|| cli::Error::unsupported(format!("there is no node {name}")))
}
