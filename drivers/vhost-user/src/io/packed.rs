// SPDX-License-Identifier: Apache-2.0
//! A packed virtqueue (Virtual I/O Device 1.3, 2.8): one ring of descriptors, which the guest makes
//! available and the device overwrites when it has used them.
//!
//! A descriptor: address (8 bytes), length (4), id (2), flags (2). Two of its flags tell whether it
//! is available or used: both change their meaning each time round. Each side has four bytes by
//! which it wishes for events: an offset (2) and flags (2).

use super::chain::{self, DESC, Desc, Found, INDIRECT, Indirect, NEXT, Used, WRITE, needs_event};
use super::inflight::PackedLog;
use super::queue::{Format, Mark, Position, QueueConfig, RingView, Start};
use super::{Memory, Piece, Pieces};
use std::sync::Arc;
use std::sync::atomic::{Ordering, fence};

const AVAIL: u16 = 1 << 7;
const USED: u16 = 1 << 15;
/// Bit of a position: the wrap counter.
const WRAP: u16 = 1 << 15;

/// Offset of the flags in a descriptor, and in the bytes for events.
const FLAGS: usize = 14;
const EVENT_FLAGS: usize = 2;
/// No event is wanted.
const DISABLE: u16 = 1;
/// An event is wanted for the descriptor at the offset.
const DESCRIPTOR: u16 = 2;

/// A ring that lies inside of the guest's memory. A position in it is an index, and the wrap
/// counter in the highest bit.
pub struct Packed {
    memory: Arc<Memory>,
    desc: Piece,
    driver: Piece,
    device: Piece,
    size: u16,
    event_idx: bool,
    indirect: bool,
    /// The next descriptor to take. Never read back from the guest's memory.
    next: u16,
    /// The next descriptor to give back.
    done: u16,
    log: Option<PackedLog>,
}

impl Packed {
    /// The ring, if all parts lie inside of a region, aligned, and the position is in it.
    pub fn new(memory: Arc<Memory>, config: &QueueConfig, start: Start) -> Result<Self, String> {
        let (size, at) = (usize::from(config.size), &config.addresses);
        if size == 0 || size > 32_768 {
            return Err("a packed ring has 1 to 32768 descriptors".to_string());
        }
        let part = |address: u64, len: usize, align: u64| {
            memory.at_user(address, len).filter(|_| address.is_multiple_of(align))
        };
        let outside = "a ring lies outside of the guest's memory or isn't aligned";
        let desc = part(at.desc, DESC * size, 16).ok_or(outside)?;
        let driver = part(at.driver, 4, 4).ok_or(outside)?;
        let device = part(at.device, 4, 4).ok_or(outside)?;
        let first = Position { next: WRAP, done: WRAP };
        let Position { next, done } = start.live.or(start.base).unwrap_or(first);
        if next & !WRAP >= config.size || done & !WRAP >= config.size {
            return Err("the base of a packed ring isn't in the ring".to_string());
        }
        let mut ring = Self {
            memory,
            desc,
            driver,
            device,
            size: config.size,
            event_idx: config.event_idx,
            indirect: config.indirect,
            next,
            done,
            log: None,
        };
        if let Some(part) = start.log {
            let is_available = |position| ring.is_available(position);
            let (log, done) = PackedLog::new(part, config.size, done, is_available)?;
            // Chains in flight were taken from the ring; otherwise none is left from the last turn.
            (ring.done, ring.next) = (done, ring.behind(done, log.slots_left()));
            ring.log = Some(log);
        }
        Ok(ring)
    }

    #[inline(always)]
    fn load(&self, part: Piece, at: usize, order: Ordering) -> u16 {
        let region = self.memory.region(part.region);
        u16::from_le(region.and_then(|r| r.load16(part.offset + at, order)).unwrap_or(0))
    }

    #[inline(always)]
    fn store(&self, part: Piece, at: usize, value: u16, order: Ordering) {
        self.memory.store16(part, at, value.to_le(), order);
    }

    /// Offset of a position's descriptor.
    #[inline(always)]
    fn at(position: u16) -> usize {
        DESC * usize::from(position & !WRAP)
    }

    /// The position `count` descriptors, at most the ring's size, behind another one.
    #[inline(always)]
    fn behind(&self, position: u16, count: u16) -> u16 {
        // An index and a size have 15 and 16 bits.
        let index = u32::from(position & !WRAP) + u32::from(count);
        let size = u32::from(self.size);
        if index < size {
            (position & WRAP) | index as u16
        } else {
            (!position & WRAP) | (index - size) as u16
        }
    }

    #[inline(always)]
    fn desc(&self, position: u16) -> Option<Desc> {
        let region = self.memory.region(self.desc.region)?;
        let at = self.desc.offset + Self::at(position);
        Some(Desc::of([region.load64(at)?, region.load64(at + 8)?]))
    }

    /// Returns true if the descriptor of a position is available.
    #[inline(always)]
    fn is_available(&self, position: u16) -> bool {
        let flags = self.load(self.desc, Self::at(position) + FLAGS, Ordering::Acquire);
        let wrap = position & WRAP != 0;
        (flags & AVAIL != 0) == wrap && (flags & USED != 0) != wrap
    }

    /// Takes the next chain.
    #[inline(always)]
    pub fn find(&mut self, writes: bool, pieces: &mut Pieces) -> Found {
        pieces.clear();
        if self.again() > 0 {
            return self.find_again(writes, pieces);
        }
        if !self.is_available(self.next) {
            return Found::Nothing;
        }
        let (mut is_good, mut slots, mut id) = (true, 0, 0);
        loop {
            // The ring is inside of the guest's memory.
            let desc = self.desc(self.behind(self.next, slots)).unwrap_or_default();
            slots += 1;
            // The id of a chain is in its last descriptor (2.8.6).
            let is_last = desc.high & NEXT == 0;
            id = if is_last { desc.low } else { id };
            is_good = is_good && self.add(desc, slots == 1, writes, pieces);
            if is_last {
                break;
            }
            if slots == self.size {
                is_good = false;
                break;
            }
        }
        self.next = self.behind(self.next, slots);
        Found::new(is_good, Used { id, slots, len: 0 })
    }

    /// Takes the next chain of the log.
    #[cold]
    fn find_again(&mut self, writes: bool, pieces: &mut Pieces) -> Found {
        let Some(mut log) = self.log.take() else { return Found::Nothing };
        let found = log.find().map_or(Found::Nothing, |descs| {
            let mut is_good = true;
            for (n, desc) in descs.iter().enumerate() {
                // Only the last one has no other one behind it.
                let is_end = (desc.high & NEXT == 0) == (n + 1 == descs.len());
                is_good = is_good && is_end && self.add(*desc, n == 0, writes, pieces);
            }
            // At most so many as the ring has.
            let slots = descs.len() as u16;
            let id = descs.last().map_or(0, |desc| desc.low);
            Found::new(is_good, Used { id, slots, len: 0 })
        });
        self.log = Some(log);
        found
    }

    /// Chains of the log that come first.
    #[inline(always)]
    fn again(&self) -> u16 {
        self.log.as_ref().map_or(0, PackedLog::left)
    }

    /// Adds a descriptor of a chain; false if it isn't valid.
    #[inline(always)]
    fn add(&self, desc: Desc, is_first: bool, writes: bool, pieces: &mut Pieces) -> bool {
        let flags = desc.high;
        if flags & INDIRECT == 0 {
            return chain::add(pieces, &self.memory, desc, flags, writes);
        }
        // A table is a chain of its own (2.8.7).
        let alone = is_first && flags & NEXT == 0;
        let table = Indirect::new(desc.address, desc.len);
        table.is_some_and(|table| alone && self.indirect && self.walk_table(table, writes, pieces))
    }

    /// Of a table's descriptors only one flag counts, and all of them are used (2.8.7).
    #[inline(always)]
    fn walk_table(&self, table: Indirect, writes: bool, pieces: &mut Pieces) -> bool {
        (0..table.count).all(|index| {
            let desc = table.desc(&self.memory, index);
            desc.is_some_and(|desc| chain::add(pieces, &self.memory, desc, desc.high, writes))
        })
    }

    /// The next chain to take, for [`Self::rewind`].
    #[inline(always)]
    pub fn next(&self) -> Mark {
        Mark { next: self.next, again: self.again() }
    }

    /// Makes chains that were taken the next ones again.
    #[inline(always)]
    pub fn rewind(&mut self, to: Mark) {
        self.next = to.next;
        if let Some(log) = &mut self.log {
            log.rewind(to.again);
        }
    }

    /// Gives chains back: the first one last, so that the guest sees all of them at once. True if
    /// it wants an event for them.
    #[inline(always)]
    pub fn give_back(&mut self, chains: &[Used]) -> bool {
        let old = self.done;
        self.note(chains);
        let mut first = None;
        for chain in chains {
            let at = Self::at(self.done);
            let wrap = if self.done & WRAP != 0 { AVAIL | USED } else { 0 };
            let flags = wrap | if chain.len > 0 { WRITE } else { 0 };
            self.memory.store32(self.desc, at + 8, chain.len.to_le());
            self.store(self.desc, at + 12, chain.id, Ordering::Relaxed);
            match first {
                None => first = Some((at, flags)),
                Some(_) => self.store(self.desc, at + FLAGS, flags, Ordering::Release),
            }
            self.done = self.behind(self.done, chain.slots);
        }
        let Some((at, flags)) = first else { return false };
        self.store(self.desc, at + FLAGS, flags, Ordering::Release);
        if let Some(log) = &mut self.log {
            log.behind(self.done);
        }
        // As in a split ring.
        fence(Ordering::SeqCst);
        let flags = self.load(self.driver, EVENT_FLAGS, Ordering::Acquire) & 3;
        if !self.event_idx || flags != DESCRIPTOR {
            return flags != DISABLE;
        }
        let event = self.load(self.driver, 0, Ordering::Relaxed);
        let (mut offset, mut old, new) = (event & !WRAP, old & !WRAP, self.done & !WRAP);
        // Both count from the start of the round in which the ring is now.
        if new <= old {
            old = old.wrapping_sub(self.size);
        }
        if (event ^ self.done) & WRAP != 0 {
            offset = offset.wrapping_sub(self.size);
        }
        needs_event(offset, new, old)
    }

    /// Tells the log of chains that are given back.
    #[inline(always)]
    fn note(&mut self, chains: &[Used]) {
        let Some(mut log) = self.log.take() else { return };
        let new = chains.iter().fold(self.done, |at, chain| self.behind(at, chain.slots));
        // A number that is too large for the ring has an empty one.
        log.before(chains, [self.done, new], |number| {
            self.desc(self.behind(self.done, number as u16)).unwrap_or_default()
        });
        self.log = Some(log);
    }

    /// Asks the guest for an event when it makes chains available, or for none.
    #[inline(always)]
    pub fn set_events(&mut self, wanted: bool) {
        let flags = if wanted { 0 } else { DISABLE };
        self.store(self.device, EVENT_FLAGS, flags, Ordering::Relaxed);
        fence(Ordering::SeqCst);
    }

    /// The log isn't used any more, and nothing is in flight.
    pub fn close_log(&self) {
        if let Some(log) = &self.log {
            log.end();
        }
    }

    /// Where the ring is.
    pub fn position(&self) -> Position {
        Position { next: self.next, done: self.done }
    }

    /// The state of the ring, as commands show it.
    pub fn view(&self) -> RingView {
        let event = |part| {
            let load = |at| self.load(part, at, Ordering::Relaxed);
            (load(EVENT_FLAGS), load(0))
        };
        RingView {
            format: Format::Packed,
            size: self.size,
            position: self.position(),
            driver: event(self.driver),
            device: event(self.device),
        }
    }

    /// The descriptors, as commands show them.
    pub fn descriptors(&self) -> Vec<Desc> {
        (0..self.size).filter_map(|index| self.desc(index)).collect()
    }
}
