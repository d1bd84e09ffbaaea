// SPDX-License-Identifier: Apache-2.0
//! The daemon as a service of systemd: tells it when the router is ready, that it is alive, and
//! when it ends. Without systemd nothing is sent.

use std::time::{Duration, Instant};

use sd_notify::NotifyState;

/// Tells the service manager what happens.
pub struct Service {
    /// Interval of the signs of life, if it wants any; and the time of the next one. The daemon's
    /// own clock can be set.
    watchdog: Option<(Duration, Instant)>,
}

impl Service {
    /// Reads from the environment what the service manager wants.
    pub fn from_env() -> Self {
        // Half of the time after which it would restart the daemon, as sd_watchdog_enabled(3)
        // recommends.
        let interval = sd_notify::watchdog_enabled().map(|time| time / 2);
        Self { watchdog: interval.map(|interval| (interval, Instant::now())) }
    }

    /// The router is ready; `status` is shown by `systemctl status`.
    pub fn ready(&self, status: &str) {
        send(&[NotifyState::Ready, NotifyState::Status(status)]);
    }

    /// The router ends.
    pub fn stopping(&self) {
        send(&[NotifyState::Stopping]);
    }

    /// Sends a sign of life if it is time; returns the time until the next one.
    pub fn beat(&mut self, now: Instant) -> Option<Duration> {
        let (interval, due) = self.watchdog.as_mut()?;
        if now >= *due {
            send(&[NotifyState::Watchdog]);
            *due = now + *interval;
        }
        Some(*due - now)
    }
}

/// Sends to the service manager, if there is one. It restarts a daemon from which nothing comes, so
/// a failure needs no other report than the log's.
fn send(state: &[NotifyState<'_>]) {
    if let Err(e) = sd_notify::notify(state) {
        log::warn!(target: "main", "systemd can't be told: {e}");
    }
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;

    #[suite::test]
    fn signs_of_life_come_in_time() {
        let (start, seconds) = (Instant::now(), Duration::from_secs);
        let mut service = Service { watchdog: Some((seconds(15), start)) };
        assert_eq!(service.beat(start), Some(seconds(15)));
        assert_eq!(service.beat(start + seconds(10)), Some(seconds(5)));
        assert_eq!(service.beat(start + seconds(17)), Some(seconds(15)));
        assert_eq!(Service { watchdog: None }.beat(start), None);
    }
}
