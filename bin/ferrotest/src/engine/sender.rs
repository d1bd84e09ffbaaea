// SPDX-License-Identifier: Apache-2.0
//! Sending side of one direction.

use super::schedule::Schedule;
use crate::port::Tx;
use crate::traffic::Generator;
use crate::traffic::template::BURST;

/// Result of a turn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Turn {
    /// The next packet is due at this time of the clock.
    Wait(u64),
    /// The port takes no more before this time, although packets are due.
    Full(u64),
    /// All packets were sent, or the deadline has passed.
    Done,
}

/// Sends the packets of one direction when they are due. It never sleeps: the caller gives it
/// turns. Nothing is allocated in a turn.
#[derive(Debug)]
pub struct Sender<T> {
    tx: T,
    generator: Generator,
    schedule: Schedule,
    start: u64,
    /// Time after which nothing is sent.
    deadline: u64,
    sent: u64,
    first: Option<u64>,
    last: u64,
    refused: u64,
    full: u64,
}

/// Result of a sender.
#[derive(Clone, Copy, Default, Debug)]
pub struct Sent {
    /// Packets that the port took.
    pub packets: u64,
    /// Nanoseconds from the first to the last packet, and one mean interval.
    pub time: f64,
    /// Packets that the port took and dropped itself.
    pub refused: u64,
    /// Turns in which the port was full.
    pub full: u64,
}

impl<T: Tx> Sender<T> {
    /// Prepares to send by a schedule from time `start` on, until `deadline` at the latest.
    pub fn new(tx: T, generator: Generator, schedule: Schedule, start: u64, deadline: u64) -> Self {
        Self {
            tx,
            generator,
            schedule,
            start,
            deadline,
            sent: 0,
            first: None,
            last: 0,
            refused: 0,
            full: 0,
        }
    }

    /// Begins and ends later by so many nanoseconds.
    pub fn delay(&mut self, by: u64) {
        self.start += by;
        self.deadline += by;
    }

    /// Sends at most one burst of packets that are due.
    #[inline]
    pub fn turn(&mut self, now: u64) -> Turn {
        let total = self.schedule.total();
        if self.sent >= total || now > self.deadline {
            return Turn::Done;
        }
        let Some(elapsed) = now.checked_sub(self.start) else { return Turn::Wait(self.start) };
        let due = self.schedule.due_until(elapsed, self.sent);
        let burst = due.saturating_sub(self.sent).min(BURST as u64) as usize;
        if burst == 0 {
            return Turn::Wait(self.start + self.schedule.due(self.sent));
        }
        for slot in 0..burst {
            self.generator.make(slot, (self.sent + slot as u64) as u32, now);
        }
        let generator = &self.generator;
        let taken = self.tx.send(now, (0..burst).map(|slot| generator.frame(slot)));
        self.sent += taken.sent as u64;
        self.refused += taken.refused as u64;
        if taken.sent > 0 {
            self.first.get_or_insert(now);
            self.last = now;
        }
        if taken.sent < burst {
            self.full += 1;
            return Turn::Full(self.tx.ready_at(now));
        }
        if self.sent >= total {
            return Turn::Done;
        }
        Turn::Wait(self.start + self.schedule.due(self.sent))
    }

    /// The result, at time `now`.
    pub fn result(&self) -> Sent {
        let packets = self.sent;
        let mut time = self.last.saturating_sub(self.first.unwrap_or(self.last)) as f64;
        if packets > 1 {
            time += time / (packets - 1) as f64;
        } else if packets == 1 {
            time = self.schedule.duration();
        }
        Sent { packets, time, refused: self.refused, full: self.full }
    }
}
