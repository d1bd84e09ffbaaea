// SPDX-License-Identifier: Apache-2.0
//! Rate limits by token bucket: tokens per second, and the burst allowed after a pause (RFC 1812
//! 4.3.2.8).
//!
//! A bucket is one word: the time at which it will be full again (generic cell rate algorithm). An
//! item costs an addition and a compare, and one that is refused writes nothing. There are three
//! buckets, which differ in who takes from them:
//!
//! * [`TokenBucket`]: one thread.
//! * [`SharedTokenBucket`]: all threads, with a compare-exchange for each item.
//! * [`TokenBucketWithStocks`]: all threads, with a compare-exchange for some tens of items.

use crate::platform::{AtomicU32, AtomicU64, Ordering};

pub(crate) const SECOND: u64 = 1_000_000_000;

/// Rate and depth of a bucket, both in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Limit {
    /// Time in which one token comes in.
    cost: u64,
    /// Time in which an empty bucket fills.
    depth: u64,
}

impl Limit {
    /// Allows `rate` items a second, `burst` at once (at least one). A rate of 0 lets nothing
    /// through.
    pub const fn new(rate: u32, burst: u32) -> Self {
        match SECOND.checked_div(rate as u64) {
            Some(cost) => Self { cost, depth: cost * if burst > 1 { burst as u64 } else { 1 } },
            None => Self { cost: 1, depth: 0 },
        }
    }
}

/// Takes tokens that come in within `cost` from a bucket that is full at `full`. Returns the time
/// at which it will be full again; `None` if it has fewer tokens.
#[inline(always)]
fn take(full: u64, now: u64, cost: u64, depth: u64) -> Option<u64> {
    let full = full.max(now) + cost;
    (full - now <= depth).then_some(full)
}

/// A bucket of one thread. Full at the start.
#[derive(Clone, Copy, Debug, Default)]
pub struct TokenBucket {
    /// Time at which it will be full again, in nanoseconds.
    full: u64,
}

impl TokenBucket {
    /// Takes a token, if there is one; `now` in nanoseconds. Returns false if there is none.
    #[inline(always)]
    pub fn take(&mut self, now: u64, limit: Limit) -> bool {
        let full = take(self.full, now, limit.cost, limit.depth);
        self.full = full.unwrap_or(self.full);
        full.is_some()
    }

    /// Returns the time of the next token; a past time if there is one now.
    pub fn next(&self, limit: Limit) -> u64 {
        (self.full + limit.cost).saturating_sub(limit.depth)
    }
}

/// A bucket that threads share. Full at the start.
///
/// Limits of one rate and several depths make priorities: what takes with the lower depth leaves
/// the difference to the others.
#[derive(Debug)]
pub struct SharedTokenBucket {
    full: AtomicU64,
}

impl Default for SharedTokenBucket {
    fn default() -> Self {
        Self { full: AtomicU64::new(0) }
    }
}

impl SharedTokenBucket {
    /// Takes a token, if there is one; `now` in nanoseconds. Returns false if there is none.
    #[inline(always)]
    pub fn take(&self, now: u64, limit: Limit) -> bool {
        let next = |full| take(full, now, limit.cost, limit.depth);
        self.full.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next).is_ok()
    }
}

/// Maximum number of tokens that a thread draws at once.
pub(crate) const LUMP: u64 = 32;

/// A value alone in its cache line.
#[derive(Debug, Default)]
#[repr(align(64))]
struct CacheAligned<T>(T);

/// A rate limit for all threads together.
///
/// A thread draws a lump of tokens from the bucket, and spends them from a stock of its own. So an
/// interface has its whole rate on any number of threads, and a thread accesses the bucket once a
/// lump. Stocks are part of the burst: in `t` seconds all threads together pass at most
/// `burst + rate × t` items.
#[derive(Debug)]
pub struct TokenBucketWithStocks {
    /// Items a second. A token may cost a fraction of a nanosecond, so there is no [`Limit`].
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

impl TokenBucketWithStocks {
    /// Returns a limit of `rate` items a second and `burst` at once, each at least one, for this
    /// number of threads. The bucket is full.
    pub fn new(rate: u32, burst: u32, threads: usize) -> Self {
        let (rate, burst, threads) = (rate.max(1), u64::from(burst.max(1)), threads.max(1) as u64);
        // At least 15/16 of the burst stay in the bucket, whatever idle threads hold.
        let lump = (burst / (16 * threads)).clamp(1, LUMP);
        let depth = (burst - threads * (lump - 1)) * SECOND;
        Self {
            rate,
            lump,
            depth: depth.div_ceil(rate.into()),
            full: CacheAligned(AtomicU64::new(0)),
            stocks: (0..threads).map(|_| CacheAligned(AtomicU32::new(0))).collect(),
        }
    }

    /// Returns the rate in items per second.
    pub fn rate(&self) -> u32 {
        self.rate
    }

    /// Returns true if a thread may pass an item, and takes a token; `now` in nanoseconds.
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
            let room = (now + self.depth).saturating_sub(full.max(now));
            drawn = (room * u64::from(self.rate) / SECOND).min(self.lump);
            let cost = (drawn * SECOND).div_ceil(self.rate.into());
            (drawn > 0).then(|| take(full, now, cost, self.depth)).flatten()
        };
        match self.full.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next) {
            Ok(_) => drawn as u32,
            Err(_) => 0,
        }
    }
}
