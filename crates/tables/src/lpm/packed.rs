// SPDX-License-Identifier: Apache-2.0
//! The last lines of a search tree: up to five intervals, with their boundaries and their cells in
//! one cache line.
//!
//! The boundaries stand as distances from the first one, in units of the largest power of two that
//! measures all of them; so 32 bits do for the neighbours of a routing table, whose last prefixes
//! are as long as those before them. Where they don't, a line holds fewer intervals. Two will
//! always do.

use super::intervals::Intervals;
use super::slot_alloc::LINE;
use simd::Isa;
use std::sync::atomic::{AtomicU64, Ordering};

/// A cache line.
pub(super) type Line = [AtomicU64; LINE as usize];

/// Intervals of a line at most.
const FULL: usize = 5;
/// Distances are below this. It is further than the last boundary, whatever that is.
const BEYOND: u32 = u32::MAX;

// Words of a line.
/// The two's complement of the second interval's first key; zero without one.
const BACK: usize = 0;
/// Three distances, as halves of words, the lower one first.
const DISTANCES: usize = 1;
/// In the upper half, behind the distances: the unit's logarithm in the low byte, above it the
/// number of intervals.
const META: usize = 2;
/// The cells. Words behind the last cell are zero.
const CELLS: usize = 3;
const _: () = assert!(CELLS + FULL == size_of::<Line>() / 8);

/// A line that isn't where readers are.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(super) struct Packed(pub [u64; 8]);

/// Where the distance of this number is: word and shift.
fn distance(i: usize) -> (usize, u32) {
    (DISTANCES + i / 2, i as u32 % 2 * 32)
}

impl Packed {
    /// A line with as many of the first intervals as it takes, and their number. Each cell but the
    /// last has an end.
    pub fn new(ends: &[u64], cells: &[u64]) -> (Self, usize) {
        let ahead = |i: usize| ends[i] - ends[0];
        let (mut n, mut all) = (1, 0u64);
        while n < FULL.min(cells.len()) {
            let with = all | ahead(n - 1);
            if ahead(n - 1) >> unit(with) >= u64::from(BEYOND) {
                break;
            }
            all = with;
            n += 1;
        }
        let unit = unit(all);
        let mut words = [0; 8];
        if n > 1 {
            words[BACK] = (ends[0] + 1).wrapping_neg();
        }
        for i in 0..FULL - 2 {
            let (word, shift) = distance(i);
            let units = if i + 2 < n { ahead(i + 1) >> unit } else { BEYOND.into() };
            words[word] |= units << shift;
        }
        words[META] |= u64::from(unit) << 32 | (n as u64) << 40;
        words[CELLS..][..n].copy_from_slice(&cells[..n]);
        (Self(words), n)
    }

    /// Its cells.
    pub fn cells(&self) -> &[u64] {
        let n = (self.0[META] >> 40) as usize;
        &self.0[CELLS..][..n]
    }

    /// Adds its intervals to a row. The last one's end isn't known here.
    pub fn unpack(&self, out: &mut Intervals) {
        let (n, unit) = (self.cells().len(), self.0[META] >> 32 & 63);
        out.cells.extend(self.cells());
        let first = self.0[BACK].wrapping_neg().wrapping_sub(1);
        out.ends.extend((0..n - 1).map(|i| match i.checked_sub(1) {
            None => first,
            Some(i) => {
                let (word, shift) = distance(i);
                first + ((self.0[word] >> shift & u64::from(u32::MAX)) << unit)
            }
        }));
    }
}

/// The logarithm of what measures all the distances that were put together by or.
fn unit(distances: u64) -> u32 {
    if distances == 0 { 0 } else { distances.trailing_zeros() }
}

/// The cell of a key, in the line that the search ends at. Acquire: a reader that follows it finds
/// the tree behind it filled.
#[inline(always)]
pub(super) fn cell<I: Isa>(line: &Line, key: u64) -> u64 {
    let word = |i: usize| line[i].load(Ordering::Relaxed);
    let (ahead, past) = key.overflowing_add(word(BACK));
    let units = (ahead >> (word(META) >> 32 & 63)).min(u64::from(BEYOND - 1)) as u32;
    let more = simd::rank_of_three::<I>(line, units);
    let interval = if past { 1 + more } else { 0 };
    // The mask spares a test of the bounds.
    line[(CELLS + interval as usize) & 7].load(Ordering::Acquire)
}

/// Replaces a cell of a line that readers see.
pub(super) fn set(line: &Line, i: usize, cell: u64) {
    line[CELLS + i].store(cell, Ordering::Release);
}

#[cfg(feature = "tests")]
mod tests {
    use super::super::block::leaf;
    use super::*;
    use proptest::prelude::*;
    use simd::{Level, variants};

    variants! {
        fn cell_of<I: Isa>(line: &Line, key: u64) -> u64 = cell::<I>;
    }

    /// Ends of prefixes of few lengths, near each other or anywhere.
    fn ends() -> impl Strategy<Value = Vec<u64>> {
        let end = (any::<u64>(), 0u32..64, prop_oneof![0u32..64, Just(63)])
            .prop_map(|(key, near, unit)| key >> near | ((1 << unit) - 1));
        (prop::collection::btree_set(end, 0..12), any::<bool>()).prop_map(
            |(mut ends, to_the_end)| {
                ends.remove(&u64::MAX);
                if to_the_end {
                    ends.insert(u64::MAX - 1);
                }
                ends.into_iter().collect()
            },
        )
    }

    proptest! {
        #[suite::test]
        fn lines_give_what_was_packed(ends in ends(), cells in any::<[u64; 13]>()) {
            let all = Intervals { cells: cells[..=ends.len()].to_vec(), ends };
            let (mut at, mut out) = (0, Intervals::default());
            while at < all.len() {
                let (packed, n) = Packed::new(&all.ends[at..], &all.cells[at..]);
                prop_assert_eq!(packed.cells(), &all.cells[at..at + n]);
                prop_assert!(n >= 2.min(all.len() - at), "{}", n);
                let first = if at == 0 { 0 } else { all.ends[at - 1] + 1 };
                let last = all.ends.get(at + n - 1).copied().unwrap_or(u64::MAX);
                if at > 0 {
                    out.ends.push(first - 1);
                }
                packed.unpack(&mut out);
                let line = packed.0.map(From::from);
                let near = all.ends.iter().flat_map(|end| [end.saturating_sub(1), *end, end + 1]);
                for key in near.chain([first, last]).filter(|key| (first..=last).contains(key)) {
                    for f in Level::ALL.into_iter().filter_map(|level| cell_of().get(level)) {
                        prop_assert_eq!(f(&line, key), all.cells[all.find(key)], "{:#x}", key);
                    }
                }
                for i in 0..n {
                    set(&line, i, !all.cells[at + i]);
                    let changed: Vec<u64> = all.cells[at..=at + i].iter().map(|cell| !cell).collect();
                    let now = leaf(&line);
                    prop_assert_eq!(now.cells(), [&changed, &all.cells[at + i + 1..at + n]].concat());
                }
                at += n;
            }
            prop_assert_eq!(out, all);
        }

        #[suite::test]
        fn neighbours_with_one_cell_are_joined(cells in prop::collection::vec(0u64..3, 1..20)) {
            let ends = (1..cells.len() as u64).map(|i| i * 10).collect();
            let mut row = Intervals { ends, cells };
            let before = row.clone();
            row.join();
            prop_assert!(row.cells.windows(2).all(|pair| pair[0] != pair[1]));
            prop_assert!((0..200).all(|key| row.cells[row.find(key)] == before.cells[before.find(key)]));
        }
    }
}
