// SPDX-License-Identifier: Apache-2.0
#![forbid(unsafe_code)]
//! ICMP for IPv4 (RFC 792, RFC 1122 3.2.2, RFC 1812 4.3).
//!
//! - `ip4-icmp-error` makes an ICMP error of a packet that another node gave up, if one may be sent about it, and sends it back.
//!   Redirects as well: of the copy that `ip4-rewrite` makes of a packet that leaves where it came in.
//! - `ip4-icmp-input` gets what is for us, checks it, and hands it on by type: [`register_icmp_type`].
//! - `ip4-icmp-echo-request` answers pings.
//! - `ip4-icmp-quoted` hands errors about packets that we sent to who sent them: [`register_icmp_error`].
//!
//! An error comes from the address of the interface that the packet came in by, as VPP's does; RFC 1812 4.3.2.4 means the one that
//! the error leaves by, which is nearly always the same. One that the destination itself sends (no such port, no such protocol)
//! comes from the address that was asked. Errors have a TTL of 255 and may be fragmented.
//!
//! Limits: echo requests with a source route are dropped by name; a route record in one comes back as it came; time stamps and
//! address masks are punted; RFC 4884's extensions are not added.

mod cli;
mod compose;
mod config;
mod echo;
mod error;
mod input;
mod limit;
mod quoted;
mod rules;
mod state;
#[cfg(test)]
mod tests;

pub use limit::{Bucket, Limit};
pub use quoted::quoted;
pub use rules::source;
pub use state::{Icmp, Settings, register_icmp_error, register_icmp_type};

use graph::{Node, NodeDef, Plugin};
use wire::{Icmp4Type, IpProtocol};

/// ICMP for IPv4.
pub static PLUGIN: Plugin = Plugin {
    name: "icmp",
    about: "ICMP for IPv4: errors, echo, redirects",
    nodes: &[
        NodeDef::of::<error::IcmpError>(),
        NodeDef::of::<input::IcmpInput>(),
        NodeDef::of::<echo::EchoRequest>(),
        NodeDef::of::<quoted::Quoted>(),
    ],
    cli: cli::COMMANDS,
    config: config::say,
    start: |world| {
        register_icmp_type(world, Icmp4Type::ECHO_REQUEST, echo::EchoRequest::NAME)?;
        for kind in [Icmp4Type::UNREACHABLE, Icmp4Type::TIME_EXCEEDED, Icmp4Type::PARAMETER_PROBLEM] {
            register_icmp_type(world, kind, quoted::Quoted::NAME)?;
        }
        ip::register_protocol::<wire::Ip4>(world, IpProtocol::ICMP, input::IcmpInput::NAME)
    },
    ..Plugin::EMPTY
};
