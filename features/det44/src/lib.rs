// SPDX-License-Identifier: Apache-2.0
#![forbid(unsafe_code)]
//! DET44: deterministic address translation of IPv4. Address and ports of a user are computed from
//! its own address (RFC 7422), so that no log of sessions is needed to name a user.
//!
//! | node | arc | packets |
//! |---|---|---|
//! | `det44-in2out` | `ip4-unicast` | of users |
//! | `det44-out2in` | `ip4-unicast` | of the world |
//!
//! **Maps** are prefixes of users with prefixes of addresses (`map`). Neither of them overlap, so
//! each user has one range of ports, and each port of the world one user or none.
//!
//! **Sessions** have two keys, one for each direction; packets of a direction leave with the other
//! key the other way round (`flows`). They lie on the thread of their user, which both directions
//! compute; the nodes hand packets over. They end by a timer, or with their connection (`session`).
//!
//! Fragments have the ports of their datagram from shallow reassembly, which is on where an
//! interface has a role.
//!
//! Tests: ports of users of random maps; sessions, errors, fragments, limits and threads; broken
//! packets; messages and commands.

mod api;
mod cli;
mod config;
mod control;
mod engine;
mod flows;
mod map;
mod nodes;
mod session;
mod settings;
mod show;
#[cfg(feature = "tests")]
mod tests;

use ::graph::{Feature, NodeDef, PerThread, Plugin, StateDef, rank};
use nodes::{In2Out, Out2In, Translate};
use settings::{IN2OUT, OUT2IN};

const fn feature(node: &'static str, after: &'static [&'static str]) -> Feature {
    Feature { arc: "ip4-unicast", node, before: &["abf-input-ip4", rank::POLICY], after }
}

/// Deterministic NAT.
pub static PLUGIN: Plugin = Plugin {
    name: "det44",
    about: "DET44: users get computed addresses and ports",
    area: "nat",
    does: &[
        "Users of a prefix share the addresses of another one, each with its own range of ports; \
         who has which is computed, not logged (`det44 add`, `det44 forward`, `det44 reverse`)",
        "Sessions of TCP, UDP and ICMP echo, errors and fragments, 1,000 sessions a user, timeouts \
         by protocol (`set interface det44`, `set det44 timeouts`, `show det44 sessions`)",
        "Users with too many sessions, by IPFIX (`nat ipfix logging`)",
    ],
    spec: &["VPP's DET44", "RFC 7422", "RFC 5382", "RFC 5508"],
    limits: &[
        "No hairpinning: users of a map don't reach each other by their addresses outside",
        "Prefixes of maps don't overlap; 4,096 maps",
        "Translated packets don't take the super-path",
    ],
    state: &[
        ::nat::log::STATE,
        StateDef::of::<settings::Det>(),
        StateDef::of::<PerThread<flows::Flows>>(),
        StateDef::of::<control::Control>(),
        // Made first, so that they are still there when interfaces are forgotten; their plugin may
        // be missing.
        StateDef::of::<ip_reassembly::Users>(),
    ],
    nodes: &[NodeDef::of::<Translate<In2Out>>(), NodeDef::of::<Translate<Out2In>>()],
    features: &[
        feature(
            OUT2IN,
            &[rank::REASSEMBLY, "acl-plugin-in-ip4-fa", "ip4-inacl", "tcp-mss-clamping-ip4-in"],
        ),
        feature(
            IN2OUT,
            &[
                rank::REASSEMBLY,
                "acl-plugin-in-ip4-fa",
                "ip4-inacl",
                "tcp-mss-clamping-ip4-in",
                OUT2IN,
            ],
        ),
    ],
    cli: self::cli::COMMANDS,
    config: config::write_config,
    examples: config::EXAMPLES,
    api: &[api::API],
    phases: &[config::SWITCH],
    start: |world| {
        ::nat::log::start(world);
        Ok(())
    },
    unmoved: &[
        ("/err/det44-*", "features/det44/src/tests"),
        ("/det44/*", "features/det44/src/tests/sessions.rs"),
    ],
    transient: &[
        ("det44 forward", "computes"),
        ("det44 reverse", "computes"),
        ("det44 close session in", "ends a session"),
        ("det44 close session out", "ends a session"),
    ],
    ..Plugin::EMPTY
};
