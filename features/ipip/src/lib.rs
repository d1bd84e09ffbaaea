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
