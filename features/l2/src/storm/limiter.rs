// SPDX-License-Identifier: Apache-2.0
//! A rate limit that threads share, without a write to shared memory for each frame.
//!
//! The bucket is one word: the time at which it will be full again (generic cell rate algorithm). A
//! thread draws a lump of tokens from it by one compare-exchange, and spends them from a stock of
//! its own. A refused frame writes nothing. So a port has its whole rate on any number of threads,
//! and a thread accesses the word once a lump. Stocks are part of the burst: in `t` seconds all
//! threads together pass at most `burst + rate × t` frames.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

const SECOND: u64 = 1_000_000_000;
/// Maximum number of tokens that a thread draws at once.
const LUMP: u64 = 32;
/// Divisor: the burst is the number of frames in one second at the rate, divided by this.
const BURST_PART: u32 = 10;
/// Minimum burst: several hosts may send requests at the same time.
const LEAST_BURST: u32 = 10;

/// A value alone in its cache line.
#[derive(Debug, Default)]
#[repr(align(64))]
struct CacheAligned<T>(T);

/// A rate limit for all threads together.
#[derive(Debug)]
pub struct Limiter {
    /// Frames a second.
    rate: u32,
    /// Number of tokens that a thread draws at once.
    lump: u64,
    /// Time in nanoseconds in which the bucket fills, without the stocks.
    depth: u64,
    /// Time at which the bucket will be full again, in nanoseconds.
    full: CacheAligned<AtomicU64>,
    /// Number of tokens that each thread has drawn and not spent. Only the thread writes its own.
    stocks: Box<[CacheAligned<AtomicU32>]>,
}

/// Returns the number of frames that pass at once after a pause.
const fn burst(rate: u32) -> u32 {
    if rate / BURST_PART > LEAST_BURST { rate / BURST_PART } else { LEAST_BURST }
}

impl Limiter {
    /// Returns a limiter for `rate` frames a second, at least one, and this number of threads. The
    /// bucket is full.
    pub fn new(rate: u32, threads: usize) -> Self {
        let (rate, burst, threads) = (rate.max(1), u64::from(burst(rate)), threads.max(1) as u64);
        // At least 15/16 of the burst stay in the bucket, whatever idle threads hold.
        let lump = (burst / (16 * threads)).clamp(1, LUMP);
        let depth = (burst - threads * (lump - 1)) * SECOND;
        Self {
            rate,
            lump,
            depth: depth.div_ceil(rate.into()),
            full: CacheAligned::default(),
            stocks: (0..threads).map(|_| CacheAligned::default()).collect(),
        }
    }

    /// Returns the rate in frames per second.
    pub fn rate(&self) -> u32 {
        self.rate
    }

    /// Returns true if a thread may pass a frame, and takes a token; `now` in nanoseconds.
    #[inline]
    pub fn take(&self, thread: usize, now: u64) -> bool {
        let Some(CacheAligned(stock)) = self.stocks.get(thread) else { return false };
        let tokens = match stock.load(Ordering::Relaxed) {
            0 => self.draw(now),
            tokens => tokens,
        };
        if tokens == 0 {
            return false;
        }
        stock.store(tokens - 1, Ordering::Relaxed);
        true
    }

    /// Draws a lump from the bucket, or the tokens that are left.
    fn draw(&self, now: u64) -> u32 {
        let mut drawn = 0;
        let next = |full: u64| {
            let from = full.max(now);
            let room = (now + self.depth).saturating_sub(from);
            drawn = (room * u64::from(self.rate) / SECOND).min(self.lump);
            (drawn > 0).then(|| from + (drawn * SECOND).div_ceil(self.rate.into()))
        };
        match self.full.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next) {
            Ok(_) => drawn as u32,
            Err(_) => 0,
        }
    }
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::sync::atomic::AtomicBool;

    fn taken(limiter: &Limiter, thread: usize, now: u64) -> u64 {
        (0..).take_while(|_| limiter.take(thread, now)).count() as u64
    }

    #[suite::test]
    fn a_burst_then_the_rate() {
        let limiter = Limiter::new(1000, 1);
        let burst = taken(&limiter, 0, 5 * SECOND);
        assert!((100 - 100 / 16..=100).contains(&burst), "{burst}");
        assert_eq!(taken(&limiter, 0, 5 * SECOND + 999_999), 0);
        assert_eq!(taken(&limiter, 0, 5 * SECOND + 50_000_000), 50);
        assert_eq!(
            taken(&limiter, 0, 900 * SECOND),
            burst,
            "a pause fills no more than the bucket"
        );
        let slow = Limiter::new(1, 1);
        assert_eq!([taken(&slow, 0, SECOND), taken(&slow, 0, 3 * SECOND)], [10, 2]);
    }

    /// A port whose frames are all at one thread has its whole rate, and tokens that another thread
    /// holds are held once.
    #[suite::test]
    fn one_thread_of_many_has_the_whole_rate() {
        for (rate, threads) in [(1, 2), (100, 16), (1000, 3), (100_000, 8), (14_880_952, 2)] {
            let limiter = Limiter::new(rate, threads);
            (1..threads).for_each(|thread| _ = limiter.take(thread, SECOND));
            taken(&limiter, 0, SECOND);
            let (mut passed, mut now) = (0, SECOND);
            for _ in 0..1000 {
                now += 10 * SECOND / u64::from(rate).max(10);
                passed += taken(&limiter, 0, now);
            }
            let want = u64::from(rate) * (now - SECOND) / SECOND;
            assert!(
                passed <= want && passed + LUMP + want / 100 >= want,
                "{rate}: {passed} of {want}"
            );
        }
    }

    /// Tokens in the stocks of threads are part of the burst.
    #[suite::test]
    fn stocks_and_the_bucket_are_one_burst() {
        let (limiter, threads) = (Limiter::new(100_000, 8), 8);
        (0..threads).for_each(|thread| assert!(limiter.take(thread, SECOND)));
        let passed: u64 = (0..threads).map(|thread| taken(&limiter, thread, 9 * SECOND)).sum();
        let burst = u64::from(burst(100_000));
        assert!((burst - LUMP..=burst).contains(&passed), "{passed} of {burst}");
    }

    /// The threads of a machine at once: none finds a token that another one has taken.
    #[suite::test]
    fn threads_that_take_at_once_share_one_burst() {
        for rate in [50, 10_000, 1_000_000] {
            let (limiter, go) = (Limiter::new(rate, 2), AtomicBool::new(false));
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
            let burst = u64::from(burst(rate));
            assert!(
                passed <= burst && passed + burst / 16 + 2 * LUMP >= burst,
                "{passed} of {burst}"
            );
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
            let limiter = Limiter::new(rate, threads);
            let (mut now, mut passed) = (7 * SECOND, vec![]);
            for (step, thread, tries) in steps {
                now += step;
                let n = (0..tries).filter(|_| limiter.take(thread % threads, now)).count();
                passed.push((now, n as u64));
            }
            let burst = u64::from(burst(rate));
            for (first, (from, _)) in passed.iter().enumerate() {
                let mut sum = 0;
                for (until, n) in &passed[first..] {
                    sum += n;
                    prop_assert!(sum <= burst + u64::from(rate) * (until - from) / SECOND);
                }
            }
        }
    }
}
