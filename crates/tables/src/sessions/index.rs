// SPDX-License-Identifier: Apache-2.0
//! Entries by the hashes of their keys, for one thread: linear hashing (Litwin 1980) over cache
//! lines.
//!
//! A line has eight cells; a cell is 32 bits of the hash and the index of an entry, so nearly all
//! entries that are compared are the right ones. The lower bits of the hash give an entry's home.
//! An entry whose home is full is in the next line with room, and all lines between are full: the
//! lookup of an absent key ends at the first line with room, mostly in its home.
//!
//! The array grows by one home at a time: an insertion may split one line, by the hashes in the
//! cells. So there is never a second array, and no insertion moves more than a few cells.

use crate::chunks::Chunks;

/// Cells of a line.
const WAYS: usize = 8;
/// Entries for each home on average. A line that is to be split soon has up to twice as many.
const LOAD: u32 = 3;
/// Bit of all hashes: a cell that is 0 is empty.
const USED: u32 = 1 << 31;

#[derive(Clone, Copy)]
#[repr(align(64))]
struct Line([u64; WAYS]);

impl Line {
    /// The cells in use come first.
    #[inline(always)]
    fn is_full(&self) -> bool {
        self.0[WAYS - 1] != 0
    }

    fn used(&self) -> usize {
        self.0.iter().position(|cell| *cell == 0).unwrap_or(WAYS)
    }

    /// Returns the cells with this hash, a bit each. All are compared: in which one an entry is
    /// can't be predicted.
    #[inline(always)]
    fn with(&self, hash: u32) -> u32 {
        let mut cells = 0;
        for (way, cell) in self.0.iter().enumerate() {
            cells |= u32::from((cell >> 32) as u32 == hash) << way;
        }
        cells
    }
}

#[inline(always)]
const fn hash_of(cell: u64) -> u32 {
    (cell >> 32) as u32
}

pub struct Index {
    /// The homes, and lines behind them into which the last ones overflow.
    lines: Chunks<Line>,
    homes: u32,
    /// The smallest power of two above `homes`, minus 1.
    mask: u32,
    len: u32,
}

impl Index {
    pub fn new() -> Self {
        Self { lines: Chunks::new(), homes: 1, mask: 1, len: 0 }
    }

    /// Returns the hash that cells have, of the hash of a key.
    #[inline(always)]
    pub const fn short(hash: u64) -> u32 {
        hash as u32 | USED
    }

    #[inline(always)]
    fn home(&self, hash: u32) -> u32 {
        let at = hash & !USED & self.mask;
        if at < self.homes { at } else { at & self.mask >> 1 }
    }

    /// Prefetches the home of a hash.
    #[inline(always)]
    pub fn prefetch(&self, hash: u32) {
        if let Some(line) = self.lines.get(self.home(hash)) {
            simd::prefetch_read(line);
        }
    }

    /// Returns the first entry with this hash for which `is` is true.
    #[inline(always)]
    pub fn find(&self, hash: u32, mut is: impl FnMut(u32) -> bool) -> Option<u32> {
        let mut at = self.home(hash);
        loop {
            let line = self.lines.get(at)?;
            let mut cells = line.with(hash);
            while cells != 0 {
                let entry = line.0[cells.trailing_zeros() as usize % WAYS] as u32;
                if is(entry) {
                    return Some(entry);
                }
                cells &= cells - 1;
            }
            if !line.is_full() {
                return None;
            }
            at += 1;
        }
    }

    /// Adds an entry, which isn't there.
    pub fn insert(&mut self, hash: u32, entry: u32) {
        if self.len >= self.homes * LOAD {
            self.split();
        }
        self.len += 1;
        self.put(self.home(hash), u64::from(hash) << 32 | u64::from(entry));
    }

    /// Puts a cell into its home or the next line with room.
    fn put(&mut self, home: u32, cell: u64) {
        let mut at = home;
        loop {
            while at >= self.lines.len() {
                self.lines.push(Line([0; WAYS]));
            }
            let line = &mut self.lines[at];
            if !line.is_full() {
                let way = line.used();
                line.0[way % WAYS] = cell;
                return;
            }
            at += 1;
        }
    }

    /// Removes an entry.
    pub fn remove(&mut self, hash: u32, entry: u32) {
        let cell = u64::from(hash) << 32 | u64::from(entry);
        let mut at = self.home(hash);
        while let Some(line) = self.lines.get(at) {
            if let Some(way) = line.0.iter().position(|other| *other == cell) {
                self.len -= 1;
                return self.clear(at, way);
            }
            if line.is_full() {
                at += 1;
            } else {
                break;
            }
        }
        debug_assert!(false, "entry {entry} isn't in the index");
    }

    /// Clears a cell. If its line was full, an entry from behind that may be there takes its turn,
    /// and so on.
    fn clear(&mut self, mut at: u32, mut way: usize) {
        loop {
            let line = &mut self.lines[at];
            let was_full = line.is_full();
            let last = line.used().saturating_sub(1);
            line.0[way] = line.0[last];
            line.0[last] = 0;
            if !was_full {
                return;
            }
            let Some((from, other)) = self.displaced(at) else { return };
            self.lines[at].0[last] = self.lines[from].0[other];
            (at, way) = (from, other);
        }
    }

    /// Returns a cell behind a line, in the same run of full lines, whose home isn't behind it.
    fn displaced(&self, hole: u32) -> Option<(u32, usize)> {
        let mut at = hole + 1;
        loop {
            let line = self.lines.get(at)?;
            let is = |cell: &u64| *cell != 0 && self.home(hash_of(*cell)) <= hole;
            if let Some(way) = line.0.iter().position(is) {
                return Some((at, way));
            }
            if !line.is_full() {
                return None;
            }
            at += 1;
        }
    }

    /// Adds a home: half of the entries of another one move there.
    fn split(&mut self) {
        let new = self.homes;
        let mut at = new & self.mask >> 1;
        self.homes += 1;
        if self.homes > self.mask {
            self.mask = self.mask << 1 | 1;
        }
        // The old home's entries are in its run of full lines and the line behind, which is looked
        // up before cells are cleared there.
        let mut end = at;
        while end < new && self.lines.get(end).is_some_and(Line::is_full) {
            end += 1;
        }
        while at <= end && at < new {
            let leaves = |cell: &u64| *cell != 0 && self.home(hash_of(*cell)) == new;
            match self.lines.get(at).and_then(|line| line.0.iter().position(leaves)) {
                Some(way) => {
                    let cell = self.lines[at].0[way];
                    self.clear(at, way);
                    self.put(new, cell);
                }
                None => at += 1,
            }
        }
    }

    /// Checks that each entry is where lookups expect it.
    #[cfg(feature = "tests")]
    pub fn check(&self) {
        let mut n = 0;
        for at in 0..self.lines.len() {
            let line = &self.lines[at];
            let used = line.used();
            assert!(line.0[used..].iter().all(|cell| *cell == 0), "cells in use come first");
            for cell in &line.0[..used] {
                let home = self.home(hash_of(*cell));
                assert!(home <= at && (home..at).all(|at| self.lines[at].is_full()));
                n += 1;
            }
        }
        assert_eq!(n, self.len);
        assert!(self.homes <= self.mask && self.homes > self.mask >> 1);
    }
}
