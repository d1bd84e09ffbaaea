// SPDX-License-Identifier: Apache-2.0
#![forbid(unsafe_code)]
//! Which ports the hosts of a network may send to: VPP's source and port range check, for IPv4.
//!
//! A table, named as a VRF is, has networks with ranges of ports each. An interface names up to
//! four of them: for TCP and for UDP, each for what comes in (`tcp-out-vrf`, `udp-out-vrf`: on its
//! way out of the network behind the interface) and for what leaves by it (`tcp-in-vrf`,
//! `udp-in-vrf`). A segment or datagram passes if the longest network in the table that has its
//! *source* allows its *destination* port; one whose source is in no network is dropped, so a table
//! without networks lets nothing pass. Port 0 is never allowed. The tables are the check's own:
//! routes of a VRF of the same id have nothing to do with them.
//!
//! **Not asked:** other protocols; a protocol for which the interface names no table (VPP drops
//! those as soon as it names one for the other); sources that are groups or the broadcast address;
//! what we send ourselves.
//!
//! **Fragments.** Only the first one of a datagram has ports. The later ones are dropped, unless
//! shallow reassembly on the same interface (`set interface virtual-reassembly`) has told theirs.
//!
//! Tests: a Linux host that sends to allowed and to forbidden ports, with fragments.

mod api;
mod check;
mod cli;
pub mod control;
mod examples;
mod ranges;
#[cfg(feature = "tests")]
mod tests;

use ::graph::{Feature, FieldDef, NodeDef, Plugin, StateDef, rank};
use check::PortRange;
use wire::Ip4;

/// The check.
pub static PLUGIN: Plugin = Plugin {
    name: "port-range",
    about: "Which ports the hosts of a network may send to",
    area: "policy",
    does: &[
        "TCP and UDP ports to which the hosts of a network may send, for received and for sent \
         packets",
    ],
    spec: &["VPP's `source-and-port-range-check`"],
    limits: &["Not for IPv6, as in VPP"],
    state: &[StateDef::of::<check::PublishedRanges>(), StateDef::of::<control::Checks>()],
    fields: &[FieldDef::of::<net::L4>()],
    nodes: &[NodeDef::configured::<PortRange<false>>(), NodeDef::configured::<PortRange<true>>()],
    features: &[
        Feature {
            arc: "ip4-unicast",
            node: "ip4-source-and-port-range-check-rx",
            before: &[rank::POLICY],
            after: &[rank::REASSEMBLY],
        },
        Feature {
            arc: "ip4-output",
            node: "ip4-source-and-port-range-check-tx",
            before: &[rank::POLICY],
            after: &[rank::REASSEMBLY],
        },
    ],
    cli: self::cli::COMMANDS,
    config: control::write_config,
    examples: examples::EXAMPLES,
    api: &[api::API],
    stages: &[net::stage::<Ip4, PortRange<false>, PortRange<false>>()],
    unmoved: &[("/err/*-source-and-port-range-check-*", "features/port-range/src/tests.rs")],
    ..Plugin::EMPTY
};
