// SPDX-License-Identifier: Apache-2.0
//! The verbs of sessions: what commands and messages call. Control keeps the configuration and the
//! last reported state of each session; the thread of the sessions has the rest.

use crate::auth::Auth;
use crate::echo_source;
use crate::engine::{Engine, Entry};
use crate::home::{Home, NODE, SessionKey, THREAD};
use crate::keys::{KeyUse, Keys};
use crate::packet::{Diag, State};
use crate::paths::Paths;
use crate::ports::Ports;
use crate::session::{Session, Settings};
use cli::{Error, Result};
use graph::{Deleted, PerThread, Shared, SwIfIndex, World};
use msg::retval;
use net::{AdjIndex, Adjacencies, Interfaces};
use stats::Gauge;
use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use wire::{Ip4, Ip6};

/// Maximum number of sessions: as many as there are source ports.
const MOST: u32 = crate::packet::PORTS;

/// A session as control keeps it.
#[derive(Clone, Debug)]
pub struct Configured {
    /// Interface and addresses.
    pub key: SessionKey,
    /// Timers.
    pub settings: Settings,
    /// The key of its packets; of a delayed change, the new one.
    pub auth: Option<KeyUse>,
    /// During a delayed change, the key in force until it is complete, or none.
    pub replaced: Option<Option<KeyUse>>,
    /// False while an operator holds the session down.
    pub admin_up: bool,
    /// The last reported state.
    pub state: State,
    /// The reason of the last change to a lower state.
    pub diag: Diag,
    /// Time of the last change of state, on the instance's clock, in nanoseconds.
    pub since: u64,
    adj: Option<AdjIndex>,
    pub(crate) generation: u64,
    pub(crate) epoch: u32,
    pub(crate) keys_changed: u32,
}

#[derive(Default)]
pub(crate) struct Inner {
    pub sessions: BTreeMap<u32, Configured>,
    by_key: HashMap<SessionKey, u32>,
    /// Number of sessions by version, then by kind: over one hop, over several.
    counts: [[u64; 2]; 2],
    /// All numbers below this one are in use.
    first_free: u32,
    pub keys: Keys,
    pub echo_source: Option<SwIfIndex>,
    pub tos: u8,
    pub multihop: bool,
    generations: u64,
    pub paths: Paths,
    pub ports: Ports,
}

/// All sessions, keys and settings.
pub struct Bfd {
    inner: Mutex<Inner>,
    home: Arc<Home>,
    /// `/bfd/udp{4,6}/sessions`, `sessions_mh`: number of sessions.
    gauges: [[Gauge; 2]; 2],
    random: RandomState,
    /// Publishes a change of state to clients.
    pub(crate) publish: OnceLock<fn(&World, &Configured)>,
}

impl Shared for Bfd {
    fn make(world: &World) -> Self {
        let gauge = |name: &str| world.stats.gauge(name);
        Self {
            inner: Mutex::default(),
            home: world.get(),
            gauges: [
                [gauge("/bfd/udp4/sessions"), gauge("/bfd/udp4/sessions_mh")],
                [gauge("/bfd/udp6/sessions"), gauge("/bfd/udp6/sessions_mh")],
            ],
            random: RandomState::new(),
            publish: OnceLock::new(),
        }
    }

    fn forget(&self, world: &World, deleted: &Deleted<'_>) {
        let Some(sw_if) = deleted.of::<SwIfIndex>().copied() else { return };
        let gone: Vec<SessionKey> = {
            let inner = self.inner();
            let keys = inner.sessions.values().map(|session| session.key);
            keys.filter(|key| key.sw_if == Some(sw_if)).collect()
        };
        for key in gone {
            // A client learns that the session ends (RFC 5880 6.8.16).
            let _ = self.set_admin(world, &key, false);
            let _ = self.delete(world, &key);
        }
        if self.inner().echo_source == Some(sw_if) {
            self.set_echo_source(world, None);
        }
    }
}

fn none(key: &SessionKey) -> Error {
    let why = format!("there is no session from {} to {}", key.local, key.peer);
    Error::not_found(why).retval(retval::BFD_NO_SUCH_OBJECT)
}

/// Checks the timers of a session.
fn check(settings: &Settings) -> Result<()> {
    let bad = |why: &str| Err(Error::parse(why).retval(retval::INVALID_ARGUMENT));
    match settings {
        Settings { detect_mult: 0, .. } => bad("the multiplier has to be 1 to 255, not 0"),
        Settings { desired_min_tx: 0, .. } => {
            bad("the interval of packets has to be 1 to 4294967295 microseconds, not 0")
        }
        _ => Ok(()),
    }
}

impl Inner {
    /// The number and the configuration of a session.
    fn find(&mut self, key: &SessionKey) -> Result<(u32, &mut Configured)> {
        let index = *self.by_key.get(key).ok_or_else(|| none(key))?;
        Ok((index, self.sessions.get_mut(&index).ok_or_else(|| none(key))?))
    }

    /// The number of sessions of a key's version and kind.
    fn count(&mut self, key: &SessionKey) -> &mut u64 {
        &mut self.counts[usize::from(key.peer.is_ipv6())][usize::from(key.is_multihop())]
    }

    /// Gives the ports of a kind of sessions back if there are no such sessions.
    fn close_unused_ports(&mut self, world: &World, of: &SessionKey) {
        if self.counts.iter().all(|version| version[usize::from(of.is_multihop())] == 0) {
            self.ports.close(world, of.is_multihop());
        }
    }

    /// The lowest unused number.
    ///
    /// # Errors
    /// All are in use (−162).
    fn choose(&mut self) -> Result<u32> {
        while self.sessions.contains_key(&self.first_free) {
            self.first_free += 1;
        }
        if self.first_free >= MOST {
            let why = format!("at most {MOST} sessions: delete one first");
            return Err(Error::limit(why).retval(retval::LIMIT_EXCEEDED));
        }
        Ok(self.first_free)
    }
}

impl Bfd {
    pub(crate) fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().expect("no panic inside")
    }

    /// Runs a change of the sessions on their thread, and then what it has made due.
    fn on_engine(&self, world: &World, change: impl FnOnce(&mut Engine, u64) + Send + 'static) {
        let (engines, now): (Arc<PerThread<Engine>>, _) = (world.get(), world.clock.now());
        let process = world.node(NODE);
        world.on_thread(THREAD, move |rt| {
            let turn = rt.reading();
            if let Some(mut engine) = engines.of(THREAD, &turn) {
                change(&mut engine, now);
            }
            drop(turn);
            process.into_iter().for_each(|node| rt.tick_soon(node));
        });
    }

    /// A number that can't be guessed, other than 0.
    fn random(&self, world: &World, of: u64) -> u32 {
        let hash = self.random.hash_one((of, world.clock.now()));
        (hash as u32).max(1)
    }

    /// Adds a session, which begins to send packets at once.
    ///
    /// # Errors
    /// A session that exists (−101); timers or addresses that can't be used (−73); an interface
    /// that isn't there (−2); a key that isn't there (−102); several hops before they are enabled
    /// (−30); too many sessions (−162); a UDP port that another feature has (−164).
    pub fn add(
        &self,
        world: &World,
        key: SessionKey,
        settings: Settings,
        auth: Option<KeyUse>,
    ) -> Result<u32> {
        check(&settings)?;
        self.check_key(world, &key)?;
        let index = {
            let mut inner = self.inner();
            if inner.by_key.contains_key(&key) {
                let why = format!("there is a session from {} to {}", key.local, key.peer);
                return Err(Error::failed(why).retval(retval::BFD_EXIST));
            }
            inner.choose()?
        };
        let secret = auth.map(|auth| self.inner().keys.take(auth)).transpose()?;
        let opened = self.inner().ports.open(world, &key);
        let neighbor = |sw_if| world.get::<Adjacencies>().neighbor(world, sw_if, key.peer);
        let adj = match opened.and_then(|()| key.sw_if.map(neighbor).transpose()) {
            Ok(adj) => adj,
            Err(error) => {
                let mut inner = self.inner();
                auth.into_iter().for_each(|auth| inner.keys.give(auth));
                inner.close_unused_ports(world, &key);
                return Err(error);
            }
        };
        for counter in self.home.counters() {
            counter.start(index as usize);
        }
        let mut inner = self.inner();
        inner.generations += 1;
        let generation = inner.generations;
        let session = Configured {
            key,
            settings,
            auth,
            replaced: None,
            admin_up: true,
            state: State::Down,
            diag: Diag::NONE,
            since: world.clock.now(),
            adj,
            generation,
            epoch: 0,
            keys_changed: 0,
        };
        inner.by_key.insert(key, index);
        inner.sessions.insert(index, session);
        *inner.count(&key) += 1;
        drop(inner);
        self.home.peers.add(&key);
        self.publish_gauges(world);
        let changed = self.inner().paths.begin(world, index, &key);
        Paths::report(world, &changed);
        let disc = self.random(world, generation << 1);
        let sequence = self.random(world, generation << 1 | 1);
        let mut session = Session::new(settings, key.is_multihop(), disc, secret, sequence);
        self.on_engine(world, move |engine, now| {
            // Unlikely, but two sessions with one discriminator would both fail.
            while engine.has_disc(session.disc) {
                session.disc = session.disc.wrapping_add(1).max(1);
            }
            let mut entry = Box::new(Entry::new(index, generation, key, session));
            entry.adj = adj;
            engine.insert(entry, now);
        });
        Ok(index)
    }

    fn check_key(&self, world: &World, key: &SessionKey) -> Result<()> {
        let bad = |why: String| Err(Error::parse(why).retval(retval::INVALID_ARGUMENT));
        if key.local.is_ipv4() != key.peer.is_ipv4() {
            return bad(format!("{} and {} are of two protocols", key.local, key.peer));
        }
        for ip in [key.local, key.peer] {
            if ip.is_unspecified() || ip.is_multicast() {
                return bad(format!("{ip} is no address of one host"));
            }
        }
        match key.sw_if {
            Some(sw_if) => world.get::<Interfaces>().check(sw_if),
            None if !self.inner().multihop => {
                let why = "sessions over several hops are off: bfd_udp_enable_multihop comes first";
                Err(Error::failed(why).retval(retval::FEATURE_DISABLED))
            }
            None => Ok(()),
        }
    }

    /// Deletes a session.
    ///
    /// # Errors
    /// A session that isn't there (−102).
    pub fn delete(&self, world: &World, key: &SessionKey) -> Result<()> {
        let (changed, adj) = {
            let mut inner = self.inner();
            let (index, _) = inner.find(key)?;
            inner.by_key.remove(key);
            let Some(session) = inner.sessions.remove(&index) else { return Err(none(key)) };
            *inner.count(key) -= 1;
            inner.first_free = inner.first_free.min(index);
            for auth in [session.replaced.flatten(), session.auth].into_iter().flatten() {
                inner.keys.give(auth);
            }
            self.on_engine(world, move |engine, _| engine.remove(index));
            (inner.paths.end(index), session.adj)
        };
        Paths::report(world, &changed);
        self.publish_gauges(world);
        self.home.peers.remove(key);
        self.inner().close_unused_ports(world, key);
        if let Some(adj) = adj {
            // The thread of the sessions may be sending the last packet.
            let adjacencies = world.get::<Adjacencies>();
            world.qsbr.retire_fn(Box::new(move || adjacencies.release(adj)));
        }
        Ok(())
    }

    /// Changes the timers of a session.
    ///
    /// # Errors
    /// A session that isn't there (−102), timers that can't be used (−73).
    pub fn modify(&self, world: &World, key: &SessionKey, settings: Settings) -> Result<u32> {
        check(&settings)?;
        let mut inner = self.inner();
        let (index, session) = inner.find(key)?;
        session.settings = settings;
        drop(inner);
        self.on_engine(world, move |engine, now| {
            engine.change(index, |entry| entry.session.configure(settings, now));
        });
        Ok(index)
    }

    /// Adds a session or changes its timers and key; returns its number.
    ///
    /// # Errors
    /// As [`Self::add`].
    pub fn update(
        &self,
        world: &World,
        key: SessionKey,
        settings: Settings,
        auth: Option<KeyUse>,
    ) -> Result<u32> {
        if !self.inner().by_key.contains_key(&key) {
            return self.add(world, key, settings, auth);
        }
        let index = self.modify(world, &key, settings)?;
        let old = self.inner().find(&key)?.1.auth;
        if auth.is_some() && auth != old {
            self.set_auth(world, &key, auth, false)?;
        }
        Ok(index)
    }

    /// Holds a session down, or lets it come up.
    ///
    /// # Errors
    /// A session that isn't there (−102).
    pub fn set_admin(&self, world: &World, key: &SessionKey, up: bool) -> Result<()> {
        let mut inner = self.inner();
        let (index, session) = inner.find(key)?;
        if session.admin_up == up {
            return Ok(());
        }
        session.admin_up = up;
        session.epoch += 1;
        let epoch = session.epoch;
        drop(inner);
        let (state, diag) = match up {
            true => (State::Down, Diag::NONE),
            false => (State::AdminDown, Diag::ADMIN_DOWN),
        };
        self.on_engine(world, move |engine, now| {
            engine.change(index, |entry| {
                entry.epoch = epoch;
                entry.session.set_admin(up, now);
            });
        });
        self.note(world, &[(index, state, diag)]);
        Ok(())
    }

    /// Sets the key of a session's packets, or none: at once, or with the first packet of the peer
    /// that proves the new one.
    ///
    /// # Errors
    /// A session or a key that isn't there (−102).
    pub fn set_auth(
        &self,
        world: &World,
        key: &SessionKey,
        auth: Option<KeyUse>,
        delayed: bool,
    ) -> Result<()> {
        let mut inner = self.inner();
        inner.find(key)?;
        let secret: Option<Auth> = auth.map(|auth| inner.keys.take(auth)).transpose()?;
        let (index, session) = inner.find(key)?;
        let old = std::mem::replace(&mut session.auth, auth);
        let unused = match (delayed, session.replaced) {
            (true, None) => {
                session.replaced = Some(old);
                [None; 2]
            }
            // The last delayed key replaces the one before it.
            (true, Some(_)) => [None, old],
            (false, _) => [session.replaced.take().flatten(), old],
        };
        unused.into_iter().flatten().for_each(|auth| inner.keys.give(auth));
        drop(inner);
        self.on_engine(world, move |engine, _| {
            engine.change(index, |entry| entry.session.set_auth(secret, delayed));
        });
        Ok(())
    }

    /// Adds a key, or replaces one that no session uses.
    ///
    /// # Errors
    /// A key of no byte or more than 20 bytes (−7), a key in use (−103), an authentication type
    /// that isn't implemented (−104).
    pub fn set_key(&self, id: u32, kind: u8, secret: &[u8]) -> Result<()> {
        self.inner().keys.set(id, kind, secret)
    }

    /// Deletes a key.
    ///
    /// # Errors
    /// A key that isn't there (−102), a key in use (−103).
    pub fn delete_key(&self, id: u32) -> Result<()> {
        self.inner().keys.delete(id)
    }

    /// Allows sessions over several hops.
    pub fn enable_multihop(&self) {
        self.inner().multihop = true;
    }

    /// Sets the type of service, or traffic class, of packets.
    pub fn set_tos(&self, world: &World, tos: u8) {
        self.inner().tos = tos;
        self.on_engine(world, move |engine, _| engine.tos = tos);
    }

    /// Sets the interface whose addresses give echo packets their source, or none.
    pub fn set_echo_source(&self, world: &World, sw_if: Option<SwIfIndex>) {
        self.inner().echo_source = sw_if;
        self.refresh_echo_source(world);
    }

    /// Passes the source addresses of echo packets to the thread of the sessions.
    pub fn refresh_echo_source(&self, world: &World) {
        let sw_if = self.inner().echo_source;
        let v4 = sw_if.and_then(|sw_if| echo_source::usable::<Ip4>(world, sw_if));
        let v6 = sw_if.and_then(|sw_if| echo_source::usable::<Ip6>(world, sw_if));
        // It may be the network's own address, which is refused as a source otherwise.
        ip::set_returning_source::<Ip4>(world, v4);
        ip::set_returning_source::<Ip6>(world, v6);
        let (v4, v6) = (v4.map(Into::into), v6.map(Into::into));
        self.on_engine(world, move |engine, now| engine.set_echo_sources((v4, v6), now));
    }

    fn publish_gauges(&self, world: &World) {
        let counts = self.inner().counts;
        let gauges = self.gauges.as_flattened().iter();
        gauges.zip(counts.as_flattened()).for_each(|(gauge, count)| gauge.set(*count));
        // VPP's client for Python reads values anew when the directory has changed.
        world.stats.change(|_| ());
    }

    /// All sessions by number.
    pub fn list(&self) -> Vec<(u32, Configured)> {
        self.inner().sessions.iter().map(|(index, session)| (*index, session.clone())).collect()
    }
}
