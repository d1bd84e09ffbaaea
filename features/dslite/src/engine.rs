// SPDX-License-Identifier: Apache-2.0
//! The path of a packet through the AFTR.

use crate::flows::{AllFlows, Flows, Refused};
use crate::key::{DatagramKey, Key};
use crate::outer;
use crate::session::{INWARD, OUTWARD};
use crate::settings::{DsLite, Settings};
use buffer::{Buffer, Field, Flags};
use graph::{ThreadIndex, World};
use ip::Ip;
use nat::key::{End, has_ports};
use nat::packet::{Packet, change, ports_of, rewrite};
use nat::quoted::{Quoted, is_intact};
use net::{L4, TableIndex};
use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use sync::Turn;
use wire::{Header, Icmp4Type, Ip4, IpHeader, IpProtocol, Ipv4Header, TcpFlags};

/// The reason for a packet's drop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reason {
    /// Nothing maps it.
    NoTranslation,
    /// Neither TCP nor UDP nor ICMP, or without their headers.
    Protocol,
    /// ICMP that is neither an echo message nor an error.
    IcmpType,
    /// No port or address is left.
    OutOfPorts,
    /// The thread has as many sessions as it may have.
    TooMany,
    /// A fragment whose first one wasn't seen.
    Fragment,
    /// It can't be read or written.
    Unknown,
}

/// The result of the translation of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// It was translated, by the session at this index.
    Translated(u32),
    /// The slow path decides.
    Slow,
    /// Its hops are used up.
    TimeExpired,
    /// The packet is dropped, for this reason.
    Drop(Reason),
}

/// The state of a thread's nodes.
pub struct Engine {
    pub dslite: Arc<DsLite>,
    flows: Arc<AllFlows>,
    pub thread: ThreadIndex,
    pub l4: Field<L4>,
}

/// A packet of a user, and its B4.
#[derive(Clone, Copy)]
struct OfUser {
    p: Packet,
    b4: Ipv6Addr,
}

impl Engine {
    pub fn new(world: &World, thread: ThreadIndex) -> Self {
        Self { dslite: world.get(), flows: world.get(), thread, l4: world.field() }
    }

    /// The thread of a B4, if it is another one.
    #[inline(always)]
    pub fn elsewhere_of_b4(&self, b4: Ipv6Addr, turn: &Turn<'_>) -> Option<ThreadIndex> {
        let thread = ThreadIndex(self.dslite.settings(turn).thread_of_b4(b4));
        (thread != self.thread).then_some(thread)
    }

    /// The thread that has the session of a packet of the world, if it is another one.
    #[inline(always)]
    pub fn elsewhere_of_port(&self, b: &Buffer, turn: &Turn<'_>) -> Option<ThreadIndex> {
        let p = Packet::read(b, 0, None)?;
        let port = match quoted(b, &p) {
            Some(quoted) => quoted.from.port,
            None => p.to.port,
        };
        let thread = ThreadIndex(self.dslite.settings(turn).workers.of_port(port));
        (thread != self.thread).then_some(thread)
    }

    /// Translates a packet of a user behind a B4, whose outer header is gone. Without `slow`, only
    /// one of a known session.
    #[inline(always)]
    pub fn outward(
        &self,
        b: &mut Buffer,
        b4: Ipv6Addr,
        slow: bool,
        (now, turn): (u64, &Turn<'_>),
    ) -> Outcome {
        let settings = self.dslite.settings(turn);
        let Some(mut flows) = self.flows.of(self.thread, turn) else {
            return Outcome::Drop(Reason::Unknown);
        };
        let Some(l4) = self.ports(b, b4, &mut flows, now) else {
            return Outcome::Drop(Reason::Fragment);
        };
        let Some(p) = Packet::read(b, 0, Some(l4)) else { return Outcome::Drop(Reason::Protocol) };
        let of = OfUser { p, b4 };
        if !has_ports(p.protocol) {
            return Outcome::Drop(Reason::Protocol);
        }
        if p.is_error() {
            return outward_error(b, of, &flows, now);
        }
        if p.protocol == IpProtocol::ICMP && !p.is_echo() {
            return Outcome::Drop(Reason::IcmpType);
        }
        let key = Key::inside(b4, p.from, p.protocol);
        let at = match flows.live(&key, now) {
            Some((at, OUTWARD)) => at,
            _ if !slow => return Outcome::Slow,
            _ => match self.make(&mut flows, key, &p, (now, settings)) {
                Ok(at) => at,
                Err(reason) => return Outcome::Drop(reason),
            },
        };
        let Some((keys, _)) = flows.get(at) else { return Outcome::Drop(Reason::Unknown) };
        let outside = keys[INWARD].end();
        note(&mut flows, (at, OUTWARD), (b, &p), (now, settings));
        rewrite(b, &p, (outside, to_of(&p, outside)));
        Outcome::Translated(at)
    }

    #[inline(never)]
    fn make(
        &self,
        flows: &mut Flows,
        key: Key,
        p: &Packet,
        (now, settings): (u64, &Settings),
    ) -> Result<u32, Reason> {
        flows.follow(self.dslite.generation(), settings, now);
        // RFC 5508 3.2: queries alone make sessions.
        if p.protocol == IpProtocol::ICMP && p.kind != Icmp4Type::ECHO_REQUEST.0 {
            return Err(Reason::NoTranslation);
        }
        flows.make(key, (now, settings)).map_err(|refused| match refused {
            Refused::Ports => Reason::OutOfPorts,
            Refused::Full => Reason::TooMany,
        })
    }

    /// The fields of a user's upper layer, also for later fragments. `None` if the first one wasn't
    /// seen.
    #[inline(always)]
    fn ports(&self, b: &Buffer, b4: Ipv6Addr, flows: &mut Flows, now: u64) -> Option<L4> {
        let ip = Ipv4Header::view(b.data())?;
        if !ip.is_fragment() {
            // One that can't be read is dropped for its protocol.
            return Some(ports_of(b.data()).unwrap_or(L4 { protocol: u8::MAX, ..L4::default() }));
        }
        let (ends, id, protocol) = ((ip.src(), ip.dst()), ip.id.get(), ip.protocol.0);
        let (offset, is_first) = (ip.header_len() as u16, ip.fragment_offset() == 0);
        let key = DatagramKey { b4, ends, id, protocol };
        if is_first {
            let l4 = ports_of(b.data())?;
            flows.keep_ports(key, (l4.src_port, l4.dst_port), now);
            return Some(l4);
        }
        let (src_port, dst_port) = flows.ports_of(&key)?;
        let kind = if protocol == IpProtocol::ICMP.0 { Icmp4Type::ECHO_REQUEST.0 } else { 0 };
        Some(L4 { src_port, dst_port, offset, protocol, kind, later: true, ..L4::default() })
    }

    /// Translates a packet of the world, and puts the header to the user's B4 in front.
    #[inline(always)]
    pub fn inward(&self, b: &mut Buffer, (now, turn): (u64, &Turn<'_>)) -> Outcome {
        let settings = self.dslite.settings(turn);
        let Some(mut flows) = self.flows.of(self.thread, turn) else {
            return Outcome::Drop(Reason::Unknown);
        };
        let Some(p) = Packet::read(b, 0, None).filter(|p| has_ports(p.protocol)) else {
            return Outcome::Drop(Reason::Protocol);
        };
        let quoted = quoted(b, &p);
        if p.protocol == IpProtocol::ICMP && !p.is_echo() && !p.is_error() {
            return Outcome::Drop(Reason::IcmpType);
        }
        let (end, protocol) = match (p.is_error(), &quoted) {
            (false, _) => (p.to, p.protocol),
            (true, Some(quoted)) => (quoted.from, quoted.protocol),
            (true, None) => return Outcome::Drop(Reason::NoTranslation),
        };
        let Some((at, INWARD)) = flows.live(&Key::outside(end, protocol), now) else {
            return Outcome::Drop(Reason::NoTranslation);
        };
        if let Some(quoted) = &quoted
            && (quoted.from.addr != p.to.addr || !is_sound(b, &p))
        {
            return Outcome::Drop(Reason::NoTranslation);
        }
        let Some(aftr) = settings.aftr else { return Outcome::Drop(Reason::NoTranslation) };
        // The router's own errors about packets of users keep their time to live.
        if !b.flags.contains(Flags::LOCAL) && !Ip4::pass(b) {
            return Outcome::TimeExpired;
        }
        let Some((keys, _)) = flows.get(at) else { return Outcome::Drop(Reason::Unknown) };
        let (inside, b4) = (keys[OUTWARD].end(), keys[OUTWARD].b4());
        match quoted {
            None => {
                note(&mut flows, (at, INWARD), (b, &p), (now, settings));
                rewrite(b, &p, (from_of(&p, inside), inside));
            }
            Some(quoted) => {
                let to = to_of(&Packet { to: quoted.to, protocol, ..p }, inside);
                quoted.change(b, (p.at, p.upper), (inside, to));
                change_addresses(b, &p, (p.from.addr, inside.addr));
            }
        }
        match outer::put(b, (aftr, b4), TableIndex::DEFAULT, self.l4) {
            true => Outcome::Translated(at),
            false => Outcome::Drop(Reason::Unknown),
        }
    }

    /// Ends sessions whose time has ended. Returns true if there are more.
    pub fn tick(&self, (now, turn): (u64, &Turn<'_>)) -> bool {
        let Some(mut flows) = self.flows.of(self.thread, turn) else { return false };
        flows.expire(now, crate::flows::AT_A_TICK)
    }
}

/// The packet that an error quotes.
#[inline(always)]
fn quoted(b: &Buffer, p: &Packet) -> Option<Quoted> {
    if p.is_error() && !p.later { Quoted::read(b, p.upper) } else { None }
}

/// True for an error whose checksum is right. The router's own aren't verified.
fn is_sound(b: &Buffer, p: &Packet) -> bool {
    b.flags.contains(Flags::LOCAL) || is_intact(b, (p.at, p.upper))
}

/// The destination of a translated packet of a user: a query of ICMP has one identifier for both
/// ends.
#[inline(always)]
fn to_of(p: &Packet, own: End) -> End {
    let is_icmp = p.protocol == IpProtocol::ICMP;
    if is_icmp { End::new(p.to.addr, own.port) } else { p.to }
}

/// The source of a translated packet of the world.
#[inline(always)]
fn from_of(p: &Packet, own: End) -> End {
    let is_icmp = p.protocol == IpProtocol::ICMP;
    if is_icmp { End::new(p.from.addr, own.port) } else { p.from }
}

#[inline(always)]
fn note(
    flows: &mut Flows,
    of: (u32, usize),
    (b, p): (&Buffer, &Packet),
    (now, settings): (u64, &Settings),
) {
    let flags = (p.protocol == IpProtocol::TCP && !p.later).then_some(TcpFlags(p.kind));
    flows.note(of, (flags, b.packet_len()), (now, &settings.timeouts));
}

/// Gives an error other addresses.
fn change_addresses(b: &mut Buffer, p: &Packet, (from, to): (Ipv4Addr, Ipv4Addr)) {
    let new = (End::new(from, 0), End::new(to, 0));
    if let Some(bytes) = b.data_mut().get_mut(p.at..) {
        change(bytes, (None, false), p.protocol, ((p.from, p.to), new));
    }
}

/// Translates a user's error about a packet that it has received, with the quotation.
#[inline(never)]
fn outward_error(b: &mut Buffer, of: OfUser, flows: &Flows, now: u64) -> Outcome {
    let (p, none) = (of.p, Outcome::Drop(Reason::NoTranslation));
    let Some(quoted) = quoted(b, &p).filter(|_| is_sound(b, &p)) else { return none };
    let key = Key::inside(of.b4, quoted.to, quoted.protocol);
    let Some((at, OUTWARD)) = flows.live(&key, now) else { return none };
    let Some((keys, _)) = flows.get(at) else { return none };
    let outside = keys[INWARD].end();
    let from = from_of(&Packet { from: quoted.from, protocol: quoted.protocol, ..p }, outside);
    quoted.change(b, (p.at, p.upper), (from, outside));
    // Whichever host behind the B4 sends it: the world knows the user's address alone.
    change_addresses(b, &p, (outside.addr, p.to.addr));
    Outcome::Translated(at)
}
