// SPDX-License-Identifier: Apache-2.0
//! Shares of a full table: nobody who makes entries can use up the room of all others.
//!
//! Entries are counted by their owner. A table that is full takes a new entry of an owner who has
//! less than an equal share, and the owner who has most loses one. Owners whose hashes are equal
//! have a share together.

use crate::Mixer;

/// Shares that are told apart.
pub const SHARES: usize = 1024;

/// The number of a share, less than [`SHARES`].
pub type Share = u16;

/// The entries of each share.
#[derive(Debug)]
pub struct Shares {
    of: Box<[u32; SHARES]>,
    used: usize,
    total: usize,
}

impl Default for Shares {
    fn default() -> Self {
        Self { of: Box::new([0; SHARES]), used: 0, total: 0 }
    }
}

impl Shares {
    /// The share of the owner whose name the mixer has. Owners can't choose theirs without the
    /// mixer's seed.
    pub const fn index(owner: Mixer) -> Share {
        (owner.hash() % SHARES as u64) as Share
    }

    /// Counts a new entry.
    pub fn add(&mut self, share: Share) {
        let of = &mut self.of[usize::from(share)];
        self.used += usize::from(*of == 0);
        *of += 1;
        self.total += 1;
    }

    /// Counts an entry that has ended.
    pub fn remove(&mut self, share: Share) {
        let of = &mut self.of[usize::from(share)];
        *of -= 1;
        self.used -= usize::from(*of == 0);
        self.total -= 1;
    }

    /// Entries of a share.
    pub fn of(&self, share: Share) -> u32 {
        self.of[usize::from(share)]
    }

    /// Shares that have entries.
    pub fn used(&self) -> usize {
        self.used
    }

    /// Entries of all shares.
    pub fn total(&self) -> usize {
        self.total
    }

    /// True if a share has less than an equal part of all entries, its owner counted among those
    /// who have some. Then the largest share is another one.
    pub fn is_below_equal(&self, share: Share) -> bool {
        let own = self.of(share) as usize;
        own < self.total / (self.used + usize::from(own == 0))
    }

    /// The share that has most entries, with their number.
    pub fn largest(&self) -> (Share, u32) {
        // In two passes, each of which the compiler makes one over vectors: a flood that has filled
        // a table asks for each of its packets.
        let most = self.of.iter().copied().max().unwrap_or_default();
        let at = self.of.iter().position(|entries| *entries == most).unwrap_or_default();
        (at as Share, most)
    }
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;

    proptest! {
        /// Random entries beside a plain list of them.
        #[suite::test]
        fn shares_are_counts_of_a_list(steps in prop::collection::vec((0_u16..9, any::<bool>()), 0..200)) {
            let (mut shares, mut list) = (Shares::default(), HashMap::<Share, u32>::new());
            for (share, more) in steps {
                let of = list.entry(share).or_default();
                match (more, *of) {
                    (true, _) => { *of += 1; shares.add(share); }
                    (false, 1..) => { *of -= 1; shares.remove(share); }
                    _ => {}
                }
                let total: u32 = list.values().sum();
                prop_assert_eq!(shares.total(), total as usize);
                prop_assert_eq!(shares.used(), list.values().filter(|of| **of > 0).count());
                prop_assert_eq!(Some(shares.largest().1), list.values().copied().max());
                for share in 0..9 {
                    prop_assert_eq!(shares.of(share), list.get(&share).copied().unwrap_or(0));
                    prop_assert!(!shares.is_below_equal(share) || shares.largest().1 > shares.of(share));
                }
            }
        }
    }

    /// One who has all makes room for the second until both have the same.
    #[suite::test]
    fn the_second_owner_gets_half() {
        let mut shares = Shares::default();
        (0..10).for_each(|_| shares.add(3));
        assert!(!shares.is_below_equal(3));
        while shares.is_below_equal(4) {
            shares.remove(shares.largest().0);
            shares.add(4);
        }
        assert_eq!((shares.of(3), shares.of(4)), (5, 5));
    }
}
