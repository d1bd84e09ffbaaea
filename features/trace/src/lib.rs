// SPDX-License-Identifier: Apache-2.0
#![forbid(unsafe_code)]
//! Looking at packets: traces of their path through the graph, and captures into files.
//!
//! - `trace add`: the next packets of a node leave a record at every node that they pass from
//!   there; `show trace` prints them. Filters, by interface and by an expression of pcap-filter(7)
//!   or a classifier ([`Classifier`]), decide on the packet as it comes in.
//! - `pcap trace`: the node `pcap-capture` stands on the arcs `device-input` (for interfaces of
//!   tunnels: `tunnel-input-…`; for a sub-interface: that of its parent), `interface-output` and
//!   `error-drop` of the chosen interfaces as long as a capture runs. It copies packets into memory
//!   that was set aside; a process writes it to a pcapng file with interface names, directions and
//!   the reasons of drops.
//!
//! Without a capture, no node of this feature is on any packet's path; without a trace, nodes run
//! loops that have no test for one.
//!
//! Limits: packets that a device without Ethernet header brings in don't pass `device-input`, so
//! they are captured only when they leave or are dropped (as in VPP).
//!
//! Tests: tshark and tcpdump read the captures.

mod api;
mod brief;
mod choose;
mod classifier;
mod cli;
pub mod control;
mod filter;
mod function;
mod pcap;
mod show;
mod stamp;
#[cfg(feature = "tests")]
mod tests;

pub use classifier::{Classifier, Purpose, register_classifier};
pub use filter::Expression;
pub use function::Function;
pub use pcap::{
    CaptureFilter, Directions, FileCompletion, Limits, Plan, start as start_capture,
    stop as stop_capture,
};

use graph::{Feature, NodeDef, Plugin, StateDef};

/// Traces and captures.
pub static PLUGIN: Plugin = Plugin {
    name: "trace",
    about: "Packet traces, and captures into files",
    area: "tools",
    does: &[
        "Traces of packets through the graph (`trace add`, `show trace [brief]`), with filters in BPF \
         syntax and of the classifier",
        "Captures in pcapng, of received, sent and dropped packets, with drop reasons (`pcap \
         trace`)",
    ],
    spec: &["pcapng"],
    limits: &["An `rx` capture has no packets of devices without link layer"],
    state: &[
        StateDef::of::<classifier::Registered>(),
        StateDef::of::<control::Filters>(),
        StateDef::of::<stamp::Format>(),
        StateDef::of::<pcap::Captures>(),
    ],
    nodes: &[NodeDef::configured::<pcap::node::Capture>()],
    features: &[
        Feature { arc: "device-input", node: "pcap-capture", before: &[], after: &[] },
        Feature { arc: "tunnel-input-ethernet", node: "pcap-capture", before: &[], after: &[] },
        Feature { arc: "tunnel-input-ip4", node: "pcap-capture", before: &[], after: &[] },
        Feature { arc: "tunnel-input-ip6", node: "pcap-capture", before: &[], after: &[] },
        Feature { arc: "interface-output", node: "pcap-capture", before: &[], after: &[] },
        Feature { arc: "error-drop", node: "pcap-capture", before: &[], after: &[] },
    ],
    cli: cli::COMMANDS,
    transient: &[
        ("set trace filter function", "is for whoever looks at traces now"),
        ("set pcap filter function", "is for whoever looks at packets now"),
        ("set trace timestamp-format", "is for whoever looks at traces now"),
        ("trace add", "is for the next packets"),
        ("trace filter", "is for whoever looks at traces now"),
        ("set bpf trace filter", "is for whoever looks at traces now"),
        ("pcap trace", "is a capture that runs now"),
        ("pcap dispatch trace", "is a capture that runs now"),
    ],
    api: &[api::API, api::capture::API, api::function::BPF, api::nodes::API],
    start: |world| {
        world.register_live("input", control::inputs);
        pcap::init(world);
        Ok(())
    },
    ..Plugin::EMPTY
};
