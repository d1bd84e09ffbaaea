// SPDX-License-Identifier: Apache-2.0
//! Records of packets.

use crate::engine::{Outcome, Place};
use ::nat::packet::Packet;
use graph::Trace;
use std::fmt;

/// The record of a packet at a node that translates.
#[derive(Clone, Copy)]
pub struct NatTrace {
    place: Place,
    slow: bool,
    sw_if: u32,
    packet: Option<Packet>,
    outcome: Outcome,
}

impl NatTrace {
    /// Of a packet of an interface.
    pub fn new(
        (place, slow): (Place, bool),
        sw_if: u32,
        (outcome, packet): (Outcome, Option<Packet>),
    ) -> Self {
        Self { place, slow, sw_if, packet, outcome }
    }
}

impl Trace for NatTrace {
    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let direction = if self.place == Place::Out2In { "OUT2IN" } else { "IN2OUT" };
        let path = if self.slow { "SLOW" } else { "FAST" };
        write!(f, "NAT44_EI_{direction}_{path}_PATH: sw_if_index {}, ", self.sw_if)?;
        match self.outcome {
            Outcome::Translated(at) => write!(f, "session {at}"),
            Outcome::Mapped => f.write_str("translated without a session"),
            Outcome::Elsewhere(thread) => write!(f, "to a user of thread {thread}"),
            Outcome::Passed => f.write_str("not translated"),
            Outcome::Slow => f.write_str("no session"),
            Outcome::TimeExpired => f.write_str("time to live expired"),
            Outcome::Drop(reason) => write!(f, "dropped: {reason:?}"),
        }?;
        let Some(p) = self.packet else { return Ok(()) };
        write!(f, "\n{} -> {} protocol {}", p.from, p.to, p.protocol.0)
    }
}
