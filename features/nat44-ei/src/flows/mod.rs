// SPDX-License-Identifier: Apache-2.0
//! Sessions and users of a thread, and of all threads.
//!
//! A session begins in [`Flows::make`] and ends in [`Flows::remove`], nowhere else: there the other
//! router gets to know of it, and the log.

mod users;

use crate::ha::Outbox;
use crate::ha::wire::Kind;
use crate::session::{
    Change, Connection, INWARD, OUTWARD, Session, SessionFlags, ends, inside_key, outside_key,
    user_of,
};
use crate::settings::{Settings, TICKS, Timeouts, tick};
use crate::state::{Counters, Gauges};
use ::nat::key::{End, Key, User};
use ::nat::log::{Change as LogChange, Event, Lack, Logger, PortMapping, Subscriber};
use ::nat::ports::{PortKey as _, Ports, Use};
use graph::{PerThread, ThreadIndex, ThreadState, World};
use std::hash::{BuildHasher, RandomState};
use tables::{AgeList, Mixer, Sessions, Share, Shares};
use users::{UserKey, UserState};
use wire::IpProtocol;

/// Timers that fire at most in one tick of the node, and for one packet without a session.
pub const AT_A_TICK: usize = 4096;
const AT_ONCE: usize = 8;
/// Sessions of a list that are looked at for one that may go.
const CANDIDATES: usize = 64;
/// Ports of the user who has most that are compared: the one that is quiet for longest goes.
const SAMPLE: usize = 16;

/// The sessions of a user, the one that was used least lately first.
const fn of_user(user: u32) -> AgeList {
    AgeList::new(0, user)
}

/// The sessions of a share, in the same order.
const fn of_share(share: Share) -> AgeList {
    AgeList::new(1, share as u32)
}

/// The reason why there is no new session.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refused {
    /// There are as many users as there may be.
    Users,
    /// There are as many sessions as there may be.
    Sessions,
    /// Another session has one of the keys.
    Taken,
}

/// A session that is wanted.
#[derive(Clone, Copy, Debug)]
pub struct NewSession {
    /// The user's end, with the index of its table.
    pub inside: (End, u32),
    /// The end that the world sees, with the index of the world's table.
    pub outside: (End, u32),
    /// The protocol.
    pub protocol: IpProtocol,
    /// The host of the world.
    pub external: End,
    /// Number of the static mapping that makes it.
    pub mapping: Option<u32>,
    /// Index of the interface that the user is behind.
    pub sw_if: u32,
}

impl NewSession {
    /// Its keys.
    pub const fn keys(&self) -> [Key; 2] {
        [
            inside_key(self.inside.0, self.inside.1, self.protocol),
            outside_key(self.outside.0, self.outside.1, self.protocol),
        ]
    }
}

/// Sessions and users of one thread.
pub struct Flows {
    table: Sessions<Key, Session, 2, 2>,
    users: Sessions<UserKey, UserState, 1>,
    /// Users by interface.
    interfaces: Shares,
    /// Sessions by user.
    shares: Shares,
    mixer: Mixer,
    ports: Ports<Key>,
    /// Number of the next session.
    serial: u64,
    generation: u32,
    thread: u16,
    gauges: Gauges,
    /// Sessions that users have lost to others since the last look.
    displaced: u32,
    /// Events for another router.
    pub outbox: Outbox,
    logger: Logger,
}

impl Flows {
    fn new(world: &World, thread: ThreadIndex) -> Self {
        let seed = |what: u32| RandomState::new().hash_one((thread, what));
        let counters = world.get::<Counters>();
        Self {
            table: Sessions::new(seed(0), u32::MAX, tables::SHARES as u32),
            users: Sessions::new(seed(1), u32::MAX, users::LISTS),
            interfaces: Shares::default(),
            shares: Shares::default(),
            mixer: Mixer::new(seed(2)),
            ports: Ports::new(seed(3)),
            serial: 0,
            generation: 0,
            thread: thread.0,
            gauges: counters.gauges(thread),
            displaced: 0,
            outbox: Outbox::new(world, thread),
            logger: Logger::new(world),
        }
    }

    /// Takes notice of mappings and settings that have changed, and ends what has ended.
    #[inline(always)]
    pub fn follow(&mut self, generation: u32, settings: &Settings, now: u64) {
        if self.generation != generation {
            self.generation = generation;
            self.ports.forget();
            self.ports.set_block(settings.workers.block(self.thread));
        }
        self.expire(now, AT_ONCE);
    }

    /// Looks a key's session up: its index, and the direction of the key's packets.
    #[inline(always)]
    pub fn live(&self, key: &Key, now: u64) -> Option<(u32, usize)> {
        let (at, direction) = self.table.find_key(key)?;
        (self.table.remaining(at, tick(now)) != Some(0)).then_some((at, direction))
    }

    /// The index of a key's session, also if its time has ended.
    pub fn at(&self, key: &Key) -> Option<u32> {
        self.table.find(key)
    }

    /// The session at an index.
    #[inline(always)]
    pub fn get(&self, at: u32) -> Option<(&[Key; 2], &Session)> {
        self.table.keys(at).zip(self.table.get(at))
    }

    /// Ticks until a session ends, and the tick of its last packet.
    pub fn times(&self, at: u32, now: u64) -> (u64, u64) {
        let last = self.table.touched(at).unwrap_or_default();
        (self.table.remaining(at, tick(now)).unwrap_or_default(), last.into())
    }

    /// Records a packet of a session.
    #[inline(always)]
    pub fn note(
        &mut self,
        (at, direction): (u32, usize),
        (flags, bytes): (u8, usize),
        (now, settings): (u64, &Settings),
    ) {
        let last = self.table.touched(at).unwrap_or_default();
        let is_tcp = self.table.key(at).is_some_and(|key| key.protocol() == IpProtocol::TCP);
        let Some(session) = self.table.touch(at, tick(now)) else { return };
        session.packets += 1;
        session.bytes += bytes as u64;
        let is_answer = direction == INWARD && !session.flags.contains(SessionFlags::ANSWERED);
        let change = if is_tcp { session.connection.note(direction, flags) } else { Change::None };
        let due = settings.ha.refresh_due(session.refreshed, tick(now));
        if change != Change::None {
            let timeout = session.connection.timeout(IpProtocol::TCP);
            self.table.set_timeout(at, tick(now), settings.timeouts.ticks(timeout));
        }
        // Not for each packet: the order of users' sessions needs no more than seconds.
        if tick(now).wrapping_sub(last) >= TICKS {
            self.enlist(at);
        }
        if is_answer {
            self.note_answer(at);
        }
        if due {
            self.refresh(at, now);
        }
    }

    /// Tells the other router of a session's counters.
    #[cold]
    fn refresh(&mut self, at: u32, now: u64) {
        if let Some(session) = self.table.get_mut(at) {
            session.refreshed = tick(now);
        }
        self.publish(Kind::Refresh, at);
    }

    /// Queues an event of a session for the other router.
    fn publish(&mut self, kind: Kind, at: u32) {
        if self.outbox.is_on()
            && let Some((keys, session)) = self.table.keys(at).zip(self.table.get(at))
        {
            self.outbox.event(kind, keys, session);
        }
    }

    /// Tells operators that a session was made, or has ended; the other router tells of its own.
    fn log(&mut self, change: LogChange, at: u32) {
        if !self.logger.is_on() || self.outbox.muted {
            return;
        }
        let Some((keys, session)) = self.table.keys(at).zip(self.table.get(at)) else { return };
        let ((inside, outside), user) = (ends(keys), user_of(keys));
        let port = PortMapping {
            subscriber: Subscriber::Table(user.fib),
            index: session.user,
            protocol: keys[OUTWARD].protocol(),
            inside,
            outside,
        };
        self.logger.post(|| Event::Port(change, port));
    }

    /// Tells operators that no port is left for new sessions.
    pub fn log_lack_of_ports(&mut self) {
        self.logger.lack(Lack::Addresses(0));
    }

    /// Queues the addition of a session that was made before.
    pub fn publish_again(&mut self, at: u32) {
        self.publish(Kind::Add, at);
    }

    /// Makes a session the newest one of its lists.
    fn enlist(&mut self, at: u32) {
        if let Some(session) = self.table.get(at) {
            let (user, share) = (session.user, session.share);
            self.table.renew(at, of_user(user));
            self.table.renew(at, of_share(share));
            self.renew_user(user);
        }
    }

    /// Chooses a port of this thread at random (RFC 6056 3.3.1); `key` gives the key of the world's
    /// packets to a port, `taken` tells of ports that mappings have.
    pub fn choose_port(
        &mut self,
        key: impl Fn(u16) -> Key,
        taken: impl Fn(u16) -> bool,
        now: u64,
    ) -> Option<u16> {
        let table = &self.table;
        let look = |port| match table.find(&key(port)) {
            Some(at) if table.remaining(at, tick(now)) != Some(0) => {
                table.get(at).map_or(Use::Free, |session| Use::Of(session.share))
            }
            _ if taken(port) => Use::Mapped,
            _ => Use::Free,
        };
        self.ports.choose(None, &key, look)
    }

    /// Where an address has no port left: ends a session of the user who has most of them, if this
    /// one has less than an equal part, and returns its port.
    pub fn take_port(
        &mut self,
        user: User,
        key: impl Fn(u16) -> Key,
        taken: impl Fn(u16) -> bool,
    ) -> Option<u16> {
        let ports = self.ports.of_largest(key(0).without_port(), self.share_of(user));
        let mut sample = [None; SAMPLE];
        let free_of_mappings = ports.filter(|port| !taken(*port));
        sample.iter_mut().zip(free_of_mappings).for_each(|(of, port)| *of = Some(port));
        let sampled = sample.into_iter().flatten();
        let sessions = sampled.filter_map(|port| Some((port, self.at(&key(port))?)));
        let (port, at) = sessions.min_by_key(|(_, at)| self.table.touched(*at))?;
        self.remove(at);
        self.displaced += 1;
        Some(port)
    }

    /// Sessions that users have lost to others since the last call.
    pub fn take_displaced(&mut self) -> u32 {
        std::mem::take(&mut self.displaced)
    }

    /// Makes a session, for which there is room ([`Self::make_room`]).
    ///
    /// # Errors
    /// There are too many; another session has one of the keys.
    pub fn make(
        &mut self,
        new: &NewSession,
        (now, settings): (u64, &Settings),
    ) -> Result<u32, Refused> {
        let keys = new.keys();
        for key in &keys {
            let Some(old) = self.table.find(key) else { continue };
            if self.live(key, now).is_some() {
                return Err(Refused::Taken);
            }
            self.remove(old);
        }
        let name = user_of(&keys);
        let share = self.share_of(name);
        let user = self.count_user((name, new.sw_if), new.mapping.is_some(), (now, settings))?;
        let flags = match new.mapping {
            Some(_) => SessionFlags::STATIC,
            None => SessionFlags::empty(),
        };
        let session = Session {
            flags,
            share,
            user,
            external: new.external,
            mapping: new.mapping.unwrap_or(u32::MAX),
            refreshed: tick(now),
            serial: self.serial,
            ..Session::default()
        };
        let timeout = settings.timeouts.ticks(session.connection.timeout(new.protocol));
        let made = self.table.insert_keys(keys, session, tick(now), timeout);
        let Some(at) = made else {
            self.discount_user(user, session.is_static());
            return Err(Refused::Sessions);
        };
        self.serial += 1;
        self.shares.add(share);
        self.enlist(at);
        self.ports.note(&keys[INWARD], Use::Of(share));
        self.gauges.sessions.set(0, self.table.len() as u64);
        self.publish(Kind::Add, at);
        self.log(LogChange::Created, at);
        Ok(at)
    }

    /// Removes a session, and its user with the last one.
    pub fn remove(&mut self, at: u32) -> Option<Session> {
        self.publish(Kind::Delete, at);
        self.log(LogChange::Deleted, at);
        let keys = *self.table.keys(at)?;
        let session = self.table.remove(at)?;
        self.shares.remove(session.share);
        self.discount_user(session.user, session.is_static());
        self.ports.note(&keys[INWARD], Use::Free);
        self.gauges.sessions.set(0, self.table.len() as u64);
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
    pub fn retime(&mut self, at: u32, timeouts: Timeouts) {
        let Some((keys, session)) = self.get(at) else { return };
        let timeout = timeouts.ticks(session.connection.timeout(keys[OUTWARD].protocol()));
        self.table.change_timeout(at, timeout);
    }

    /// Takes a connection for established: the other router, which knows its state, ends it.
    pub fn assume_established(&mut self, at: u32, settings: &Settings, now: u64) {
        let Some((keys, _)) = self.get(at) else { return };
        let protocol = keys[OUTWARD].protocol();
        if let Some(session) = self.table.get_mut(at) {
            session.connection = Connection::established();
            let timeout = session.connection.timeout(protocol);
            self.table.set_timeout(at, tick(now), settings.timeouts.ticks(timeout));
            self.note_answer(at);
        }
    }

    /// Gives a session the counters that the other router has seen, as if a packet had come.
    pub fn set_counters(&mut self, at: u32, (packets, bytes): (u64, u64), now: u64) {
        if let Some(session) = self.table.touch(at, tick(now)) {
            (session.packets, session.bytes) = (packets, bytes);
            self.enlist(at);
        }
    }

    /// The next session of a walk ([`Sessions::walk`]).
    pub fn next(&self, place: &mut u32, budget: &mut usize) -> Option<u32> {
        self.table.walk(place, budget)
    }
}

impl ThreadState for Flows {
    fn make(world: &World, thread: ThreadIndex) -> Self {
        Self::new(world, thread)
    }
}

/// Sessions and users of all threads.
pub type AllFlows = PerThread<Flows>;
