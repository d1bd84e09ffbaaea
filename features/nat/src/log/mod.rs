// SPDX-License-Identifier: Apache-2.0
//! Logs of translation: which user had which address and port at which time, for operators that
//! have to report it (RFC 6888 4). All kinds of translation share them.
//!
//! A kind makes a [`Logger`] for each thread, in the state that has the thread's sessions, and
//! posts an [`Event`] where something begins, ends or is refused:
//!
//! ```ignore
//! self.logger.post(|| Event::Session44(Change::Created, session));
//! ```
//!
//! The event is made only if a log is on. The thread writes it into a ring and wakes the process
//! `nat-log` of the control thread after a quiet time; it does nothing else. Where the ring is
//! full, the event is lost and counted. The process reads the rings, and makes of events
//!
//! - records of IPFIX, if [`Log::set_ipfix`] has switched them on (`ipfix`);
//! - messages of syslog, if `set syslog sender` has set a collector and its filter lets severity
//!   informational pass (`messages`).
//!
//! The plugin of a kind calls [`start`] at its start.

mod ipfix;
mod messages;
#[cfg(feature = "tests")]
mod tests;

use crate::key::End;
use cli::{Matches, Result};
use graph::{Clock, Process, Shared, Sleep, StateDef, Wake, World};
pub use ipfix_export::StreamName;
use ipfix_export::{Drained, Ipfix, Reporter, Reports, SourceId};
use net::{Fib, TableIndex};
use std::collections::HashMap;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use std::time::{Duration, SystemTime};
use syslog::{Severity, Syslog};
use wire::{Ip4, Ip6, IpProtocol};

/// Events of a thread that wait at most.
const WAITING: usize = 8192;
/// Events that are read in one turn of the control thread.
const AT_ONCE: usize = 1024;
/// Nanoseconds between two events about the same lack.
const AGAIN: u64 = 1_000_000_000;
/// The observation domain and the source port, if no others are set.
pub const DOMAIN: u32 = 1;
/// See [`DOMAIN`].
pub const SOURCE_PORT: u16 = ipfix_export::PORT;

/// The kind of a change.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Change {
    /// It was made.
    Created,
    /// It has ended.
    Deleted,
}

/// A session whose key has both ends: NAT44-ED.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Session44 {
    /// Index of the user's table.
    pub fib: u32,
    /// The protocol.
    pub protocol: IpProtocol,
    /// The user.
    pub inside: End,
    /// The user as the world sees it.
    pub outside: End,
    /// The host of the world.
    pub external: End,
    /// The same as the user sees it, if that is another end (twice-nat).
    pub external_inside: Option<End>,
}

/// A user of a [`PortMapping`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Subscriber {
    /// A host of a table of IPv4, which has this index.
    Table(u32),
    /// A host behind this B4 (DS-Lite). Only syslog tells of it: the templates have no field for
    /// the B4.
    B4(Ipv6Addr),
}

/// A port that the world sees of a user, for any remote host: NAT44-EI, DS-Lite.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PortMapping {
    /// The user's network.
    pub subscriber: Subscriber,
    /// The number that the kind has given to the user (SSUBIX).
    pub index: u32,
    /// The protocol.
    pub protocol: IpProtocol,
    /// The user.
    pub inside: End,
    /// The user as the world sees it.
    pub outside: End,
}

/// A binding of NAT64.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Binding64 {
    /// Index of the user's table.
    pub fib: u32,
    /// The protocol; ICMP for ICMPv6 too.
    pub protocol: IpProtocol,
    /// The user.
    pub inside: (Ipv6Addr, u16),
    /// The user as the world sees it.
    pub outside: End,
}

/// A lack. At most one event a second is logged of each.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Lack {
    /// No address or port is left in the pool of this number.
    Addresses(u32),
    /// As many sessions as there may be.
    Sessions(u32),
    /// As many bindings as there may be.
    Bindings(u32),
    /// As many sessions as this user may have.
    OfUser(u32, Ipv4Addr),
}

impl Lack {
    /// Number of kinds.
    const KINDS: usize = 4;

    /// Its kind, by number.
    const fn kind(self) -> usize {
        match self {
            Self::Addresses(_) => 0,
            Self::Sessions(_) => 1,
            Self::Bindings(_) => 2,
            Self::OfUser(..) => 3,
        }
    }

    /// The number of the pool, for a lack that each pool has by itself.
    const fn pool(self) -> u32 {
        if let Self::Addresses(pool) = self { pool } else { 0 }
    }
}

/// The states that plugins of kinds declare: the plugins of syslog and IPFIX may be missing.
pub const STATE: StateDef =
    StateDef::group(&[StateDef::of::<Syslog>(), StateDef::of::<Ipfix>(), StateDef::of::<Log>()]);

/// Something that happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    /// A session of NAT44-ED: SADD, SDEL; natEvent 4, 5.
    Session44(Change, Session44),
    /// A port of NAT44-EI or DS-Lite: APMADD, APMDEL; natEvent 4, 5.
    Port(Change, PortMapping),
    /// A binding of NAT64: natEvent 10, 11.
    Binding64(Change, Binding64),
    /// A session of NAT64 with this host of the world: SADD, SDEL; natEvent 6, 7.
    Session64(Change, Binding64, End),
    /// Something is used up: natEvent 3, 13.
    Lack(Lack),
}

struct Report {
    /// Time of the instance's clock.
    at: u64,
    event: Event,
}

/// The writing end of a thread.
pub struct Logger {
    log: Arc<Log>,
    clock: Arc<Clock>,
    ring: Reporter<Report>,
    /// The last event of each kind of lack: its pool and its time.
    lacks: [Option<(u32, u64)>; Lack::KINDS],
}

impl Logger {
    /// That of a thread. Each caller has a ring of its own.
    pub fn new(world: &World) -> Self {
        let log = world.get::<Log>();
        Self {
            ring: log.reports.reporter(),
            clock: world.clock.clone(),
            lacks: [None; Lack::KINDS],
            log,
        }
    }

    /// True if events are wanted.
    #[inline(always)]
    pub fn is_on(&self) -> bool {
        self.log.is_on()
    }

    /// Posts an event. It is made only if a log is on.
    #[inline(always)]
    pub fn post(&mut self, event: impl FnOnce() -> Event) {
        if self.is_on() {
            self.write(event());
        }
    }

    #[inline(never)]
    fn write(&mut self, event: Event) {
        self.ring.post(Report { at: self.clock.now(), event });
    }

    /// Posts a lack, if this thread hasn't posted the same for a second.
    #[cold]
    pub fn lack(&mut self, lack: Lack) {
        // Syslog has no message for it.
        if !self.log.exports.load(Ordering::Relaxed) {
            return;
        }
        let now = self.clock.now();
        let last = &mut self.lacks[lack.kind()];
        let is_news =
            |(pool, at): (u32, u64)| pool != lack.pool() || now.saturating_sub(at) >= AGAIN;
        if last.is_none_or(is_news) {
            *last = Some((lack.pool(), now));
            self.ring.post(Report { at: now, event: Event::Lack(lack) });
        }
    }
}

/// The address by which users of a table, which has this index, reach a host of IPv4.
pub type Compose = fn(&World, u32, Ipv4Addr) -> Ipv6Addr;

/// The records of IPFIX that are exported.
struct Export {
    stream: StreamName,
    source: SourceId,
    /// The template that VPP doesn't have, declared when it is used first.
    of_users: Option<SourceId>,
    /// The latest event of each kind of lack, by pool. Pools are as few as kinds of translation.
    lacks: HashMap<(usize, u32), u64>,
}

impl Export {
    /// True for a lack that no thread has reported within a second.
    fn is_news(&mut self, lack: Lack, at: u64) -> bool {
        let last = self.lacks.get(&(lack.kind(), lack.pool()));
        let is_news = last.is_none_or(|last| at.saturating_sub(*last) >= AGAIN);
        if is_news {
            self.lacks.insert((lack.kind(), lack.pool()), at);
        }
        is_news
    }
}

/// The logs of all kinds and threads.
pub struct Log {
    exports: AtomicBool,
    syslog: Arc<Syslog>,
    reports: Reports<Report>,
    export: Mutex<Option<Export>>,
    compose: OnceLock<Compose>,
    is_started: AtomicBool,
    events: AtomicU64,
}

impl Shared for Log {
    fn make(world: &World) -> Self {
        Self {
            exports: AtomicBool::new(false),
            syslog: world.get(),
            reports: Reports::new(WAITING, world.processes.signal()),
            export: Mutex::default(),
            compose: OnceLock::new(),
            is_started: AtomicBool::new(false),
            events: AtomicU64::new(0),
        }
    }
}

/// A stream by the numbers that clients give, of which zero is the default.
pub fn stream(domain: u32, source_port: u16) -> StreamName {
    StreamName {
        domain: if domain == 0 { DOMAIN } else { domain },
        source_port: if source_port == 0 { SOURCE_PORT } else { source_port },
    }
}

/// Runs `… ipfix logging {disable | enable [domain <domain:u32>] [src-port <port:u16>]}`.
///
/// # Errors
/// As [`Log::set_ipfix`].
pub fn run_ipfix(world: &World, m: &Matches) -> Result<()> {
    let stream = StreamName {
        domain: m.opt("domain")?.unwrap_or(DOMAIN),
        source_port: m.opt("port")?.unwrap_or(SOURCE_PORT),
    };
    world.get::<Log>().set_ipfix(world, m.flag("enable").then_some(stream))
}

/// Starts the process that reads events, unless another kind has started it.
pub fn start(world: &World) {
    let log = world.get::<Log>();
    if log.is_started.swap(true, Ordering::AcqRel) {
        return;
    }
    world.get::<Ipfix>().before_flush(|world| world.get::<Log>().take_all(world));
    world.processes.spawn(Box::new(LogProcess(log.clone())), log.reports.signal());
}

impl Log {
    fn export(&self) -> MutexGuard<'_, Option<Export>> {
        self.export.lock().expect("no panic inside")
    }

    /// Exports events by IPFIX, in a stream of the default exporter, or no longer.
    ///
    /// # Errors
    /// A source port of zero (−7).
    pub fn set_ipfix(&self, world: &World, stream: Option<StreamName>) -> Result<()> {
        self.take_all(world);
        let ipfix = world.get::<Ipfix>();
        let mut export = self.export();
        if export.as_ref().map(|export| export.stream) == stream {
            return Ok(());
        }
        let opened = stream.map(|stream| -> Result<Export> {
            let source = ipfix.open((ipfix_export::DEFAULT, stream), &ipfix::TEMPLATES)?;
            Ok(Export { stream, source, of_users: None, lacks: HashMap::new() })
        });
        let old = std::mem::replace(&mut *export, opened.transpose()?);
        self.exports.store(export.is_some(), Ordering::Relaxed);
        if let Some(old) = old {
            old.of_users.into_iter().chain([old.source]).for_each(|id| ipfix.close(world, id));
        }
        world.note_config_change();
        Ok(())
    }

    /// The stream in which events are exported.
    pub fn ipfix(&self) -> Option<StreamName> {
        self.export().as_ref().map(|export| export.stream)
    }

    /// Events that were read, and events that were lost because too many waited.
    pub fn counts(&self) -> (u64, u64) {
        (self.events.load(Ordering::Relaxed), self.reports.lost())
    }

    /// True if events are wanted.
    #[inline(always)]
    fn is_on(&self) -> bool {
        self.exports.load(Ordering::Relaxed) || self.is_syslog()
    }

    /// True if syslog gets events.
    #[inline(always)]
    pub fn is_syslog(&self) -> bool {
        self.syslog.is_sent(Severity::Informational)
    }

    /// Tells how users of NAT64 reach hosts of IPv4.
    pub fn set_compose(&self, compose: Compose) {
        // Another one comes only with another instance.
        let _ = self.compose.set(compose);
    }

    /// Reads all events that wait: a ringful of each thread at most, since threads may go on
    /// writing.
    fn take_all(&self, world: &World) {
        self.take(world, usize::MAX);
    }

    /// Reads events that wait, about so many.
    fn take(&self, world: &World, most: usize) -> Drained {
        let (now, today) = (world.clock.now(), SystemTime::now());
        let mut events = Vec::new();
        let drained = self.reports.drain(most, |Report { at, event }| {
            let ago = Duration::from_nanos(now.saturating_sub(at));
            events.push((today.checked_sub(ago).unwrap_or(today), at, event));
        });
        if events.is_empty() {
            return drained;
        }
        self.events.fetch_add(events.len() as u64, Ordering::Relaxed);
        let mut names = Names { world, log: self, vrfs: HashMap::new() };
        self.export_all(&mut names, &events);
        if self.is_syslog() {
            let message = |(at, _, event): &_| messages::message(&mut names, *at, event);
            let messages: Vec<_> = events.iter().filter_map(message).collect();
            self.syslog.send_all(world, &messages);
        }
        drained
    }

    fn export_all(&self, names: &mut Names<'_>, events: &[(SystemTime, u64, Event)]) {
        let mut export = self.export();
        let Some(export) = &mut *export else { return };
        let (world, ipfix) = (names.world, names.world.get::<Ipfix>());
        for (at, clock, event) in events {
            if let Event::Lack(lack) = event
                && !export.is_news(*lack, *clock)
            {
                continue;
            }
            let Some((template, record)) = ipfix::record(names, *at, event) else { continue };
            if template < ipfix::TEMPLATES.len() {
                ipfix.record(world, export.source, template, &record);
                continue;
            }
            if export.of_users.is_none() {
                let of = (ipfix_export::DEFAULT, export.stream);
                export.of_users = ipfix.open(of, &[ipfix::OF_USER]).ok();
            }
            if let Some(source) = export.of_users {
                ipfix.record(world, source, 0, &record);
            }
        }
    }
}

/// The names of what is in events, in the operator's terms.
struct Names<'a> {
    world: &'a World,
    log: &'a Log,
    /// Ids of tables by IP version and index.
    vrfs: HashMap<(bool, u32), u32>,
}

impl Names<'_> {
    /// Id of a table; all bits set for one that is gone.
    fn vrf(&mut self, is_v6: bool, fib: u32) -> u32 {
        let (world, index) = (self.world, TableIndex(fib));
        let look_up = || match is_v6 {
            true => world.get::<Fib<Ip6>>().table_id(index),
            false => world.get::<Fib<Ip4>>().table_id(index),
        };
        *self.vrfs.entry((is_v6, fib)).or_insert_with(|| look_up().unwrap_or(u32::MAX))
    }

    /// The address by which users of a table reach a host of IPv4.
    fn compose(&self, fib: u32, addr: Ipv4Addr) -> Ipv6Addr {
        let compose = self.log.compose.get();
        compose.map_or(addr.to_ipv6_mapped(), |compose| compose(self.world, fib, addr))
    }
}

struct LogProcess(Arc<Log>);

impl Process for LogProcess {
    fn name(&self) -> &'static str {
        "nat-log"
    }

    fn run(&mut self, world: &World, _: Wake) -> Sleep {
        let drained = self.0.take(world, AT_ONCE);
        self.0.reports.sleep(world.clock.now(), drained)
    }
}
