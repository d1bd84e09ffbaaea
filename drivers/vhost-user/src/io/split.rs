// SPDX-License-Identifier: Apache-2.0
//! A split virtqueue (Virtual I/O Device 1.3, 2.7).
//!
//! | part | contents | written by |
//! |---|---|---|
//! | descriptors | address (8 bytes), length (4), flags (2), next (2) | guest |
//! | available | flags (2), index (2), heads (2 each), used event (2) | guest |
//! | used | flags (2), index (2), id (4) and length (4) each, available event (2) | device |

use super::chain::{
    self, DESC, Desc, Found, INDIRECT, Indirect, MAX_CHAIN, NEXT, Used, needs_event,
};
use super::inflight::SplitLog;
use super::queue::{Format, Mark, Position, QueueConfig, RingView, Start};
use super::{Memory, Piece, Pieces};
use std::sync::Arc;
use std::sync::atomic::{Ordering, fence};

/// Flag of both index parts: the writer wants no event.
const NO_EVENT: u16 = 1;

/// Offset of the index in the available and the used part.
const INDEX: usize = 2;
/// Offset of the entries there.
const ENTRIES: usize = 4;

/// A ring that lies inside of the guest's memory.
pub struct Split {
    memory: Arc<Memory>,
    desc: Piece,
    avail: Piece,
    used: Piece,
    size: u16,
    event_idx: bool,
    indirect: bool,
    /// Index of the next chain to take. Never read back from the guest's memory.
    next: u16,
    /// Index of the next chain to give back.
    done: u16,
    log: Option<SplitLog>,
    /// An impossible index, which was counted.
    impossible: Option<u16>,
    bad: u64,
}

impl Split {
    /// The ring, if its size is a power of two and all parts lie inside of a region, aligned.
    /// One that doesn't go on begins where its guest has seen it last.
    pub fn new(memory: Arc<Memory>, config: &QueueConfig, start: Start) -> Result<Self, String> {
        let (size, at) = (usize::from(config.size), &config.addresses);
        if !config.size.is_power_of_two() || size > 32_768 {
            return Err("the size of a split ring is no power of 2 up to 32768".to_string());
        }
        let event = if config.event_idx { 2 } else { 0 };
        let part = |address: u64, len: usize, align: u64| {
            memory.at_user(address, len).filter(|_| address.is_multiple_of(align))
        };
        let outside = "a ring lies outside of the guest's memory or isn't aligned";
        let desc = part(at.desc, DESC * size, 16).ok_or(outside)?;
        let avail = part(at.driver, ENTRIES + 2 * size + event, 2).ok_or(outside)?;
        let used = part(at.device, ENTRIES + 8 * size + event, 4).ok_or(outside)?;
        let mut ring = Self {
            memory,
            desc,
            avail,
            used,
            size: config.size,
            event_idx: config.event_idx,
            indirect: config.indirect,
            next: 0,
            done: 0,
            log: None,
            impossible: None,
            bad: 0,
        };
        // Chains are used in order: those between both indices of a ring whose device has died are
        // available still, and the ring knows better than a front-end where it was.
        let begin = || ring.load(ring.used, INDEX, Ordering::Acquire);
        ring.done = start.live.map_or_else(begin, |position| position.done);
        ring.log = start.log.map(|log| SplitLog::new(log, config.size, ring.done)).transpose()?;
        // Chains in flight were taken from the ring; otherwise none is left from the last turn.
        ring.next = ring.done.wrapping_add(ring.again());
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

    #[inline(always)]
    fn slot(&self, index: u16) -> usize {
        usize::from(index & (self.size - 1))
    }

    fn desc(&self, index: u16) -> Option<Desc> {
        if index >= self.size {
            return None;
        }
        let region = self.memory.region(self.desc.region)?;
        let at = self.desc.offset + DESC * usize::from(index);
        Some(Desc::of([region.load64(at)?, region.load64(at + 8)?]))
    }

    /// Chains of the log that come first.
    #[inline(always)]
    fn again(&self) -> u16 {
        self.log.as_ref().map_or(0, SplitLog::left)
    }

    /// Chains that are available. None, which is counted once, if the guest's index is impossible.
    #[inline(always)]
    fn waiting(&mut self) -> u16 {
        let index = self.load(self.avail, INDEX, Ordering::Acquire);
        let waiting = index.wrapping_sub(self.next);
        if waiting <= self.size {
            return waiting;
        }
        if self.impossible != Some(index) {
            (self.impossible, self.bad) = (Some(index), self.bad + 1);
        }
        0
    }

    /// Takes the next chain.
    #[inline(always)]
    pub fn find(&mut self, writes: bool, pieces: &mut Pieces) -> Found {
        pieces.clear();
        let head = match self.log.as_mut().and_then(SplitLog::find) {
            Some(head) => head,
            None if self.waiting() == 0 => return Found::Nothing,
            None => {
                let at = ENTRIES + 2 * self.slot(self.next);
                self.next = self.next.wrapping_add(1);
                self.load(self.avail, at, Ordering::Relaxed)
            }
        };
        let is_good = self.walk(head, writes, pieces);
        Found::new(is_good, Used { id: head, slots: 1, len: 0 })
    }

    /// Follows a chain; false if it isn't valid.
    #[inline(always)]
    fn walk(&self, head: u16, writes: bool, pieces: &mut Pieces) -> bool {
        let (mut index, mut left) = (head, self.size.min(MAX_CHAIN));
        while left > 0 {
            let Some(desc) = self.desc(index) else { return false };
            let flags = desc.low;
            if flags & INDIRECT != 0 {
                // The last descriptor of a chain may be a table (2.7.5.3.2).
                let table = Indirect::new(desc.address, desc.len);
                return match table {
                    Some(table) if self.indirect && flags & NEXT == 0 => {
                        self.walk_table(table, writes, pieces)
                    }
                    _ => false,
                };
            }
            if !chain::add(pieces, &self.memory, desc, flags, writes) {
                return false;
            }
            if flags & NEXT == 0 {
                return true;
            }
            (index, left) = (desc.high, left - 1);
        }
        false
    }

    #[inline(always)]
    fn walk_table(&self, table: Indirect, writes: bool, pieces: &mut Pieces) -> bool {
        let (mut index, mut left) = (0, table.count);
        while left > 0 {
            let Some(desc) = table.desc(&self.memory, index) else { return false };
            let flags = desc.low;
            if flags & INDIRECT != 0 || !chain::add(pieces, &self.memory, desc, flags, writes) {
                return false;
            }
            if flags & NEXT == 0 {
                return true;
            }
            (index, left) = (desc.high, left - 1);
        }
        false
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

    /// Gives chains back, all at once. True if the guest wants an event for them.
    #[inline(always)]
    pub fn give_back(&mut self, chains: &[Used]) -> bool {
        let old = self.done;
        for chain in chains {
            let at = ENTRIES + 8 * self.slot(self.done);
            self.memory.store32(self.used, at, u32::from(chain.id).to_le());
            self.memory.store32(self.used, at + 4, chain.len.to_le());
            self.done = self.done.wrapping_add(1);
        }
        if let Some(log) = &self.log {
            log.before(chains);
        }
        self.store(self.used, INDEX, self.done, Ordering::Release);
        if let Some(log) = &mut self.log {
            log.behind(self.done);
        }
        // The guest writes its wish, then looks at the index; here it is the other way round. So
        // one of both sees the other's.
        fence(Ordering::SeqCst);
        if self.event_idx {
            let at = ENTRIES + 2 * usize::from(self.size);
            let event = self.load(self.avail, at, Ordering::Relaxed);
            return needs_event(event, self.done, old);
        }
        self.load(self.avail, 0, Ordering::Relaxed) & NO_EVENT == 0
    }

    /// Asks the guest for an event when it makes the next chain available, or for none.
    #[inline(always)]
    pub fn set_events(&mut self, wanted: bool) {
        if !self.event_idx {
            let flags = if wanted { 0 } else { NO_EVENT };
            self.store(self.used, 0, flags, Ordering::Relaxed);
        } else if wanted {
            let at = ENTRIES + 8 * usize::from(self.size);
            self.store(self.used, at, self.next, Ordering::Relaxed);
        }
        fence(Ordering::SeqCst);
    }

    /// Chains that no packet is in, since the last call.
    pub fn take_bad(&mut self) -> u64 {
        std::mem::take(&mut self.bad)
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
        let load = |part, at| self.load(part, at, Ordering::Relaxed);
        RingView {
            format: Format::Split,
            size: self.size,
            position: self.position(),
            driver: (load(self.avail, 0), load(self.avail, INDEX)),
            device: (load(self.used, 0), load(self.used, INDEX)),
        }
    }

    /// The descriptors, as commands show them.
    pub fn descriptors(&self) -> Vec<Desc> {
        (0..self.size).filter_map(|index| self.desc(index)).collect()
    }
}
