// SPDX-License-Identifier: Apache-2.0
#![forbid(unsafe_code)]
//! Punt: packets that no node here handles go to other programs, or to another router.
//!
//! | packets | nodes |
//! |---|---|
//! | UDP port, or all without a listener | `ip4-udp-lookup` → `ip4-udp-punt`, `ip4-udp-punt-socket` |
//! | TCP port, or all | `ip4-local` → `ip4-tcp-punt` |
//! | IP protocol | `ip4-local` → `ip4-punt`, `ip4-proto-punt-socket` |
//! | reason | `error-punt` → `punt-dispatch` → `exception-punt-socket` |
//!
//! IPv6 has the same under `ip6-`, from the same source. Packets punted without a socket go through
//! `ip4-punt`, where `ip4-punt-redirect` may redirect them, to `error-punt` and `punt-dispatch`,
//! which sends each to all nodes registered for its reason. A **reason** is every next edge of any
//! node that is marked `#[punt]`; its name is that of node and edge, or the one that VPP clients
//! know. Reason 0 is for packets punted without one, by a route for instance. ESP for us without a
//! tunnel, and IKE on port 4500, are punted for the reasons of VPP's IPsec
//! (`ipsec4-no-such-tunnel`, `ipsec4-spi-o-udp-0`) while a client takes these.
//!
//! **Sockets.** Workers put packets into a queue; the process `punt-socket` writes them to the
//! clients' Unix datagram sockets, each behind eight bytes: the interface it came in by, and 0,
//! both in the host's order (VPP's `punt_packetdesc`). The packet begins with its Ethernet header,
//! where it has one. Clients answer to the socket that `punt_socket_register_reply` names, with the
//! same eight bytes in front: interface, and an action:
//!
//! | action | the packet |
//! |---|---|
//! | 0 | an Ethernet frame that leaves by the interface |
//! | 1, 2 | an IPv4, IPv6 packet that is routed in the interface's table |
//!
//! Limits: policers of punted packets aren't built; a redirect has one path.
//!
//! Tests: a client's socket and real hosts.

mod api;
mod cli;
pub mod control;
mod dispatch;
mod esp;
mod examples;
mod nodes;
mod reasons;
mod redirect;
mod socket;
mod startup_conf;
mod state;
#[cfg(feature = "tests")]
mod tests;

pub use self::cli::describe;
pub use reasons::{Reason, name_reason, reasons, set_client};
pub use redirect::{Redirect, end_redirect_to_object, redirect_to_object};
pub use socket::serve;
pub use state::{Destination, Key, Punt};

use ::graph::{ArcDef, Feature, NodeDef, Plugin, StateDef};
use startup::StartupDef;
pub use startup_conf::Startup;
use wire::{Ip4, Ip6};

/// Punt.
pub static PLUGIN: Plugin = Plugin {
    name: "punt",
    about: "Packets for other programs, or for another router",
    area: "punt",
    does: &[
        "Packets by UDP and TCP port, protocol and reason go to clients' Unix sockets and back; \
         several clients may take the same reason",
        "Punted packets can be redirected to another router",
    ],
    spec: &["VPP's packet descriptor"],
    limits: &["A redirect has one path", "No policer"],
    startup: &[StartupDef::of::<Startup>()],
    state: &[
        StateDef::of::<reasons::Reasons>(),
        StateDef::of::<socket::Bound>(),
        StateDef::of::<state::Punt>(),
        StateDef::of::<state::TcpPorts<Ip4>>(),
        StateDef::of::<state::TcpPorts<Ip6>>(),
        StateDef::of::<redirect::RedirectTable>(),
    ],
    nodes: &[
        NodeDef::of::<nodes::UdpPunt<Ip4>>(),
        NodeDef::of::<nodes::UdpPunt<Ip6>>(),
        NodeDef::of::<nodes::Socket<Ip4, true>>(),
        NodeDef::of::<nodes::Socket<Ip6, true>>(),
        NodeDef::of::<nodes::TcpPunt<Ip4>>(),
        NodeDef::of::<nodes::TcpPunt<Ip6>>(),
        NodeDef::of::<nodes::Socket<Ip4, false>>(),
        NodeDef::of::<nodes::Socket<Ip6, false>>(),
        NodeDef::of::<dispatch::Dispatch>(),
        NodeDef::of::<nodes::ExceptionSocket>(),
        NodeDef::of::<esp::Esp<Ip4>>(),
        NodeDef::of::<esp::Esp<Ip6>>(),
        NodeDef::of::<esp::EspUdp<Ip4>>(),
        NodeDef::of::<esp::EspUdp<Ip6>>(),
        NodeDef::configured::<redirect::PuntRedirect<Ip4>>(),
        NodeDef::configured::<redirect::PuntRedirect<Ip6>>(),
    ],
    arcs: &[ArcDef { name: "error-punt", starts: &["error-punt"], end: "punt-dispatch" }],
    features: &[
        Feature { arc: "ip4-punt", node: "ip4-punt-redirect", before: &[], after: &[] },
        Feature { arc: "ip6-punt", node: "ip6-punt-redirect", before: &[], after: &[] },
    ],
    cli: self::cli::COMMANDS,
    config: self::cli::write_config,
    examples: examples::EXAMPLES,
    transient: &[
        ("ip punt policer", "is refused: policers aren't built yet"),
        ("ip6 punt policer", "is refused: policers aren't built yet"),
    ],
    api: api::MODULES,
    start: control::start,
    volatile: &[("show punt stats", "counts packets")],
    unmoved: &[
        (
            "/err/*-tcp-punt/no_listener",
            "TCP resets are here, so these segments go there: features/punt/src/tests.rs has none",
        ),
        ("/err/*-punt*/no_header", "the node that sends packets there has read the headers"),
        ("/err/*-punt-socket/Socket TX*", "clients that take packets: features/punt/src/tests.rs"),
        ("/err/*-tcp-punt/Socket TX*", "clients that take packets: features/punt/src/tests.rs"),
        ("/err/*-esp-*punt/*", "clients that take IPsec's reasons: features/punt/src/tests.rs"),
        (
            "/err/punt-dispatch/*",
            "clients that take reasons: features/punt/src/tests.rs, features/unittest/src/tests.rs",
        ),
    ],
    entered: &[
        (
            "ip*-udp-punt",
            "ports that are punted, and UDP port 4500 if a client takes IPsec's reasons",
        ),
        ("punt-dispatch", "the end of the arc `error-punt`"),
        ("ip*-tcp-punt", "TCP, if a port is punted"),
        ("ip*-udp-punt-socket", "ports that clients take"),
        ("ip*-proto-punt-socket", "protocols that clients take"),
    ],
    ..Plugin::EMPTY
};
