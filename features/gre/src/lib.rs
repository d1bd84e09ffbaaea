// SPDX-License-Identifier: Apache-2.0
#![forbid(unsafe_code)]
//! GRE (RFC 2784, RFC 2890): tunnels of IP packets, of Ethernet frames (transparent Ethernet
//! bridging) and of mirrored frames (ERSPAN type II), in IPv4 and IPv6 packets.
//!
//! `greN` of type L3 carries packets of IPv4 and IPv6, and may have several other ends, whose
//! addresses are entries of `create teib`. Of the other types it is an Ethernet interface.
//! Checksum, key and sequence number of received headers are read; a checksum that is there has to
//! be right, and a tunnel takes packets with its own key only, or without one if it has none.
//!
//! Limits: no MPLS inside; ERSPAN is sent, not received; no checksum and, but for ERSPAN, no
//! sequence number is sent.
//!
//! Tests: gre, gretap and ip6gre of a Linux kernel, with keys; every combination of optional words;
//! 20,000 broken packets.

mod api;
mod cli;
mod encap;
mod input;
mod model;
mod spec;
#[cfg(feature = "tests")]
mod tests;

pub use model::{Gre, Payload};

use graph::{FieldDef, NodeDef, Plugin};
use tunnel::{Encap, Tunnels};
use wire::{Ip4, Ip6};

/// GRE.
pub static PLUGIN: Plugin = Plugin {
    name: "gre",
    about: "GRE tunnels",
    area: "tunnels",
    does: &["GRE: IP packets, Ethernet frames with VLAN sub-interfaces, ERSPAN type II; keys; \
         checksums and sequence numbers are read; several remote endpoints by `create teib` \
         (`create gre tunnel`)"],
    spec: &["RFC 2784", "RFC 2890"],
    limits: &["No MPLS inside", "ERSPAN is sent only", "No checksum is sent"],
    state: &[tunnel::SHARED, tunnel::tunnels::<Gre>()],
    fields: &[FieldDef::of::<net::L4>()],
    nodes: &[
        NodeDef::of::<Encap<encap::GreCodec>>(),
        NodeDef::of::<Encap<encap::TebCodec>>(),
        NodeDef::of::<Encap<encap::ErspanCodec>>(),
        NodeDef::of::<input::GreInput<Ip4>>(),
        NodeDef::of::<input::GreInput<Ip6>>(),
    ],
    cli: self::cli::COMMANDS,
    api: &[api::API],
    config: self::cli::write_config,
    examples: self::cli::EXAMPLES,
    start: |world| {
        Tunnels::<Gre>::follow_peers(world);
        Ok(())
    },
    unmoved: &[("/err/gre*-*/*", "features/gre/src/tests.rs")],
    entered: &[
        ("gre*-encap", "`tunnel-output`, from the first tunnel on"),
        ("gre*-input", "protocol 47, from the first tunnel on"),
    ],
    ..Plugin::EMPTY
};
