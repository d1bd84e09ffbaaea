// SPDX-License-Identifier: Apache-2.0
#![forbid(unsafe_code)]
//! NAT66: hosts have one address inside and another one outside (RFC 6296 names the difficulties).
//!
//! | node | arc | packets |
//! |---|---|---|
//! | `nat66-in2out` | `ip6-unicast` | from inside to the world: gets another source |
//! | `nat66-out2in` | `ip6-unicast` | from outside: gets another destination |
//!
//! The checksum of TCP, UDP, UDP-Lite and ICMPv6 is updated by increment (RFC 1624), where it
//! covers the address. An ICMPv6 error is translated with the packet that it quotes. Fragments need
//! no ports, so nothing is put together for them.
//!
//! Tests: packets of all protocols there and back; errors; fragments; tables; broken packets;
//! messages and commands.

mod api;
mod cli;
mod control;
mod mapping;
mod nodes;
mod packet;
#[cfg(feature = "tests")]
mod tests;

use ::graph::{Feature, NodeDef, Plugin, StateDef, rank};
use nodes::{Fast, IN2OUT, In2Out, OUT2IN, Out2In, Translate};
use wire::Ip6;

const fn feature(node: &'static str, after: &'static [&'static str]) -> Feature {
    let before = &["acl-plugin-in-ip6-fa", "ip6-inacl", "tcp-mss-clamping-ip6-in", rank::POLICY];
    Feature { arc: "ip6-unicast", node, before, after }
}

/// NAT66.
pub static PLUGIN: Plugin = Plugin {
    name: "nat66",
    about: "NAT66: hosts have one address inside and another one outside",
    area: "nat",
    does: &[
        "Static mappings of IPv6 addresses by table, for all protocols, with ICMPv6 errors and \
         counters (`nat66 plugin enable`, `nat66 add static mapping`, `set interface nat66`)",
    ],
    spec: &["VPP's NAT66", "RFC 1624", "RFC 8200 8.1"],
    limits: &[
        "Neighbours on the link aren't answered for addresses outside: they have to be routed here",
        "Checksums of DCCP aren't mended",
        "ICMPv6 errors and packets that change their table don't take the super-path",
    ],
    state: &[StateDef::of::<mapping::Nat>(), StateDef::of::<control::Control>()],
    nodes: &[NodeDef::of::<Translate<In2Out>>(), NodeDef::of::<Translate<Out2In>>()],
    features: &[
        feature(OUT2IN, &[rank::REASSEMBLY, "svs-ip6"]),
        feature(IN2OUT, &[rank::REASSEMBLY, "svs-ip6", OUT2IN]),
    ],
    stages: &[
        net::stage::<Ip6, Translate<In2Out>, Fast<In2Out>>(),
        net::stage::<Ip6, Translate<Out2In>, Fast<Out2In>>(),
    ],
    cli: self::cli::COMMANDS,
    config: self::cli::write_config,
    examples: self::cli::EXAMPLES,
    api: &[api::API],
    phases: &[self::cli::SWITCH],
    unmoved: &[
        ("/err/nat66-*", "features/nat66/src/tests"),
        (nodes::COUNTERS, "features/nat66/src/tests"),
    ],
    ..Plugin::EMPTY
};
