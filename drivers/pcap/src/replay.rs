// SPDX-License-Identifier: Apache-2.0
//! Replays: a thread of its own reads the file ahead into a bounded window of chunks; the thread
//! that polls the interface takes packets from there when they are due, without a system call.

use crate::format::{Link, Reader};
use buffer::MAX_PACKET;
use graph::Signal;
use std::fs::File;
use std::io::{self, BufReader};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use sync::spsc::{Consumer, Producer, ring};

/// Bytes of a chunk. Chunks hold the longest packet.
const CHUNK: usize = 256 << 10;
/// Packets of a chunk at most.
const PACKETS: usize = 2048;
/// Chunks of a window: 2 MiB.
const WINDOW: usize = 8;
const _: () = assert!(MAX_PACKET <= CHUNK);
/// The reader looks for room this often.
const WAIT: Duration = Duration::from_micros(200);

/// Times at which packets are due.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Pace {
    /// As far from the first packet as their time stamps.
    Timestamps,
    /// So many a second.
    Rate(f64),
    /// At once.
    FullSpeed,
}

/// The parameters of a replay.
#[derive(Clone, PartialEq, Debug)]
pub struct Plan {
    /// The file.
    pub path: PathBuf,
    /// Speed.
    pub pace: Pace,
    /// Number of passes over the file; `None` without end.
    pub times: Option<u64>,
    /// The header that packets of the interface begin with.
    pub link: Link,
}

/// Packets, one behind the other.
pub struct Chunk {
    bytes: Vec<u8>,
    /// Of each packet the time at which it is due, in nanoseconds behind the first one, and its
    /// length.
    packets: Vec<(u64, u32)>,
    /// Nothing follows.
    pub last: bool,
}

impl Chunk {
    fn new() -> Self {
        Self { bytes: Vec::with_capacity(CHUNK), packets: Vec::with_capacity(PACKETS), last: false }
    }

    fn has_room(&self, len: usize) -> bool {
        self.bytes.len() + len <= CHUNK && self.packets.len() < PACKETS
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.packets.clear();
    }

    fn push(&mut self, due: u64, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        self.packets.push((due, bytes.len() as u32));
    }

    /// Packet number `n`, whose bytes begin at `at`: when it is due, and its bytes.
    #[inline(always)]
    pub fn packet(&self, n: usize, at: usize) -> Option<(u64, &[u8])> {
        let (due, len) = *self.packets.get(n)?;
        Some((due, self.bytes.get(at..at + len as usize)?))
    }
}

/// State of a replay that the reader, the polling thread and control share.
pub struct Progress {
    /// The reader is to end.
    pub stop: AtomicBool,
    /// The polling thread has taken the last packet.
    pub done: AtomicBool,
    /// Packets that were read from the file, in all passes.
    pub read: AtomicU64,
    /// Passes that are complete.
    pub passes: AtomicU64,
    /// Packets of another link type, without bytes, or longer than a chain of buffers.
    pub skipped: AtomicU64,
    /// The reason why the file wasn't read to its end.
    pub failure: Mutex<Option<String>>,
    /// Wakes control when it is done.
    pub signal: Signal,
}

impl Progress {
    /// The reason why the file wasn't read to its end.
    pub fn failed(&self) -> Option<String> {
        self.failure.lock().expect("no panic inside").clone()
    }
}

/// The polling thread's ends of the window.
pub struct Ends {
    pub full: Consumer<Chunk>,
    pub empty: Producer<Chunk>,
}

/// Starts to read a file.
///
/// # Errors
/// The system's: no thread.
pub fn start(plan: Plan, signal: Signal) -> io::Result<(Arc<Progress>, Ends)> {
    let (full, chunks) = ring(WINDOW);
    let (mut empties, empty) = ring(WINDOW);
    for _ in 0..WINDOW {
        // As many as there is room for.
        let _ = empties.push(Chunk::new());
    }
    let progress = Arc::new(Progress {
        stop: AtomicBool::new(false),
        done: AtomicBool::new(false),
        read: AtomicU64::new(0),
        passes: AtomicU64::new(0),
        skipped: AtomicU64::new(0),
        failure: Mutex::new(None),
        signal,
    });
    let shared = progress.clone();
    std::thread::Builder::new().name("ferrovia_pcap_r".into()).spawn(move || {
        let mut window = Window { full, empty, chunk: Chunk::new(), progress: &shared };
        if let Err(error) = read(&plan, &mut window) {
            let text = format!("{}: {error}", plan.path.display());
            *shared.failure.lock().expect("no panic inside") = Some(text);
        }
        window.end();
    })?;
    Ok((progress, Ends { full: chunks, empty: empties }))
}

/// The reader's ends.
struct Window<'a> {
    full: Producer<Chunk>,
    empty: Consumer<Chunk>,
    chunk: Chunk,
    progress: &'a Progress,
}

impl Window<'_> {
    fn is_stopped(&self) -> bool {
        self.progress.stop.load(Ordering::Relaxed) || self.full.is_closed()
    }

    /// Hands the chunk over, and takes an empty one. Returns false if the reader is to end.
    fn next_chunk(&mut self) -> bool {
        let empty = loop {
            if self.is_stopped() {
                return false;
            }
            match self.empty.pop() {
                Some(empty) => break empty,
                None => std::thread::sleep(WAIT),
            }
        };
        let mut full = std::mem::replace(&mut self.chunk, empty);
        self.chunk.clear();
        while let Err(back) = self.full.push(full) {
            if self.is_stopped() {
                return false;
            }
            full = back;
            std::thread::sleep(WAIT);
        }
        true
    }

    fn end(&mut self) {
        self.chunk.last = true;
        self.next_chunk();
    }
}

/// Opens a regular file.
///
/// # Errors
/// The system's; a file of another kind, or no capture.
pub fn open(path: &std::path::Path) -> io::Result<Reader<BufReader<File>>> {
    Reader::new(BufReader::with_capacity(1 << 20, cli::open_regular(path)?))
}

/// Reads the file, as often as the plan says.
fn read(plan: &Plan, window: &mut Window<'_>) -> io::Result<()> {
    let progress = window.progress;
    let (mut base, mut sent) = (0u64, 0u64);
    for _ in 0..plan.times.unwrap_or(u64::MAX) {
        let mut reader = open(&plan.path)?;
        let (mut first, mut latest) = (None, 0);
        let before = sent;
        while let Some(packet) = reader.next_packet()? {
            progress.read.fetch_add(1, Ordering::Relaxed);
            let len = packet.bytes.len();
            if packet.link != plan.link || len == 0 || len > MAX_PACKET {
                progress.skipped.fetch_add(1, Ordering::Relaxed);
                continue;
            }
            // A clock that was set back holds no packet up.
            latest = packet.time.saturating_sub(*first.get_or_insert(packet.time)).max(latest);
            let due = match plan.pace {
                Pace::Timestamps => base.saturating_add(latest),
                // At most 584 years.
                Pace::Rate(rate) => (sent as f64 * 1e9 / rate) as u64,
                Pace::FullSpeed => 0,
            };
            if !window.chunk.has_room(len) && !window.next_chunk() {
                return Ok(());
            }
            window.chunk.push(due, packet.bytes);
            sent += 1;
        }
        progress.passes.fetch_add(1, Ordering::Relaxed);
        if sent == before {
            let text = "holds no packet for this interface";
            return Err(io::Error::new(io::ErrorKind::InvalidData, text));
        }
        // The next pass begins with the last packet of this one.
        base = base.saturating_add(latest);
        if window.is_stopped() {
            return Ok(());
        }
    }
    Ok(())
}
