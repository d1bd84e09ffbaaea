// SPDX-License-Identifier: Apache-2.0
//! Time of the tester: nanoseconds since its start.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use simd::rdtsc;

/// A clock that the engine reads: real, or set by a simulation.
pub trait Clock {
    /// Nanoseconds since a moment in the past.
    fn now(&self) -> u64;
}

/// The machine's clock: the time stamp counter, calibrated against CLOCK_MONOTONIC_RAW, or that
/// clock itself where the counter isn't invariant.
#[derive(Clone, Copy, Debug)]
pub struct Real {
    start: u64,
    /// Nanoseconds of one tick, times 2^32; `None`: the counter is not used.
    scale: Option<u64>,
}

/// Duration of a calibration.
const CALIBRATION: Duration = Duration::from_millis(50);

/// CLOCK_MONOTONIC_RAW in nanoseconds: not slewed by NTP, as siitperf takes it.
fn raw() -> u64 {
    let time = clock_gettime(ClockId::MonotonicRaw);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Reads both clocks as close to each other as one of a few attempts allows.
fn both() -> (u64, u64) {
    let one = || {
        let before = rdtsc();
        let raw = raw();
        let after = rdtsc();
        (after.wrapping_sub(before), before.wrapping_add(after.wrapping_sub(before) / 2), raw)
    };
    let best = (0..16).map(|_| one()).min_by_key(|&(width, ..)| width);
    best.map_or((0, 0), |(_, ticks, raw)| (ticks, raw))
}

/// True if the counter runs at one rate in all states of all cores, as the kernel found
/// (`constant_tsc` and `nonstop_tsc`).
pub fn has_invariant_tsc() -> bool {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let flags = text.lines().find(|line| line.starts_with("flags")).unwrap_or_default();
    let has = |flag| flags.split_whitespace().any(|word| word == flag);
    has("constant_tsc") && has("nonstop_tsc")
}

impl Real {
    /// Calibrates the clock, which takes 50 ms.
    pub fn new() -> Self {
        if !has_invariant_tsc() {
            return Self { start: raw(), scale: None };
        }
        let (ticks, time) = both();
        std::thread::sleep(CALIBRATION);
        let (ticks_later, time_later) = both();
        let (ticks_run, time_run) = (ticks_later.wrapping_sub(ticks), time_later - time);
        let scale = (u128::from(time_run) << 32).checked_div(u128::from(ticks_run));
        match scale.and_then(|scale| u64::try_from(scale).ok()).filter(|&scale| scale > 0) {
            Some(scale) => Self { start: rdtsc(), scale: Some(scale) },
            None => Self { start: raw(), scale: None },
        }
    }

    /// Frequency of the counter in Hz; 0 if it is not used.
    pub fn hz(&self) -> f64 {
        self.scale.map_or(0.0, |scale| 1e9 * 4_294_967_296.0 / scale as f64)
    }
}

impl Default for Real {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for Real {
    #[inline(always)]
    fn now(&self) -> u64 {
        match self.scale {
            Some(scale) => {
                let ticks = rdtsc().wrapping_sub(self.start);
                ((u128::from(ticks) * u128::from(scale)) >> 32) as u64
            }
            None => raw().wrapping_sub(self.start),
        }
    }
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;

    #[suite::test]
    fn goes_forward_at_the_rate_of_the_raw_clock() {
        let clock = Real::new();
        let (mine, theirs) = (clock.now(), raw());
        std::thread::sleep(Duration::from_millis(20));
        let (mine, theirs) = (clock.now() - mine, raw() - theirs);
        // the two are read one after the other, and the thread may be interrupted in between
        assert!(mine >= 20_000_000 && theirs >= 20_000_000);
        let mut last = 0;
        for _ in 0..1000 {
            let now = clock.now();
            assert!(now >= last);
            last = now;
        }
    }
}
