// SPDX-License-Identifier: Apache-2.0
#![forbid(unsafe_code)]
//! ACL-based forwarding: packets that an ACL matches take paths of their own, instead of those of
//! the route to their destination.
//!
//! A policy is an ACL with paths, which are as those of a route: they follow next hops that go
//! down, other routes and interfaces, and several paths share the flows. Policies are attached to
//! an interface and an IP version, each with a priority. A received packet is held against their
//! ACLs by ascending priority, and the first rule that matches decides: `permit` sends the packet
//! by the policy's paths, `deny` lets it be routed as usual, as without a match. A policy without a
//! usable path drops.
//!
//! `abf-input-ip4` and `abf-input-ip6` stand on the arcs of received unicast packets, behind the
//! features that filter. A policy holds its ACL; rules that are replaced decide at once.
//!
//! Limits: packets to groups are forwarded as usual. Packets of an interface with a policy don't
//! take the super-path.

mod api;
mod cli;
mod config;
mod control;
mod node;
#[cfg(feature = "tests")]
mod tests;

use graph::{Feature, NodeDef, Plugin, StateDef, rank};
use wire::{Ip4, Ip6};

/// ACL-based forwarding.
pub static PLUGIN: Plugin = Plugin {
    name: "abf",
    about: "ACL-based forwarding: packets that an ACL matches take paths of their own",
    area: "policy",
    does: &[
        "ACL-based forwarding: packets that an ACL permits take paths of their own (`abf policy`, \
         `abf attach`)",
    ],
    spec: &["VPP's ABF"],
    limits: &["Its packets don't take the super-path"],
    state: &[StateDef::of::<control::Policies>()],
    nodes: &[NodeDef::configured::<node::Input<Ip4>>(), NodeDef::configured::<node::Input<Ip6>>()],
    features: &[
        Feature {
            arc: "ip4-unicast",
            node: "abf-input-ip4",
            before: &[rank::STEER],
            after: &[rank::POLICY],
        },
        Feature {
            arc: "ip6-unicast",
            node: "abf-input-ip6",
            before: &[rank::STEER],
            after: &[rank::POLICY],
        },
    ],
    cli: self::cli::COMMANDS,
    config: config::write_config,
    examples: config::EXAMPLES,
    api: &[api::API],
    phases: &[config::PHASE],
    unmoved: &[("/err/abf-input-*", "features/abf/src/tests.rs")],
    ..Plugin::EMPTY
};
