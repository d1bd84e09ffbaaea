// SPDX-License-Identifier: Apache-2.0
//! A walk over all entries of a table that changes and grows meanwhile.

use super::{MacEntry, MacKey, MacTable, PIECE};
use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};

/// Entries of one pass, about: what a walk remembers, 8 bytes each.
const PASS: usize = 1 << 17;

/// A walk over the entries of a [`MacTable`], a part in each call of [`Self::step`]. An entry that
/// is there all the time is met once, also if the table grows meanwhile: entries move from older
/// levels to newer ones only, and that is the order of a pass, which knows those that it has met.
/// A large table is walked in several passes, each for a share of the addresses.
#[derive(Debug)]
pub struct MacWalk {
    seeds: [u64; 2],
    pass: u64,
    passes: u64,
    /// Buckets of the level that is being walked: no other level has as many, and newer ones have
    /// more.
    level: usize,
    next: usize,
    met: HashSet<MacKey>,
}

impl MacWalk {
    /// A walk that begins.
    pub fn new(table: &MacTable) -> Self {
        Self::in_passes((table.len() / PASS + 1) as u64)
    }

    pub(super) fn in_passes(passes: u64) -> Self {
        let random = RandomState::new();
        let seeds = [random.hash_one(0), random.hash_one(1) | 1];
        Self { seeds, pass: 0, passes, level: 0, next: 0, met: HashSet::new() }
    }

    /// Control: calls `f` for the entries of at most [`PIECE`] buckets. Returns `false` at the end.
    pub fn step(&mut self, table: &MacTable, mut f: impl FnMut(MacKey, MacEntry)) -> bool {
        let levels = table.levels();
        let rest = levels.all().filter(|level| level.buckets.len() >= self.level);
        let Some(level) = rest.min_by_key(|level| level.buckets.len()) else {
            self.pass += 1;
            (self.level, self.next) = (0, 0);
            self.met.clear();
            return self.pass < self.passes;
        };
        let len = level.buckets.len();
        if len != self.level {
            (self.level, self.next) = (len, 0);
        }
        let end = len.min(self.next + PIECE);
        for (_, key, entry) in (self.next..end).flat_map(|at| level.entries(at)) {
            let pass = ((key.hash(self.seeds) >> 32) * self.passes) >> 32;
            if pass == self.pass && self.met.insert(key) {
                f(key, entry);
            }
        }
        self.next = end;
        if end == len {
            self.level = len + 1;
        }
        true
    }
}
