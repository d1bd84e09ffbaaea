// SPDX-License-Identifier: Apache-2.0
#![forbid(unsafe_code)]
//! Packets in UDP datagrams.
//!
//! An *encapsulation* is an object with two addresses and two ports. A route whose path is
//! `udp-encap N` sends packets to `udpXoY-encap` (X inside, Y outside), which puts an IP and a UDP
//! header in front. The datagram goes on by the route to its destination, which is followed as it
//! changes. With the source port 0 each flow gets a port of its own (RFC 7510 3), so that
//! routers behind spread flows over their paths. An encapsulation that a client has deleted goes on
//! as long as routes lead to it.
//!
//! A port of ours whose datagrams carry packets leads to `udp-decap-ip4` or `udp-decap-ip6`: the
//! packet inside comes in by the interface of the datagram.
//!
//! Putting a packet into a datagram doesn't change its hop limit, as in VPP; the router that takes
//! it out takes one. A packet that goes from one datagram right into the next one is an exception:
//! it could circulate for ever. Datagrams of IPv6 have a checksum (RFC 8200 8.1), those of IPv4
//! have none (RFC 7510 3).
//!
//! Datagrams that the router itself sends, such as reports to a collector, are in [`origin`].
//!
//! Limits: no MPLS inside; super-packets (GSO) are dropped by name; DSCP and ECN of the packet
//! inside aren't copied.
//!
//! Tests: the UDP sockets of a Linux host that answers pings inside datagrams; bytes of every
//! datagram; loops, chains, routes that change, broken packets.

mod api;
mod cli;
mod control;
mod decap;
mod encap;
mod examples;
pub mod origin;
#[cfg(feature = "tests")]
mod tests;

pub use control::{Encapsulation, PayloadProtocol, Udp};

use graph::{FieldDef, NodeDef, Phase, Plugin, RunningConfig, StateDef, World};
use net::Objects;
use std::sync::Arc;
use wire::{Ip4, Ip6};

/// Routes need the encapsulations that they lead to.
const ENCAPSULATIONS: Phase =
    Phase { name: "encapsulations", after: &["tables", "neighbors"], before: &["routes"] };

/// Packets in UDP datagrams.
pub static PLUGIN: Plugin = Plugin {
    name: "udp",
    about: "Packets in UDP datagrams",
    area: "tunnels",
    does: &[
        "Routes that put packets into UDP datagrams (`udp encap`, path `udp-encap`): IPv4 and \
         IPv6 in IPv4 and IPv6, with a source port for each flow; the route to the destination is \
         followed as it changes",
        "Ports whose datagrams carry packets (`udp decap`)",
    ],
    spec: &["RFC 768", "RFC 7510 3", "RFC 8200 8.1"],
    limits: &[
        "No MPLS inside",
        "Super-packets are dropped, with a drop reason",
        "DSCP and ECN aren't copied",
    ],
    state: &[StateDef::of::<control::Udp>()],
    fields: &[FieldDef::of::<net::L4>(), FieldDef::of::<decap::Decapsulated>()],
    nodes: &[
        NodeDef::of::<encap::Encap<Ip4, Ip4>>(),
        NodeDef::of::<encap::Encap<Ip6, Ip4>>(),
        NodeDef::of::<encap::Encap<Ip4, Ip6>>(),
        NodeDef::of::<encap::Encap<Ip6, Ip6>>(),
        NodeDef::of::<decap::Decap<Ip4>>(),
        NodeDef::of::<decap::Decap<Ip6>>(),
    ],
    cli: self::cli::COMMANDS,
    api: &[api::API],
    phases: &[ENCAPSULATIONS],
    config: write_config,
    examples: examples::EXAMPLES,
    start,
    unmoved: &[
        ("/err/udp*-encap/*", "routes to encapsulations: features/udp/src/tests.rs"),
        ("/err/udp-decap-*", "ports whose datagrams carry packets: features/udp/src/tests.rs"),
    ],
    entered: &[
        ("udp*-encap", "routes to encapsulations"),
        ("udp-decap-ip*", "ports whose datagrams carry packets"),
    ],
    ..Plugin::EMPTY
};

fn start(world: &Arc<World>) -> Result<(), String> {
    world.get::<Objects>().register(&control::ENCAPSULATION);
    Ok(())
}

fn write_config(world: &World, config: &mut RunningConfig) {
    let udp = world.get::<Udp>();
    config.list(ENCAPSULATIONS, udp.list(), |_, (id, encap), lines| {
        lines.push(format!("udp encap add id {id} {encap}"), format!("udp encap del id {id}"));
    });
    config.list(Phase::SETTINGS, udp.ports(), |_, (is_v6, port, inside), lines| {
        let of = if is_v6 { "ipv6" } else { "ipv4" };
        let port = format!("{of} {port} next-proto {}", inside.name());
        lines.push(format!("udp decap add {port}"), format!("udp decap del {port}"));
    });
}
