// SPDX-License-Identifier: Apache-2.0
//! Sessions of a thread: found by key, ended by time, listed by user in the order of their making.

use crate::map::{Map, Range};
use crate::session::{Change, INWARD, OUTWARD, Session};
use crate::settings::Det;
use graph::{PerThread, ThreadIndex, ThreadState, World};
use nat::key::{End, Key};
use nat::log::{Lack, Logger};
use nat::timeouts::{Timeouts, tick};
use stats::Lane;
use std::hash::{BuildHasher, RandomState};
use std::net::Ipv4Addr;
use std::sync::Arc;
use tables::{Mixer, SessionKey, Sessions};
use wire::{IpProtocol, TcpFlags};

/// Sessions of a user at most.
pub const SESSIONS: u32 = 1000;
/// Sessions of a thread at most.
pub const SESSIONS_OF_THREAD: u32 = 1 << 24;
/// Index of the table in keys of packets to users: no table has it, so no packet of a user has such
/// a key.
pub const WORLD: u32 = 0xff_ffff;
/// Timers that fire at most in one tick of the node, and for one new session.
pub const AT_A_TICK: usize = 4096;
const AT_ONCE: usize = 8;

/// The key of a user.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct UserKey(Ipv4Addr);

impl SessionKey for UserKey {
    fn mix(&self, mixer: Mixer) -> Mixer {
        mixer.add(u64::from(self.0.to_bits()))
    }
}

/// A user with sessions.
#[derive(Clone, Copy, Default)]
struct User {
    /// Its oldest and its newest session.
    oldest: Option<u32>,
    newest: Option<u32>,
    /// Their number.
    n: u32,
}

/// The reason why there is no new session.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refused {
    /// The user has as many as it may have.
    TooMany,
    /// No port of the user's is free towards the other end.
    Ports,
    /// The thread has as many as it may have, or another session has the packet's key.
    Full,
}

/// Sessions of one thread.
pub struct Flows {
    table: Sessions<Key, Session, 0, 2>,
    users: Sessions<UserKey, User>,
    det: Arc<Det>,
    total: Lane,
    /// Tells operators of users with too many sessions.
    logger: Logger,
}

/// Sessions of all threads.
pub type AllFlows = PerThread<Flows>;

impl ThreadState for Flows {
    fn make(world: &World, thread: ThreadIndex) -> Self {
        let seed = |what: u32| RandomState::new().hash_one((thread, what));
        Self {
            table: Sessions::new(seed(0), SESSIONS_OF_THREAD, 0),
            users: Sessions::new(seed(1), SESSIONS_OF_THREAD, 0),
            det: world.get(),
            total: world.stats.simple("/det44/total-sessions").lane(thread.at()),
            logger: Logger::new(world),
        }
    }
}

/// The keys of a session: of the user's packets, and of those to it, at its port outside.
pub fn keys(user: Key, outside: End) -> [Key; 2] {
    let mut external = user.to();
    if user.protocol() == IpProtocol::ICMP {
        // An ICMP query has one identifier for both ends.
        external.port = outside.port;
    }
    [user, Key::new(external, outside, WORLD, user.protocol())]
}

impl Flows {
    /// The next session of a walk ([`Sessions::walk`]).
    pub fn next(&self, place: &mut u32, budget: &mut usize) -> Option<u32> {
        self.table.walk(place, budget)
    }

    /// The session of a key, with the direction. One whose time has ended is none.
    #[inline(always)]
    pub fn find(&mut self, key: &Key, now: u64) -> Option<(u32, usize)> {
        let (at, direction) = self.table.find_key(key)?;
        if self.table.remaining(at, tick(now)) == Some(0) {
            self.remove(at);
            return None;
        }
        Some((at, direction))
    }

    /// The session at an index.
    #[inline(always)]
    pub fn get(&self, at: u32) -> Option<(&[Key; 2], &Session)> {
        self.table.keys(at).zip(self.table.get(at))
    }

    /// Ticks until a session ends.
    pub fn left(&self, at: u32, now: u64) -> u64 {
        self.table.remaining(at, tick(now)).unwrap_or_default()
    }

    /// Records a packet of a session. Returns true if the session ends with it.
    #[inline(always)]
    pub fn note(
        &mut self,
        (at, direction): (u32, usize),
        flags: Option<u8>,
        (now, timeouts): (u64, &Timeouts),
    ) -> bool {
        let Some(session) = self.table.touch(at, tick(now)) else { return false };
        let Some(flags) = flags else { return false };
        let change = session.note(direction, TcpFlags(flags));
        if change == Change::Timeout {
            let timeout = timeouts.ticks(session.state.timeout());
            self.table.set_timeout(at, tick(now), timeout);
        }
        change == Change::Ended
    }

    /// Makes the session of a user's packet with this key.
    ///
    /// # Errors
    /// The user has too many; no port is free; the table is full.
    pub fn make(
        &mut self,
        key: Key,
        (map, range): (&Map, Range),
        (now, timeouts): (u64, &Timeouts),
    ) -> Result<u32, Refused> {
        self.expire(now, AT_ONCE);
        let name = UserKey(key.from().addr);
        let user = self.users.find(&name);
        let n = user.and_then(|user| self.users.get(user)).map_or(0, |user| user.n);
        if n >= SESSIONS {
            self.logger.lack(Lack::OfUser(SESSIONS, key.from().addr));
            return Err(Refused::TooMany);
        }
        // At most as many ports as the user has sessions are taken.
        let of = |port| keys(key, End::new(range.addr, port));
        let is_free = |port: &u16| self.table.find(&of(*port)[INWARD]).is_none();
        let port = range.ports(key.from().port).find(is_free).ok_or(Refused::Ports)?;
        if self.table.find(&key).is_some() {
            return Err(Refused::Full);
        }
        let user = match user {
            Some(user) => user,
            None => self.users.insert_untimed(name, User::default()).ok_or(Refused::Full)?,
        };
        let session = Session::new(key.protocol(), map.number, user);
        let timeout = timeouts.ticks(session.state.timeout());
        let Some(at) = self.table.insert_keys(of(port), session, tick(now), timeout) else {
            self.forget_unused(user);
            return Err(Refused::Full);
        };
        self.append(user, at);
        self.det.count(map.number, true);
        self.total.set(0, self.table.len() as u64);
        Ok(at)
    }

    /// Makes a session the newest one of a user.
    fn append(&mut self, user: u32, at: u32) {
        let Some(of) = self.users.get_mut(user) else { return };
        of.n += 1;
        let older = of.newest.replace(at);
        of.oldest.get_or_insert(at);
        if let Some(session) = older.and_then(|older| self.table.get_mut(older)) {
            session.newer = Some(at);
        }
        if let Some(session) = self.table.get_mut(at) {
            session.older = older;
        }
    }

    fn forget_unused(&mut self, user: u32) {
        if self.users.get(user).is_some_and(|user| user.n == 0) {
            self.users.remove(user);
        }
    }

    /// Removes a session.
    pub fn remove(&mut self, at: u32) -> Option<Session> {
        let session = self.table.remove(at)?;
        let Session { older, newer, user, .. } = session;
        if let Some(user) = self.users.get_mut(user) {
            user.n -= 1;
            if user.oldest == Some(at) {
                user.oldest = newer;
            }
            if user.newest == Some(at) {
                user.newest = older;
            }
        }
        if let Some(before) = older.and_then(|older| self.table.get_mut(older)) {
            before.newer = newer;
        }
        if let Some(behind) = newer.and_then(|newer| self.table.get_mut(newer)) {
            behind.older = older;
        }
        self.forget_unused(user);
        self.det.count(session.map, false);
        self.total.set(0, self.table.len() as u64);
        Some(session)
    }

    /// Ends sessions whose time has ended, as far as the budget goes. Returns true if it is spent:
    /// there may be more.
    pub fn expire(&mut self, now: u64, mut budget: usize) -> bool {
        while let Some(at) = self.table.expired(tick(now), &mut budget) {
            self.remove(at);
        }
        budget == 0
    }

    /// Gives a session the timeout that it would get now.
    pub fn retime(&mut self, at: u32, timeouts: &Timeouts) {
        let Some(session) = self.table.get(at) else { return };
        self.table.change_timeout(at, timeouts.ticks(session.state.timeout()));
    }

    /// The sessions of a user, from the oldest on.
    pub fn of_user(&self, addr: Ipv4Addr) -> impl Iterator<Item = u32> {
        let user = self.users.find(&UserKey(addr)).and_then(|user| self.users.get(user));
        let mut next = user.and_then(|user| user.oldest);
        std::iter::from_fn(move || {
            let at = next?;
            next = self.table.get(at)?.newer;
            Some(at)
        })
    }

    /// Ends the sessions of a user with these ends, of all protocols; their number.
    pub fn close(&mut self, user: Ipv4Addr, is_meant: impl Fn(&[Key; 2]) -> bool) -> u32 {
        let is_meant = |at: &u32| self.table.keys(*at).is_some_and(&is_meant);
        let meant: Vec<_> = self.of_user(user).filter(is_meant).collect();
        meant.into_iter().filter(|at| self.remove(*at).is_some()).count() as u32
    }

    /// The ends that packets of a direction leave with.
    #[inline(always)]
    pub fn translated(keys: &[Key; 2], direction: usize) -> (End, End) {
        let other = &keys[if direction == OUTWARD { INWARD } else { OUTWARD }];
        (other.to(), other.from())
    }
}
