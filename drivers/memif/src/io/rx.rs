// SPDX-License-Identifier: Apache-2.0
//! A ring that this end receives by: packets are copied into private buffers.

use super::ring::NEXT;
use super::{Buffers, Desc, Event, NO_INTERRUPT, Regions, Ring, Role};
use buffer::MAX_PACKET;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

/// Descriptors of a packet at most, so many as the longest packet takes in buffers of 64 bytes. It
/// bounds the work for a chain whose end isn't there yet, which is read again whenever it has
/// grown.
const LONGEST: u16 = 1024;

/// Distance in descriptors at which a packet's bytes are fetched: they lie in the cache of the
/// sender's core.
const AHEAD: u16 = 8;

/// A piece of a packet that lies inside of its region.
#[derive(Clone, Copy)]
struct Piece {
    region: u16,
    offset: u32,
    len: u32,
}

/// The next packet of a ring.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NextPacket {
    /// A packet of this many bytes, in so many descriptors.
    Packet {
        /// Bytes.
        len: usize,
        /// Descriptors.
        slots: u16,
    },
    /// Descriptors that make no packet.
    Bad {
        /// Number of descriptors.
        slots: u16,
        /// Its last descriptor isn't there yet.
        open: bool,
    },
    /// The rest of a packet.
    Rest {
        /// Its descriptors.
        slots: u16,
        /// Its last descriptor isn't there yet.
        open: bool,
    },
    /// Nothing, or a packet that isn't there as a whole.
    Nothing,
}

/// The receiving side of a ring.
pub struct RxRing {
    ring: Ring,
    regions: Regions,
    /// A client's own buffers; a server reads from where the client says.
    own: Option<Buffers>,
    role: Role,
    /// Index of the next descriptor. It is never read back from shared memory.
    next: u16,
    /// Descriptors from `next` on that were consumed but not given back yet.
    used: u16,
    event: Arc<Event>,
    interrupts: bool,
    /// The rest of a broken packet comes first.
    broken: bool,
    /// So many descriptors were there when they held no whole packet.
    partial: u16,
    /// An impossible index, which was counted.
    impossible: Option<u16>,
    bad: u64,
    pieces: Vec<Piece>,
}

impl RxRing {
    /// `own` are the client's buffers, and `None` for the server.
    pub fn new(ring: Ring, regions: Regions, own: Option<Buffers>, event: Arc<Event>) -> Self {
        let role = if own.is_some() { Role::Client } else { Role::Server };
        let next = if own.is_some() { 0 } else { ring.tail() };
        let mut this = Self {
            ring,
            regions,
            own,
            role,
            next,
            used: 0,
            event,
            interrupts: true,
            broken: false,
            partial: 0,
            impossible: None,
            bad: 0,
            pieces: Vec::with_capacity(64),
        };
        if this.role == Role::Client {
            (0..this.ring.size()).for_each(|index| this.offer(index));
            this.ring.set_head(this.ring.size());
        }
        this
    }

    /// A client's empty buffer goes to the server.
    #[inline(always)]
    fn offer(&mut self, index: u16) {
        if let Some(own) = &self.own {
            let desc = Desc {
                flags: 0,
                region: 0,
                len: own.size,
                offset: own.offset(self.ring.slot(index)),
            };
            self.ring.set_desc(index, desc);
        }
    }

    /// Asks for an event for each vector, or for none.
    pub fn set_interrupts(&mut self, interrupts: bool) {
        self.interrupts = interrupts;
        self.ring.set_flags(if interrupts { 0 } else { NO_INTERRUPT });
    }

    /// Descriptors that wait. None, which is counted once, if the peer's index is impossible.
    #[inline(always)]
    fn count(&mut self) -> u16 {
        let index = match self.role {
            Role::Client => self.ring.tail(),
            Role::Server => self.ring.head(),
        };
        let waiting = index.wrapping_sub(self.next);
        if waiting <= self.ring.size() {
            return waiting;
        }
        if self.impossible != Some(index) {
            (self.impossible, self.bad) = (Some(index), self.bad + 1);
        }
        0
    }

    /// Descriptors that wait. Where there are none, the event is cleared, and they are counted
    /// again: the peer may have written in between.
    #[inline(always)]
    pub fn waiting(&mut self) -> u16 {
        match self.count() {
            0 if self.interrupts && self.event.clear() => self.count(),
            n => n,
        }
    }

    /// Does away with an event.
    pub fn clear_event(&self) {
        self.event.clear();
    }

    /// Index of the next descriptor.
    #[cfg(feature = "tests")]
    pub fn next(&self) -> u16 {
        self.next
    }

    /// Looks at the next packet of `waiting` descriptors.
    #[inline(always)]
    pub fn look(&mut self, waiting: u16) -> NextPacket {
        let left = waiting - self.used;
        if left == 0 || (self.partial == waiting && self.used == 0) {
            return NextPacket::Nothing;
        }
        if left > AHEAD {
            self.prefetch(self.next.wrapping_add(self.used + AHEAD));
        }
        self.pieces.clear();
        let (mut len, mut good, mut slots, mut open) = (0usize, true, 0, true);
        while open && slots < left.min(LONGEST) {
            let index = self.next.wrapping_add(self.used).wrapping_add(slots);
            let mut desc = self.ring.desc(index);
            let size = desc.len as usize;
            let inside = match &self.own {
                // The buffer is our own wherever the descriptor points to.
                Some(own) => {
                    (desc.region, desc.offset) = (0, own.offset(self.ring.slot(index)));
                    desc.len <= own.size
                }
                None => {
                    let memory = self.regions.get(usize::from(desc.region));
                    memory.is_some_and(|memory| memory.holds(desc.offset as usize, size))
                }
            };
            good &= inside && len + size <= MAX_PACKET;
            if good {
                len += size;
            }
            if good && size > 0 {
                self.pieces.push(Piece { region: desc.region, offset: desc.offset, len: desc.len });
            }
            open = desc.flags & NEXT != 0;
            slots += 1;
        }
        if self.broken {
            return NextPacket::Rest { slots, open };
        }
        if good && !open && len > 0 {
            return NextPacket::Packet { len, slots };
        }
        if good && open && slots < LONGEST && !(self.used == 0 && waiting == self.ring.size()) {
            // A sender publishes whole packets. One that doesn't is waited for until the ring is
            // full.
            if self.used == 0 {
                self.partial = waiting;
            }
            return NextPacket::Nothing;
        }
        NextPacket::Bad { slots, open }
    }

    #[inline(always)]
    fn prefetch(&self, index: u16) {
        let (region, offset) = match &self.own {
            Some(own) => (0, own.offset(self.ring.slot(index))),
            None => {
                let desc = self.ring.desc(index);
                (desc.region, desc.offset)
            }
        };
        if let Some(memory) = self.regions.get(usize::from(region)) {
            memory.prefetch(offset as usize);
        }
    }

    /// Copies the packet that was found by [`Self::look`] to private memory.
    #[inline(always)]
    pub fn copy<'d>(&self, to: impl Iterator<Item = &'d mut [u8]>) {
        let mut pieces = self.pieces.iter();
        let (mut region, mut from, mut left) = (0, 0, 0);
        for mut part in to {
            while !part.is_empty() {
                if left == 0 {
                    let Some(piece) = pieces.next() else { return };
                    (region, from, left) =
                        (usize::from(piece.region), piece.offset as usize, piece.len as usize);
                    continue;
                }
                let now = left.min(part.len());
                let (first, rest) = part.split_at_mut(now);
                // It was checked where it was found, and mappings don't shrink.
                let copied =
                    self.regions.get(region).is_some_and(|memory| memory.copy_out(from, first));
                debug_assert!(copied);
                (from, left, part) = (from + now, left - now, rest);
            }
        }
    }

    /// Goes on behind what was found.
    #[inline(always)]
    pub fn take(&mut self, found: NextPacket) {
        let slots = match found {
            NextPacket::Packet { slots, .. } => slots,
            NextPacket::Bad { slots, open } => {
                (self.broken, self.bad) = (open, self.bad + 1);
                slots
            }
            NextPacket::Rest { slots, open } => {
                self.broken = open;
                slots
            }
            NextPacket::Nothing => 0,
        };
        self.used += slots;
    }

    /// Gives what was consumed back to the peer.
    #[inline(always)]
    pub fn give_back(&mut self) {
        if self.used == 0 {
            return;
        }
        self.partial = 0;
        match self.role {
            Role::Client => {
                (0..self.used).for_each(|n| self.offer(self.next.wrapping_add(n)));
                self.next = self.next.wrapping_add(self.used);
                self.ring.set_head(self.next.wrapping_add(self.ring.size()));
            }
            Role::Server => {
                self.next = self.next.wrapping_add(self.used);
                self.ring.set_tail(self.next);
            }
        }
        self.used = 0;
    }

    /// Forgets what waits.
    pub fn discard(&mut self) {
        self.clear_event();
        let waiting = self.count();
        if waiting > 0 {
            let last = self.next.wrapping_add(waiting - 1);
            self.broken = self.ring.desc(last).flags & NEXT != 0;
            self.used = waiting;
            self.give_back();
        }
    }

    /// Broken packets since the last call.
    pub fn take_bad(&mut self) -> u64 {
        std::mem::take(&mut self.bad)
    }
}

impl AsFd for RxRing {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.event.as_fd()
    }
}
