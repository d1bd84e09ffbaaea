// SPDX-License-Identifier: Apache-2.0
#![forbid(unsafe_code)]
//! Reverse path checks (RFC 2827, RFC 3704, RFC 8704): is the source of a packet one that packets
//! come from this way?
//!
//! | mode | a source passes if its route |
//! |---|---|
//! | strict | has a path by the interface that the packet came in by |
//! | loose | has a path by any interface |
//!
//! `ip4-rx-urpf-strict` and `-loose` stand on the arc of received unicast packets, `ip4-tx-urpf-…`
//! on that of packets that leave: these ask whether the source is reached by the interface that the
//! packet leaves by, so that nothing leaves in another network's name. IPv6 has the same under
//! `ip6-`, from the same source. The table is the interface's own, or one that was named.
//!
//! **Several paths.** All paths of a route count, whichever of them the router would take (the
//! feasible paths of RFC 8704 3.1, as far as they are in the table). A prefix that may be used in
//! spite of its route is accepted by `set urpf-accept`, which is RFC 8704 3.5's way for networks
//! with more than one provider.
//!
//! **The default route** counts as any other, as in VPP (`allow-default`): with one, loose mode
//! drops only what is routed nowhere. With `deny-default`, which VPP doesn't have, a source needs a
//! route of its own, in the table that is asked first. Routes that drop, refuse, punt or go by the
//! packet's source have no path; nor have our own addresses, which nobody else may send from.
//!
//! **Not asked:** what we send ourselves; IPv6's link-local sources, which mean nothing behind the
//! link; and the unspecified address on its way to all or to a group (DHCP, duplicate address
//! detection).
//!
//! Tests: routes of all kinds, single packets and vectors, both families; with and without the
//! super-path; a Linux host with sources that are and aren't routed back.

mod accepted;
mod api;
mod batch;
mod check;
mod cli;
mod config;
pub mod control;
mod examples;
#[cfg(feature = "tests")]
mod tests;

pub use control::{Check, Mode};

use ::graph::{Feature, NodeDef, Plugin, StateDef, rank};
use batch::Batch;
use check::Urpf;
use wire::{Ip4, Ip6};

/// Reverse path checks.
pub static PLUGIN: Plugin = Plugin {
    name: "urpf",
    about: "Reverse path checks of sources",
    area: "policy",
    does: &[
        "Reverse path check (uRPF), strict and loose, for received and for sent packets, in any \
         table",
        "The default route counts, as in VPP, or doesn't (`deny-default`)",
    ],
    spec: &["RFC 2827", "RFC 3704", "RFC 8704"],
    state: &[
        StateDef::of::<control::Urpf>(),
        StateDef::of::<accepted::Accepted<Ip4>>(),
        StateDef::of::<accepted::Accepted<Ip6>>(),
    ],
    nodes: &[
        NodeDef::configured::<Urpf<Ip4, false, true>>(),
        NodeDef::configured::<Urpf<Ip4, false, false>>(),
        NodeDef::configured::<Urpf<Ip4, true, true>>(),
        NodeDef::configured::<Urpf<Ip4, true, false>>(),
        NodeDef::configured::<Urpf<Ip6, false, true>>(),
        NodeDef::configured::<Urpf<Ip6, false, false>>(),
        NodeDef::configured::<Urpf<Ip6, true, true>>(),
        NodeDef::configured::<Urpf<Ip6, true, false>>(),
    ],
    features: &[
        Feature {
            arc: "ip4-unicast",
            node: "ip4-rx-urpf-loose",
            before: &["ip4-rx-urpf-strict", rank::SECURITY],
            after: &[],
        },
        Feature {
            arc: "ip4-unicast",
            node: "ip4-rx-urpf-strict",
            before: &[rank::SECURITY],
            after: &[],
        },
        Feature {
            arc: "ip4-output",
            node: "ip4-tx-urpf-strict",
            before: &["ip4-tx-urpf-loose", rank::SECURITY],
            after: &[],
        },
        Feature {
            arc: "ip4-output",
            node: "ip4-tx-urpf-loose",
            before: &[rank::SECURITY],
            after: &[],
        },
        Feature {
            arc: "ip6-unicast",
            node: "ip6-rx-urpf-loose",
            before: &["ip6-rx-urpf-strict", rank::SECURITY],
            after: &[],
        },
        Feature {
            arc: "ip6-unicast",
            node: "ip6-rx-urpf-strict",
            before: &[rank::SECURITY],
            after: &[],
        },
        Feature {
            arc: "ip6-output",
            node: "ip6-tx-urpf-strict",
            before: &["ip6-tx-urpf-loose", rank::SECURITY],
            after: &[],
        },
        Feature {
            arc: "ip6-output",
            node: "ip6-tx-urpf-loose",
            before: &[rank::SECURITY],
            after: &[],
        },
    ],
    cli: self::cli::COMMANDS,
    config: control::write_config,
    examples: examples::EXAMPLES,
    api: &[api::API],
    stages: &[
        net::stage::<Ip4, Urpf<Ip4, false, true>, Batch<Ip4, false, true>>(),
        net::stage::<Ip4, Urpf<Ip4, false, false>, Batch<Ip4, false, false>>(),
        net::stage::<Ip4, Urpf<Ip4, true, true>, Batch<Ip4, true, true>>(),
        net::stage::<Ip4, Urpf<Ip4, true, false>, Batch<Ip4, true, false>>(),
        net::stage::<Ip6, Urpf<Ip6, false, true>, Batch<Ip6, false, true>>(),
        net::stage::<Ip6, Urpf<Ip6, false, false>, Batch<Ip6, false, false>>(),
        net::stage::<Ip6, Urpf<Ip6, true, true>, Batch<Ip6, true, true>>(),
        net::stage::<Ip6, Urpf<Ip6, true, false>, Batch<Ip6, true, false>>(),
    ],
    ..Plugin::EMPTY
};
