// SPDX-License-Identifier: Apache-2.0
#![forbid(unsafe_code)]
//! MTUs of tunnels that follow the path of their outer packets (`track-mtu` of a tunnel).
//!
//! Without it, packets that a router further on can't forward are lost: its error goes to the end
//! of the tunnel, and the sender of the inner packet never learns of it. With it, the interface's
//! MTU is what the path carries, less the headers of the tunnel: the smaller of the egress
//! interface's MTU and of the path MTU to the other end, set or learned. Inner packets that are
//! larger are fragmented, or refused by an error with an MTU that works (RFC 2003 5.1, RFC 2473
//! 7.1, RFC 1191), in front of the tunnel, as on any interface.
//!
//! `ip4-tunnel-error` and `ip6-tunnel-error` take errors about outer packets. An error is believed
//! if it quotes the ends, the protocol and the identifier of a tunnel that tracks its MTU. No path
//! MTU below 552 bytes is believed.
//!
//! Tests: bytes of errors and packets for seven kinds of tunnels; errors about other packets aren't
//! believed; a Linux host behind a smaller link of a Linux router.

mod cli;
mod node;
mod tracked;

use graph::{NodeDef, Plugin, StateDef, World, name_of};
use icmp::Icmp;
use std::sync::Arc;
use tracked::TrackedMtus;
use wire::{Ip4, Ip6, IpProtocol};

/// Protocols whose packets are outer packets of tunnels.
const PROTOCOLS: [IpProtocol; 5] =
    [IpProtocol::IP4, IpProtocol::IP6, IpProtocol::GRE, IpProtocol::L2TP, IpProtocol::UDP];

/// MTUs of tunnels.
pub static PLUGIN: Plugin = Plugin {
    name: "track-mtu",
    about: "MTUs of tunnels that follow the path of their outer packets",
    area: "tunnels",
    does: &[
        "The MTU of a tunnel follows the path of its outer packets: the egress interface's MTU, \
         and path MTUs that routers report about outer packets (word `track-mtu` of tunnels with \
         one other end, `show tunnel mtu`)",
        "Larger inner packets are fragmented, or refused with an MTU that works",
    ],
    spec: &["RFC 1191", "RFC 2003 5.1", "RFC 2473 7.1", "RFC 8201"],
    limits: &[
        "Off without the word",
        "Changes of routes are seen within a second",
        "Frames of bridge domains are not refused",
        "Not for tunnels to groups or multipoint tunnels",
    ],
    state: &[tunnel::SHARED, StateDef::of::<TrackedMtus>()],
    nodes: &[NodeDef::of::<node::TunnelError<Ip4>>(), NodeDef::of::<node::TunnelError<Ip6>>()],
    cli: cli::COMMANDS,
    start: |world: &Arc<World>| {
        TrackedMtus::start(world);
        listen::<Ip4>(world)?;
        listen::<Ip6>(world)
    },
    unmoved: &[("/err/*-tunnel-error/*", "features/track-mtu/tests/tunnels.rs")],
    ..Plugin::EMPTY
};

fn listen<F: Icmp>(world: &World) -> Result<(), String> {
    PROTOCOLS.into_iter().try_for_each(|protocol| {
        icmp::register_icmp_error::<F>(world, protocol, name_of::<node::TunnelError<F>>())
    })
}
