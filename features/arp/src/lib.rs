// SPDX-License-Identifier: Apache-2.0
#![forbid(unsafe_code)]
//! ARP: which station on an Ethernet has an IPv4 address (RFC 826, RFC 5227, RFC 1027).
//!
//! ```text
//! ethernet-input → arp-input → arc `arp`: arp-reply → arp-proxy → (arp-disabled) → error-drop
//! ip4-lookup → ip4-arp, ip4-glean → the interface's output (the question) … ip4-rewrite (what waited)
//! ```
//!
//! Workers answer by themselves, in place. What they learn goes to control by a bounded queue; control keeps the table
//! ([`net::Neighbors`]), completes adjacencies, and tells every thread to let go what waited. Packets to somebody unknown
//! wait on the thread that they came in on: 32 for each neighbour, 1,024 in all; a question goes out once a second; after
//! three without an answer the sender is told that the host is unreachable.
//!
//! Limits: no address conflict detection of its own before an address is used (RFC 5227 2.1); others' use of our addresses
//! is logged and answered.

mod api;
mod cli;
mod config;
mod control;
mod counters;
mod disabled;
mod frame;
mod glean;
mod input;
mod notes;
mod own;
mod proxy;
mod ranges;
mod reply;
mod resolver;
#[cfg(test)]
mod tests;
mod unresolved;
mod waiting;

pub use control::{Arp, Conflict, Gratuitous, announce, set_proxy};
pub use ranges::{Range, Ranges};

use graph::{ArcDef, Feature, NodeDef, Plugin};

/// ARP.
pub static PLUGIN: Plugin = Plugin {
    name: "arp",
    about: "ARP: answers, questions, proxy",
    nodes: &[
        NodeDef::of::<input::ArpInput>(),
        NodeDef::of::<reply::ArpReply>(),
        NodeDef::of::<proxy::ArpProxy>(),
        NodeDef::of::<disabled::ArpDisabled>(),
        NodeDef::of::<unresolved::Ip4Arp>(),
        NodeDef::of::<glean::Ip4Glean>(),
    ],
    arcs: &[ArcDef { name: control::ARC, starts: &["arp-input"], end: "error-drop" }],
    features: &[
        Feature { arc: control::ARC, node: "arp-reply", before: &["arp-proxy"], after: &[] },
        Feature { arc: control::ARC, node: "arp-proxy", before: &["arp-disabled"], after: &["arp-reply"] },
        Feature { arc: control::ARC, node: "arp-disabled", before: &[], after: &["arp-proxy"] },
    ],
    cli: cli::COMMANDS,
    config: config::say,
    api: &[api::API],
    start: control::start,
};
