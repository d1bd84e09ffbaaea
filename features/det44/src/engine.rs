// SPDX-License-Identifier: Apache-2.0
//! The path of a packet through translation.

use crate::flows::{AllFlows, Flows, Refused, WORLD};
use crate::map::Map;
use crate::session::{INWARD, OUTWARD};
use crate::settings::{Det, Settings, role};
use buffer::{Buffer, Field, Flags};
use graph::{ThreadIndex, World};
use ip::table_of;
use nat::egress::{Egress, Routes};
use nat::key::{End, Key, has_ports};
use nat::packet::{Packet, change, rewrite};
use nat::quoted::{Quoted, is_intact};
use net::{Addresses, Interfaces, L4};
use std::net::Ipv4Addr;
use std::sync::Arc;
use sync::Turn;
use wire::{Icmp4Type, Ip4, IpProtocol};

/// The side that a packet comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    /// Of users.
    Inside,
    /// Of the world.
    Outside,
}

/// The reason why a packet isn't translated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reason {
    /// No map, or no session.
    NoTranslation,
    /// Neither TCP nor UDP nor ICMP, or without their headers.
    Protocol,
    /// ICMP that is neither an echo message nor an error.
    IcmpType,
    /// An ICMP error with a wrong checksum.
    Damaged,
    /// Its hops are used up.
    TimeExpired,
    /// No port is free.
    OutOfPorts,
    /// The user has as many sessions as it may have.
    TooMany,
    /// The thread has as many sessions as it may have.
    Full,
}

/// The outcome for a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// It was translated, by the session at this index.
    Translated(u32),
    /// It goes on as it is.
    Passed,
    /// Another thread has the user's sessions.
    Elsewhere(u16),
    /// It isn't translated.
    Refused(Reason),
}

/// The state of a thread's nodes.
pub struct Engine {
    det: Arc<Det>,
    flows: Arc<AllFlows>,
    thread: ThreadIndex,
    routes: Routes<Ip4>,
    addresses: Arc<Addresses<Ip4>>,
    interfaces: Arc<Interfaces>,
    l4: Field<L4>,
}

impl Engine {
    /// Of a thread.
    pub fn new(world: &World, thread: ThreadIndex) -> Self {
        Self {
            det: world.get(),
            flows: world.get(),
            thread,
            routes: Routes::new(world),
            addresses: world.get(),
            interfaces: world.get(),
            l4: world.field(),
        }
    }

    /// Reads a packet.
    #[inline(always)]
    pub fn read(&self, b: &Buffer) -> Option<Packet> {
        Packet::read(b, 0, b.find_field(self.l4))
    }

    /// The user that a packet belongs to, with its map. An error belongs to the user of the packet
    /// that it quotes.
    #[inline(always)]
    fn user<'s>(
        &self,
        (p, quoted): (&Packet, Option<&Quoted>),
        side: Side,
        settings: &'s Settings,
    ) -> Option<(Ipv4Addr, &'s Map)> {
        let maps = &settings.maps;
        match side {
            Side::Inside => {
                let user = quoted.map_or(p.from, |quoted| quoted.to).addr;
                Some((user, maps.of_user(user)?))
            }
            Side::Outside => {
                let outside = quoted.map_or(p.to, |quoted| quoted.from);
                let map = maps.of_outside(outside.addr)?;
                Some((map.reverse(outside)?, map))
            }
        }
    }

    /// The packet that an error quotes.
    #[inline(always)]
    fn quoted(b: &Buffer, p: &Packet) -> Option<Quoted> {
        if p.is_error() && !p.later { Quoted::read(b, p.upper) } else { None }
    }

    /// The thread of a packet's user, if it is another one.
    pub fn elsewhere(
        &self,
        b: &Buffer,
        side: Side,
        packet: Option<Packet>,
        turn: &Turn<'_>,
    ) -> Option<u16> {
        let settings = self.det.settings(turn);
        let p = packet?;
        let quoted = Self::quoted(b, &p);
        let (user, _) = self.user((&p, quoted.as_ref()), side, settings)?;
        Some(settings.thread_of(user)).filter(|thread| *thread != self.thread.0)
    }

    /// Translates a packet.
    #[inline(always)]
    pub fn translate(
        &self,
        b: &mut Buffer,
        side: Side,
        packet: Option<Packet>,
        (now, turn): (u64, &Turn<'_>),
    ) -> Outcome {
        let settings = self.det.settings(turn);
        if !settings.enabled {
            return Outcome::Passed;
        }
        let Some(p) = packet else { return Outcome::Refused(Reason::Protocol) };
        let fib = table_of::<Ip4>(b, self.interfaces.views(turn)).0;
        let quoted = Self::quoted(b, &p);
        let Some((user, map)) = self.user((&p, quoted.as_ref()), side, settings) else {
            return self.unmapped(b, side, &p, (settings, turn));
        };
        let thread = settings.thread_of(user);
        if thread != self.thread.0 {
            return Outcome::Elsewhere(thread);
        }
        let Some(mut flows) = self.flows.of(self.thread, turn) else {
            return Outcome::Refused(Reason::Full);
        };
        let mut work =
            Work { engine: self, flows: &mut flows, settings, now, turn, p, fib, side, map };
        match quoted {
            Some(quoted) => work.error(b, &quoted),
            None => work.packet(b),
        }
    }

    /// Decides about a packet of no user. Between interfaces that have both roles it may be one of
    /// the other direction.
    #[inline(never)]
    fn unmapped(
        &self,
        b: &Buffer,
        side: Side,
        p: &Packet,
        (settings, turn): (&Settings, &Turn<'_>),
    ) -> Outcome {
        let both = settings.role(b.rx_if) == role::INSIDE | role::OUTSIDE;
        if both || self.is_own(b, p, turn) {
            return Outcome::Passed;
        }
        let of_users = side == Side::Inside;
        let fib = table_of::<Ip4>(b, self.interfaces.views(turn)).0;
        if of_users && !self.leads_outside(p.to.addr, fib, (settings, turn)) {
            return Outcome::Passed;
        }
        let known = has_ports(p.protocol);
        Outcome::Refused(if known { Reason::NoTranslation } else { Reason::Protocol })
    }

    /// True for a packet to an address of the interface that it came in by.
    fn is_own(&self, b: &Buffer, p: &Packet, turn: &Turn<'_>) -> bool {
        self.addresses.of(b.rx_if, turn).iter().any(|own| own.addr() == p.to.addr)
    }

    /// True if packets to an address leave by an interface to the world, by the table that they
    /// came in by, or else by one of such an interface. What leads nowhere isn't for the lookup to
    /// send there.
    fn leads_outside(
        &self,
        to: Ipv4Addr,
        fib: u32,
        (settings, turn): (&Settings, &Turn<'_>),
    ) -> bool {
        let is_outside = |egress| matches!(egress, Egress::By(sw_if) if settings.role(sw_if) & role::OUTSIDE != 0);
        let first = self.routes.egress(fib, to, turn);
        if first != Egress::None {
            return is_outside(first);
        }
        let others = settings.outsides.iter().map(|fib| self.routes.egress(*fib, to, turn));
        others.into_iter().find(|egress| *egress != Egress::None).is_some_and(is_outside)
    }

    /// Ends sessions whose time has ended. Returns true if there are more.
    pub fn tick(&self, (now, turn): (u64, &Turn<'_>)) -> bool {
        let Some(mut flows) = self.flows.of(self.thread, turn) else { return false };
        flows.expire(now, crate::flows::AT_A_TICK)
    }
}

/// The work on one packet of a user that this thread has.
struct Work<'a, 't> {
    engine: &'a Engine,
    flows: &'a mut Flows,
    settings: &'a Settings,
    now: u64,
    turn: &'a Turn<'t>,
    p: Packet,
    /// Index of the table that the packet came in by.
    fib: u32,
    side: Side,
    map: &'a Map,
}

impl Work<'_, '_> {
    /// The key of a packet between these ends.
    fn key(&self, from: End, to: End, protocol: IpProtocol) -> Key {
        let fib = if self.side == Side::Inside { self.fib } else { WORLD };
        Key::new(from, to, fib, protocol)
    }

    /// Translates a packet that is no error.
    #[inline(always)]
    fn packet(&mut self, b: &mut Buffer) -> Outcome {
        let p = self.p;
        let is_query = p.protocol != IpProtocol::ICMP || p.is_echo();
        if !has_ports(p.protocol) || !is_query {
            return self.untranslatable(b);
        }
        let key = self.key(p.from, p.to, p.protocol);
        let found = match self.flows.find(&key, self.now) {
            Some(found) => found,
            None => match self.new_session(b, key) {
                Ok(at) => (at, OUTWARD),
                Err(outcome) => return outcome,
            },
        };
        // RFC 1812 5.3.1.
        if p.ttl <= 1 {
            return Outcome::Refused(Reason::TimeExpired);
        }
        let Some((keys, _)) = self.flows.get(found.0) else { return Outcome::Passed };
        let keys = *keys;
        let flags = (p.protocol == IpProtocol::TCP && !p.later).then_some(p.kind);
        let is_last = self.flows.note(found, flags, (self.now, &self.settings.timeouts));
        let new = Flows::translated(&keys, found.1);
        rewrite(b, &p, new);
        if let Some(mut l4) = b.find_field(self.engine.l4) {
            (l4.src_port, l4.dst_port) = (new.0.port, new.1.port);
            b.set_field(self.engine.l4, l4);
        }
        self.look_up(b, &keys);
        if is_last {
            self.flows.remove(found.0);
        }
        Outcome::Translated(found.0)
    }

    /// Makes the session of a user's packet.
    #[inline(never)]
    fn new_session(&mut self, b: &Buffer, key: Key) -> Result<u32, Outcome> {
        let p = self.p;
        if self.side == Side::Outside {
            return Err(self.untranslatable(b));
        }
        if self.passes() {
            return Err(Outcome::Passed);
        }
        if p.protocol == IpProtocol::ICMP && p.kind != Icmp4Type::ECHO_REQUEST.0 {
            return Err(Outcome::Refused(Reason::IcmpType));
        }
        if p.ttl <= 1 {
            return Err(Outcome::Refused(Reason::TimeExpired));
        }
        let range = self.map.forward(p.from.addr);
        let range = range.ok_or(Outcome::Refused(Reason::NoTranslation))?;
        let times = (self.now, &self.settings.timeouts);
        self.flows.make(key, (self.map, range), times).map_err(|refused| {
            Outcome::Refused(match refused {
                Refused::TooMany => Reason::TooMany,
                Refused::Ports => Reason::OutOfPorts,
                Refused::Full => Reason::Full,
            })
        })
    }

    /// True for a user's packet that doesn't leave to the world.
    fn passes(&self) -> bool {
        !self.engine.leads_outside(self.p.to.addr, self.fib, (self.settings, self.turn))
    }

    /// Decides about a packet without a session that can't have one.
    #[inline(never)]
    fn untranslatable(&self, b: &Buffer) -> Outcome {
        let p = self.p;
        let passes = match self.side {
            Side::Inside => self.passes(),
            Side::Outside => self.engine.is_own(b, &p, self.turn),
        };
        if passes {
            return Outcome::Passed;
        }
        Outcome::Refused(match p.protocol {
            IpProtocol::ICMP if !p.is_echo() && !p.is_error() => Reason::IcmpType,
            protocol if has_ports(protocol) => Reason::NoTranslation,
            _ => Reason::Protocol,
        })
    }

    /// Translates an error, and the packet that it quotes (RFC 5508 4).
    fn error(&mut self, b: &mut Buffer, quoted: &Quoted) -> Outcome {
        let p = self.p;
        if !b.flags.contains(Flags::LOCAL) && !is_intact(b, (p.at, p.upper)) {
            return Outcome::Refused(Reason::Damaged);
        }
        let key = self.key(quoted.to, quoted.from, quoted.protocol);
        let found = self.flows.find(&key, self.now);
        let Some((at, direction)) = found else { return self.untranslatable(b) };
        let Some((keys, _)) = self.flows.get(at) else { return Outcome::Passed };
        let keys = *keys;
        // The quoted packet went the other way.
        let new = Flows::translated(&keys, direction);
        quoted.change(b, (p.at, p.upper), (new.1, new.0));
        // A router of the world keeps its address; one of users gets theirs, which the world knows.
        let from = if direction == INWARD { p.from.addr } else { new.0.addr };
        let to = if direction == INWARD { new.1.addr } else { p.to.addr };
        let ends = (End::new(from, 0), End::new(to, 0));
        if let Some(bytes) = b.data_mut().get_mut(p.at..) {
            change(bytes, (None, false), p.protocol, ((p.from, p.to), ends));
        }
        self.look_up(b, &keys);
        Outcome::Translated(at)
    }

    /// Has a translated packet looked up in the user's table, or in one of the world's.
    #[inline(always)]
    fn look_up(&self, b: &mut Buffer, keys: &[Key; 2]) {
        let fib = match self.side {
            Side::Outside => keys[OUTWARD].fib(),
            Side::Inside => self.outside_table(keys[OUTWARD].to().addr),
        };
        if fib != self.fib {
            b.tx_if = fib;
            b.flags.insert(Flags::TABLE);
        }
    }

    /// Index of the table that leads to an address of the world.
    #[inline(always)]
    fn outside_table(&self, to: Ipv4Addr) -> u32 {
        let leads = |fib: &u32| self.engine.routes.egress(*fib, to, self.turn) != Egress::None;
        match &self.settings.outsides[..] {
            [] => self.settings.outside,
            [one] => *one,
            many => many.iter().copied().find(leads).unwrap_or(self.settings.outside),
        }
    }
}
