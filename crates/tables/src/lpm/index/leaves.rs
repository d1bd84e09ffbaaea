// SPDX-License-Identifier: Apache-2.0
//! Lines of intervals: their separators in the first half or less, their cells or hops in the rest.
//!
//! Lookups of routes need the whole cell of an interval, 64 bits: five fit into a line. Of the
//! intervals for hops alone eight fit, and there are fewer of them, since neighbours with one hop
//! become one.

use super::Line;
use crate::lpm::ResultKind;
use crate::lpm::intervals::DOWN;
use simd::Isa;
use std::sync::atomic::Ordering;

/// Cell value: not decided here, the tree is asked.
pub const ASK: u64 = u32::MAX as u64;
const _: () = assert!(ASK & DOWN != 0);
/// Where the cells of a line are, if they are whole ones.
const CELLS: usize = 2;
/// Where hops are.
const HOPS: usize = 4;

/// Intervals of a line at most.
pub const fn full(wanted: ResultKind) -> usize {
    match wanted {
        ResultKind::Hops => 2 * (8 - HOPS),
        ResultKind::Routes => 5,
    }
}

/// The part of a cell that a line holds. Two neighbours with the same part are one interval.
pub fn kept(wanted: ResultKind, cell: u64) -> u64 {
    match wanted {
        ResultKind::Hops => cell & u64::from(u32::MAX),
        ResultKind::Routes => cell,
    }
}

/// The words of a line of separators. What isn't used is above all keys.
pub fn separators(ends: impl Iterator<Item = u32>) -> [u64; 8] {
    let mut words = [u64::MAX; 8];
    for (i, end) in ends.enumerate() {
        let shift = i % 2 * 32;
        words[i / 2] = words[i / 2] & !(u64::from(u32::MAX) << shift) | u64::from(end) << shift;
    }
    words
}

/// The words of a line of intervals; each has the last key that it covers, and what is [`kept`] of
/// its cell.
pub fn line(wanted: ResultKind, intervals: &[(u32, u64)]) -> [u64; 8] {
    let mut words = separators(intervals[..intervals.len() - 1].iter().map(|(end, _)| *end));
    match wanted {
        ResultKind::Hops => {
            words[HOPS..].fill(0);
            for (i, (_, hop)) in intervals.iter().enumerate() {
                words[HOPS + i / 2] |= hop << (i % 2 * 32);
            }
        }
        ResultKind::Routes => {
            for (word, (_, cell)) in words[CELLS..].iter_mut().zip(intervals) {
                *word = *cell;
            }
        }
    }
    words
}

/// The hop of a key, in a line that has hops.
#[inline(always)]
pub fn hop<I: Isa>(line: &Line, key: u32) -> u32 {
    let interval = simd::rank_of_eight::<I>(line, key) as usize;
    // The mask spares a test of the bounds.
    (line[(HOPS + interval / 2) & 7].load(Ordering::Acquire) >> (interval % 2 * 32)) as u32
}

/// The cell of a key, in a line that has cells.
#[inline(always)]
pub fn cell<I: Isa>(line: &Line, key: u32) -> u64 {
    let interval = simd::rank_of_four::<I>(line, key) as usize;
    line[(CELLS + interval) & 7].load(Ordering::Acquire)
}

/// The part of the cell of a key that the line holds.
#[inline(always)]
pub fn kept_of<I: Isa>(wanted: ResultKind, line: &Line, key: u32) -> u64 {
    match wanted {
        ResultKind::Hops => hop::<I>(line, key).into(),
        ResultKind::Routes => cell::<I>(line, key),
    }
}
