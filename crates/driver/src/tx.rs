// SPDX-License-Identifier: Apache-2.0
//! The transmit node of an interface: on each thread it has a queue of its own.
//!
//! Packets are lent to the device for one call, which takes the whole vector: nothing is copied here, and nobody frees a packet
//! that the device still reads.

use crate::home::Trash;
use crate::offload::{self, Takes};
use crate::software::{Cut, Range, finish_checksum, pieces};
use buffer::{Buffer, FRAME_SIZE, Flags};
use graph::{Cx, Next, Node, NodeIndex, SwIfIndex, ThreadIndex, Trace, Vector, World};
use net::IfLanes;
use simd::Isa;
use std::fmt;
use std::marker::PhantomData;
use std::sync::{Mutex, OnceLock};
use wire::Ethernet;
use wire::gso::MAX_HEADERS;
use wire::offload::{Csum, Offload};

/// Why a device didn't send a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Loss {
    /// It is slower than what it gets.
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

    /// Sends at most [`FRAME_SIZE`] frames, each in pieces, with what is left to do for it. `lost` gets the number of each
    /// frame, in their order, that wasn't sent. Never waits.
    fn send<'d, P: Iterator<Item = &'d [u8]>>(
        &mut self,
        frames: impl Iterator<Item = (Offload, P)>,
        lost: impl FnMut(usize, Loss),
    );
}

/// What became of a packet.
#[derive(Next, Clone, Copy, PartialEq, Eq, Debug)]
pub enum TxTo {
    /// The device has it.
    #[free]
    Sent,
    /// transmit queue is full.
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

/// What a trace shows of a transmitted packet.
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
        if self.to == TxTo::Sent { Ok(()) } else { write!(f, " not sent: {:?}", self.to) }
    }
}

/// Memory for the headers of segments that are cut here.
type Headers = [[u8; MAX_HEADERS]; FRAME_SIZE];

/// Sends packets by a queue of the device.
pub struct Tx<Q> {
    sw_if: SwIfIndex,
    /// Packets begin with an IP header.
    ip: bool,
    takes: Takes,
    lanes: IfLanes,
    headers: Box<Headers>,
    queue: Option<Q>,
}

impl<Q: TxQueue> Tx<Q> {
    /// Does work that is left in a packet and that the device doesn't take. False if it can't be done.
    #[inline(always)]
    fn prepare(&self, b: &mut Buffer) -> bool {
        // Cutting into segments, later, computes every checksum.
        let undone = b.flags.has(Flags::CSUM_PARTIAL) && !b.flags.has(Flags::GSO);
        !undone || self.takes.csum || finish_checksum(b)
    }

    /// Sends packets and notes the fate of each. Those that have got one already are left out.
    #[inline(always)]
    fn send<'a>(&mut self, n: usize, packet: impl Fn(usize) -> &'a Buffer, fates: &mut [TxTo; FRAME_SIZE]) {
        match &mut self.queue {
            None => fates[..n].fill(TxTo::Closed),
            Some(queue) => {
                let mut place = Place { n, next: 0, segment: 0, cut: None };
                while place.next < n {
                    let mut feed = Feed {
                        packet: &packet,
                        place: &mut place,
                        headers: self.headers.iter_mut(),
                        fates,
                        owners: [0; FRAME_SIZE],
                        frames: 0,
                        ip: self.ip,
                        cuts: !self.takes.gso,
                    };
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
        }
        let errors = fates[..n].iter().filter(|fate| **fate != TxTo::Sent).count();
        if errors > 0 {
            self.lanes.tx_error.add(self.sw_if.at(), errors as u64);
        }
    }
}

/// How far a vector has been sent.
struct Place<'a> {
    n: usize,
    next: usize,
    /// Of the packet that is being cut.
    segment: usize,
    cut: Option<Cut<'a>>,
}

impl Place<'_> {
    /// Leaves the rest of a packet out.
    #[inline(always)]
    fn skip(&mut self) {
        (self.next, self.segment, self.cut) = (self.next + 1, 0, None);
    }
}

/// The frames of one call, at most [`FRAME_SIZE`]: packets, or the segments into which they are cut.
struct Feed<'a, 'd, F> {
    packet: &'d F,
    place: &'d mut Place<'a>,
    headers: std::slice::IterMut<'d, [u8; MAX_HEADERS]>,
    fates: &'d mut [TxTo; FRAME_SIZE],
    /// Of which packet a frame is.
    owners: [u8; FRAME_SIZE],
    frames: usize,
    ip: bool,
    cuts: bool,
}

impl<'a: 'd, 'd, F: Fn(usize) -> &'a Buffer> Iterator for Feed<'a, 'd, F> {
    type Item = (Offload, Pieces<'d>);

    #[inline(always)]
    fn next(&mut self) -> Option<Self::Item> {
        while self.place.next < self.place.n && self.frames < FRAME_SIZE {
            let i = self.place.next;
            if self.fates[i] != TxTo::Sent {
                self.place.skip();
                continue;
            }
            let b = (self.packet)(i);
            self.owners[self.frames] = i as u8;
            if !(self.cuts && b.flags.has(Flags::GSO)) {
                self.frames += 1;
                self.place.next += 1;
                return Some((offload::left(b), Pieces { headers: None, rest: pieces(b) }));
            }
            if let Some(pieces) = self.cut(b) {
                self.frames += 1;
                return Some((Offload::NONE, pieces));
            }
            self.fates[i] = TxTo::BadOffload;
        }
        None
    }
}

impl<'a: 'd, 'd, F> Feed<'a, 'd, F> {
    /// The next segment of a packet.
    #[inline(never)]
    fn cut(&mut self, b: &'a Buffer) -> Option<Pieces<'d>> {
        let place = &mut *self.place;
        if place.cut.is_none() {
            let l3 = if self.ip { 0 } else { Ethernet::l3_at(b.data())?.0 };
            place.cut = Some(Cut::new(b, l3).ok()?);
        }
        let (cut, index) = (place.cut.as_ref()?, place.segment);
        let headers = self.headers.next()?;
        let len = cut.write_headers(index, headers)?;
        let pieces = Pieces { headers: Some(&headers[..len]), rest: cut.payload(index) };
        place.segment += 1;
        if place.segment == cut.count() {
            place.skip();
        }
        Some(pieces)
    }

    /// Notes the packets whose frames were lost.
    #[cold]
    fn lose(&mut self, losses: &[Option<Loss>; FRAME_SIZE]) {
        for (owner, loss) in self.owners[..self.frames].iter().zip(losses) {
            if let Some(loss) = loss {
                self.fates[usize::from(*owner)] = (*loss).into();
            }
        }
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
    type Next = TxTo;
    type Trace = TxTrace;

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> TxTo {
        let (len, offload) = (b.packet_len() as u32, offload::left(b));
        let mut fates = [TxTo::Sent; FRAME_SIZE];
        if !self.prepare(b) {
            fates[0] = TxTo::BadOffload;
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
        if !self.takes.csum {
            for (i, fate) in fates[..n].iter_mut().enumerate() {
                if !self.prepare(v.get_mut(i)) {
                    *fate = TxTo::BadOffload;
                }
            }
        }
        let packets = &*v;
        self.send(n, |i| packets.get(i), &mut fates);
        for (i, fate) in fates[..n].iter().enumerate() {
            v.set(i, *fate);
        }
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
    /// How the interface's transmit node is made for each thread, as [`net::Interfaces::create`] takes it. `queues` are by
    /// thread; a thread without one drops by name.
    pub fn make(queues: Vec<Q>, ip: bool, takes: Takes) -> impl Fn(&World, ThreadIndex, SwIfIndex) -> Tx<Q> {
        let queues = Mutex::new(queues.into_iter().map(Some).collect::<Vec<_>>());
        move |world, thread, sw_if| Tx {
            sw_if,
            ip,
            takes: takes.sane(),
            lanes: IfLanes::new(world, thread),
            headers: Box::new([[0; MAX_HEADERS]; FRAME_SIZE]),
            queue: queues.lock().expect("no panic inside").get_mut(thread.at()).and_then(Option::take),
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

    /// Says which work is left to the device.
    pub fn set_takes(&self, world: &World, takes: Takes) {
        self.tell(world, move |tx| tx.takes = takes.sane());
    }

    /// Takes the queues from their threads and closes them. Packets are dropped by name from now on.
    pub fn close(&self, world: &World) {
        let trash = world.get::<Trash>();
        self.tell(world, move |tx| {
            if let Some(queue) = tx.queue.take() {
                trash.put(queue);
            }
        });
    }

    /// Gives the threads queues again.
    pub fn open(&self, world: &World, queues: Vec<Q>) {
        let Some(&node) = self.node.get() else { return };
        for (thread, queue) in (0..).zip(queues).take(world.threads()) {
            let trash = world.get::<Trash>();
            world.on_thread(ThreadIndex(thread), move |rt| {
                let before = match rt.node_mut::<Tx<Q>>(node) {
                    Some(tx) => tx.queue.replace(queue),
                    None => Some(queue),
                };
                if let Some(queue) = before {
                    trash.put(queue);
                }
            });
        }
    }
}
