// SPDX-License-Identifier: Apache-2.0
//! Longest prefix match by search among the intervals that the prefixes cut the keys into.
//!
//! A B+-tree whose nodes are cache lines (Zhang and others 2026, "PlanB"), in blocks: a block of up to 649 intervals is three
//! implicit levels without pointers. A small table is one block of one to three levels; a large one has a directory, a block
//! whose cells are blocks. A change that moves a boundary writes one or two blocks anew and replaces them by one store each;
//! any other change writes cells in place. What was replaced is used again after a grace period.
//!
//! Keys are 64 bits. The rest of a longer one is looked up in a tree of its own, which the cell of the first 64 names; so
//! only prefixes that are longer cost a second search.

use super::block::{Block, Line, ROOM, arrive, descend, word};
use super::engine::{BATCH, Change, Engine, Refused};
use super::forest::{Control, Forest};
use super::intervals::{Brush, DOWN, Intervals, Plan, Row, leaf};
use super::places::LINE;
use super::{Key, Leaf};
use simd::Isa;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Levels of the blocks of a directory.
const LEVELS: u32 = 3;
/// Intervals of such a block: less than there is room for, since a change copies half of them on average, and a million
/// routes still find room below a directory of four levels.
const MAX: usize = 433;
const _: () = assert!(MAX <= ROOM[LEVELS as usize]);

/// The tree of one table.
pub struct Tree {
    forest: Arc<Forest>,
    /// The word that holds the [`Block`] at the top.
    root: u32,
}

fn top(lines: &[Line], root: u32) -> Block {
    Block(word(lines, root).load(Ordering::Acquire))
}

/// The word of the tree that a cell names.
fn down(cell: u64) -> u32 {
    (cell & (DOWN - 1)) as u32
}

/// The cell of one key.
#[inline(always)]
fn find<I: Isa>(lines: &[Line], root: u32, key: u64) -> u64 {
    let mut block = Block(word(lines, root).load(Ordering::Acquire));
    loop {
        let at = block.cells() * LINE + block.rank::<I>(lines, key);
        let cell = word(lines, at).load(Ordering::Acquire);
        if !block.is_directory() {
            return cell;
        }
        block = Block(cell);
    }
}

/// The cell of each of the first `n` keys, to `put`. Behind these may be anything.
#[inline(always)]
fn find_all<I: Isa>(
    lines: &[Line],
    root: u32,
    keys: &[u64; BATCH],
    n: usize,
    mut put: impl FnMut(usize, u64),
) {
    let top = Block(word(lines, root).load(Ordering::Acquire));
    let (mut at, mut blocks) = ([top.lines(); BATCH], [0; BATCH]);
    let whole = n.next_multiple_of(4).min(BATCH);
    let (at, blocks, keys) = (&mut at[..whole], &mut blocks[..whole], &keys[..whole]);
    for _ in 1..top.levels() {
        descend::<I>(lines, keys, at, |_| top.lines());
    }
    arrive::<I>(lines, keys, at, |_| top);
    if top.is_directory() {
        for (block, at) in blocks.iter_mut().zip(&mut *at) {
            *block = word(lines, *at).load(Ordering::Acquire);
            *at = Block(*block).lines();
        }
        for _ in 1..LEVELS {
            descend::<I>(lines, keys, at, |i| Block(blocks[i]).lines());
        }
        arrive::<I>(lines, keys, at, |i| Block(blocks[i]));
    }
    for (i, at) in at[..n].iter().enumerate() {
        put(i, word(lines, *at).load(Ordering::Acquire));
    }
}

impl Tree {
    /// A tree that answers [`Leaf::NONE`] everywhere.
    ///
    /// # Errors
    /// A full forest.
    pub fn new(forest: &Arc<Forest>) -> Result<Self, Refused> {
        let mut control = forest.control();
        let root = Edit { lines: forest.lines.as_slice(), control: &mut control }.plant(0)?;
        drop(control);
        Ok(Self { forest: forest.clone(), root })
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        let lines = self.forest.lines.as_slice();
        Edit { lines, control: &mut self.forest.control() }.fell(self.root);
    }
}

/// A change in progress.
struct Edit<'a> {
    lines: &'a [Line],
    control: &'a mut Control,
}

impl Edit<'_> {
    /// Whether blocks for a change to this tree are sure to be there.
    fn room(&self, root: u32) -> bool {
        let top = top(self.lines, root);
        let directory = if top.is_directory() { top.words(self.lines) } else { 0 };
        // Two blocks that split and a directory for each, and a new tree.
        self.control.places.room(6 * Block::size(MAX, LEVELS) + 2 * directory + 64 * LINE)
    }

    /// A new tree with one cell.
    fn plant(&mut self, cell: u64) -> Result<u32, Refused> {
        if !self.control.places.room(4 * LINE) {
            return Err(Refused::Full);
        }
        let content = Intervals { ends: Vec::new(), cells: vec![cell] };
        let block = Block::make(self.lines, &mut self.control.places, &content, 1, false);
        let root = self.control.places.take(1);
        word(self.lines, root).store(block.0, Ordering::Release);
        Ok(root)
    }

    /// Gives a tree back, with those below it. Nobody can find it any more.
    fn fell(&mut self, root: u32) {
        let top = top(self.lines, root);
        for block in blocks(self.lines, top) {
            let row = block.row(self.lines);
            for cell in (0..row.len()).map(|i| row.cell(i)).filter(|cell| cell & DOWN != 0) {
                self.fell(down(cell));
            }
            self.give(block);
        }
        if top.is_directory() {
            self.give(top);
        }
        self.control.places.give(root, 1);
    }

    fn give(&mut self, block: Block) {
        self.control.places.give(block.lines() * LINE, block.words(self.lines));
    }

    fn make(&mut self, content: &Intervals, levels: u32, directory: bool) -> Block {
        Block::make(self.lines, &mut self.control.places, content, levels, directory)
    }

    /// Paints the keys from `first` to `last`, and all of the trees below them unless these are painted over.
    fn paint(&mut self, root: u32, first: u64, last: u64, brush: Brush) {
        let grow = self.room(root);
        let top = top(self.lines, root);
        let (from, to) = if top.is_directory() {
            let row = top.row(self.lines);
            (row.find(first), row.find(last))
        } else {
            (0, 0)
        };
        let mut below = Vec::new();
        // From behind, so that what is split or joined moves nobody who is still to come.
        for index in (from..=to).rev() {
            self.paint_block(root, index, (first, last), brush, grow, &mut below);
        }
        for root in below {
            self.paint(root, 0, u64::MAX, brush);
        }
    }

    fn paint_block(
        &mut self,
        root: u32,
        index: usize,
        (first, last): (u64, u64),
        brush: Brush,
        grow: bool,
        below: &mut Vec<u32>,
    ) {
        let top = top(self.lines, root);
        let (mut bounds, mut block) = ((0, u64::MAX), top);
        if top.is_directory() {
            let row = top.row(self.lines);
            bounds.0 = index.checked_sub(1).map_or(0, |before| row.end(before) + 1);
            bounds.1 = if index + 1 < row.len() { row.end(index) } else { u64::MAX };
            block = Block(row.cell(index));
        }
        let row = block.row(self.lines);
        let plan = Plan::new(&row, bounds, first, last, brush);
        if let Brush::UpTo(..) = brush {
            let cells = (plan.lo..=plan.hi).map(|i| row.cell(i));
            below.extend(cells.filter(|cell| cell & DOWN != 0).map(down));
        }
        if plan.in_place() || !grow {
            for i in plan.lo..=plan.hi {
                let (old, new) = (row.cell(i), brush.on(row.cell(i)));
                if new != old {
                    row.set(i, new);
                }
            }
            return;
        }
        let mut content = std::mem::take(&mut self.control.scratch);
        plan.paint(&row, brush, &mut content);
        if top.is_directory() {
            self.replace_in(root, top, index, block, &mut content, plan.hi);
        } else {
            let new = if content.cells.len() <= MAX {
                self.make(&content, Block::levels_for(content.cells.len()), false)
            } else {
                let (end, halves) = self.split(&content, plan.hi);
                let directory = Intervals { ends: vec![end], cells: halves.map(|half| half.0).to_vec() };
                self.make(&directory, 1, true)
            };
            self.publish(root, new);
            self.give(block);
        }
        self.control.scratch = content;
    }

    /// Release: who finds the block finds it filled.
    fn publish(&self, root: u32, block: Block) {
        word(self.lines, root).store(block.0, Ordering::Release);
    }

    /// Two blocks for one, and where the first ends. `at` is where the content grew: who adds in ascending order leaves full
    /// blocks behind.
    fn split(&mut self, content: &Intervals, at: usize) -> (u64, [Block; 2]) {
        let n = content.cells.len();
        let middle = if at + 8 > n { n - n / 16 } else { n / 2 };
        let part = |ends: &[u64], cells: &[u64]| Intervals { ends: ends.to_vec(), cells: cells.to_vec() };
        let first = part(&content.ends[..middle - 1], &content.cells[..middle]);
        let second = part(&content.ends[middle..], &content.cells[middle..]);
        (content.ends[middle - 1], [first, second].map(|half| self.make(&half, LEVELS, false)))
    }

    /// Puts new content in the place of a block of a directory.
    fn replace_in(
        &mut self,
        root: u32,
        top: Block,
        index: usize,
        old: Block,
        content: &mut Intervals,
        at: usize,
    ) {
        let row = top.row(self.lines);
        let n = content.cells.len();
        let mut directory = Intervals::default();
        if n > MAX {
            let (end, [first, second]) = self.split(content, at);
            row.copy(&mut directory);
            directory.ends.insert(index, end);
            directory.cells[index] = first.0;
            directory.cells.insert(index + 1, second.0);
        } else if n < MAX / 4
            && let Some((left, other)) = self.partner(&row, index, n)
        {
            row.copy(&mut directory);
            let end = directory.ends.remove(left);
            directory.cells.remove(left);
            let mut theirs = Intervals::default();
            other.row(self.lines).copy(&mut theirs);
            let content = std::mem::take(content);
            let (mut both, behind) = if left == index { (content, theirs) } else { (theirs, content) };
            join(&mut both, end, behind);
            if directory.cells.len() == 1 {
                let levels = Block::levels_for(both.cells.len());
                let block = self.make(&both, levels, false);
                self.publish(root, block);
                [old, other, top].into_iter().for_each(|block| self.give(block));
                return;
            }
            directory.cells[left] = self.make(&both, LEVELS, false).0;
            self.give(other);
        } else {
            let new = self.make(content, LEVELS, false);
            row.set(index, new.0);
            return self.give(old);
        }
        let levels = Block::levels_for(directory.cells.len());
        let new = self.make(&directory, levels, true);
        self.publish(root, new);
        self.give(old);
        self.give(top);
    }

    /// A neighbour that a block of `n` intervals fits in with: the index of the left of the two, and the neighbour.
    fn partner(&self, directory: &impl Row, index: usize, n: usize) -> Option<(usize, Block)> {
        let fits = |block: &Block| block.row(self.lines).len() + n <= MAX * 3 / 4;
        let at = |i: usize| Some(Block(directory.cell(i))).filter(fits);
        let right = || if index + 1 < directory.len() { at(index + 1) } else { None };
        let left = || index.checked_sub(1).and_then(|left| Some((left, at(left)?)));
        right().map(|other| (index, other)).or_else(left)
    }
}

/// One row of two; the first ends at `end`.
fn join(before: &mut Intervals, end: u64, behind: Intervals) {
    if before.cells.last() == behind.cells.first() {
        before.cells.pop();
    } else {
        before.ends.push(end);
    }
    before.ends.extend(behind.ends);
    before.cells.extend(behind.cells);
}

/// The blocks with leaves.
fn blocks(lines: &[Line], top: Block) -> Vec<Block> {
    if !top.is_directory() {
        return vec![top];
    }
    let row = top.row(lines);
    (0..row.len()).map(|i| Block(row.cell(i))).collect()
}

/// What a key is to a tree: its first 64 bits, and those behind them.
pub trait Halves: Key {
    /// The first 64 bits; what isn't there is zero.
    fn high(self) -> u64;
    /// The rest.
    fn low(self) -> u64;
}

impl Halves for u32 {
    #[inline(always)]
    fn high(self) -> u64 {
        u64::from(self) << 32
    }
    #[inline(always)]
    fn low(self) -> u64 {
        0
    }
}

impl Halves for u128 {
    #[inline(always)]
    fn high(self) -> u64 {
        (self >> 64) as u64
    }
    #[inline(always)]
    fn low(self) -> u64 {
        self as u64
    }
}

/// The last of the keys that begin with the first `len` bits of this.
fn last(key: u64, len: u8) -> u64 {
    key | u64::MAX.checked_shr(len.into()).unwrap_or(0)
}

impl<K: Halves> Engine<K> for Tree {
    #[inline(always)]
    fn lookup(&self, key: K) -> Leaf {
        leaf(Engine::<K>::cell(self, key))
    }

    #[inline(always)]
    fn cell(&self, key: K) -> u64 {
        let lines = self.forest.lines.as_slice();
        let cell = find::<simd::V1>(lines, self.root, key.high());
        if K::BITS > 64 && cell & DOWN != 0 {
            return find::<simd::V1>(lines, down(cell), key.low());
        }
        cell
    }

    #[inline(always)]
    fn leaves<I: Isa, const ROUTES: bool>(&self, keys: &[K], hops: &mut [u32], routes: &mut [u32]) {
        let lines = self.forest.lines.as_slice();
        let mut high = [0; BATCH];
        for (high, key) in high.iter_mut().zip(keys) {
            *high = key.high();
        }
        let mut any = 0;
        find_all::<I>(lines, self.root, &high, keys.len(), |i, cell| {
            let leaf = leaf(cell);
            any |= leaf.hop;
            hops[i] = leaf.hop;
            if ROUTES {
                routes[i] = leaf.route;
            }
        });
        if K::BITS > 64 && any & DOWN as u32 != 0 {
            for (i, key) in keys.iter().enumerate() {
                if hops[i] & DOWN as u32 != 0 {
                    let leaf = leaf(find::<I>(lines, down(hops[i].into()), key.low()));
                    hops[i] = leaf.hop;
                    if ROUTES {
                        routes[i] = leaf.route;
                    }
                }
            }
        }
    }

    fn paint(&self, change: &Change<K>) -> Result<(), Refused> {
        let Change { key, len, brush, shrinks } = *change;
        let mut control = self.forest.control();
        let mut edit = Edit { lines: self.forest.lines.as_slice(), control: &mut control };
        if !shrinks && !edit.room(self.root) {
            return Err(Refused::Full);
        }
        let high = key.high();
        if len <= 64 {
            edit.paint(self.root, high, last(high, len), brush);
            return Ok(());
        }
        let cell = find::<simd::V1>(edit.lines, self.root, high);
        let there = cell & DOWN != 0;
        let root = if there { down(cell) } else { edit.plant(cell)? };
        edit.paint(root, key.low(), last(key.low(), len - 64), brush);
        let below = top(edit.lines, root);
        if !there {
            edit.paint(self.root, high, high, Brush::All(DOWN | u64::from(root)));
        } else if !below.is_directory() && below.row(edit.lines).len() == 1 {
            let cell = below.row(edit.lines).cell(0);
            edit.paint(self.root, high, high, Brush::All(cell));
            edit.fell(root);
        }
        Ok(())
    }

    fn memory(&self) -> usize {
        fn of(lines: &[Line], root: u32) -> u32 {
            let top = top(lines, root);
            let of_block = |block: Block| {
                let row = block.row(lines);
                let below = (0..row.len()).map(|i| row.cell(i)).filter(|cell| cell & DOWN != 0);
                block.words(lines) + below.map(|cell| of(lines, down(cell))).sum::<u32>()
            };
            let directory = if top.is_directory() { top.words(lines) } else { 0 };
            2 + directory + blocks(lines, top).into_iter().map(of_block).sum::<u32>()
        }
        let control = self.forest.control();
        let words = of(self.forest.lines.as_slice(), self.root);
        drop(control);
        words as usize * size_of::<u64>()
    }
}
