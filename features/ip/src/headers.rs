// SPDX-License-Identifier: Apache-2.0
//! The headers of several packets side by side, so that they are checked many at a time.

use buffer::Buffer;
use wire::Ipv4Header;

/// Packets judged in one go: few enough that what was gathered stays in the first-level cache.
pub const BLOCK: usize = 64;
/// Packets in one vector register of the widest instruction set.
const LANES: usize = 16;
/// Bytes of a header without options.
const HEADER: u32 = 20;

/// What was found over all packets.
#[derive(Clone, Copy)]
pub struct Found {
    /// Some header needs a closer look.
    pub wrong: bool,
    /// Some frame is longer than its packet.
    pub padded: bool,
}

/// Headers of up to [`BLOCK`] packets, as little-endian words.
pub struct Headers {
    /// Version to source.
    rows: [[u32; 4]; BLOCK],
    destination: [u32; BLOCK],
    /// Bytes of the whole packet and what lies behind it.
    have: [u32; BLOCK],
    /// After [`Self::judge`]: not 0 for those that need a closer look.
    wrong: [u32; BLOCK],
}

impl Default for Headers {
    fn default() -> Self {
        Self { rows: [[0; 4]; BLOCK], destination: [0; BLOCK], have: [0; BLOCK], wrong: [0; BLOCK] }
    }
}

impl Headers {
    /// Takes over the headers of packets in order; one that is too short gets one that is wrong. Calls `also` on each packet.
    #[inline(always)]
    pub fn gather<'b>(
        &mut self,
        packets: impl Iterator<Item = &'b mut Buffer>,
        mut also: impl FnMut(&Buffer),
    ) {
        let columns = self.rows.iter_mut().zip(&mut self.destination).zip(&mut self.have);
        for (((row, destination), have), b) in columns.zip(packets) {
            let header = b.bytes::<20>(0).unwrap_or(&[0; 20]);
            let (words, _) = header.as_chunks::<4>();
            *row = [0, 1, 2, 3].map(|word| u32::from_le_bytes(words[word]));
            *destination = u32::from_le_bytes(words[4]);
            *have = b.packet_len() as u32;
            also(b);
        }
    }

    /// The total length of packet `i`.
    #[inline(always)]
    pub fn total(&self, i: usize) -> usize {
        total(self.rows[i][0]) as usize
    }

    /// Whether packet `i` needs a closer look.
    #[inline(always)]
    pub fn is_wrong(&self, i: usize) -> bool {
        self.wrong[i] != 0
    }

    /// Whether something lies behind packet `i`.
    #[inline(always)]
    pub fn is_padded(&self, i: usize) -> bool {
        total(self.rows[i][0]) < self.have[i]
    }

    /// Tells usual headers (RFC 1812 5.2.2 and 5.3.7: version, lengths, checksum, source; no options, to one host) from those
    /// that need a closer look. What stands behind the last of `n` packets is a header of before.
    #[inline(always)]
    pub fn judge<const VERIFY: bool>(&mut self, n: usize) -> Found {
        let (mut any, mut padded) = ([0; LANES], [0; LANES]);
        let rows = self.rows.as_chunks().0;
        let (destination, have) = (self.destination.as_chunks().0, self.have.as_chunks().0);
        let wrong = self.wrong.as_chunks_mut().0;
        for g in 0..n.div_ceil(LANES).min(BLOCK / LANES) {
            judge_lanes::<VERIFY>(&rows[g], &destination[g], &have[g], &mut wrong[g], &mut padded);
            for (any, wrong) in any.iter_mut().zip(&wrong[g]) {
                *any |= wrong;
            }
        }
        Found { wrong: any != [0; LANES], padded: padded != [0; LANES] }
    }
}

type Lanes = [u32; LANES];

/// One vector register of packets: a loop of known length over arrays of that length, which becomes vector code.
#[inline(always)]
fn judge_lanes<const VERIFY: bool>(
    rows: &[[u32; 4]; LANES],
    destination: &Lanes,
    have: &Lanes,
    wrong: &mut Lanes,
    padded: &mut Lanes,
) {
    let mut words = [[0; LANES]; 4];
    for lane in 0..LANES {
        for word in 0..4 {
            words[word][lane] = rows[lane][word];
        }
    }
    for lane in 0..LANES {
        let [first, second, third, source] = words.each_ref().map(|word| word[lane]);
        let (destination, have, total) = (destination[lane], have[lane], total(first));
        let mut is_wrong = bit(first & 0xff != u32::from(Ipv4Header::PLAIN))
            | bit(total < HEADER)
            | bit(total > have)
            // The fragment's offset is 1, in the order of the wire.
            | bit(second & 0xff1f_0000 == 0x0100_0000)
            | bit(source & 0xff == 0)
            | bit(source & 0xff == 127)
            | bit(source & 0xff >= 224)
            | bit(destination & 0xf0 == 0xe0);
        if VERIFY {
            let sum = halves(first) + halves(second) + halves(third) + halves(source) + halves(destination);
            is_wrong |= bit(halves(halves(sum)) != 0xffff);
        }
        wrong[lane] = is_wrong;
        padded[lane] |= bit(total < have);
    }
}

#[inline(always)]
fn bit(condition: bool) -> u32 {
    u32::from(condition)
}

/// The total length, from a header's first word.
#[inline(always)]
fn total(word: u32) -> u32 {
    word >> 24 | (word >> 8 & 0xff00)
}

/// The sum of a word's halves.
#[inline(always)]
fn halves(word: u32) -> u32 {
    (word & 0xffff) + (word >> 16)
}
