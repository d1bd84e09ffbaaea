// SPDX-License-Identifier: Apache-2.0
//! `pg-input`: brings the packets of streams in.

use crate::state::Shared;
use crate::stream::{Source, Stream};
use buffer::{Buffer, DATA_SIZE, FRAME_SIZE, Frame};
use graph::{ArcIndex, Build, Cx, Input, Next, NodeIndex, Signal, ThreadIndex, World};
use net::{IfFlags, IfLanes, Interfaces, is_group};
use std::sync::Arc;
use std::sync::atomic::Ordering;

pub struct PgInput {
    streams: Vec<Running>,
    lanes: Arc<IfLanes>,
    device_input: Option<ArcIndex>,
    shared: Arc<Shared>,
    signal: Signal,
    frame: Box<Frame>,
    scratch: Vec<u8>,
    interfaces: Arc<Interfaces>,
    /// For the packets of a frame that [`retain`] keeps.
    kept: Box<Frame>,
}

struct Running {
    stream: Arc<Stream>,
    /// Time of its start, on the instance's clock; 0 before the first turn.
    start: u64,
    sent: u64,
    /// Due while the queue was full.
    lost: u64,
    /// The packet, if all are the same.
    same: Option<Vec<u8>>,
}

#[derive(Next, Clone, Copy)]
pub enum To {
    #[dynamic]
    Node(NodeIndex),
    /// MAC filter: frame is for another host.
    #[count]
    Filtered,
}

impl Build for PgInput {
    fn build(world: &World, thread: ThreadIndex) -> Self {
        let shared: Arc<Shared> = world.get();
        Self {
            streams: Vec::new(),
            lanes: IfLanes::of(world, thread),
            device_input: world.arc("device-input"),
            signal: shared.signal.clone(),
            shared,
            frame: Frame::new(world.pool),
            scratch: Vec::with_capacity(65_536),
            interfaces: world.get(),
            kept: Frame::new(world.pool),
        }
    }
}

impl PgInput {
    /// Runs a stream from now on.
    pub fn add(&mut self, stream: Arc<Stream>) {
        self.remove(&stream);
        let same = match &stream.spec.source {
            Source::Template(t)
                if t.edits.is_empty() && stream.spec.size.0 == stream.spec.size.1 =>
            {
                let mut bytes = Vec::new();
                t.write(0, stream.spec.size.0, &mut || 0, &mut bytes);
                Some(bytes)
            }
            _ => None,
        };
        self.streams.push(Running { stream, start: 0, sent: 0, lost: 0, same });
    }

    /// Returns true if no stream runs.
    pub fn is_idle(&self) -> bool {
        self.streams.is_empty()
    }

    /// Runs it no longer.
    pub fn remove(&mut self, stream: &Arc<Stream>) {
        self.streams.retain(|r| !Arc::ptr_eq(&r.stream, stream));
    }
}

impl Running {
    /// Returns the number of packets that are due.
    fn due(&mut self, now: u64) -> usize {
        let spec = &self.stream.spec;
        let mut n = spec.max_frame.min(FRAME_SIZE) as u64;
        if spec.rate > 0.0 {
            if self.start == 0 {
                self.start = now;
            }
            let mut came = ((now - self.start) as f64 * spec.rate / 1e9) as u64 + 1;
            if spec.limit > 0 {
                came = came.min(spec.limit);
            }
            let waiting = came.saturating_sub(self.sent + self.lost);
            let lost = if spec.queue > 0 { waiting.saturating_sub(spec.queue) } else { 0 };
            self.lost += lost;
            n = n.min(waiting - lost);
        }
        if spec.limit > 0 {
            n = n.min(spec.limit - self.sent - self.lost);
        }
        n as usize
    }

    fn is_done(&self) -> bool {
        !self.stream.enabled.load(Ordering::Relaxed)
            || (self.stream.spec.limit > 0 && self.sent + self.lost >= self.stream.spec.limit)
    }
}

/// Packet number `n` of the stream.
fn packet<'a>(
    running: &'a Running,
    n: u64,
    scratch: &'a mut Vec<u8>,
    random: &mut impl FnMut() -> u64,
) -> &'a [u8] {
    if let Some(same) = &running.same {
        return same;
    }
    match &running.stream.spec.source {
        Source::Packets(all) => all.send((n % all.len() as u64) as usize),
        Source::Template(template) => {
            let (low, high) = running.stream.spec.size;
            template.write(n, low + (n % (high - low + 1) as u64) as usize, random, scratch);
            scratch
        }
    }
}

impl Input for PgInput {
    const NAME: &'static str = "pg-input";
    type Next = To;

    fn poll(&mut self, cx: &mut Cx<'_, false>) -> usize {
        let mut total = 0;
        let mut ended = false;
        for at in 0..self.streams.len() {
            if self.streams[at].is_done() {
                // Everything that it sent has left the graph: that was an earlier turn.
                self.streams[at].stream.enabled.store(false, Ordering::Release);
                ended = true;
                continue;
            }
            if self.shared.backlog.is_long() {
                // The writer of a capture is behind.
                continue;
            }
            let running = &mut self.streams[at];
            let before = running.lost;
            let n = running.due(cx.now());
            if running.lost > before {
                self.lanes.rx_miss.add(running.stream.spec.interface.at(), running.lost - before);
                running.stream.lost.store(running.lost, Ordering::Relaxed);
            }
            if n > 0 {
                total += self.send(at, n, cx);
            }
        }
        if ended {
            self.streams.retain(|r| r.stream.enabled.load(Ordering::Relaxed));
            self.signal.raise();
        }
        total
    }
}

impl PgInput {
    fn send(&mut self, at: usize, n: usize, cx: &mut Cx<'_, false>) -> usize {
        let Self { streams, frame, scratch, lanes, device_input, interfaces, kept, .. } = self;
        let running = &mut streams[at];
        let spec = &running.stream.spec;
        let got = cx.alloc_frame(frame, n);
        if got < n {
            lanes.rx_no_buf.add(spec.interface.at(), (n - got) as u64);
        }
        let (sent, interface) = (running.sent, spec.interface.0);
        let (mut empty, marks, ip, tx) = (0, spec.marks, spec.ip, spec.tx);
        for (i, b) in frame.iter_mut().enumerate() {
            let bytes = packet(running, sent + i as u64, scratch, &mut || cx.random());
            b.rx_if = interface;
            if let Some(tx) = tx {
                b.tx_if = tx.0;
            }
            if bytes.len() <= DATA_SIZE {
                b.fresh_area()[..bytes.len()].copy_from_slice(bytes);
                b.set_len(bytes.len());
            } else {
                // More than one buffer: the others are allocated for each packet, which is slower
                // than for a frame.
                empty += u64::from(!b.append_bytes(bytes, cx.cache()));
            }
            if marks.any() {
                marks.note(b, ip);
            }
        }
        if empty > 0 {
            lanes.rx_no_buf.add(spec.interface.at(), empty);
            retain(frame, kept, cx, |b| b.packet_len() > 0);
        }
        if spec.from_device && running.stream.filter.load(Ordering::Relaxed) {
            // A device takes frames for its own address and for groups; all of them if it is
            // promiscuous.
            let view = interfaces.views(cx.turn).get(spec.interface.at()).unwrap_or_default();
            let is_taken = |b: &Buffer| is_group(b) || b.data().starts_with(&view.mac.0);
            if !view.flags.contains(IfFlags::PROMISCUOUS) {
                let others = retain(frame, kept, cx, is_taken);
                cx.count(To::Filtered, others);
            }
        }
        let bytes = frame.iter().map(|b| b.packet_len() as u64).sum();
        let (at, total) = (spec.interface.at(), (frame.len() as u64, bytes));
        if spec.from_device && frame.iter().fold(false, |any, b| any | is_group(b)) {
            lanes.rx.groups(at, total, frame.iter());
        } else {
            lanes.rx.unicast(at, total.0, total.1);
        }

        running.sent += got as u64;
        running.stream.sent.store(running.sent, Ordering::Relaxed);
        match device_input {
            Some(arc) if spec.from_device => {
                cx.emit_frame_on(*arc, spec.interface, To::Node(spec.node), frame)
            }
            _ => cx.emit_frame(To::Node(spec.node), frame),
        }
        got
    }
}

/// Frees the packets of a frame that aren't kept; returns how many. `kept` is empty, before and
/// after.
#[cold]
fn retain(
    frame: &mut Box<Frame>,
    kept: &mut Box<Frame>,
    cx: &mut Cx<'_, false>,
    keep: impl Fn(&Buffer) -> bool,
) -> u64 {
    let mut gone = 0;
    for b in frame.drain() {
        if keep(&b) {
            // As many as were in a frame find room in one.
            let pushed = kept.push(b);
            debug_assert!(pushed.is_ok());
        } else {
            cx.free(b);
            gone += 1;
        }
    }
    std::mem::swap(frame, kept);
    gone
}
