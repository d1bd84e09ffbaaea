// SPDX-License-Identifier: Apache-2.0
//! Sessions: flows that a rule has permitted in both directions.
//!
//! A flow has one session, on the thread that owns it ([`net::FlowOwners`]), whichever direction
//! made it. Its key says which end is near, on the interface's side, and which is far: packets that
//! the interface receives go from near to far, packets that it sends from far to near.

use crate::list::Direction;
use crate::packet::{PacketUpper, Part, Tuple};
use crate::settings::{Settings, Timeout};
use graph::{PerThread, ThreadIndex, World};
use net::{Both, ByVersion, Net};
use std::hash::{BuildHasher, RandomState};
use tables::{AgeList, Mixer, SHARES, SessionKey, Sessions, Share, Shares};
use wire::{Address, IpProtocol, TcpFlags};

/// TCP sessions that aren't established, by age: the oldest makes room.
const TRANSIENT: AgeList = AgeList::new(0, 0);
/// All others.
const LASTING: AgeList = AgeList::new(0, 1);
/// Nanoseconds of a tick of the timers: 100 ms.
const TICK: u64 = 100_000_000;
/// Timers that fire at most in one tick of the node, and for one new session.
pub const AT_A_TICK: usize = 4096;
pub const AT_ONCE: usize = 8;

/// The key of a flow's session.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Key<A> {
    /// The end on the interface's side, and the other one.
    pub ends: [A; 2],
    /// Their ports.
    pub ports: [u16; 2],
    /// The interface.
    pub sw_if: u32,
    /// The upper layer's protocol.
    pub protocol: u8,
}

impl<A: Address> Key<A> {
    /// Of no flow.
    pub const NOTHING: Self = Self { ends: [A::ZERO; 2], ports: [0; 2], sw_if: 0, protocol: 0 };

    /// The end on the interface's side, with its port.
    #[inline(always)]
    pub fn near(&self) -> (A, u16) {
        (self.ends[0], self.ports[0])
    }

    /// The other end, with its port.
    #[inline(always)]
    pub fn far(&self) -> (A, u16) {
        (self.ends[1], self.ports[1])
    }
}

impl<A: Address> SessionKey for Key<A> {
    #[inline(always)]
    fn mix(&self, mixer: Mixer) -> Mixer {
        let [near, far] = self.ports.map(u64::from);
        let [a, b] = self.ends.map(Address::to_octets);
        let mixer = match (a.as_ref().try_into(), b.as_ref().try_into()) {
            (Ok(a), Ok(b)) => {
                let (a, b) = (u32::from_ne_bytes(a), u32::from_ne_bytes(b));
                mixer.add(u64::from(a) << 32 | u64::from(b))
            }
            _ => mixer.add_bytes(a.as_ref()).add_bytes(b.as_ref()),
        };
        // Few interfaces have numbers that reach into the bits of the protocol.
        let rest = u64::from(self.sw_if) ^ u64::from(self.protocol) << 24;
        mixer.add(near << 48 | far << 32 | rest)
    }
}

/// The type of ICMP message that answers one that makes a session.
fn icmp_answer(protocol: IpProtocol, kind: u16) -> Option<u16> {
    let pairs: &[(u16, u16)] = if protocol == IpProtocol::ICMP {
        // RFC 792: echo, timestamp, information; RFC 950: address mask.
        &[(8, 0), (13, 14), (15, 16), (17, 18)]
    } else {
        // RFC 4443 4.1: echo; RFC 4620: node information.
        &[(128, 129), (139, 140)]
    };
    pairs.iter().find(|(request, _)| *request == kind).map(|(_, answer)| *answer)
}

/// The type of the ICMP message that is answered by one of this type.
fn icmp_request(protocol: IpProtocol, kind: u16) -> Option<u16> {
    (0..=u8::MAX.into()).find(|request| icmp_answer(protocol, *request) == Some(kind))
}

impl<A: Address> Key<A> {
    /// The key of a packet's flow; `None` for packets that belong to no session: later fragments,
    /// cut ones, and messages of ICMP that neither ask nor answer.
    #[inline(always)]
    pub fn of(packet: &Tuple<A>, sw_if: u32, direction: Direction) -> Option<Self> {
        let upper = packet.upper;
        if upper.part != Part::Whole {
            return None;
        }
        let protocol = IpProtocol(upper.protocol);
        let (source, destination) = if protocol == IpProtocol::ICMP || protocol == IpProtocol::ICMP6
        {
            Self::icmp(protocol, upper.source)?
        } else {
            (upper.source, upper.destination)
        };
        let (ends, ports) = match direction {
            Direction::Input => ([packet.source, packet.destination], [source, destination]),
            Direction::Output => ([packet.destination, packet.source], [destination, source]),
        };
        Some(Self { ends, ports, sw_if, protocol: upper.protocol })
    }

    /// A request has its type in the place of the source's port, and its answer in that of the
    /// destination's.
    #[cold]
    fn icmp(protocol: IpProtocol, kind: u16) -> Option<(u16, u16)> {
        match icmp_answer(protocol, kind) {
            Some(_) => Some((kind, 0)),
            None => icmp_request(protocol, kind).map(|request| (0, request)),
        }
    }
}

/// True if a packet may make a session.
pub fn begins(upper: &PacketUpper) -> bool {
    let protocol = IpProtocol(upper.protocol);
    let is_icmp = protocol == IpProtocol::ICMP || protocol == IpProtocol::ICMP6;
    upper.part == Part::Whole && (!is_icmp || icmp_answer(protocol, upper.source).is_some())
}

/// A session.
#[derive(Clone, Copy, Default, Debug)]
pub struct Session {
    /// The generation of the interface's lists that it was last judged by.
    pub generation: u32,
    /// Number of the ACL that it was made by.
    pub acl: u32,
    /// Flags of TCP that packets of each direction had, by [`Direction`].
    pub seen: [u8; 2],
    /// Flags of the packet that made it.
    pub first: u8,
    /// The timeout that it has now, and [`BY_OUTPUT`].
    state: u8,
    /// The share of the host that made it.
    share: Share,
}

/// The bit of sessions that packets which the interface sends have made.
const BY_OUTPUT: u8 = 1 << 7;

impl Session {
    /// A session that a packet of this direction makes, with these flags of TCP.
    pub fn new(generation: u32, acl: u32, direction: Direction, flags: u8) -> Self {
        let mut seen = [0; 2];
        seen[direction as usize] = flags;
        let state = if direction == Direction::Output { BY_OUTPUT } else { 0 };
        Self { generation, acl, seen, first: flags, state, share: 0 }
    }

    /// The direction that made it.
    pub fn made_by(&self) -> Direction {
        if self.state & BY_OUTPUT != 0 { Direction::Output } else { Direction::Input }
    }

    /// The timeout that it has.
    #[inline(always)]
    pub fn timeout(&self) -> Option<Timeout> {
        Timeout::ALL.get(usize::from(self.state & !BY_OUTPUT)).copied()
    }

    fn set_timeout(&mut self, timeout: Timeout) {
        self.state = self.state & BY_OUTPUT | timeout as u8;
    }

    /// The timeout that it ought to have.
    #[inline(always)]
    fn wanted(&self, protocol: u8) -> Timeout {
        if IpProtocol(protocol) != IpProtocol::TCP {
            return Timeout::Udp;
        }
        let has = |flags: u8, which: TcpFlags| TcpFlags(flags).contains(which);
        let both = self.seen[0] & self.seen[1];
        let either = self.seen[0] | self.seen[1];
        let established = has(both, TcpFlags::SYN) && has(both, TcpFlags::ACK);
        if established && !has(either, TcpFlags::FIN) && !has(either, TcpFlags::RST) {
            Timeout::TcpIdle
        } else {
            Timeout::TcpTransient
        }
    }
}

/// Sessions of one protocol on one thread.
pub struct Flows<A: Address> {
    table: Sessions<Key<A>, Session, 2>,
    shares: Shares,
    /// For hashes of hosts.
    mixer: Mixer,
    added: u64,
    deleted: u64,
}

/// The result of an attempt to make a session.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Made {
    /// It is there.
    New,
    /// The table is full, and nothing may go.
    Full,
}

impl<A: Address> Flows<A> {
    fn new(thread: ThreadIndex) -> Self {
        let seed = RandomState::new().hash_one(thread);
        Self {
            table: Sessions::new(seed, u32::MAX, SHARES as u32),
            shares: Shares::default(),
            mixer: Mixer::new(!seed),
            added: 0,
            deleted: 0,
        }
    }

    /// Number of sessions.
    pub fn len(&self) -> usize {
        self.table.len()
    }

    /// Sessions that were made and deleted since the start.
    pub fn totals(&self) -> (u64, u64) {
        (self.added, self.deleted)
    }

    /// The session of a flow, unless its time has ended.
    #[inline(always)]
    pub fn find(&mut self, key: &Key<A>, now: u64) -> Option<(u32, Session)> {
        let at = self.table.find(key)?;
        self.alive(at, now)
    }

    /// Looks the sessions of many flows up together: their memory accesses overlap. A flow without
    /// one gets an index that has none.
    #[inline(always)]
    pub fn find_many(&self, keys: &[Key<A>], found: &mut [u32]) {
        self.table.find_many(keys, found);
    }

    /// The session at an index, unless its time has ended.
    #[inline(always)]
    pub fn alive(&mut self, at: u32, now: u64) -> Option<(u32, Session)> {
        if self.table.remaining(at, tick(now)) == Some(0) {
            // The timer fires a little later.
            self.remove(at);
            return None;
        }
        self.table.get(at).map(|session| (at, *session))
    }

    /// Records a packet of a session. Returns true if the session has another timeout now.
    #[inline(always)]
    pub fn note(
        &mut self,
        at: u32,
        (protocol, flags): (u8, u8),
        direction: Direction,
        (now, settings): (u64, &Settings),
    ) -> bool {
        let Some(session) = self.table.touch(at, tick(now)) else { return false };
        session.seen[direction as usize] |= flags;
        let wanted = session.wanted(protocol);
        let changes = session.timeout() != Some(wanted);
        if changes {
            session.set_timeout(wanted);
            self.table.set_timeout(at, tick(now), settings.ticks(wanted));
            self.table.renew(at, if wanted == Timeout::TcpTransient { TRANSIENT } else { LASTING });
        }
        changes
    }

    /// Notes that a session was judged again.
    pub fn keep(&mut self, at: u32, generation: u32) {
        if let Some(session) = self.table.get_mut(at) {
            session.generation = generation;
        }
    }

    /// The share of the host that makes a session.
    fn share(&self, key: &Key<A>, session: &Session) -> Share {
        let (host, _) = match session.made_by() {
            Direction::Input => key.near(),
            Direction::Output => key.far(),
        };
        Shares::index(self.mixer.add_bytes(host.to_octets().as_ref()).add(key.sw_if.into()))
    }

    /// Removes the oldest session of a list. Returns false if there is none.
    fn remove_oldest(&mut self, list: AgeList) -> bool {
        let oldest = self.table.oldest(list);
        oldest.into_iter().for_each(|at| self.remove(at));
        oldest.is_some()
    }

    fn make(
        &mut self,
        key: Key<A>,
        mut session: Session,
        (now, settings): (u64, &Settings),
    ) -> Made {
        session.share = self.share(&key, &session);
        let timeout = session.wanted(key.protocol);
        session.set_timeout(timeout);
        let ticks = settings.ticks(timeout);
        let Some(at) = self.table.insert(key, session, tick(now), ticks) else {
            return Made::Full;
        };
        self.table.renew(at, if timeout == Timeout::TcpTransient { TRANSIENT } else { LASTING });
        self.table.renew(at, of_share(session.share));
        self.shares.add(session.share);
        self.added += 1;
        Made::New
    }

    /// Removes a session.
    pub fn remove(&mut self, at: u32) {
        if let Some(session) = self.table.remove(at) {
            self.ended(session);
        }
    }

    fn ended(&mut self, session: Session) {
        self.shares.remove(session.share);
        self.deleted += 1;
    }

    /// Removes sessions whose time has ended, as far as the budget goes. Returns true if it is
    /// spent: there may be more.
    pub fn expire(&mut self, now: u64, mut budget: usize) -> bool {
        while let Some((_, session)) = self.table.expire(tick(now), &mut budget) {
            self.ended(session);
        }
        budget == 0
    }

    /// Removes sessions of interfaces, from the place of a walk on and as far as the budget goes.
    /// Returns true if it is spent: there may be more.
    pub fn clear(
        &mut self,
        is_meant: impl Fn(u32) -> bool,
        place: &mut u32,
        budget: &mut usize,
    ) -> bool {
        while let Some(at) = self.table.walk(place, budget) {
            if self.table.key(at).is_some_and(|key| is_meant(key.sw_if)) {
                self.remove(at);
            }
        }
        *budget == 0
    }

    /// As [`Sessions::walk`].
    pub fn walk(&self, place: &mut u32, budget: &mut usize) -> Option<u32> {
        self.table.walk(place, budget)
    }

    /// The session at an index, with its key and the seconds that it has left.
    pub fn get(&self, at: u32, now: u64) -> Option<(Key<A>, Session, u64)> {
        let (key, session) = (self.table.key(at)?, self.table.get(at)?);
        let left = self.table.remaining(at, tick(now)).unwrap_or_default();
        Some((*key, *session, left * TICK / 1_000_000_000))
    }
}

/// The sessions of a share, by age.
const fn of_share(share: Share) -> AgeList {
    AgeList::new(1, share as u32)
}

/// A time of the instance's clock, as ticks.
#[inline(always)]
fn tick(now: u64) -> u32 {
    (now / TICK) as u32
}

/// Tables of sessions, as a thread has one for each IP version.
pub struct Tables;

impl ByVersion for Tables {
    type Of<A: Address> = Flows<A>;

    fn make<A: Address>(_: &World, thread: ThreadIndex) -> Flows<A> {
        Flows::new(thread)
    }
}

/// Sessions of one thread.
pub type ThreadSessions = Both<Tables>;
/// Sessions of all threads.
pub type AllSessions = PerThread<ThreadSessions>;

/// Makes a session. If there are `limit` already, the oldest TCP session that isn't established
/// goes, or else one of the host that has most, if this one has less than its share.
pub fn make<F: Net>(
    sessions: &mut ThreadSessions,
    key: Key<F::Addr>,
    session: Session,
    (now, settings): (u64, &Settings),
    limit: usize,
) -> Made {
    sessions.of::<F>().expire(now, AT_ONCE);
    let is_full = |sessions: &ThreadSessions| sessions.ip4.len() + sessions.ip6.len() >= limit;
    if is_full(sessions) && (!make_room::<F>(sessions, &key, &session, limit) || is_full(sessions))
    {
        return Made::Full;
    }
    sessions.of::<F>().make(key, session, (now, settings))
}

/// Removes a session for a new one; returns false if none may go.
#[cold]
fn make_room<F: Net>(
    sessions: &mut ThreadSessions,
    key: &Key<F::Addr>,
    session: &Session,
    limit: usize,
) -> bool {
    if sessions.of::<F>().remove_oldest(TRANSIENT)
        || sessions.ip4.remove_oldest(TRANSIENT)
        || sessions.ip6.remove_oldest(TRANSIENT)
    {
        return true;
    }
    let flows = sessions.of::<F>();
    let own = flows.shares.of(flows.share(key, session)) as usize;
    let (ip4, ip6) = (&mut sessions.ip4, &mut sessions.ip6);
    let hosts = ip4.shares.used() + ip6.shares.used() + usize::from(own == 0);
    if own >= limit / hosts.max(1) {
        return false;
    }
    let (of4, of6) = (ip4.shares.largest(), ip6.shares.largest());
    if of4.1 >= of6.1 {
        ip4.remove_oldest(of_share(of4.0))
    } else {
        ip6.remove_oldest(of_share(of6.0))
    }
}
