// SPDX-License-Identifier: Apache-2.0
//! Sessions of a thread, and of all threads.

mod room;

use crate::key::{End, Key};
use crate::session::{Change, OUTWARD, Session, SessionFlags};
use crate::settings::{Settings, TICKS, Timeouts, tick};
use ::nat::log::{Change as LogChange, Event, Lack, Logger};
use ::nat::ports::{Ports, Use};
use graph::{PerThread, ThreadIndex, ThreadState, World};
pub use room::Displaced;
use stats::Lane;
use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::net::Ipv4Addr;
use tables::{AgeList, Mixer, SessionKey, Sessions, Shares};
use wire::IpProtocol;

/// Sessions whose time has ended, the oldest first: they are shown for a while, and make room.
const STALE: AgeList = AgeList::new(0, 0);
/// Lists of all others: two for each share.
const LISTS: u32 = 1 + room::LISTS;
/// Ticks for which a session is shown after its time has ended.
const LINGER: u32 = 10 * TICKS;
/// Timers that fire at most in one tick of the node, and for one new session.
pub const AT_A_TICK: usize = 4096;
const AT_ONCE: usize = 8;
/// Sessions whose time has ended that give their ports back at once when none is left.
const GIVE_BACK: usize = 64;

/// Sessions of users of one table.
#[derive(Default)]
struct OfTable {
    sessions: u32,
    /// Sessions whose time hasn't ended, by user.
    shares: Shares,
}

/// Bytes of a session with its keys, without the index.
pub const SESSION_BYTES: u64 = 128;

/// A client of a load-balancing mapping.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Client {
    /// The client.
    pub addr: Ipv4Addr,
    /// The mapping's external end.
    pub service: End,
    /// Its protocol.
    pub protocol: IpProtocol,
}

impl SessionKey for Client {
    fn mix(&self, mixer: Mixer) -> Mixer {
        let service = u64::from(self.service.addr.to_bits()) << 16 | u64::from(self.service.port);
        let client = u64::from(self.addr.to_bits()) << 8 | u64::from(self.protocol.0);
        mixer.add(service).add(client)
    }
}

/// The reason why there is no new session.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refused {
    /// There are as many as there may be.
    TooMany,
    /// Another session has one of the keys.
    Taken,
}

/// The session of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Found {
    /// At this index, with the direction of the packet.
    Session(u32, usize),
    /// It had one, whose time has ended.
    Ended(Session, IpProtocol),
    /// None.
    None,
}

/// Sessions of one thread.
pub struct Flows {
    table: Sessions<Key, Session, 1, 2>,
    /// Back ends by client, for mappings that keep a client at one.
    clients: Sessions<Client, End>,
    /// Sessions by the index of the users' table.
    of_table: HashMap<u32, OfTable>,
    /// Sessions whose time hasn't ended, by user.
    shares: Shares,
    /// For hashes of users.
    mixer: Mixer,
    /// Sessions that users have lost to others since the last look.
    displaced: Displaced,
    /// Number of sessions whose time has ended.
    stale: usize,
    /// Ports of the thread.
    pub ports: Ports<Key>,
    generation: u32,
    total: Lane,
    /// Tells operators of sessions.
    pub logger: Logger,
}

impl Flows {
    fn new(world: &World, thread: ThreadIndex) -> Self {
        let seed = |what: u32| RandomState::new().hash_one((thread, what));
        Self {
            table: Sessions::new(seed(0), u32::MAX, LISTS),
            clients: Sessions::new(seed(1), u32::MAX, 0),
            of_table: HashMap::new(),
            shares: Shares::default(),
            mixer: Mixer::new(seed(3)),
            displaced: Displaced::default(),
            stale: 0,
            ports: Ports::new(seed(2)),
            generation: 0,
            total: world.stats.simple("/nat44-ed/total-sessions").lane(thread.at()),
            logger: Logger::new(world),
        }
    }

    /// Tells operators that a session was made, or has ended. One that lets packets pass as they
    /// are has nothing to tell.
    #[inline(always)]
    fn tell(logger: &mut Logger, change: LogChange, keys: &[Key; 2], session: &Session) {
        if logger.is_on() && !session.is_bypass() {
            logger.post(|| Event::Session44(change, session.as_logged(keys)));
        }
    }

    /// Takes notice of mappings and settings that have changed.
    #[inline(always)]
    pub fn follow(&mut self, generation: u32, settings: &Settings, thread: ThreadIndex) {
        if self.generation != generation {
            self.generation = generation;
            self.ports.forget();
            self.ports.set_block(settings.ports(thread.0));
        }
    }

    /// Looks a packet's session up. One whose time has ended is removed.
    #[inline(always)]
    pub fn find(&mut self, key: &Key, now: u64) -> Found {
        let Some((at, direction)) = self.table.find_key(key) else { return Found::None };
        let ends = self.table.remaining(at, tick(now));
        match self.table.get(at) {
            Some(session) if session.is_stale() || ends == Some(0) => self.end(at),
            Some(_) => Found::Session(at, direction),
            None => Found::None,
        }
    }

    /// As [`Self::find`], but a session whose time has ended stays, and isn't found.
    #[inline(always)]
    pub fn live(&self, key: &Key, now: u64) -> Option<(u32, usize)> {
        let (at, direction) = self.table.find_key(key)?;
        let ended = self.table.remaining(at, tick(now)) == Some(0);
        let session = self.table.get(at)?;
        (!ended && !session.is_stale()).then_some((at, direction))
    }

    #[cold]
    fn end(&mut self, at: u32) -> Found {
        let protocol = self.table.key(at).map_or(IpProtocol(0), Key::protocol);
        self.remove(at).map_or(Found::None, |session| Found::Ended(session, protocol))
    }

    /// True if a key has no session. One whose time has ended doesn't count, and goes when its key
    /// is wanted ([`Self::make`]).
    #[inline(always)]
    pub fn is_free(&self, key: &Key) -> bool {
        self.table.find(key).and_then(|at| self.table.get(at)).is_none_or(Session::is_stale)
    }

    /// Chooses a port ([`Ports::choose`]); `taken` tells of ports that mappings have.
    pub fn choose_port(
        &mut self,
        wanted: Option<u16>,
        key: impl Fn(u16) -> Key,
        taken: impl Fn(u16) -> bool,
    ) -> Option<u16> {
        let table = &self.table;
        let look = |port| match table.find(&key(port)).and_then(|at| table.get(at)) {
            Some(session) if !session.is_stale() => Use::Of(session.share),
            _ if taken(port) => Use::Mapped,
            _ => Use::Free,
        };
        self.ports.choose(wanted, &key, look)
    }

    /// The session at an index.
    #[inline(always)]
    pub fn get(&self, at: u32) -> Option<(&[Key; 2], &Session)> {
        self.table.keys(at).zip(self.table.get(at))
    }

    /// Ticks until a session ends, and since its last packet.
    pub fn times(&self, at: u32, now: u64) -> (u64, u64) {
        let last = self.table.touched(at).unwrap_or_default();
        let stale = self.table.get(at).is_some_and(Session::is_stale);
        let left = if stale { 0 } else { self.table.remaining(at, tick(now)).unwrap_or_default() };
        (left, last.into())
    }

    /// Records a packet of a session. Returns true if a connection began again.
    #[inline(always)]
    pub fn note(
        &mut self,
        (at, direction): (u32, usize),
        (flags, bytes): (u8, usize),
        (now, settings): (u64, &Settings),
    ) -> bool {
        let is_tcp = self.table.key(at).is_some_and(|key| key.protocol() == IpProtocol::TCP);
        let Some(session) = self.table.touch(at, tick(now)) else { return false };
        let change = if is_tcp { session.note(direction, flags) } else { Change::None };
        session.packets += 1;
        session.bytes += bytes as u64;
        if change != Change::None {
            let timeout = session.timeout(IpProtocol::TCP);
            self.table.set_timeout(at, tick(now), settings.timeouts.ticks(timeout));
            self.enlist(at);
        }
        if change == Change::Reopened
            && let Some((keys, session)) = self.table.keys(at).zip(self.table.get(at))
        {
            Self::tell(&mut self.logger, LogChange::Deleted, keys, session);
            Self::tell(&mut self.logger, LogChange::Created, keys, session);
        }
        change == Change::Reopened
    }

    /// Makes a session; `direction` is that of the packet that makes it.
    ///
    /// # Errors
    /// There are too many; another session has one of the keys.
    pub fn make(
        &mut self,
        keys: [Key; 2],
        mut session: Session,
        (now, settings): (u64, &Settings),
    ) -> Result<u32, Refused> {
        self.expire(now, AT_ONCE);
        let fib = keys[OUTWARD].fib();
        session.share = self.share_of(keys[OUTWARD].sender());
        if let Err(refused) = self.make_room(settings, fib, session.share) {
            let of_table = settings.limits.get(&fib).copied().unwrap_or(settings.sessions);
            let is_full = self.table.len() >= settings.sessions as usize;
            let most = if is_full { settings.sessions } else { of_table };
            self.logger.lack(Lack::Sessions(most));
            return Err(refused);
        }
        for key in &keys {
            let Some(old) = self.table.find(key) else { continue };
            if !self.table.get(old).is_some_and(Session::is_stale) {
                return Err(Refused::Taken);
            }
            self.remove(old);
        }
        let timeout = settings.timeouts.ticks(session.timeout(keys[0].protocol()));
        let made = self.table.insert_keys(keys, session, tick(now), timeout);
        let at = made.ok_or(Refused::TooMany)?;
        let of_table = self.of_table.entry(fib).or_default();
        of_table.sessions += 1;
        of_table.shares.add(session.share);
        self.shares.add(session.share);
        self.enlist(at);
        keys.iter().for_each(|key| self.ports.note(key, Use::Of(session.share)));
        self.total.set(0, self.table.len() as u64);
        Self::tell(&mut self.logger, LogChange::Created, &keys, &session);
        Ok(at)
    }

    /// Removes a session.
    pub fn remove(&mut self, at: u32) -> Option<Session> {
        let keys = *self.table.keys(at)?;
        let session = self.table.remove(at)?;
        if session.is_stale() {
            self.stale -= 1;
        } else {
            Self::tell(&mut self.logger, LogChange::Deleted, &keys, &session);
            self.discount(keys[OUTWARD].fib(), session.share);
        }
        if let Some(of_table) = self.of_table.get_mut(&keys[OUTWARD].fib()) {
            of_table.sessions -= 1;
        }
        keys.iter().for_each(|key| self.ports.note(key, Use::Free));
        self.total.set(0, self.table.len() as u64);
        Some(session)
    }

    /// Ends sessions whose time has ended, as far as the budget goes. Returns true if it is spent:
    /// there may be more.
    pub fn expire(&mut self, now: u64, mut budget: usize) -> bool {
        while let Some(at) = self.table.expired(tick(now), &mut budget) {
            let Some(session) = self.table.get_mut(at) else { continue };
            if session.is_stale() {
                self.remove(at);
                continue;
            }
            let ended = *session;
            session.flags |= SessionFlags::STALE;
            let share = session.share;
            self.stale += 1;
            if let Some(keys) = self.table.keys(at) {
                Self::tell(&mut self.logger, LogChange::Deleted, keys, &ended);
            }
            if let Some(fib) = self.table.key(at).map(Key::fib) {
                self.discount(fib, share);
            }
            let since = self.table.touched(at).unwrap_or_default();
            let shown = tick(now).saturating_sub(since).saturating_add(LINGER);
            self.table.change_timeout(at, shown);
            self.table.renew(at, STALE);
        }
        while self.clients.expire(tick(now), &mut budget).is_some() {}
        budget == 0
    }

    /// Removes some sessions whose time has ended, so that their ports are free. Returns false if
    /// there are none.
    pub fn give_back(&mut self, now: u64) -> bool {
        self.expire(now, AT_A_TICK);
        let ended: Vec<_> = self.table.iter(STALE).take(GIVE_BACK).map(|(at, ..)| at).collect();
        let any = !ended.is_empty();
        ended.into_iter().for_each(|at| _ = self.remove(at));
        any
    }

    /// The index of a key's session, also if its time has ended.
    pub fn at(&self, key: &Key) -> Option<u32> {
        self.table.find(key)
    }

    /// Gives a session the timeout that it would get now.
    pub fn retime(&mut self, at: u32, timeouts: Timeouts) {
        let Some((keys, session)) = self.get(at) else { return };
        if !session.is_stale() {
            let timeout = timeouts.ticks(session.timeout(keys[0].protocol()));
            self.table.change_timeout(at, timeout);
        }
    }

    /// The next session of a walk ([`Sessions::walk`]).
    pub fn next(&self, place: &mut u32, budget: &mut usize) -> Option<u32> {
        self.table.walk(place, budget)
    }

    /// The next client of a back end, of a walk.
    pub fn next_client(&self, place: &mut u32, budget: &mut usize) -> Option<u32> {
        self.clients.walk(place, budget)
    }

    /// Forgets a client of a back end.
    pub fn forget_client(&mut self, at: u32) {
        self.clients.remove(at);
    }

    /// The back end that a client is held to.
    pub fn back_end(&mut self, client: &Client, now: u64) -> Option<End> {
        let at = self.clients.find(client)?;
        if self.clients.remaining(at, tick(now)) == Some(0) {
            self.clients.remove(at);
            return None;
        }
        self.clients.touch(at, tick(now)).copied()
    }

    /// Holds a client to a back end for so many seconds after its last new session. With a full
    /// table it isn't held.
    pub fn hold(
        &mut self,
        client: Client,
        back_end: End,
        (now, settings): (u64, &Settings),
        seconds: u32,
    ) {
        if let Some(at) = self.clients.find(&client) {
            self.clients.remove(at);
        }
        if self.clients.len() < settings.sessions as usize {
            let ticks = seconds.saturating_mul(TICKS).min(u32::MAX - 1);
            self.clients.insert(client, back_end, tick(now), ticks);
        }
    }
}

impl ThreadState for Flows {
    fn make(world: &World, thread: ThreadIndex) -> Self {
        Self::new(world, thread)
    }
}

/// Sessions of all threads.
pub type AllFlows = PerThread<Flows>;
