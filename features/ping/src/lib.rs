// SPDX-License-Identifier: Apache-2.0
#![forbid(unsafe_code)]
//! `ping` and `traceroute` from the router.
//!
//! A command that waits is a session: an ICMP identifier, and a queue for what comes back.
//! `ip4-icmp-echo-reply` (echo replies) and `ip4-ping-error` (ICMP errors about our requests) leave
//! there what the command prints. Time is taken where the packet is handled, so it doesn't matter
//! when the command looks.
//!
//! Requests are made on the main thread and start at `ip4-lookup`, in the table of the source
//! interface or in the one that was named.
//!
//! Limits: `traceroute` by ICMP only. A link-local address needs the interface that it is on:
//! `source`.

mod api;
mod background;
mod ping;
mod probe;
mod reply;
mod sessions;
#[cfg(feature = "tests")]
mod tests;
mod text;
mod traceroute;

use graph::{NodeDef, Plugin, StateDef, World, name_of};
use icmp::Icmp;
use wire::{Ip4, Ip6};

/// `ping` and `traceroute`.
pub static PLUGIN: Plugin = Plugin {
    name: "ping",
    about: "ping and traceroute from the router",
    area: "tools",
    does: &["`ping` and `traceroute` from the router, of both IP versions"],
    spec: &["RFC 792", "RFC 4443"],
    limits: &["Names aren't resolved"],
    state: &[StateDef::of::<sessions::Sessions>(), StateDef::of::<background::Background>()],
    nodes: &[
        NodeDef::of::<reply::EchoReply<Ip4>>(),
        NodeDef::of::<reply::EchoReply<Ip6>>(),
        NodeDef::of::<reply::PingError<Ip4>>(),
        NodeDef::of::<reply::PingError<Ip6>>(),
    ],
    cli: ::cli::commands! {
        /// Send echo requests, and print who answers
        "ping", ping::USAGE => ping::ping;
        /// Find the routers on the way to a host
        "traceroute", traceroute::USAGE => traceroute::traceroute;
    },
    transient: &[("ping", "asks once"), ("traceroute", "asks once")],
    api: &[api::API],
    start: |world| {
        world.get::<sessions::Sessions>().set_world(world);
        background::Background::start(world);
        listen::<Ip4>(world)?;
        listen::<Ip6>(world)
    },
    unmoved: &[("/err/*-ping-error/*", "features/ping/src/tests.rs")],
    ..Plugin::EMPTY
};

fn listen<F: Icmp>(world: &World) -> Result<(), String> {
    icmp::register_icmp_type::<F>(world, F::ECHO_REPLY, name_of::<reply::EchoReply<F>>())?;
    icmp::register_icmp_error::<F>(world, F::ICMP, name_of::<reply::PingError<F>>())
}
