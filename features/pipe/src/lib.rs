// SPDX-License-Identifier: Apache-2.0
#![forbid(unsafe_code)]
//! Pipes: two Ethernet interfaces of one instance, connected with each other. They link route
//! tables, bridge domains, or one with the other.
//!
//! ```text
//! pipe0.0-output → pipe0.0-tx → pipe-rx → first feature of pipe0.1, or ethernet-input
//! ```
//!
//! A pipe is three interfaces: `pipeN`, which carries nothing, and its ends `pipeN.0` and
//! `pipeN.1`. A frame that one end sends is received by the other, with its VLAN tags, its offload
//! marks and its segments. Ends are devices like others: they have addresses, sub-interfaces,
//! bridge domains and features. The admin state of `pipeN` sets that of both ends; each end has a
//! state of its own after that.
//!
//! Nothing counts the hops of switched frames, so a packet crosses at most [`MAX_CROSSINGS`] pipes:
//! a bridge loop over pipes ends there.
//!
//! Tests: frames compared byte for byte, with tags and of all lengths; two tables that resolve each
//! other by ARP; bridge loops; Linux hosts behind two bridge domains and two tables; broken frames.

mod api;
mod cli;
pub mod control;
mod node;
#[cfg(feature = "tests")]
mod tests;

pub use node::MAX_CROSSINGS;

use ::graph::{FieldDef, NodeDef, Plugin, StateDef};

/// Pipes.
pub static PLUGIN: Plugin = Plugin {
    name: "pipe",
    about: "Pipes: pairs of connected Ethernet interfaces",
    area: "ethernet-and-l2",
    does: &[
        "Two Ethernet interfaces of one instance, connected with each other, between tables or \
         bridge domains (`pipe create`)",
    ],
    spec: &["VPP's pipes"],
    limits: &["A packet crosses at most eight pipes"],
    state: &[StateDef::of::<node::Peers>(), StateDef::of::<control::Pipes>()],
    fields: &[FieldDef::of::<node::Crossings>()],
    nodes: &[NodeDef::of::<node::PipeRx>()],
    cli: self::cli::COMMANDS,
    phases: &[self::cli::ENDS],
    config: self::cli::write_config,
    examples: self::cli::EXAMPLES,
    api: &[api::API],
    unmoved: &[("/err/pipe-rx/*", "features/pipe/src/tests.rs")],
    dependent: &[("pipe", "the pipe's other end")],
    entered: &[("pipe-rx", "the transmit nodes of pipes' ends")],
    ..Plugin::EMPTY
};
