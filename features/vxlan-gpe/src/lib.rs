// SPDX-License-Identifier: Apache-2.0
#![forbid(unsafe_code)]
//! VXLAN-GPE (draft-ietf-nvo3-vxlan-gpe): IPv4 and IPv6 packets, Ethernet frames and network
//! service headers (NSH) in UDP datagrams of IPv4 and IPv6, by network identifier (VNI).
//!
//! `vxlan_gpe_tunnelN` of Ethernet is a port of a bridge domain, or an interface with addresses;
//! others carry IP packets. A received packet goes on by the protocol in its header. The decap VRF
//! of a tunnel is the table of its interface. The other end is a host or a group, as for VXLAN.
//!
//! Payloads of NSH go to the node that a feature registers ([`register_nsh`]); without one they are
//! dropped.
//!
//! Limits: no iOAM.
//!
//! Tests: lightweight tunnels of two Linux hosts over both protocols; random sets of tunnels
//! against a search; 250,000 broken datagrams.

mod api;
mod cli;
mod encap;
mod input;
mod model;
mod spec;
#[cfg(feature = "tests")]
mod tests;

pub use input::register_nsh;
pub use model::{Gpe, Protocol};

use graph::{FieldDef, NodeDef, Plugin, StateDef};
use tunnel::{Bypass, Encap, Input};
use wire::{Ip4, Ip6};

/// VXLAN-GPE.
pub static PLUGIN: Plugin = Plugin {
    name: "vxlan-gpe",
    about: "VXLAN-GPE tunnels",
    area: "tunnels",
    does: &[
        "VXLAN-GPE over IPv4 and IPv6: IPv4, IPv6, Ethernet, NSH; encap and decap VRF; to a host \
         or a group; lookup bypass (`create vxlan-gpe tunnel`)",
    ],
    spec: &["draft-ietf-nvo3-vxlan-gpe"],
    limits: &["NSH goes to a feature that registers for it: none yet", "No iOAM"],
    state: &[
        tunnel::SHARED,
        tunnel::tunnels::<Gpe>(),
        tunnel::PORTS,
        tunnel::bypassed::<Gpe>(),
        StateDef::of::<input::Nsh>(),
    ],
    fields: &[FieldDef::of::<net::L4>()],
    nodes: &[
        NodeDef::of::<Encap<encap::GpeCodec>>(),
        NodeDef::of::<Input<Gpe, Ip4>>(),
        NodeDef::of::<Input<Gpe, Ip6>>(),
        NodeDef::of::<Bypass<Gpe, Ip4>>(),
        NodeDef::of::<Bypass<Gpe, Ip6>>(),
    ],
    features: &[
        tunnel::bypass_feature("ip4-unicast", "ip4-vxlan-gpe-bypass"),
        tunnel::bypass_feature("ip6-unicast", "ip6-vxlan-gpe-bypass"),
    ],
    stages: &[tunnel::bypass_stage::<Gpe, Ip4>(), tunnel::bypass_stage::<Gpe, Ip6>()],
    cli: self::cli::COMMANDS,
    api: &[api::API],
    config: self::cli::write_config,
    examples: self::cli::EXAMPLES,
    unmoved: &[
        ("/err/vxlan*-gpe-*/*", "features/vxlan-gpe/src/tests.rs"),
        ("/err/ip*-vxlan-gpe-bypass/*", "tests/graph/tunnels/mutated.rs"),
    ],
    dependent: &[("VXLAN_GPE", "the interface by which a tunnel to a group sends")],
    entered: &[("vxlan-gpe-encap", "`tunnel-output`, from the first tunnel on")],
    ..Plugin::EMPTY
};
