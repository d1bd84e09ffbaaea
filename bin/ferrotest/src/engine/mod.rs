// SPDX-License-Identifier: Apache-2.0
//! The engine: sends the packets of a trial when they are due, and counts what comes back.
//!
//! Senders and receivers are given turns with the time of a clock: by threads and the machine's
//! clock in [`live`], by one loop and simulated time in [`simulation`].

pub mod checker;
pub mod clock;
pub mod live;
pub mod receiver;
pub mod schedule;
pub mod sender;
pub mod simulation;
pub mod steal;

pub use schedule::Phase;

use measure::{Counts, Direction, Fault, Latency, Trial};

use crate::dut::change::Change;
use crate::traffic::sessions::Tuple;

use checker::Checker;
use schedule::Schedule;
use sender::Sent;

/// A change of the device during a trial.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Event {
    /// Seconds after the start.
    pub at: f64,
    /// The change.
    pub change: Change,
}

/// The plan of a trial, the same for all directions.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Rates and numbers of packets, per direction.
    pub phases: Vec<Phase>,
    /// Nanoseconds after which a packet counts as lost; also the wait for packets after the last
    /// one was sent.
    pub wait: u64,
    /// True if the delay of each packet is kept, and not the histogram only.
    pub keep_delays: bool,
    /// True if addresses and ports of received packets are kept.
    pub keep_tuples: bool,
    /// Change of the device meanwhile.
    pub event: Option<Event>,
    /// Number of the trial in its run, from which the streams have their numbers.
    pub number: u64,
}

impl Plan {
    /// One rate for a time.
    pub fn constant(rate: f64, seconds: f64) -> Self {
        Self::of(vec![Phase::lasting(rate, seconds)])
    }

    /// Several phases.
    pub fn of(phases: Vec<Phase>) -> Self {
        let (wait, number) = (2_000_000_000, 0);
        Self { phases, wait, keep_delays: false, keep_tuples: false, event: None, number }
    }

    /// Stream of a direction. Zero is never used, so that a frame of zeros is of no stream.
    pub fn stream(&self, direction: Direction) -> u16 {
        let side = u16::from(direction == Direction::Reverse);
        ((self.number % 0x7fff) as u16 + 1) << 1 | side
    }

    /// The trial as its result document has it: mean rate, duration, and counts of this run.
    pub fn trial(&self, ran: &Ran) -> Trial {
        let duration = Schedule::new(&self.phases).duration() / 1e9;
        let rate = if duration > 0.0 { self.packets() as f64 / duration } else { 0.0 };
        let mut trial = Trial::new(rate, duration);
        trial.actual_duration = ran.seconds;
        trial.directions = ran.sides.iter().map(|side| side.counts).collect();
        trial.steal = ran.steal;
        if ran.interrupted {
            trial.faults.push(Fault::Interrupted);
        }
        for side in &ran.sides {
            let reason = match (side.refused, side.overruns) {
                (0, 0) => continue,
                (refused, 0) => format!("{refused} frames were dropped by the sending port"),
                (_, overruns) => format!("{overruns} frames found the receiving port full"),
            };
            let reason = format!("{}: {reason}", side.counts.direction);
            trial.faults.push(Fault::Other { reason });
        }
        trial
    }

    fn checker(&self, direction: Direction) -> Checker {
        let stream = self.stream(direction);
        let checker = Checker::new(stream, self.packets(), self.wait, self.keep_delays);
        if self.keep_tuples { checker.keep_tuples() } else { checker }
    }

    /// Packets per direction.
    pub fn packets(&self) -> u64 {
        self.phases.iter().map(|phase| phase.packets).sum()
    }

    /// # Errors
    /// The plan has more packets than sequence numbers.
    pub fn check(&self) -> Result<(), String> {
        match self.packets() {
            0 => Err("a trial without packets: rate or duration are too small".into()),
            packets if packets > u64::from(u32::MAX) => Err(format!(
                "a trial of {packets} packets per direction: at most {} are possible; make it shorter",
                u32::MAX
            )),
            _ => Ok(()),
        }
    }

    /// Nanoseconds after the start at which sending is given up: a port that is this much too slow
    /// makes the trial invalid anyway.
    fn deadline(&self, duration: f64) -> u64 {
        let unbounded = self.phases.iter().any(|phase| phase.rate.is_infinite());
        let grace = if unbounded { 10_000_000_000.0 } else { 50_000_000.0 };
        (duration * 1.05 + grace) as u64
    }
}

/// Result of a trial in one direction.
#[derive(Debug)]
pub struct Side {
    /// The counts.
    pub counts: Counts,
    /// Latency of all packets that were received.
    pub latency: Latency,
    /// Delays in the order of sending, if they were to be kept.
    pub delays: Vec<u64>,
    /// Addresses and ports in the order of arrival, if they were to be kept.
    pub tuples: Vec<Tuple>,
    /// Nanoseconds after the start at which the last lost packet was due.
    pub last_loss: Option<u64>,
    /// Longest time between two arrivals, in nanoseconds.
    pub gap: u64,
    /// Packets of other trials.
    pub stray: u64,
    /// Packets that the sending port dropped itself.
    pub refused: u64,
    /// Packets that the receiving port had no room for.
    pub overruns: u64,
}

impl Side {
    fn new(
        direction: Direction,
        plan: &Plan,
        sent: Sent,
        checker: &Checker,
        overruns: u64,
    ) -> Self {
        let last_loss =
            checker.last_lost(sent.packets).map(|packet| Schedule::new(&plan.phases).due(packet));
        Self {
            counts: checker.counts(direction, sent.packets, sent.time / 1e9),
            latency: checker.latency().clone(),
            delays: checker.delays(),
            tuples: checker.tuples().to_vec(),
            last_loss,
            gap: checker.gap().1,
            stray: checker.stray(),
            refused: sent.refused,
            overruns,
        }
    }
}

/// Result of a trial.
#[derive(Debug)]
pub struct Ran {
    /// Each direction.
    pub sides: Vec<Side>,
    /// Seconds from the start to the end of the wait.
    pub seconds: f64,
    /// Seconds that the change of the device took.
    pub event: Option<f64>,
    /// Share of CPU time that a hypervisor took.
    pub steal: f64,
    /// True if it was stopped before its end.
    pub interrupted: bool,
}
