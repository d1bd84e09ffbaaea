// SPDX-License-Identifier: Apache-2.0
//! `l2tp-decap-local`: decapsulation of packets for us; `l2tp-decap`: takes packets of sessions
//! there from the arc of received packets.

use crate::model::LookupBy;
use crate::model::{L2tp, SUBLAYER};
use crate::sessions::{Session, Sessions};
use buffer::Buffer;
use graph::{Build, Cx, Next, Node, NodeIndex, ThreadIndex, World};
use ip::IpTrace;
use net::{AdjIndex, Interfaces, IpMeta};
use std::sync::Arc;
use sync::Turn;
use tunnel::{DecapTrace, Key, Onto as Payload, Outer, Tunnels};
use wire::{Header, Ip6, IpProtocol, Ipv6Header, UpperLayer};

/// Bytes of the session identifier.
const SESSION: usize = 4;
/// Bytes of the cookie (RFC 8159 3: always 64 bits).
const COOKIE: usize = 8;

/// Takes headers off packets for us.
pub struct DecapLocal {
    sessions: Arc<Sessions>,
    tunnels: Arc<Tunnels<L2tp>>,
    decap: tunnel::Decap<L2tp>,
}

#[derive(Next, Clone, Copy, PartialEq, Eq, Debug)]
pub enum To {
    #[next("ethernet-input")]
    Ethernet,
    /// The first feature of the session's interface.
    #[dynamic]
    Feature(NodeIndex),
    /// packets of sessions decapsulated
    #[count]
    #[counter("L2TP user (ip6) to L2 network pkts")]
    Decapsulated,
    /// no session has this address or identifier
    #[drop]
    #[counter("l2tpv3 session not found")]
    NoSession,
    /// session identifier isn't that of the session with this address
    #[drop]
    #[counter("l2tpv3 local session id mismatches")]
    SessionMismatch,
    /// cookie is neither the session's nor the one before
    #[drop]
    #[counter("l2tpv3 local cookie mismatches")]
    CookieMismatch,
    /// session's interface is down
    #[drop]
    #[counter("l2tpv3 tunnel is down")]
    Down,
    /// control message: sessions are configured here
    #[drop]
    Control,
    /// fragmented outer packet
    #[drop]
    Fragment,
    /// packet shorter than its headers
    #[drop]
    TooShort,
    /// super-packets can't be taken out of tunnels
    #[drop]
    Super,
}

tunnel::from_decap_error!(To, NoSession);

#[inline(always)]
fn session_at(b: &Buffer, at: usize) -> Option<u32> {
    b.bytes::<SESSION>(at).map(|id| u32::from_be_bytes(*id))
}

/// Finds the session of a packet whose L2TP header begins `at` bytes into it.
#[inline(always)]
fn find<'t>(
    sessions: &'t Sessions,
    b: &Buffer,
    key: Key,
    at: usize,
    turn: &'t Turn<'_>,
) -> Result<&'t Session, To> {
    let mut key = key;
    if sessions.by(turn) == LookupBy::Session {
        key.id = session_at(b, at).ok_or(To::TooShort)?;
        // RFC 3931 4.1.1.2: the control connection has identifier 0.
        if key.id == 0 {
            return Err(To::Control);
        }
    }
    sessions.find(key, turn).ok_or(To::NoSession)
}

/// Checks the header that begins `at` bytes into the packet of a session; returns where the frame
/// begins.
#[inline(always)]
fn check(session: &Session, b: &Buffer, at: usize) -> Result<usize, To> {
    // RFC 3931 4.1.1.1: the identifier that this end has assigned.
    match session_at(b, at) {
        None => return Err(To::TooShort),
        // RFC 3931 4.1.1.2: the control connection's.
        Some(0) => return Err(To::Control),
        Some(id) if id != session.key.id => return Err(To::SessionMismatch),
        Some(_) => {}
    }
    // RFC 3931 4.1 and 8.2, RFC 8159 3: a packet with another cookie is dropped; two are accepted
    // while the other end changes its own.
    let cookie = b.bytes::<COOKIE>(at + SESSION).ok_or(To::TooShort)?;
    if !session.cookies.contains(cookie) {
        return Err(To::CookieMismatch);
    }
    // RFC 3931 4.6: sequence numbers may be ignored.
    let frame = at + SESSION + COOKIE + if session.sublayer { SUBLAYER } else { 0 };
    if b.data().len() < frame {
        return Err(To::TooShort);
    }
    Ok(frame)
}

impl Build for DecapLocal {
    fn build(world: &World, thread: ThreadIndex) -> Self {
        Self {
            sessions: world.get(),
            tunnels: world.get(),
            decap: tunnel::Decap::new(world, thread),
        }
    }
}

impl Node for DecapLocal {
    const NAME: &'static str = "l2tp-decap-local";
    const DROP: &'static str = "ip6-drop";
    type Next = To;
    type Trace = DecapTrace<L2tp>;

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        let turn = cx.turn;
        let Some(outer) = Outer::of::<Ip6>(b) else { return To::TooShort };
        if outer.is_fragment() {
            return To::Fragment;
        }
        let at = outer.upper.offset;
        let session = find(&self.sessions, b, outer.key, at, turn);
        let end = session.ok().and_then(|session| self.tunnels.end(session.sw_if, turn));
        if TRACED {
            cx.trace(b, DecapTrace::<L2tp>::of(&outer, b, end));
        }
        let frame = match session.and_then(|session| check(session, b, at)) {
            Ok(frame) => frame,
            Err(why) => return why,
        };
        let Some(end) = end else { return To::NoSession };
        match self.decap.receive(b, end, frame, outer.class, turn) {
            Ok(()) => {
                cx.count(To::Decapsulated, 1);
                let feature = self.decap.first_feature(b, Payload::Ethernet, cx);
                feature.map_or(To::Ethernet, To::Feature)
            }
            Err(why) => why.into(),
        }
    }
}

/// Takes packets of sessions out of received packets.
pub struct Decap {
    sessions: Arc<Sessions>,
    interfaces: Arc<Interfaces>,
    input: NodeIndex,
}

#[derive(Next, Clone, Copy, PartialEq, Eq, Debug)]
pub enum Onto {
    /// `l2tp-decap-local`.
    #[dynamic]
    Input(NodeIndex),
    #[next_feature]
    Next,
    /// packets of sessions
    #[count]
    #[counter("L2TP user (ip6) to L2 network pkts")]
    Taken,
}

impl Build for Decap {
    fn build(world: &World, _: ThreadIndex) -> Self {
        Self {
            sessions: world.get(),
            interfaces: world.get(),
            input: world.node("l2tp-decap-local").expect("of the same plugin"),
        }
    }
}

impl Decap {
    /// The index of the table of a packet that belongs to a session.
    #[inline(always)]
    fn find(&self, b: &Buffer, turn: &Turn<'_>) -> Option<u32> {
        let ip = Ipv6Header::view(b.data())?;
        let upper = UpperLayer::of::<Ip6>(b.data()).ok()?;
        // Fragments are put together first, and a packet on a source route isn't at its
        // destination (RFC 8200 4.4).
        if upper.protocol != IpProtocol::L2TP
            || upper.fragment_offset != 0
            || upper.more_fragments
            || upper.routed
        {
            return None;
        }
        let table = ip::table_of::<Ip6>(b, self.interfaces.views(turn)).0;
        let key = Key::of(ip.dst.into(), ip.src.into(), table);
        find(&self.sessions, b, key, upper.offset, turn).ok().map(|_| table)
    }
}

impl Node for Decap {
    const NAME: &'static str = "l2tp-decap";
    const DROP: &'static str = "ip6-drop";
    type Next = Onto;
    type Trace = IpTrace<Ip6>;

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> Onto {
        if TRACED {
            cx.trace(b, IpTrace::<Ip6>::of(b));
        }
        let Some(table) = self.find(b, cx.turn) else { return Onto::Next };
        b.mark_l3();
        b.set_scratch(IpMeta::of(AdjIndex::RECEIVE, table));
        cx.count(Onto::Taken, 1);
        Onto::Input(self.input)
    }
}
