// SPDX-License-Identifier: Apache-2.0
//! Dates as text, in UTC.

use std::fmt;
use std::time::{SystemTime, UNIX_EPOCH};

use chrono::{DateTime, Utc};

/// A point in time, UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Date(DateTime<Utc>);

impl From<SystemTime> for Date {
    /// Times before 1970 are shown as 1970, and so are those after the calendar's end, in the year
    /// 262142.
    fn from(time: SystemTime) -> Date {
        let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
        let date = DateTime::from_timestamp(since.as_secs() as i64, since.subsec_nanos());
        Date(date.unwrap_or_default())
    }
}

impl Date {
    /// The current time.
    pub fn now() -> Date {
        SystemTime::now().into()
    }

    /// The form of log lines: `2026/03/21 12:00:00:123`.
    pub fn stamp(self) -> impl fmt::Display {
        self.0.format("%Y/%m/%d %H:%M:%S:%3f")
    }

    /// As ISO 8601 has it, without a zone: `2026-03-21T12:00:00.123456`.
    pub fn iso(self) -> impl fmt::Display {
        self.0.format("%Y-%m-%dT%H:%M:%S.%6f")
    }

    /// As syslog wants it (RFC 3164 §4.1.2): `Mar  1 12:00:00`.
    pub fn syslog(self) -> impl fmt::Display {
        self.0.format("%b %e %H:%M:%S")
    }

    /// As `show clock` prints it: `Sat, 21 Mar 2026 12:00:00 GMT`.
    pub fn long(self) -> impl fmt::Display {
        self.0.format("%a, %-d %b %Y %H:%M:%S GMT")
    }

    /// As names of files have it: `20260321-120000`.
    pub fn compact(self) -> impl fmt::Display {
        self.0.format("%Y%m%d-%H%M%S")
    }
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;
    use std::time::Duration;

    #[suite::test]
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
        assert_eq!(date.compact().to_string(), "20260301-000005");
    }

    #[suite::test]
    fn times_out_of_range_are_1970() {
        let (day, ages) = (Duration::from_secs(86_400), Duration::from_secs(u64::MAX / 4));
        for time in [UNIX_EPOCH - day, UNIX_EPOCH + ages] {
            assert_eq!(Date::from(time).compact().to_string(), "19700101-000000");
        }
    }
}
