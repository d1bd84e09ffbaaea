// SPDX-License-Identifier: Apache-2.0
//! Packets whose IP header doesn't stand where it stands in a frame without tags: it begins the
//! packet (see [`Door`]), or tags stand in front of it.
//!
//! The data of such a packet gets another start, so that all that follows is the same for all. The
//! bytes stay as they are. A packet that isn't sent gets its start back, and the device as the
//! interface that it came in by: the next node finds what it would have found.

use crate::gate::Open;
use crate::next_hop::Protocol;
use crate::plan::{Plan, Plans, is_ordinary};
use crate::rx::{Door, Rx};
use crate::tags::{ADDRESSES, HEAD, Parsed, parse};
use crate::{ASIDE, Bits, ETHERNET, To};
use buffer::Buffer;
use graph::Vector;
use ip::Words;
use ip::headers::BLOCK;
use net::IfLanes;
use wire::{Ip4, Ip6};

impl Rx {
    /// True if packets get another start.
    #[inline(always)]
    pub fn moves(&self) -> bool {
        self.door != Door::Frames || self.tags != Parsed::NONE
    }

    /// True if the state is that of a packet which gets another start.
    #[inline(always)]
    fn is_of_moved(&self, b: &Buffer) -> bool {
        self.is_of(b) && (self.door != Door::Frames || parse(b) == self.tags)
    }

    /// Gives a packet another start, if it is an ordinary packet to us. `None`, and nothing
    /// changed, for any other.
    #[inline(always)]
    pub fn take<F: Protocol>(&self, b: &mut Buffer) -> Option<(Words, F::Key)> {
        if self.open::<F>() == Open::No {
            return None;
        }
        let moved = if self.door == Door::Frames {
            let head = b.bytes::<HEAD>(0)?;
            let at = ADDRESSES + self.tags.len();
            let ethertype = *head.get(at..)?.first_chunk::<2>()?;
            is_ordinary::<F>(b, *head.first_chunk()?, ethertype, self) && b.pull(self.tags.len())
        } else {
            !b.flags.intersects(ASIDE) && !b.is_chained() && b.rewind(ETHERNET)
        };
        if !moved {
            return None;
        }
        let found = F::look(b);
        match found {
            Some(_) => b.rx_if = self.rx_if,
            None => self.give_back(b),
        }
        found
    }

    /// Gives back to a packet the start and the device that [`Self::take`] has taken.
    #[inline(always)]
    pub fn give_back(&self, b: &mut Buffer) {
        let back = match self.door {
            Door::Frames => b.rewind(self.tags.len()),
            _ => b.pull(ETHERNET),
        };
        debug_assert!(back, "it was there");
        b.rx_if = self.device;
    }

    /// Counts packets that a sub-interface has received, as `ethernet-input` does for the others.
    #[inline(always)]
    pub fn count_frames(&self, packets: u64, bytes: u64, lanes: &IfLanes) {
        if self.door == Door::Frames && packets != 0 {
            lanes.rx.unicast(self.rx_if as usize, packets, bytes);
        }
    }
}

/// Packets of a block that got another start.
#[derive(Clone, Copy)]
pub struct Moved {
    rx: Rx,
    /// Where the block begins in the vector.
    from: usize,
    which: u64,
    /// Bytes of these packets as they came.
    bytes: u64,
}

impl<F: Protocol> Plan<F> {
    /// Takes the first packets of a block as long as they are of this protocol and get another
    /// start; returns their number and their bytes.
    #[inline(always)]
    fn gather_moved_row(
        &mut self,
        v: &mut Vector<'_, To>,
        block: (usize, usize),
        rx: Rx,
    ) -> (usize, u64) {
        let mut bytes = 0;
        let row = self.gather_row(v, block, |b| {
            let len = b.len();
            let found = if rx.is_of_moved(b) { rx.take::<F>(b) } else { None };
            bytes += if found.is_some() { len as u64 } else { 0 };
            found
        });
        (row, bytes)
    }
}

impl Plans {
    /// As [`Plans::make`], for packets that get another start.
    ///
    /// A function of its own, so that the loops for frames without tags have what it needs for
    /// themselves. The state by value: those loops keep it in registers, which they can't if its
    /// address is known elsewhere.
    #[inline(never)]
    pub fn gather_moved(
        &mut self,
        v: &mut Vector<'_, To>,
        (from, to): (usize, usize),
        rx: Rx,
    ) -> usize {
        let Self { ip4, ip6, moved } = self;
        ip4.begin(from, &rx);
        ip6.begin(from, &rx);
        let (mut row, mut bytes) = ip4.gather_moved_row(v, (from, to), rx);
        if row == 0 {
            (row, bytes) = ip6.gather_moved_row(v, (from, to), rx);
        }
        let (mut at, mut which) = (from + row, !u64::MAX.checked_shl(row as u32).unwrap_or(0));
        for b in v.range_mut_ahead(at, to) {
            if !rx.is_of_moved(b) {
                break;
            }
            let len = b.len();
            let taken = if let Some(found) = rx.take::<Ip4>(b) {
                ip4.push(at, found, b.len());
                true
            } else if let Some(found) = rx.take::<Ip6>(b) {
                ip6.push(at, found, b.len());
                true
            } else {
                false
            };
            if taken {
                which |= 1 << ((at - from) % BLOCK);
                bytes += len as u64;
            }
            at += 1;
        }
        *moved = (which != 0).then_some(Moved { rx, from, which, bytes });
        at
    }
}

impl Moved {
    /// Ends a block when its packets have been sent: all others are as they were.
    #[inline(never)]
    pub fn settle(&self, v: &mut Vector<'_, To>, lanes: &IfLanes) {
        let (mut packets, mut bytes) = (u64::from(self.which.count_ones()), self.bytes);
        for i in Bits(self.which) {
            let at = self.from + i;
            if v.is(at, To::Aside) {
                let b = v.get_mut(at);
                self.rx.give_back(b);
                packets -= 1;
                bytes -= b.len() as u64;
            }
        }
        self.rx.count_frames(packets, bytes, lanes);
    }
}
