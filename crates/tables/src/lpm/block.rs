// SPDX-License-Identifier: Apache-2.0
//! Linearised search-tree nodes: levels of lines with eight separators each, and behind them cells
//! or packed lines.
//!
//! A line has, for each of its children but the last, the last key below it; what isn't used is
//! `u64::MAX`, which no key is above. In a directory the lines of the last level hold the ends of
//! all intervals but the last one, in order. So the number of separators below a key is eight times
//! the line that the search ends at, plus the rank there. In a block of leaves the children
//! of the last level are packed lines.

use super::intervals::Intervals;
use super::packed::{Line, Packed};
use super::slot_alloc::{LINE, SlotAllocator};
use simd::Isa;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

/// Lines of so many levels that are full.
const ABOVE: [u32; 8] = [0, 1, 10, 91, 820, 7381, 66430, 597871];

/// Intervals that a directory of so many levels has room for.
const ROOM: [usize; 7] = [0, 9, 9 * 8 + 1, 81 * 8 + 1, 729 * 8 + 1, 6561 * 8 + 1, 59049 * 8 + 1];
/// Blocks below a directory at most: four times as many as 2^24 routes like those of the Internet
/// make.
pub(super) const BLOCKS: usize = ROOM[6];

/// Levels of separators in a block of leaves, below a directory; others have fewer if that is
/// enough.
pub(super) const LEVELS: u32 = 2;
/// Packed lines of such a block at most: less than there is room for, since all of them are copied
/// for a change, and a million routes still find room below a directory of four levels.
pub(super) const MAX: usize = 64;
const _: () =
    assert!(MAX + MAX / 4 <= ABOVE[LEVELS as usize + 1] as usize - ABOVE[LEVELS as usize] as usize);

/// Where a block is, and whether its cells are blocks in turn. One word, so that it is replaced at
/// once.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Block(pub u64);

const NUMBER: u32 = 29;
const DIRECTORY: u64 = 1 << 63;

impl Block {
    fn new(first: u32, behind: u32, levels: u32) -> Self {
        Self(u64::from(first) | u64::from(behind) << NUMBER | u64::from(levels) << (2 * NUMBER))
    }

    /// Its first line.
    #[inline(always)]
    pub fn lines(self) -> u32 {
        self.0 as u32 & ((1 << NUMBER) - 1)
    }

    /// The first line of a directory's cells; the one behind the packed lines of others.
    #[inline(always)]
    fn behind(self) -> u32 {
        (self.0 >> NUMBER) as u32 & ((1 << NUMBER) - 1)
    }

    /// Levels of separators.
    #[inline(always)]
    pub fn levels(self) -> u32 {
        (self.0 >> (2 * NUMBER)) as u32 & 7
    }

    #[inline(always)]
    pub fn is_directory(self) -> bool {
        self.0 & DIRECTORY != 0
    }

    /// The first packed line of a block of leaves.
    #[inline(always)]
    fn packed(self) -> u32 {
        self.lines() + ABOVE[self.levels() as usize]
    }

    /// A directory's cells, read from the separators.
    fn len(self, lines: &[Line]) -> usize {
        let last = self.behind() - 1;
        let before =
            (last - self.lines() - ABOVE[self.levels() as usize - 1]) as usize * LINE as usize;
        let used = lines[last as usize]
            .iter()
            .filter(|end| end.load(Ordering::Relaxed) != u64::MAX)
            .count();
        before + used + 1
    }

    /// The packed lines of a block of leaves.
    pub fn leaves(self) -> Range<u32> {
        self.packed()..self.behind()
    }

    /// Words that it takes.
    pub fn words(self, lines: &[Line]) -> u32 {
        let cells = if self.is_directory() { self.len(lines) as u32 } else { 0 };
        (self.behind() - self.lines()) * LINE + cells
    }

    /// Words of a block with so many packed lines.
    pub const fn size(packed: usize, levels: u32) -> u32 {
        (ABOVE[levels as usize] + packed as u32) * LINE
    }

    /// Levels for so many packed lines by themselves.
    pub fn levels_for(packed: usize) -> u32 {
        match packed {
            0..=1 => 0,
            2..=9 => 1,
            _ => LEVELS,
        }
    }

    /// Fills a new directory, which no reader sees yet.
    pub fn directory(lines: &[Line], places: &mut SlotAllocator, content: &Intervals) -> Self {
        let n = content.cells.len();
        let levels = ROOM.iter().position(|room| n <= *room).expect("asked for room") as u32;
        let last = (n as u32 - 1).div_ceil(LINE).max(1);
        let above = ABOVE[levels as usize - 1];
        let first = places.take((above + last) * LINE + n as u32) / LINE;
        let cells = first + above + last;
        let (ends, words) = (&content.ends, lines.as_flattened());
        let at = |line: u32| (line * LINE) as usize;
        let rest = std::iter::repeat_n(&u64::MAX, at(last) - ends.len());
        for (separator, end) in
            words[at(first + above)..at(cells)].iter().zip(ends.iter().chain(rest))
        {
            separator.store(*end, Ordering::Relaxed);
        }
        separate(lines, first, levels - 1, last, |before| ends[at(before) - 1]);
        for (word, cell) in words[at(cells)..].iter().zip(&content.cells) {
            word.store(*cell, Ordering::Relaxed);
        }
        Self(Self::new(first, cells, levels).0 | DIRECTORY)
    }

    /// Fills a new block of leaves, which no reader sees yet. Each packed line but the last has an
    /// end.
    pub fn of_leaves(
        lines: &[Line],
        places: &mut SlotAllocator,
        leaves: impl ExactSizeIterator<Item = Packed>,
        ends: &[u64],
        levels: u32,
    ) -> Self {
        let n = leaves.len();
        debug_assert!(n as u32 <= ABOVE[levels as usize + 1] - ABOVE[levels as usize]);
        let first = places.take(Self::size(n, levels)) / LINE;
        let packed = first + ABOVE[levels as usize];
        separate(lines, first, levels, n as u32, |before| ends[before as usize - 1]);
        for (line, leaf) in lines[packed as usize..].iter().zip(leaves) {
            line.iter().zip(leaf.0).for_each(|(word, value)| word.store(value, Ordering::Relaxed));
        }
        Self::new(first, packed + n as u32, levels)
    }

    /// The ends of all packed lines but the last, in order.
    pub fn ends(self, lines: &[Line]) -> impl Iterator<Item = u64> {
        (1..self.leaves().len() as u32).map(move |mut before| {
            // As many levels up as it is a multiple of nine.
            let mut level = self.levels() - 1;
            while before.is_multiple_of(9) {
                before /= 9;
                level -= 1;
            }
            let line = self.lines() + ABOVE[level as usize] + before / 9;
            load(&lines[line as usize][before as usize % 9 - 1])
        })
    }

    /// The content of a directory, for control.
    pub fn row(self, lines: &[Line]) -> Directory<'_> {
        let (words, n) = (lines.as_flattened(), self.len(lines));
        let ends = ((self.lines() + ABOVE[self.levels() as usize - 1]) * LINE) as usize;
        let cells = (self.behind() * LINE) as usize;
        Directory {
            lines,
            block: self,
            ends: &words[ends..ends + n - 1],
            cells: &words[cells..cells + n],
        }
    }

    /// The line that so many levels of separators lead to.
    #[inline(always)]
    fn below<I: Isa>(self, lines: &[Line], key: u64, levels: u32) -> u32 {
        let mut at = self.lines();
        for _ in 0..levels {
            at = child(at, self.lines(), simd::rank::<I>(&lines[at as usize], &key));
        }
        at
    }

    /// The packed line that a key is in.
    #[inline(always)]
    pub fn leaf_of<I: Isa>(self, lines: &[Line], key: u64) -> u32 {
        self.below::<I>(lines, key, self.levels())
    }

    /// The number of a directory's cell, in all words.
    #[inline(always)]
    pub fn cell_of<I: Isa>(self, lines: &[Line], key: u64) -> u32 {
        let last = self.below::<I>(lines, key, self.levels() - 1);
        self.cell_behind(last, simd::rank::<I>(&lines[last as usize], &key))
    }

    #[inline(always)]
    fn cell_behind(self, last: u32, rank: u32) -> u32 {
        (self.behind() + last - self.lines() - ABOVE[(self.levels() as usize - 1) & 7]) * LINE
            + rank
    }
}

/// The separators of `levels` levels over `n` lines behind them; `end` gives the last key before a
/// line.
fn separate(lines: &[Line], first: u32, levels: u32, n: u32, end: impl Fn(u32) -> u64) {
    // From below: how many of the lines behind are below each of a level's children.
    let mut below = 1;
    for level in (0..levels as usize).rev() {
        for node in 0..n.div_ceil(below * 9) {
            for (slot, separator) in (1..).zip(&lines[(first + ABOVE[level] + node) as usize]) {
                let before = (node * 9 + slot) * below;
                separator.store(if before < n { end(before) } else { u64::MAX }, Ordering::Relaxed);
            }
        }
        below *= 9;
    }
}

/// The line below `at` in a block that begins at `first`. The lines of a level are nine times those
/// above it and one more: with `a` lines above, line `first + a + n` has its children from `first +
/// 9 a + 1 + 9 n` on.
#[inline(always)]
fn child(at: u32, first: u32, rank: u32) -> u32 {
    at.wrapping_mul(9).wrapping_add(rank).wrapping_add(1u32.wrapping_sub(first.wrapping_mul(8)))
}

/// The word of this number.
#[inline(always)]
pub(super) fn word(lines: &[Line], number: u32) -> &AtomicU64 {
    &lines[(number / LINE) as usize][(number % LINE) as usize]
}

/// A packed line.
pub(super) fn leaf(line: &Line) -> Packed {
    Packed(std::array::from_fn(|i| load(&line[i])))
}

fn load(word: &AtomicU64) -> u64 {
    word.load(Ordering::Relaxed)
}

/// A directory as control reads it.
pub(super) struct Directory<'a> {
    lines: &'a [Line],
    block: Block,
    ends: &'a [AtomicU64],
    cells: &'a [AtomicU64],
}

impl Directory<'_> {
    /// Replaces a cell. Release: a reader that follows it finds the block behind it filled.
    pub fn set(&self, i: usize, block: Block) {
        self.cells[i].store(block.0, Ordering::Release);
    }

    /// The block of this number.
    pub fn block(&self, i: usize) -> Block {
        Block(load(&self.cells[i]))
    }

    /// All of it.
    pub fn copy(&self) -> Intervals {
        Intervals {
            ends: self.ends.iter().map(load).collect(),
            cells: self.cells.iter().map(load).collect(),
        }
    }

    /// Number of blocks.
    pub fn len(&self) -> usize {
        self.cells.len()
    }

    /// The last key of one that isn't the last.
    pub fn end(&self, i: usize) -> u64 {
        load(&self.ends[i])
    }

    /// The one with this key.
    pub fn find(&self, key: u64) -> usize {
        (self.block.cell_of::<simd::V1>(self.lines, key) - self.block.behind() * LINE) as usize
    }
}

/// Keys searched for between two tests of the end.
pub(super) const AT_ONCE: usize = 4;
/// Keys that take a level together: enough for their loads to overlap.
pub(super) const CHUNK: usize = 64;

/// One level further in the block that begins at `first`, for each key: `at` is the line that it is
/// at, and becomes the one below. In passes over all keys, so that their loads overlap. Lengths are
/// multiples of [`AT_ONCE`], and [`CHUNK`] at most.
#[inline(always)]
pub(super) fn descend<I: Isa>(lines: &[Line], keys: &[u64], at: &mut [u32], first: u32) {
    let groups = at.as_chunks_mut::<AT_ONCE>().0.iter_mut().zip(keys.as_chunks::<AT_ONCE>().0);
    for (at, keys) in groups {
        for i in 0..AT_ONCE {
            at[i] = child(at[i], first, simd::rank::<I>(&lines[at[i] as usize], &keys[i]));
        }
    }
}

/// From the first line of a block of leaves below a directory, another one for each key, to the
/// packed line. As [`descend`].
#[inline(always)]
pub(super) fn descend_to_leaves<I: Isa>(lines: &[Line], keys: &[u64], at: &mut [u32]) {
    const _: () = assert!(LEVELS == 2);
    // The first packed line below that of the second level.
    let mut packed = [0; CHUNK];
    let groups = || keys.as_chunks::<AT_ONCE>().0.iter();
    for ((at, packed), keys) in
        at.as_chunks_mut().0.iter_mut().zip(packed.as_chunks_mut().0).zip(groups())
    {
        let (at, packed): (&mut [u32; AT_ONCE], &mut [u32; AT_ONCE]) = (at, packed);
        for i in 0..AT_ONCE {
            let rank = simd::rank::<I>(&lines[at[i] as usize], &keys[i]);
            packed[i] = at[i] + ABOVE[2] + rank * 9;
            at[i] += ABOVE[1] + rank;
        }
    }
    for ((at, packed), keys) in
        at.as_chunks_mut().0.iter_mut().zip(packed.as_chunks().0).zip(groups())
    {
        let (at, packed): (&mut [u32; AT_ONCE], &[u32; AT_ONCE]) = (at, packed);
        for i in 0..AT_ONCE {
            at[i] = packed[i] + simd::rank::<I>(&lines[at[i] as usize], &keys[i]);
        }
    }
}

/// From the line of a directory's last level to the cell's number in all words.
#[inline(always)]
pub(super) fn read_leaves<I: Isa>(lines: &[Line], keys: &[u64], at: &mut [u32], directory: Block) {
    let groups = at.as_chunks_mut::<AT_ONCE>().0.iter_mut().zip(keys.as_chunks::<AT_ONCE>().0);
    for (at, keys) in groups {
        for i in 0..AT_ONCE {
            at[i] = directory.cell_behind(at[i], simd::rank::<I>(&lines[at[i] as usize], &keys[i]));
        }
    }
}
