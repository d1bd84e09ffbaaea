// SPDX-License-Identifier: Apache-2.0
#![forbid(unsafe_code)]
//! `ping` and `traceroute` from the router.
//!
//! A command that waits is a session: an ICMP identifier, and a queue for what comes back. `ip4-icmp-echo-reply` (echo replies)
//! and `ip4-ping-error` (ICMP errors about our requests) leave there what the command prints. Time is taken where the packet is
//! handled, so it doesn't matter when the command looks.
//!
//! Requests are made on the main thread and start at `ip4-lookup`, in the table of the source interface or in the one that was
//! named.
//!
//! Limits: IPv4 only; `traceroute` by ICMP only.

mod api;
mod background;
mod ping;
mod probe;
mod reply;
mod sessions;
#[cfg(test)]
mod tests;
mod text;
mod traceroute;

use cli::Command;
use graph::{Node, NodeDef, Plugin};
use wire::{Icmp4Type, IpProtocol};

/// `ping` and `traceroute`.
pub static PLUGIN: Plugin = Plugin {
    name: "ping",
    about: "ping and traceroute from the router",
    nodes: &[NodeDef::of::<reply::EchoReply>(), NodeDef::of::<reply::PingError>()],
    cli: &[
        Command {
            path: "ping",
            usage: ping::USAGE,
            help: "Send echo requests, and print who answers",
            run: ping::ping,
        },
        Command {
            path: "traceroute",
            usage: traceroute::USAGE,
            help: "Find the routers on the way to a host",
            run: traceroute::traceroute,
        },
    ],
    api: &[api::API],
    start: |world| {
        world.get::<sessions::Sessions>().set_world(world);
        background::Background::start(world);
        icmp::register_icmp_type(world, Icmp4Type::ECHO_REPLY, reply::EchoReply::NAME)?;
        icmp::register_icmp_error(world, IpProtocol::ICMP, reply::PingError::NAME)
    },
    ..Plugin::EMPTY
};
