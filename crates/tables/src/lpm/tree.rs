// SPDX-License-Identifier: Apache-2.0
//! Longest prefix match by search among the intervals that the prefixes cut the keys into.
//!
//! A B+-tree whose nodes are cache lines (Zhang and others 2026, "PlanB"), in blocks: a block of
//! leaves is two implicit levels without pointers above up to 64 packed lines. A small table is one
//! such block; a large one has a directory, a block whose cells are blocks. A change that moves a
//! boundary packs the lines around it anew, copies the others of their block, and replaces one or
//! two blocks by one store each; any other change writes cells in place. Replaced blocks are used
//! again after a grace period.
//!
//! Keys are 64 bits. The rest of a longer one is looked up in a tree of its own, which the cell of
//! the first 64 names; so only prefixes that are longer cost a second search.

mod batch;
mod split_key;
mod stroke;
mod walk;

pub use split_key::SplitKey;
pub(super) use split_key::last;

use super::Leaf;
use super::block::{
    self, AT_ONCE, BLOCKS, Block, CHUNK, Directory, LEVELS, MAX, descend, descend_to_leaves,
    read_leaves, word,
};
use super::draft::Draft;
use super::engine::{Change, Engine, LookupArrays, Refused};
use super::forest::{Control, Forest, Scratch};
use super::intervals::{Brush, DOWN, Intervals, Plan, leaf};
use super::packed::{self, Line, Packed};
use super::slot_alloc::LINE;
use simd::Isa;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use stroke::{Open, Stroke};

/// The tree of one table.
pub struct Tree {
    forest: Arc<Forest>,
    /// The word that holds the [`Block`] at the top.
    root: u32,
}

#[inline(always)]
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
    let mut block = top(lines, root);
    if block.is_directory() {
        block = Block(word(lines, block.cell_of::<I>(lines, key)).load(Ordering::Acquire));
    }
    packed::cell::<I>(&lines[block.leaf_of::<I>(lines, key) as usize], key)
}

/// The packed line of each of at most [`CHUNK`] keys.
#[inline(always)]
fn lines_of<I: Isa>(lines: &[Line], top: Block, keys: &[u64], at: &mut [u32]) {
    at.fill(top.lines());
    if top.is_directory() {
        for _ in 1..top.levels() {
            descend::<I>(lines, keys, at, top.lines());
        }
        read_leaves::<I>(lines, keys, at, top);
        for at in &mut *at {
            *at = Block(word(lines, *at).load(Ordering::Acquire)).lines();
        }
        descend_to_leaves::<I>(lines, keys, at);
    } else {
        for _ in 0..top.levels() {
            descend::<I>(lines, keys, at, top.lines());
        }
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

    /// The cell of one key.
    #[inline(always)]
    pub(super) fn find<I: Isa, K: SplitKey>(&self, key: K) -> u64 {
        let lines = self.forest.lines.as_slice();
        let cell = find::<I>(lines, self.root, key.high());
        if K::BITS > 64 && cell & DOWN != 0 {
            return find::<I>(lines, down(cell), key.low());
        }
        cell
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
    /// Returns true if blocks for a change to this tree are sure to be available.
    fn room(&self, root: u32) -> bool {
        let top = top(self.lines, root);
        let (directory, blocks) = match top.is_directory() {
            true => (top.words(self.lines), top.row(self.lines).len()),
            false => (0, 1),
        };
        // Two blocks that split and a directory for each, and a new tree.
        blocks + 2 <= BLOCKS
            && self.control.places.room(6 * Block::size(MAX, LEVELS) + 2 * directory + 64 * LINE)
    }

    /// A new tree with one cell.
    fn plant(&mut self, cell: u64) -> Result<u32, Refused> {
        if !self.control.places.room(4 * LINE) {
            return Err(Refused::Full);
        }
        let line = std::iter::once(Packed::new(&[], &[cell]).0);
        let block = Block::of_leaves(self.lines, &mut self.control.places, line, &[], 0);
        let root = self.control.places.take(1);
        word(self.lines, root).store(block.0, Ordering::Release);
        Ok(root)
    }

    /// Gives a tree back, with the trees below it. No reader can find it any more.
    fn fell(&mut self, root: u32) {
        let top = top(self.lines, root);
        for block in blocks(self.lines, top) {
            for root in trees_below(self.lines, block) {
                self.fell(root);
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

    /// A block of some lines of a draft.
    fn make(&mut self, draft: &Draft, range: Range<usize>, levels: u32) -> Block {
        let ends = &draft.ends()[range.start..range.end - 1];
        Block::of_leaves(
            self.lines,
            &mut self.control.places,
            draft.lines(self.lines, range),
            ends,
            levels,
        )
    }

    fn directory(&mut self, content: &Intervals) -> Block {
        Block::directory(self.lines, &mut self.control.places, content)
    }

    /// Makes one change to a tree.
    fn change<K: SplitKey>(&mut self, root: u32, change: &Change<K>) -> Result<(), Refused> {
        let Change { key, len, brush, shrinks } = *change;
        if !shrinks && !self.room(root) {
            return Err(Refused::Full);
        }
        let high = key.high();
        if len <= 64 {
            self.paint(root, high, last(high, len), brush);
            return Ok(());
        }
        let cell = find::<simd::V1>(self.lines, root, high);
        let there = cell & DOWN != 0;
        let below = if there { down(cell) } else { self.plant(cell)? };
        self.paint(below, key.low(), last(key.low(), len - 64), brush);
        if !there {
            self.paint(root, high, high, Brush::All(DOWN | u64::from(below)));
        } else if let Some(cell) = only_cell(self.lines, top(self.lines, below)) {
            self.paint(root, high, high, Brush::All(cell));
            self.fell(below);
        }
        Ok(())
    }

    /// Paints the keys from `first` to `last`, and all of the trees below them unless these are
    /// painted over.
    fn paint(&mut self, root: u32, first: u64, last: u64, brush: Brush) {
        let stroke = Stroke { first, last, brush, grow: self.room(root) };
        let top = top(self.lines, root);
        let (from, to) = if top.is_directory() {
            let row = top.row(self.lines);
            (row.find(first), row.find(last))
        } else {
            (0, 0)
        };
        let mut below = Vec::new();
        // Kept for its memory.
        let mut scratch = std::mem::take(&mut self.control.scratch);
        // From behind, so that a split or join moves no block that is still to come.
        for index in (from..=to).rev() {
            self.paint_block(root, index, stroke, &mut below, &mut scratch);
        }
        self.control.scratch = scratch;
        for root in below {
            self.paint(root, 0, u64::MAX, brush);
        }
    }

    /// Paints a stroke as far as it lies in the block of this number, and adds the trees below it
    /// to a list.
    fn paint_block(
        &mut self,
        root: u32,
        index: usize,
        stroke: Stroke,
        below: &mut Vec<u32>,
        scratch: &mut Scratch,
    ) {
        let open = self.open(root, index);
        scratch.draft.begin(self.lines, open.block);
        let (window, plan, at_end) = self.plan(&open, stroke, scratch);
        below.extend(scratch.below(&plan, stroke.brush));
        if plan.in_place() || !stroke.grow {
            return self.paint_in_place(open.block, window.start, &plan, stroke.brush);
        }
        scratch.redraw(window, &plan, stroke.brush);
        self.close(root, &open, &mut scratch.draft, at_end);
    }

    /// The block of this number.
    fn open(&self, root: u32, index: usize) -> Open {
        let top = top(self.lines, root);
        if !top.is_directory() {
            return Open { index, block: top, bounds: (0, u64::MAX) };
        }
        let row = top.row(self.lines);
        let first = index.checked_sub(1).map_or(0, |before| row.end(before) + 1);
        let last = if index + 1 < row.len() { row.end(index) } else { u64::MAX };
        Open { index, block: row.block(index), bounds: (first, last) }
    }

    /// Plans a stroke on a block whose lines are drafted: which of them it changes (their intervals
    /// are in the row then), how, and whether that is at the block's end.
    fn plan(
        &self,
        open: &Open,
        stroke: Stroke,
        scratch: &mut Scratch,
    ) -> (Range<usize>, Plan, bool) {
        let (Stroke { first, last, brush, .. }, mut bounds) = (stroke, open.bounds);
        let Scratch { draft, row, .. } = scratch;
        // The lines that are painted, and one more on each side, whose interval may become one with
        // theirs.
        let (lo, hi) = (draft.find(first.max(bounds.0)), draft.find(last.min(bounds.1)));
        let window = lo.saturating_sub(1)..(hi + 2).min(draft.len());
        if window.start > 0 {
            bounds.0 = draft.ends()[window.start - 1] + 1;
        }
        if window.end < draft.len() {
            bounds.1 = draft.ends()[window.end - 1];
        }
        draft.unpack(self.lines, window.clone(), row);
        let at_end = hi + 1 == draft.len();
        (window, Plan::new(row, bounds, first, last, brush), at_end)
    }

    /// Puts a draft in the place of its block.
    fn close(&mut self, root: u32, open: &Open, draft: &mut Draft, at_end: bool) {
        let top = top(self.lines, root);
        if top.is_directory() {
            return self.replace_in(root, top, open.index, open.block, draft, at_end);
        }
        let n = draft.len();
        let new = if n <= MAX {
            self.make(draft, 0..n, Block::levels_for(n))
        } else {
            let (end, split_key) = self.split(draft, at_end);
            self.directory(&Intervals {
                ends: vec![end],
                cells: split_key.map(|half| half.0).to_vec(),
            })
        };
        self.publish(root, new);
        self.give(open.block);
    }

    /// Paints part of what begins at this line of a block, where it is.
    fn paint_in_place(&self, block: Block, line: usize, plan: &Plan, brush: Brush) {
        let mut i = 0;
        for line in block.leaves().skip(line) {
            let line = &self.lines[line as usize];
            for (at, old) in block::leaf(line).cells().iter().enumerate() {
                let new = brush.on(*old);
                if (plan.lo..=plan.hi).contains(&i) && new != *old {
                    packed::set(line, at, new);
                }
                i += 1;
            }
            if i > plan.hi {
                return;
            }
        }
    }

    /// Makes a block the tree's top. Release: a reader that finds the block finds it filled.
    fn publish(&self, root: u32, block: Block) {
        word(self.lines, root).store(block.0, Ordering::Release);
    }

    /// Two blocks for one, and where the first ends. A table that is filled in ascending order, and
    /// so grows at its end, leaves full blocks behind.
    fn split(&mut self, draft: &Draft, at_end: bool) -> (u64, [Block; 2]) {
        let n = draft.len();
        let middle = if at_end { n - n / 16 } else { n / 2 };
        let split_key = [0..middle, middle..n].map(|half| self.make(draft, half, LEVELS));
        (draft.ends()[middle - 1], split_key)
    }

    /// Puts a draft in the place of a block of a directory.
    fn replace_in(
        &mut self,
        root: u32,
        top: Block,
        index: usize,
        old: Block,
        draft: &mut Draft,
        at_end: bool,
    ) {
        let row = top.row(self.lines);
        let n = draft.len();
        let mut joined = None;
        let mut directory;
        if n > MAX {
            let (end, [first, second]) = self.split(draft, at_end);
            directory = row.copy();
            directory.ends.insert(index, end);
            directory.cells[index] = first.0;
            directory.cells.insert(index + 1, second.0);
        } else if n < MAX / 4
            && let Some((left, other)) = partner(&row, index, n)
        {
            directory = row.copy();
            let end = directory.ends.remove(left);
            directory.cells.remove(left);
            if left == index {
                draft.append(self.lines, end, other);
            } else {
                draft.prepend(self.lines, end, other);
            }
            let (n, alone) = (draft.len(), directory.cells.len() == 1);
            let both = self.make(draft, 0..n, if alone { Block::levels_for(n) } else { LEVELS });
            joined = Some(other);
            if alone {
                self.publish(root, both);
                return [old, other, top].into_iter().for_each(|block| self.give(block));
            }
            directory.cells[left] = both.0;
        } else {
            let new = self.make(draft, 0..n, LEVELS);
            row.set(index, new);
            return self.give(old);
        }
        let new = self.directory(&directory);
        self.publish(root, new);
        // Not before: the grace period of what was given begins when something is taken, which the
        // new directory does.
        [Some(old), joined, Some(top)].into_iter().flatten().for_each(|block| self.give(block));
    }
}

/// A neighbour that a block of `n` lines fits in with: the index of the left of the two, and the
/// neighbour.
fn partner(directory: &Directory<'_>, index: usize, n: usize) -> Option<(usize, Block)> {
    let fits = |block: &Block| block.leaves().len() + n <= MAX * 3 / 4;
    let at = |i: usize| Some(directory.block(i)).filter(fits);
    let right = || if index + 1 < directory.len() { at(index + 1) } else { None };
    let left = || index.checked_sub(1).and_then(|left| Some((left, at(left)?)));
    right().map(|other| (index, other)).or_else(left)
}

/// The blocks with leaves.
fn blocks(lines: &[Line], top: Block) -> Vec<Block> {
    if !top.is_directory() {
        return vec![top];
    }
    let row = top.row(lines);
    (0..row.len()).map(|i| row.block(i)).collect()
}

/// The trees that a block's cells name.
fn trees_below(lines: &[Line], block: Block) -> impl Iterator<Item = u32> {
    let cells = |line: u32| {
        let line = block::leaf(&lines[line as usize]);
        (0..line.cells().len()).map(move |i| line.cells()[i])
    };
    block.leaves().flat_map(cells).filter(|cell| cell & DOWN != 0).map(down)
}

/// The cell of a tree that has one.
fn only_cell(lines: &[Line], top: Block) -> Option<u64> {
    if top.is_directory() || top.leaves().len() > 1 {
        return None;
    }
    match block::leaf(&lines[top.leaves().start as usize]).cells() {
        [cell] => Some(*cell),
        _ => None,
    }
}

impl<K: SplitKey> Engine<K> for Tree {
    #[inline(always)]
    fn lookup(&self, key: K) -> Leaf {
        leaf(Engine::<K>::cell(self, key))
    }

    #[inline(always)]
    fn cell(&self, key: K) -> u64 {
        self.find::<simd::V1, K>(key)
    }

    #[inline(always)]
    fn arrays(&self) -> LookupArrays<'_> {
        LookupArrays { nodes: &[], words: self.forest.lines.as_slice().as_flattened() }
    }

    #[inline(always)]
    fn locate<I: Isa>(&self, keys: &[K], places: &mut [u32]) {
        let lines = self.forest.lines.as_slice();
        let top = top(lines, self.root);
        for (keys, places) in keys.chunks(CHUNK).zip(places.chunks_mut(CHUNK)) {
            let (mut high, mut at) = ([0; CHUNK], [0; CHUNK]);
            for (high, key) in high.iter_mut().zip(keys) {
                *high = key.high();
            }
            let whole = keys.len().next_multiple_of(AT_ONCE).min(CHUNK);
            lines_of::<I>(lines, top, &high[..whole], &mut at[..whole]);
            for (place, at) in places.iter_mut().zip(at) {
                *place = at * LINE;
            }
        }
    }

    #[inline(always)]
    fn read_leaves<I: Isa, const ROUTES: bool>(
        &self,
        keys: &[K],
        hops: &mut [u32],
        routes: &mut [u32],
    ) {
        let lines = self.forest.lines.as_slice();
        let mut any = 0;
        for (i, (hop, key)) in hops.iter_mut().zip(keys).enumerate() {
            let leaf = leaf(packed::cell::<I>(&lines[(*hop / LINE) as usize], key.high()));
            any |= leaf.hop;
            *hop = leaf.hop;
            if ROUTES {
                routes[i] = leaf.route;
            }
        }
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

    #[inline(always)]
    fn resolve(&self, _: &mut [u32]) {}

    fn paint(&self, change: &Change<K>) -> Result<(), Refused> {
        let mut control = self.forest.control();
        Edit { lines: self.forest.lines.as_slice(), control: &mut control }
            .change(self.root, change)
    }

    fn paint_all(&self, changes: &[Change<K>]) -> Result<(), (usize, Refused)> {
        self.paint_sorted(changes)
    }

    fn memory(&self) -> usize {
        fn of(lines: &[Line], root: u32) -> u32 {
            let top = top(lines, root);
            let of_block = |block: Block| {
                block.words(lines)
                    + trees_below(lines, block).map(|root| of(lines, root)).sum::<u32>()
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
