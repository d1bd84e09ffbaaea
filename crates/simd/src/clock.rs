// SPDX-License-Identifier: Apache-2.0
//! A clock that costs about 20 cycles to read.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// The processor's time stamp counter: ticks of [`tsc_hz`] since some moment in the past. Not a
/// serialising read: the processor may take it some instructions early or late. On other processors
/// than x86-64 it counts nanoseconds of the monotonic clock.
#[inline(always)]
pub fn rdtsc() -> u64 {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: user space may read it, as it may on every Linux that a router runs on.
    unsafe {
        core::arch::x86_64::_rdtsc()
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        static START: OnceLock<Instant> = OnceLock::new();
        START.get_or_init(Instant::now).elapsed().as_nanos() as u64
    }
}

/// Ticks of [`rdtsc`] per second. The first call takes about 10 ms, unless the processor reports
/// the number, so make it at start.
pub fn tsc_hz() -> u64 {
    static HZ: OnceLock<u64> = OnceLock::new();
    *HZ.get_or_init(|| {
        if cfg!(not(target_arch = "x86_64")) {
            return 1_000_000_000;
        }
        told().unwrap_or_else(measured)
    })
}

/// Frequency that CPUID leaf 15h reports (ratio of the counter to its crystal, and the crystal's
/// Hz), if any.
fn told() -> Option<u64> {
    #[cfg(target_arch = "x86_64")]
    {
        use core::arch::x86_64::{__cpuid, __cpuid_count};
        if __cpuid(0).eax >= 0x15 {
            let leaf = __cpuid_count(0x15, 0);
            let (denominator, numerator, crystal) = (leaf.eax, leaf.ebx, leaf.ecx);
            if denominator != 0 && numerator != 0 && crystal != 0 {
                return Some(u64::from(crystal) * u64::from(numerator) / u64::from(denominator));
            }
        }
    }
    None
}

/// Compares the counter with the monotonic clock over 10 ms.
fn measured() -> u64 {
    let (from, start) = both_clocks();
    std::thread::sleep(Duration::from_millis(10));
    let (to, end) = both_clocks();
    let nanos = end.duration_since(start).as_nanos().max(1);
    (u128::from(to.wrapping_sub(from)) * 1_000_000_000 / nanos) as u64
}

/// Reads both clocks at nearly one moment: of a few tries the one that was interrupted least.
fn both_clocks() -> (u64, Instant) {
    let read = || {
        let before = rdtsc();
        let now = Instant::now();
        let took = rdtsc().wrapping_sub(before);
        (took, before.wrapping_add(took / 2), now)
    };
    let (_, ticks, now) =
        (0..8).map(|_| read()).min_by_key(|&(took, ..)| took).unwrap_or_else(read);
    (ticks, now)
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;

    #[suite::test]
    fn agrees_with_the_monotonic_clock() {
        let hz = tsc_hz();
        assert!((100_000_000..20_000_000_000).contains(&hz), "{hz}");
        let (from, start) = both_clocks();
        std::thread::sleep(Duration::from_millis(30));
        let (to, end) = both_clocks();
        let seconds = end.duration_since(start).as_secs_f64();
        let counted = (to - from) as f64 / hz as f64;
        assert!((counted / seconds - 1.0).abs() < 0.01, "{counted} for {seconds}");
    }
}
