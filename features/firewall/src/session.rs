// SPDX-License-Identifier: Apache-2.0
//! Sessions: flows that a policy has accepted.
//!
//! A flow has one session, on the thread that owns it ([`net::FlowOwners`]), whichever of its
//! directions a packet goes in. Its key has the two ends in their order as numbers, and the two
//! zones: the direction of a packet is the side that its source has.

use crate::limits::SourceAt;
use crate::packet::{Icmp, Packet};
use crate::settings::{Settings, Timer};
use crate::tcp::{Connection, Phase};
use acl::packet::{PacketUpper, Part, Tuple};
use graph::{PerThread, ThreadIndex, ThreadState, World};
use std::hash::{BuildHasher, RandomState};
use std::net::{Ipv4Addr, Ipv6Addr};
use tables::{AgeList, Mixer, SessionKey, Sessions};
use wire::{Address, Family, Ip4, Ip6, IpProtocol};

/// Nanoseconds of a tick of the timers: 100 ms.
pub const TICK: u64 = 100_000_000;
/// Timers that fire at most in one tick of a node.
pub const AT_A_TICK: usize = 4096;
/// Timers that fire at most for one new session.
pub const AT_ONCE: usize = 8;

/// Lists by the state of sessions, by age. Where the table is full, sessions of the first ones make
/// room.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum State {
    /// Connections that are over.
    Over,
    /// TCP connections whose handshake isn't complete.
    HalfOpen,
    /// Other flows of which no answer was seen.
    Unanswered,
    /// All else.
    Lasting,
}

impl State {
    /// All.
    pub const ALL: [Self; 4] = [Self::Over, Self::HalfOpen, Self::Unanswered, Self::Lasting];
    /// States of sessions that make room for new ones, in this order.
    pub const EXPENDABLE: [Self; 3] = [Self::Over, Self::HalfOpen, Self::Unanswered];

    const fn list(self) -> AgeList {
        AgeList::new(0, self as u32)
    }
}

/// All sessions, by the time of their last judgement.
const JUDGED: AgeList = AgeList::new(1, 0);

/// The key of a flow's session.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Key<A> {
    /// The two ends, the lower first.
    pub ends: [A; 2],
    /// Their ports; identifiers of ICMP queries.
    pub ports: [u16; 2],
    /// The two zones, the lower first.
    pub zones: [u16; 2],
    /// The upper layer's protocol.
    pub protocol: u8,
    /// Type of the request of ICMP queries.
    pub kind: u8,
}

impl<A: Address> SessionKey for Key<A> {
    #[inline(always)]
    fn mix(&self, mixer: Mixer) -> Mixer {
        let [a, b] = self.ends.map(Address::to_octets);
        let mixer = mixer.add_bytes(a.as_ref()).add_bytes(b.as_ref());
        let ports = u64::from(self.ports[0]) << 16 | u64::from(self.ports[1]);
        let zones = u64::from(self.zones[0]) << 16 | u64::from(self.zones[1]);
        mixer.add(ports << 32 | zones).add(u64::from(self.protocol) << 8 | u64::from(self.kind))
    }
}

impl<A: Address> Key<A> {
    /// Of no flow.
    pub const NOTHING: Self =
        Self { ends: [A::ZERO; 2], ports: [0; 2], zones: [0; 2], protocol: 0, kind: 0 };

    /// The key of a packet that goes between two zones, and the side of its source. `None` for ICMP
    /// messages that neither ask nor answer.
    #[inline(always)]
    pub fn of(packet: &Packet<A>, zones: [u16; 2]) -> Option<(Self, usize)> {
        let upper = packet.tuple.upper;
        let (ports, kind) = match packet.icmp {
            None => ([upper.source, upper.destination], 0),
            Some(Icmp::Query { .. }) => {
                let kind = crate::packet::request_of(upper.protocol, upper.source as u8);
                ([packet.id; 2], kind)
            }
            Some(Icmp::Error | Icmp::Other) => return None,
        };
        let (source, destination) = (packet.tuple.source, packet.tuple.destination);
        let [from, to] = ports;
        let side = usize::from((source, from) > (destination, to));
        let (ends, ports) = match side {
            0 => ([source, destination], [from, to]),
            _ => ([destination, source], [to, from]),
        };
        let zones = [zones[0].min(zones[1]), zones[0].max(zones[1])];
        Some((Self { ends, ports, zones, protocol: upper.protocol, kind }, side))
    }

    /// The end of a side, with its port.
    pub fn end(&self, side: usize) -> (A, u16) {
        (self.ends[side & 1], self.ports[side & 1])
    }
}

/// Fields of the packet that made a session, beside its key: it is judged again by them.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct First {
    /// From which zone to which.
    pub zones: [u16; 2],
    /// The interfaces by which it came and left.
    pub interfaces: [u32; 2],
    /// Bytes.
    pub length: u16,
    /// Differentiated services code point.
    pub dscp: u8,
    /// Flags of TCP.
    pub flags: u8,
    /// Code of ICMP.
    pub code: u8,
}

/// A session.
#[derive(Clone, Copy, Default, Debug)]
pub struct Session {
    /// The generation of the rules that it was last judged by.
    pub generation: u32,
    /// The timer that it has.
    pub timer: Timer,
    /// The side of the end that began it.
    pub origin: u8,
    /// True once a packet of the other end was seen.
    pub answered: bool,
    /// True for TCP, whose state `tcp` has.
    pub is_tcp: bool,
    /// Its creation and its end are logged.
    pub log: bool,
    /// State of TCP.
    pub tcp: Connection,
    /// Packets and bytes by side of their source.
    pub counts: [(u32, u64); 2],
    /// Tick of its creation.
    pub since: u32,
    /// The place of the host that began it among those with limits.
    pub source: SourceAt,
    /// The packet that made it.
    pub first: First,
    /// Number of the counters of the rule that accepted it.
    pub rule: u32,
}

impl Session {
    /// The timer that it ought to have.
    #[inline(always)]
    pub fn wanted(&self, protocol: u8) -> Timer {
        if self.is_tcp {
            return match self.tcp.phase() {
                Phase::SynSent | Phase::SynReceived => Timer::TcpOpening,
                Phase::Established => Timer::TcpEstablished,
                Phase::FinWait | Phase::CloseWait | Phase::LastAck => Timer::TcpClosing,
                Phase::TimeWait => Timer::TcpTimeWait,
                Phase::Closed => Timer::TcpClosed,
            };
        }
        match (IpProtocol(protocol), self.answered) {
            (IpProtocol::UDP, false) => Timer::Udp,
            (IpProtocol::UDP, true) => Timer::UdpAnswered,
            (IpProtocol::ICMP | IpProtocol::ICMP6, _) => Timer::Icmp,
            (_, false) => Timer::Other,
            (_, true) => Timer::OtherAnswered,
        }
    }

    /// Its state among the lists.
    pub fn state(&self) -> State {
        match self.is_tcp {
            true if self.tcp.phase().is_over() => State::Over,
            true if self.tcp.phase().is_half_open() => State::HalfOpen,
            false if !self.answered => State::Unanswered,
            _ => State::Lasting,
        }
    }

    /// Its state for people.
    pub fn word(&self) -> &'static str {
        match (self.is_tcp, self.answered) {
            (true, _) => self.tcp.phase().name(),
            (false, false) => "unanswered",
            (false, true) => "answered",
        }
    }

    /// The packet that made it, as rules see it.
    pub fn first_packet<A: Address>(&self, key: &Key<A>) -> Packet<A> {
        let side = usize::from(self.origin & 1);
        let (source, from) = key.end(side);
        let (destination, to) = key.end(1 - side);
        let is_icmp = matches!(IpProtocol(key.protocol), IpProtocol::ICMP | IpProtocol::ICMP6);
        let (from, to) =
            if is_icmp { (key.kind.into(), self.first.code.into()) } else { (from, to) };
        let upper = PacketUpper {
            protocol: key.protocol,
            part: Part::Whole,
            flags: self.first.flags,
            source: from,
            destination: to,
        };
        Packet {
            tuple: Tuple { source, destination, upper },
            id: key.ports[0],
            icmp: is_icmp.then_some(Icmp::Query { asks: true }),
            dscp: self.first.dscp,
            length: self.first.length,
            upper_at: 0,
            later: false,
            more: false,
        }
    }
}

/// Sessions of one protocol on one thread.
pub struct Flows<A: Address> {
    table: Sessions<Key<A>, Session, 2>,
    half_open: u32,
}

impl<A: Address> Flows<A> {
    fn new(thread: ThreadIndex) -> Self {
        let seed = RandomState::new().hash_one(thread);
        let lists = State::ALL.len() as u32;
        Self { table: Sessions::new(seed, u32::MAX, lists), half_open: 0 }
    }

    /// Number of sessions.
    pub fn count(&self) -> usize {
        self.table.len()
    }

    /// Number of TCP connections whose handshake isn't complete.
    pub fn half_open(&self) -> usize {
        self.half_open as usize
    }

    /// Index of a flow's session, whether or not its time has ended.
    #[inline(always)]
    pub fn find(&self, key: &Key<A>) -> Option<u32> {
        self.table.find(key)
    }

    /// Looks the sessions of many flows up together: their memory accesses overlap. A flow without
    /// one gets an index that has none.
    #[inline(always)]
    pub fn find_many(&self, keys: &[Key<A>], found: &mut [u32]) {
        self.table.find_many(keys, found);
    }

    /// True if the session at an index is that of a key.
    #[inline(always)]
    pub fn has_key(&self, at: u32, key: &Key<A>) -> bool {
        self.table.key(at) == Some(key)
    }

    /// True if the time of a session has ended; the timer fires a little later.
    #[inline(always)]
    pub fn is_over(&self, at: u32, now: u64) -> bool {
        self.table.remaining(at, tick(now)) == Some(0)
    }

    /// The session at an index.
    #[inline(always)]
    pub fn get(&self, at: u32) -> Option<&Session> {
        self.table.get(at)
    }

    /// The same, to change it.
    #[inline(always)]
    pub fn get_mut(&mut self, at: u32) -> Option<&mut Session> {
        self.table.get_mut(at)
    }

    /// The key of a session.
    pub fn key(&self, at: u32) -> Option<Key<A>> {
        self.table.key(at).copied()
    }

    /// Records a packet of a session, from a side.
    #[inline(always)]
    pub fn note(
        &mut self,
        at: u32,
        (side, bytes): (usize, u16),
        protocol: u8,
        (now, settings): (u64, &Settings),
    ) {
        let Some(session) = self.table.touch(at, tick(now)) else { return };
        let counts = &mut session.counts[side & 1];
        *counts = (counts.0.wrapping_add(1), counts.1.wrapping_add(bytes.into()));
        session.answered |= side != usize::from(session.origin);
        let wanted = session.wanted(protocol);
        if session.timer != wanted {
            self.set_timer(at, wanted, now, settings);
        }
    }

    #[cold]
    fn set_timer(&mut self, at: u32, wanted: Timer, now: u64, settings: &Settings) {
        let Some(session) = self.table.get_mut(at) else { return };
        let was = session.timer == Timer::TcpOpening;
        session.timer = wanted;
        let state = session.state();
        self.half_open = self.half_open - u32::from(was) + u32::from(state == State::HalfOpen);
        self.table.set_timeout(at, tick(now), settings.ticks(wanted));
        self.table.renew(at, state.list());
    }

    /// Makes a session of a flow that has none; `None` if the table can't grow.
    pub fn make(
        &mut self,
        key: Key<A>,
        mut session: Session,
        (now, settings): (u64, &Settings),
    ) -> Option<u32> {
        let timer = session.wanted(key.protocol);
        (session.timer, session.since) = (timer, tick(now));
        let state = session.state();
        let at = self.table.insert(key, session, tick(now), settings.ticks(timer))?;
        self.half_open += u32::from(state == State::HalfOpen);
        self.table.renew(at, state.list());
        self.table.renew(at, JUDGED);
        Some(at)
    }

    /// The oldest session of a state.
    pub fn oldest(&self, state: State) -> Option<u32> {
        self.table.oldest(state.list())
    }

    /// Removes a session.
    pub fn remove(&mut self, at: u32) -> Option<(Key<A>, Session)> {
        let key = self.key(at)?;
        let session = self.table.remove(at)?;
        self.forgotten(&session);
        Some((key, session))
    }

    fn forgotten(&mut self, session: &Session) {
        self.half_open -= u32::from(session.timer == Timer::TcpOpening);
    }

    /// Removes a session whose time has ended, as [`Sessions::expire`].
    pub fn expire(&mut self, now: u64, budget: &mut usize) -> Option<(Key<A>, Session)> {
        let (key, session) = self.table.expire(tick(now), budget)?;
        self.forgotten(&session);
        Some((key, session))
    }

    /// Notes that a session was judged by the rules of a generation.
    pub fn judged(&mut self, at: u32, generation: u32) {
        if let Some(session) = self.table.get_mut(at) {
            session.generation = generation;
            self.table.renew(at, JUDGED);
        }
    }

    /// The session that was judged longest ago.
    pub fn longest_unjudged(&self) -> Option<u32> {
        self.table.oldest(JUDGED)
    }

    /// All sessions, those judged longest ago first.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &Key<A>, &Session)> {
        self.table.iter(JUDGED)
    }

    /// Seconds until the time of a session ends.
    pub fn seconds_left(&self, at: u32, now: u64) -> u64 {
        self.table.remaining(at, tick(now)).unwrap_or_default() * TICK / 1_000_000_000
    }
}

/// A time of the instance's clock, as ticks.
#[inline(always)]
pub fn tick(now: u64) -> u32 {
    (now / TICK) as u32
}

/// Sessions of one thread.
pub struct ThreadSessions {
    /// Sessions of IPv4 packets.
    pub ip4: Flows<Ipv4Addr>,
    /// Sessions of IPv6 packets.
    pub ip6: Flows<Ipv6Addr>,
}

impl ThreadSessions {
    /// Number of sessions.
    pub fn count(&self) -> usize {
        self.ip4.count() + self.ip6.count()
    }

    /// Number of TCP connections whose handshake isn't complete.
    pub fn half_open(&self) -> usize {
        self.ip4.half_open() + self.ip6.half_open()
    }
}

/// A protocol with sessions.
pub trait Tracked: Family {
    /// The sessions of this protocol.
    fn flows(of: &mut ThreadSessions) -> &mut Flows<Self::Addr>;
}

impl Tracked for Ip4 {
    #[inline(always)]
    fn flows(of: &mut ThreadSessions) -> &mut Flows<Ipv4Addr> {
        &mut of.ip4
    }
}

impl Tracked for Ip6 {
    #[inline(always)]
    fn flows(of: &mut ThreadSessions) -> &mut Flows<Ipv6Addr> {
        &mut of.ip6
    }
}

impl ThreadState for ThreadSessions {
    fn make(_: &World, thread: ThreadIndex) -> Self {
        Self { ip4: Flows::new(thread), ip6: Flows::new(thread) }
    }
}

/// Sessions of all threads.
pub type AllSessions = PerThread<ThreadSessions>;
