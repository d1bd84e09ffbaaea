// SPDX-License-Identifier: Apache-2.0
//! A rate limit by token bucket: tokens per second, and the burst allowed after a pause (RFC 1812
//! 4.3.2.8).

/// Rate and depth of a [`Bucket`], both in nanoseconds, so that a packet costs an addition and a
/// compare.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Limit {
    /// Time in which one token comes in.
    cost: u64,
    /// Time in which an empty bucket fills.
    depth: u64,
}

impl Limit {
    /// Allows `rate` packets a second, `burst` at once (at least one). A rate of 0 lets nothing
    /// through.
    pub fn new(rate: u32, burst: u32) -> Self {
        match 1_000_000_000_u64.checked_div(rate.into()) {
            Some(cost) => Self { cost, depth: cost * u64::from(burst.max(1)) },
            None => Self { cost: 1, depth: 0 },
        }
    }
}

/// A token bucket: each packet takes one token. Full at the start.
#[derive(Clone, Copy, Debug, Default)]
pub struct Bucket {
    /// Time at which it will be full again, in nanoseconds.
    full: u64,
}

impl Bucket {
    /// Takes a token, if there is one; `now` in nanoseconds. Returns false if there is none.
    #[inline(always)]
    pub fn take(&mut self, now: u64, limit: Limit) -> bool {
        let full = self.full.max(now) + limit.cost;
        let left = full - now <= limit.depth;
        if left {
            self.full = full;
        }
        left
    }

    /// Returns the time of the next token; a past time if there is one now.
    pub fn next(&self, limit: Limit) -> u64 {
        (self.full + limit.cost).saturating_sub(limit.depth)
    }
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn taken(bucket: &mut Bucket, now: u64, limit: Limit) -> u32 {
        (0..10_000).take_while(|_| bucket.take(now, limit)).count() as u32
    }

    #[suite::test]
    fn a_burst_then_the_rate() {
        let (mut bucket, limit) = (Bucket::default(), Limit::new(100, 20));
        assert_eq!(taken(&mut bucket, 5, limit), 20);
        assert_eq!(taken(&mut bucket, 9_000_000, limit), 0);
        assert_eq!(taken(&mut bucket, 50_000_005, limit), 5);
        assert_eq!(taken(&mut bucket, 60_000_000_000, limit), 20, "it doesn't overflow");
        assert_eq!(taken(&mut Bucket::default(), 5, Limit::new(0, 20)), 0);
        assert_eq!(taken(&mut Bucket::default(), 5, Limit::new(7, 0)), 1);
    }

    proptest! {
        /// In no window do more pass than the burst and what the rate gives in it.
        #[suite::test]
        fn never_more_than_promised(rate in 1u32..2_000_000, burst in 1u32..500, steps in prop::collection::vec(0u64..50_000_000, 1..400)) {
            let (mut bucket, limit) = (Bucket::default(), Limit::new(rate, burst));
            let (mut now, mut passed) = (0, 0u64);
            for step in steps {
                now += step;
                let next = bucket.next(limit);
                let took = bucket.take(now, limit);
                prop_assert_eq!(took, next <= now);
                passed += u64::from(took);
                let cost = 1_000_000_000 / u64::from(rate);
                prop_assert!(passed <= u64::from(burst) + now / cost);
            }
        }
    }
}
