// SPDX-License-Identifier: Apache-2.0
#![forbid(unsafe_code)]
//! GENEVE (RFC 8926): Ethernet frames in UDP datagrams of IPv4 and IPv6, by network identifier
//! (VNI).
//!
//! `geneve_tunnelN` is an Ethernet interface: a port of a bridge domain, or one with addresses. In
//! layer-3 mode its MAC address follows from its number, as clients of VPP expect. The other end is
//! a host or a group, as for VXLAN.
//!
//! Options of received headers are skipped. A header with an option that has to be understood (C
//! bit), and a packet for the tunnel's end itself (O bit), are dropped.
//!
//! Limits: sends no options; frames only, no other protocols.
//!
//! Tests: geneve of a Linux kernel over both protocols: pings, TCP in both directions, fragments;
//! every kind of bad header; random sets of tunnels against a search; 250,000 broken datagrams.

mod api;
mod cli;
mod input;
mod spec;
#[cfg(feature = "tests")]
mod tests;

pub use spec::Geneve;

use graph::{FieldDef, NodeDef, Plugin};
use tunnel::{Bypass, Encap, Input};
use wire::{Ip4, Ip6};

/// GENEVE.
pub static PLUGIN: Plugin = Plugin {
    name: "geneve",
    about: "GENEVE tunnels",
    area: "tunnels",
    does: &[
        "GENEVE over IPv4 and IPv6, to a host or a group: Ethernet frames, by both end addresses \
         and identifier (`create geneve tunnel`); options of received headers are skipped; lookup \
         bypass",
    ],
    spec: &["RFC 8926"],
    limits: &["No options are sent", "Ethernet frames only"],
    state: &[
        tunnel::SHARED,
        tunnel::tunnels::<Geneve>(),
        tunnel::PORTS,
        tunnel::bypassed::<Geneve>(),
    ],
    fields: &[FieldDef::of::<net::L4>()],
    nodes: &[
        NodeDef::of::<Encap<spec::GeneveCodec<false>>>(),
        NodeDef::of::<Encap<spec::GeneveCodec<true>>>(),
        NodeDef::of::<Input<Geneve, Ip4>>(),
        NodeDef::of::<Input<Geneve, Ip6>>(),
        NodeDef::of::<Bypass<Geneve, Ip4>>(),
        NodeDef::of::<Bypass<Geneve, Ip6>>(),
    ],
    features: &[
        tunnel::bypass_feature("ip4-unicast", "ip4-geneve-bypass"),
        tunnel::bypass_feature("ip6-unicast", "ip6-geneve-bypass"),
    ],
    stages: &[tunnel::bypass_stage::<Geneve, Ip4>(), tunnel::bypass_stage::<Geneve, Ip6>()],
    cli: self::cli::COMMANDS,
    api: &[api::API],
    config: self::cli::write_config,
    examples: self::cli::EXAMPLES,
    unmoved: &[
        ("/err/geneve*-*/*", "features/geneve/src/tests.rs"),
        ("/err/ip*-geneve-bypass/*", "features/geneve/src/tests.rs"),
    ],
    dependent: &[("GENEVE", "the interface by which a tunnel to a group sends")],
    entered: &[("geneve*-encap", "`tunnel-output`, from the first tunnel on")],
    ..Plugin::EMPTY
};
