// SPDX-License-Identifier: Apache-2.0
//! Packet traces: which nodes a packet passed, when, and what each had to tell.
//!
//! A node's record is a small `Copy` value; it becomes text only when somebody looks. Records lie in memory that was set
//! aside when the trace was asked for.

use crate::NodeIndex;
use buffer::{Buffer, Flags};
use std::fmt;

/// What a node tells of a packet: `Copy`, at most [`DETAIL`] bytes, formatted when shown (several lines are fine).
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
/// Records set aside for each traced packet.
const PER_PACKET: usize = 24;

/// The packet's first bytes, for traces that print headers.
#[derive(Clone, Copy)]
pub struct Head {
    len: u8,
    bytes: [u8; 96],
}

impl Head {
    /// Of this packet.
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
    show: Option<fn(&Record, &mut fmt::Formatter<'_>) -> fmt::Result>,
    detail: Bytes,
}

// SAFETY: a record holds a `Trace` value, which is `Send`, and plain numbers.
unsafe impl Send for Record {}

impl fmt::Display for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.show.map_or(Ok(()), |show| show(self, f))
    }
}

fn show_as<T: Trace>(record: &Record, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    // SAFETY: `detail` wrote a T here, and set this function beside it.
    let value = unsafe { record.detail.0.as_ptr().cast::<T>().read() };
    value.show(f)
}

/// Decides whether an input's packet is traced; runs on the thread that brings it in, and only while a trace is asked for.
pub type Filter = Box<dyn FnMut(&Buffer) -> bool + Send>;

struct Order {
    node: NodeIndex,
    left: u32,
}

/// One thread's traces.
#[derive(Default)]
pub struct TraceLog {
    orders: Vec<Order>,
    filter: Option<Filter>,
    records: Vec<Record>,
    limit: usize,
    next: u32,
    lost: u64,
    now: u64,
    /// The last record was begun and has no detail yet.
    open: bool,
}

impl TraceLog {
    /// Asks for the next `n` packets of an input. Called on the thread; `room` was set aside by the caller.
    pub fn order(&mut self, node: NodeIndex, n: u32, room: Vec<Record>, thread: u16) {
        if self.records.capacity() < self.records.len() + room.capacity() {
            let mut room = room;
            room.extend_from_slice(&self.records);
            self.records = room;
        }
        self.limit = self.records.capacity();
        self.next = self.next.max(u32::from(thread) << 24);
        match self.orders.iter_mut().find(|o| o.node == node) {
            Some(order) => order.left = n,
            None => self.orders.push(Order { node, left: n }),
        }
    }

    /// Memory for the records of `n` more packets beside `have` records.
    pub fn room(n: u32, have: usize) -> Vec<Record> {
        Vec::with_capacity(have + n as usize * PER_PACKET)
    }

    /// Sets or removes the filter.
    pub fn set_filter(&mut self, filter: Option<Filter>) {
        self.filter = filter;
    }

    /// All records so far.
    pub fn records(&self) -> &[Record] {
        &self.records
    }

    /// Records that didn't fit.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// Forgets all records and orders.
    pub fn clear(&mut self) {
        self.records = Vec::new();
        self.orders.clear();
        (self.limit, self.lost) = (0, 0);
    }

    /// Whether packets of this input are wanted.
    #[inline(always)]
    pub(crate) fn marking(&self, node: NodeIndex) -> bool {
        !self.orders.is_empty() && self.orders.iter().any(|o| o.node == node)
    }

    /// Marks an input's packet, if it is wanted.
    pub(crate) fn mark(&mut self, node: NodeIndex, b: &mut Buffer) {
        if b.flags.has(Flags::TRACED) || self.filter.as_mut().is_some_and(|wanted| !wanted(b)) {
            return;
        }
        let Some(at) = self.orders.iter().position(|o| o.node == node) else { return };
        self.orders[at].left -= 1;
        if self.orders[at].left == 0 {
            self.orders.swap_remove(at);
        }
        b.flags.set(Flags::TRACED);
        b.trace = self.next;
        self.next += 1;
        self.begin(b.trace, node);
        self.detail(InputTrace { rx_if: b.rx_if, len: b.packet_len() as u32, head: Head::of(b) });
    }

    pub(crate) fn set_time(&mut self, now: u64) {
        self.now = now;
    }

    pub(crate) fn begin(&mut self, trace: u32, node: NodeIndex) {
        self.open = self.records.len() < self.limit;
        if !self.open {
            self.lost += 1;
            return;
        }
        let detail = Bytes([std::mem::MaybeUninit::uninit(); DETAIL]);
        self.records.push(Record { trace, node, time: self.now, show: None, detail });
    }

    #[inline]
    pub(crate) fn detail<T: Trace>(&mut self, value: T) {
        const { assert!(size_of::<T>() <= DETAIL && align_of::<T>() <= 16) };
        if !std::mem::take(&mut self.open) {
            return;
        }
        let Some(record) = self.records.last_mut() else { return };
        // SAFETY: the field is large and aligned enough for a T, which is Copy.
        unsafe { record.detail.0.as_mut_ptr().cast::<T>().write(value) };
        record.show = Some(show_as::<T>);
    }
}

/// What an input's record shows: interface, length, first bytes.
#[derive(Clone, Copy)]
struct InputTrace {
    rx_if: u32,
    len: u32,
    head: Head,
}

impl Trace for InputTrace {
    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sw_if_index {} length {}", self.rx_if, self.len)?;
        for (i, byte) in self.head.bytes().iter().take(64).enumerate() {
            match i % 32 {
                0 => write!(f, "\n{byte:02x}")?,
                16 => write!(f, " {byte:02x}")?,
                _ => write!(f, "{byte:02x}")?,
            }
        }
        Ok(())
    }
}
