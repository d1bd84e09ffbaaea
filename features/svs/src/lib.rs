// SPDX-License-Identifier: Apache-2.0
#![forbid(unsafe_code)]
//! Source VRF select: the source of a packet chooses the table in which its destination is looked
//! up.
//!
//! `svs-ip4` and `svs-ip6` stand on the arcs of received unicast packets. They look the source up
//! in a table whose routes lead to other tables; the longest prefix decides. A packet whose source
//! has no such route is looked up in the table of its interface, as without this feature.
//!
//! The table is an ordinary one (`show ip fib table N`), with routes of the source `svs`. It and
//! the tables that its routes lead to stay as long as they are used here.
//!
//! Packets of an interface with this feature don't take the super-path.
//!
//! Tests: bytes of every packet; random prefixes against a list; tables deleted in use.

mod api;
mod cli;
pub mod control;
mod node;
#[cfg(feature = "tests")]
mod tests;

use ::graph::{Feature, NodeDef, Plugin, StateDef, rank};
use control::Svs;
use wire::{Ip4, Ip6};

/// Source VRF select.
pub static PLUGIN: Plugin = Plugin {
    name: "svs",
    about: "Source VRF select: tables by the source of packets",
    area: "policy",
    does: &[
        "The source of a packet chooses the table in which its destination is looked up (`svs \
         table`, `svs route`, `svs enable`)",
    ],
    spec: &["VPP's `svs`"],
    limits: &["Its node is visited, between the stages of the super-path"],
    state: &[StateDef::of::<Svs<Ip4>>(), StateDef::of::<Svs<Ip6>>()],
    nodes: &[
        NodeDef::configured::<node::Select<Ip4>>(),
        NodeDef::configured::<node::Select<Ip6>>(),
    ],
    features: &[
        Feature {
            arc: "ip4-unicast",
            node: "svs-ip4",
            before: &["ip4-source-and-port-range-check-rx", "ip4-inacl", rank::POLICY],
            after: &[rank::REASSEMBLY],
        },
        Feature {
            arc: "ip6-unicast",
            node: "svs-ip6",
            before: &["ip6-inacl", rank::POLICY],
            after: &[rank::REASSEMBLY],
        },
    ],
    cli: self::cli::COMMANDS,
    phases: &[self::cli::TABLES],
    config: self::cli::write_config,
    examples: self::cli::EXAMPLES,
    api: &[api::API],
    ..Plugin::EMPTY
};
