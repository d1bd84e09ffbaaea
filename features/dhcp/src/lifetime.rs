// SPDX-License-Identifier: Apache-2.0
//! Lifetimes of leases. Times are on the instance's clock, in nanoseconds.

/// Nanoseconds of a second.
pub const SECOND: u64 = 1_000_000_000;
/// A lifetime without end, in seconds (RFC 2131 3.3, RFC 8415 7.7).
pub const INFINITE: u32 = u32::MAX;

/// The end of a lifetime that begins at `now`; `None` for never.
pub fn end(now: u64, seconds: u32) -> Option<u64> {
    (seconds != INFINITE).then(|| now + u64::from(seconds) * SECOND)
}

/// Whole seconds until a time, 0 if it has passed.
pub fn seconds_until(now: u64, then: u64) -> u64 {
    then.saturating_sub(now) / SECOND
}
