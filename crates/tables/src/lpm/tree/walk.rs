// SPDX-License-Identifier: Apache-2.0
//! The intervals of a tree in order, for control.

use super::{Tree, top};
use crate::lpm::block::{self, Block, Directory};
use crate::lpm::intervals::Intervals;
use crate::lpm::packed::Line;
use std::ops::Range;

/// Goes through the intervals of a tree: the cell and the last key of each.
pub(in crate::lpm) struct Walk<'a> {
    lines: &'a [Line],
    directory: Option<Directory<'a>>,
    /// The number of the block that comes next.
    next: usize,
    /// The packed lines of this block that come next, and where each ends.
    leaves: Range<u32>,
    ends: std::vec::IntoIter<u64>,
    /// The intervals of the line before them.
    row: Intervals,
    at: usize,
}

impl Tree {
    /// Begins with the interval of `key`. Nothing may change the tree meanwhile.
    pub(in crate::lpm) fn walk(&self, key: u64) -> Walk<'_> {
        let lines = self.forest.lines.as_slice();
        let top = top(lines, self.root);
        let directory = top.is_directory().then(|| top.row(lines));
        let mut walk = Walk {
            lines,
            next: directory.as_ref().map_or(0, |row| row.find(key)),
            directory,
            leaves: 0..0,
            ends: Vec::new().into_iter(),
            row: Intervals::default(),
            at: 0,
        };
        walk.open(walk.block(walk.next).unwrap_or(top));
        let before = walk.ends.as_slice().partition_point(|end| *end < key);
        if before > 0 {
            walk.leaves.nth(before - 1);
            walk.ends.nth(before - 1);
        }
        walk.unpack();
        walk.at = walk.row.find(key);
        walk
    }
}

impl Walk<'_> {
    /// The block of a directory, if it has one of this number.
    fn block(&self, number: usize) -> Option<Block> {
        self.directory.as_ref().filter(|row| number < row.len()).map(|row| row.block(number))
    }

    fn open(&mut self, block: Block) {
        let end = self.directory.as_ref().filter(|row| self.next + 1 < row.len());
        let end = end.map_or(u64::MAX, |row| row.end(self.next));
        self.leaves = block.leaves();
        self.ends = block.ends(self.lines).chain([end]).collect::<Vec<u64>>().into_iter();
        self.next += 1;
    }

    /// Goes on to the next line of the block, if there is one.
    fn unpack(&mut self) -> bool {
        let (Some(line), Some(end)) = (self.leaves.next(), self.ends.next()) else { return false };
        self.row.clear();
        block::leaf(&self.lines[line as usize]).unpack(&mut self.row);
        self.row.ends.push(end);
        self.at = 0;
        true
    }
}

impl Iterator for Walk<'_> {
    type Item = (u64, u64);

    fn next(&mut self) -> Option<(u64, u64)> {
        if self.at == self.row.len() && !self.unpack() {
            let block = self.block(self.next)?;
            self.open(block);
            self.unpack();
        }
        let at = self.at;
        self.at += 1;
        Some((self.row.cell(at), self.row.end(at)))
    }
}
