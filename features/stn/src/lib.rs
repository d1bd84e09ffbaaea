// SPDX-License-Identifier: Apache-2.0
#![forbid(unsafe_code)]
//! STN: punted packets to an address leave by an interface, to a host that shares the address with
//! this router. The host's stack serves what no node here takes.
//!
//! `stn-ip4-punt` and `stn-ip6-punt` are the first on the arcs of punted packets of all interfaces.
//! By an Ethernet interface a packet leaves with fixed MAC addresses, from 00:00:00:00:00:01 to
//! 00:00:00:00:00:02: the host takes all frames of that link. The first rule turns on the punt of
//! all UDP and TCP ports without a listener, of both protocols, as in VPP; it stays on
//! (`set punt … del` turns it off).
//!
//! Tests: bytes of every frame, UDP and TCP of both protocols; a Linux host that serves the
//! router's address; broken packets.

mod api;
mod cli;
pub mod control;
mod node;
#[cfg(feature = "tests")]
mod tests;

use ::graph::{Feature, NodeDef, Plugin, StateDef};
use wire::{Ip4, Ip6};

/// STN.
pub static PLUGIN: Plugin = Plugin {
    name: "stn",
    about: "Punted packets to an address leave by an interface",
    area: "punt",
    does: &[
        "Punted packets to an address leave by an interface, to a host that shares the address \
         (`stn rule`, `show stn rules`)",
    ],
    spec: &["VPP's `stn`"],
    state: &[StateDef::of::<control::Rules>()],
    nodes: &[NodeDef::of::<node::StnPunt<Ip4>>(), NodeDef::of::<node::StnPunt<Ip6>>()],
    features: &[
        Feature {
            arc: "ip4-punt",
            node: "stn-ip4-punt",
            before: &["ip4-punt-acl", "ip4-punt-redirect"],
            after: &[],
        },
        Feature {
            arc: "ip6-punt",
            node: "stn-ip6-punt",
            before: &["ip6-punt-acl", "ip6-punt-redirect"],
            after: &[],
        },
    ],
    cli: self::cli::COMMANDS,
    config: self::cli::write_config,
    examples: self::cli::EXAMPLES,
    api: &[api::API],
    unmoved: &[("/err/stn-*-punt/*", "features/stn/src/tests.rs")],
    ..Plugin::EMPTY
};
