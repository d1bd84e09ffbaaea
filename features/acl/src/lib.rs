// SPDX-License-Identifier: Apache-2.0
#![forbid(unsafe_code)]
//! Access control lists: which packets may enter and leave by an interface.
//!
//! An ACL is a list of rules, an interface has a list of ACLs for each direction. The first rule
//! that matches a packet decides; without one the packet is dropped. Rules of the other IP version
//! match nothing, so a list of IPv4 rules drops all IPv6.
//!
//! | node | arc | packets |
//! |---|---|---|
//! | `acl-plugin-in-{ip}-fa`, `acl-plugin-out-{ip}-fa` | `{ip}-unicast`, `{ip}-output` | routed |
//! | `acl-plugin-in-{ip}-l2`, `acl-plugin-out-{ip}-l2` | `l2-input-{ip}`, `l2-output-{ip}` | of switched frames |
//! | `acl-plugin-macip-in-{ip}-fa`, `acl-plugin-macip-in-l2`, and `-out-` | the same | checked by MAC and IP address (`macip`) |
//! | `acl-plugin-in-nonip-l2`, `acl-plugin-out-nonip-l2` | `l2-input-nonip`, `l2-output-nonip` | other frames, where a whitelist names EtherTypes |
//!
//! **Sessions.** A rule with `permit+reflect` makes a session of a flow: packets of both directions
//! pass by it, without a look at the rules. A flow's session is on the thread that owns the flow;
//! packets that another thread receives are handed off to it. When lists change, sessions stay, and
//! each is judged again at its next packet, by the list of the direction that made it.
//!
//! **Lookups** take the same time for one rule and for four thousand (`lookup`). Packets that a
//! rule permits, and packets of known sessions, take the super-path (`stage`).
//!
//! **Fragments.** A later fragment has no ports: a rule with a protocol matches it by addresses and
//! protocol alone (`set acl-plugin l4-match-nonfirst-fragment 0`: not at all). A packet that is cut
//! within its upper layer's header matches no rule with a protocol.
//!
//! Limits: lists are compiled on the control thread, which waits meanwhile. All interfaces share
//! the table of sessions: where it is full, the oldest TCP session that isn't established goes.
//!
//! Tests: compiled lists against their rules one by one, up to 9,000 random ones; every kind of
//! rule in the super-path and in the nodes; Linux hosts with TCP, UDP and ping through reflecting
//! ACLs, both IP versions.

mod api;
mod cli;
mod config;
mod context;
pub mod control;
mod examples;
mod judge;
pub mod list;
pub mod lookup;
mod macip;
mod node;
pub mod packet;
mod policy;
pub mod rule;
mod session;
mod settings;
mod show;
mod stage;
mod startup_conf;
mod switched;
#[cfg(feature = "tests")]
mod tests;
mod words;

pub use context::Contexts;

use ::graph::{Feature, NodeDef, PerThread, Plugin, StateDef, rank};
use ::startup::StartupDef;
use node::{AclNode, RoutedIn, RoutedOut, SwitchedIn, SwitchedOut};
use wire::{Ip4, Ip6};

const fn feature(
    arc: &'static str,
    node: &'static str,
    before: &'static [&'static str],
    after: &'static [&'static str],
) -> Feature {
    Feature { arc, node, before, after }
}

/// Access control lists.
pub static PLUGIN: Plugin = Plugin {
    name: "acl",
    about: "Access control lists of routed and switched packets, with sessions",
    area: "policy",
    does: &[
        "ACLs: lists of rules with addresses, protocol, ports, ICMP types and TCP flags, for \
         received and sent packets of routed, bridged and tagged interfaces (`set acl-plugin \
         acl`, `set acl-plugin interface`)",
        "Sessions, by which answers come back (`permit+reflect`, `show acl-plugin sessions`); \
         ACLs of hosts by MAC and IP address (`set acl-plugin macip acl`); EtherTypes of other \
         frames",
    ],
    spec: &["VPP's ACL plugin"],
    limits: &[
        "No TCP windows",
        "Lists are compiled on the control thread",
        "Switched packets don't take the super-path",
    ],
    state: &[
        StateDef::of::<settings::Settings>(),
        StateDef::of::<policy::Policies>(),
        StateDef::of::<context::Contexts>(),
        StateDef::of::<PerThread<session::ThreadSessions>>(),
        StateDef::of::<switched::Whitelists>(),
        StateDef::of::<control::Acls>(),
        StateDef::of::<macip::control::MacipAcls>(),
    ],
    startup: &[StartupDef::of::<startup_conf::Startup>()],
    nodes: &[
        NodeDef::of::<AclNode<Ip4, RoutedIn>>(),
        NodeDef::of::<AclNode<Ip6, RoutedIn>>(),
        NodeDef::of::<AclNode<Ip4, RoutedOut>>(),
        NodeDef::of::<AclNode<Ip6, RoutedOut>>(),
        NodeDef::of::<AclNode<Ip4, SwitchedIn>>(),
        NodeDef::of::<AclNode<Ip6, SwitchedIn>>(),
        NodeDef::of::<AclNode<Ip4, SwitchedOut>>(),
        NodeDef::of::<AclNode<Ip6, SwitchedOut>>(),
        NodeDef::of::<switched::NonIp<false>>(),
        NodeDef::of::<switched::NonIp<true>>(),
        NodeDef::of::<macip::node::Routed<Ip4, false>>(),
        NodeDef::of::<macip::node::Routed<Ip6, false>>(),
        NodeDef::of::<macip::node::Routed<Ip4, true>>(),
        NodeDef::of::<macip::node::Routed<Ip6, true>>(),
        NodeDef::of::<macip::node::Switched<false>>(),
        NodeDef::of::<macip::node::Switched<true>>(),
    ],
    features: &[
        feature(
            "ip4-unicast",
            "acl-plugin-in-ip4-fa",
            &["ip4-inacl", rank::POLICY],
            &[rank::REASSEMBLY, "svs-ip4"],
        ),
        feature(
            "ip6-unicast",
            "acl-plugin-in-ip6-fa",
            &["ip6-inacl", rank::POLICY],
            &[rank::REASSEMBLY, "svs-ip6"],
        ),
        feature(
            "ip4-output",
            "acl-plugin-out-ip4-fa",
            &["ip4-outacl", rank::POLICY],
            &[rank::REASSEMBLY],
        ),
        feature(
            "ip6-output",
            "acl-plugin-out-ip6-fa",
            &["ip6-outacl", rank::POLICY],
            &[rank::REASSEMBLY],
        ),
        feature("l2-input-ip4", "acl-plugin-in-ip4-l2", &[], &[]),
        feature("l2-input-ip6", "acl-plugin-in-ip6-l2", &[], &[]),
        feature("l2-output-ip4", "acl-plugin-out-ip4-l2", &[], &[]),
        feature("l2-output-ip6", "acl-plugin-out-ip6-l2", &[], &[]),
        feature("l2-input-nonip", "acl-plugin-in-nonip-l2", &[], &[]),
        feature("l2-output-nonip", "acl-plugin-out-nonip-l2", &[], &[]),
        feature(
            "ip4-unicast",
            "acl-plugin-macip-in-ip4-fa",
            &["acl-plugin-in-ip4-fa"],
            &[rank::REASSEMBLY, "svs-ip4"],
        ),
        feature(
            "ip6-unicast",
            "acl-plugin-macip-in-ip6-fa",
            &["acl-plugin-in-ip6-fa"],
            &[rank::REASSEMBLY, "svs-ip6"],
        ),
        feature("ip4-multicast", "acl-plugin-macip-in-ip4-fa", &["ip4-not-enabled"], &[]),
        feature("ip6-multicast", "acl-plugin-macip-in-ip6-fa", &["ip6-not-enabled"], &[]),
        feature(
            "ip4-output",
            "acl-plugin-macip-out-ip4-fa",
            &[rank::POLICY],
            &["acl-plugin-out-ip4-fa"],
        ),
        feature(
            "ip6-output",
            "acl-plugin-macip-out-ip6-fa",
            &[rank::POLICY],
            &["acl-plugin-out-ip6-fa"],
        ),
        feature("l2-input-ip4", "acl-plugin-macip-in-l2", &["acl-plugin-in-ip4-l2"], &[]),
        feature("l2-input-ip6", "acl-plugin-macip-in-l2", &["acl-plugin-in-ip6-l2"], &[]),
        feature("l2-input-nonip", "acl-plugin-macip-in-l2", &["acl-plugin-in-nonip-l2"], &[]),
        feature("l2-output-ip4", "acl-plugin-macip-out-l2", &[], &["acl-plugin-out-ip4-l2"]),
        feature("l2-output-ip6", "acl-plugin-macip-out-l2", &[], &["acl-plugin-out-ip6-l2"]),
        feature("l2-output-nonip", "acl-plugin-macip-out-l2", &[], &["acl-plugin-out-nonip-l2"]),
    ],
    stages: &[
        net::stage::<Ip4, AclNode<Ip4, RoutedIn>, stage::Permitted<Ip4, RoutedIn>>(),
        net::stage::<Ip6, AclNode<Ip6, RoutedIn>, stage::Permitted<Ip6, RoutedIn>>(),
        net::stage::<Ip4, AclNode<Ip4, RoutedOut>, stage::Permitted<Ip4, RoutedOut>>(),
        net::stage::<Ip6, AclNode<Ip6, RoutedOut>, stage::Permitted<Ip6, RoutedOut>>(),
    ],
    cli: self::cli::COMMANDS,
    config: config::write_config,
    examples: examples::EXAMPLES,
    api: &[api::API],
    phases: &[config::PHASE],
    unmoved: &[
        ("/err/acl-plugin-macip-*", "features/acl/src/tests/macip.rs"),
        ("/err/acl-plugin-*-nonip-l2/*", "features/acl/src/tests/switched.rs"),
        ("/err/acl-plugin-*", "features/acl/src/tests/rules.rs"),
    ],
    transient: &[("clear acl-plugin sessions", "ends sessions")],
    volatile: &[
        ("show acl-plugin sessions*", "sessions of traffic"),
        ("show acl-plugin lookup context*", "numbers of contexts, in the order of their making"),
    ],
    ..Plugin::EMPTY
};
