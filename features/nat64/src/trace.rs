// SPDX-License-Identifier: Apache-2.0
//! Records of packets.

use crate::engine::Outcome;
use graph::Trace;
use std::fmt;

/// The record of a packet at a node.
#[derive(Clone, Copy)]
pub struct NatTrace {
    node: &'static str,
    sw_if: u32,
    outcome: Outcome,
}

impl NatTrace {
    /// Of a packet of an interface.
    pub fn new(node: &'static str, sw_if: u32, outcome: Outcome) -> Self {
        Self { node, sw_if, outcome }
    }
}

impl Trace for NatTrace {
    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let node = self.node.replacen("nat64", "NAT64", 1);
        write!(f, "{node}: sw_if_index {}, ", self.sw_if)?;
        match self.outcome {
            Outcome::Translated(protocol) => write!(f, "translated {protocol}"),
            Outcome::Hairpin(protocol) => write!(f, "translated {protocol}, to another user"),
            Outcome::TooLong(protocol) => write!(f, "translated {protocol}, in fragments"),
            Outcome::Passed => f.write_str("not translated"),
            Outcome::Slow => f.write_str("no session"),
            Outcome::Error(kind, code, _) => write!(f, "answered with type {kind} code {code}"),
            Outcome::Drop(reason) => write!(f, "dropped: {reason:?}"),
        }
    }
}
