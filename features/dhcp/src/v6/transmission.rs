// SPDX-License-Identifier: Apache-2.0
//! Times at which a message is sent again (RFC 8415 15). No side effects. Times are on the
//! instance's clock, in nanoseconds.

use crate::lifetime::SECOND;

/// The parameters of a message, in seconds; 0 for no limit.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Pace {
    /// Between the first and the second time that it is sent.
    pub initial: u32,
    /// Between two times at most.
    pub longest: u32,
    /// Number of times that it is sent.
    pub count: u32,
    /// From the first time to the last.
    pub duration: u32,
}

/// A message that is sent until it is answered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Transmission {
    pace: Pace,
    begun: Option<u64>,
    sent: u32,
    pause: u64,
    /// When it is sent next; `None` if it was sent for the last time, and the time to wait for an
    /// answer is over.
    pub due: Option<u64>,
}

impl Transmission {
    /// A message that is sent at `now` for the first time.
    pub fn new(pace: Pace, now: u64) -> Self {
        Self { pace, begun: None, sent: 0, pause: 0, due: Some(now) }
    }

    /// Hundredths of a second since it was sent for the first time, as messages carry it.
    pub fn elapsed(&self, now: u64) -> u16 {
        let since = self.begun.map_or(0, |begun| now.saturating_sub(begun));
        u16::try_from(since / (SECOND / 100)).unwrap_or(u16::MAX)
    }

    /// True if it has been sent for the last time, and time is over.
    pub fn is_over(&self, now: u64) -> bool {
        let Pace { count, duration, .. } = self.pace;
        let late = self.begun.map(|begun| begun + u64::from(duration) * SECOND);
        count > 0 && self.sent >= count || duration > 0 && late.is_some_and(|end| end <= now)
    }

    /// Schedules the next time after it was sent; `random` is any number.
    pub fn sent(&mut self, now: u64, random: u64) {
        let is_first = self.begun.is_none();
        self.begun.get_or_insert(now);
        self.sent += 1;
        let seconds = |s: u32| u64::from(s) * SECOND;
        // A tenth more or less; not less before the second message, so that servers with a low
        // preference have time to answer (RFC 8415 15, 18.2.1).
        let about = |t: u64| match is_first {
            true => t + 1 + random % (t / 10),
            false => t - t / 10 + random % (t / 5 + 1),
        };
        let Pace { initial, longest, .. } = self.pace;
        let next = match self.pause {
            0 => about(seconds(initial.max(1))),
            last => last + about(last),
        };
        self.pause =
            if longest > 0 && next > seconds(longest) { about(seconds(longest)) } else { next };
        self.due = Some(now + self.pause);
    }

    /// It couldn't be sent: it is tried again.
    pub fn postpone(&mut self, now: u64) {
        self.due = Some(now + SECOND);
    }
}
