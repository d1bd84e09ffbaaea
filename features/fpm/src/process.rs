// SPDX-License-Identifier: Apache-2.0
//! `fpm-process`: connections, and routes that are stale.

use crate::engine::Engine;
use crate::links;
use crate::server::{Connections, End, Progress, Server};
use crate::settings::Settings;
use crate::sink::Counts;
use crate::socket::Events;
use crate::walk::Sweep;
use cli::{Error, Result};
use graph::{Process, Shared, Signal, Sleep, Wake, World};
use linux_cp::Pairs;
use net::fib::SourceCount;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

const SECOND: u64 = 1_000_000_000;
/// Prefixes that are looked at in one turn of the control thread.
const WALK: usize = 4096;

/// Numbers for `show fpm`.
#[derive(Clone, Default, Debug)]
pub struct Report {
    /// The listener's settings; `None`: disabled.
    pub settings: Option<Settings>,
    /// The address that it listens on.
    pub address: Option<String>,
    /// The reason why it doesn't.
    pub failure: Option<String>,
    /// The peer, and nanoseconds since it came.
    pub peer: Option<(String, u64)>,
    /// Nanoseconds since the last peer was lost.
    pub lost: Option<u64>,
    /// Nanoseconds until stale routes go, if nothing else comes.
    pub sweep_in: Option<u64>,
    pub waiting: usize,
    pub connections: Connections,
    pub counts: Counts,
    /// Routes of IPv4 and of IPv6.
    pub routes: [SourceCount; 2],
    pub objects: usize,
    /// Messages of the last whole second, and the largest number.
    pub rate: u64,
    pub peak: u64,
    /// Stale routes that were removed.
    pub swept: u64,
}

struct Inner {
    engine: Engine,
    settings: Option<Settings>,
    server: Option<Server>,
    /// Numbers of connections of listeners before.
    before: Connections,
    /// True if a command has decided about the listener.
    is_decided: bool,
    /// True once the configuration of the start was loaded.
    is_loaded: bool,
    /// The reason why the listener can't be opened yet.
    failure: Option<String>,
    /// Time when the last peer was lost.
    lost: Option<u64>,
    /// Time at which the present peer has last set a stale route again.
    refreshed: Option<u64>,
    /// Number of stale routes then.
    stale: usize,
    sweep: Option<Sweep>,
    swept: u64,
    /// Number of them that the log has.
    reported: u64,
    /// Start of the second that is being counted, and its messages.
    second: (u64, u64),
    /// Messages before the present turn.
    counted: u64,
    rate: u64,
    peak: u64,
    /// Time of the last line about a broken connection, and those since.
    logged: (Option<u64>, u64),
}

/// The state of the process.
pub struct Fpm {
    inner: Mutex<Inner>,
    signal: Signal,
    events: OnceLock<Events>,
}

impl Shared for Fpm {
    fn make(world: &World) -> Self {
        let inner = Inner {
            engine: Engine::new(world),
            settings: None,
            server: None,
            before: Connections::default(),
            is_decided: false,
            is_loaded: false,
            failure: None,
            lost: None,
            refreshed: None,
            stale: 0,
            sweep: None,
            swept: 0,
            reported: 0,
            second: (0, 0),
            counted: 0,
            rate: 0,
            peak: 0,
            logged: (None, 0),
        };
        let (inner, signal) = (Mutex::new(inner), world.processes.signal());
        Self { inner, signal, events: OnceLock::new() }
    }
}

impl Fpm {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().expect("no panic inside")
    }

    /// Starts the process.
    ///
    /// # Errors
    /// The system gives no epoll instance, or none to wait for.
    pub fn start(world: &World) -> std::io::Result<()> {
        let this: Arc<Self> = world.get();
        let events = Events::new()?;
        world.processes.watch(&events, &this.signal)?;
        // It is called once.
        let _ = this.events.set(events);
        world.processes.spawn(Box::new(FpmProcess(this.clone())), &this.signal);
        world.get::<Pairs>().subscribe(&this.signal);
        Ok(())
    }

    /// Listens as startup.conf says, now that the interfaces are there.
    pub fn loaded(world: &World) {
        let this = world.get::<Self>();
        let mut inner = this.inner();
        inner.is_loaded = true;
        // A line of the configuration comes before.
        if !inner.is_decided {
            inner.settings = Settings::of_startup(world);
            this.signal.raise();
        }
    }

    /// The settings; `None`: disabled.
    pub fn settings(&self) -> Option<Settings> {
        self.inner().settings.clone()
    }

    /// Listens as these settings say, or no more: then all routes of the peer go.
    ///
    /// An address that can't be listened on while the configuration of the start is loaded may
    /// come later, as a namespace may: it is tried again each second.
    ///
    /// # Errors
    /// An address that can't be listened on later on: nothing changes.
    pub fn set(&self, world: &World, settings: Option<Settings>) -> Result<()> {
        let Some(events) = self.events.get() else {
            return Err(Error::unsupported("the plugin fpm isn't started"));
        };
        let mut inner = self.inner();
        if inner.settings == settings && (settings.is_none() || inner.server.is_some()) {
            (inner.is_decided, inner.failure) = (true, None);
            return Ok(());
        }
        let is_same = |of: &Settings| {
            let now = inner.settings.as_ref().filter(|_| inner.server.is_some());
            now.is_some_and(|now| (&now.listen, &now.namespace) == (&of.listen, &of.namespace))
        };
        match &settings {
            Some(of) if is_same(of) => {}
            Some(of) => {
                let server = match Server::open(of, events) {
                    Ok(server) => Some(server),
                    // The process tries again, and reports the error.
                    Err(_) if !inner.is_loaded => None,
                    Err(error) => {
                        let text = format!("can't listen on {}: {error}", of.listen);
                        let hint = "`show fpm' names the listener that is open now";
                        return Err(Error::failed(text).hint(hint));
                    }
                };
                inner.close(world);
                inner.server = server;
            }
            None => {
                inner.close(world);
                inner.begin_sweep(world);
            }
        }
        inner.is_decided = true;
        (inner.settings, inner.failure) = (settings, None);
        self.signal.raise();
        Ok(())
    }

    /// Numbers for `show fpm`.
    pub fn report(&self, world: &World) -> Report {
        let inner = self.inner();
        let (now, server) = (world.clock.now(), inner.server.as_ref());
        let active = server.and_then(|server| server.active.as_ref());
        Report {
            settings: inner.settings.clone(),
            address: server.map(|server| server.listener.address()),
            failure: inner.failure.clone(),
            peer: active.map(|a| (a.connection.peer.clone(), now - a.connection.since)),
            lost: inner.lost.map(|at| now - at),
            sweep_in: inner.sweep_at(world).map(|at| at.saturating_sub(now)),
            waiting: server.map_or(0, |server| server.waiting.len()),
            connections: inner.connections(),
            counts: inner.engine.counts.clone(),
            routes: inner.engine.routes(world),
            objects: inner.engine.objects.len(),
            rate: inner.rate,
            peak: inner.peak,
            swept: inner.swept,
        }
    }
}

impl Inner {
    fn connections(&self) -> Connections {
        let (a, b) =
            (self.before, self.server.as_ref().map_or(Connections::default(), |s| s.counts));
        Connections {
            accepted: a.accepted + b.accepted,
            refused: a.refused + b.refused,
            broken: a.broken + b.broken,
            silent: a.silent + b.silent,
            failed: a.failed + b.failed,
            frames: a.frames + b.frames,
            bytes: a.bytes + b.bytes,
        }
    }

    /// Closes the listener and its connections.
    fn close(&mut self, world: &World) {
        self.before = self.connections();
        if let Some(server) = self.server.take()
            && server.active.is_some()
        {
            self.lose(world);
        }
    }

    /// The active connection has ended: its routes stay, as stale ones.
    fn lose(&mut self, world: &World) {
        if let Some(server) = &mut self.server {
            server.active = None;
        }
        // Peers that come and set nothing don't make it longer.
        if self.engine.lost(world) || self.lost.is_none() {
            self.lost = Some(world.clock.now());
        }
        self.refreshed = None;
        // A sweep would take routes along that were fresh when it began.
        self.sweep = None;
    }

    fn is_connected(&self) -> bool {
        self.server.as_ref().is_some_and(|server| server.active.is_some())
    }

    fn stale(&self, world: &World) -> usize {
        self.engine.routes(world).iter().map(|of| of.stale).sum()
    }

    /// The time at which stale routes go: some time after the loss, or, with a new peer that has
    /// set some of them again, once it sets no more.
    fn sweep_at(&self, world: &World) -> Option<u64> {
        let (settings, lost) = (self.settings.as_ref()?, self.lost?);
        if self.sweep.is_some() || self.stale(world) == 0 {
            return None;
        }
        let [stale, settle] = [settings.stale, settings.settle].map(|n| u64::from(n) * SECOND);
        let active = self.server.as_ref().and_then(|server| server.active.as_ref());
        let since = active.map(|active| active.connection.since);
        Some(match (since, self.refreshed) {
            (None, _) => lost + stale,
            (Some(since), Some(last)) => (last + settle).min(since + stale),
            // One that has just come, in the last moment, may be about to begin.
            (Some(since), None) => (since + settle).clamp(lost + stale, lost + stale + settle),
        })
    }

    fn begin_sweep(&mut self, world: &World) {
        self.stale = self.stale(world);
        self.sweep = Some(self.engine.sweep(world));
    }

    /// Goes on with what is stale. Returns true if there is more.
    fn sweep(&mut self, world: &World) -> bool {
        if self.sweep_at(world).is_some_and(|at| at <= world.clock.now()) {
            self.begin_sweep(world);
        }
        let Some(mut sweep) = self.sweep.take() else { return false };
        let before = self.stale(world);
        let is_left = self.engine.sweep_on(world, &mut sweep, WALK);
        self.swept += before.saturating_sub(self.stale(world)) as u64;
        if is_left {
            self.sweep = Some(sweep);
            return true;
        }
        if self.swept > self.reported {
            let n = self.swept - self.reported;
            log::info!(target: "fpm", "{n} routes that no peer has set again are gone");
            self.reported = self.swept;
        }
        if !self.is_connected() {
            self.engine.release(world);
        }
        false
    }

    /// Opens the listener, if it isn't open.
    fn open(&mut self, events: &Events) {
        let Some(settings) = self.settings.as_ref().filter(|_| self.server.is_none()) else {
            return;
        };
        match Server::open(settings, events) {
            Ok(server) => (self.server, self.failure) = (Some(server), None),
            Err(error) => {
                let text = error.to_string();
                // Once for all that follow.
                if self.failure.as_ref() != Some(&text) {
                    log::warn!(target: "fpm", "can't listen on {}: {text}", settings.listen);
                }
                self.failure = Some(text);
            }
        }
    }

    /// Reports the end of a connection, in one line a second.
    fn report(&mut self, world: &World, end: &End) {
        let now = world.clock.now();
        let peer = self.server.as_ref().and_then(|server| server.active.as_ref());
        let peer = peer.map_or("a peer", |active| &active.connection.peer);
        let text = match end {
            End::Closed => format!("{peer} has closed the connection"),
            End::Silent => format!("{peer} has sent nothing while others wait, and is closed"),
            End::Broken(bad) => format!("the connection of {peer} is closed: {bad}"),
            End::Failed(error) => format!("the connection of {peer} failed: {error}"),
        };
        if self.logged.0.is_some_and(|at| now - at < SECOND) {
            self.logged.1 += 1;
            return;
        }
        let more = match std::mem::take(&mut self.logged.1) {
            0 => String::new(),
            n => format!(" ({n} more before)"),
        };
        self.logged.0 = Some(now);
        match end {
            End::Broken(_) => log::warn!(target: "fpm", "{text}{more}"),
            _ => log::info!(target: "fpm", "{text}{more}; its routes stay for a time"),
        }
    }

    /// Does what is due. Returns true if there is more.
    fn run(&mut self, world: &World, events: &Events) -> bool {
        let pairs = self.settings.as_ref().map(|settings| links::pairs(world, settings));
        let must_read_again = self.engine.links.set(pairs.unwrap_or_default());
        self.open(events);
        if must_read_again && self.is_connected() {
            log::info!(target: "fpm", "an interface has a mirror now: the peer has to connect again");
            self.lose(world);
        }
        if let Some(settings) = &self.settings {
            self.engine.answers = settings.answers;
            self.engine.most = settings.most as usize;
        }
        let mut is_left = self.sweep(world);
        if let Some(server) = &mut self.server {
            server.resume(events);
            server.accept(world, events);
            server.promote(world, events);
            let progress = server.read(world, &mut self.engine, events);
            match progress {
                Progress::More => is_left = true,
                Progress::Drained => {}
                Progress::Ended(end) => {
                    match end {
                        End::Broken(_) => server.counts.broken += 1,
                        End::Silent => server.counts.silent += 1,
                        End::Closed | End::Failed(_) => {}
                    }
                    self.report(world, &end);
                    self.lose(world);
                    // Another one may wait.
                    is_left = true;
                }
            }
        }
        let mut none = Vec::new();
        let active = self.server.as_mut().and_then(|server| server.active.as_mut());
        let out = active.map_or(&mut none, |active| &mut active.out);
        is_left |= self.engine.go_on(world, WALK, out);
        let stale = self.stale(world);
        if stale < self.stale && self.sweep.is_none() {
            self.refreshed = self.is_connected().then(|| world.clock.now());
        }
        self.stale = stale;
        self.count(world);
        is_left
    }

    fn count(&mut self, world: &World) {
        let messages = self.engine.counts.messages();
        let n = messages - std::mem::replace(&mut self.counted, messages);
        let now = world.clock.now();
        let (began, counted) = self.second;
        if now.saturating_sub(began) >= SECOND {
            self.rate = if now - began < 2 * SECOND { counted } else { 0 };
            self.second = (now, n);
        } else {
            self.second.1 += n;
        }
        self.peak = self.peak.max(self.second.1);
    }
}

struct FpmProcess(Arc<Fpm>);

impl Process for FpmProcess {
    fn name(&self) -> &'static str {
        "fpm-process"
    }

    fn run(&mut self, world: &World, _: Wake) -> Sleep {
        let Some(events) = self.0.events.get() else { return Sleep::Done };
        let mut inner = self.0.inner();
        if inner.run(world, events) {
            return Sleep::Until(world.clock.now());
        }
        let now = world.clock.now();
        let is_waiting =
            inner.failure.is_some() || inner.server.as_ref().is_some_and(|server| server.is_paused);
        let again = is_waiting.then_some(now + SECOND);
        let silent = inner.server.as_ref().and_then(Server::silent_at);
        match again.into_iter().chain(silent).chain(inner.sweep_at(world)).min() {
            Some(at) => Sleep::Until(at),
            None => Sleep::Event,
        }
    }
}
