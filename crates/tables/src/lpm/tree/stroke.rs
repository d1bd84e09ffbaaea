// SPDX-License-Identifier: Apache-2.0
//! Strokes, which paint ranges of keys, and the blocks that they paint in.

use super::down;
use crate::lpm::block::Block;
use crate::lpm::forest::Scratch;
use crate::lpm::intervals::{Brush, DOWN, Plan};
use std::ops::Range;

/// A range of keys that is painted, and the brush.
#[derive(Clone, Copy)]
pub(super) struct Stroke {
    pub first: u64,
    pub last: u64,
    pub brush: Brush,
    /// There is room for new boundaries.
    pub grow: bool,
}

/// A block that is changed.
pub(super) struct Open {
    /// Its number in the directory, if there is one.
    pub index: usize,
    pub block: Block,
    /// The keys that it has.
    pub bounds: (u64, u64),
}

impl Scratch {
    /// The trees below what a plan paints.
    pub(super) fn below(&self, plan: &Plan, brush: Brush) -> impl Iterator<Item = u32> {
        let cells =
            if matches!(brush, Brush::UpTo(..)) { &self.row.cells[plan.lo..=plan.hi] } else { &[] };
        cells.iter().copied().filter(|cell| cell & DOWN != 0).map(down)
    }

    /// Follows a plan.
    pub(super) fn redraw(&mut self, window: Range<usize>, plan: &Plan, brush: Brush) {
        plan.paint(&self.row, brush, &mut self.content);
        self.draft.replace(window, &self.content);
    }
}
