// SPDX-License-Identifier: Apache-2.0
//! The transmit node of an interface: on each thread it has a queue of its own.
//!
//! Packets are lent to the device for one call, which takes the whole vector: nothing is copied
//! here, and no packet is freed while the device still reads it. A device that reads buffers later
//! takes them over ([`TxQueue::OWNS`], `given.rs`).

use crate::feed::{Feed, SegmentFeed};
use crate::given::Given;
use crate::offload::{self, TxOffloads};
use crate::segment_queue::SegmentQueue;
use crate::software::finish_checksum;
use buffer::{Buffer, Cache, FRAME_SIZE, Flags, Owned};
use graph::{Cx, Next, Node, SwIfIndex, Trace, Vector};
use net::IfLanes;
use simd::Isa;
use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use wire::gso::MAX_HEADERS;
use wire::offload::{Csum, Offload};

mod queues;

pub use queues::TxQueues;

/// The reason why a device didn't send a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Loss {
    /// Its queue is full.
    Full,
    /// It is down or gone.
    Down,
    /// The frame is longer than it takes.
    TooLong,
    /// It finds the frame malformed, or dropped it for a reason of its own.
    Refused,
}

/// State of a queue that takes buffers over, after a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Handed {
    /// Number of buffers that the device has.
    pub lent: usize,
    /// True if it has to be called again soon, with or without packets.
    pub again: bool,
    /// The reason why packets weren't taken.
    pub loss: Loss,
}

/// A device's transmit queue. It copies what it sends ([`Self::send`]), or takes buffers over
/// ([`Self::hand_over`]).
pub trait TxQueue: Send + 'static {
    /// The node's name in declarations; in the graph it is `INTERFACE-tx`.
    const NODE: &'static str;

    /// Sends at most [`FRAME_SIZE`] frames, each in pieces, with what is left to do for it. `lost`
    /// gets the number of each frame, in their order, that wasn't sent. Never waits. A queue that
    /// [owns](Self::OWNS) buffers isn't asked.
    fn send<'d, P: Iterator<Item = &'d [u8]>>(
        &mut self,
        frames: impl Iterator<Item = (Offload, P)>,
        mut lost: impl FnMut(usize, Loss),
    ) {
        frames.enumerate().for_each(|(i, _)| lost(i, Loss::Refused));
    }

    /// True if it takes buffers over. Such a device does no [offload](TxOffloads) and gets packets
    /// as they go on the wire.
    const OWNS: bool = false;

    /// Maximum number of segments of a packet that it takes over; no segment is shared.
    fn most_segments(&self) -> usize {
        1
    }

    /// Frees the buffers that the device is done with, moves packets from the front of `packets` to
    /// the device, and starts it. Packets that stay are dropped. Never waits; called without
    /// packets too, about once a second.
    fn hand_over(&mut self, packets: &mut VecDeque<Owned>, cache: &mut Cache) -> Handed {
        let _ = (packets, cache);
        Handed { lent: 0, again: false, loss: Loss::Refused }
    }
}

/// The outcome of a packet at the transmit node.
#[derive(Next, Clone, Copy, PartialEq, Eq, Debug)]
pub enum TxTo {
    /// The device has it.
    #[free]
    Sent,
    /// It waits to be cut into segments, or behind one that does.
    #[keep]
    Wait,
    /// The device takes its buffers over.
    #[keep]
    Given,
    /// no free tx slots.
    #[drop]
    QueueFull,
    /// link is down.
    #[drop]
    LinkDown,
    /// frame is longer than the link takes.
    #[drop]
    TooLong,
    /// refused by the device.
    #[drop]
    Refused,
    /// checksum or segmentation can't be done for it.
    #[drop]
    BadOffload,
    /// too much waits to be cut into segments.
    #[drop]
    TooMuchToCut,
    /// no buffer for a copy that the device can take.
    #[drop]
    NoBuffer,
    /// device is closed.
    #[drop]
    Closed,
    /// thread has no transmit queue.
    #[drop]
    NoQueue,
}

impl From<Loss> for TxTo {
    fn from(loss: Loss) -> Self {
        match loss {
            Loss::Full => Self::QueueFull,
            Loss::Down => Self::LinkDown,
            Loss::TooLong => Self::TooLong,
            Loss::Refused => Self::Refused,
        }
    }
}

/// Trace record of a transmitted packet.
#[derive(Clone, Copy)]
pub struct TxTrace {
    sw_if: u32,
    len: u32,
    offload: Offload,
    to: TxTo,
}

impl Trace for TxTrace {
    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sw_if_index {} length {}", self.sw_if, self.len)?;
        if let Csum::Partial { start, offset } = self.offload.csum {
            write!(f, " checksum to be completed at {start}+{offset}")?;
        }
        if let Some(gso) = self.offload.gso {
            write!(f, " to be segmented: {:?} {}", gso.kind, gso.size)?;
        }
        match self.to {
            TxTo::Sent => Ok(()),
            TxTo::Wait => f.write_str(" waits for segmentation"),
            TxTo::Given => f.write_str(" given to the device"),
            to => write!(f, " not sent: {to:?}"),
        }
    }
}

/// Maximum number of frames sent per turn from packets that wait to be cut into segments.
const BUDGET: usize = 2 * FRAME_SIZE;

/// Memory for the headers of the segments of one call.
type Headers = [[u8; MAX_HEADERS]];

/// Sends packets by a queue of the device.
pub struct Tx<Q> {
    sw_if: SwIfIndex,
    /// Packets begin with an IP header.
    ip: bool,
    tx_offloads: TxOffloads,
    lanes: Arc<IfLanes>,
    headers: Box<Headers>,
    hold: SegmentQueue,
    given: Given,
    queue: Option<Q>,
    /// Without a queue because it was moved to another thread.
    moved: bool,
}

impl<Q: TxQueue> Tx<Q> {
    /// The outcome of packets while there is no queue.
    fn absent(&self) -> TxTo {
        if self.moved { TxTo::NoQueue } else { TxTo::Closed }
    }

    /// Completes a pending checksum if the device doesn't do that. Returns false if it can't be
    /// done.
    #[inline(always)]
    fn prepare(&self, b: &mut Buffer) -> bool {
        // Cutting into segments, later, computes every checksum.
        let undone = b.flags.contains(Flags::CSUM_PARTIAL) && !b.flags.contains(Flags::GSO);
        !undone || self.tx_offloads.csum || finish_checksum(b)
    }

    /// Returns true if packets may have to wait: super-packets if the device doesn't cut them, or,
    /// if it didn't until now, packets behind others that still wait.
    #[inline(always)]
    fn cuts(&self) -> bool {
        self.queue.is_some() && !(self.tx_offloads.udp_gso && self.hold.is_idle())
    }

    /// Sends packets and stores the outcome of each. Packets with an outcome other than `Sent` are
    /// skipped.
    #[inline(always)]
    fn send<'a>(
        &mut self,
        n: usize,
        packet: impl Fn(usize) -> &'a Buffer,
        fates: &mut [TxTo; FRAME_SIZE],
    ) {
        match &mut self.queue {
            None => {
                let absent = self.absent();
                fates[..n].fill(absent);
            }
            Some(queue) => {
                let mut feed =
                    Feed { packet: &packet, n, next: 0, fates, owners: [0; FRAME_SIZE], frames: 0 };
                let (mut losses, mut any) = ([None; FRAME_SIZE], false);
                queue.send(&mut feed, |frame, loss| {
                    if let Some(entry) = losses.get_mut(frame) {
                        (*entry, any) = (Some(loss), true);
                    }
                });
                if any {
                    feed.lose(&losses);
                }
            }
        }
        self.count_errors(&fates[..n]);
    }

    #[inline(always)]
    fn count_errors(&self, fates: &[TxTo]) {
        let fine = |fate: &TxTo| matches!(fate, TxTo::Sent | TxTo::Wait | TxTo::Given);
        let errors = fates.iter().filter(|fate| !fine(fate)).count();
        if errors > 0 {
            self.lanes.tx_error.add(self.sw_if.at(), errors as u64);
        }
    }

    /// Sends packets that wait, at most [`BUDGET`] frames.
    fn drain(&mut self, cx: &mut Cx<'_, false>) {
        let mut left = BUDGET;
        while left > 0 && !self.hold.queue.is_empty() {
            left -= self.drain_once(left.min(FRAME_SIZE), cx);
        }
        if !self.hold.queue.is_empty() {
            cx.again();
        }
    }

    /// Sends packets that wait by one call of the device; returns the number of its frames, at
    /// least 1.
    fn drain_once(&mut self, max: usize, cx: &mut Cx<'_, false>) -> usize {
        let most = self.queue.as_ref().map_or(1, TxQueue::most_segments);
        let Some(queue) = &mut self.queue else {
            self.let_go(1, Some(self.absent()), cx);
            return 1;
        };
        let (mut losses, mut any) = ([None; FRAME_SIZE], false);
        let mut feed = SegmentFeed {
            hold: &self.hold,
            headers: self.headers.iter_mut().take(max),
            entry: 0,
            next: self.hold.queue.front().map_or(0, |held| held.next),
            cut: None,
            owners: [0; FRAME_SIZE],
            frames: 0,
            ip: self.ip,
        };
        let lost = |frame: usize, loss| {
            if let Some(entry) = losses.get_mut(frame) {
                (*entry, any) = (Some(loss), true);
            }
        };
        if Q::OWNS {
            self.given.copy(&mut feed, most, cx.cache(), lost);
        } else {
            let mut lost = lost;
            queue.send(&mut feed, |frame, loss: Loss| lost(frame, loss.into()));
        }
        let SegmentFeed { entry, next, owners, frames, .. } = feed;
        if any {
            for (owner, loss) in owners[..frames].iter().zip(losses) {
                if let (Some(loss), Some(held)) =
                    (loss, self.hold.queue.get_mut(usize::from(*owner)))
                {
                    held.fate = loss;
                }
            }
        }
        if let Some(held) = self.hold.queue.get_mut(entry) {
            held.next = next;
        }
        // It was planned before, so it can be cut; a device that takes no frame gets rid of one
        // packet.
        let stuck = frames == 0;
        self.let_go(if stuck { 1 } else { entry }, stuck.then_some(TxTo::BadOffload), cx);
        if Q::OWNS {
            self.hand_over(cx);
        }
        frames.max(1)
    }

    /// Gives the device the packets that are ready for it; drops those that it doesn't take.
    fn hand_over(&mut self, cx: &mut Cx<'_, false>) {
        let why = match &mut self.queue {
            Some(queue) => self.given.hand_over(queue, cx),
            None => self.absent(),
        };
        while let Some(packet) = self.given.ready.pop_front() {
            self.lose(why, packet, cx);
        }
    }

    #[cold]
    fn lose(&self, why: TxTo, packet: Owned, cx: &mut Cx<'_, false>) {
        self.lanes.tx_error.add(self.sw_if.at(), 1);
        cx.emit(why, packet);
    }

    /// Removes the `n` oldest packets that wait: frees them if sent, drops them otherwise.
    fn let_go(&mut self, n: usize, fate: Option<TxTo>, cx: &mut Cx<'_, false>) {
        for _ in 0..n {
            let Some(held) = self.hold.pop() else { break };
            match fate.unwrap_or(held.fate) {
                TxTo::Sent => cx.free(held.packet),
                lost => {
                    self.lanes.tx_error.add(self.sw_if.at(), 1);
                    cx.emit(lost, held.packet);
                }
            }
        }
    }
}

impl<Q: TxQueue> Node for Tx<Q> {
    const NAME: &'static str = Q::NODE;
    const WHOLE: bool = true;
    const HOT: bool = true;
    type Next = TxTo;
    type Trace = TxTrace;

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> TxTo {
        let (len, offload) = (b.packet_len() as u32, offload::left(b));
        let mut fates = [TxTo::Sent; FRAME_SIZE];
        if !self.prepare(b) {
            fates[0] = TxTo::BadOffload;
        } else if Q::OWNS {
            fates[0] = TxTo::Given;
        } else if self.cuts() && self.hold.must_wait(b, self.tx_offloads, self.ip) {
            fates[0] = TxTo::Wait;
        }
        let packet = &*b;
        if Q::OWNS {
            self.count_errors(&fates[..1]);
        } else {
            self.send(1, |_| packet, &mut fates);
        }
        let to = fates[0];
        cx.trace(b, TxTrace { sw_if: self.sw_if.0, len, offload, to });
        to
    }

    #[inline(always)]
    fn stages<I: Isa>(&mut self, v: &mut Vector<'_, TxTo>, _: &mut Cx<'_, false>) {
        let n = v.len();
        let mut fates = [if Q::OWNS { TxTo::Given } else { TxTo::Sent }; FRAME_SIZE];
        if !self.tx_offloads.csum {
            for (i, fate) in fates[..n].iter_mut().enumerate() {
                if !self.prepare(v.get_mut(i)) {
                    *fate = TxTo::BadOffload;
                }
            }
        }
        if !Q::OWNS && self.cuts() {
            for (i, fate) in fates[..n].iter_mut().enumerate() {
                if *fate == TxTo::Sent && self.hold.must_wait(v.get(i), self.tx_offloads, self.ip) {
                    *fate = TxTo::Wait;
                }
            }
        }
        let packets = &*v;
        if Q::OWNS {
            self.count_errors(&fates[..n]);
        } else {
            self.send(n, |i| packets.get(i), &mut fates);
        }
        for (i, fate) in fates[..n].iter().enumerate() {
            v.set(i, *fate);
        }
    }

    fn keep(&mut self, b: Owned, cx: &mut Cx<'_, false>) {
        // Without offloads a super-packet is always cut.
        if Q::OWNS && !self.hold.must_wait(&b, self.tx_offloads, self.ip) {
            let most = self.queue.as_ref().map_or(1, TxQueue::most_segments);
            if let Err((why, b)) = self.given.add(b, most, cx.cache()) {
                self.lose(why, b, cx);
            }
            return;
        }
        if let Err((why, b)) = self.hold.push(b, self.ip) {
            return self.lose(why, b, cx);
        }
        cx.again();
    }

    fn keep_end(&mut self, cx: &mut Cx<'_, false>) {
        if Q::OWNS {
            self.hand_over(cx);
        }
    }

    fn tick(&mut self, cx: &mut Cx<'_, false>) {
        self.drain(cx);
        if Q::OWNS {
            self.hand_over(cx);
        }
    }
}
