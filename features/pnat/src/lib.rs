// SPDX-License-Identifier: Apache-2.0
#![forbid(unsafe_code)]
//! PNAT: packets that match are rewritten, without state: addresses, ports, single bytes.
//!
//! | node | arc |
//! |---|---|
//! | `pnat-input` | `ip4-unicast`: received packets |
//! | `pnat-output` | `ip4-output`: packets that leave |
//!
//! A binding has what packets match and how they are rewritten. All bindings of an interface and a
//! direction compare the same fields, so a packet is looked up once (`table`). All checksums that
//! cover what is rewritten are updated by increment (RFC 1624); a checksum of UDP that is absent
//! stays absent.
//!
//! Fragments match by the ports of their datagram, which they have from shallow reassembly; later
//! ones have no ports to rewrite. Other packets take the super-path.
//!
//! Tests: random bindings beside a plain model; the super-path beside the nodes; fragments; broken
//! packets; messages and commands.

mod api;
mod binding;
mod cli;
mod control;
mod nodes;
mod table;
#[cfg(feature = "tests")]
mod tests;

use ::graph::{Feature, NodeDef, Plugin, StateDef, rank};
use nodes::{Fast, Pnat};
use wire::Ip4;

/// PNAT.
pub static PLUGIN: Plugin = Plugin {
    name: "pnat",
    about: "PNAT: packets are matched and rewritten without state",
    area: "nat",
    does: &[
        "IPv4 packets that match addresses, ports and protocol get other addresses and ports, a \
         byte of them is copied or cleared, by interface and direction (`set pnat translation`, \
         `pnat binding`, `set interface pnat`)",
    ],
    spec: &["VPP's PNAT", "RFC 1624"],
    limits: &[
        "Bindings of an interface and a direction compare the same fields",
        "Packets that ICMP errors quote aren't rewritten",
        "65,536 bindings, and as many attachments",
    ],
    state: &[
        StateDef::of::<table::Attachments>(),
        StateDef::of::<control::Control>(),
        // Made first, so that they are still there when interfaces are forgotten; their plugin may
        // be missing.
        StateDef::of::<ip_reassembly::Users>(),
    ],
    nodes: &[NodeDef::configured::<Pnat<false>>(), NodeDef::configured::<Pnat<true>>()],
    features: &[
        Feature {
            arc: "ip4-unicast",
            node: "pnat-input",
            before: &[
                "acl-plugin-in-ip4-fa",
                "nat-pre-in2out",
                "nat-pre-out2in",
                "nat44-ed-classify",
                "nat44-in2out-worker-handoff",
                "nat44-out2in-worker-handoff",
                "nat44-handoff-classify",
                rank::POLICY,
            ],
            after: &[rank::REASSEMBLY, "svs-ip4"],
        },
        Feature {
            arc: "ip4-output",
            node: "pnat-output",
            before: &["tcp-mss-clamping-ip4-out", rank::POLICY],
            after: &[
                rank::REASSEMBLY,
                "acl-plugin-out-ip4-fa",
                "nat-pre-in2out-output",
                "nat44-in2out-output-worker-handoff",
            ],
        },
    ],
    stages: &[
        net::stage::<Ip4, Pnat<false>, Fast<false>>(),
        net::stage::<Ip4, Pnat<true>, Fast<true>>(),
    ],
    cli: self::cli::COMMANDS,
    config: self::cli::write_config,
    examples: self::cli::EXAMPLES,
    api: &[api::API],
    phases: &[self::cli::BINDINGS],
    unmoved: &[("/err/pnat-*", "features/pnat/src/tests")],
    ..Plugin::EMPTY
};
