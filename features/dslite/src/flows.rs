// SPDX-License-Identifier: Apache-2.0
//! Sessions of a thread, and of all threads.

use crate::key::{B4Key, DatagramKey, Key};
use crate::session::{INWARD, OUTWARD, Session};
use crate::settings::{Counters, Settings};
use graph::{PerThread, ThreadIndex, ThreadState, World};
use nat::key::End;
use nat::log::{Change, Event, Lack, Logger, PortMapping, Subscriber};
use nat::ports::{Ports, Use};
use nat::timeouts::{TICKS, Timeouts, tick};
use stats::Lane;
use std::hash::{BuildHasher, RandomState};
use std::net::{Ipv4Addr, Ipv6Addr};
use tables::{AgeList, Mixer, SHARES, Sessions, Share, Shares};
use wire::{IpProtocol, TcpFlags};

/// Sessions of a B4 at most; one more takes the place of its oldest.
pub const SESSIONS: u32 = 1000;
/// Sessions of a thread at most.
pub const SESSIONS_OF_THREAD: usize = 1 << 20;
/// Datagrams in fragments whose ports a thread knows at most, and for how long.
const DATAGRAMS: usize = 4096;
const DATAGRAM_TICKS: u32 = 5 * TICKS;
/// Addresses of the pool that are tried for a B4 whose own has no port left.
const ADDRESSES: usize = 64;
/// Oldest sessions of the largest share that are searched for a port for another B4.
const CANDIDATES: usize = 16;
/// Timers that fire at most in one tick of the node, and for one new session.
pub const AT_A_TICK: usize = 4096;
const AT_ONCE: usize = 8;
/// Bits of an IPv6 address that a host can't choose.
const NETWORK: u32 = 64;
/// The sessions of a share by age, and its datagrams.
const fn of_share(share: Share) -> AgeList {
    AgeList::new(0, share as u32)
}

/// A B4 with sessions.
#[derive(Clone, Copy, Default)]
struct User {
    /// The address that the world sees.
    addr: u32,
    /// Its oldest and its newest session.
    oldest: Option<u32>,
    newest: Option<u32>,
    /// Their number.
    n: u32,
}

/// A user's datagram that comes in fragments.
#[derive(Clone, Copy, Default)]
struct Datagram {
    /// Source and destination port.
    ports: (u16, u16),
    share: Share,
}

/// The reason why there is no new session.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refused {
    /// No port or address is left.
    Ports,
    /// The thread has as many as it may have.
    Full,
}

/// Sessions of one thread.
pub struct Flows {
    table: Sessions<Key, Session, 1, 2>,
    users: Sessions<B4Key, User>,
    /// Source and destination ports of users' datagrams that come in fragments.
    datagrams: Sessions<DatagramKey, Datagram, 1>,
    /// Shares of sessions, and of datagrams.
    shares: Shares,
    datagram_shares: Shares,
    mixer: Mixer,
    ports: Ports<Key>,
    generation: u32,
    thread: u16,
    gauges: [Lane; 2],
    logger: Logger,
}

/// Sessions of all threads.
pub type AllFlows = PerThread<Flows>;

impl ThreadState for Flows {
    fn make(world: &World, thread: ThreadIndex) -> Self {
        let seed = |what: u32| RandomState::new().hash_one((thread, what));
        Self {
            table: Sessions::new(seed(0), u32::MAX, SHARES as u32),
            users: Sessions::new(seed(1), u32::MAX, 0),
            datagrams: Sessions::new(seed(2), u32::MAX, SHARES as u32),
            shares: Shares::default(),
            datagram_shares: Shares::default(),
            mixer: Mixer::new(seed(3)),
            ports: Ports::new(seed(4)),
            generation: 0,
            thread: thread.0,
            gauges: world.get::<Counters>().gauges(thread),
            logger: Logger::new(world),
        }
    }
}

impl Flows {
    /// Adopts other ports after a change of the settings, and ends sessions whose time has ended.
    pub fn follow(&mut self, generation: u32, settings: &Settings, now: u64) {
        if self.generation != generation {
            self.generation = generation;
            self.ports.set_block(settings.workers.block(self.thread));
        }
        self.expire(now, AT_ONCE);
    }

    /// The session of a key, with the direction. One whose time has ended is none.
    #[inline(always)]
    pub fn live(&self, key: &Key, now: u64) -> Option<(u32, usize)> {
        let (at, direction) = self.table.find_key(key)?;
        (self.table.remaining(at, tick(now)) != Some(0)).then_some((at, direction))
    }

    /// The session at an index.
    #[inline(always)]
    pub fn get(&self, at: u32) -> Option<(&[Key; 2], &Session)> {
        self.table.keys(at).zip(self.table.get(at))
    }

    /// The session at an index, if its time hasn't ended, with the ticks until then.
    pub fn shown(&self, at: u32, now: u64) -> Option<(&[Key; 2], &Session, u64)> {
        let left = self.table.remaining(at, tick(now)).filter(|left| *left > 0)?;
        let (keys, session) = self.get(at)?;
        Some((keys, session, left))
    }

    /// Records a packet of a session, with its flags if it is TCP.
    #[inline(always)]
    pub fn note(
        &mut self,
        (at, direction): (u32, usize),
        (flags, bytes): (Option<TcpFlags>, usize),
        (now, timeouts): (u64, &Timeouts),
    ) {
        let Some(session) = self.table.touch(at, tick(now)) else { return };
        session.packets += 1;
        session.bytes += bytes as u64;
        if flags.is_some_and(|flags| session.note(direction, flags)) {
            let timeout = timeouts.ticks(session.timeout(IpProtocol::TCP));
            self.table.set_timeout(at, tick(now), timeout);
        }
    }

    /// Makes the session of a user's packet with this key.
    ///
    /// # Errors
    /// No port is left; the table is full.
    pub fn make(&mut self, key: Key, (now, settings): (u64, &Settings)) -> Result<u32, Refused> {
        let made = self.make_session(key, (now, settings));
        match made {
            Err(Refused::Ports) => self.logger.lack(Lack::Addresses(0)),
            Err(Refused::Full) => self.logger.lack(Lack::Sessions(SESSIONS_OF_THREAD as u32)),
            Ok(_) => {}
        }
        made
    }

    fn make_session(
        &mut self,
        key: Key,
        (now, settings): (u64, &Settings),
    ) -> Result<u32, Refused> {
        let share = self.share(key.b4());
        // A session with this key whose time has ended.
        if let Some(old) = self.table.find(&key) {
            self.remove(old);
        }
        let name = B4Key(key.b4());
        let known = self.users.find(&name).and_then(|at| self.users.get(at)).copied();
        if let Some(user) = known.filter(|user| user.n >= SESSIONS) {
            user.oldest.into_iter().for_each(|oldest| self.remove(oldest));
        }
        if self.table.len() >= SESSIONS_OF_THREAD {
            let largest = self.shares.largest().0;
            let oldest = self.table.oldest(of_share(largest));
            let is_owed = self.shares.is_below_equal(share);
            self.remove(oldest.filter(|_| is_owed).ok_or(Refused::Full)?);
        }
        let before = known.map(|user| Ipv4Addr::from_bits(user.addr));
        let chosen = self.choose(key, before, settings);
        let taken = chosen.or_else(|| self.take_port(share, key.protocol(), settings));
        let outside = taken.ok_or(Refused::Ports)?;
        let user = match self.users.find(&name) {
            Some(user) => user,
            None => {
                let user = User { addr: outside.addr.to_bits(), ..User::default() };
                self.users.insert_untimed(name, user).ok_or(Refused::Full)?
            }
        };
        let keys = [key, Key::outside(outside, key.protocol())];
        let session = Session::new(user, share);
        let timeout = settings.timeouts.ticks(session.timeout(key.protocol()));
        let Some(at) = self.table.insert_keys(keys, session, tick(now), timeout) else {
            self.forget_unused(user);
            return Err(Refused::Full);
        };
        self.table.renew(at, of_share(share));
        self.shares.add(share);
        self.append(user, at);
        self.ports.note(&keys[INWARD], Use::Mapped);
        self.count();
        self.logger.post(|| logged(Change::Created, &keys, user));
        Ok(at)
    }

    /// Ends a session of the network that has most of them, if this network has less than an equal
    /// share, and returns its address and port.
    fn take_port(
        &mut self,
        share: Share,
        protocol: IpProtocol,
        settings: &Settings,
    ) -> Option<End> {
        if !self.shares.is_below_equal(share) {
            return None;
        }
        let largest = of_share(self.shares.largest().0);
        let (at, end) = self
            .table
            .iter(largest)
            .take(CANDIDATES)
            .filter(|(_, key, _)| key.protocol() == protocol)
            .filter_map(|(at, ..)| Some((at, self.table.keys(at)?[INWARD].end())))
            .find(|(_, end)| settings.is_pool(end.addr))?;
        self.remove(at);
        Some(end)
    }

    /// The share of a B4: those of one network have one together, since a host has any number of
    /// addresses there.
    fn share(&self, b4: Ipv6Addr) -> Share {
        let network = Ipv6Addr::from_bits(b4.to_bits() >> NETWORK << NETWORK);
        Shares::index(self.mixer.add_bytes(&network.octets()))
    }

    /// Chooses what the world sees of a user: the address of the B4's other sessions first
    /// (RFC 4787 4.1), then any of the pool.
    fn choose(&mut self, key: Key, before: Option<Ipv4Addr>, settings: &Settings) -> Option<End> {
        let protocol = key.protocol();
        let known = before.filter(|addr| settings.is_pool(*addr));
        if let Some(end) = known.and_then(|addr| self.choose_of(addr, protocol)) {
            return Some(end);
        }
        let n = settings.pool.len();
        let first = settings.spread(key.b4()) as usize;
        (0..n.min(ADDRESSES))
            .find_map(|at| self.choose_of(settings.pool[(first + at) % n], protocol))
    }

    fn choose_of(&mut self, addr: Ipv4Addr, protocol: IpProtocol) -> Option<End> {
        let key = |port| Key::outside(End::new(addr, port), protocol);
        let table = &self.table;
        let look = |port| table.find(&key(port)).map_or(Use::Free, |_| Use::Mapped);
        let port = self.ports.choose(None, key, look)?;
        Some(End::new(addr, port))
    }

    /// Makes a session the newest one of a B4.
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

    fn count(&self) {
        self.gauges[0].set(0, self.users.len() as u64);
        self.gauges[1].set(0, self.table.len() as u64);
    }

    /// Removes a session.
    pub fn remove(&mut self, at: u32) {
        let Some(keys) = self.table.keys(at).copied() else { return };
        let Some(Session { older, newer, user, share, .. }) = self.table.remove(at) else { return };
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
        self.shares.remove(share);
        self.ports.note(&keys[INWARD], Use::Free);
        self.count();
        self.logger.post(|| logged(Change::Deleted, &keys, user));
    }

    /// Ends sessions whose time has ended, as far as the budget goes. Returns true if it is spent:
    /// there may be more.
    pub fn expire(&mut self, now: u64, mut budget: usize) -> bool {
        while let Some(at) = self.table.expired(tick(now), &mut budget) {
            self.remove(at);
        }
        while let Some(at) = self.datagrams.expired(tick(now), &mut budget) {
            self.forget_datagram(at);
        }
        budget == 0
    }

    /// Keeps the ports of a user's datagram, of which this is the first fragment. Where there are
    /// too many, the network of B4s that has most loses its oldest.
    pub fn keep_ports(&mut self, key: DatagramKey, ports: (u16, u16), now: u64) {
        if let Some(old) = self.datagrams.find(&key) {
            self.forget_datagram(old);
        }
        if self.datagrams.len() >= DATAGRAMS
            && let Some(oldest) = self.datagrams.oldest(of_share(self.datagram_shares.largest().0))
        {
            self.forget_datagram(oldest);
        }
        let share = self.share(key.b4);
        let datagram = Datagram { ports, share };
        if let Some(at) = self.datagrams.insert(key, datagram, tick(now), DATAGRAM_TICKS) {
            self.datagrams.renew(at, of_share(share));
            self.datagram_shares.add(share);
        }
    }

    fn forget_datagram(&mut self, at: u32) {
        if let Some(datagram) = self.datagrams.remove(at) {
            self.datagram_shares.remove(datagram.share);
        }
    }

    /// The ports of a user's datagram, of which this is a later fragment.
    pub fn ports_of(&self, key: &DatagramKey) -> Option<(u16, u16)> {
        let datagram = self.datagrams.find(key).and_then(|at| self.datagrams.get(at));
        datagram.map(|datagram| datagram.ports)
    }

    /// The next session of a walk ([`Sessions::walk`]).
    pub fn next(&self, place: &mut u32, budget: &mut usize) -> Option<u32> {
        self.table.walk(place, budget)
    }
}

/// The event of a session with these keys.
fn logged(change: Change, keys: &[Key; 2], user: u32) -> Event {
    Event::Port(
        change,
        PortMapping {
            subscriber: Subscriber::B4(keys[OUTWARD].b4()),
            index: user,
            protocol: keys[OUTWARD].protocol(),
            inside: keys[OUTWARD].end(),
            outside: keys[INWARD].end(),
        },
    )
}
