// SPDX-License-Identifier: Apache-2.0
//! A neighbour that is asked for, and where a table keeps it: nobody outside can tell which neighbours share a bucket.

use foldhash::fast::RandomState;
use std::hash::{BuildHasher, Hasher};
use wire::Address;

/// A neighbour that is asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Target<A> {
    /// The interface that it is behind.
    pub sw_if: u32,
    /// Its address.
    pub ip: A,
}

/// Interfaces whose indices are this far apart share a share of what is bounded.
pub(super) const SHARES: usize = 256;

impl<A> Target<A> {
    /// The share that its interface has of what is bounded.
    #[inline(always)]
    pub(super) fn share(&self) -> usize {
        share_of(self.sw_if)
    }
}

/// The share of an interface.
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

    /// A number below `places`, a power of two.
    #[inline(always)]
    pub fn place<A: Address>(&self, target: Target<A>, places: usize) -> usize {
        debug_assert!(places.is_power_of_two());
        self.hash(target) as usize & (places - 1)
    }
}
