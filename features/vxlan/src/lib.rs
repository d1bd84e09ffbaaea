// SPDX-License-Identifier: Apache-2.0
#![forbid(unsafe_code)]
//! VXLAN (RFC 7348): Ethernet frames in UDP datagrams of IPv4 and IPv6, by network identifier
//! (VNI).
//!
//! `vxlan_tunnelN` is an Ethernet interface: a port of a bridge domain, or one with addresses. In
//! layer-3 mode it carries IP packets without an Ethernet header. The other end is a host or a
//! group. What comes for a group's tunnel belongs to the tunnel to its sender with the same
//! identifier. In a bridge domain with a tunnel to a group, floods go to the group alone.
//!
//! `ip4-vxlan-bypass` and `ip6-vxlan-bypass` take datagrams of tunnels out of the packets of an
//! interface before these are looked up.
//!
//! Limits: no offload to devices.
//!
//! Tests: two Linux hosts in one domain over IPv4 and IPv6, and by a group; TCP in both directions
//! with segmentation; 20,000 broken datagrams.

mod api;
mod cli;
mod encap;
mod input;
mod model;
mod spec;
#[cfg(feature = "tests")]
mod tests;

pub use model::Vxlan;

use graph::{FieldDef, NodeDef, Plugin};
use tunnel::{Bypass, Encap, Input};
use wire::{Ip4, Ip6};

/// VXLAN.
pub static PLUGIN: Plugin = Plugin {
    name: "vxlan",
    about: "VXLAN tunnels",
    area: "tunnels",
    does: &[
        "VXLAN over IPv4 and IPv6, to a host or a group (`create vxlan tunnel`): ports of bridge \
         domains, interfaces with addresses, or layer 3; UDP ports of their own",
        "A flood takes the group's tunnel instead of the tunnels to its hosts; lookup bypass \
         (`set interface ip vxlan-bypass`)",
    ],
    spec: &["RFC 7348", "RFC 6935"],
    limits: &["No offload to devices"],
    state: &[
        tunnel::SHARED,
        tunnel::tunnels::<Vxlan>(),
        tunnel::PORTS,
        tunnel::bypassed::<Vxlan>(),
    ],
    fields: &[FieldDef::of::<net::L4>()],
    nodes: &[
        NodeDef::of::<Encap<encap::VxlanCodec<false>>>(),
        NodeDef::of::<Encap<encap::VxlanCodec<true>>>(),
        NodeDef::of::<Input<Vxlan, Ip4>>(),
        NodeDef::of::<Input<Vxlan, Ip6>>(),
        NodeDef::of::<Bypass<Vxlan, Ip4>>(),
        NodeDef::of::<Bypass<Vxlan, Ip6>>(),
    ],
    features: &[
        tunnel::bypass_feature("ip4-unicast", "ip4-vxlan-bypass"),
        tunnel::bypass_feature("ip6-unicast", "ip6-vxlan-bypass"),
    ],
    stages: &[tunnel::bypass_stage::<Vxlan, Ip4>(), tunnel::bypass_stage::<Vxlan, Ip6>()],
    cli: self::cli::COMMANDS,
    api: &[api::API],
    config: self::cli::write_config,
    transient: &[("set flow-offload vxlan", "is refused: no device of this build finds tunnels")],
    examples: self::cli::EXAMPLES,
    unmoved: &[
        ("/err/vxlan*-*/*", "features/vxlan/src/tests.rs"),
        ("/err/ip*-vxlan-bypass/*", "features/vxlan/src/tests.rs"),
    ],
    dependent: &[("VXLAN", "the interface by which a tunnel to a group sends")],
    entered: &[("vxlan*-encap", "`tunnel-output`, from the first tunnel on")],
    ..Plugin::EMPTY
};
