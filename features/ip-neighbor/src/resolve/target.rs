// SPDX-License-Identifier: Apache-2.0
//! A neighbour that is requested, and its seeded hash: senders can't tell which neighbours share a
//! bucket.

use foldhash::quality::RandomState;
use std::hash::{BuildHasher, Hasher};
use wire::Address;

/// A neighbour to resolve.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Target<A> {
    /// Interface that the neighbour is attached to.
    pub sw_if: u32,
    /// Its address.
    pub ip: A,
}

/// Number of shares; interfaces whose indices are this far apart have one share together.
pub(super) const SHARES: usize = 256;

impl<A> Target<A> {
    /// Returns the share of its interface.
    #[inline(always)]
    pub(super) fn share(&self) -> usize {
        share_of(self.sw_if)
    }
}

/// Returns the share of an interface.
#[inline(always)]
pub(super) fn share_of(sw_if: u32) -> usize {
    sw_if as usize % SHARES
}

/// Spreads neighbours evenly, by a seed of its own.
#[derive(Default)]
pub(super) struct Seed(RandomState);

impl Seed {
    #[inline(always)]
    pub fn hash<A: Address>(&self, target: Target<A>) -> u64 {
        let mut hasher = self.0.build_hasher();
        hasher.write_u32(target.sw_if);
        for word in target.ip.to_octets().as_ref().as_chunks().0 {
            hasher.write_u32(u32::from_ne_bytes(*word));
        }
        hasher.finish()
    }

    /// Returns the neighbour's bucket: a number below `buckets`, a power of two.
    #[inline(always)]
    pub fn bucket<A: Address>(&self, target: Target<A>, buckets: usize) -> usize {
        debug_assert!(buckets.is_power_of_two());
        self.hash(target) as usize & (buckets - 1)
    }
}
