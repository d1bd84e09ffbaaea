// SPDX-License-Identifier: Apache-2.0
//! Linearised search-tree nodes: up to five levels of lines with eight separators each, and cells behind them.
//!
//! The last level's lines hold the last keys of all intervals but the last one, in order; the lines above hold, for each of
//! their children but the last, the last key below it. What isn't used is `u64::MAX`, which no key is above. So the number of
//! separators below a key is eight times the line that the search ends at, plus the rank there.

use super::intervals::{Intervals, Row};
use super::places::{LINE, Places};
use simd::Isa;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

/// A cache line.
pub(super) type Line = [AtomicU64; LINE as usize];

/// Lines before the last level, by the number of levels.
const ABOVE: [u32; 8] = [0, 0, 1, 10, 91, 820, 7381, 66430];

/// Intervals that a block of so many levels has room for.
pub(super) const ROOM: [usize; 6] = [0, 9, 9 * 8 + 1, 81 * 8 + 1, 729 * 8 + 1, 6561 * 8 + 1];

/// Where a block is: the numbers of its first line and of its first line of cells, how many levels it has, and whether its
/// cells are blocks of three levels in turn. One word, so that it is replaced at once.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Block(pub u64);

const NUMBER: u32 = 29;

impl Block {
    #[inline(always)]
    pub fn lines(self) -> u32 {
        self.0 as u32 & ((1 << NUMBER) - 1)
    }

    #[inline(always)]
    pub fn cells(self) -> u32 {
        (self.0 >> NUMBER) as u32 & ((1 << NUMBER) - 1)
    }

    #[inline(always)]
    pub fn levels(self) -> u32 {
        (self.0 >> (2 * NUMBER)) as u32 & 7
    }

    #[inline(always)]
    pub fn is_directory(self) -> bool {
        self.0 >> 63 != 0
    }

    /// The number of cells, read from the separators.
    fn len(self, lines: &[Line]) -> usize {
        let last = self.cells() - 1;
        let before = (last - self.lines() - ABOVE[self.levels() as usize]) as usize * LINE as usize;
        let used = lines[last as usize].iter().filter(|end| end.load(Ordering::Relaxed) != u64::MAX).count();
        before + used + 1
    }

    /// Words that it takes.
    pub fn words(self, lines: &[Line]) -> u32 {
        (self.cells() - self.lines()) * LINE + self.len(lines) as u32
    }

    /// Words that a block of so many intervals takes.
    pub fn size(intervals: usize, levels: u32) -> u32 {
        let last = (intervals as u32 - 1).div_ceil(LINE).max(1);
        (ABOVE[levels as usize] + last) * LINE + intervals as u32
    }

    /// Levels for so many intervals.
    pub fn levels_for(intervals: usize) -> u32 {
        ROOM.iter().position(|room| intervals <= *room).expect("a table of 2^24 routes has room") as u32
    }

    /// Fills a new block, which nobody sees yet.
    pub fn make(
        lines: &[Line],
        places: &mut Places,
        content: &Intervals,
        levels: u32,
        directory: bool,
    ) -> Self {
        let (n, above) = (content.cells.len(), ABOVE[levels as usize]);
        let last = (n as u32 - 1).div_ceil(LINE).max(1);
        let first = places.take(Self::size(n, levels)) / LINE;
        let cells = first + above + last;
        let (ends, words) = (&content.ends, lines.as_flattened());
        let at = |line: u32| (line * LINE) as usize;
        let rest = std::iter::repeat_n(&u64::MAX, at(last) - ends.len());
        for (separator, end) in words[at(first + above)..at(cells)].iter().zip(ends.iter().chain(rest)) {
            separator.store(*end, Ordering::Relaxed);
        }
        // From below: where a level begins, and how many of the last level's lines are below each of its lines.
        let (mut start, mut below) = (above, 1);
        for _ in 1..levels {
            start = (start - 1) / 9;
            for node in 0..last.div_ceil(below * 9) {
                for (slot, separator) in (1..).zip(&lines[(first + start + node) as usize]) {
                    // The last end below this child, if there is a child behind it.
                    let behind = (node * 9 + slot) * below;
                    let end = if behind < last { ends[at(behind) - 1] } else { u64::MAX };
                    separator.store(end, Ordering::Relaxed);
                }
            }
            below *= 9;
        }
        for (word, cell) in words[at(cells)..].iter().zip(&content.cells) {
            word.store(*cell, Ordering::Relaxed);
        }
        let place = u64::from(first) | u64::from(cells) << NUMBER;
        Self(place | u64::from(levels) << (2 * NUMBER) | u64::from(directory) << 63)
    }

    /// Its content, for control.
    pub fn row(self, lines: &[Line]) -> BlockRow<'_> {
        let (words, n) = (lines.as_flattened(), self.len(lines));
        let ends = ((self.lines() + ABOVE[self.levels() as usize]) * LINE) as usize;
        let cells = (self.cells() * LINE) as usize;
        BlockRow { lines, block: self, ends: &words[ends..ends + n - 1], cells: &words[cells..cells + n] }
    }

    /// How many separators are below the key.
    #[inline(always)]
    pub fn rank<I: Isa>(self, lines: &[Line], key: u64) -> u32 {
        let (mut node, mut first) = (0, self.lines());
        for _ in 1..self.levels() {
            let rank = simd::rank::<I>(&lines[(first + node) as usize], &key);
            // The lines of a level are nine times those above it and one more.
            first += (first - self.lines()) * 8 + 1;
            node = node * 9 + rank;
        }
        node * LINE + simd::rank::<I>(&lines[(first + node) as usize], &key)
    }
}

/// The word of this number.
#[inline(always)]
pub(super) fn word(lines: &[Line], number: u32) -> &AtomicU64 {
    &lines[(number / LINE) as usize][(number % LINE) as usize]
}

/// A block as control reads it.
pub(super) struct BlockRow<'a> {
    lines: &'a [Line],
    block: Block,
    ends: &'a [AtomicU64],
    cells: &'a [AtomicU64],
}

impl BlockRow<'_> {
    /// Replaces a cell. Release: who comes through it finds what is behind it filled.
    pub fn set(&self, i: usize, cell: u64) {
        self.cells[i].store(cell, Ordering::Release);
    }

    /// All of it.
    pub fn copy(&self, out: &mut Intervals) {
        out.clear();
        self.ends_to(0..self.ends.len(), &mut out.ends);
        self.cells_to(0..self.cells.len(), &mut out.cells);
    }
}

fn load(word: &AtomicU64) -> u64 {
    word.load(Ordering::Relaxed)
}

impl Row for BlockRow<'_> {
    fn len(&self) -> usize {
        self.cells.len()
    }

    fn end(&self, i: usize) -> u64 {
        load(&self.ends[i])
    }

    fn cell(&self, i: usize) -> u64 {
        load(&self.cells[i])
    }

    fn find(&self, key: u64) -> usize {
        self.block.rank::<simd::V1>(self.lines, key) as usize
    }

    fn ends_to(&self, range: Range<usize>, out: &mut Vec<u64>) {
        out.extend(self.ends[range].iter().map(load));
    }

    fn cells_to(&self, range: Range<usize>, out: &mut Vec<u64>) {
        out.extend(self.cells[range].iter().map(load));
    }
}

/// Keys searched for between two tests of the end.
const AT_ONCE: usize = 4;

/// One level further, for each key: `at` is the line that it is at, and becomes the one below, if `first` tells the first
/// line of its block. In passes over all keys, so that their loads overlap. Lengths are multiples of four.
#[inline(always)]
pub(super) fn descend<I: Isa>(lines: &[Line], keys: &[u64], at: &mut [u32], first: impl Fn(usize) -> u32) {
    let groups = at.as_chunks_mut::<AT_ONCE>().0.iter_mut().zip(keys.as_chunks::<AT_ONCE>().0);
    for (group, (at, keys)) in groups.enumerate() {
        for i in 0..AT_ONCE {
            let rank = simd::rank::<I>(&lines[at[i] as usize], &keys[i]);
            // The lines of a level are nine times those above it and one more: with `a` lines above, line `first + a + n`
            // has its children from `first + 9 a + 1 + 9 n` on.
            let to_child = 1u32.wrapping_sub(first(group * AT_ONCE + i).wrapping_mul(8));
            at[i] = at[i].wrapping_mul(9).wrapping_add(rank).wrapping_add(to_child);
        }
    }
}

/// From the line of the last level to the cell's number in all words.
#[inline(always)]
pub(super) fn arrive<I: Isa>(lines: &[Line], keys: &[u64], at: &mut [u32], block: impl Fn(usize) -> Block) {
    let groups = at.as_chunks_mut::<AT_ONCE>().0.iter_mut().zip(keys.as_chunks::<AT_ONCE>().0);
    for (group, (at, keys)) in groups.enumerate() {
        for i in 0..AT_ONCE {
            let rank = simd::rank::<I>(&lines[at[i] as usize], &keys[i]);
            let block = block(group * AT_ONCE + i);
            let before = at[i] - block.lines() - ABOVE[block.levels() as usize & 7];
            at[i] = (block.cells() + before) * LINE + rank;
        }
    }
}
