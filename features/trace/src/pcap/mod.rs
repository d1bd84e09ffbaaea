// SPDX-License-Identifier: Apache-2.0
//! Captures into files: one at a time.

mod chunk;
mod dispatch;
mod ended;
mod function;
pub mod node;
mod plan;
mod writer;

use crate::function::Function;
use chunk::{Chunk, Direction};
use cli::{Error, Output};
pub use ended::FileCompletion;
pub use function::{CaptureFilter, chosen_filter, function, set_function};
use graph::{
    NodeIndex, Observer, Process, Reason, Replies, Shared, Signal, Sleep, SwIfIndex, ThreadIndex,
    Wake, World,
};
use msg::retval;
use net::{IfEvent, Interface, Interfaces};
use node::{Capture, Meter, Tap};
pub use plan::{Directions, Limits, Plan};
use serde_json::{Value, json};
use std::any::Any;
use std::collections::HashMap;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard};
use sync::spsc::{Consumer, Producer, ring};
use writer::Writer;

const NODE: &str = "pcap-capture";
const SECOND: u64 = 1_000_000_000;
/// Chunks of a thread: as many as the requested packets can fill, within these bounds.
const CHUNKS: std::ops::RangeInclusive<usize> = 3..=16;

/// The writer's ends of a thread's rings.
struct Pipe {
    full: Consumer<Chunk>,
    empty: Producer<Chunk>,
}

struct Running {
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

/// The result of a capture.
#[derive(Clone, Debug)]
struct Summary {
    path: PathBuf,
    written: u64,
    lost: u64,
    /// Reason for an end by itself, with fewer packets than requested.
    ended: Option<String>,
    error: Option<String>,
}

#[derive(Default)]
struct Inner {
    running: Option<Running>,
    last: Option<Summary>,
    /// Filter function of captures with a bare `filter`.
    function: Function,
}

/// The capture that runs, and the one that ran last.
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
            IfEvent::Added(interface) => (interface, true),
            IfEvent::Deleting(interface) => (interface, false),
            _ => return,
        };
        let mut inner = captures.inner();
        let Some(running) = inner.running.as_mut().filter(|r| r.ending.is_none()) else { return };
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
    });
}

/// Starts a capture. Returns a text with its file.
///
/// # Errors
/// As [`Plan::check`], [`Plan::reason`] and [`Plan::path`]; one that runs already; an expression
/// that can't be compiled; a file that exists and isn't an earlier capture of ours, or can't be
/// made.
pub fn start(world: &World, plan: Plan) -> Result<String, Error> {
    plan.check(world)?;
    let (reason, limits) = (plan.reason(world)?, plan.limits);
    let captures: Arc<Captures> = world.get();
    let mut inner = captures.inner();
    if let Some(running) = &inner.running {
        let error = Error::failed(format!("a capture runs already, to {}", running.path.display()));
        return Err(error.hint("`pcap trace off' ends it").retval(retval::INVALID_VALUE));
    }
    let mut filters = Vec::new();
    for _ in 0..world.threads() {
        filters.push(
            plan.filter.as_ref().map(|filter| filter.compile(world, plan.interface)).transpose()?,
        );
    }
    let path = plan.path()?;
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
            meter,
            signal,
        };
        let (tap, dispatch) = (Box::new(tap), plan.on.dispatch);
        world.on_thread(ThreadIndex(thread as u16), move |rt| {
            if dispatch {
                rt.observe(Some(tap));
            } else if let Some(node) = rt.node_mut::<Capture>(node) {
                node.tap = Some(tap);
            }
        });
    }
    let said = format!("Capturing to {}", path.display());
    let (names, ending, ended) = (HashMap::new(), None, None);
    let mut running = Running { plan, reason, path, names, writer, pipes, meter, ending, ended };
    let only = running.plan.interface;
    for i in
        world.get::<Interfaces>().list().iter().filter(|i| only.is_none_or(|only| only == i.sw_if))
    {
        running.hook(world, i.sw_if, true)?;
    }
    inner.running = Some(running);
    captures.signal.raise();
    Ok(said)
}

/// Ends the capture; the answer comes when the file is complete.
///
/// # Errors
/// None runs (−81).
pub fn stop(world: &World) -> Result<FileCompletion, Error> {
    let captures: Arc<Captures> = world.get();
    {
        let mut inner = captures.inner();
        let Some(running) = &mut inner.running else {
            return Err(Error::not_found("no capture runs")
                .hint("`pcap trace status' shows the last one")
                .retval(retval::VALUE_EXIST));
        };
        running.end(world);
    }
    captures.signal.raise();
    Ok(FileCompletion { captures, wake: None })
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
        let tunnel = interfaces.get(interface).is_ok_and(|i| i.device.is_tunnel());
        for (arc, point) in self.plan.on.arcs(tunnel) {
            let config = there.then_some(point);
            world.configure_feature::<Capture>(arc, interface, config).map_err(Error::failed)?;
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
        self.ending = Some(world.query(move |rt| {
            match dispatch {
                true => rt
                    .observe(None)
                    .and_then(|seen: Box<dyn Observer>| (seen as Box<dyn Any>).downcast().ok()),
                false => rt.node_mut::<Capture>(node).and_then(|node| node.tap.take()),
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

impl std::fmt::Display for Summary {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.is_empty() {
            write!(f, "no packet, so no file")?;
        } else {
            write!(f, "{} packets in {}", self.written, self.path.display())?;
        }
        if self.lost > 0 {
            write!(f, ", {} lost: they came faster than they were written", self.lost)?;
        }
        self.ended.as_ref().map_or(Ok(()), |why| write!(f, ", ended since {why}"))?;
        self.error.as_ref().map_or(Ok(()), |e| write!(f, ", ended by: {e}"))
    }
}

impl Summary {
    /// Nothing was captured, and there is no file.
    fn is_empty(&self) -> bool {
        self.written == 0 && self.error.is_none()
    }

    fn json(&self) -> Value {
        let file = (!self.is_empty()).then_some(&self.path);
        json!({
            "file": file,
            "packets": self.written,
            "lost": self.lost,
            "ended": self.ended,
            "error": self.error,
        })
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
        let Some(running) = &mut inner.running else { return Sleep::Event };
        if let Some(summary) = running.advance(world) {
            inner.running = None;
            inner.last = Some(summary);
            return Sleep::Event;
        }
        let soon = if running.ending.is_some() { SECOND / 500 } else { SECOND };
        Sleep::Until(world.clock.now() + soon)
    }
}

/// Status of the running capture, or of the last one.
pub fn status(world: &World) -> Output {
    let captures: Arc<Captures> = world.get();
    let inner = captures.inner();
    let last = inner.last.as_ref().map(Summary::json);
    let Some(running) = &inner.running else {
        let text = inner.last.as_ref().map_or(String::new(), |last| format!("last: {last}\n"));
        return Output::both(
            format!("No capture runs\n{text}"),
            json!({ "running": null, "last": last }),
        );
    };
    let left = running.meter.left.load(Ordering::Relaxed);
    let (plan, max) = (&running.plan, running.plan.limits.packets);
    let captured = max - left.min(max);
    let interface = plan.interface.map_or("any".to_string(), |i| world.get::<Interfaces>().name(i));
    let (words, lost) = (plan.on.words(), running.meter.lost.load(Ordering::Relaxed));
    let text = format!(
        "Capturing {}{} of {interface} to {}: {captured} of {max} packets, {} bytes of each, {lost} lost\n",
        words.join(" "),
        plan.reason.as_ref().map_or(String::new(), |reason| format!(" by {reason}")),
        running.path.display(),
        plan.limits.bytes,
    );
    let json = json!({
        "directions": words,
        "error": plan.reason,
        "interface": interface,
        "file": running.path,
        "packets": captured,
        "max": max,
        "bytes": plan.limits.bytes,
        "lost": lost,
    });
    Output::both(text, json!({ "running": json, "last": last }))
}
