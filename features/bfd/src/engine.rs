// SPDX-License-Identifier: Apache-2.0
//! The sessions of the thread that runs them, without a lock: indexed by discriminator, by
//! addresses, and by the time at which they have something to do.

use crate::home::{Home, Report, SessionKey};
use crate::packet::{Control, FIRST_PORT, PORTS};
use crate::receive::Received;
use crate::session::{Refusal, Sending, Session};
use crate::timers::Timers;
use graph::{Signal, ThreadIndex, ThreadState, World};
use net::AdjIndex;
use stats::CombinedLane;
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use sync::{Limit, TokenBucket};

/// Reports of a session to control: each costs control a line of the log, an event for each client,
/// and changes of routes, and a host on the link can change the state with each packet. A report
/// beyond the limit waits, and has the state of then.
pub const REPORTS: Limit = Limit::new(10, 32);
/// Nanoseconds after which waiting reports are tried again.
const RETRY: u64 = 1_000_000;

/// A session with its addresses.
#[derive(Debug)]
pub struct Entry {
    /// Its number.
    pub index: u32,
    /// Distinguishes it from earlier sessions with its number.
    pub generation: u64,
    /// Changes of its state that control has made: reports of earlier states are void.
    pub epoch: u32,
    /// Its interface and addresses.
    pub key: SessionKey,
    /// The adjacency of the peer; none for several hops, whose packets are looked up.
    pub adj: Option<AdjIndex>,
    /// Variables and state.
    pub session: Session,
    /// True while a change waits to be reported.
    unreported: bool,
    reports: TokenBucket,
    /// Delayed changes of the key that were completed.
    keys_changed: u32,
}

impl Entry {
    /// A session that is new.
    pub fn new(index: u32, generation: u64, key: SessionKey, session: Session) -> Self {
        Self {
            index,
            generation,
            epoch: 0,
            key,
            adj: None,
            session,
            unreported: false,
            reports: TokenBucket::default(),
            keys_changed: 0,
        }
    }

    /// Source port of its packets (RFC 5881 4).
    pub const fn port(&self) -> u16 {
        FIRST_PORT + (self.index % PORTS) as u16
    }

    fn report(&self) -> Report {
        Report {
            index: self.index,
            generation: self.generation,
            epoch: self.epoch,
            state: self.session.state,
            diag: self.session.diag,
            keys_changed: self.keys_changed,
        }
    }
}

/// The reason why no session takes a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Miss {
    /// There is none with the discriminator, or with the addresses.
    NoSession,
    /// The session's peer has another address than the packet's source.
    Source,
    /// The session has another address than the packet's destination.
    Destination,
    /// The packet arrived by another interface than the session's, or for another number of hops.
    Interface,
    /// The session discards it.
    Refused(Refusal),
}

/// The sessions of the thread that runs them.
pub struct Engine {
    entries: Vec<Option<Box<Entry>>>,
    by_disc: HashMap<u32, u32>,
    by_key: HashMap<SessionKey, u32>,
    timers: Timers,
    /// Sessions whose changes wait to be reported.
    unreported: Vec<u32>,
    /// Time at which these are tried again.
    retry: u64,
    /// Type of service of packets.
    pub tos: u8,
    /// Source addresses of echo packets: of IPv4, of IPv6.
    pub echo_sources: (Option<IpAddr>, Option<IpAddr>),
    /// Received and sent packets by session: control, then echo.
    pub rx: CombinedLane,
    /// See `rx`.
    pub tx: CombinedLane,
    /// See `rx`.
    pub rx_echo: CombinedLane,
    /// See `rx`.
    pub tx_echo: CombinedLane,
    home: Arc<Home>,
    signal: Signal,
}

impl ThreadState for Engine {
    fn make(world: &World, thread: ThreadIndex) -> Self {
        let home: Arc<Home> = world.get();
        let lane = |counters: &stats::Combined| counters.lane(thread.at());
        Self {
            entries: Vec::new(),
            by_disc: HashMap::new(),
            by_key: HashMap::new(),
            timers: Timers::default(),
            unreported: Vec::new(),
            retry: 0,
            tos: 0,
            echo_sources: (None, None),
            rx: lane(&home.rx),
            tx: lane(&home.tx),
            rx_echo: lane(&home.rx_echo),
            tx_echo: lane(&home.tx_echo),
            signal: home.signal.clone(),
            home,
        }
    }
}

impl Engine {
    /// Adds a session.
    pub fn insert(&mut self, mut entry: Box<Entry>, now: u64) {
        let (index, at) = (entry.index, entry.index as usize);
        if self.entries.len() <= at {
            self.entries.resize_with(at + 1, || None);
            // So that a report that waits allocates nothing.
            self.unreported.reserve(at + 1 - self.unreported.len().min(at + 1));
        }
        entry.session.set_echo_source(self.echo_source(&entry.key).is_some(), now);
        self.by_disc.insert(entry.session.disc, index);
        self.by_key.insert(entry.key, index);
        self.entries[at] = Some(entry);
        self.schedule(index);
    }

    /// Removes a session.
    pub fn remove(&mut self, index: u32) {
        let Some(entry) = self.entries.get_mut(index as usize).and_then(Option::take) else {
            return;
        };
        self.by_disc.remove(&entry.session.disc);
        self.by_key.remove(&entry.key);
        self.unreported.retain(|other| *other != index);
        self.timers.set(index, None);
    }

    /// Returns true if a session has this discriminator.
    pub fn has_disc(&self, disc: u32) -> bool {
        self.by_disc.contains_key(&disc)
    }

    /// A session.
    pub fn get(&self, index: u32) -> Option<&Entry> {
        self.entries.get(index as usize)?.as_deref()
    }

    fn get_mut(&mut self, index: u32) -> Option<&mut Entry> {
        self.entries.get_mut(index as usize)?.as_deref_mut()
    }

    /// Changes a session as control requests; its change of state, if any, isn't reported.
    pub fn change(&mut self, index: u32, change: impl FnOnce(&mut Entry)) {
        if let Some(entry) = self.get_mut(index) {
            change(entry);
            self.schedule(index);
        }
    }

    /// All sessions.
    pub fn all(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter().flatten().map(|entry| &**entry)
    }

    /// Sets the source addresses of echo packets.
    pub fn set_echo_sources(&mut self, sources: (Option<IpAddr>, Option<IpAddr>), now: u64) {
        self.echo_sources = sources;
        for i in 0..self.entries.len() as u32 {
            self.change(i, |entry| {
                let source = if entry.key.peer.is_ipv4() { sources.0 } else { sources.1 };
                entry.session.set_echo_source(source.is_some(), now);
            });
        }
    }

    /// The source address of a session's echo packets.
    pub fn echo_source(&self, key: &SessionKey) -> Option<IpAddr> {
        if key.peer.is_ipv4() { self.echo_sources.0 } else { self.echo_sources.1 }
    }

    /// The earliest time at which a session has something to do, or a report that waits is tried
    /// again.
    pub fn due(&self) -> Option<u64> {
        let retry = (!self.unreported.is_empty()).then_some(self.retry);
        self.timers.first().map(|(at, _)| at).into_iter().chain(retry).min()
    }

    fn schedule(&mut self, index: u32) {
        let due = self.get(index).and_then(|entry| entry.session.due());
        self.timers.set(index, due);
    }

    /// The number of the session that a packet belongs to (RFC 5880 6.8.6, RFC 5881 3).
    ///
    /// # Errors
    /// There is none.
    pub fn find(&self, packet: &Control, arrived: &SessionKey) -> Result<u32, Miss> {
        if packet.your_disc == 0 {
            return self.by_key.get(arrived).copied().ok_or(Miss::NoSession);
        }
        let index = *self.by_disc.get(&packet.your_disc).ok_or(Miss::NoSession)?;
        let key = self.get(index).ok_or(Miss::NoSession)?.key;
        match () {
            () if key.peer != arrived.peer => Err(Miss::Source),
            () if key.local != arrived.local => Err(Miss::Destination),
            () if key.sw_if != arrived.sw_if => Err(Miss::Interface),
            () => Ok(index),
        }
    }

    /// Processes a packet of a session. Returns true if it has to be answered at once.
    ///
    /// # Errors
    /// The session discards it.
    pub fn receive(
        &mut self,
        index: u32,
        (packet, bytes): (&Control, &[u8]),
        now: u64,
    ) -> Result<bool, Miss> {
        let entry = self.get_mut(index).ok_or(Miss::NoSession)?;
        let before = entry.session.state;
        let received = entry.session.receive(packet, bytes, now);
        let key_changed = received.is_ok_and(|received| received.key_changed);
        entry.keys_changed += u32::from(key_changed);
        if key_changed || entry.session.state != before {
            self.report(index, now);
        }
        self.schedule(index);
        received.map(|Received { answer, .. }| answer).map_err(Miss::Refused)
    }

    /// Notes that an echo packet has come back in time; returns its session.
    pub fn echoed(&mut self, disc: u32, now: u64) -> Option<u32> {
        let index = *self.by_disc.get(&disc)?;
        self.change(index, |entry| entry.session.echoed(now));
        Some(index)
    }

    /// Does what is due of one session, and returns the session with the packet that it has to
    /// send, if any. `None` if nothing is due; only otherwise `random` is called.
    pub fn step(
        &mut self,
        now: u64,
        random: impl FnOnce() -> u64,
    ) -> Option<(u32, Option<Sending>)> {
        let (at, index) = self.timers.first()?;
        if at > now {
            return None;
        }
        let Some(entry) = self.get_mut(index) else {
            self.timers.set(index, None);
            return Some((index, None));
        };
        let before = entry.session.state;
        entry.session.expire(now);
        let sending = entry.session.next_packet(now, random());
        if entry.session.state != before {
            self.report(index, now);
        }
        self.schedule(index);
        Some((index, sending))
    }

    /// The control packet of a session with its authentication.
    pub fn control(&mut self, index: u32, answer: bool) -> Option<(Control, &Entry)> {
        let entry = self.get_mut(index)?;
        let packet = entry.session.control(answer);
        Some((packet, entry))
    }

    /// Reports a session's state to control. While the queue is full or the session has used up its
    /// limit, the report waits: later states replace it.
    fn report(&mut self, index: u32, now: u64) {
        let Some(entry) = self.entries.get_mut(index as usize).and_then(Option::as_deref_mut)
        else {
            return;
        };
        if entry.unreported {
            return;
        }
        let may_report = !self.home.reports.is_full() && entry.reports.take(now, REPORTS);
        if may_report && self.home.reports.push(entry.report()).is_ok() {
            self.signal.raise();
        } else {
            entry.unreported = true;
            if self.unreported.is_empty() {
                self.retry = now + RETRY;
            }
            self.unreported.push(index);
        }
    }

    /// Tries to send reports that wait, once their time has come.
    pub fn retry(&mut self, now: u64) {
        if now < self.retry {
            return;
        }
        // Reports that go on waiting are added behind those that are still to be tried.
        for at in (0..self.unreported.len()).rev() {
            let index = self.unreported.swap_remove(at);
            if let Some(entry) = self.get_mut(index) {
                entry.unreported = false;
            }
            self.report(index, now);
        }
        self.retry = now + RETRY;
    }
}
