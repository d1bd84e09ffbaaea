// SPDX-License-Identifier: Apache-2.0
//! Bindings and sessions of a thread, and of all threads.
//!
//! A binding lives as long as it has sessions (RFC 6146 3.5.1). Its removal doesn't touch them:
//! they name it by a handle, and one whose binding is gone is no session any more. So a binding
//! with any number of sessions is removed at once; the timers clear up behind it.

mod bindings;

use crate::key::{End, Host, Key};
use crate::session::{Binding, INWARD, KINDS, OUTWARD, Phase, Session, timeout_of};
use crate::settings::{Claims, Settings};
use crate::state::Counters;
use graph::{PerThread, ThreadIndex, ThreadState, World};
use nat::log::{Binding64, Change, Event, Lack, Logger};
use nat::ports::Ports;
use nat::timeouts::{Timeouts, tick};
use stats::Lane;
use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use tables::{AgeList, Mixer, SHARES, Sessions, Share, Shares};
use wire::TcpFlags;

/// Timers that fire at most in one tick of the node, and for one packet without a session.
pub const AT_A_TICK: usize = 4096;
const AT_ONCE: usize = 8;
/// The list of bindings of a share, and that of its bindings of a kind of protocol.
const fn all_of(share: Share) -> AgeList {
    AgeList::new(0, share as u32)
}

const fn of_kind(kind: usize, share: Share) -> AgeList {
    AgeList::new(1, (kind * SHARES) as u32 + share as u32)
}

/// The reason why there is no new binding or session.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refused {
    /// There are as many bindings as there may be.
    Bindings,
    /// There are as many sessions as there may be.
    Sessions,
    /// No port or address is left.
    Ports,
    /// The user's end has a binding.
    Exists,
    /// Another user has the end that the world would see.
    Taken,
}

/// A binding as logs have it, by its keys or those of one of its sessions.
fn logged_binding([user, world]: &[Key; 2]) -> Binding64 {
    let (protocol, outside) = (user.protocol(), world.end());
    let user = user.user();
    Binding64 { fib: user.fib, protocol, inside: (user.addr, user.port), outside }
}

/// The event of a session with these keys.
fn logged(change: Change, keys: &[Key; 2]) -> Event {
    Event::Session64(change, logged_binding(keys), keys[OUTWARD].remote())
}

/// Mark of a session in [`Flows::next_of_both`]; no table has so many entries.
pub const SESSION: u32 = 1 << 31;

/// The state of a user, common to all its bindings.
#[derive(Clone, Copy, Default)]
struct HostState {
    /// The address that the world sees.
    addr: u32,
    bindings: u32,
}

/// Bindings and sessions of one thread.
pub struct Flows {
    bindings: Sessions<Key, Binding, 2, 2>,
    sessions: Sessions<Key, Session, 1, 2>,
    hosts: Sessions<Host, HostState>,
    /// Shares of bindings, of bindings of each kind, and of sessions.
    shares: [Shares; 2 + KINDS],
    /// Bindings of each kind.
    n: [usize; KINDS],
    mixer: Mixer,
    ports: Ports<Key>,
    /// Ports of an address that bindings have, by their key without the port: one without any left
    /// isn't searched.
    used: HashMap<Key, u32>,
    /// Addresses that bindings without ports have for themselves.
    claimed: HashMap<Key, Arc<Claims>>,
    generation: u32,
    thread: u16,
    gauges: [Lane; 2],
    /// Tells operators of bindings and sessions.
    logger: Logger,
}

/// Positions in [`Flows::shares`].
const OF_BINDINGS: usize = KINDS;
const OF_SESSIONS: usize = KINDS + 1;

impl Flows {
    fn new(world: &World, thread: ThreadIndex) -> Self {
        let seed = |what: u32| RandomState::new().hash_one((thread, what));
        Self {
            bindings: Sessions::new(seed(0), u32::MAX, (KINDS * SHARES) as u32),
            sessions: Sessions::new(seed(1), u32::MAX, SHARES as u32),
            hosts: Sessions::new(seed(2), u32::MAX, 0),
            shares: Default::default(),
            n: [0; KINDS],
            mixer: Mixer::new(seed(3)),
            ports: Ports::new(seed(4)),
            used: HashMap::new(),
            claimed: HashMap::new(),
            generation: 0,
            thread: thread.0,
            gauges: world.get::<Counters>().gauges(thread),
            logger: Logger::new(world),
        }
    }

    /// Takes notice of other ports, and ends what has ended.
    #[inline(always)]
    pub fn follow(&mut self, generation: u32, settings: &Settings, now: u64) {
        if self.generation != generation {
            self.generation = generation;
            self.ports.set_block(settings.workers.block(self.thread));
        }
        self.expire(now, AT_ONCE);
    }

    /// A random number.
    pub fn random(&mut self) -> u64 {
        self.ports.random()
    }

    /// Tells operators of a binding or a session that there is no room for.
    #[cold]
    pub fn refuse(&mut self, refused: Refused, settings: &Settings) {
        let lack = match refused {
            Refused::Bindings => Lack::Bindings(settings.bibs as u32),
            Refused::Sessions => Lack::Sessions(settings.sessions as u32),
            Refused::Ports => Lack::Addresses(0),
            Refused::Exists | Refused::Taken => return,
        };
        self.logger.lack(lack);
    }

    /// Looks a packet's session up: its index, and the packet's direction.
    #[inline(always)]
    pub fn live(&self, key: &Key, now: u64) -> Option<(u32, usize)> {
        let (at, direction) = self.sessions.find_key(key)?;
        (self.sessions.remaining(at, tick(now)) != Some(0) && self.is_bound(at))
            .then_some((at, direction))
    }

    #[inline(always)]
    fn is_bound(&self, at: u32) -> bool {
        let binding = self.sessions.get(at).and_then(|session| session.binding);
        binding.and_then(|handle| self.bindings.resolve(handle)).is_some()
    }

    /// The index of the binding with this key.
    #[inline(always)]
    pub fn binding(&self, key: &Key) -> Option<u32> {
        self.bindings.find(key)
    }

    /// The binding at an index.
    pub fn get_binding(&self, at: u32) -> Option<(&[Key; 2], &Binding)> {
        self.bindings.keys(at).zip(self.bindings.get(at))
    }

    /// The session at an index.
    #[inline(always)]
    pub fn get(&self, at: u32) -> Option<(&[Key; 2], &Session)> {
        self.sessions.keys(at).zip(self.sessions.get(at))
    }

    /// The session at an index, if it is one still, with the ticks until it ends.
    pub fn shown(&self, at: u32, now: u64) -> Option<(&[Key; 2], &Session, u64)> {
        let left = self.sessions.remaining(at, tick(now)).filter(|left| *left > 0)?;
        let (keys, session) = self.get(at).filter(|_| self.is_bound(at))?;
        Some((keys, session, left))
    }

    /// Records a packet of a session, with its flags if it is TCP.
    #[inline(always)]
    pub fn note(
        &mut self,
        (at, direction): (u32, usize),
        (flags, bytes): (Option<TcpFlags>, usize),
        (now, settings): (u64, &Settings),
    ) {
        let Some(session) = self.sessions.get_mut(at) else { return };
        session.packets += 1;
        session.bytes += bytes as u64;
        let was = session.phase;
        if let Some(flags) = flags {
            session.phase = was.after(direction, flags);
            // RFC 6146 lets a connection that has ended run out; the next one with the same ends
            // opens it again.
            let opens = flags.contains(TcpFlags::SYN) && !flags.contains(TcpFlags::ACK);
            if was == Phase::Closed && opens {
                session.phase = Phase::opened_by(direction);
            }
            if session.phase != was {
                let ticks = settings.timeouts.ticks(session.phase.timeout());
                return self.sessions.set_timeout(at, tick(now), ticks);
            }
            if was.is_over() {
                return;
            }
        }
        self.sessions.touch(at, tick(now));
    }

    /// Makes a session of a binding with a host of the world; `direction` is that of the packet
    /// that makes it.
    ///
    /// # Errors
    /// There are too many.
    pub fn make(
        &mut self,
        binding: u32,
        of: (End, usize),
        now: (u64, &Settings),
    ) -> Result<u32, Refused> {
        // Counted first: sessions that go meanwhile may be the last ones of the same binding.
        if let Some(of) = self.bindings.get_mut(binding) {
            of.sessions += 1;
        }
        let made = self.make_counted(binding, of, now);
        if made.is_err() {
            self.release(binding);
        }
        made
    }

    fn make_counted(
        &mut self,
        binding: u32,
        (remote, direction): (End, usize),
        (now, settings): (u64, &Settings),
    ) -> Result<u32, Refused> {
        let (keys, of) = self.get_binding(binding).ok_or(Refused::Sessions)?;
        let (protocol, share) = (keys[0].protocol(), of.share);
        let keys = [
            Key::inside(keys[OUTWARD].user(), remote, protocol),
            Key::outside(keys[INWARD].end(), remote, protocol),
        ];
        // One whose time has ended, or whose binding is gone, is in the way.
        for key in &keys {
            if let Some(old) = self.sessions.find(key) {
                self.remove(old);
            }
        }
        if self.sessions.len() >= settings.sessions {
            if !self.is_owed(OF_SESSIONS, share, self.sessions.len()) {
                return Err(Refused::Sessions);
            }
            let largest = self.shares[OF_SESSIONS].largest().0;
            let oldest = self.sessions.oldest(all_of(largest)).ok_or(Refused::Sessions)?;
            self.remove(oldest);
        }
        let phase = Phase::opened_by(direction);
        let handle = self.bindings.handle(binding);
        let session = Session { binding: handle, phase, share, packets: 0, bytes: 0 };
        let ticks = settings.timeouts.ticks(timeout_of(protocol, phase));
        let made = self.sessions.insert_keys(keys, session, tick(now), ticks);
        let at = made.ok_or(Refused::Sessions)?;
        self.sessions.renew(at, all_of(share));
        self.shares[OF_SESSIONS].add(share);
        self.gauges[1].set(0, self.sessions.len() as u64);
        self.logger.post(|| logged(Change::Created, &keys));
        Ok(at)
    }

    /// Removes a session, and its binding with the last one.
    pub fn remove(&mut self, at: u32) {
        let keys = self.sessions.keys(at).copied();
        let Some(session) = self.sessions.remove(at) else { return };
        if let Some(keys) = keys {
            self.logger.post(|| logged(Change::Deleted, &keys));
        }
        self.shares[OF_SESSIONS].remove(session.share);
        self.gauges[1].set(0, self.sessions.len() as u64);
        let binding = session.binding.and_then(|handle| self.bindings.resolve(handle));
        binding.into_iter().for_each(|at| self.release(at));
    }

    /// Counts one session of a binding less. Without any it goes, unless an operator has set it.
    fn release(&mut self, binding: u32) {
        let Some(of) = self.bindings.get_mut(binding) else { return };
        of.sessions -= 1;
        if of.sessions == 0 && !of.fixed {
            self.unbind(binding);
        }
    }

    /// Ends sessions whose time has ended, as far as the budget goes. Returns true if it is spent:
    /// there may be more.
    pub fn expire(&mut self, now: u64, mut budget: usize) -> bool {
        while let Some(at) = self.sessions.expired(tick(now), &mut budget) {
            self.remove(at);
        }
        budget == 0
    }

    /// Gives a session the timeout that it would get now.
    pub fn retime(&mut self, at: u32, timeouts: Timeouts) {
        let Some((keys, session)) = self.get(at) else { return };
        let timeout = timeouts.ticks(timeout_of(keys[0].protocol(), session.phase));
        self.sessions.change_timeout(at, timeout);
    }

    /// Removes a session whose binding is gone.
    pub fn remove_unbound(&mut self, at: u32) {
        if !self.is_bound(at) {
            self.remove(at);
        }
    }

    /// The next binding of a walk ([`Sessions::walk`]).
    pub fn next_binding(&self, place: &mut u32, budget: &mut usize) -> Option<u32> {
        self.bindings.walk(place, budget)
    }

    /// The next session of a walk.
    pub fn next_session(&self, place: &mut u32, budget: &mut usize) -> Option<u32> {
        self.sessions.walk(place, budget)
    }

    /// The next binding of a walk, and behind all bindings the next session, whose index has
    /// [`SESSION`] set.
    pub fn next_of_both(&self, place: &mut u32, budget: &mut usize) -> Option<u32> {
        if *place & SESSION == 0 {
            let found = self.next_binding(place, budget);
            if found.is_some() || *place != u32::MAX {
                return found;
            }
            *place = SESSION;
        }
        let mut at = *place & !SESSION;
        let found = self.next_session(&mut at, budget);
        *place = at | SESSION;
        found.map(|at| at | SESSION)
    }
}

impl ThreadState for Flows {
    fn make(world: &World, thread: ThreadIndex) -> Self {
        Self::new(world, thread)
    }
}

/// Bindings and sessions of all threads.
pub type AllFlows = PerThread<Flows>;
