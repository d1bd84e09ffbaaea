// SPDX-License-Identifier: Apache-2.0
#![forbid(unsafe_code)]
//! Layer-3 cross-connects: all unicast packets of one protocol that an interface receives take
//! given paths, whatever their destination, our own addresses included. No route is looked up.
//!
//! `l3xc-input-ip4` and `l3xc-input-ip6` stand on the arcs of received unicast packets, behind
//! checks of sources. The paths are those of a route: they follow next hops that go down, other
//! routes and interfaces, and several paths share the flows.
//!
//! Limits: packets to groups are forwarded as usual. Packets of a cross-connected interface don't
//! take the super-path.
//!
//! Tests: frames compared byte for byte, with and without the super-path; flows over several paths,
//! routes and interfaces that change; Linux hosts, two of them with the same address.

mod api;
mod cli;
mod control;
mod node;
#[cfg(feature = "tests")]
mod tests;

use control::CrossConnects;
use graph::{Feature, NodeDef, Plugin, StateDef, rank};
use wire::{Ip4, Ip6};

/// Layer-3 cross-connects.
pub static PLUGIN: Plugin = Plugin {
    name: "l3xc",
    about: "Layer-3 cross-connects",
    area: "policy",
    does: &[
        "All unicast packets that an interface receives take given paths (`l3xc`, `show l3xc`)",
    ],
    spec: &["VPP's `l3xc`"],
    limits: &["Packets to groups are forwarded as usual"],
    state: &[StateDef::of::<CrossConnects<Ip4>>(), StateDef::of::<CrossConnects<Ip6>>()],
    nodes: &[NodeDef::configured::<node::Input<Ip4>>(), NodeDef::configured::<node::Input<Ip6>>()],
    features: &[
        Feature {
            arc: "ip4-unicast",
            node: "l3xc-input-ip4",
            before: &[rank::STEER],
            after: &[rank::POLICY],
        },
        Feature {
            arc: "ip6-unicast",
            node: "l3xc-input-ip6",
            before: &[rank::STEER],
            after: &[rank::POLICY],
        },
    ],
    stages: &[
        net::stage::<Ip4, node::Input<Ip4>, node::Direct<Ip4>>(),
        net::stage::<Ip6, node::Input<Ip6>, node::Direct<Ip6>>(),
    ],
    cli: cli::COMMANDS,
    config: self::cli::write_config,
    examples: self::cli::EXAMPLES,
    api: &[api::API],
    unmoved: &[("/err/l3xc-input-*", "features/l3xc/src/tests.rs")],
    ..Plugin::EMPTY
};
