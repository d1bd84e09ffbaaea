// SPDX-License-Identifier: Apache-2.0
//! `linux-cp-netlink-process`: reads the kernel's notifications as they come, in slices of the
//! control thread's time, and compares all after some were lost.

use crate::engine::{Counts, Engine, Rules};
use graph::{Process, Shared, Signal, Sleep, SwIfIndex, Wake, World};
use linux_cp::{Made, Pair, Pairs, Settings};
use netlink::{Change, Dump, DumpOf, Follower, Namespace, ReadState};
use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard};

/// Changes that are read in one turn of the control thread.
const AT_ONCE: usize = 1024;
/// Prefixes that are looked at in one turn for a link that went down.
const WALK: usize = 1024;
/// Bytes for notifications that aren't read yet, if startup.conf has no others.
const BUFFER: u32 = 128 << 20;
/// Nanoseconds until the namespace of the pairs is tried again.
const RETRY: u64 = 1_000_000_000;
const SECOND: u64 = 1_000_000_000;

/// The kinds of objects, in the order in which they need each other.
const DUMPS: [DumpOf; 5] = [
    DumpOf::Links,
    DumpOf::Addresses,
    DumpOf::Neighbors,
    DumpOf::Routes(false),
    DumpOf::Routes(true),
];

/// The source that is read next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    /// Notifications.
    Follow,
    /// Notifications that came before some were lost; a dump follows.
    Drain,
    /// The dump of this number in [`DUMPS`].
    Compare(usize),
}

struct Sockets {
    namespace: Option<String>,
    follower: Follower,
    dump: Dump,
    phase: Phase,
}

/// Numbers for `show lcp netlink`.
#[derive(Clone, Default, Debug)]
pub struct Report {
    /// True if there is a socket.
    pub is_open: bool,
    /// The namespace; `None`: that of the process.
    pub namespace: Option<String>,
    /// Changes by kind.
    pub counts: Counts,
    /// Changes of the last whole second.
    pub rate: u64,
    /// Largest number of changes in a second.
    pub peak: u64,
    /// True if notifications are waiting.
    pub is_behind: bool,
    /// Number of times that notifications were lost.
    pub overruns: u64,
    /// Comparisons with all that the kernel has, and nanoseconds of the last one.
    pub resyncs: u64,
    pub resync_time: u64,
    /// True if one is running.
    pub is_comparing: bool,
}

struct Inner {
    engine: Engine,
    sockets: Option<Sockets>,
    /// Kernel's interfaces of pairs that are followed.
    followed: BTreeMap<u32, SwIfIndex>,
    report: Report,
    /// Start of the second that is being counted, and its changes.
    second: (u64, u64),
    resync_began: u64,
    /// The socket couldn't be opened.
    has_failed: bool,
}

/// The state of the process.
pub struct Netlink {
    inner: Mutex<Inner>,
    signal: Signal,
}

impl Shared for Netlink {
    fn make(world: &World) -> Self {
        let inner = Inner {
            engine: Engine::new(world),
            sockets: None,
            followed: BTreeMap::new(),
            report: Report::default(),
            second: (0, 0),
            resync_began: 0,
            has_failed: false,
        };
        Self { inner: Mutex::new(inner), signal: world.processes.signal() }
    }
}

impl Netlink {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().expect("no panic inside")
    }

    /// Starts the process.
    pub fn start(world: &World) {
        let this: Arc<Self> = world.get();
        world.processes.spawn(Box::new(NetlinkProcess(this.clone())), &this.signal);
        world.get::<Pairs>().subscribe(&this.signal);
    }

    /// Numbers for `show lcp netlink`.
    pub fn report(&self) -> Report {
        let inner = self.inner();
        let sockets = inner.sockets.as_ref();
        Report {
            is_open: sockets.is_some(),
            namespace: sockets.and_then(|sockets| sockets.namespace.clone()),
            counts: inner.engine.counts.clone(),
            is_comparing: sockets.is_some_and(|s| matches!(s.phase, Phase::Compare(_))),
            ..inner.report.clone()
        }
    }
}

/// The pairs that the socket is for: those in the default namespace.
fn pairs(world: &World, namespace: Option<&str>) -> BTreeMap<u32, SwIfIndex> {
    let all = world.get::<Pairs>().list().into_iter().map(|(_, pair)| pair);
    let of = all
        .filter(|pair: &Pair| pair.made != Made::Given && pair.namespace.as_deref() == namespace);
    of.map(|pair| (pair.vif, pair.phy)).collect()
}

fn open(world: &World, namespace: Option<&str>, signal: &Signal) -> io::Result<Sockets> {
    let bytes = world.startup::<crate::startup_conf::Startup>().buffer.unwrap_or(BUFFER);
    let make = || Ok((Follower::new(bytes as usize)?, Dump::new()?));
    let (follower, dump) = match namespace {
        Some(name) => Namespace::open(name)?.run(make)?,
        None => make()?,
    };
    world.processes.watch(&follower, signal)?;
    world.processes.watch(&dump, signal)?;
    let namespace = namespace.map(str::to_string);
    Ok(Sockets { namespace, follower, dump, phase: Phase::Follow })
}

impl Inner {
    /// Opens, or closes, the socket as pairs need it. Returns false if that failed.
    fn adjust(&mut self, world: &World, signal: &Signal) -> bool {
        let namespace = world.get::<Settings>().get().default_namespace;
        let wanted = pairs(world, namespace.as_deref());
        let is_other = |sockets: &Sockets| sockets.namespace != namespace || wanted.is_empty();
        if self.sockets.as_ref().is_some_and(is_other) {
            self.sockets = None;
        }
        if self.sockets.is_none() && !wanted.is_empty() {
            match open(world, namespace.as_deref(), signal) {
                Ok(sockets) => (self.sockets, self.has_failed) = (Some(sockets), false),
                Err(error) => {
                    // Once for all that follow.
                    if !std::mem::replace(&mut self.has_failed, true) {
                        log::warn!(target: "linux-nl", "no news of the kernel's routes: {error}");
                    }
                    return false;
                }
            }
        }
        if self.followed != wanted {
            let gone = self.followed.keys().filter(|vif| !wanted.contains_key(vif));
            gone.for_each(|vif| self.engine.set_link(*vif, None));
            let fresh: Vec<_> =
                wanted.iter().filter(|(vif, phy)| self.followed.get(vif) != Some(phy)).collect();
            fresh.iter().for_each(|(vif, phy)| self.engine.set_link(**vif, Some(**phy)));
            // Earlier notifications don't count; a dump of what is there now follows.
            if !fresh.is_empty()
                && let Some(sockets) = &mut self.sockets
            {
                sockets.phase = Phase::Drain;
            }
            self.followed = wanted;
        }
        true
    }

    /// Reads a slice. Returns true if there is more.
    fn read(&mut self, world: &World) -> io::Result<bool> {
        if self.engine.go_on(world, WALK) {
            return Ok(true);
        }
        let Some(sockets) = &mut self.sockets else { return Ok(false) };
        let (engine, phase) = (&mut self.engine, sockets.phase);
        let mut n = 0;
        let mut apply = |change: Change| {
            n += 1;
            engine.apply(world, &change);
        };
        let state = match phase {
            Phase::Compare(_) => sockets.dump.read(AT_ONCE, &mut apply)?,
            // Older than the dump that follows.
            Phase::Drain => sockets.follower.read(AT_ONCE, |_| {})?,
            Phase::Follow => sockets.follower.read(AT_ONCE, &mut apply)?,
        };
        engine.flush(world);
        self.count(world, n);
        let engine = &mut self.engine;
        let Some(sockets) = &mut self.sockets else { return Ok(false) };
        match (phase, state) {
            (Phase::Follow | Phase::Drain, ReadState::Lost) => {
                self.report.overruns += 1;
                sockets.phase = Phase::Drain;
            }
            (Phase::Drain, ReadState::Drained) => {
                self.resync_began = world.clock.now();
                engine.resync_begin(world);
                sockets.dump.begin(DUMPS[0])?;
                sockets.phase = Phase::Compare(0);
            }
            (Phase::Compare(at), ReadState::Ended(true)) => sockets.dump.begin(DUMPS[at])?,
            (Phase::Compare(at), ReadState::Ended(false)) => match DUMPS.get(at + 1) {
                Some(next) => {
                    sockets.dump.begin(*next)?;
                    sockets.phase = Phase::Compare(at + 1);
                }
                None => {
                    engine.resync_end(world);
                    self.report.resyncs += 1;
                    self.report.resync_time = world.clock.now() - self.resync_began;
                    sockets.phase = Phase::Follow;
                }
            },
            _ if engine.must_resync && phase == Phase::Follow => sockets.phase = Phase::Drain,
            (_, ReadState::Drained) => {
                self.report.is_behind = false;
                return Ok(!engine.removals.is_empty());
            }
            _ => {}
        }
        self.report.is_behind = true;
        Ok(true)
    }

    fn count(&mut self, world: &World, n: u64) {
        let now = world.clock.now();
        let (began, counted) = self.second;
        if now.saturating_sub(began) >= SECOND {
            self.report.rate = if now - began < 2 * SECOND { counted } else { 0 };
            self.second = (now, n);
        } else {
            self.second.1 += n;
        }
        self.report.peak = self.report.peak.max(self.second.1);
    }
}

struct NetlinkProcess(Arc<Netlink>);

impl Process for NetlinkProcess {
    fn name(&self) -> &'static str {
        "linux-cp-netlink-process"
    }

    fn run(&mut self, world: &World, _: Wake) -> Sleep {
        let mut inner = self.0.inner();
        let values = world.get::<Settings>().get();
        inner.engine.rules = Rules {
            del_static: values.del_static,
            del_dynamic: values.del_dynamic,
            del_links: values.auto_subint,
        };
        if !inner.adjust(world, &self.0.signal) {
            return Sleep::Until(world.clock.now() + RETRY);
        }
        match inner.read(world) {
            Ok(true) => Sleep::Until(world.clock.now()),
            Ok(false) => Sleep::Event,
            Err(error) => {
                // A new socket, and all is compared.
                log::warn!(target: "linux-nl", "news of the kernel's routes: {error}");
                inner.sockets = None;
                inner.followed.clear();
                Sleep::Until(world.clock.now() + RETRY)
            }
        }
    }
}
