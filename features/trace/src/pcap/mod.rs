// SPDX-License-Identifier: Apache-2.0
//! Captures into files: one at a time.

mod chunk;
mod ended;
pub mod node;
mod writer;

use crate::filter::Expression;
use chunk::{Chunk, Direction};
use cli::{Error, Output};
pub use ended::Ended;
use graph::{Asked, Process, Shared, Signal, Sleep, SwIfIndex, ThreadIndex, Wake, World};
use msg::retval;
use net::{IfEvent, IfKind, Interfaces};
use node::{Capture, Meter, Tap};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use sync::spsc::{Consumer, Producer, ring};
use writer::Writer;

const NODE: &str = "pcap-capture";
const SECOND: u64 = 1_000_000_000;
/// Chunks of a thread: as many as the packets asked for can fill, within these bounds.
const CHUNKS: std::ops::RangeInclusive<usize> = 3..=16;

/// Bytes of a packet that may be kept.
const BYTES: std::ops::RangeInclusive<usize> = 32..=65_535;

/// What is captured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Directions {
    /// Packets as they come in.
    pub rx: bool,
    /// Packets as they leave.
    pub tx: bool,
    /// Packets that are dropped.
    pub drop: bool,
}

impl Directions {
    /// Whether anything is.
    pub fn any(self) -> bool {
        self.rx || self.tx || self.drop
    }

    /// Arcs, and what the node is to know there.
    fn arcs(self) -> impl Iterator<Item = (&'static str, Direction)> {
        let all = [
            (self.rx, "device-input", Direction::Rx),
            (self.tx, "interface-output", Direction::Tx),
            (self.drop, "error-drop", Direction::Drop),
        ];
        all.into_iter().filter(|(on, ..)| *on).map(|(_, arc, direction)| (arc, direction))
    }

    fn words(self) -> Vec<&'static str> {
        let all = [(self.rx, "rx"), (self.tx, "tx"), (self.drop, "drop")];
        all.into_iter().filter(|(on, _)| *on).map(|(_, word)| word).collect()
    }
}

/// How much is captured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Packets of all threads.
    pub packets: u64,
    /// Bytes of each packet.
    pub bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { packets: 1000, bytes: 512 }
    }
}

/// The writer's ends of a thread's rings.
struct Pipe {
    full: Consumer<Chunk>,
    empty: Producer<Chunk>,
}

struct Running {
    on: Directions,
    interface: Option<SwIfIndex>,
    limits: Limits,
    reason: Option<String>,
    path: PathBuf,
    /// Of the interfaces that the node was ever put on: packets are written later, when one may be gone.
    names: HashMap<SwIfIndex, String>,
    writer: Writer,
    pipes: Vec<Pipe>,
    meter: Arc<Meter>,
    /// It ends: the threads give back what they have.
    ending: Option<Asked<Option<Box<Tap>>>>,
}

/// How a capture went.
#[derive(Clone, Debug)]
struct Summary {
    path: PathBuf,
    written: u64,
    lost: u64,
    error: Option<String>,
}

#[derive(Default)]
struct Inner {
    running: Option<Running>,
    last: Option<Summary>,
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
        if !there || running.interface.is_none() {
            // The arcs are there: the capture began with them.
            let _ = running.hook(world, interface, there);
        }
    });
}

/// The file that a capture goes to: a bare name lies in /tmp.
fn place(on: Directions, file: Option<&str>) -> Result<PathBuf, Error> {
    let Some(file) = file else {
        // Nobody chose this name, so another one will do.
        let stem = on.words().concat();
        let names = (1..1000)
            .map(|n| if n == 1 { format!("/tmp/{stem}.pcap") } else { format!("/tmp/{stem}-{n}.pcap") });
        let free = names.map(PathBuf::from).find(|path| path.symlink_metadata().is_err());
        return free
            .ok_or_else(|| Error::limit(format!("/tmp holds 999 captures named {stem}; give a file")));
    };
    let path = Path::new(file);
    match (path.is_absolute(), file.contains('/') || file == ".." || file == ".") {
        (true, _) => Ok(path.into()),
        (false, true) => {
            Err(Error::parse(format!("`{file}' is neither a bare name, for /tmp, nor an absolute path")))
        }
        (false, false) => Ok(Path::new("/tmp").join(file)),
    }
}

/// The reason of drops that an operator names as VPP does: `{node}.{reason}`, or `node.reason`.
fn reason_of(world: &World, text: &str) -> Result<u32, Error> {
    let braced = text.trim().strip_prefix('{').and_then(|t| t.strip_suffix('}')?.split_once("}.{"));
    let Some((node, name)) = braced.or_else(|| text.trim().rsplit_once('.')) else {
        return Err(Error::parse(format!(
            "`{text}': expected a node and a reason, as in {{ip4-input}}.{{time_expired}}"
        ))
        .retval(retval::INVALID_VALUE));
    };
    let all = world.reasons();
    let found = all.iter().position(|r| *r.node == *node && r.reason == name);
    found.map(|index| index as u32).ok_or_else(|| {
        let own = all.iter().filter(|r| *r.node == *node).map(|r| r.reason.to_string());
        let error = Error::not_found(format!("{node} drops nothing for the reason `{name}'"));
        error.near(name, own).retval(retval::NO_SUCH_ENTRY)
    })
}

/// Starts a capture, and says where it goes. No interface is any interface; `reason` chooses among dropped packets.
///
/// # Errors
/// No direction, or limits that can't be; a reason that there is none of; one that runs already; an interface that brings nothing in that could be captured; an expression that can't be compiled; a
/// file that exists or can't be made.
pub fn start(
    world: &World,
    on: Directions,
    interface: Option<SwIfIndex>,
    limits: Limits,
    filter: Option<Expression>,
    reason: Option<&str>,
    file: Option<&str>,
) -> Result<String, Error> {
    if !on.any() {
        return Err(Error::usage("choose rx, tx or drop, or several of them; or off, or status")
            .retval(retval::INVALID_VALUE));
    }
    if !BYTES.contains(&limits.bytes) {
        let error = format!("{} bytes of a packet: {} to {}", limits.bytes, BYTES.start(), BYTES.end());
        return Err(Error::limit(error).retval(retval::INVALID_MEMORY_SIZE));
    }
    if reason.is_some() && !on.drop {
        return Err(Error::usage("a reason chooses among dropped packets: capture `drop'")
            .retval(retval::INVALID_VALUE));
    }
    let chosen = reason.map(|reason| reason_of(world, reason)).transpose()?;
    let captures: Arc<Captures> = world.get();
    let mut inner = captures.inner();
    if let Some(running) = &inner.running {
        let error = Error::failed(format!("a capture runs already, to {}", running.path.display()));
        return Err(error.hint("`pcap trace off' ends it").retval(retval::INVALID_VALUE));
    }
    let interfaces: Arc<Interfaces> = world.get();
    if let (Some(i), true, false) = (interface, on.rx, on.tx || on.drop)
        && interfaces.get(i)?.kind == IfKind::Ip
    {
        let name = interfaces.name(i);
        return Err(Error::unsupported(format!(
            "{name} brings packets in without Ethernet header; capture tx or drop"
        )));
    }
    let mut filters = Vec::new();
    for _ in 0..world.threads() {
        filters.push(filter.as_ref().map(Expression::compile).transpose()?);
    }
    let path = place(on, file)?;
    let time_of_day = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let epoch = time_of_day.saturating_sub(Duration::from_nanos(world.clock.now()));
    let writer = Writer::create(&path, limits.bytes, epoch).map_err(|e| {
        Error::failed(format!("{}: {e}", path.display())).retval(retval::CANNOT_CREATE_PCAP_FILE)
    })?;

    let meter = Arc::new(Meter::default());
    meter.left.store(limits.packets, Ordering::Relaxed);
    let bytes = limits.packets.saturating_mul((chunk::HEADER + limits.bytes) as u64);
    let chunks = ((bytes / chunk::SIZE as u64).min(1000) as usize + 2).clamp(*CHUNKS.start(), *CHUNKS.end());
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
            reason: chosen,
            meter,
            signal,
        };
        world.on_thread(ThreadIndex(thread as u16), move |rt| {
            if let Some(node) = rt.node_mut::<Capture>(node) {
                node.tap = Some(Box::new(tap));
            }
        });
    }
    let said = format!("Capturing to {}", path.display());
    let (names, reason) = (HashMap::new(), reason.map(String::from));
    let mut running =
        Running { on, interface, limits, reason, path, names, writer, pipes, meter, ending: None };
    for i in interfaces.list().iter().filter(|i| interface.is_none_or(|only| only == i.sw_if)) {
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
pub fn stop(world: &World) -> Result<Ended, Error> {
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
    Ok(Ended { captures, wake: None })
}

impl Running {
    /// Puts the node on the arcs of an interface, or takes it away.
    fn hook(&mut self, world: &World, interface: SwIfIndex, there: bool) -> Result<(), Error> {
        if there {
            self.names.insert(interface, world.get::<Interfaces>().name(interface));
        }
        for (arc, direction) in self.on.arcs() {
            let config = there.then_some(direction as u32);
            world.set_feature(arc, NODE, interface, config).map_err(Error::failed)?;
        }
        Ok(())
    }

    /// Takes the node from all arcs, and asks the threads for what they have.
    fn end(&mut self, world: &World) {
        if self.ending.is_some() {
            return;
        }
        for i in world.get::<Interfaces>().list() {
            // It was put there.
            let _ = self.hook(world, i.sw_if, false);
        }
        let node = world.node(NODE).unwrap_or_default();
        self.ending =
            Some(world.ask(move |rt| rt.node_mut::<Capture>(node).and_then(|node| node.tap.take())));
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
        let (interfaces, reasons) = (world.get::<Interfaces>(), world.reasons());
        let names = &self.names;
        let name = |i| names.get(&i).cloned().unwrap_or_else(|| interfaces.name(i));
        for (header, bytes) in packets {
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
        let lost = self.meter.lost.load(Ordering::Relaxed);
        Summary { path: self.path.clone(), written: self.writer.written, lost, error }
    }
}

impl std::fmt::Display for Summary {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} packets in {}", self.written, self.path.display())?;
        if self.lost > 0 {
            write!(f, ", {} lost: they came faster than they were written", self.lost)?;
        }
        self.error.as_ref().map_or(Ok(()), |e| write!(f, ", ended by: {e}"))
    }
}

impl Summary {
    fn json(&self) -> Value {
        json!({ "file": self.path, "packets": self.written, "lost": self.lost, "error": self.error })
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

/// What runs, or what ran last.
pub fn status(world: &World) -> Output {
    let captures: Arc<Captures> = world.get();
    let inner = captures.inner();
    let last = inner.last.as_ref().map(Summary::json);
    let Some(running) = &inner.running else {
        let text = inner.last.as_ref().map_or(String::new(), |last| format!("last: {last}\n"));
        return Output::both(format!("No capture runs\n{text}"), json!({ "running": null, "last": last }));
    };
    let left = running.meter.left.load(Ordering::Relaxed);
    let (max, captured) = (running.limits.packets, running.limits.packets - left.min(running.limits.packets));
    let interface = running.interface.map_or("any".to_string(), |i| world.get::<Interfaces>().name(i));
    let (words, lost) = (running.on.words(), running.meter.lost.load(Ordering::Relaxed));
    let text = format!(
        "Capturing {}{} of {interface} to {}: {captured} of {max} packets, {} bytes of each, {lost} lost\n",
        words.join(" "),
        running.reason.as_ref().map_or(String::new(), |reason| format!(" by {reason}")),
        running.path.display(),
        running.limits.bytes,
    );
    let json = json!({
        "directions": words,
        "error": running.reason,
        "interface": interface,
        "file": running.path,
        "packets": captured,
        "max": max,
        "bytes": running.limits.bytes,
        "lost": lost,
    });
    Output::both(text, json!({ "running": json, "last": last }))
}
