// SPDX-License-Identifier: Apache-2.0
//! The sessions of a thread: found by key, ended by time, and in lists by the order in which they
//! make room.

use crate::session::{Key, Session};
use crate::settings::{Settings, Timer};
use graph::{PerThread, ThreadIndex, World};
use net::{Both, ByVersion, Net};
use std::hash::{BuildHasher, RandomState};
use tables::{AgeList, Mixer, SHARES, Sessions, Share, Shares};
use wire::Address;

/// Nanoseconds of a tick of the timers: 100 ms.
pub const TICK: u64 = 100_000_000;
/// Timers that fire at most in one tick of a node.
pub const AT_A_TICK: usize = 4096;
/// Timers that fire at most for one new session.
pub const AT_ONCE: usize = 8;

/// States of sessions. Where the table is full, sessions of the first ones make room. For each
/// state, those of each share are in a list by age.
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

    /// The state of sessions with this timer. Queries of ICMP don't last, answered or not.
    pub const fn of(timer: Timer) -> Self {
        match timer {
            Timer::TcpTimeWait | Timer::TcpClosed => Self::Over,
            Timer::TcpOpening => Self::HalfOpen,
            Timer::Udp | Timer::Icmp | Timer::Other => Self::Unanswered,
            Timer::TcpEstablished
            | Timer::TcpClosing
            | Timer::UdpAnswered
            | Timer::OtherAnswered => Self::Lasting,
        }
    }

    const fn list(self, share: Share) -> AgeList {
        AgeList::new(0, self as u32 * SHARES as u32 + share as u32)
    }
}

/// All sessions, by the time of their last judgement.
const JUDGED: AgeList = AgeList::new(1, 0);

/// Sessions of one protocol on one thread.
pub struct Flows<A: Address> {
    table: Sessions<Key<A>, Session, 2>,
    half_open: u32,
    /// By [`State`].
    shares: [Shares; 4],
    /// For hashes of hosts.
    mixer: Mixer,
}

impl<A: Address> Flows<A> {
    fn new(thread: ThreadIndex) -> Self {
        let seed = RandomState::new().hash_one(thread);
        let lists = State::ALL.len() * SHARES;
        Self {
            table: Sessions::new(seed, u32::MAX, lists as u32),
            half_open: 0,
            shares: Default::default(),
            mixer: Mixer::new(!seed),
        }
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

    /// The session at an index, with its key.
    pub fn entry(&self, at: u32) -> Option<(&Key<A>, &Session)> {
        Some((self.table.key(at)?, self.table.get(at)?))
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
        let was = std::mem::replace(&mut session.timer, wanted);
        let share = session.share;
        self.table.set_timeout(at, tick(now), settings.ticks(wanted));
        self.leave(State::of(was), share);
        self.enter(at, State::of(wanted), share);
    }

    /// Puts a session into the list of its state and share, and counts it there.
    fn enter(&mut self, at: u32, state: State, share: Share) {
        self.half_open += u32::from(state == State::HalfOpen);
        self.shares[state as usize].add(share);
        self.table.renew(at, state.list(share));
    }

    fn leave(&mut self, state: State, share: Share) {
        self.half_open -= u32::from(state == State::HalfOpen);
        self.shares[state as usize].remove(share);
    }

    /// The share of the host that begins a session.
    fn share(&self, key: &Key<A>, session: &Session) -> Share {
        let (host, _) = key.end(session.origin.into());
        let name = self.mixer.add_bytes(host.to_octets().as_ref());
        Shares::index(name.add(session.first.interfaces[0].into()))
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
        session.share = self.share(&key, &session);
        let at = self.table.insert(key, session, tick(now), settings.ticks(timer))?;
        self.enter(at, State::of(timer), session.share);
        self.table.renew(at, JUDGED);
        Some(at)
    }

    /// The oldest session in a state of the share that has most of them, with their number.
    fn oldest_of_most(&self, state: State) -> Option<(u32, u32)> {
        let shares = &self.shares[state as usize];
        if shares.used() == 0 {
            return None;
        }
        let (share, sessions) = shares.largest();
        Some((self.table.oldest(state.list(share))?, sessions))
    }

    /// Removes a session.
    pub fn remove(&mut self, at: u32) -> Option<(Key<A>, Session)> {
        let key = self.key(at)?;
        let session = self.table.remove(at)?;
        self.forgotten(&session);
        Some((key, session))
    }

    fn forgotten(&mut self, session: &Session) {
        self.leave(State::of(session.timer), session.share);
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

    /// As [`Sessions::walk`].
    pub fn walk(&self, place: &mut u32, budget: &mut usize) -> Option<u32> {
        self.table.walk(place, budget)
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

/// The place of a session of either IP version.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// Its index among those of IPv4.
    Ip4(u32),
    /// Its index among those of IPv6.
    Ip6(u32),
}

/// The session that goes first of those in a state: the oldest one of the host that has most.
pub fn first_to_go(sessions: &ThreadSessions, state: State) -> Option<Place> {
    match (sessions.ip4.oldest_of_most(state), sessions.ip6.oldest_of_most(state)) {
        (Some((at, of4)), of6) if of6.is_none_or(|(_, of6)| of4 >= of6) => Some(Place::Ip4(at)),
        (_, of6) => of6.map(|(at, _)| Place::Ip6(at)),
    }
}

/// True if the host that begins a session has fewer of those that last than its share of `most`.
pub fn has_share<F: Net>(
    sessions: &mut ThreadSessions,
    key: &Key<F::Addr>,
    session: &Session,
    most: usize,
) -> bool {
    let lasting = |shares: &[Shares; 4]| shares[State::Lasting as usize].used();
    let hosts = lasting(&sessions.ip4.shares) + lasting(&sessions.ip6.shares);
    let flows = sessions.of::<F>();
    let share = flows.share(key, session);
    let own = flows.shares[State::Lasting as usize].of(share) as usize;
    own < most / (hosts + usize::from(own == 0)).max(1)
}
