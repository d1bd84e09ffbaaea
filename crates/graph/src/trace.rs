// SPDX-License-Identifier: Apache-2.0
//! Packet traces: which nodes a packet passed, when, and the record of each.
//!
//! A node's record is a small `Copy` value; it becomes text only when it is shown. Records lie in
//! memory that was set aside when the trace was asked for.

use crate::{NodeIndex, SwIfIndex, ThreadIndex};
use buffer::{Buffer, Flags};
use std::any::TypeId;
use std::fmt;
use sync::Turn;

/// A node's record of a packet: `Copy`, at most [`DETAIL`] bytes, formatted when shown (several
/// lines are fine).
pub trait Trace: Copy + Send + 'static {
    /// Writes it for people.
    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result;
}

impl Trace for () {
    fn show(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        Ok(())
    }
}

/// Bytes of a record at most.
pub const DETAIL: usize = 160;
/// A trace's number begins with its thread's, at this bit.
const THREAD: u32 = 24;
/// Records set aside for each traced packet.
const PER_PACKET: usize = 24;

/// The packet's first bytes, for traces that print headers.
#[derive(Clone, Copy)]
pub struct Head {
    len: u8,
    bytes: [u8; 96],
}

impl Head {
    /// The head of this packet.
    #[inline(always)]
    pub fn of(b: &Buffer) -> Self {
        let mut bytes = [0; 96];
        let len = b.len().min(bytes.len());
        bytes[..len].copy_from_slice(&b.data()[..len]);
        Self { len: len as u8, bytes }
    }
    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len as usize]
    }
}

impl Default for Head {
    fn default() -> Self {
        Self { len: 0, bytes: [0; 96] }
    }
}

#[derive(Clone, Copy)]
#[repr(C, align(16))]
struct Bytes([std::mem::MaybeUninit<u8>; DETAIL]);

/// One node's record of one packet.
#[derive(Clone, Copy)]
pub struct Record {
    /// The packet's trace.
    pub trace: u32,
    /// The node.
    pub node: NodeIndex,
    /// The instance's clock, in nanoseconds.
    pub time: u64,
    show: Option<Show>,
    detail: Bytes,
}

#[derive(Clone, Copy)]
struct Show {
    of: TypeId,
    show: fn(&Record, &mut fmt::Formatter<'_>) -> fmt::Result,
}

impl Record {
    /// The node's record, if it is of this type.
    pub fn get<T: Trace>(&self) -> Option<T> {
        // SAFETY: `detail` wrote a T there, and noted its type.
        self.show
            .filter(|s| s.of == TypeId::of::<T>())
            .map(|_| unsafe { self.detail.0.as_ptr().cast::<T>().read() })
    }
}

impl fmt::Display for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.show.map_or(Ok(()), |s| (s.show)(self, f))
    }
}

fn show_as<T: Trace>(record: &Record, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    record.get::<T>().map_or(Ok(()), |value| value.show(f))
}

/// Decides whether an input's packet is traced; runs on the thread that brings it in, and only
/// while a trace is asked for. Its arguments are the packet, the node that the input sends it to,
/// which implies the packet's first header, and the turn.
pub type Filter = Box<dyn FnMut(&Buffer, NodeIndex, &Turn<'_>) -> bool + Send>;

struct Order {
    node: NodeIndex,
    left: u32,
    /// The node gets its packets from other nodes.
    inside: bool,
}

/// One thread's traces.
#[derive(Default)]
pub struct TraceLog {
    orders: Vec<Order>,
    /// Orders at nodes that are no inputs.
    inside: bool,
    filter: Option<Filter>,
    /// Memory that was set aside, filled one after the other.
    chunks: Vec<Vec<Record>>,
    filling: usize,
    next: u32,
    lost: u64,
    now: u64,
    /// The last record was begun and has no detail yet.
    open: bool,
}

impl TraceLog {
    /// Asks for the next `n` packets of an input, beside those asked for before. Called on the
    /// thread; `room` was set aside by the caller.
    pub fn order(&mut self, node: NodeIndex, n: u32, room: Vec<Record>, thread: u16) {
        self.order_at((node, false), n, room, thread);
    }

    /// As [`Self::order`], for a node that gets its packets from other nodes.
    pub fn order_inside(&mut self, node: NodeIndex, n: u32, room: Vec<Record>, thread: u16) {
        self.order_at((node, true), n, room, thread);
    }

    fn order_at(
        &mut self,
        (node, inside): (NodeIndex, bool),
        n: u32,
        room: Vec<Record>,
        thread: u16,
    ) {
        self.next = self.next.max(u32::from(thread) << THREAD);
        self.chunks.push(room);
        match self.orders.iter_mut().find(|o| o.node == node) {
            Some(order) => order.left = order.left.saturating_add(n),
            None if n > 0 => self.orders.push(Order { node, left: n, inside }),
            None => {}
        }
        self.inside = self.orders.iter().any(|o| o.inside);
    }

    /// Memory for the records of `n` packets.
    pub fn room(n: u32) -> Vec<Record> {
        Vec::with_capacity(n as usize * PER_PACKET)
    }

    /// The thread that the packet of this trace came in on.
    pub const fn thread_of(trace: u32) -> ThreadIndex {
        ThreadIndex((trace >> THREAD) as u16)
    }

    /// Sets or removes the filter.
    pub fn set_filter(&mut self, filter: Option<Filter>) {
        self.filter = filter;
    }

    /// All records so far, in the order of their times.
    pub fn records(&self) -> impl Iterator<Item = &Record> {
        self.chunks.iter().flatten()
    }

    /// Records that didn't fit.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// Forgets all orders, and gives the records back: the thread that asked frees them.
    pub fn take(&mut self) -> Vec<Vec<Record>> {
        self.orders.clear();
        self.inside = false;
        (self.filling, self.lost) = (0, 0);
        std::mem::take(&mut self.chunks)
    }

    /// Returns true if packets are to be traced from a node on that is no input.
    #[inline(always)]
    pub(crate) fn is_inside(&self) -> bool {
        self.inside
    }

    /// Returns true if packets of this node are to be traced.
    #[inline(always)]
    pub(crate) fn marking(&self, node: NodeIndex) -> bool {
        !self.orders.is_empty() && self.orders.iter().any(|o| o.node == node)
    }

    /// Takes a packet off the order of a node, if it is wanted. Its first header is the one that
    /// `to` takes.
    fn take_order(
        &mut self,
        node: NodeIndex,
        to: NodeIndex,
        b: &mut Buffer,
        turn: &Turn<'_>,
    ) -> Option<()> {
        if b.flags.contains(Flags::TRACED)
            || self.filter.as_mut().is_some_and(|wanted| !wanted(b, to, turn))
        {
            return None;
        }
        let at = self.orders.iter().position(|o| o.node == node)?;
        self.orders[at].left -= 1;
        if self.orders[at].left == 0 {
            self.orders.swap_remove(at);
            self.inside = self.orders.iter().any(|o| o.inside);
        }
        b.flags.insert(Flags::TRACED);
        b.trace = self.next;
        self.next += 1;
        Some(())
    }

    /// Marks a packet that has come to a node, if it is wanted.
    pub(crate) fn mark_inside(
        &mut self,
        node: NodeIndex,
        b: &mut Buffer,
        now: u64,
        turn: &Turn<'_>,
    ) {
        if self.take_order(node, node, b, turn).is_some() {
            self.now = now;
        }
    }

    /// Marks an input's packet that goes to `to`, if it is wanted.
    pub(crate) fn mark(
        &mut self,
        node: NodeIndex,
        to: NodeIndex,
        b: &mut Buffer,
        now: u64,
        turn: &Turn<'_>,
    ) {
        if self.take_order(node, to, b, turn).is_none() {
            return;
        }
        self.now = now;
        self.begin(b.trace, node);
        self.detail(InputTrace {
            to,
            rx_if: SwIfIndex(b.rx_if),
            len: b.packet_len() as u32,
            head: Head::of(b),
        });
    }

    pub(crate) fn set_time(&mut self, now: u64) {
        self.now = now;
    }

    pub(crate) fn begin(&mut self, trace: u32, node: NodeIndex) {
        while self.chunks.get(self.filling).is_some_and(|c| c.len() == c.capacity()) {
            self.filling += 1;
        }
        let chunk = self.chunks.get_mut(self.filling);
        self.open = chunk.is_some();
        let Some(chunk) = chunk else {
            self.lost += 1;
            return;
        };
        let detail = Bytes([std::mem::MaybeUninit::uninit(); DETAIL]);
        chunk.push(Record { trace, node, time: self.now, show: None, detail });
    }

    #[inline]
    pub(crate) fn detail<T: Trace>(&mut self, value: T) {
        const { assert!(size_of::<T>() <= DETAIL && align_of::<T>() <= 16) };
        if !std::mem::take(&mut self.open) {
            return;
        }
        let Some(record) = self.chunks.get_mut(self.filling).and_then(|c| c.last_mut()) else {
            return;
        };
        // SAFETY: the field is large and aligned enough for a T, which is Copy.
        unsafe { record.detail.0.as_mut_ptr().cast::<T>().write(value) };
        record.show = Some(Show { of: TypeId::of::<T>(), show: show_as::<T> });
    }
}

/// A name inside of a record: what it names may be gone when the trace is shown. A long one is cut.
#[derive(Clone, Copy)]
pub struct Label {
    len: u8,
    bytes: [u8; Self::MAX],
}

impl Label {
    const MAX: usize = 95;

    /// The label for a name.
    pub fn new(name: &str) -> Self {
        let len = name.floor_char_boundary(Self::MAX);
        let mut bytes = [0; Self::MAX];
        bytes[..len].copy_from_slice(&name.as_bytes()[..len]);
        Self { len: len as u8, bytes }
    }
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&String::from_utf8_lossy(&self.bytes[..usize::from(self.len)]))
    }
}

/// An input's record. The code that prints it looks up the names of nodes and interfaces.
#[derive(Clone, Copy)]
pub struct InputTrace {
    /// The node that the packet went to: it implies the first header in the bytes.
    pub to: NodeIndex,
    /// The interface it came in by.
    pub rx_if: SwIfIndex,
    /// Bytes of the whole packet.
    pub len: u32,
    /// Its first bytes.
    pub head: Head,
}

impl Trace for InputTrace {
    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sw_if_index {}, {} bytes, to node {}", self.rx_if, self.len, self.to)
    }
}
