// SPDX-License-Identifier: Apache-2.0
//! The way of a packet through translation: the parts that both directions share.

use crate::flows::{AllFlows, Flows, Refused};
use crate::session::{INWARD, OUTWARD, inside_key, outside_key};
use crate::settings::{Settings, role, tick};
use crate::state::{Counters, Nat};
use ::nat::around::Around;
pub use ::nat::around::Place;
use ::nat::counters::Lanes;
use ::nat::egress::Egress;
use ::nat::key::{End, User, has_ports};
use ::nat::packet::{Packet, rewrite};
use buffer::{Buffer, Flags};
use graph::{Cx, Next, ThreadIndex, World};
use std::sync::Arc;
use sync::Turn;
use wire::{Icmp4Type, IpProtocol, TcpFlags};

/// The reason for a packet's drop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reason {
    /// No port is left.
    OutOfPorts,
    /// There are too many sessions.
    TooManySessions,
    /// There are too many users.
    TooManyUsers,
    /// The world has no table.
    NoOutsideTable,
    /// A message of ICMP that isn't translated.
    IcmpType,
    /// A protocol without ports whose address isn't mapped, or something without the headers of its
    /// protocol.
    Protocol,
    /// Nothing maps it.
    NoTranslation,
}

impl From<Refused> for Reason {
    fn from(refused: Refused) -> Self {
        match refused {
            Refused::Users => Self::TooManyUsers,
            Refused::Sessions => Self::TooManySessions,
            Refused::Taken => Self::OutOfPorts,
        }
    }
}

/// The outcome for a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// It was translated, by the session at this index.
    Translated(u32),
    /// It was translated by a static mapping, without a session.
    Mapped,
    /// Its source was translated, and this thread has the session of its destination.
    Elsewhere(u16),
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
    pub lanes: Lanes,
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

    /// Index of the table that a packet came in by. Packets of the world that come by a route to
    /// the pool are in the world's table.
    #[inline(always)]
    pub fn table(&self, b: &Buffer, place: Place, turn: &Turn<'_>) -> u32 {
        let settings = self.nat.settings(turn);
        match settings.outside {
            Some(outside) if settings.dpo && place == Place::Out2In => outside,
            _ => self.around.table(b, place, turn),
        }
    }

    /// Index of the interface that a user is behind by the routes; 0 if they lead to none.
    pub fn interface_of(&self, user: User, turn: &Turn<'_>) -> u32 {
        match self.around.routes.egress(user.fib, user.addr, turn) {
            Egress::By(sw_if) => sw_if,
            Egress::None | Egress::Here => 0,
        }
    }

    /// Runs a packet through the thread's sessions.
    #[inline(always)]
    pub fn work(
        &self,
        b: &mut Buffer,
        place: Place,
        (now, turn): (u64, &Turn<'_>),
        f: impl FnOnce(&mut Work<'_, '_>, &mut Buffer) -> Outcome,
    ) -> (Outcome, Option<Packet>) {
        let settings = self.nat.settings(turn);
        if !settings.enabled {
            return (Outcome::Passed, None);
        }
        let Some(p) = self.around.read(b, place) else {
            return (Outcome::Drop(Reason::Protocol), None);
        };
        let fib = self.table(b, place, turn);
        let Some(mut flows) = self.flows.of(self.thread, turn) else {
            return (Outcome::Drop(Reason::NoTranslation), Some(p));
        };
        let mut work = Work { engine: self, flows: &mut flows, settings, now, turn, p, fib, place };
        (f(&mut work, b), Some(p))
    }

    /// Sessions that users have lost to others for the last packets.
    pub fn displaced(&self, turn: &Turn<'_>) -> u32 {
        self.flows.of(self.thread, turn).map_or(0, |mut flows| flows.take_displaced())
    }

    /// Counts what became of a packet. All packets of the world count as those of the slow path, as
    /// in VPP.
    #[inline(always)]
    pub fn count(
        &self,
        (place, slow): (Place, bool),
        b: &Buffer,
        (outcome, p): (Outcome, Option<Packet>),
    ) {
        let sw_if = if place == Place::Output { b.tx_if } else { b.rx_if };
        let inward = place == Place::Out2In;
        let path = (inward, slow || inward);
        match (outcome, p) {
            (Outcome::Translated(_) | Outcome::Mapped | Outcome::Elsewhere(_), Some(p)) => {
                self.lanes.count_translated(path, &p, sw_if);
            }
            (Outcome::Drop(_), _) => self.lanes.count_drop(path, sw_if),
            _ => {}
        }
    }

    /// Ends sessions whose time has ended, and has events for the other router go out. Returns true
    /// if there are more sessions.
    pub fn tick(&self, (now, turn): (u64, &Turn<'_>)) -> bool {
        let Some(mut flows) = self.flows.of(self.thread, turn) else { return false };
        let more = flows.expire(now, crate::flows::AT_A_TICK);
        flows.outbox.tick(tick(now));
        more
    }

    /// Sends the events for the other router that are to go out, along an edge of a node.
    #[inline(always)]
    pub fn send_events<N: Next, const TRACED: bool>(&self, to: N, cx: &mut Cx<'_, TRACED>) {
        let has_ready =
            |turn| self.flows.of(self.thread, turn).is_some_and(|flows| flows.outbox.has_ready());
        while has_ready(cx.turn) {
            let Some(mut b) = cx.alloc_own() else { break };
            let flows = self.flows.of(self.thread, cx.turn);
            match flows.is_some_and(|mut flows| flows.outbox.next(&mut b)) {
                true => cx.emit(to, b),
                false => cx.free(b),
            }
        }
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
    /// Translates a user's packet of a known session; all others are for the slow path.
    #[inline(always)]
    pub fn fast(&mut self, b: &mut Buffer) -> Outcome {
        let p = &self.p;
        if !has_ports(p.protocol) || p.protocol == IpProtocol::ICMP && !p.is_echo() {
            return Outcome::Slow;
        }
        match self.flows.live(&inside_key(p.from, self.fib, p.protocol), self.now) {
            Some((at, OUTWARD)) if self.is_for_the_world() => self.translate_outward(b, at),
            _ => Outcome::Slow,
        }
    }

    /// Translates the packet by its user's session.
    #[inline(always)]
    pub fn translate_outward(&mut self, b: &mut Buffer, at: u32) -> Outcome {
        let Some((keys, _)) = self.flows.get(at) else { return Outcome::Slow };
        let outside = keys[INWARD].to();
        // RFC 1812 5.3.1; what leaves has given its hop already.
        if self.place != Place::Output && self.p.ttl <= 1 {
            return Outcome::TimeExpired;
        }
        self.note(b, (at, OUTWARD));
        self.put_outward(b, outside, Outcome::Translated(at))
    }

    /// Gives a user's packet its new source, and if it goes to another user, a new destination.
    #[inline(always)]
    pub fn put_outward(&mut self, b: &mut Buffer, outside: End, done: Outcome) -> Outcome {
        let p = self.p;
        if self.place == Place::Output {
            self.put(b, (outside, p.to));
            return done;
        }
        let is_known = self.settings.is_pool(p.to.addr) || !self.engine.nat.mappings.is_empty();
        if is_known {
            return self.hairpin(b, outside, done);
        }
        self.put(b, (outside, p.to));
        if self.settings.dpo
            && let Some(fib) = self.settings.outside
        {
            self.look_up_in(b, fib);
        }
        done
    }

    /// Translates a packet of the world by the session that it goes to.
    #[inline(always)]
    pub fn translate_inward(&mut self, b: &mut Buffer, at: u32) -> Outcome {
        let Some((keys, session)) = self.flows.get(at) else { return Outcome::Slow };
        let (inside, fib) = (keys[OUTWARD].from(), keys[OUTWARD].fib());
        let p = self.p;
        let is_query = p.protocol == IpProtocol::ICMP && !p.later;
        if is_query && p.kind == Icmp4Type::ECHO_REQUEST.0 && !session.is_static() {
            return Outcome::Drop(Reason::IcmpType);
        }
        if p.ttl <= 1 {
            return Outcome::TimeExpired;
        }
        self.note(b, (at, INWARD));
        self.put_inward(b, inside, fib);
        Outcome::Translated(at)
    }

    /// Gives a packet of the world its new destination, in a table.
    #[inline(always)]
    pub fn put_inward(&self, b: &mut Buffer, inside: End, fib: u32) {
        let mut from = self.p.from;
        if self.p.protocol == IpProtocol::ICMP {
            // A query has one identifier for both ends.
            from.port = inside.port;
        }
        self.put(b, (from, inside));
        self.look_up_in(b, fib);
    }

    /// Records the packet in its session.
    #[inline(always)]
    fn note(&mut self, b: &Buffer, of: (u32, usize)) {
        let tcp_flags = if self.p.later { 0 } else { self.p.kind };
        let bytes = b.packet_len() - self.p.at;
        self.flows.note(of, (tcp_flags, bytes), (self.now, self.settings));
    }

    /// Gives the packet other ends.
    #[inline(always)]
    pub fn put(&self, b: &mut Buffer, new: (End, End)) {
        rewrite(b, &self.p, new);
        self.clamp(b);
        self.engine.around.note_ports(b, new);
    }

    /// Has the packet looked up in a table.
    #[inline(always)]
    pub fn look_up_in(&self, b: &mut Buffer, fib: u32) {
        if self.place != Place::Output && (fib != self.fib || self.settings.dpo) {
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

    /// The session of the world's packets to an end, whichever of the world's tables it is in.
    pub fn live_outside(&self, end: End, protocol: IpProtocol) -> Option<u32> {
        let live = |fib: &u32| self.flows.live(&outside_key(end, *fib, protocol), self.now);
        let found = self.settings.outsides.iter().find_map(live);
        found.filter(|(_, direction)| *direction == INWARD).map(|(at, _)| at)
    }

    /// True for an interface that users' packets leave by.
    pub fn is_outside(&self, egress: Egress) -> bool {
        matches!(egress, Egress::By(sw_if) if self.settings.role(sw_if) & role::OUTSIDE != 0)
    }

    /// Index of the table that users' packets to this destination leave by.
    pub fn outside_table(&self) -> Option<u32> {
        match &self.settings.outsides[..] {
            [] => self.settings.outside,
            [one] => Some(*one),
            many => {
                let routes = &self.engine.around.routes;
                let to = self.p.to.addr;
                let leads = |fib: &u32| routes.egress(*fib, to, self.turn) != Egress::None;
                many.iter().copied().find(leads).or(self.settings.outside)
            }
        }
    }
}
