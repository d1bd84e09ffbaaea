// SPDX-License-Identifier: Apache-2.0
//! `pcap-capture`: copies packets that pass, on each arc where it is enabled.

use super::chunk::{Chunk, Direction, Header};
use super::function::Test;
use buffer::Buffer;
use graph::{Build, Configured, Cx, Next, Node, Signal, SwIfIndex, ThreadIndex, World};
use net::{IfFlags, Interfaces, Tagged};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use sync::spsc::{Consumer, Producer};
use zerocopy::{Immutable, IntoBytes, TryFromBytes};

/// State that all threads of a capture share.
#[derive(Debug, Default)]
pub struct Meter {
    /// Packets still wanted.
    pub left: AtomicU64,
    /// Packets that found no memory.
    pub lost: AtomicU64,
}

impl Meter {
    /// Claims one of the packets still wanted.
    fn claim(&self) -> bool {
        self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| n.checked_sub(1)).is_ok()
    }
}

/// One thread's part of a running capture.
pub struct Tap {
    /// To the writer.
    pub full: Producer<Chunk>,
    /// Back from the writer.
    pub empty: Consumer<Chunk>,
    /// Being filled.
    pub chunk: Chunk,
    pub bytes: usize,
    pub filter: Option<Test>,
    /// Of dropped packets, only those that were dropped for this reason.
    pub reason: Option<u32>,
    /// The interface whose packets are captured; 0 for all.
    pub interface: u32,
    pub meter: Arc<Meter>,
    pub signal: Signal,
}

impl Tap {
    /// Makes room for a packet: hands the chunk over, and goes on with an empty one.
    fn turn_over(&mut self) -> bool {
        let Some(empty) = self.empty.pop() else { return false };
        // The ring holds all chunks there are.
        let sent = self.full.push(std::mem::replace(&mut self.chunk, empty)).is_ok();
        self.signal.raise();
        sent
    }

    /// Sends a packet to the writer, if one is still wanted.
    pub fn take<'a>(&mut self, header: Header, segments: impl Iterator<Item = &'a [u8]>) {
        if !self.meter.claim() {
            return;
        }
        if self.chunk.has_room(header.kept as usize) || self.turn_over() {
            self.chunk.push(header, segments);
        } else {
            self.meter.left.fetch_add(1, Ordering::Relaxed);
            self.meter.lost.fetch_add(1, Ordering::Relaxed);
        }
        if self.meter.left.load(Ordering::Relaxed) == 0 {
            self.signal.raise();
        }
    }
}

/// The kind of arc on which packets are captured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, TryFromBytes, IntoBytes, Immutable)]
#[repr(u8)]
pub enum Point {
    /// Packets come in, with an Ethernet header unless the interface has none.
    #[default]
    Received = 0,
    /// IP packets come out of a tunnel, also of one whose interface takes Ethernet frames.
    ReceivedIp = 1,
    /// Frames come in by the parent of a sub-interface, among them those that are for it.
    ReceivedTagged = 4,
    /// Packets leave.
    Sent = 2,
    /// Packets are dropped.
    Dropped = 3,
}

/// Configuration of the node on an arc of an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, TryFromBytes, IntoBytes, Immutable)]
#[repr(C)]
pub struct Place {
    /// The kind of arc.
    pub point: Point,
    /// The slot of the capture.
    pub slot: u8,
}

impl Point {
    fn direction(self) -> Direction {
        match self {
            Self::Received | Self::ReceivedIp | Self::ReceivedTagged => Direction::Rx,
            Self::Sent => Direction::Tx,
            Self::Dropped => Direction::Drop,
        }
    }
}

/// Captures that may run at a time: each has directions that no other has.
pub const SLOTS: usize = 3;

/// The node: on an arc as long as a capture runs there.
pub struct Capture {
    /// The running captures' parts on this thread.
    pub taps: [Option<Box<Tap>>; SLOTS],
    interfaces: Arc<Interfaces>,
}

#[derive(Next, Clone, Copy)]
pub enum CaptureTo {
    #[next_feature]
    Continue,
}

impl Build for Capture {
    fn build(world: &World, _: ThreadIndex) -> Self {
        Self { taps: Default::default(), interfaces: world.get() }
    }
}

/// Returns true if packets still have the Ethernet header in front where this node drops them.
fn sees_ethernet(node: &str) -> bool {
    let layer2 = ["ethernet-", "l2-", "bond-", "lacp-", "span-", "bvi-"];
    layer2.iter().any(|prefix| node.starts_with(prefix))
        || node.ends_with("-output")
        || node.ends_with("-tx")
}

impl Capture {
    #[cold]
    #[inline(never)]
    fn capture<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &Cx<'_, TRACED>) {
        let Place { point, slot } = cx.feature_config::<Self>(b);
        let Some(Some(tap)) = self.taps.get_mut(usize::from(slot)) else { return };
        let direction = point.direction();
        if direction == Direction::Drop && tap.reason.is_some_and(|reason| reason != b.error()) {
            return;
        }
        let mut interface = if direction == Direction::Tx { b.tx_if } else { b.rx_if };
        if point == Point::ReceivedTagged {
            let sub = Tagged::of(b)
                .and_then(|tagged| self.interfaces.sub_of(interface, tagged.tags, cx.turn));
            if sub != Some(tap.interface) {
                return;
            }
            interface = tap.interface;
        }
        let view = self.interfaces.views(cx.turn).get(interface as usize);
        let mut ip =
            point == Point::ReceivedIp || view.is_some_and(|v| v.flags.contains(IfFlags::IP_MODE));
        // Nodes behind ethernet-input see packets from the IP header on; the Ethernet header is
        // still in front of it in the buffer.
        let mut uncovered = 0;
        if direction == Direction::Drop && !ip {
            let node = cx.reason(b.error()).map_or("", |reason| &*reason.node);
            match b.l2_len() {
                // Where packets leave, the next Ethernet header stands in front already.
                _ if sees_ethernet(node) || b.l3_at() > 0 => {}
                n @ 14..=64 if b.rewind(n) => uncovered = n,
                _ => ip = matches!(b.data().first().map(|byte| byte >> 4), Some(4 | 6)),
            }
        }
        if tap.filter.as_ref().is_none_or(|f| f.accepts(b, ip, cx.turn)) {
            let length = b.packet_len();
            let header = Header {
                time: cx.now(),
                interface: SwIfIndex(interface),
                direction,
                ip,
                traced: false,
                at: if direction == Direction::Drop { b.error() } else { 0 },
                length: length as u32,
                kept: length.min(tap.bytes) as u32,
            };
            tap.take(header, b.segments());
        }
        if uncovered > 0 {
            let covered = b.pull(uncovered);
            debug_assert!(covered, "it was just uncovered");
        }
    }
}

impl Configured for Capture {
    type Config = Place;
}

impl Node for Capture {
    const NAME: &'static str = "pcap-capture";
    type Next = CaptureTo;
    type Trace = ();

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> CaptureTo {
        self.capture(b, cx);
        CaptureTo::Continue
    }

    /// Once a second, hands over a chunk that isn't full, so that the file is not far behind.
    fn tick(&mut self, _: &mut Cx<'_, false>) {
        for tap in self.taps.iter_mut().flatten().filter(|tap| !tap.chunk.is_empty()) {
            // Without an empty chunk to go on with, it is handed over when it is full.
            let _ = tap.turn_over();
        }
    }
}
