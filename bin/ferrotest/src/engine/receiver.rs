// SPDX-License-Identifier: Apache-2.0
//! Receiving side of one direction: answers questions for neighbours, and counts.

use super::checker::Checker;
use crate::port::Rx;
use crate::traffic::neighbor::Host;

/// Frames of one turn.
const BURST: usize = 64;

/// Receives the packets of one direction. Nothing is allocated in a turn.
#[derive(Debug)]
pub struct Receiver<R> {
    rx: R,
    checker: Checker,
    host: Option<Host>,
}

impl<R: Rx> Receiver<R> {
    /// Prepares to receive; `host` answers for the tester's addresses on this port.
    pub fn new(rx: R, checker: Checker, host: Option<Host>) -> Self {
        Self { rx, checker, host }
    }

    /// Takes frames that have arrived; returns their number.
    #[inline]
    pub fn turn(&mut self, now: u64) -> usize {
        let Self { rx, checker, host } = self;
        let mut reply = None;
        let count = rx.receive(now, BURST, |frame| {
            if !checker.check(now, frame)
                && let Some(host) = host
                && reply.is_none()
            {
                // Hosts repeat a question that gets no answer, so one answer a turn is enough.
                reply = host.answer(frame);
            }
        });
        if let Some(reply) = reply {
            rx.reply(reply.frame());
        }
        count
    }

    /// Lets the port rest for a short time, until frames arrive if it can tell.
    pub fn rest(&mut self) {
        self.rx.rest();
    }

    /// True if all packets of the trial have arrived.
    pub fn is_complete(&self) -> bool {
        self.checker.is_complete()
    }

    /// The counts, and the number of frames that the port had no room for.
    pub fn finish(mut self) -> (Checker, u64) {
        let overruns = self.rx.overruns();
        (self.checker, overruns)
    }
}
