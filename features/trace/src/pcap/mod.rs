// SPDX-License-Identifier: Apache-2.0
//! Captures into files: several at a time, if each has directions of its own.

mod chunk;
mod dispatch;
mod ended;
mod function;
pub mod node;
mod plan;
mod status;
mod writer;

use crate::function::Function;
use chunk::{Chunk, Direction};
use cli::Error;
pub use ended::FileCompletion;
pub use function::{CaptureFilter, chosen_filter, function, set_function};
use graph::{
    NodeIndex, Observer, Process, Reason, Replies, Shared, Signal, Sleep, SwIfIndex, ThreadIndex,
    Wake, World,
};
use msg::retval;
use net::{IfEvent, Interface, Interfaces};
use node::{Capture, Meter, Place, SLOTS, Tap};
pub use plan::{Directions, Limits, Plan};
use status::Summary;
pub use status::status;
use std::any::Any;
use std::collections::{HashMap, VecDeque};
use std::io;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard};
use sync::spsc::{Consumer, Producer, ring};
use writer::Writer;

const NODE: &str = "pcap-capture";
const SECOND: u64 = 1_000_000_000;
/// Results that are kept, for those who wait for them.
const RESULTS: usize = 16;
/// Chunks of a thread: as many as the requested packets can fill, within these bounds.
const CHUNKS: std::ops::RangeInclusive<usize> = 3..=16;

/// The writer's ends of a thread's rings.
struct Pipe {
    full: Consumer<Chunk>,
    empty: Producer<Chunk>,
}

struct Running {
    /// Number of the capture since the start.
    id: u64,
    /// Its slot in the nodes.
    slot: usize,
    plan: Plan,
    /// The reason of drops that is captured alone, with its error index.
    reason: Option<(u32, Reason)>,
    path: PathBuf,
    /// Of the interfaces that the node was ever put on: packets are written later, when one may be
    /// gone.
    names: HashMap<SwIfIndex, String>,
    writer: Writer,
    pipes: Vec<Pipe>,
    meter: Arc<Meter>,
    /// It ends: the threads give back what they have.
    ending: Option<Replies<Option<Box<Tap>>>>,
    /// Reason for the end before it has all packets, if the end wasn't requested.
    ended: Option<String>,
}

#[derive(Default)]
struct Inner {
    /// In the order in which they began.
    running: Vec<Running>,
    /// Results of the captures that ended last, with their numbers.
    ended: VecDeque<(u64, Summary)>,
    /// Captures that have begun since the start.
    begun: u64,
    /// Filter function of captures with a bare `filter`.
    function: Function,
}

/// The captures that run, and those that ran last.
pub struct Captures {
    inner: Mutex<Inner>,
    signal: Signal,
}

impl Shared for Captures {
    fn make(world: &World) -> Self {
        Self { inner: Mutex::default(), signal: world.processes.signal() }
    }
}

impl Captures {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().expect("no panic inside")
    }
}

pub fn init(world: &World) {
    let captures: Arc<Captures> = world.get();
    world.processes.spawn(Box::new(PcapWriter(captures.clone())), &captures.signal);
    world.get::<Interfaces>().subscribe(move |world, event| {
        let (interface, there) = match event {
            IfEvent::Name(interface) => {
                let name = world.get::<Interfaces>().name(interface);
                let running = &mut captures.inner().running;
                let names = running.iter_mut().filter_map(|r| r.names.get_mut(&interface));
                return names.for_each(|known| known.clone_from(&name));
            }
            IfEvent::Added(interface) => (interface, true),
            IfEvent::Deleting(interface) => (interface, false),
            _ => return,
        };
        let mut inner = captures.inner();
        for running in inner.running.iter_mut().filter(|r| r.ending.is_none()) {
            if !there && running.is_of(world, interface) {
                let why = format!("{} was deleted", world.get::<Interfaces>().name(interface));
                log::info!(target: "pcap", "{}: {why}; the capture ends", running.path.display());
                running.ended = Some(why);
                running.end(world);
                captures.signal.raise();
            } else if !there || running.plan.interface.is_none() {
                // The arcs are there: the capture began with them.
                let _ = running.hook(world, interface, there);
            }
        }
    });
}

/// Starts a capture. Returns a text with its file.
///
/// # Errors
/// As [`Plan::check`], [`Plan::reason`] and [`Plan::path`]; one that runs already and has one of
/// the directions, or writes to the file; an expression that can't be compiled; a file that exists
/// and isn't an earlier capture of ours, or can't be made.
pub fn start(world: &World, plan: Plan) -> Result<String, Error> {
    plan.check(world)?;
    let (reason, limits) = (plan.reason(world)?, plan.limits);
    let captures: Arc<Captures> = world.get();
    let mut inner = captures.inner();
    if let Some(running) = inner.running.iter().find(|r| r.plan.on.and(plan.on).any()) {
        return Err(runs_already(running));
    }
    let slot = (0..SLOTS).find(|slot| inner.running.iter().all(|r| r.slot != *slot));
    // A capture in front of nodes has none; those of packets are as many as directions at most.
    let slot = slot.filter(|_| !plan.on.dispatch).unwrap_or(SLOTS);
    let mut filters = Vec::new();
    for _ in 0..world.threads() {
        filters.push(
            plan.filter.as_ref().map(|filter| filter.compile(world, plan.interface)).transpose()?,
        );
    }
    let path = plan.path()?;
    if let Some(running) = inner.running.iter().find(|running| running.path == path) {
        return Err(runs_already(running));
    }
    let writer = Writer::create(&path, limits.bytes, world.clock.start_time()).map_err(|e| {
        Error::failed(format!("{}: {e}", path.display())).retval(retval::CANNOT_CREATE_PCAP_FILE)
    })?;

    let meter = Arc::new(Meter::default());
    meter.left.store(limits.packets, Ordering::Relaxed);
    let bytes = limits.packets.saturating_mul((chunk::HEADER + limits.bytes) as u64);
    let chunks =
        ((bytes / chunk::SIZE as u64).min(1000) as usize + 2).clamp(*CHUNKS.start(), *CHUNKS.end());
    let node = world.node(NODE).unwrap_or_default();
    let mut pipes = Vec::new();
    for (thread, filter) in filters.into_iter().enumerate() {
        let (full, from_worker) = ring(chunks);
        let (mut to_worker, empty) = ring(chunks);
        for _ in 1..chunks {
            // It holds that many.
            let _ = to_worker.push(Chunk::new());
        }
        pipes.push(Pipe { full: from_worker, empty: to_worker });
        let (meter, signal) = (meter.clone(), captures.signal.clone());
        let tap = Tap {
            full,
            empty,
            chunk: Chunk::new(),
            bytes: limits.bytes,
            filter,
            reason: reason.as_ref().map(|(index, _)| *index),
            interface: plan.interface.unwrap_or_default().0,
            meter,
            signal,
        };
        let (tap, dispatch) = (Box::new(tap), plan.on.dispatch);
        world.on_thread(ThreadIndex(thread as u16), move |rt| {
            if dispatch {
                rt.observe(Some(tap));
            } else if let Some(own) =
                rt.node_mut::<Capture>(node).and_then(|node| node.taps.get_mut(slot))
            {
                *own = Some(tap);
            }
        });
    }
    let said = format!("Capturing to {}", path.display());
    let (names, ending, ended) = (HashMap::new(), None, None);
    inner.begun += 1;
    let id = inner.begun;
    let mut running =
        Running { id, slot, plan, reason, path, names, writer, pipes, meter, ending, ended };
    let only = running.plan.interface;
    for i in
        world.get::<Interfaces>().list().iter().filter(|i| only.is_none_or(|only| only == i.sw_if))
    {
        running.hook(world, i.sw_if, true)?;
    }
    inner.running.push(running);
    captures.signal.raise();
    Ok(said)
}

fn runs_already(running: &Running) -> Error {
    let (words, path) = (running.plan.on.words().join(" "), running.path.display());
    let end = if running.plan.on.dispatch { "dispatch trace off" } else { "trace off" };
    Error::failed(format!("a capture of {words} runs already, to {path}"))
        .hint(format!("`pcap {end}' ends it"))
        .retval(retval::INVALID_VALUE)
}

/// Ends the captures that have one of these directions; the answer comes when their files are
/// complete.
///
/// # Errors
/// None runs (−81).
pub fn stop(world: &World, on: Directions) -> Result<FileCompletion, Error> {
    let captures: Arc<Captures> = world.get();
    let mut ids = Vec::new();
    for running in captures.inner().running.iter_mut().filter(|r| r.plan.on.and(on).any()) {
        running.end(world);
        ids.push(running.id);
    }
    if ids.is_empty() {
        return Err(Error::not_found("no capture runs")
            .hint("`pcap trace status' shows the last one")
            .retval(retval::VALUE_EXIST));
    }
    captures.signal.raise();
    Ok(FileCompletion { captures, ids, wake: None })
}

impl Running {
    /// Returns true if all packets come from this interface, or are dropped by a node that goes
    /// with it. The interface and the error index may be another's afterwards.
    fn is_of(&self, world: &World, interface: SwIfIndex) -> bool {
        let Ok(Interface { output, tx, .. }) = world.get::<Interfaces>().get(interface) else {
            return false;
        };
        let drops =
            |reason: &Reason| [output, tx].iter().any(|node| world.node_name(*node) == reason.node);
        self.plan.interface == Some(interface)
            || self.reason.as_ref().is_some_and(|(_, reason)| drops(reason))
    }

    /// Enables the node on the arcs of an interface, or disables it.
    fn hook(&mut self, world: &World, interface: SwIfIndex, there: bool) -> Result<(), Error> {
        let interfaces = world.get::<Interfaces>();
        if there {
            self.names.insert(interface, interfaces.name(interface));
        }
        let Ok(of) = interfaces.get(interface) else { return Ok(()) };
        for (arc, on, point) in self.plan.on.arcs(world, &of, self.plan.interface.is_none()) {
            let config = there.then_some(Place { point, slot: self.slot as u8 });
            world.configure_feature::<Capture>(arc, on, config).map_err(Error::failed)?;
        }
        Ok(())
    }

    /// Disables the node on all arcs, and requests the threads' captured packets.
    fn end(&mut self, world: &World) {
        if self.ending.is_some() {
            return;
        }
        for i in world.get::<Interfaces>().list() {
            // It was put there.
            let _ = self.hook(world, i.sw_if, false);
        }
        let (node, dispatch) = (world.node(NODE).unwrap_or_default(), self.plan.on.dispatch);
        let slot = self.slot;
        self.ending = Some(world.query(move |rt| {
            match dispatch {
                true => rt
                    .observe(None)
                    .and_then(|seen: Box<dyn Observer>| (seen as Box<dyn Any>).downcast().ok()),
                false => {
                    rt.node_mut::<Capture>(node).and_then(|node| node.taps.get_mut(slot)?.take())
                }
            }
        }));
    }

    /// Writes what the threads have sent, by time, and gives the memory back.
    fn drain(&mut self, world: &World, rest: Vec<Chunk>) -> io::Result<()> {
        let mut chunks: Vec<(Option<usize>, Chunk)> = Vec::new();
        for (thread, pipe) in self.pipes.iter_mut().enumerate() {
            while let Some(chunk) = pipe.full.pop() {
                chunks.push((Some(thread), chunk));
            }
        }
        chunks.extend(rest.into_iter().map(|chunk| (None, chunk)));
        let mut packets: Vec<_> = chunks.iter().flat_map(|(_, chunk)| chunk.packets()).collect();
        // Stable: packets of one thread and time stay in order.
        packets.sort_by_key(|(header, _)| header.time);
        let (interfaces, mut reasons) = (world.get::<Interfaces>(), world.reasons());
        if let Some((index, reason)) = &self.reason
            && let Some(known) = reasons.get_mut(*index as usize)
        {
            // Its node may have gone since.
            *known = reason.clone();
        }
        let names = &self.names;
        let name = |i| names.get(&i).cloned().unwrap_or_else(|| interfaces.name(i));
        for (header, bytes) in packets {
            if header.direction == Direction::Dispatch {
                let node = world.node_name(NodeIndex(header.at));
                let mut packet = dispatch::head(&header, &node, &name(header.interface));
                packet.extend_from_slice(bytes);
                self.writer.write(&header, &packet, |_| "dispatch".into(), &reasons)?;
                continue;
            }
            self.writer.write(&header, bytes, name, &reasons)?;
        }
        self.writer.flush()?;
        for (thread, mut chunk) in chunks {
            chunk.clear();
            if let Some(thread) = thread {
                // A thread that is gone takes none back.
                let _ = self.pipes[thread].empty.push(chunk);
            }
        }
        Ok(())
    }

    /// Goes on; gives the summary when all is written.
    fn advance(&mut self, world: &World) -> Option<Summary> {
        if self.meter.left.load(Ordering::Relaxed) == 0 {
            self.end(world);
        }
        let taps = match &mut self.ending {
            None => None,
            Some(asked) => Some(asked.poll()?),
        };
        let ended = taps.is_some();
        let rest = taps.into_iter().flatten().flatten().flatten().map(|tap| tap.chunk).collect();
        match self.drain(world, rest) {
            Ok(()) if !ended => None,
            Ok(()) => Some(self.summary(None)),
            Err(e) => {
                log::error!(target: "pcap", "{}: {e}; the capture ends", self.path.display());
                self.end(world);
                Some(self.summary(Some(e.to_string())))
            }
        }
    }

    fn summary(&self, error: Option<String>) -> Summary {
        if self.writer.written == 0 && error.is_none() {
            // A file without packets is useless; it may have been removed already.
            let _ = self.writer.remove(&self.path);
        }
        let lost = self.meter.lost.load(Ordering::Relaxed);
        let ended = self.ended.clone();
        Summary { path: self.path.clone(), written: self.writer.written, lost, ended, error }
    }
}

/// The process that writes.
struct PcapWriter(Arc<Captures>);

impl Process for PcapWriter {
    fn name(&self) -> &'static str {
        "pcap-writer"
    }

    fn run(&mut self, world: &World, _: Wake) -> Sleep {
        let mut inner = self.0.inner();
        let Inner { running, ended, .. } = &mut *inner;
        running.retain_mut(|running| {
            let Some(summary) = running.advance(world) else { return true };
            ended.push_back((running.id, summary));
            false
        });
        ended.drain(..ended.len().saturating_sub(RESULTS));
        if running.is_empty() {
            return Sleep::Event;
        }
        let is_ending = running.iter().any(|running| running.ending.is_some());
        let soon = if is_ending { SECOND / 500 } else { SECOND };
        Sleep::Until(world.clock.now() + soon)
    }
}
