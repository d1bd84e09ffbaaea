// SPDX-License-Identifier: Apache-2.0
//! Numbers and dates as text.

use chrono::{DateTime, TimeDelta, Utc};

/// Whole number with commas between groups of three digits, as the papers print rates.
pub fn grouped(value: f64) -> String {
    if !value.is_finite() {
        return "–".into();
    }
    let digits = format!("{:.0}", value.abs().round());
    let negative = value.round() < 0.0;
    let mut text = String::from(if negative { "−" } else { "" });
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Number with this many significant digits, without an exponent.
pub fn significant(value: f64, digits: usize) -> String {
    if !value.is_finite() {
        return "–".into();
    }
    if value == 0.0 {
        return "0".into();
    }
    let magnitude = value.abs().log10().floor() as i64;
    let decimals = (digits as i64 - 1 - magnitude).clamp(0, 12) as usize;
    let text = format!("{value:.decimals$}");
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_string()
    } else {
        text
    }
}

/// Number without digits behind so many, also in front of the point.
pub(super) fn rounded(value: f64, digits: usize) -> String {
    let magnitude = value.abs().log10().floor();
    let unit = 10f64.powf(magnitude + 1.0 - digits as f64);
    match unit > 1.0 && unit.is_finite() {
        true => grouped((value / unit).round() * unit),
        false => significant(value, digits),
    }
}

/// Significant digits of a quotient of medians of so many repeats.
pub(super) fn digits(n: usize) -> usize {
    match n {
        0..10 => 2,
        10..20 => 3,
        _ => 4,
    }
}

/// Repeats that a percentile needs.
pub(super) const PERCENTILES: usize = 20;

/// Time in nanoseconds with a fitting unit.
pub fn nanoseconds(ns: f64) -> String {
    match ns.abs() {
        n if n < 1e3 => format!("{} ns", significant(ns, 3)),
        n if n < 1e6 => format!("{} µs", significant(ns / 1e3, 4)),
        n if n < 1e9 => format!("{} ms", significant(ns / 1e6, 4)),
        _ => format!("{} s", significant(ns / 1e9, 4)),
    }
}

/// Time in seconds with a fitting unit.
pub fn duration(seconds: f64) -> String {
    if seconds == 0.0 { "0 s".into() } else { nanoseconds(seconds * 1e9) }
}

/// Share as per cent. Small ones keep their digits: a loss of one frame in a million isn't 0.
pub(super) fn percent(ratio: f64) -> String {
    format!("{} %", significant(ratio * 100.0, 3))
}

/// Value of a series in its unit.
pub(super) fn value(value: f64, unit: &str) -> String {
    match unit {
        "pps" | "frames" | "1/s" => grouped(value),
        "ns" => nanoseconds(value),
        "s" => duration(value),
        "ratio" => percent(value),
        _ => significant(value, 5),
    }
}

/// Unit for the head of a column; empty for units that each value carries.
pub(super) fn unit_name(unit: &str) -> &str {
    match unit {
        "pps" | "ns" | "s" | "ratio" => "",
        unit => unit,
    }
}

/// Seconds since 1970 of an RFC 3339 time; None for another text.
pub fn unix_time(time: &str) -> Option<f64> {
    DateTime::parse_from_rfc3339(time).ok().map(|time| time.timestamp_millis() as f64 / 1e3)
}

/// Date and time of day in UTC that many seconds after an RFC 3339 time, in the form
/// `2026-01-31 12:00:00`. None if the text isn't such a time.
pub(super) fn later(start: &str, seconds: f64) -> Option<String> {
    let start = DateTime::parse_from_rfc3339(start).ok()?.with_timezone(&Utc);
    // Longer runs than a million years are mistakes.
    let seconds = Some(seconds).filter(|s| s.abs() < 3e13)?;
    let time = start.checked_add_signed(TimeDelta::milliseconds((seconds * 1e3) as i64))?;
    Some(time.format("%Y-%m-%d %H:%M:%S").to_string())
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;

    #[suite::test]
    fn times_are_added() {
        let at = |start: &str, seconds| later(start, seconds).unwrap_or_default();
        assert_eq!(at("2026-11-27T07:01:04Z", 0.0), "2026-11-27 07:01:04");
        assert_eq!(at("2026-11-27T23:59:59Z", 1.0), "2026-11-28 00:00:00");
        assert_eq!(at("2024-02-28T12:00:00Z", 86_400.0), "2024-02-29 12:00:00");
        assert_eq!(at("2023-12-31T23:59:59.9Z", 2.0), "2024-01-01 00:00:01");
        assert_eq!(at("2000-02-29T00:00:00Z", 366.0 * 86_400.0), "2001-03-01 00:00:00");
        assert_eq!(at("today", 0.0), "");
        assert_eq!(at("2026-13-01T00:00:00Z", 0.0), "");
    }

    #[suite::test]
    fn numbers_read_well() {
        assert_eq!(grouped(0.4), "0");
        assert_eq!(grouped(999.0), "999");
        assert_eq!(grouped(3_923_150.0), "3,923,150");
        assert_eq!(grouped(-1234.0), "−1,234");
        assert_eq!(grouped(f64::NAN), "–");
        assert_eq!(significant(0.73837, 4), "0.7384");
        assert_eq!(significant(1500.0, 3), "1500");
        assert_eq!(significant(0.000001, 3), "0.000001");
        assert_eq!([2, 3, 4].map(|n| rounded(13_055.0, n)), ["13,000", "13,100", "13,060"]);
        assert_eq!((rounded(24.36, 2), rounded(0.0, 2)), ("24".into(), "0".into()));
        assert_eq!(nanoseconds(999.0), "999 ns");
        assert_eq!(nanoseconds(12_345.0), "12.35 µs");
        assert_eq!(duration(0.25), "250 ms");
        assert_eq!(duration(2.0), "2 s");
        assert_eq!(percent(1e-6), "0.0001 %");
    }
}
