// SPDX-License-Identifier: Apache-2.0
#![forbid(unsafe_code)]
//! IP in IP (RFC 2003, RFC 2473, RFC 4213): tunnels of IPv4 and IPv6 packets in IPv4 and IPv6
//! packets.
//!
//! `ipipN` carries packets of both protocols. A tunnel has one other end, or several, whose
//! addresses are entries of `create teib`.
//!
//! 6RD (RFC 5969) is in [`sixrd`].
//!
//! Limits: no MPLS inside.
//!
//! Tests: ipip, sit and ip6tnl of a Linux kernel: pings and TCP in both directions, fragments;
//! bytes of every header; wrong sources; routes through the tunnel itself; 6RD: random prefixes
//! against a slow reader, a site behind a Linux kernel (the kernel's own 6RD isn't in the tests).

mod api;
mod cli;
mod encap;
mod input;
mod model;
pub mod sixrd;
mod spec;
#[cfg(feature = "tests")]
mod tests;

pub use model::IpIp;

use graph::{FieldDef, NodeDef, Plugin, StateDef};
use tunnel::{Encap, Tunnels};
use wire::{Ip4, Ip6};

/// IP in IP.
pub static PLUGIN: Plugin = Plugin {
    name: "ipip",
    about: "IP in IP tunnels",
    area: "tunnels",
    does: &[
        "IP in IP: IPv4 and IPv6 in IPv4 and IPv6, with one remote endpoint, or several by \
         `create teib` (`create ipip tunnel`)",
        "DSCP, ECN, DF, hop limit and flow label copied or fixed; tunnels in tunnels; \
         super-packets segmented before encapsulation",
        "6RD: IPv6 to sites whose IPv4 addresses are embedded in their prefixes; sources checked \
         on demand (`create 6rd tunnel`)",
    ],
    spec: &["RFC 2003", "RFC 2473", "RFC 4213", "RFC 6864", "RFC 5969", "RFC 3964 5.1"],
    limits: &[
        "No MPLS inside",
        "Super-packets don't stay whole",
        "6RD: no border relay prefix delegation",
    ],
    state: &[tunnel::SHARED, tunnel::tunnels::<IpIp>(), StateDef::of::<sixrd::SixRds>()],
    fields: &[FieldDef::of::<net::L4>()],
    nodes: &[
        NodeDef::of::<Encap<encap::IpIpCodec>>(),
        NodeDef::of::<sixrd::SixRdEncap>(),
        NodeDef::of::<input::IpIpInput<Ip4>>(),
        NodeDef::of::<input::IpIpInput<Ip6>>(),
    ],
    cli: self::cli::COMMANDS,
    api: &[api::API],
    config: self::cli::write_config,
    examples: self::cli::EXAMPLES,
    start: |world| {
        Tunnels::<IpIp>::follow_peers(world);
        Ok(())
    },
    unmoved: &[
        ("/err/tunnel-output/*", "features/ipip/src/tests"),
        ("/err/ipip*-*/*", "features/ipip/src/tests"),
        ("/err/sixrd-encap/*", "features/ipip/src/sixrd/tests.rs"),
    ],
    entered: &[
        ("tunnel-output", "routes and ports that lead into tunnels"),
        ("ipip-encap", "`tunnel-output`, from the first tunnel on"),
        ("sixrd-encap", "`tunnel-output`, from the first tunnel on"),
        ("ipip*-input", "protocols 4 and 41, from the first tunnel on"),
    ],
    ..Plugin::EMPTY
};
