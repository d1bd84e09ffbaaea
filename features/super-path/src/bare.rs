// SPDX-License-Identifier: Apache-2.0
//! Packets that begin with their IP header: see [`crate::rx::Door`].
//!
//! They get room for an Ethernet header in front, whose bytes stay as they are: the IP header then
//! stands where it stands in a frame, and all that follows is the same for both. A packet that
//! isn't sent loses it again.

use crate::gate::Open;
use crate::next_hop::Protocol;
use crate::plan::{Plan, Plans, RoomMade};
use crate::rx::Rx;
use crate::{ASIDE, Bits, ETHERNET, To};
use buffer::Buffer;
use graph::Vector;
use ip::Words;
use ip::headers::BLOCK;
use wire::Ip6;

/// Makes room in front of a packet that needn't be looked at by the graph. `None`, and nothing
/// changed, for any other packet.
#[inline(always)]
pub fn make_room<F: Protocol>(b: &mut Buffer, rx: &Rx) -> Option<(Words, F::Key)> {
    if rx.open::<F>() == Open::No
        || b.flags.intersects(ASIDE)
        || b.is_chained()
        || !b.rewind(ETHERNET)
    {
        return None;
    }
    let found = F::look(b);
    if found.is_none() {
        take_back(b);
    }
    found
}

/// Takes back the room that [`make_room`] has made.
#[inline(always)]
pub fn take_back(b: &mut Buffer) {
    let pulled = b.pull(ETHERNET);
    debug_assert!(pulled, "there is room");
}

impl Plans {
    /// As [`Plans::make`], for packets that begin with their IP header. A function of its own as
    /// [`Plans::gather_tagged`] is.
    #[inline(never)]
    pub fn gather_bare(&mut self, v: &mut Vector<'_, To>, block: (usize, usize), rx: Rx) -> usize {
        self.ip4.begin(block.0, &rx);
        self.ip6.begin(block.0, &rx);
        let (behind, which) = if rx.door.is_bare::<Ip6>() {
            self.ip6.gather_bare(v, block, &rx)
        } else {
            self.ip4.gather_bare(v, block, &rx)
        };
        self.room_made = (which != 0).then_some(RoomMade { from: block.0, which });
        behind
    }
}

impl<F: Protocol> Plan<F> {
    /// Takes the packets of a block that came in by one interface; returns where the next block
    /// begins, and a mask of those that got room in front.
    #[inline(always)]
    fn gather_bare(
        &mut self,
        v: &mut Vector<'_, To>,
        (from, to): (usize, usize),
        rx: &Rx,
    ) -> (usize, u64) {
        self.begin(from, rx);
        // By value: fields behind a reference are read again after every store.
        let own = *rx;
        let take = move |b: &mut Buffer| {
            if own.is_of(b) { make_room::<F>(b, &own) } else { None }
        };
        let row = self.gather_row(v, (from, to), take);
        let mut at = from + row;
        let mut which = !u64::MAX.checked_shl(row as u32).unwrap_or(0);
        for b in v.range_mut_ahead(at, to) {
            if !rx.is_of(b) {
                break;
            }
            if let Some(found) = make_room::<F>(b, rx) {
                self.push(at, found, b.len());
                which |= 1 << ((at - from) % BLOCK);
            }
            at += 1;
        }
        (at, which)
    }
}

impl RoomMade {
    /// Ends a block when its packets have been sent: all others are as they were.
    #[inline(never)]
    pub fn settle(&self, v: &mut Vector<'_, To>) {
        for i in Bits(self.which) {
            let at = self.from + i;
            if v.is(at, To::Aside) {
                take_back(v.get_mut(at));
            }
        }
    }
}
