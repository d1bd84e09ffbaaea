// SPDX-License-Identifier: Apache-2.0
//! Records of packets at the nodes that translate.

use crate::around::Place;
use crate::packet::Packet;
use graph::Trace;
use std::fmt;

/// The outcome of a translation, as records have it.
pub trait Outcome: Copy + Send + 'static {
    /// The name of the path of a direction (`IN2OUT`, `OUT2IN`) and of a speed (`FAST`, `SLOW`).
    fn write_path(f: &mut fmt::Formatter<'_>, direction: &str, speed: &str) -> fmt::Result;

    /// Writes the outcome.
    fn write(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result;
}

/// The record of a packet at a node that translates.
#[derive(Clone, Copy)]
pub struct NatTrace<O> {
    place: Place,
    slow: bool,
    sw_if: u32,
    packet: Option<Packet>,
    outcome: O,
}

impl<O> NatTrace<O> {
    /// Of a packet of an interface.
    pub fn new(
        (place, slow): (Place, bool),
        sw_if: u32,
        (outcome, packet): (O, Option<Packet>),
    ) -> Self {
        Self { place, slow, sw_if, packet, outcome }
    }
}

impl<O: Outcome> Trace for NatTrace<O> {
    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let direction = if self.place == Place::Out2In { "OUT2IN" } else { "IN2OUT" };
        O::write_path(f, direction, if self.slow { "SLOW" } else { "FAST" })?;
        write!(f, ": sw_if_index {}, ", self.sw_if)?;
        self.outcome.write(f)?;
        let Some(p) = self.packet else { return Ok(()) };
        write!(f, "\n{} -> {} protocol {}", p.from, p.to, p.protocol.0)
    }
}
