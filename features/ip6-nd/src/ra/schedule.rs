// SPDX-License-Identifier: Apache-2.0
//! Schedule of advertisements (RFC 4861 6.2.4 to 6.2.6). No side effects.

use super::{RaConfig, ReceivedSolicitation};
use std::net::Ipv6Addr;
use wire::MacAddr;

pub const SECOND: u64 = 1_000_000_000;
/// Minimum interval between two advertisements to all, in nanoseconds.
const MIN_DELAY: u64 = 3 * SECOND;
/// Maximum delay of a multicast answer, in nanoseconds.
const MAX_ANSWER_DELAY: u64 = SECOND / 2;
/// Number of final advertisements, with router lifetime 0.
const FINALS: u8 = 3;
/// Maximum number of hosts answered by unicast within [`MIN_DELAY`].
const ANSWERS: usize = 64;

/// An advertisement to be sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PendingAdvertisement {
    /// To this host, which may have no address yet; to all without one.
    pub to: Option<(Ipv6Addr, MacAddr)>,
    /// True for a final one: this is a default router no longer.
    pub last: bool,
}

/// Counters of one interface.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// Advertisements sent.
    pub sent: u32,
    /// Solicitations received.
    pub solicited: u32,
    /// Solicitations received, but not answered.
    pub dropped: u32,
}

/// One interface's times, all of the instance's clock in nanoseconds.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Schedule {
    /// Advertisements are sent.
    active: bool,
    /// When the next one to all is due.
    pub next: Option<u64>,
    /// When the last one to all was sent.
    pub last_multicast: Option<u64>,
    /// When the last solicitation that is answered came in.
    pub last_answer: Option<u64>,
    /// Number of initial ones still to come.
    pub initial: u32,
    /// Number of final ones still to come.
    finals: u8,
    /// Hosts to be answered by unicast now.
    answers: Vec<(Ipv6Addr, MacAddr)>,
    /// Hosts answered by unicast lately, with the time before which they get no further answer.
    answered: Vec<(u64, MacAddr)>,
    pub counts: Counts,
}

impl Schedule {
    /// Returns true if advertisements are sent.
    pub fn is_active(&self) -> bool {
        self.active
    }

    /// Starts or stops advertisements of an interface; `tell` is true if final ones can still be
    /// sent.
    pub fn set_active(&mut self, on: bool, tell: bool, config: &RaConfig, now: u64) {
        if on && !self.active {
            (self.initial, self.finals) = (config.initial_count, 0);
            self.next = Some(self.earliest(now));
        } else if !on && self.active {
            self.forget_answers();
            self.finals = if tell { FINALS } else { 0 };
            self.next = tell.then(|| self.earliest(now));
        } else if !on && !tell {
            (self.finals, self.next) = (0, None);
        }
        self.active = on;
    }

    /// Schedules changed settings for soon, as at the beginning.
    pub fn changed(&mut self, config: &RaConfig, now: u64) {
        if self.active {
            self.initial = self.initial.max(config.initial_count);
            self.next = Some(self.earliest(now));
        }
    }

    /// Lets hosts that were answered just now be answered again.
    pub fn forget_answers(&mut self) {
        self.answers.clear();
        self.answered.clear();
    }

    fn earliest(&self, now: u64) -> u64 {
        self.last_multicast.map_or(now, |last| now.max(last + MIN_DELAY))
    }

    /// Handles a solicitation. A unicast answer is due at once, since no other router answers at
    /// the same time; a multicast answer comes a little later. `random` is any number.
    pub fn solicited(
        &mut self,
        asks: &ReceivedSolicitation,
        config: &RaConfig,
        now: u64,
        random: u64,
    ) {
        self.counts.solicited += 1;
        self.answered.retain(|(until, _)| *until > now);
        let again = config.unicast && self.answered.iter().any(|(_, mac)| *mac == asks.mac);
        if !self.active || again {
            self.counts.dropped += 1;
            return;
        }
        self.last_answer = Some(now);
        // With too many soliciting hosts, one answer to all: a host with many addresses keeps no
        // other one from it.
        if config.unicast && self.answered.len() < ANSWERS {
            self.answered.push((now + MIN_DELAY, asks.mac));
            self.answers.push((asks.from, asks.mac));
            return;
        }
        // One to all is answer enough, also if it comes a little later.
        let due = self.earliest(now + random % MAX_ANSWER_DELAY);
        self.next = Some(self.next.map_or(due, |next| next.min(due)));
    }

    /// Returns the advertisements to be sent now. `random` is any number.
    pub fn take_due(
        &mut self,
        config: &RaConfig,
        now: u64,
        random: u64,
    ) -> Vec<PendingAdvertisement> {
        let answers = self.answers.drain(..);
        let mut all: Vec<_> =
            answers.map(|to| PendingAdvertisement { to: Some(to), last: false }).collect();
        if self.next.is_some_and(|next| next <= now) {
            all.push(PendingAdvertisement { to: None, last: !self.active });
            self.last_multicast = Some(now);
            self.next = if self.active {
                Some(now + self.interval(config, random))
            } else {
                self.finals = self.finals.saturating_sub(1);
                (self.finals > 0).then_some(now + MIN_DELAY)
            };
        }
        self.counts.sent += all.len() as u32;
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

    /// When the next advertisement to all is due. Unicast answers are sent as soon as hosts
    /// solicit.
    pub fn next_due(&self) -> Option<u64> {
        self.next
    }
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ALL: PendingAdvertisement = PendingAdvertisement { to: None, last: false };

    /// A solicitation of the host with this address at this station.
    fn asks(from: &str, last: u8) -> ReceivedSolicitation {
        ReceivedSolicitation {
            sw_if: 1,
            from: from.parse().unwrap(),
            mac: MacAddr([2, 0, 0, 0, 0, last]),
        }
    }

    /// When advertisements to all are sent from `now` on, until `end`.
    fn times(s: &mut Schedule, config: &RaConfig, end: u64) -> Vec<u64> {
        let mut times = Vec::new();
        while let Some(due) = s.next_due().filter(|due| *due <= end) {
            let sent = s.take_due(config, due, 0);
            times.extend(sent.iter().map(|_| due / SECOND));
        }
        times
    }

    #[suite::test]
    fn the_first_come_fast_and_the_last_say_good_bye() {
        let (mut s, config) = (Schedule::default(), RaConfig::default());
        assert_eq!(s.next_due(), None);
        s.set_active(true, true, &config, 0);
        assert_eq!(times(&mut s, &config, 400 * SECOND), [0, 16, 32, 182, 332]);
        s.set_active(false, true, &config, 400 * SECOND);
        let last = PendingAdvertisement { last: true, ..ALL };
        assert_eq!(s.take_due(&config, 400 * SECOND, 0), [last]);
        assert_eq!(times(&mut s, &config, 9000 * SECOND), [403, 406]);
        s.set_active(true, true, &config, 9001 * SECOND);
        s.set_active(false, false, &config, 9001 * SECOND);
        assert_eq!(s.next_due(), None, "nobody hears it");
    }

    #[suite::test]
    fn who_asks_is_answered_but_not_all_the_time() {
        let (mut s, config) =
            (Schedule::default(), RaConfig { initial_count: 0, ..RaConfig::default() });
        let host = asks("fe80::9", 9);
        s.solicited(&host, &config, 0, 0);
        assert_eq!(s.counts, Counts { sent: 0, solicited: 1, dropped: 1 });
        s.set_active(true, true, &config, 0);
        assert_eq!((s.take_due(&config, 0, 0), s.last_answer), (vec![ALL], None));
        s.solicited(&host, &config, SECOND, 100_000_000);
        s.solicited(&asks("::", 8), &config, SECOND, 200_000_000);
        assert_eq!(s.next_due(), Some(3 * SECOND), "not sooner than three seconds after the last");
        assert_eq!((s.take_due(&config, 3 * SECOND, 0), s.last_answer), (vec![ALL], Some(SECOND)));
        s.solicited(&host, &config, 100 * SECOND, 100_000_000);
        assert_eq!(s.next_due(), Some(100 * SECOND + 100_000_000));
        let unicast = RaConfig { unicast: true, ..config };
        s.take_due(&unicast, 101 * SECOND, 0);
        // Alone, at once, and not again for a while; another one all the same.
        let mut answers = |asks: ReceivedSolicitation, at: u64| {
            s.solicited(&asks, &unicast, at, 5);
            s.take_due(&unicast, at, 0).iter().filter_map(|sent| sent.to).collect::<Vec<_>>()
        };
        let (other, to) = (asks("::", 8), |q: ReceivedSolicitation| vec![(q.from, q.mac)]);
        assert_eq!(answers(host, 102 * SECOND), to(host));
        assert_eq!(answers(host, 104 * SECOND), []);
        assert_eq!(answers(other, 104 * SECOND), to(other));
        assert_eq!(answers(host, 105 * SECOND), to(host));
        assert_eq!(
            (s.counts, s.last_answer),
            (Counts { sent: 6, solicited: 8, dropped: 2 }, Some(105 * SECOND))
        );
        s.forget_answers();
        s.solicited(&host, &unicast, 105 * SECOND, 5);
        assert_eq!(s.take_due(&unicast, 105 * SECOND, 0).len(), 1, "somebody has set something");
        for n in 0..100 {
            s.solicited(&asks("::", 100 + n), &unicast, 200 * SECOND, 5);
        }
        let answered =
            s.take_due(&unicast, 200 * SECOND, 0).into_iter().filter(|sent| sent.to.is_some());
        assert_eq!(answered.count(), ANSWERS);
        let next = s.next.expect("the others are answered together");
        assert!(next <= 200 * SECOND + MAX_ANSWER_DELAY, "{next}");
    }

    proptest! {
        #[suite::test]
        fn intervals_are_kept(pauses in prop::collection::vec((0u64..50, any::<u64>()), 0..60), min in 3u32..20) {
            let config = RaConfig { max_interval: min * 2, min_interval: min, lifetime: 0, ..RaConfig::default() };
            let (mut s, mut now, mut last) = (Schedule::default(), 0, None);
            s.set_active(true, true, &config, 0);
            for (pause, random) in pauses {
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
                s.solicited(&asks("::", 8), &config, now, random);
            }
            let next = s.next_due().expect("there is always a next one");
            prop_assert!(next <= now.max(last.unwrap_or(0)) + u64::from(config.max_interval) * SECOND);
        }
    }
}
