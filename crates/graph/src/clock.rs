// SPDX-License-Identifier: Apache-2.0
//! The instance's clock.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Nanoseconds since the start. `set clock adjust` moves it on, and with it every timer: ageing,
/// reassembly, neighbours.
#[derive(Debug)]
pub struct Clock {
    start: Instant,
    since_1970: Duration,
    ahead: AtomicU64,
    /// The time at which a test stopped it, plus one; 0 while it runs.
    stopped: AtomicU64,
}

impl Default for Clock {
    fn default() -> Self {
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self {
            start: Instant::now(),
            since_1970,
            ahead: AtomicU64::new(0),
            stopped: AtomicU64::new(0),
        }
    }
}

impl Clock {
    /// Nanoseconds since the start, as adjusted.
    #[inline]
    pub fn now(&self) -> u64 {
        let ahead = self.ahead.load(Ordering::Relaxed);
        if let Some(stopped) = self.stopped.load(Ordering::Relaxed).checked_sub(1) {
            return stopped + ahead;
        }
        self.start.elapsed().as_nanos() as u64 + ahead
    }

    /// Stops the clock for good: from now on only [`Self::adjust`] moves it. For tests of timers,
    /// which a busy machine would otherwise make late.
    pub fn stop(&self) {
        let elapsed = self.start.elapsed().as_nanos() as u64;
        self.stopped.store(elapsed + 1, Ordering::Relaxed);
    }

    /// From 1970 to the start, taken at the start: what is written of a moment stays the same when
    /// the system's time is set later.
    pub fn start_time(&self) -> Duration {
        self.since_1970
    }

    /// Moves the clock on. It never goes back: what was timed stays in order.
    pub fn adjust(&self, nanoseconds: u64) {
        self.ahead.fetch_add(nanoseconds, Ordering::Relaxed);
    }
}
