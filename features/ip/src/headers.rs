// SPDX-License-Identifier: Apache-2.0
//! The headers of several packets side by side, so that they are checked many at a time.

use crate::family::{Ip, Words};
use buffer::Buffer;
use std::marker::PhantomData;

/// Packets judged at once: few enough that the gathered headers stay in the first-level cache.
pub const BLOCK: usize = 64;
/// Packets in one vector register of the widest instruction set.
const LANES: usize = 16;

/// Results over all packets.
#[derive(Clone, Copy)]
pub struct Findings {
    /// Some header needs a closer look.
    pub wrong: bool,
    /// Some frame is longer than its packet.
    pub padded: bool,
}

/// The changed header word and the length of a packet for the next hop.
#[derive(Clone, Copy)]
pub struct Onward {
    /// [`Ip::onward`].
    pub word: u32,
    /// [`Ip::total`].
    pub total: u32,
}

/// Headers of up to [`BLOCK`] packets, as little-endian words. A vector register's worth of each
/// column is in one cache line.
#[repr(align(64))]
pub struct Headers<F> {
    /// The first 16 bytes.
    rows: [[u32; 4]; BLOCK],
    /// The first word of the destination.
    destination: [u32; BLOCK],
    /// Bytes of the whole packet and of padding behind it.
    have: [u32; BLOCK],
    /// After [`Self::judge`]: not 0 for packets that need a closer look.
    wrong: [u32; BLOCK],
    /// After [`Self::judge`] with `ONWARD`: [`Onward::word`] and [`Onward::total`].
    onward: [u32; BLOCK],
    total: [u32; BLOCK],
    version: PhantomData<F>,
}

/// The slot of one header.
pub struct Slot<'a> {
    row: &'a mut [u32; 4],
    destination: &'a mut u32,
    have: &'a mut u32,
}

impl Slot<'_> {
    /// Stores the header of a packet of so many bytes.
    #[inline(always)]
    pub fn put(self, words: Words, have: u32) {
        (*self.row, *self.destination) = words;
        *self.have = have;
    }
}

impl<F> Default for Headers<F> {
    fn default() -> Self {
        Self {
            rows: [[0; 4]; BLOCK],
            destination: [0; BLOCK],
            have: [0; BLOCK],
            wrong: [0; BLOCK],
            onward: [0; BLOCK],
            total: [0; BLOCK],
            version: PhantomData,
        }
    }
}

impl<F: Ip> Headers<F> {
    /// Stores the headers of packets in order; a packet that is too short gets a wrong one. Calls
    /// `also` on each packet.
    #[inline(always)]
    pub fn gather<'b>(
        &mut self,
        packets: impl Iterator<Item = &'b mut Buffer>,
        mut also: impl FnMut(&Buffer),
    ) {
        for (slot, b) in self.slots().zip(packets) {
            slot.put(F::words(b), b.packet_len() as u32);
            also(b);
        }
    }

    /// The slots of headers in order.
    #[inline(always)]
    pub fn slots(&mut self) -> impl Iterator<Item = Slot<'_>> {
        let columns = self.rows.iter_mut().zip(&mut self.destination).zip(&mut self.have);
        columns.map(|((row, destination), have)| Slot { row, destination, have })
    }

    /// The slot of header `i`, below [`BLOCK`].
    #[inline(always)]
    pub fn slot(&mut self, i: usize) -> Slot<'_> {
        let i = i % BLOCK;
        Slot {
            row: &mut self.rows[i],
            destination: &mut self.destination[i],
            have: &mut self.have[i],
        }
    }

    /// The first 16 bytes of header `i`.
    #[inline(always)]
    pub fn first(&self, i: usize) -> [u32; 4] {
        self.rows[i % BLOCK]
    }

    /// The total length of packet `i`.
    #[inline(always)]
    pub fn total(&self, i: usize) -> usize {
        F::total(self.rows[i]) as usize
    }

    /// Returns true if packet `i` needs a closer look.
    #[inline(always)]
    pub fn is_wrong(&self, i: usize) -> bool {
        self.wrong[i] != 0
    }

    /// Says whether packet `i` needs a closer look.
    #[inline(always)]
    pub fn set_wrong(&mut self, i: usize, wrong: bool) {
        self.wrong[i % BLOCK] = wrong.into();
    }

    /// Changes the header word of packet `i` for the next hop.
    #[inline(always)]
    pub fn set_onward(&mut self, i: usize, word: u32) {
        self.onward[i % BLOCK] = word;
    }

    /// Returns true if padding lies behind packet `i`.
    #[inline(always)]
    pub fn is_padded(&self, i: usize) -> bool {
        F::total(self.rows[i]) < self.have[i]
    }

    /// Returns the changed header word and the length of packet `i` for the next hop.
    #[inline(always)]
    pub fn onward(&self, i: usize) -> Onward {
        Onward { word: self.onward[i % BLOCK], total: self.total[i % BLOCK] }
    }

    /// Changes the number of packet `i` to `to`.
    #[inline(always)]
    pub fn renumber(&mut self, i: usize, to: usize) {
        (self.onward[to % BLOCK], self.total[to % BLOCK]) =
            (self.onward[i % BLOCK], self.total[i % BLOCK]);
    }

    /// Tells usual headers ([`Ip::wrong`]) from headers that need a closer look; with `ONWARD`,
    /// packets that can't be forwarded need one too. Slots behind the last of `n` packets hold
    /// headers of an earlier block.
    #[inline(always)]
    pub fn judge<const VERIFY: bool, const ONWARD: bool>(&mut self, n: usize) -> Findings {
        let mut padded = [0; LANES];
        let groups = n.div_ceil(LANES).min(BLOCK / LANES);
        let rows = self.rows.as_chunks().0;
        let (destination, have) = (self.destination.as_chunks().0, self.have.as_chunks().0);
        let wrong = self.wrong.as_chunks_mut().0;
        let (onward, total) = (self.onward.as_chunks_mut().0, self.total.as_chunks_mut().0);
        for g in 0..groups {
            let words = columns(&rows[g]);
            judge_lanes::<F, VERIFY>(&words, &destination[g], &have[g], &mut wrong[g], &mut padded);
            if ONWARD {
                onward_lanes::<F>(&words, &mut wrong[g], &mut onward[g], &mut total[g]);
            }
        }
        let wrong = wrong[..groups].iter().any(|lanes| *lanes != [0; LANES]);
        Findings { wrong, padded: padded != [0; LANES] }
    }

    /// [`Onward::total`] of the first `n` packets.
    #[inline(always)]
    pub fn totals(&self, n: usize) -> &[u32] {
        &self.total[..n.min(BLOCK)]
    }

    /// Returns true if one of the first `n` packets is longer than `than` bytes, after
    /// [`Self::judge`] with `ONWARD`.
    #[inline(always)]
    pub fn any_longer(&self, n: usize, than: u32) -> bool {
        self.totals(n).iter().fold(false, |any, total| any | (*total > than))
    }
}

type Lanes = [u32; LANES];

/// The words of headers, each word of all of them side by side.
#[inline(always)]
fn columns(rows: &[[u32; 4]; LANES]) -> [Lanes; 4] {
    let mut words = [[0; LANES]; 4];
    for lane in 0..LANES {
        for word in 0..4 {
            words[word][lane] = rows[lane][word];
        }
    }
    words
}

/// The words of one header.
#[inline(always)]
fn first(words: &[Lanes; 4], lane: usize) -> [u32; 4] {
    [words[0][lane], words[1][lane], words[2][lane], words[3][lane]]
}

/// One vector register of packets: a loop of known length over arrays of that length, which becomes
/// vector code.
#[inline(always)]
fn judge_lanes<F: Ip, const VERIFY: bool>(
    words: &[Lanes; 4],
    destination: &Lanes,
    have: &Lanes,
    wrong: &mut Lanes,
    padded: &mut Lanes,
) {
    for lane in 0..LANES {
        let first = first(words, lane);
        wrong[lane] = F::wrong::<VERIFY>((first, destination[lane]), have[lane]);
        padded[lane] |= bit(F::total(first) < have[lane]);
    }
}

/// As [`judge_lanes`].
#[inline(always)]
fn onward_lanes<F: Ip>(
    words: &[Lanes; 4],
    wrong: &mut Lanes,
    onward: &mut Lanes,
    total: &mut Lanes,
) {
    for lane in 0..LANES {
        let first = first(words, lane);
        let (word, stays) = F::onward(first);
        wrong[lane] |= stays;
        onward[lane] = word;
        total[lane] = F::total(first);
    }
}

/// A condition as a number.
#[inline(always)]
pub fn bit(condition: bool) -> u32 {
    u32::from(condition)
}
