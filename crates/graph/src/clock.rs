// SPDX-License-Identifier: Apache-2.0
//! The instance's clock.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// Nanoseconds since the start. `set clock adjust` moves it on, and with it every timer: ageing, reassembly, neighbours.
#[derive(Debug)]
pub struct Clock {
    start: Instant,
    ahead: AtomicU64,
}

impl Default for Clock {
    fn default() -> Self {
        Self { start: Instant::now(), ahead: AtomicU64::new(0) }
    }
}

impl Clock {
    /// Nanoseconds since the start, as adjusted.
    #[inline]
    pub fn now(&self) -> u64 {
        self.start.elapsed().as_nanos() as u64 + self.ahead.load(Ordering::Relaxed)
    }

    /// Moves the clock on. It never goes back: what was timed stays in order.
    pub fn adjust(&self, nanoseconds: u64) {
        self.ahead.fetch_add(nanoseconds, Ordering::Relaxed);
    }
}
