// SPDX-License-Identifier: Apache-2.0
#![forbid(unsafe_code)]
//! GTP-U (3GPP TS 29.281): packets of mobile users in UDP datagrams of IPv4 and IPv6, by tunnel
//! endpoint identifiers (TEID), one for each direction.
//!
//! `gtpu_tunnelN` carries IP packets, of both versions. In layer-2 mode (a port of a bridge domain,
//! a cross-connect) it carries Ethernet frames, unless it has `decap-next ip4` or `ip6`; with
//! `decap-next node ethernet-input` it is an Ethernet interface. With a QoS flow (`qfi`) its
//! packets have a PDU session container. Extension headers of received packets are walked; one that
//! has to be understood, and isn't, drops the packet.
//!
//! Datagrams with a bad header, an unknown TEID or another type of message can be forwarded whole
//! to another address (`create gtpu forward`).
//!
//! `set gtpu answer` lets echo requests be answered, and senders to unknown endpoints be told.
//!
//! Limits: no offload to devices.
//!
//! Tests: gtp of a Linux kernel: pings and TCP; bytes of every forwarded datagram; random sets of
//! tunnels against a search; 250,000 broken datagrams.

mod answer;
mod api;
mod cli;
mod encap;
mod forward;
mod input;
mod model;
mod spec;
#[cfg(feature = "tests")]
mod tests;

pub use forward::{Cause, Forward, Forwards};
pub use model::Gtpu;

use answer::{Answer, Answers};
use graph::{Feature, FieldDef, NodeDef, Plugin, StateDef, rank};
use tunnel::{Bypass, Encap, Input};
use wire::{Ip4, Ip6};

/// GTP-U.
pub static PLUGIN: Plugin = Plugin {
    name: "gtpu",
    about: "GTP-U tunnels",
    area: "tunnels",
    does: &[
        "GTP-U over IPv4 and IPv6: IP packets or frames, pairs of TEIDs that can be changed, PDU \
         session container with a QoS flow, chains of extension headers (`create gtpu tunnel`)",
        "Datagrams that no tunnel takes are forwarded (`create gtpu forward`); echo requests \
         answered and error indications sent where that is on (`set gtpu answer`); transfer \
         counts; lookup bypass",
    ],
    spec: &["3GPP TS 29.281"],
    limits: &[
        "Echo responses and error indications: tested by the specification only",
        "No offload to devices",
    ],
    state: &[
        tunnel::SHARED,
        tunnel::tunnels::<Gtpu>(),
        tunnel::PORTS,
        tunnel::bypassed::<Gtpu>(),
        StateDef::of::<Forwards>(),
        StateDef::of::<Answers>(),
        StateDef::of::<ip::ErrorLimit<Ip4>>(),
        StateDef::of::<ip::ErrorLimit<Ip6>>(),
        StateDef::of::<spec::ByPeer>(),
    ],
    fields: &[FieldDef::of::<net::L4>()],
    nodes: &[
        NodeDef::of::<Encap<encap::GtpuCodec<false>>>(),
        NodeDef::of::<Encap<encap::GtpuCodec<true>>>(),
        NodeDef::of::<Input<Gtpu, Ip4>>(),
        NodeDef::of::<Input<Gtpu, Ip6>>(),
        NodeDef::of::<Bypass<Gtpu, Ip4>>(),
        NodeDef::of::<Bypass<Gtpu, Ip6>>(),
        NodeDef::of::<Answer<Ip4>>(),
        NodeDef::of::<Answer<Ip6>>(),
    ],
    features: &[
        Feature {
            arc: "ip4-unicast",
            node: "ip4-gtpu-bypass",
            before: &[rank::STEER],
            after: &[rank::POLICY, "l3xc-input-ip4"],
        },
        Feature {
            arc: "ip6-unicast",
            node: "ip6-gtpu-bypass",
            before: &[rank::STEER],
            after: &[rank::POLICY, "l3xc-input-ip6"],
        },
    ],
    stages: &[tunnel::bypass_stage::<Gtpu, Ip4>(), tunnel::bypass_stage::<Gtpu, Ip6>()],
    cli: self::cli::COMMANDS,
    api: &[api::API],
    config: self::cli::write_config,
    transient: &[("set flow-offload gtpu", "is refused: no device of this build finds tunnels")],
    examples: self::cli::EXAMPLES,
    unmoved: &[
        ("/err/gtpu*-*/*", "features/gtpu/src/tests.rs"),
        ("/err/ip*-gtpu-bypass/*", "features/gtpu/src/tests.rs"),
    ],
    dependent: &[("GTPU", "the interface by which a tunnel to a group sends")],
    entered: &[("gtpu*-encap", "`tunnel-output`, from the first tunnel on")],
    ..Plugin::EMPTY
};
