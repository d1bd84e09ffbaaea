// SPDX-License-Identifier: Apache-2.0
//! The way of a packet through translation: the parts that both directions share.

use crate::flows::{AllFlows, Displaced, Flows};
use crate::key::{End, Key, User, has_ports};
use crate::packet::{Packet, rewrite};
use crate::session::{SessionFlags, translated};
use crate::settings::{PoolAddress, Settings, role};
use crate::state::{Counters, Nat};
use ::nat::around::Around;
pub use ::nat::around::Place;
use ::nat::counters::Lanes;
use ::nat::egress::Egress;
use ::nat::log::Lack;
use buffer::{Buffer, Flags};
use graph::{ThreadIndex, World};
use std::net::Ipv4Addr;
use std::sync::Arc;
use sync::Turn;
use wire::{IpProtocol, TcpFlags};

/// Addresses of a pool that are tried for a user whose own has no port left.
const ADDRESSES: usize = 64;

/// The reason for a packet's drop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reason {
    /// No port or address is left.
    OutOfPorts,
    /// There are too many sessions.
    TooManySessions,
    /// A TCP segment that begins no connection.
    NonSyn,
    /// A message of ICMP that isn't translated.
    IcmpType,
    /// Something without the headers of its protocol.
    Protocol,
    /// An error of ICMP that quotes nothing known, or is damaged.
    Untranslatable,
    /// Nothing maps it.
    NoTranslation,
    /// Its TCP connection has ended.
    TcpClosed,
    /// Another session has its key.
    KeyTaken,
}

/// The outcome for a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// It was translated, by the session at this index.
    Translated(u32),
    /// It goes on as it is.
    Passed,
    /// The slow path decides.
    Slow,
    /// Its hops are used up.
    TimeExpired,
    /// The packet is dropped, for this reason.
    Drop(Reason),
}

/// The state of a thread's nodes.
pub struct Engine {
    pub nat: Arc<Nat>,
    pub flows: Arc<AllFlows>,
    pub thread: ThreadIndex,
    pub around: Around,
    lanes: Lanes,
}

impl Engine {
    pub fn new(world: &World, thread: ThreadIndex) -> Self {
        Self {
            nat: world.get(),
            flows: world.get(),
            thread,
            around: Around::new(world),
            lanes: world.get::<Counters>().lanes(thread),
        }
    }

    /// Translates a packet of a known session; all others are for the slow path.
    #[inline(always)]
    pub fn fast(
        &self,
        b: &mut Buffer,
        place: Place,
        (now, turn): (u64, &Turn<'_>),
    ) -> (Outcome, Option<Packet>) {
        let settings = self.nat.settings(turn);
        if !settings.enabled {
            return (Outcome::Passed, None);
        }
        let packet = self.around.read(b, place);
        let Some(p) = packet else { return (Outcome::Slow, None) };
        if !has_ports(p.protocol) || p.protocol == IpProtocol::ICMP && !p.is_echo() {
            return (Outcome::Slow, packet);
        }
        let fib = self.around.table(b, place, turn);
        let Some(mut flows) = self.flows.of(self.thread, turn) else {
            return (Outcome::Slow, packet);
        };
        let Some(found) = flows.live(&p.key(fib), now) else { return (Outcome::Slow, packet) };
        let mut work = Work { engine: self, flows: &mut flows, settings, now, turn, p, fib, place };
        (work.translate(b, found), packet)
    }

    /// Decides about a packet without a session that the fast path knows.
    #[inline(never)]
    pub fn slow(
        &self,
        b: &mut Buffer,
        place: Place,
        (now, turn): (u64, &Turn<'_>),
    ) -> (Outcome, Option<Packet>) {
        let settings = self.nat.settings(turn);
        if !settings.enabled {
            return (Outcome::Passed, None);
        }
        let packet = self.around.read(b, place);
        let Some(p) = packet else { return (Outcome::Drop(Reason::Protocol), None) };
        let fib = self.around.table(b, place, turn);
        let Some(mut flows) = self.flows.of(self.thread, turn) else {
            return (Outcome::Drop(Reason::Untranslatable), packet);
        };
        flows.follow(self.nat.generation(), settings, self.thread);
        let mut work = Work { engine: self, flows: &mut flows, settings, now, turn, p, fib, place };
        let outcome = match place {
            Place::In2Out | Place::Output => work.outward(b),
            Place::Out2In => work.inward(b),
        };
        if outcome == Outcome::Drop(Reason::OutOfPorts) {
            flows.logger.lack(Lack::Addresses(0));
        }
        (outcome, packet)
    }

    /// Sessions that users have lost to others for the last packets.
    pub fn displaced(&self, turn: &Turn<'_>) -> Displaced {
        let flows = self.flows.of(self.thread, turn);
        flows.map_or(Displaced::default(), |mut flows| flows.take_displaced())
    }

    /// Counts what became of a packet.
    #[inline(always)]
    pub fn count(
        &self,
        (place, slow): (Place, bool),
        b: &Buffer,
        (outcome, p): (Outcome, Option<Packet>),
    ) {
        let sw_if = if place == Place::Output { b.tx_if } else { b.rx_if };
        let path = (place == Place::Out2In, slow);
        match (outcome, p) {
            (Outcome::Translated(_), Some(p)) => self.lanes.count_translated(path, &p, sw_if),
            (Outcome::Drop(_), _) => self.lanes.count_drop(path, sw_if),
            _ => {}
        }
    }

    /// Ends sessions whose time has ended. Returns true if there are more.
    pub fn tick(&self, (now, turn): (u64, &Turn<'_>)) -> bool {
        let Some(mut flows) = self.flows.of(self.thread, turn) else { return false };
        flows.expire(now, crate::flows::AT_A_TICK)
    }
}

/// The work on one packet.
pub struct Work<'a, 't> {
    pub engine: &'a Engine,
    pub flows: &'a mut Flows,
    pub settings: &'a Settings,
    pub now: u64,
    pub turn: &'a Turn<'t>,
    pub p: Packet,
    /// Index of the table that the packet came in by.
    pub fib: u32,
    pub place: Place,
}

impl Work<'_, '_> {
    /// Translates the packet by its session.
    #[inline(always)]
    pub fn translate(&mut self, b: &mut Buffer, (at, direction): (u32, usize)) -> Outcome {
        let Some((keys, session)) = self.flows.get(at) else { return Outcome::Slow };
        let (keys, flags) = (*keys, session.flags);
        let bypass = flags.contains(SessionFlags::BYPASS);
        // RFC 1812 5.3.1; what leaves has given its hop already.
        if self.place != Place::Output && self.p.ttl <= 1 && !bypass {
            return Outcome::TimeExpired;
        }
        let tcp_flags = if self.p.later { 0 } else { self.p.kind };
        let bytes = b.packet_len() - self.p.at;
        let (now, settings) = (self.now, self.settings);
        self.flows.note((at, direction), (tcp_flags, bytes), (now, settings));
        if bypass {
            return Outcome::Translated(at);
        }
        let new = translated(&keys, direction);
        rewrite(b, &self.p, new);
        self.clamp(b);
        self.engine.around.note_ports(b, new);
        if flags.contains(SessionFlags::HAIRPIN) {
            self.engine.lanes.count_hairpin(b.rx_if);
        }
        self.look_up_in(b, keys[1 - direction].fib());
        Outcome::Translated(at)
    }

    /// Has the packet looked up in a table.
    #[inline(always)]
    pub fn look_up_in(&self, b: &mut Buffer, fib: u32) {
        if self.place != Place::Output && fib != self.fib {
            b.tx_if = fib;
            b.flags.insert(Flags::TABLE);
        }
    }

    /// Lowers the MSS that a TCP connection asks for.
    #[inline(always)]
    fn clamp(&self, b: &mut Buffer) {
        let is_syn = TcpFlags(self.p.kind).contains(TcpFlags::SYN);
        let is_tcp = self.p.protocol == IpProtocol::TCP && !self.p.later;
        if self.settings.mss != 0 && is_tcp && is_syn {
            mss_clamp::lower(b, self.p.at, self.settings.mss);
        }
    }

    /// An address with a port for the source of the packet, out of a pool, for a session of this
    /// user. `key` gives the key of answers, and `wanted` is the port that is kept if it is free.
    pub fn allocate(
        &mut self,
        pool: &[PoolAddress],
        (user, output): (User, Option<u32>),
        key: impl Fn(End) -> Key,
        wanted: Option<u16>,
    ) -> Option<End> {
        let of = (user.fib, output);
        let once = |work: &mut Self| {
            work.first_of(pool, of, |work, addr| work.allocate_of(addr, &key, wanted))
        };
        if let Some(end) = once(self) {
            return Some(end);
        }
        if self.flows.give_back(self.now)
            && let Some(end) = once(self)
        {
            return Some(end);
        }
        self.first_of(pool, of, |work, addr| work.take_of(addr, &key, user))
    }

    /// The first result of `get` for addresses of a pool, in the order in which the packet's user
    /// gets them.
    fn first_of(
        &mut self,
        pool: &[PoolAddress],
        (fib, output): (u32, Option<u32>),
        mut get: impl FnMut(&mut Self, Ipv4Addr) -> Option<End>,
    ) -> Option<End> {
        let n = pool.len();
        let first = crate::key::spread_of(self.p.from.addr) as usize % n.max(1);
        let to = self.p.to.addr;
        let near = |address: &PoolAddress| match (address.of, output) {
            (Some((sw_if, _)), Some(output)) => sw_if == output,
            (Some((_, network)), None) => network.contains(to),
            _ => false,
        };
        let own = pool.iter().any(|address| address.fib.is_some());
        // Addresses of the users' own table come first, and of these the ones of the network that
        // the packet goes to.
        let ranks: [&dyn Fn(&PoolAddress) -> bool; 3] = [
            &|address| address.fib == Some(fib) && near(address),
            &|address| address.fib == Some(fib) && !near(address),
            &|address| address.fib.is_none(),
        ];
        let ranks = if own { &ranks[..] } else { &ranks[2..] };
        let mut tried = 0;
        for rank in ranks {
            for address in (0..n).rev().map(|i| &pool[(first + i) % n]).filter(|of| rank(of)) {
                if let Some(end) = get(self, address.addr) {
                    return Some(end);
                }
                tried += 1;
                if tried == ADDRESSES {
                    return None;
                }
            }
        }
        None
    }

    /// A port of an address.
    fn allocate_of(
        &mut self,
        addr: Ipv4Addr,
        key: &impl Fn(End) -> Key,
        wanted: Option<u16>,
    ) -> Option<End> {
        let protocol = self.p.protocol;
        if !has_ports(protocol) {
            let end = End::new(addr, 0);
            return self.flows.is_free(&key(end)).then_some(end);
        }
        let mappings = &self.engine.nat.mappings;
        let taken = |port| mappings.by_port(End::new(addr, port), protocol, self.turn).is_some();
        let port = self.flows.choose_port(wanted, |port| key(End::new(addr, port)), taken)?;
        Some(End::new(addr, port))
    }

    /// A port of an address that has none left, from the user who has most.
    fn take_of(&mut self, addr: Ipv4Addr, key: &impl Fn(End) -> Key, user: User) -> Option<End> {
        let protocol = self.p.protocol;
        if !has_ports(protocol) {
            return None;
        }
        let mappings = &self.engine.nat.mappings;
        let taken = |port| mappings.by_port(End::new(addr, port), protocol, self.turn).is_some();
        let port = self.flows.take_port(user, |port| key(End::new(addr, port)), taken)?;
        Some(End::new(addr, port))
    }

    /// True for an interface that users' packets leave by.
    pub fn is_outside(&self, egress: Egress) -> bool {
        matches!(egress, Egress::By(sw_if) if self.settings.role(sw_if) & role::OUTSIDE != 0)
    }

    /// Index of the table that users' packets to this destination leave by.
    pub fn outside_table(&self) -> u32 {
        let to = self.p.to.addr;
        let leads =
            |fib: &u32| self.engine.around.routes.egress(*fib, to, self.turn) != Egress::None;
        if let Some(routes) = self.settings.routes.get(&self.fib) {
            return routes.iter().copied().find(leads).unwrap_or(self.settings.outside);
        }
        match &self.settings.outsides[..] {
            [] => self.settings.outside,
            [one] => *one,
            many => many.iter().copied().find(leads).unwrap_or(self.settings.outside),
        }
    }
}
