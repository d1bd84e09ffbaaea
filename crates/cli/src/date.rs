// SPDX-License-Identifier: Apache-2.0
//! Dates as text, in UTC.

use std::fmt;
use std::time::{SystemTime, UNIX_EPOCH};

/// A point in time as calendar fields, UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Date {
    /// As 2026.
    pub year: i64,
    /// 1 to 12.
    pub month: u8,
    /// 1 to 31.
    pub day: u8,
    /// 0 to 6, from Sunday.
    pub weekday: u8,
    /// 0 to 23.
    pub hour: u8,
    /// 0 to 59.
    pub minute: u8,
    /// 0 to 59.
    pub second: u8,
    /// 0 to 999,999.
    pub micro: u32,
}

/// Three-letter names, January first.
const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const DAYS: [&str; 7] = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];

impl From<SystemTime> for Date {
    /// Days to civil date after Howard Hinnant, "chrono-compatible low-level date algorithms":
    /// years begin in March so that the leap day comes last. Times before 1970 are shown
    /// as 1970.
    fn from(time: SystemTime) -> Date {
        let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
        let secs = since.as_secs();
        let days = (secs / 86_400) as i64;
        let of_day = secs % 86_400;
        let shifted = days + 719_468;
        let era = shifted.div_euclid(146_097);
        let of_era = shifted.rem_euclid(146_097);
        let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
        let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let from_march = (5 * of_year + 2) / 153;
        let day = (of_year - (153 * from_march + 2) / 5 + 1) as u8;
        let month = if from_march < 10 { from_march + 3 } else { from_march - 9 } as u8;
        Date {
            year: year_of_era + era * 400 + i64::from(month <= 2),
            month,
            day,
            weekday: (days + 4).rem_euclid(7) as u8,
            hour: (of_day / 3_600) as u8,
            minute: (of_day / 60 % 60) as u8,
            second: (of_day % 60) as u8,
            micro: since.subsec_micros(),
        }
    }
}

impl Date {
    /// The current time.
    pub fn now() -> Date {
        SystemTime::now().into()
    }

    /// The form of log lines: `2026/03/21 12:00:00:123`.
    pub fn stamp(self) -> impl fmt::Display {
        let Date { year, month, day, hour, minute, second, micro, .. } = self;
        format!("{year}/{month:02}/{day:02} {hour:02}:{minute:02}:{second:02}:{:03}", micro / 1000)
    }

    /// As ISO 8601 has it, without a zone: `2026-03-21T12:00:00.123456`.
    pub fn iso(self) -> impl fmt::Display {
        let Date { year, month, day, hour, minute, second, micro, .. } = self;
        format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{micro:06}")
    }

    /// As syslog wants it (RFC 3164 §4.1.2): `Mar  1 12:00:00`.
    pub fn syslog(self) -> impl fmt::Display {
        let Date { day, hour, minute, second, .. } = self;
        format!("{} {day:2} {hour:02}:{minute:02}:{second:02}", MONTHS[usize::from(self.month - 1)])
    }

    /// As `show clock` prints it: `Sat, 21 Mar 2026 12:00:00 GMT`.
    pub fn long(self) -> impl fmt::Display {
        let Date { year, day, hour, minute, second, .. } = self;
        let (weekday, month) =
            (DAYS[usize::from(self.weekday)], MONTHS[usize::from(self.month - 1)]);
        format!("{weekday}, {day} {month} {year} {hour:02}:{minute:02}:{second:02} GMT")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn dates_as_date_1_prints_them() {
        // date -u -d @N
        for (secs, long) in [
            (0, "Thu, 1 Jan 1970 00:00:00 GMT"),
            (951_782_399, "Mon, 28 Feb 2000 23:59:59 GMT"),
            (951_782_400, "Tue, 29 Feb 2000 00:00:00 GMT"),
            (1_767_225_599, "Wed, 31 Dec 2025 23:59:59 GMT"),
            (4_107_542_400, "Mon, 1 Mar 2100 00:00:00 GMT"),
        ] {
            assert_eq!(Date::from(UNIX_EPOCH + Duration::from_secs(secs)).long().to_string(), long);
        }
        let date = Date::from(UNIX_EPOCH + Duration::from_millis(1_772_323_205_007));
        assert_eq!(date.stamp().to_string(), "2026/03/01 00:00:05:007");
        assert_eq!(date.iso().to_string(), "2026-03-01T00:00:05.007000");
        assert_eq!(date.syslog().to_string(), "Mar  1 00:00:05");
    }
}
