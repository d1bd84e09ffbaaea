// SPDX-License-Identifier: Apache-2.0
//! One trial: frames sent at a rate for a time, and what came back.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Direction of a stream through the device under test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// From the left port of the tester to the right one.
    Forward,
    /// From the right port to the left one.
    Reverse,
}

impl fmt::Display for Direction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Direction::Forward => "forward",
            Direction::Reverse => "reverse",
        })
    }
}

/// Frames of one direction, counted by their signatures. Each frame that was sent is received or
/// lost: `sent = received + lost`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Counts {
    /// Direction in which the frames were sent.
    pub direction: Direction,
    /// Frames handed to the port.
    pub sent: u64,
    /// Frames of this trial that arrived in time, each counted once.
    pub received: u64,
    /// Frames that didn't arrive in time or at all.
    pub lost: u64,
    /// Further copies of frames that had arrived already.
    pub duplicated: u64,
    /// Received frames that arrived after a frame that was sent later.
    pub reordered: u64,
    /// Lost frames that arrived after the wait at the end of the trial.
    pub late: u64,
    /// Received frames whose bytes differ from what the device had to send.
    pub changed: u64,
    /// Seconds from the first to the last frame sent, plus one interval between frames.
    pub sending_time: f64,
}

impl Counts {
    /// Counts of a direction in which nothing was sent yet.
    pub fn new(direction: Direction) -> Counts {
        Counts {
            direction,
            sent: 0,
            received: 0,
            lost: 0,
            duplicated: 0,
            reordered: 0,
            late: 0,
            changed: 0,
            sending_time: 0.0,
        }
    }

    /// Lost frames as a share of the frames sent; 0 if none was sent.
    pub fn loss_ratio(&self) -> f64 {
        if self.sent == 0 { 0.0 } else { self.lost as f64 / self.sent as f64 }
    }
}

/// Limits within which a trial is valid. A result document holds the rules that were applied.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Rules {
    /// Longest sending time as a multiple of the trial's duration.
    pub sending_time: f64,
    /// Largest share of the intended frames that may be missing from the frames sent.
    pub shortfall: f64,
    /// Largest share of CPU time that a hypervisor may take from the tester.
    pub steal: f64,
}

impl Default for Rules {
    fn default() -> Rules {
        Rules { sending_time: 1.00001, shortfall: 1e-5, steal: 0.01 }
    }
}

/// Reason why a trial isn't valid.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "fault", rename_all = "kebab-case")]
pub enum Fault {
    /// Sending took longer than the trial.
    SendingTime {
        /// Direction of the stream.
        direction: Direction,
        /// Seconds that sending took.
        seconds: f64,
        /// Longest valid sending time in seconds.
        limit: f64,
    },
    /// Fewer frames were sent than rate and duration demand.
    Shortfall {
        /// Direction of the stream.
        direction: Direction,
        /// Frames that rate and duration demand.
        expected: u64,
        /// Frames that were sent.
        sent: u64,
    },
    /// More frames were sent than rate and duration demand.
    Excess {
        /// Direction of the stream.
        direction: Direction,
        /// Frames that rate and duration demand.
        expected: u64,
        /// Frames that were sent.
        sent: u64,
    },
    /// The hypervisor took CPU time from the tester.
    Steal {
        /// Share of CPU time, between 0 and 1.
        share: f64,
        /// Largest valid share.
        limit: f64,
    },
    /// A direction that takes part in the measurement wasn't sent.
    MissingDirection {
        /// Direction without counts.
        direction: Direction,
    },
    /// Counts that contradict each other: `sent` isn't `received + lost`, or a subset is larger
    /// than its set.
    Inconsistent {
        /// Direction of the stream.
        direction: Direction,
    },
    /// The tester stopped the trial before its end.
    Interrupted,
    /// Another reason, in the tester's words.
    Other {
        /// Sentence for the report.
        reason: String,
    },
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::SendingTime { direction, seconds, limit } => {
                write!(f, "{direction}: sending took {seconds:.6} s, at most {limit:.6} s is valid")
            }
            Fault::Shortfall { direction, expected, sent }
            | Fault::Excess { direction, expected, sent } => {
                write!(f, "{direction}: {sent} frames sent, {expected} intended")
            }
            Fault::Steal { share, limit } => write!(
                f,
                "the hypervisor took {:.2} % of the CPU time, at most {:.2} % is valid",
                share * 100.0,
                limit * 100.0
            ),
            Fault::MissingDirection { direction } => write!(f, "{direction}: nothing was sent"),
            Fault::Inconsistent { direction } => {
                write!(f, "{direction}: the counts contradict each other")
            }
            Fault::Interrupted => f.write_str("interrupted"),
            Fault::Other { reason } => f.write_str(reason),
        }
    }
}

impl Fault {
    /// True if the same trial may be valid when it is run again on the same machine.
    pub fn passing(&self) -> bool {
        matches!(self, Fault::Steal { .. } | Fault::SendingTime { .. } | Fault::Shortfall { .. })
    }
}

/// One trial of a measurement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// Intended load in frames per second, per direction.
    pub rate: f64,
    /// Intended duration in seconds.
    pub duration: f64,
    /// Seconds from the first frame sent to the end of the wait for late frames.
    pub actual_duration: f64,
    /// Counts of each direction.
    pub directions: Vec<Counts>,
    /// Share of CPU time that the hypervisor took during the trial, between 0 and 1.
    pub steal: f64,
    /// True if the rate is above 1/1.2 of the tester's own limit: the trial may show the tester.
    pub tester_bound: bool,
    /// Start of the trial, in seconds since the start of the run.
    pub at: f64,
    /// Repeat of the measurement to which the trial belongs, counted from 0.
    #[serde(default)]
    pub repeat: u32,
    /// Reasons why the trial isn't valid; empty for a valid trial.
    pub faults: Vec<Fault>,
}

impl Trial {
    /// Trial of this intended load, with no counts yet.
    pub fn new(rate: f64, duration: f64) -> Trial {
        Trial {
            rate,
            duration,
            actual_duration: 0.0,
            directions: Vec::new(),
            steal: 0.0,
            tester_bound: false,
            at: 0.0,
            repeat: 0,
            faults: Vec::new(),
        }
    }

    /// Frames per direction that rate and duration demand.
    pub fn expected(&self) -> u64 {
        (self.rate * self.duration).round().max(0.0) as u64
    }

    /// Largest share of the intended frames that a direction didn't send.
    pub fn shortfall(&self) -> f64 {
        let expected = self.expected();
        let missing = |c: &Counts| expected.saturating_sub(c.sent) as f64 / expected.max(1) as f64;
        self.directions.iter().map(missing).fold(0.0, f64::max)
    }

    /// Applies the rules: adds the faults that follow from the counts to `faults`. `directions`
    /// are the directions that take part in the measurement. Returns true if the trial is valid.
    pub fn judge(&mut self, rules: &Rules, directions: &[Direction]) -> bool {
        let expected = self.expected();
        let mut faults = Vec::new();
        for &direction in directions {
            let Some(counts) = self.directions.iter().find(|c| c.direction == direction) else {
                faults.push(Fault::MissingDirection { direction });
                continue;
            };
            let limit = self.duration * rules.sending_time;
            if counts.sending_time > limit {
                let seconds = counts.sending_time;
                faults.push(Fault::SendingTime { direction, seconds, limit });
            }
            // Comparison in frames: the tolerance of a short trial may be less than one frame.
            let tolerance = expected as f64 * rules.shortfall;
            let sent = counts.sent;
            if sent < expected && (expected - sent) as f64 > tolerance {
                faults.push(Fault::Shortfall { direction, expected, sent });
            } else if sent > expected && (sent - expected) as f64 > tolerance {
                faults.push(Fault::Excess { direction, expected, sent });
            }
            let Counts { received, lost, late, reordered, changed, .. } = *counts;
            if received.checked_add(lost) != Some(sent)
                || late > lost
                || reordered > received
                || changed > received
            {
                faults.push(Fault::Inconsistent { direction });
            }
        }
        if self.steal > rules.steal {
            faults.push(Fault::Steal { share: self.steal, limit: rules.steal });
        }
        for fault in faults {
            if !self.faults.contains(&fault) {
                self.faults.push(fault);
            }
        }
        self.valid()
    }

    /// True if the trial has no fault.
    pub fn valid(&self) -> bool {
        self.faults.is_empty()
    }

    /// Frames sent in all directions.
    pub fn sent(&self) -> u64 {
        self.directions.iter().map(|c| c.sent).fold(0, u64::saturating_add)
    }

    /// Frames received in all directions.
    pub fn received(&self) -> u64 {
        self.directions.iter().map(|c| c.received).fold(0, u64::saturating_add)
    }

    /// Frames lost in all directions.
    pub fn lost(&self) -> u64 {
        self.directions.iter().map(|c| c.lost).fold(0, u64::saturating_add)
    }

    /// Lost frames as a share of the frames sent, over all directions; 0 if none was sent.
    pub fn loss_ratio(&self) -> f64 {
        if self.sent() == 0 { 0.0 } else { self.lost() as f64 / self.sent() as f64 }
    }

    /// Loss ratio of the direction that lost most. RFC 2544 demands that no direction loses any.
    pub fn worst_loss_ratio(&self) -> f64 {
        self.directions.iter().map(Counts::loss_ratio).fold(0.0, f64::max)
    }

    /// Frames received per second of the trial's duration, over all directions.
    pub fn forwarding_rate(&self) -> f64 {
        if self.duration > 0.0 { self.received() as f64 / self.duration } else { 0.0 }
    }
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;

    const BOTH: [Direction; 2] = [Direction::Forward, Direction::Reverse];

    fn clean(rate: f64, duration: f64) -> Trial {
        let mut trial = Trial::new(rate, duration);
        let sent = trial.expected();
        trial.directions = BOTH
            .map(|d| Counts { sent, received: sent, sending_time: duration, ..Counts::new(d) })
            .to_vec();
        trial
    }

    #[suite::test]
    fn clean_trials_are_valid() {
        assert!(clean(1e6, 60.0).judge(&Rules::default(), &BOTH));
        assert!(clean(333_333.3, 1.0).judge(&Rules::default(), &BOTH));
    }

    #[suite::test]
    fn a_shortfall_is_a_fault_beyond_ten_in_a_million() {
        let mut trial = clean(1e6, 1.0);
        trial.directions[0].sent -= 10;
        trial.directions[0].received -= 10;
        assert!(trial.clone().judge(&Rules::default(), &BOTH));
        trial.directions[0].sent -= 1;
        trial.directions[0].received -= 1;
        assert!(!trial.judge(&Rules::default(), &BOTH));
        let (direction, expected, sent) = (Direction::Forward, 1_000_000, 999_989);
        assert_eq!(trial.faults, [Fault::Shortfall { direction, expected, sent }]);
        assert!((trial.shortfall() - 11e-6).abs() < 1e-12);
    }

    #[suite::test]
    fn each_rule_names_its_fault() {
        let rules = Rules::default();
        let direction = Direction::Reverse;
        let mut late = clean(1000.0, 10.0);
        late.directions[1].sending_time = 10.00011;
        assert!(!late.judge(&rules, &BOTH));
        assert_eq!(
            late.faults[0].to_string(),
            "reverse: sending took 10.000110 s, at most 10.000100 s is valid"
        );
        let mut stolen = clean(1000.0, 10.0);
        stolen.steal = 0.02;
        assert!(!stolen.judge(&rules, &BOTH));
        assert!(stolen.faults[0].passing());
        let mut half = clean(1000.0, 10.0);
        half.directions.truncate(1);
        assert!(!half.clone().judge(&rules, &BOTH));
        assert!(half.judge(&rules, &[Direction::Forward]));
        let mut odd = clean(1000.0, 10.0);
        odd.directions[1].lost = 1;
        assert!(!odd.judge(&rules, &BOTH));
        assert_eq!(odd.faults, [Fault::Inconsistent { direction }]);
        // Judged again, a trial keeps one copy of each fault.
        odd.judge(&rules, &BOTH);
        assert_eq!(odd.faults.len(), 1);
        let mut more = clean(1000.0, 10.0);
        more.directions[1].sent += 5;
        more.directions[1].received += 5;
        assert!(!more.judge(&rules, &BOTH));
        assert_eq!(more.faults, [Fault::Excess { direction, expected: 10_000, sent: 10_005 }]);
    }

    #[suite::test]
    fn loss_is_over_all_directions_and_of_the_worst() {
        let mut trial = clean(1000.0, 1.0);
        trial.directions[1].received -= 10;
        trial.directions[1].lost += 10;
        assert!((trial.loss_ratio() - 0.005).abs() < 1e-12);
        assert!((trial.worst_loss_ratio() - 0.01).abs() < 1e-12);
        assert_eq!(trial.forwarding_rate(), 1990.0);
    }
}
