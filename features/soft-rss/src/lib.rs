// SPDX-License-Identifier: Apache-2.0
#![forbid(unsafe_code)]
//! Receive-side scaling in software: packets of a device with few receive queues, or of a tunnel,
//! are spread over threads by their flow.
//!
//! `soft-rss` is a feature of the arc `device-input`. Packets of a tunnel are one flow to the
//! device that receives them. Where they are taken out of it, nodes `soft-rss-tunnel-…` stand on
//! the arcs `tunnel-input-…` of the tunnel's interface, and spread them by the flow inside.
//!
//! The node hashes the addresses and ports of a packet
//! with the function that network cards use (Toeplitz), and a table of 64 entries gives the
//! thread. A packet of the own thread continues along the arc; another goes over the ring to that
//! thread, to `soft-rss-handoff`, and continues there. Packets of one flow take one ring, so their
//! order stays.
//!
//! Packets without a flow stay together on the first thread: fragments, IPv4 packets with options,
//! and frames that carry no IP.
//!
//! Tests: the hash against the published vectors and its definition; four threads: bytes, one
//! thread for each flow, order within it; mutated frames; tunnels of all kinds, with and without
//! the super-path.

mod cli;
mod control;
mod flow;
mod node;
#[cfg(feature = "tests")]
mod tests;
mod toeplitz;

use control::SoftRss;
use graph::{Feature, NodeDef, Plugin, Script, StateDef};

const fn in_tunnel<C: flow::Content>(before: &'static [&'static str]) -> Feature {
    Feature { arc: C::ARC, node: C::NODE, before, after: &["pcap-capture"] }
}

/// Receive-side scaling in software.
pub static PLUGIN: Plugin = Plugin {
    name: "soft-rss",
    about: "Received packets spread over threads by flow",
    area: "speed",
    does: &[
        "Received packets of a device, or packets from a tunnel by their inner flow, are spread \
         over threads by a Toeplitz hash with a key of one's own (`soft-rss config`, `soft-rss \
         enable`)",
    ],
    limits: &["Fragments, IPv4 options and frames without IP stay on the first thread"],
    state: &[StateDef::of::<SoftRss>()],
    nodes: &[
        NodeDef::of::<node::Arrived>(),
        NodeDef::of::<node::Spread<flow::OfDevice>>(),
        NodeDef::of::<node::Spread<flow::Frames>>(),
        NodeDef::of::<node::Spread<flow::Packets4>>(),
        NodeDef::of::<node::Spread<flow::Packets6>>(),
    ],
    features: &[
        Feature {
            arc: "device-input",
            node: "soft-rss",
            before: &["bond-input", "span-input", "l2-patch", "super-path"],
            after: &["pcap-capture"],
        },
        in_tunnel::<flow::Frames>(&["l2-super-path", "super-path"]),
        in_tunnel::<flow::Packets4>(&["super-path-ip4"]),
        in_tunnel::<flow::Packets6>(&["super-path-ip6"]),
    ],
    cli: self::cli::COMMANDS,
    config: control::write_config,
    // With one thread there is nothing to spread: only the configuration of a device is kept.
    examples: &[Script::here(
        "software RSS",
        "create loopback interface
         create loopback interface
         create ipip tunnel src 10.0.0.1 dst 10.0.0.2
         soft-rss config ipip0 threads 0
         soft-rss config loop0 type 2-tuple ipv6-type src-ip l2-offset 4
         soft-rss config loop1
         soft-rss clear loop1",
    )],
    transient: &[
        ("soft-rss enable", "needs two threads: the tests of this crate save it"),
        ("soft-rss disable", "takes `soft-rss enable' back"),
    ],
    unmoved: &[
        ("/err/soft-rss/soft-rss not enabled", "features/soft-rss/src/tests.rs"),
        ("/err/soft-rss-tunnel-*/soft-rss not enabled", "features/soft-rss/src/tests/tunnels.rs"),
    ],
    entered: &[("soft-rss-handoff", "`soft-rss` and `soft-rss-tunnel-…` on other threads")],
    ..Plugin::EMPTY
};
