// SPDX-License-Identifier: Apache-2.0
#![forbid(unsafe_code)]
//! TCP, as far as a router without connections speaks it: a request for one is reset at once (RFC
//! 9293 3.5.2).
//!
//! ```text
//! ip4-local → tcp4-reset → ip4-lookup
//! ```
//!
//! IPv6 has the same, from the same source. Segments come here as long as nobody else takes the
//! protocol, or the port: see [`ip::register_otherwise`]. Resets share the rate limit of ICMP
//! errors, as they say the same.
//!
//! Tests: Linux hosts that connect, every kind of segment.

mod reset;
#[cfg(feature = "tests")]
mod tests;

use ::graph::{NodeDef, Plugin, World, name_of};
use ip::Ip;
use reset::Reset;
use wire::{Ip4, Ip6, IpProtocol};

/// TCP without connections.
pub static PLUGIN: Plugin = Plugin {
    name: "tcp",
    about: "Resets for TCP segments that nobody here takes",
    area: "ip",
    does: &["TCP resets for closed ports; closed UDP ports get an ICMP error"],
    spec: &["RFC 9293", "RFC 1122", "RFC 4443"],
    limits: &["No TCP beyond that"],
    nodes: &[NodeDef::of::<Reset<Ip4>>(), NodeDef::of::<Reset<Ip6>>()],
    start: |world| {
        start::<Ip4>(world)?;
        start::<Ip6>(world)
    },
    unmoved: &[("/err/tcp*-reset/*", "features/tcp/src/tests.rs")],
    ..Plugin::EMPTY
};

fn start<F: Ip>(world: &World) -> Result<(), String> {
    ip::register_otherwise::<F>(world, IpProtocol::TCP, name_of::<Reset<F>>())
}
