// SPDX-License-Identifier: Apache-2.0
//! Keys in a row, cut into intervals that have a cell each. All structures of this module end in
//! such rows.

use super::Leaf;

/// Set in a cell that stands for no leaf but names the structure that the rest of the key is looked
/// up in.
pub(super) const DOWN: u64 = 1 << 31;

/// A leaf as one word: the hop below, above it the route, and on top the length of its prefix plus
/// one (0: no prefix).
pub(super) fn cell(leaf: Leaf, len: u8) -> u64 {
    (u64::from(len) + 1) << 56 | u64::from(leaf.route) << 32 | u64::from(leaf.hop)
}

/// The leaf in a cell.
#[inline(always)]
pub(super) fn leaf(cell: u64) -> Leaf {
    Leaf { hop: cell as u32, route: (cell >> 32) as u32 & (Leaf::ROUTES - 1) }
}

/// The change to the cells that a prefix covers.
#[derive(Clone, Copy)]
pub(super) enum Brush {
    /// Cells of prefixes of at most this length are replaced by a new cell.
    UpTo(u8, u64),
    /// All cells are.
    All(u64),
}

impl Brush {
    pub fn on(self, old: u64) -> u64 {
        match self {
            Self::UpTo(len, new) if old & DOWN == 0 && old >> 56 <= u64::from(len) + 1 => new,
            Self::UpTo(..) => old,
            Self::All(new) => new,
        }
    }
}

/// The part of a row that is painted, and the effect on its boundaries.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Plan {
    /// The first and the last interval that is painted.
    pub lo: usize,
    pub hi: usize,
    /// The first begins in the middle of an old one, at this key.
    cut_lo: Option<u64>,
    /// The last ends in the middle of an old one, with this key.
    cut_hi: Option<u64>,
    /// The first becomes one with the one before it, the last with the one behind it.
    join_lo: bool,
    join_hi: bool,
}

impl Plan {
    /// To paint the keys from `first` to `last` (as far as they are in this row, which has those
    /// from `bounds.0` to `bounds.1`).
    pub fn new(row: &Intervals, bounds: (u64, u64), first: u64, last: u64, brush: Brush) -> Self {
        let n = row.len();
        let lo = if first <= bounds.0 { 0 } else { row.find(first) };
        let hi = if last >= bounds.1 { n - 1 } else { row.find(last) };
        let start = if lo == 0 { bounds.0 } else { row.end(lo - 1) + 1 };
        let end = if hi == n - 1 { bounds.1 } else { row.end(hi) };
        let (of_lo, of_hi) = (row.cell(lo), row.cell(hi));
        let (to_lo, to_hi) = (brush.on(of_lo), brush.on(of_hi));
        Self {
            lo,
            hi,
            cut_lo: (start < first && to_lo != of_lo).then_some(first),
            cut_hi: (end > last && to_hi != of_hi).then_some(last),
            join_lo: start == first && lo > 0 && row.cell(lo - 1) == to_lo,
            join_hi: end == last && hi < n - 1 && row.cell(hi + 1) == to_hi,
        }
    }

    /// Returns true if the boundaries stay as they are.
    pub fn in_place(&self) -> bool {
        self.cut_lo.is_none() && self.cut_hi.is_none() && !self.join_lo && !self.join_hi
    }

    /// Writes the painted row to `out`.
    pub fn paint(&self, row: &Intervals, brush: Brush, out: &mut Intervals) {
        let Self { lo, hi, .. } = *self;
        out.clear();
        let keep = if self.join_lo { lo - 1 } else { lo };
        out.ends.extend(&row.ends[..keep]);
        out.cells.extend(&row.cells[..keep]);
        if let Some(first) = self.cut_lo {
            out.push(row.cell(lo), first - 1);
        }
        for i in lo..hi {
            out.push(brush.on(row.cell(i)), row.end(i));
        }
        out.cells.push(brush.on(row.cell(hi)));
        if let Some(last) = self.cut_hi {
            out.ends.push(last);
            out.cells.push(row.cell(hi));
        }
        // The boundary behind the last goes with the cell of the next, if these become one.
        let rest = if self.join_hi { hi + 1 } else { hi };
        out.ends.extend(&row.ends[rest..]);
        out.cells.extend(&row.cells[rest + 1..]);
    }
}

/// Intervals by themselves: each but the last with its last key.
#[derive(Default, Debug, Clone, PartialEq, Eq)]
pub(super) struct Intervals {
    pub ends: Vec<u64>,
    pub cells: Vec<u64>,
}

impl Intervals {
    pub fn clear(&mut self) {
        self.ends.clear();
        self.cells.clear();
    }

    /// Adds an interval that isn't the last.
    pub fn push(&mut self, cell: u64, end: u64) {
        self.cells.push(cell);
        self.ends.push(end);
    }

    /// Number of intervals.
    pub fn len(&self) -> usize {
        self.cells.len()
    }

    /// The last key of one that isn't the last.
    pub fn end(&self, i: usize) -> u64 {
        self.ends[i]
    }

    /// The cell of one.
    pub fn cell(&self, i: usize) -> u64 {
        self.cells[i]
    }

    /// The one with this key.
    pub fn find(&self, key: u64) -> usize {
        self.ends.partition_point(|end| *end < key)
    }

    /// Makes one of neighbours with the same cell.
    pub fn join(&mut self) {
        let mut n = 0;
        for i in 1..self.cells.len() {
            if self.cells[i] != self.cells[n] {
                self.ends[n] = self.ends[i - 1];
                n += 1;
                self.cells[n] = self.cells[i];
            }
        }
        self.ends.truncate(n);
        self.cells.truncate(n + 1);
    }
}
