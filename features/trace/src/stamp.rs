// SPDX-License-Identifier: Apache-2.0
//! The time format of traces.

use cli::{Command, Date, Output};
use graph::{Shared, World};
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{Duration, UNIX_EPOCH};

/// Timestamp format of traces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Stamp {
    /// Since the start: `HH:MM:SS:uuuuuu`.
    #[default]
    Relative,
    /// Seconds since 1970.
    Unix,
    /// Date and time, UTC (ISO 8601).
    Datetime,
}

impl Stamp {
    const ALL: [Self; 3] = [Self::Relative, Self::Unix, Self::Datetime];

    const fn name(self) -> &'static str {
        match self {
            Self::Relative => "relative",
            Self::Unix => "unix",
            Self::Datetime => "datetime",
        }
    }

    /// A time since the start; the start was so long after 1970.
    pub fn text(self, time: Duration, start: Duration) -> String {
        let since_1970 = start + time;
        match self {
            Self::Relative => {
                let (seconds, micros) = (time.as_secs(), time.subsec_micros());
                let (hours, minutes) = (seconds / 3600, seconds / 60 % 60);
                format!("{hours:02}:{minutes:02}:{:02}:{micros:06}", seconds % 60)
            }
            Self::Unix => format!("{}.{:06}", since_1970.as_secs(), since_1970.subsec_micros()),
            Self::Datetime => Date::from(UNIX_EPOCH + since_1970).iso().to_string(),
        }
    }
}

/// The format that was chosen.
#[derive(Default)]
pub struct Format(AtomicU8);

impl Shared for Format {
    fn make(_: &World) -> Self {
        Self::default()
    }
}

impl Format {
    /// The format.
    pub fn get(&self) -> Stamp {
        let chosen = self.0.load(Ordering::Relaxed);
        Stamp::ALL.into_iter().find(|stamp| *stamp as u8 == chosen).unwrap_or_default()
    }
}

pub const SET_FORMAT: Command<World> = Command {
    path: "set trace timestamp-format",
    usage: "{relative|unix|datetime}",
    help: "Choose how times of traces are written",
    run: |w, m| {
        let chosen = Stamp::ALL.into_iter().find(|stamp| m.flag(stamp.name())).unwrap_or_default();
        w.get::<Format>().0.store(chosen as u8, Ordering::Relaxed);
        Ok(Output::empty())
    },
};

pub const SHOW_FORMAT: Command<World> = Command {
    path: "show trace timestamp-format",
    usage: "",
    help: "Format of times in traces",
    run: |w, _| {
        let name = w.get::<Format>().get().name();
        Ok(Output::both(
            format!("Trace timestamp format: {name}\n"),
            serde_json::json!({ "format": name }),
        ))
    },
};

#[cfg(feature = "tests")]
mod tests {
    use super::*;

    #[suite::test]
    fn times_are_written_in_three_ways() {
        let text = |stamp: Stamp, time, start| {
            stamp.text(Duration::from_nanos(time), Duration::from_nanos(start))
        };
        let relative = |time| text(Stamp::Relative, time, 7);
        assert_eq!(relative(0), "00:00:00:000000");
        assert_eq!(relative(3_661_000_042_999), "01:01:01:000042");
        assert_eq!(relative(360_000_000_000_000), "100:00:00:000000");
        let start = 1_709_164_799 * 1_000_000_000;
        assert_eq!(text(Stamp::Unix, 1_000_123_456_000, start), "1709165799.123456");
        for (time, want) in [
            (0, "2024-02-28T23:59:59.000000"),
            (1_000_042_000, "2024-02-29T00:00:00.000042"),
            (86_401_000_000_000, "2024-03-01T00:00:00.000000"),
        ] {
            assert_eq!(text(Stamp::Datetime, time, start), want);
        }
        assert_eq!(text(Stamp::Datetime, 0, 946_684_799_999_999_000), "1999-12-31T23:59:59.999999");
    }
}
