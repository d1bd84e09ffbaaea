// SPDX-License-Identifier: Apache-2.0
//! The times at which packets are due.

/// A part of a trial with one rate.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Phase {
    /// Packets per second; infinite: each packet is due at once.
    pub rate: f64,
    /// Number of packets.
    pub packets: u64,
}

impl Phase {
    /// Packets of this rate for `seconds`.
    pub fn lasting(rate: f64, seconds: f64) -> Self {
        Self { rate, packets: (rate * seconds).round().max(0.0) as u64 }
    }

    /// Nanoseconds between packets.
    fn interval(self) -> f64 {
        if self.rate > 0.0 { 1e9 / self.rate } else { 0.0 }
    }
}

/// Phases one after the other.
#[derive(Clone, Debug)]
pub struct Schedule {
    /// Start in nanoseconds, first packet, interval in nanoseconds.
    phases: Vec<(f64, u64, f64)>,
    total: u64,
    /// Phase of the packet that was asked for last: the next one is in the same or a later one.
    at: usize,
}

impl Schedule {
    /// Lays the phases out; the first begins at 0.
    pub fn new(phases: &[Phase]) -> Self {
        let (mut start, mut total) = (0.0, 0);
        let phases = phases
            .iter()
            .map(|phase| {
                let this = (start, total, phase.interval());
                start += phase.interval() * phase.packets as f64;
                total += phase.packets;
                this
            })
            .collect();
        Self { phases, total, at: 0 }
    }

    /// Number of packets.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Nanoseconds from the start to the end of the last packet's interval.
    pub fn duration(&self) -> f64 {
        self.phases.last().map_or(0.0, |&(start, first, interval)| {
            start + interval * self.total.saturating_sub(first) as f64
        })
    }

    /// Nanoseconds after the start at which a packet is due. Packets are asked for in their order.
    #[inline(always)]
    pub fn due(&mut self, packet: u64) -> u64 {
        while self.phases.get(self.at + 1).is_some_and(|&(_, first, _)| first <= packet) {
            self.at += 1;
        }
        self.phases.get(self.at).map_or(0, |&(start, first, interval)| {
            (start + interval * packet.saturating_sub(first) as f64) as u64
        })
    }

    /// Number of packets that are due `elapsed` nanoseconds after the start, if `sent` were sent;
    /// packets of later phases are not seen before this one is done.
    #[inline(always)]
    pub fn due_until(&mut self, elapsed: u64, sent: u64) -> u64 {
        // Moves to the phase of the next packet.
        let _ = self.due(sent);
        let end = self.phases.get(self.at + 1).map_or(self.total, |&(_, first, _)| first);
        let Some(&(start, first, interval)) = self.phases.get(self.at) else { return 0 };
        let passed = elapsed as f64 - start;
        if passed < 0.0 {
            return sent;
        }
        if interval <= 0.0 {
            return end;
        }
        (first + (passed / interval) as u64 + 1).min(end)
    }
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[suite::test]
    fn phases_follow_each_other() {
        let phases = [Phase { rate: 1e6, packets: 3 }, Phase { rate: 5e5, packets: 2 }];
        let mut schedule = Schedule::new(&phases);
        let due: Vec<_> = (0..5).map(|packet| schedule.due(packet)).collect();
        assert_eq!(due, [0, 1000, 2000, 3000, 5000]);
        assert_eq!((schedule.total(), schedule.duration()), (5, 7000.0));
        let mut burst = Schedule::new(&[Phase { rate: f64::INFINITY, packets: 9 }]);
        assert_eq!((burst.due_until(0, 0), burst.due(8)), (9, 0));
        assert_eq!(Phase::lasting(333_333.3, 1.0).packets, 333_333);
    }

    proptest! {
        #[suite::test]
        fn due_until_agrees_with_due(rate in 1.0f64..2e7, packets in 1u64..2000, more in 0u64..2000) {
            let phases = [Phase { rate, packets }, Phase { rate: rate / 3.0, packets: more }];
            let mut schedule = Schedule::new(&phases);
            let mut sent = 0;
            while sent < schedule.total() {
                let now = schedule.due(sent) + 1;
                let until = schedule.due_until(now, sent);
                // a packet is due at its time, rounding apart
                prop_assert!(until > sent && until <= sent + 2 + 20_000_000 / 1_000_000, "{} {}", until, sent);
                sent = until;
            }
        }
    }
}
