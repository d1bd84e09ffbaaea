// SPDX-License-Identifier: Apache-2.0
//! The limit of requests where packets don't wait, which is VPP's behaviour: one a millisecond
//! for a neighbour, on each thread. Neighbours in the same bucket share it.

use super::target::{Seed, Target};
use wire::Address;

const INTERVAL: u64 = 1_000_000;
const BUCKETS: usize = 512;

/// Times of the next requests on one thread, by bucket.
pub(super) struct Throttle {
    seed: Seed,
    next: [u64; BUCKETS],
}

impl Default for Throttle {
    fn default() -> Self {
        Self { seed: Seed::default(), next: [0; BUCKETS] }
    }
}

impl Throttle {
    /// Returns true if a request for the neighbour may be sent now, and notes it.
    #[inline]
    pub fn take<A: Address>(&mut self, target: Target<A>, now: u64) -> bool {
        let next = &mut self.next[self.seed.bucket(target, BUCKETS)];
        let due = *next <= now;
        if due {
            *next = now + INTERVAL;
        }
        due
    }
}
