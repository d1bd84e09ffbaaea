// SPDX-License-Identifier: Apache-2.0
//! The transmit node of an interface: on each thread it has a queue of its own.
//!
//! Packets are lent to the device for one call, which takes the whole vector: nothing is copied
//! here, and no packet is freed while the device still reads it.

use crate::offload::{self, TxOffloads};
use crate::segment_queue::{SegmentQueue, l3_of};
use crate::software::{Range, Segmenter, finish_checksum, pieces};
use crate::world_ref::DropQueue;
use buffer::{Buffer, FRAME_SIZE, Flags, Owned};
use graph::{Cx, Next, Node, NodeIndex, SwIfIndex, ThreadIndex, Trace, Vector, World};
use net::IfLanes;
use simd::Isa;
use std::fmt;
use std::marker::PhantomData;
use std::sync::{Arc, Mutex, OnceLock};
use wire::gso::MAX_HEADERS;
use wire::offload::{Csum, Offload};

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

/// A device's transmit queue.
pub trait TxQueue: Send + 'static {
    /// The node's name in declarations; in the graph it is `INTERFACE-tx`.
    const NODE: &'static str;

    /// Sends at most [`FRAME_SIZE`] frames, each in pieces, with what is left to do for it. `lost`
    /// gets the number of each frame, in their order, that wasn't sent. Never waits.
    fn send<'d, P: Iterator<Item = &'d [u8]>>(
        &mut self,
        frames: impl Iterator<Item = (Offload, P)>,
        lost: impl FnMut(usize, Loss),
    );
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
    /// device is closed.
    #[drop]
    Closed,
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
    queue: Option<Q>,
}

impl<Q: TxQueue> Tx<Q> {
    /// Completes a pending checksum if the device doesn't do that. Returns false if it can't be
    /// done.
    #[inline(always)]
    fn prepare(&self, b: &mut Buffer) -> bool {
        // Cutting into segments, later, computes every checksum.
        let undone = b.flags.has(Flags::CSUM_PARTIAL) && !b.flags.has(Flags::GSO);
        !undone || self.tx_offloads.csum || finish_checksum(b)
    }

    /// Returns true if packets may have to wait: super-packets if the device doesn't cut them, or,
    /// if it didn't until now, packets behind others that still wait.
    #[inline(always)]
    fn cuts(&self) -> bool {
        self.queue.is_some() && !(self.tx_offloads.gso && self.hold.is_idle())
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
            None => fates[..n].fill(TxTo::Closed),
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
        let errors =
            fates[..n].iter().filter(|fate| !matches!(fate, TxTo::Sent | TxTo::Wait)).count();
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
        let Some(queue) = &mut self.queue else {
            self.let_go(1, Some(TxTo::Closed), cx);
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
        queue.send(&mut feed, |frame, loss| {
            if let Some(entry) = losses.get_mut(frame) {
                (*entry, any) = (Some(loss), true);
            }
        });
        let SegmentFeed { entry, next, owners, frames, .. } = feed;
        if any {
            for (owner, loss) in owners[..frames].iter().zip(losses) {
                if let (Some(loss), Some(held)) =
                    (loss, self.hold.queue.get_mut(usize::from(*owner)))
                {
                    held.fate = loss.into();
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
        frames.max(1)
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

/// The packets of one call.
struct Feed<'d, F> {
    packet: &'d F,
    n: usize,
    next: usize,
    fates: &'d mut [TxTo; FRAME_SIZE],
    /// Index of the packet of each frame.
    owners: [u8; FRAME_SIZE],
    frames: usize,
}

impl<'a: 'd, 'd, F: Fn(usize) -> &'a Buffer> Iterator for Feed<'d, F> {
    type Item = (Offload, Pieces<'d>);

    #[inline(always)]
    fn next(&mut self) -> Option<Self::Item> {
        while self.next < self.n {
            let i = self.next;
            self.next += 1;
            if self.fates[i] != TxTo::Sent {
                continue;
            }
            let b = (self.packet)(i);
            self.owners[self.frames] = i as u8;
            self.frames += 1;
            return Some((offload::left(b), Pieces { headers: None, rest: pieces(b) }));
        }
        None
    }
}

impl<F> Feed<'_, F> {
    /// Notes the packets that were lost.
    #[cold]
    fn lose(&mut self, losses: &[Option<Loss>; FRAME_SIZE]) {
        for (owner, loss) in self.owners[..self.frames].iter().zip(losses) {
            if let Some(loss) = loss {
                self.fates[usize::from(*owner)] = (*loss).into();
            }
        }
    }
}

/// The frames of one call for packets that wait: segments, and packets behind them.
struct SegmentFeed<'d, H> {
    hold: &'d SegmentQueue,
    headers: H,
    /// Number of packets that are done.
    entry: usize,
    /// Index of the next segment of the current packet.
    next: usize,
    cut: Option<Segmenter<'d>>,
    /// Index of the packet of each frame.
    owners: [u8; FRAME_SIZE],
    frames: usize,
    ip: bool,
}

impl<'d, H: Iterator<Item = &'d mut [u8; MAX_HEADERS]>> Iterator for SegmentFeed<'d, H> {
    type Item = (Offload, Pieces<'d>);

    fn next(&mut self) -> Option<Self::Item> {
        let held = self.hold.queue.get(self.entry)?;
        let headers = self.headers.next()?;
        let b: &'d Buffer = &held.packet;
        let frame = if held.cut.is_some() {
            if self.cut.is_none() {
                self.cut = Segmenter::resume(b, l3_of(b, self.ip)?, self.next).ok();
            }
            let (len, rest) = self.cut.as_mut()?.next(headers)?;
            (Offload::NONE, Pieces { headers: Some(&headers[..len]), rest })
        } else {
            (offload::left(b), Pieces { headers: None, rest: pieces(b) })
        };
        self.owners[self.frames] = self.entry as u8;
        self.frames += 1;
        self.next += 1;
        if self.next == held.frames() {
            (self.entry, self.next, self.cut) = (self.entry + 1, 0, None);
        }
        Some(frame)
    }
}

/// A frame in pieces.
pub struct Pieces<'d> {
    headers: Option<&'d [u8]>,
    rest: Range<'d>,
}

impl<'d> Iterator for Pieces<'d> {
    type Item = &'d [u8];

    #[inline(always)]
    fn next(&mut self) -> Option<&'d [u8]> {
        self.headers.take().or_else(|| self.rest.next())
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
        } else if self.cuts() && self.hold.must_wait(b, self.ip) {
            fates[0] = TxTo::Wait;
        }
        let packet = &*b;
        self.send(1, |_| packet, &mut fates);
        let to = fates[0];
        cx.trace(b, TxTrace { sw_if: self.sw_if.0, len, offload, to });
        to
    }

    #[inline(always)]
    fn stages<I: Isa>(&mut self, v: &mut Vector<'_, TxTo>, _: &mut Cx<'_, false>) {
        let n = v.len();
        let mut fates = [TxTo::Sent; FRAME_SIZE];
        if !self.tx_offloads.csum {
            for (i, fate) in fates[..n].iter_mut().enumerate() {
                if !self.prepare(v.get_mut(i)) {
                    *fate = TxTo::BadOffload;
                }
            }
        }
        if self.cuts() {
            for (i, fate) in fates[..n].iter_mut().enumerate() {
                if *fate == TxTo::Sent && self.hold.must_wait(v.get(i), self.ip) {
                    *fate = TxTo::Wait;
                }
            }
        }
        let packets = &*v;
        self.send(n, |i| packets.get(i), &mut fates);
        for (i, fate) in fates[..n].iter().enumerate() {
            v.set(i, *fate);
        }
    }

    fn keep(&mut self, b: Owned, cx: &mut Cx<'_, false>) {
        if let Err((why, b)) = self.hold.push(b, self.ip) {
            self.lanes.tx_error.add(self.sw_if.at(), 1);
            return cx.emit(why, b);
        }
        cx.again();
    }

    fn tick(&mut self, cx: &mut Cx<'_, false>) {
        self.drain(cx);
    }
}

/// The transmit side of one interface: a queue for each thread.
pub struct TxQueues<Q> {
    node: OnceLock<NodeIndex>,
    queue: PhantomData<fn() -> Q>,
}

impl<Q> Default for TxQueues<Q> {
    fn default() -> Self {
        Self { node: OnceLock::new(), queue: PhantomData }
    }
}

impl<Q: TxQueue> TxQueues<Q> {
    /// Returns the constructor of the interface's transmit node, as [`net::Interfaces::create`]
    /// takes it. `queues` are by thread; a thread without one drops by name.
    pub fn make(
        queues: Vec<Q>,
        ip: bool,
        tx_offloads: TxOffloads,
    ) -> impl Fn(&World, ThreadIndex, SwIfIndex) -> Tx<Q> {
        let queues = Mutex::new(queues.into_iter().map(Some).collect::<Vec<_>>());
        move |world, thread, sw_if| Tx {
            sw_if,
            ip,
            tx_offloads: tx_offloads.sane(),
            lanes: IfLanes::of(world, thread),
            headers: vec![[0; MAX_HEADERS]; FRAME_SIZE].into(),
            hold: SegmentQueue::new(world, thread),
            queue: queues
                .lock()
                .expect("no panic inside")
                .get_mut(thread.at())
                .and_then(Option::take),
        }
    }

    /// Notes the interface's transmit node, once it exists.
    pub fn set_node(&self, node: NodeIndex) {
        // An interface has one for good.
        let _ = self.node.set(node);
    }

    fn tell(&self, world: &World, f: impl Fn(&mut Tx<Q>) + Send + Sync + 'static) {
        let Some(&node) = self.node.get() else { return };
        world.on_threads(move |rt| {
            if let Some(tx) = rt.node_mut::<Tx<Q>>(node) {
                f(tx);
            }
        });
    }

    /// Sets the offloads that are left to the device.
    pub fn set_tx_offloads(&self, world: &World, tx_offloads: TxOffloads) {
        self.tell(world, move |tx| tx.tx_offloads = tx_offloads.sane());
    }

    /// Takes the queues from their threads and closes them. Packets are dropped by name from now
    /// on.
    pub fn close(&self, world: &World) {
        let drop_queue = world.get::<DropQueue>();
        self.tell(world, move |tx| {
            if let Some(queue) = tx.queue.take() {
                drop_queue.put(queue);
            }
        });
    }

    /// Gives the threads queues again.
    pub fn open(&self, world: &World, queues: Vec<Q>) {
        let Some(&node) = self.node.get() else { return };
        for (thread, queue) in (0..).zip(queues).take(world.threads()) {
            let drop_queue = world.get::<DropQueue>();
            world.on_thread(ThreadIndex(thread), move |rt| {
                let before = match rt.node_mut::<Tx<Q>>(node) {
                    Some(tx) => tx.queue.replace(queue),
                    None => Some(queue),
                };
                if let Some(queue) = before {
                    drop_queue.put(queue);
                }
            });
        }
    }
}
