// SPDX-License-Identifier: Apache-2.0
//! Exporters, and what features give them. Everything here is on the control thread.

use crate::settings::Settings;
use crate::stream::{Now, Refused, Stream, StreamName};
use crate::template::Template;
use cli::{Error, Result};
use graph::{Deleted, Process, Shared, Signal, Sleep, Wake, World};
use msg::retval;
use net::{DeletedTable, TableIndex};
use stats::Simple;
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{SystemTime, UNIX_EPOCH};
use udp::origin::{self, Counts, Ends};
use wire::{Ip4, Ip6};

/// Number of the exporter that features use.
pub const DEFAULT: u32 = 0;
/// Exporters at most.
const EXPORTERS: usize = 64;
/// Messages that are made before they are sent.
const AT_ONCE: usize = 64;

/// Fate of a record; its number is the position of its counter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    /// It was taken.
    Taken,
    /// It is lost: there was no collector, or its table was deleted.
    NoCollector,
    /// It is lost: it is longer than a datagram may be.
    TooLong,
    /// It is lost: it isn't of the length of its template.
    Malformed,
}

/// Counters of an exporter, in the stats segment. The number of the exporter is their cell.
#[derive(Clone)]
pub struct Counters {
    cell: usize,
    /// Counters of datagrams.
    pub datagrams: Counts,
    records: [Arc<Simple>; 4],
}

impl Counters {
    fn new(world: &World, number: u32) -> Self {
        let cell = number as usize;
        let counter = |name| {
            let counter = world.stats.simple(&format!("/ipfix/records/{name}"));
            counter.start(cell);
            counter
        };
        let records = ["taken", "no-collector", "too-long", "malformed"].map(counter);
        Self { cell, datagrams: Counts::new(world, "/ipfix/datagrams", cell), records }
    }

    fn count(&self, fate: Fate, n: u64) {
        self.records[fate as usize].control().add(self.cell, n);
    }

    /// Number of records with this fate.
    pub fn records(&self, fate: Fate) -> u64 {
        self.records[fate as usize].sum(self.cell)
    }
}

struct Exporter {
    settings: Option<(Settings, TableIndex)>,
    streams: BTreeMap<StreamName, Stream>,
    /// Messages that aren't sent yet, by source port.
    out: Vec<(u16, Vec<Vec<u8>>)>,
    counters: Counters,
}

/// Templates that a feature has declared.
struct Source {
    exporter: u32,
    stream: StreamName,
    /// Ids of its templates, in the feature's order.
    ids: Vec<u16>,
}

/// Name of the templates that a feature has declared, for its records.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct SourceId(u64);

/// A stream as it is shown.
#[derive(Clone, Debug)]
pub struct StreamInfo {
    /// Number of its exporter.
    pub exporter: u32,
    /// Its name.
    pub name: StreamName,
    /// Records that were sent, modulo 2^32.
    pub sequence: u32,
    /// Records that wait.
    pub waiting: u32,
    /// Templates with their ids.
    pub templates: Vec<(u16, Template)>,
}

/// An exporter as it is shown.
#[derive(Clone)]
pub struct ExporterInfo {
    /// Its number.
    pub number: u32,
    /// Its settings; `None` without a collector.
    pub settings: Option<Settings>,
    /// Its counters.
    pub counters: Counters,
}

struct State {
    exporters: BTreeMap<u32, Exporter>,
    sources: BTreeMap<SourceId, Source>,
    next_source: u64,
    hooks: Vec<fn(&World)>,
    /// True once the process runs.
    is_started: bool,
}

/// The IPFIX exporter.
pub struct Ipfix {
    state: Mutex<State>,
    signal: Signal,
}

impl Shared for Ipfix {
    fn make(world: &World) -> Self {
        let state = State {
            exporters: BTreeMap::from([(DEFAULT, Exporter::new(world, DEFAULT, None))]),
            sources: BTreeMap::new(),
            next_source: 0,
            hooks: Vec::new(),
            is_started: false,
        };
        Self { state: Mutex::new(state), signal: world.processes.signal() }
    }

    fn forget(&self, _: &World, deleted: &Deleted<'_>) {
        let gone = if let Some(table) = deleted.of::<DeletedTable<Ip4>>() {
            (false, table.index)
        } else if let Some(table) = deleted.of::<DeletedTable<Ip6>>() {
            (true, table.index)
        } else {
            return;
        };
        let mut state = self.state();
        let is_gone = |exporter: &Exporter| {
            let of = exporter.settings.map(|(set, table)| (set.collector.is_ipv6(), table));
            of == Some(gone)
        };
        for exporter in state.exporters.values_mut().filter(|exporter| is_gone(exporter)) {
            exporter.lose_collector();
        }
        let is_kept =
            |number: &u32, exporter: &Exporter| *number == DEFAULT || exporter.settings.is_some();
        state.exporters.retain(|number, exporter| is_kept(number, exporter));
        state.forget_sources();
    }
}

fn now(world: &World) -> Now {
    let day = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Now { clock: world.clock.now(), day: day.as_secs() as u32 }
}

impl Ipfix {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no panic inside")
    }

    /// Starts the process that sends what is due.
    pub fn start(world: &World) {
        let this: Arc<Self> = world.get();
        this.state().is_started = true;
        world.processes.spawn(Box::new(ExportProcess(this.clone())), &this.signal);
    }

    /// Gives the default exporter a collector, or none.
    ///
    /// # Errors
    /// A setting that is out of range (−7); no such table (−3).
    pub fn set(&self, world: &World, settings: Option<Settings>) -> Result<()> {
        let checked = settings.map(|set| set.check(world).map(|table| (set, table))).transpose()?;
        let mut state = self.state();
        let default = state.exporters.entry(DEFAULT);
        let exporter = default.or_insert_with(|| Exporter::new(world, DEFAULT, None));
        exporter.flush(world);
        let is_same = |(a, b): (Settings, Settings)| {
            let ends = |set: Settings| (set.collector, set.port, set.source, set.vrf);
            ends(a) == ends(b)
        };
        let both = exporter.settings.map(|(old, _)| old).zip(settings);
        exporter.settings = checked;
        if !both.is_some_and(is_same) {
            exporter.streams.values_mut().for_each(Stream::restart);
        } else if let Some(settings) = settings {
            let (now, interval) = (world.clock.now(), settings.limits().templates);
            exporter.streams.values_mut().for_each(|stream| stream.set_interval(now, interval));
            // The process may sleep for longer than the interval is now.
            self.signal.raise();
        }
        world.note_config_change();
        Ok(())
    }

    /// Makes an exporter to one more collector, and returns its number.
    ///
    /// # Errors
    /// As [`Self::set`]; one to this collector is there (−81), or there are too many (−12).
    pub fn create(&self, world: &World, settings: Settings) -> Result<u32> {
        let table = settings.check(world)?;
        let mut state = self.state();
        let is_there = |exporter: &Exporter| {
            exporter.settings.is_some_and(|(old, _)| old.collector == settings.collector)
        };
        if state.exporters.values().any(is_there) {
            let why = format!("there is an exporter to {}", settings.collector);
            return Err(Error::failed(why).retval(retval::VALUE_EXIST));
        }
        if state.exporters.len() >= EXPORTERS {
            let why = format!("there are {EXPORTERS} exporters, as many as there may be");
            return Err(Error::failed(why).retval(retval::TABLE_TOO_BIG));
        }
        let free = (1..).find(|number| !state.exporters.contains_key(number));
        let number = free.unwrap_or(u32::MAX);
        state.exporters.insert(number, Exporter::new(world, number, Some((settings, table))));
        world.note_config_change();
        Ok(number)
    }

    /// Deletes the exporter to a collector, and returns its number.
    ///
    /// # Errors
    /// There is none (−6); it is the default one, which stays (−7).
    pub fn delete(&self, world: &World, collector: IpAddr) -> Result<u32> {
        let mut state = self.state();
        let is_it = |(_, exporter): &(&u32, &Exporter)| {
            exporter.settings.is_some_and(|(set, _)| set.collector == collector)
        };
        let found = state.exporters.iter().find(is_it).map(|(number, _)| *number);
        let number = found.ok_or_else(|| {
            let why = format!("there is no exporter to {collector}");
            Error::not_found(why).retval(retval::NO_SUCH_ENTRY)
        })?;
        if number == DEFAULT {
            let why = "the default exporter stays: `set ipfix exporter off' takes its collector";
            return Err(Error::failed(why).retval(retval::INVALID_VALUE));
        }
        if let Some(mut exporter) = state.exporters.remove(&number)
            && exporter.streams.values().any(|stream| stream.waiting() > 0)
        {
            exporter.flush(world);
        }
        state.forget_sources();
        world.note_config_change();
        Ok(number)
    }

    /// All exporters, by number.
    pub fn exporters(&self) -> Vec<ExporterInfo> {
        let info = |(number, exporter): (&u32, &Exporter)| ExporterInfo {
            number: *number,
            settings: exporter.settings.map(|(settings, _)| settings),
            counters: exporter.counters.clone(),
        };
        self.state().exporters.iter().map(info).collect()
    }

    /// All streams.
    pub fn streams(&self) -> Vec<StreamInfo> {
        let state = self.state();
        let all = state.exporters.iter().flat_map(|(number, exporter)| {
            exporter.streams.values().map(|stream| StreamInfo {
                exporter: *number,
                name: stream.name(),
                sequence: stream.sequence(),
                waiting: stream.waiting(),
                templates: stream.templates(),
            })
        });
        all.collect()
    }

    /// Declares the templates of a feature, in a stream of an exporter. Features that name one
    /// stream share it, with its sequence and its numbers of templates.
    ///
    /// # Errors
    /// No such exporter (−6); no template, or a port of zero (−7); the plugin is switched off
    /// (−126).
    pub fn open(
        &self,
        (exporter, stream): (u32, StreamName),
        templates: &[Template],
    ) -> Result<SourceId> {
        if templates.is_empty() || stream.source_port == 0 {
            let why = "expected a source port from 1 to 65535, not 0";
            return Err(Error::parse(why).retval(retval::INVALID_VALUE));
        }
        let mut state = self.state();
        if !state.is_started {
            let why = "the plugin `ipfix-export' is switched off in startup.conf";
            return Err(Error::unsupported(why).retval(retval::UNSUPPORTED));
        }
        let of = state.exporters.get_mut(&exporter).ok_or_else(|| {
            let why = format!("there is no exporter {exporter}");
            Error::not_found(why).retval(retval::NO_SUCH_ENTRY)
        })?;
        let of = of.streams.entry(stream).or_insert_with(|| Stream::new(stream));
        let ids = templates.iter().map(|template| of.add(*template)).collect();
        let id = SourceId(state.next_source);
        state.next_source += 1;
        state.sources.insert(id, Source { exporter, stream, ids });
        Ok(id)
    }

    /// Sends the records of a feature that wait, and takes its templates back.
    pub fn close(&self, world: &World, id: SourceId) {
        let mut state = self.state();
        let Some(source) = state.sources.remove(&id) else { return };
        let Some(exporter) = state.exporters.get_mut(&source.exporter) else { return };
        if exporter.streams.get(&source.stream).is_some_and(|stream| stream.waiting() > 0) {
            exporter.flush(world);
        }
        let Some(stream) = exporter.streams.get_mut(&source.stream) else { return };
        let is_unused = source.ids.iter().fold(false, |_, id| stream.remove(*id));
        if is_unused {
            exporter.streams.remove(&source.stream);
        }
    }

    /// Takes a record of a feature: the bytes of the elements of its template, which is the n-th of
    /// the templates that the feature has declared. A record that can't be sent is counted, unless
    /// its exporter was deleted.
    pub fn record(&self, world: &World, id: SourceId, n: usize, bytes: &[u8]) {
        let mut state = self.state();
        let State { exporters, sources, .. } = &mut *state;
        let Some(source) = sources.get(&id) else { return };
        let Some(exporter) = exporters.get_mut(&source.exporter) else { return };
        let count = |fate| exporter.counters.count(fate, 1);
        let Some((settings, _)) = exporter.settings else { return count(Fate::NoCollector) };
        let Some(stream) = exporter.streams.get_mut(&source.stream) else { return };
        let Some(template) = source.ids.get(n) else { return count(Fate::Malformed) };
        let due = stream.next();
        let mut out = Vec::new();
        let of = (*template, bytes);
        match stream.record(of, (now(world), settings.limits()), &mut out) {
            Ok(()) => count(Fate::Taken),
            Err(Refused::TooLong) => count(Fate::TooLong),
            Err(Refused::Malformed) => count(Fate::Malformed),
        }
        // The process sends messages that are full, together with those of other records.
        if !out.is_empty() || due != stream.next() {
            self.signal.raise();
        }
        exporter.queue(source.stream.source_port, out);
        if exporter.out.iter().map(|(_, all)| all.len()).sum::<usize>() >= AT_ONCE {
            exporter.deliver(world);
        }
    }

    /// Calls `hook` before each flush, so that a feature hands over what it still has.
    pub fn before_flush(&self, hook: fn(&World)) {
        let mut state = self.state();
        if !state.hooks.iter().any(|there| std::ptr::fn_addr_eq(*there, hook)) {
            state.hooks.push(hook);
        }
    }

    /// Sends all records that wait, and templates that the collector doesn't know.
    pub fn flush(&self, world: &World) {
        let hooks = self.state().hooks.clone();
        hooks.iter().for_each(|hook| hook(world));
        self.state().exporters.values_mut().for_each(|exporter| exporter.flush(world));
    }

    fn run(&self, world: &World) -> Option<u64> {
        let mut state = self.state();
        let mut next = None;
        for exporter in state.exporters.values_mut() {
            let Some((settings, _)) = exporter.settings else { continue };
            exporter.each(world, |stream, now, out| stream.run(now, settings.limits(), out));
            exporter.deliver(world);
            let times = exporter.streams.values().filter_map(Stream::next);
            next = times.chain(next).min();
        }
        next
    }
}

impl State {
    /// Forgets what features have declared for exporters that are gone: another exporter may get
    /// their numbers.
    fn forget_sources(&mut self) {
        let Self { exporters, sources, .. } = self;
        sources.retain(|_, source| exporters.contains_key(&source.exporter));
    }
}

impl Exporter {
    fn new(world: &World, number: u32, settings: Option<(Settings, TableIndex)>) -> Self {
        let counters = Counters::new(world, number);
        Self { settings, streams: BTreeMap::new(), out: Vec::new(), counters }
    }

    /// Ends the export to the collector, whose table is deleted. Records and messages that wait are
    /// lost.
    fn lose_collector(&mut self) {
        if let Some((settings, _)) = self.settings.take() {
            log::warn!("no IPFIX to {}: its table is deleted", settings.collector);
        }
        let records = self.streams.values().map(|stream| u64::from(stream.waiting())).sum();
        self.counters.count(Fate::NoCollector, records);
        let messages = self.out.drain(..).map(|(_, all)| all.len()).sum();
        self.counters.datagrams.add_unreachable(messages);
        self.streams.values_mut().for_each(Stream::restart);
    }

    fn each(&mut self, world: &World, mut f: impl FnMut(&mut Stream, Now, &mut Vec<Vec<u8>>)) {
        let now = now(world);
        let mut all = Vec::new();
        for stream in self.streams.values_mut() {
            let mut out = Vec::new();
            f(stream, now, &mut out);
            all.push((stream.name().source_port, out));
        }
        all.into_iter().for_each(|(port, out)| self.queue(port, out));
    }

    fn queue(&mut self, port: u16, out: Vec<Vec<u8>>) {
        if out.is_empty() {
            return;
        }
        match self.out.iter_mut().find(|(of, _)| *of == port) {
            Some((_, all)) => all.extend(out),
            None => self.out.push((port, out)),
        }
    }

    fn flush(&mut self, world: &World) {
        let Some((settings, _)) = self.settings else { return };
        self.each(world, |stream, now, out| stream.flush(now, settings.limits(), out));
        self.deliver(world);
    }

    /// Hands the messages to the graph.
    fn deliver(&mut self, world: &World) {
        let Some((settings, table)) = self.settings else { return self.out.clear() };
        for (port, messages) in std::mem::take(&mut self.out) {
            let ends = Ends {
                from: SocketAddr::new(settings.source, port),
                to: SocketAddr::new(settings.collector, settings.port),
                table,
                checksum: settings.checksum,
            };
            origin::send(world, &ends, messages, &self.counters.datagrams);
        }
    }
}

struct ExportProcess(Arc<Ipfix>);

impl Process for ExportProcess {
    fn name(&self) -> &'static str {
        "flow-report-process"
    }

    fn run(&mut self, world: &World, _: Wake) -> Sleep {
        self.0.run(world).map_or(Sleep::Event, Sleep::Until)
    }
}
