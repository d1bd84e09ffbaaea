// SPDX-License-Identifier: Apache-2.0
#![forbid(unsafe_code)]
//! Receive-side scaling in software: packets of a device with few receive queues are spread over
//! threads by their flow.
//!
//! `soft-rss` is a feature of the arc `device-input`. It hashes the addresses and ports of a packet
//! with the function that network cards use (Toeplitz), and a table of 64 entries gives the
//! thread. A packet of the own thread continues along the arc; another goes over the ring to that
//! thread, to `soft-rss-handoff`, and continues there. Packets of one flow take one ring, so their
//! order stays.
//!
//! Packets without a flow stay together on the first thread: fragments, IPv4 packets with options,
//! and frames that carry no IP.

mod cli;
mod control;
mod flow;
mod node;
#[cfg(test)]
mod tests;
mod toeplitz;

use control::SoftRss;
use graph::{Feature, Node, NodeDef, Plugin, Script, StateDef};

/// Receive-side scaling in software.
pub static PLUGIN: Plugin = Plugin {
    name: "soft-rss",
    about: "Received packets spread over threads by flow",
    state: &[StateDef::of::<SoftRss>()],
    nodes: &[NodeDef::of::<node::Arrived>(), NodeDef::of::<node::Spread>()],
    features: &[Feature {
        arc: "device-input",
        node: node::Spread::NAME,
        before: &["bond-input", "span-input", "l2-patch", "super-path"],
        after: &["pcap-capture"],
    }],
    cli: self::cli::COMMANDS,
    config: control::write_config,
    // With one thread there is nothing to spread: only the configuration of a device is kept.
    examples: &[Script::here(
        "software RSS",
        "create loopback interface
         create loopback interface
         soft-rss config loop0 type 2-tuple ipv6-type src-ip l2-offset 4
         soft-rss config loop1
         soft-rss clear loop1",
    )],
    transient: &[
        ("soft-rss enable", "needs two threads: the tests of this crate save it"),
        ("soft-rss disable", "takes `soft-rss enable' back"),
    ],
    ..Plugin::EMPTY
};
