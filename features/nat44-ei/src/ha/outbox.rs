// SPDX-License-Identifier: Apache-2.0
//! The events of a thread: batches that fill, go out, and wait for their acknowledgement.

use super::wire::{ACK, EVENT, Event, HEADER, Header, Kind, VERSION};
use super::{Counter, Ha, HaSettings};
use crate::session::Session;
use ::nat::key::{End, Key};
use ::nat::timeouts::TICKS;
use ::wire::{Header as _, IpProtocol, Ipv4Header, UdpHeader, l4};
use buffer::{Buffer, Flags};
use graph::{ThreadIndex, World};
use stats::Lane;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use zerocopy::IntoBytes;

/// Batches of a thread at most: without any left, the one that has waited for longest is missed.
pub const BATCHES: usize = 256;
/// Ticks between two tries.
const RETRY: u32 = 2 * TICKS;
/// Tries behind the first.
const RETRIES: u8 = 3;
/// Ticks after which a batch that isn't full goes out.
const LINGER: u32 = TICKS;
/// Bytes in front of the header: those of IP and UDP.
const FRONT: usize = 28;
/// The shortest and the longest datagrams.
pub const MTU: std::ops::RangeInclusive<u32> = (FRONT + HEADER + EVENT) as u32..=9000;

/// Events that go out together.
struct Batch {
    /// Header and events, with room for as many as fit.
    bytes: Vec<u8>,
    sequence: u32,
    count: u16,
    tries: u8,
    /// The tick of the first event, and behind the first try, that of the next one.
    due: u32,
    /// It belongs to the transfer of all sessions.
    resync: bool,
}

/// See the head of this file.
pub struct Outbox {
    ha: Arc<Ha>,
    lanes: Vec<Lane>,
    thread: u32,
    settings: HaSettings,
    /// Bytes of a batch at most.
    room: usize,
    free: Vec<Batch>,
    /// The batch that fills.
    open: Option<Batch>,
    /// Full ones.
    ready: VecDeque<Batch>,
    /// Batches that wait for their acknowledgement, in the order in which they went out.
    sent: VecDeque<Batch>,
    sequence: u32,
    now: u32,
    /// True while what happens to sessions is the other router's doing.
    pub muted: bool,
    /// True while all sessions are transferred.
    pub resync: bool,
}

impl Outbox {
    /// An empty one, of a thread.
    pub fn new(world: &World, thread: ThreadIndex) -> Self {
        let ha: Arc<Ha> = world.get();
        Self {
            lanes: ha.counters.iter().map(|simple| simple.lane(thread.at())).collect(),
            ha,
            thread: thread.0.into(),
            settings: HaSettings::default(),
            room: 0,
            free: Vec::new(),
            open: None,
            ready: VecDeque::new(),
            sent: VecDeque::new(),
            sequence: 0,
            now: 0,
            muted: false,
            resync: false,
        }
    }

    /// Control, on this thread: takes other settings. Events that wait are forgotten.
    pub fn configure(&mut self, settings: HaSettings) {
        if self.settings == settings {
            return;
        }
        self.settings = settings;
        while let Some(batch) = self.sent.pop_front().or_else(|| self.ready.pop_front()) {
            self.settle(&batch);
        }
        self.open = None;
        let (Some(listener), Some(_)) = (settings.listener, settings.failover) else {
            self.free = Vec::new();
            return;
        };
        let events = (listener.path_mtu as usize).saturating_sub(FRONT + HEADER) / EVENT;
        self.room = HEADER + events.max(1) * EVENT;
        let batch = |_| Batch {
            bytes: Vec::with_capacity(self.room),
            sequence: 0,
            count: 0,
            tries: 0,
            due: 0,
            resync: false,
        };
        self.free = (0..BATCHES).map(batch).collect();
        self.ready.reserve(BATCHES);
        self.sent.reserve(BATCHES);
    }

    /// True if events are wanted.
    #[inline(always)]
    pub fn is_on(&self) -> bool {
        self.settings.listener.is_some() && self.settings.failover.is_some() && !self.muted
    }

    /// Batches that are free.
    pub fn room(&self) -> usize {
        self.free.len()
    }

    fn count(&self, which: Counter) {
        self.lanes[which as usize].add(0, 1);
    }

    /// Counts a received event.
    pub fn count_received(&self, kind: Kind) {
        self.lanes[Counter::Received.of(kind)].add(0, 1);
    }

    /// Counts an acknowledgement that goes out.
    pub fn count_ack(&self) {
        self.count(Counter::AckSent);
    }

    /// A batch of a transfer is done with.
    fn settle(&self, batch: &Batch) {
        if batch.resync {
            self.ha.pending.fetch_sub(1, Ordering::AcqRel);
        }
    }

    fn miss(&mut self, batch: Batch) {
        self.count(Counter::Missed);
        if batch.resync {
            self.ha.missed.fetch_add(1, Ordering::AcqRel);
        }
        self.recycle(batch);
    }

    fn recycle(&mut self, mut batch: Batch) {
        self.settle(&batch);
        batch.resync = false;
        self.free.push(batch);
    }

    /// Adds an event.
    pub fn event(&mut self, kind: Kind, keys: &[Key; 2], session: &Session) {
        let event = Event::new(kind, keys, session).put();
        let Some(mut batch) = self.open.take().or_else(|| self.begin()) else { return };
        batch.bytes.extend_from_slice(&event);
        batch.count += 1;
        self.lanes[Counter::Sent.of(kind)].add(0, 1);
        if self.resync && !batch.resync {
            batch.resync = true;
            self.ha.pending.fetch_add(1, Ordering::AcqRel);
        }
        let is_full = batch.bytes.len() + EVENT > self.room;
        self.open = Some(batch);
        if is_full {
            self.flush();
        }
    }

    /// A batch without events.
    fn begin(&mut self) -> Option<Batch> {
        if self.free.is_empty() {
            let oldest = self.sent.pop_front().or_else(|| self.ready.pop_front())?;
            self.miss(oldest);
        }
        let mut batch = self.free.pop()?;
        batch.bytes.clear();
        batch.bytes.extend_from_slice(&[0; HEADER]);
        (batch.count, batch.tries, batch.due) = (0, 0, self.now);
        Some(batch)
    }

    /// Makes the batch that fills go out.
    pub fn flush(&mut self) {
        let Some(mut batch) = self.open.take() else { return };
        self.sequence = self.sequence.wrapping_add(1);
        batch.sequence = self.sequence;
        let header = Header {
            version: VERSION,
            flags: 0,
            count: batch.count,
            sequence: batch.sequence,
            thread: self.thread,
        };
        batch.bytes[..HEADER].copy_from_slice(&header.bytes());
        self.ready.push_back(batch);
    }

    /// Has batches that are due go out, and gives those up that were tried often enough. A try is
    /// due by the clock, also if it has jumped.
    pub fn tick(&mut self, now: u32) {
        self.now = now;
        if self.open.as_ref().is_some_and(|open| now.wrapping_sub(open.due) >= LINGER) {
            self.flush();
        }
        for _ in 0..self.sent.len() {
            let Some(batch) = self.sent.pop_front() else { break };
            if now.wrapping_sub(batch.due) as i32 >= 0 {
                self.ready.push_back(batch);
            } else {
                self.sent.push_back(batch);
            }
        }
    }

    /// Notes an acknowledgement.
    pub fn acknowledged(&mut self, sequence: u32) {
        self.count(Counter::AckReceived);
        if let Some(at) = self.sent.iter().position(|batch| batch.sequence == sequence)
            && let Some(batch) = self.sent.remove(at)
        {
            self.recycle(batch);
        }
    }

    /// True if something is to go out.
    #[inline(always)]
    pub fn has_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    /// Writes the next datagram that is to go out into an empty buffer. Returns false if there is
    /// none.
    pub fn next(&mut self, b: &mut Buffer) -> bool {
        while let Some(mut batch) = self.ready.pop_front() {
            let (Some(listener), Some(failover)) = (self.settings.listener, self.settings.failover)
            else {
                self.recycle(batch);
                continue;
            };
            if batch.tries > RETRIES {
                self.miss(batch);
                continue;
            }
            if batch.tries > 0 {
                self.count(Counter::Retries);
                batch.due = batch.due.wrapping_add(RETRY);
            } else {
                batch.due = self.now.wrapping_add(RETRY);
            }
            batch.tries += 1;
            let is_written = datagram(b, (listener.end, failover.end), &batch.bytes);
            // A clock that has jumped over several tries: the next one is due too.
            let again = self.now.wrapping_sub(batch.due) as i32 >= 0;
            let queue = if again { &mut self.ready } else { &mut self.sent };
            queue.push_back(batch);
            if is_written {
                return true;
            }
        }
        false
    }
}

/// Writes a datagram of this router into an empty buffer. Returns false if there is no room.
pub fn datagram(b: &mut Buffer, (from, to): (End, End), payload: &[u8]) -> bool {
    let len = payload.len() + UdpHeader::LEN;
    let mut ip = Ipv4Header::new(from.addr, to.addr, IpProtocol::UDP, len as u16);
    ip.set_checksum();
    let udp = UdpHeader::new(from.port, to.port, payload.len() as u16);
    let mut front = [0; FRONT];
    front[..20].copy_from_slice(ip.as_bytes());
    front[20..].copy_from_slice(udp.as_bytes());
    if !b.set_data(payload) {
        return false;
    }
    let Some(room) = b.push_slice(FRONT) else { return false };
    room.copy_from_slice(&front);
    let sum = l4::compute_parts(b.data(), b.segments().skip(1));
    if !sum.is_ok_and(|(at, sum)| b.write_u16(at, sum)) {
        return false;
    }
    // By the default table.
    (b.rx_if, b.tx_if) = (0, 0);
    b.flags.insert(Flags::LOCAL | Flags::IP4_CSUM_OK | Flags::TABLE);
    true
}

/// The header that acknowledges another.
pub fn acknowledgement(of: Header) -> [u8; HEADER] {
    Header { flags: of.flags | ACK, ..of }.bytes()
}
