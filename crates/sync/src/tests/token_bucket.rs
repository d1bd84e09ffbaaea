// SPDX-License-Identifier: Apache-2.0
//! Token buckets against a slow oracle, and by threads at once.

use crate::token_bucket::{
    LUMP, Limit, SECOND, SharedTokenBucket, TokenBucket, TokenBucketWithStocks,
};
use proptest::prelude::*;
use std::sync::atomic::{AtomicBool, Ordering};

/// The oracle: a bucket into which tokens come one by one. It knows a token by the time at which it
/// comes in, and goes through all of them.
struct SlowBucket {
    tokens: u64,
    burst: u64,
    cost: u64,
    /// Time since the bucket was full or the last token came in.
    waited: u64,
}

impl SlowBucket {
    fn new(rate: u32, burst: u32) -> Self {
        let burst = u64::from(burst.max(1));
        Self { tokens: burst, burst, cost: SECOND / u64::from(rate), waited: 0 }
    }

    fn wait(&mut self, time: u64) {
        self.waited += time;
        while self.tokens < self.burst && self.waited >= self.cost {
            self.waited -= self.cost;
            self.tokens += 1;
        }
        if self.tokens == self.burst {
            self.waited = 0;
        }
    }

    /// Takes a token, unless no more than `reserved` are left.
    fn take(&mut self, reserved: u64) -> bool {
        let has = self.tokens > reserved;
        self.tokens -= u64::from(has);
        has
    }
}

proptest! {
    /// A thread's bucket and a shared one give what the oracle gives, and name the time of the
    /// next token.
    #[suite::test]
    fn buckets_are_as_the_oracle(
        rate in prop_oneof![1u32..2000, 1u32..2_000_000],
        burst in 0u32..300,
        steps in prop::collection::vec((0u64..50_000_000, 1usize..100), 1..100),
    ) {
        let limit = Limit::new(rate, burst);
        let (mut own, shared) = (TokenBucket::default(), SharedTokenBucket::default());
        let (mut oracle, mut now) = (SlowBucket::new(rate, burst), SECOND);
        for (step, tries) in steps {
            now += step;
            oracle.wait(step);
            for _ in 0..tries {
                let next = own.next(limit);
                let took = oracle.take(0);
                prop_assert_eq!(next <= now, took);
                prop_assert_eq!(own.take(now, limit), took);
                prop_assert_eq!(shared.take(now, limit), took);
            }
        }
    }

    /// A lower depth leaves the rest of the tokens to others.
    #[suite::test]
    fn a_lower_depth_leaves_a_reserve(
        rate in 1u32..10_000,
        (burst, low) in (2u32..300).prop_flat_map(|burst| (Just(burst), 1..burst)),
        steps in prop::collection::vec((0u64..50_000_000, any::<bool>(), 1usize..100), 1..100),
    ) {
        let (whole, part) = (Limit::new(rate, burst), Limit::new(rate, low));
        let shared = SharedTokenBucket::default();
        let (mut oracle, mut now) = (SlowBucket::new(rate, burst), SECOND);
        for (step, first, tries) in steps {
            now += step;
            oracle.wait(step);
            let (limit, reserved) = if first { (part, burst - low) } else { (whole, 0) };
            for _ in 0..tries {
                prop_assert_eq!(shared.take(now, limit), oracle.take(reserved.into()));
            }
        }
    }
}

/// A burst as storm control has it: a tenth of a second's items, and at least 10.
fn burst_of(rate: u32) -> u32 {
    (rate / 10).max(10)
}

fn for_rate(rate: u32, threads: usize) -> TokenBucketWithStocks {
    TokenBucketWithStocks::new(rate, burst_of(rate), threads)
}

fn taken_by_one(bucket: &mut TokenBucket, now: u64, limit: Limit) -> u32 {
    (0..10_000).take_while(|_| bucket.take(now, limit)).count() as u32
}

#[suite::test]
fn one_thread_takes_a_burst_then_the_rate() {
    let (mut bucket, limit) = (TokenBucket::default(), Limit::new(100, 20));
    assert_eq!(taken_by_one(&mut bucket, 5, limit), 20);
    assert_eq!(taken_by_one(&mut bucket, 9_000_000, limit), 0);
    assert_eq!(taken_by_one(&mut bucket, 50_000_005, limit), 5);
    assert_eq!(taken_by_one(&mut bucket, 60_000_000_000, limit), 20, "it doesn't overflow");
    assert_eq!(taken_by_one(&mut TokenBucket::default(), 5, Limit::new(0, 20)), 0);
    assert_eq!(taken_by_one(&mut TokenBucket::default(), 5, Limit::new(7, 0)), 1);
}

proptest! {
    /// In no window do more pass than the burst and what the rate gives in it.
    #[suite::test]
    fn one_thread_takes_never_more_than_promised(rate in 1u32..2_000_000, burst in 1u32..500, steps in prop::collection::vec(0u64..50_000_000, 1..400)) {
        let (mut bucket, limit) = (TokenBucket::default(), Limit::new(rate, burst));
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

fn taken(limiter: &TokenBucketWithStocks, thread: usize, now: u64) -> u64 {
    (0..).take_while(|_| limiter.take(thread, now)).count() as u64
}

#[suite::test]
fn a_burst_then_the_rate() {
    let limiter = for_rate(1000, 1);
    let burst = taken(&limiter, 0, 5 * SECOND);
    assert!((100 - 100 / 16..=100).contains(&burst), "{burst}");
    assert_eq!(taken(&limiter, 0, 5 * SECOND + 999_999), 0);
    assert_eq!(taken(&limiter, 0, 5 * SECOND + 50_000_000), 50);
    assert_eq!(taken(&limiter, 0, 900 * SECOND), burst, "a pause fills no more than the bucket");
    let slow = for_rate(1, 1);
    assert_eq!([taken(&slow, 0, SECOND), taken(&slow, 0, 3 * SECOND)], [10, 2]);
}

/// A port whose frames are all at one thread has its whole rate, and tokens that another thread
/// holds are held once.
#[suite::test]
fn one_thread_of_many_has_the_whole_rate() {
    for (rate, threads) in [(1, 2), (100, 16), (1000, 3), (100_000, 8), (14_880_952, 2)] {
        let limiter = for_rate(rate, threads);
        (1..threads).for_each(|thread| _ = limiter.take(thread, SECOND));
        taken(&limiter, 0, SECOND);
        let (mut passed, mut now) = (0, SECOND);
        for _ in 0..1000 {
            now += 10 * SECOND / u64::from(rate).max(10);
            passed += taken(&limiter, 0, now);
        }
        let want = u64::from(rate) * (now - SECOND) / SECOND;
        assert!(passed <= want && passed + LUMP + want / 100 >= want, "{rate}: {passed} of {want}");
    }
}

/// Tokens in the stocks of threads are part of the burst.
#[suite::test]
fn stocks_and_the_bucket_are_one_burst() {
    let (limiter, threads) = (for_rate(100_000, 8), 8);
    (0..threads).for_each(|thread| assert!(limiter.take(thread, SECOND)));
    let passed: u64 = (0..threads).map(|thread| taken(&limiter, thread, 9 * SECOND)).sum();
    let burst = u64::from(burst_of(100_000));
    assert!((burst - LUMP..=burst).contains(&passed), "{passed} of {burst}");
}

/// The threads of a machine at once: none finds a token that another one has taken.
#[suite::test]
fn threads_that_take_at_once_share_one_burst() {
    for rate in [50, 10_000, 1_000_000] {
        let (limiter, go) = (for_rate(rate, 2), AtomicBool::new(false));
        let passed: u64 = std::thread::scope(|scope| {
            let threads = [0, 1].map(|thread| {
                let (limiter, go) = (&limiter, &go);
                scope.spawn(move || {
                    while !go.load(Ordering::Acquire) {
                        std::hint::spin_loop();
                    }
                    taken(limiter, thread, SECOND)
                })
            });
            go.store(true, Ordering::Release);
            threads.map(|thread| thread.join().expect("no panic")).iter().sum()
        });
        let burst = u64::from(burst_of(rate));
        assert!(passed <= burst && passed + burst / 16 + 2 * LUMP >= burst, "{passed} of {burst}");
    }
}

proptest! {
    /// In no window do all threads together pass more than the burst and what the rate gives in
    /// it.
    #[suite::test]
    fn never_more_than_promised(
        rate in prop_oneof![1u32..200, 1u32..2_000_000, Just(u32::MAX)],
        threads in 1usize..20,
        steps in prop::collection::vec((0u64..20_000_000, 0usize..20, 1u32..200), 1..200),
    ) {
        let limiter = for_rate(rate, threads);
        let (mut now, mut passed) = (7 * SECOND, vec![]);
        for (step, thread, tries) in steps {
            now += step;
            let n = (0..tries).filter(|_| limiter.take(thread % threads, now)).count();
            passed.push((now, n as u64));
        }
        let burst = u64::from(burst_of(rate));
        for (first, (from, _)) in passed.iter().enumerate() {
            let mut sum = 0;
            for (until, n) in &passed[first..] {
                sum += n;
                prop_assert!(sum <= burst + u64::from(rate) * (until - from) / SECOND);
            }
        }
    }
}
