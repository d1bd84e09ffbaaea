// SPDX-License-Identifier: Apache-2.0
//! Packed lines in a row, for a block that is being made: lines of old blocks, and new ones.

use super::block::{Block, leaf};
use super::intervals::Intervals;
use super::packed::Line;
use super::packed::Packed;
use std::ops::Range;

#[derive(Clone, Copy)]
enum LineRef {
    Old(u32),
    New(usize),
}

/// Lines, each but the last with its last key.
#[derive(Default)]
pub(super) struct Draft {
    places: Vec<LineRef>,
    ends: Vec<u64>,
    new: Vec<Packed>,
}

impl Draft {
    /// Starts with nothing but the lines of a block.
    pub fn begin(&mut self, lines: &[Line], block: Block) {
        self.places.clear();
        self.ends.clear();
        self.new.clear();
        self.places.extend(block.leaves().map(LineRef::Old));
        self.ends.extend(block.ends(lines));
    }

    /// Number of lines.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// The line with this key.
    pub fn find(&self, key: u64) -> usize {
        self.ends.partition_point(|end| *end < key)
    }

    /// The last keys of all lines but the last.
    pub fn ends(&self) -> &[u64] {
        &self.ends
    }

    /// Some of the lines, for a block that they fill.
    pub fn lines<'a>(
        &'a self,
        lines: &'a [Line],
        range: Range<usize>,
    ) -> impl ExactSizeIterator<Item = Packed> + 'a {
        self.places[range].iter().map(|place| match place {
            LineRef::Old(line) => leaf(&lines[*line as usize]),
            LineRef::New(i) => self.new[*i],
        })
    }

    /// The intervals of some lines.
    pub fn unpack(&self, lines: &[Line], range: Range<usize>, out: &mut Intervals) {
        out.clear();
        for (i, line) in self.lines(lines, range.clone()).enumerate() {
            if i > 0 {
                out.ends.push(self.ends[range.start + i - 1]);
            }
            line.unpack(out);
        }
    }

    /// Puts lines with this content in the place of some.
    pub fn replace(&mut self, range: Range<usize>, content: &Intervals) {
        let (first, had) = (self.new.len(), self.ends.len());
        let mut at = 0;
        while at < content.len() {
            let (line, n) = Packed::new(&content.ends[at..], &content.cells[at..]);
            self.new.push(line);
            at += n;
            if at < content.len() {
                self.ends.push(content.ends[at - 1]);
            }
        }
        // The new ends were pushed behind all others, and belong among them.
        let ends = self.ends.split_off(had);
        self.ends.splice(range.start..range.end - 1, ends);
        self.places.splice(range, (first..self.new.len()).map(LineRef::New));
    }

    /// Appends the lines of a block to the present lines, which end at `end`.
    pub fn append(&mut self, lines: &[Line], end: u64, block: Block) {
        let seam = self.places.len();
        self.ends.push(end);
        self.places.extend(block.leaves().map(LineRef::Old));
        self.ends.extend(block.ends(lines));
        self.mend(lines, seam);
    }

    /// Puts the lines of a block, which end at `end`, before the present lines.
    pub fn prepend(&mut self, lines: &[Line], end: u64, block: Block) {
        let seam = block.leaves().len();
        self.places.splice(0..0, block.leaves().map(LineRef::Old));
        self.ends.splice(0..0, block.ends(lines).chain([end]));
        self.mend(lines, seam);
    }

    /// Where two blocks met, intervals with the same cell become one.
    fn mend(&mut self, lines: &[Line], seam: usize) {
        let mut content = Intervals::default();
        self.unpack(lines, seam - 1..seam + 1, &mut content);
        content.join();
        self.replace(seam - 1..seam + 1, &content);
    }
}
