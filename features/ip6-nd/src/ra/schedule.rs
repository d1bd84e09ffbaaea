// SPDX-License-Identifier: Apache-2.0
//! When advertisements are sent (RFC 4861 6.2.4 to 6.2.6). No side effects.

use super::RaConfig;
use std::net::Ipv6Addr;

pub const SECOND: u64 = 1_000_000_000;
/// Between two to all, at least.
const MIN_DELAY: u64 = 3 * SECOND;
/// An answer waits up to so long.
const MAX_ANSWER_DELAY: u64 = SECOND / 2;
/// So often it is told that this is a default router no longer.
const FINALS: u8 = 3;
/// Answers to single hosts that wait at most.
const ANSWERS: usize = 64;

/// What is to be sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sending {
    /// To this host; to all if unspecified.
    pub to: Ipv6Addr,
    /// This is a default router no longer.
    pub last: bool,
}

/// What was sent and heard.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// Advertisements.
    pub sent: u32,
    /// Solicitations.
    pub solicited: u32,
    /// Of these, those that weren't answered.
    pub dropped: u32,
}

/// One interface's times, all of the instance's clock in nanoseconds.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Schedule {
    /// Advertisements are sent.
    active: bool,
    /// The next to all.
    pub next: Option<u64>,
    /// The last to all.
    pub last_multicast: Option<u64>,
    /// The last to anybody.
    pub last: Option<u64>,
    /// Of the first ones, those still to come.
    pub initial: u32,
    /// Of the final ones, those still to come.
    finals: u8,
    /// Answers to single hosts.
    answers: Vec<(u64, Ipv6Addr)>,
    pub counts: Counts,
}

impl Schedule {
    /// Whether advertisements are sent.
    pub fn is_active(&self) -> bool {
        self.active
    }

    /// The interface can send them now, or no longer; `tell` says whether it can still say so.
    pub fn set_active(&mut self, on: bool, tell: bool, config: &RaConfig, now: u64) {
        if on && !self.active {
            (self.initial, self.finals) = (config.initial_count, 0);
            self.next = Some(self.earliest(now));
        } else if !on && self.active {
            self.answers.clear();
            self.finals = if tell { FINALS } else { 0 };
            self.next = tell.then(|| self.earliest(now));
        } else if !on && !tell {
            (self.finals, self.next) = (0, None);
        }
        self.active = on;
    }

    /// Something else is to be told: soon, as at the beginning.
    pub fn changed(&mut self, config: &RaConfig, now: u64) {
        if self.active {
            self.initial = self.initial.max(config.initial_count);
            self.next = Some(self.earliest(now));
        }
    }

    fn earliest(&self, now: u64) -> u64 {
        self.last_multicast.map_or(now, |last| now.max(last + MIN_DELAY))
    }

    /// A host asks. `random` is any number.
    pub fn solicited(&mut self, from: Ipv6Addr, config: &RaConfig, now: u64, random: u64) {
        self.counts.solicited += 1;
        let due = now + random % MAX_ANSWER_DELAY;
        if !self.active {
            self.counts.dropped += 1;
        } else if config.unicast && !from.is_unspecified() {
            let waits = self.answers.iter().any(|(_, ip)| *ip == from);
            if waits || self.answers.len() >= ANSWERS {
                self.counts.dropped += 1;
            } else {
                self.answers.push((due, from));
            }
        } else {
            // One to all is answer enough, also if it comes a little later.
            let due = self.earliest(due);
            self.next = Some(self.next.map_or(due, |next| next.min(due)));
        }
    }

    /// Takes out what is to be sent now. `random` is any number.
    pub fn take_due(&mut self, config: &RaConfig, now: u64, random: u64) -> Vec<Sending> {
        let mut all = Vec::new();
        self.answers.retain(|(due, to)| {
            if *due <= now {
                all.push(Sending { to: *to, last: false });
            }
            *due > now
        });
        if self.next.is_some_and(|next| next <= now) {
            all.push(Sending { to: Ipv6Addr::UNSPECIFIED, last: !self.active });
            self.last_multicast = Some(now);
            self.next = if self.active {
                Some(now + self.interval(config, random))
            } else {
                self.finals = self.finals.saturating_sub(1);
                (self.finals > 0).then_some(now + MIN_DELAY)
            };
        }
        if !all.is_empty() {
            self.last = Some(now);
            self.counts.sent += all.len() as u32;
        }
        all
    }

    fn interval(&mut self, config: &RaConfig, random: u64) -> u64 {
        let [low, high] = [config.min_interval, config.max_interval].map(|s| u64::from(s) * SECOND);
        let interval = low + random % (high.saturating_sub(low) + 1);
        if self.initial == 0 {
            return interval;
        }
        self.initial -= 1;
        if self.initial == 0 {
            return interval;
        }
        interval.min(u64::from(config.initial_interval) * SECOND).max(MIN_DELAY)
    }

    /// When something is due.
    pub fn next_due(&self) -> Option<u64> {
        self.answers.iter().map(|(due, _)| *due).chain(self.next).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ALL: Sending = Sending { to: Ipv6Addr::UNSPECIFIED, last: false };

    /// When advertisements to all are sent from `now` on, until `end`.
    fn times(s: &mut Schedule, config: &RaConfig, end: u64) -> Vec<u64> {
        let mut times = Vec::new();
        while let Some(due) = s.next_due().filter(|due| *due <= end) {
            let sent = s.take_due(config, due, 0);
            times.extend(sent.iter().map(|_| due / SECOND));
        }
        times
    }

    #[test]
    fn the_first_come_fast_and_the_last_say_good_bye() {
        let (mut s, config) = (Schedule::default(), RaConfig::default());
        assert_eq!(s.next_due(), None);
        s.set_active(true, true, &config, 0);
        assert_eq!(times(&mut s, &config, 400 * SECOND), [0, 16, 32, 182, 332]);
        s.set_active(false, true, &config, 400 * SECOND);
        let last = Sending { last: true, ..ALL };
        assert_eq!(s.take_due(&config, 400 * SECOND, 0), [last]);
        assert_eq!(times(&mut s, &config, 9000 * SECOND), [403, 406]);
        s.set_active(true, true, &config, 9001 * SECOND);
        s.set_active(false, false, &config, 9001 * SECOND);
        assert_eq!(s.next_due(), None, "nobody hears it");
    }

    #[test]
    fn who_asks_is_answered_but_not_all_the_time() {
        let (mut s, config) = (Schedule::default(), RaConfig { initial_count: 0, ..RaConfig::default() });
        let host: Ipv6Addr = "fe80::9".parse().unwrap();
        s.solicited(host, &config, 0, 0);
        assert_eq!(s.counts, Counts { sent: 0, solicited: 1, dropped: 1 });
        s.set_active(true, true, &config, 0);
        assert_eq!(s.take_due(&config, 0, 0), [ALL]);
        s.solicited(host, &config, SECOND, 100_000_000);
        s.solicited(Ipv6Addr::UNSPECIFIED, &config, SECOND, 200_000_000);
        assert_eq!(s.next_due(), Some(3 * SECOND), "not sooner than three seconds after the last");
        assert_eq!(s.take_due(&config, 3 * SECOND, 0), [ALL]);
        s.solicited(host, &config, 100 * SECOND, 100_000_000);
        assert_eq!(s.next_due(), Some(100 * SECOND + 100_000_000));
        let unicast = RaConfig { unicast: true, ..config };
        s.take_due(&unicast, 101 * SECOND, 0);
        s.solicited(host, &unicast, 102 * SECOND, 5);
        s.solicited(host, &unicast, 102 * SECOND, 5);
        assert_eq!(s.take_due(&unicast, 102 * SECOND + 5, 0), [Sending { to: host, last: false }]);
        assert_eq!(s.counts, Counts { sent: 4, solicited: 6, dropped: 2 });
    }

    proptest! {
        #[test]
        fn intervals_are_kept(asks in prop::collection::vec((0u64..50, any::<u64>()), 0..60), min in 3u32..20) {
            let config = RaConfig { max_interval: min * 2, min_interval: min, lifetime: 0, ..RaConfig::default() };
            let (mut s, mut now, mut last) = (Schedule::default(), 0, None);
            s.set_active(true, true, &config, 0);
            for (pause, random) in asks {
                let until = now + pause * SECOND / 10;
                while let Some(due) = s.next_due().filter(|due| *due <= until) {
                    prop_assert!(due >= now);
                    now = due;
                    for sent in s.take_due(&config, now, random) {
                        prop_assert_eq!(sent, ALL);
                        prop_assert!(last.is_none_or(|last| now >= last + MIN_DELAY));
                        last = Some(now);
                    }
                }
                now = until;
                s.solicited(Ipv6Addr::UNSPECIFIED, &config, now, random);
            }
            let next = s.next_due().expect("there is always a next one");
            prop_assert!(next <= now.max(last.unwrap_or(0)) + u64::from(config.max_interval) * SECOND);
        }
    }
}
