// SPDX-License-Identifier: Apache-2.0
#![forbid(unsafe_code)]
//! ICMP for IPv4 (RFC 792, RFC 1122 3.2.2, RFC 1812 4.3) and IPv6 (RFC 4443). Each node is there
//! for both: `ip4-icmp-error` and `ip6-icmp-error`.
//!
//! - `ip4-icmp-error` replaces a packet that another node gave up by an ICMP error, if one is
//!   allowed, and sends it back. Redirects as well: from the copy that `ip4-rewrite` makes of a
//!   packet that leaves by its receive interface.
//! - `ip4-icmp-input` receives ICMP messages for us, validates them, and dispatches them by type:
//!   [`register_icmp_type`].
//! - `ip4-icmp-echo-request` answers echo requests.
//! - `ip4-icmp-quoted` dispatches errors about packets that we sent by the quoted protocol:
//!   [`register_icmp_error`].
//!
//! An error comes from the address of the interface that the packet came in by, as VPP's does; RFC
//! 1812 4.3.2.4 means the one that the error leaves by, which is nearly always the same. One that
//! the destination itself sends (no such port, no such protocol) comes from the address that was
//! asked. Errors have a TTL of 255 and may be fragmented. ICMPv6's quote as much as makes 1280
//! bytes; to a link-local source they come from the interface's link-local address.
//!
//! Limits: echo requests with a source route are dropped by name; a route record in one comes back
//! as it came; time stamps and address masks are punted; RFC 4884's extensions are not added.
//! Redirects of IPv6 are neighbour discovery's.
//!
//! Tests: ping and traceroute of Linux, broken packets.

mod cli;
mod compose;
mod echo;
mod error;
mod examples;
mod input;
mod model;
mod quoted;
mod rules;
mod sources;
mod state;
#[cfg(feature = "tests")]
mod tests;
mod version;

pub use quoted::{Quote, quoted};
pub use rules::source;
pub use state::{Settings, State, register_icmp_error, register_icmp_type};
pub use version::Icmp;

use graph::{NodeDef, Plugin, StateDef, World, name_of};
use wire::{Ip4, Ip6};

/// ICMP.
pub static PLUGIN: Plugin = Plugin {
    name: "icmp",
    about: "ICMP for IPv4 and IPv6: errors, echo, redirects",
    area: "ip",
    does: &["Errors with a rate limit, echo, redirects where enabled (`set ip icmp redirect`)"],
    spec: &["RFC 792", "RFC 1122", "RFC 1191", "RFC 1812", "RFC 4443"],
    state: &[StateDef::of::<state::State<Ip4>>(), StateDef::of::<state::State<Ip6>>()],
    nodes: &[
        NodeDef::of::<error::IcmpError<Ip4>>(),
        NodeDef::of::<error::IcmpError<Ip6>>(),
        NodeDef::of::<input::IcmpInput<Ip4>>(),
        NodeDef::of::<input::IcmpInput<Ip6>>(),
        NodeDef::of::<echo::EchoRequest<Ip4>>(),
        NodeDef::of::<echo::EchoRequest<Ip6>>(),
        NodeDef::of::<quoted::Quoted<Ip4>>(),
        NodeDef::of::<quoted::Quoted<Ip6>>(),
    ],
    cli: cli::COMMANDS,
    config: self::cli::write_config,
    examples: examples::EXAMPLES,
    start: |world| {
        start::<Ip4>(world)?;
        start::<Ip6>(world)
    },
    unmoved: &[
        ("/err/*-icmp-*", "features/icmp/src/tests, and of echo replies features/ping"),
        ("/err/icmp6-*/length_too_small_for_type", "ip6-icmp-input lets none such through"),
        ("/err/icmp6-*/not_enabled", "ip6-not-enabled lets none through"),
        ("/err/icmp6-*/source_multicast", "ip6-input lets none such through"),
    ],
    ..Plugin::EMPTY
};

fn start<F: Icmp>(world: &World) -> Result<(), String> {
    register_icmp_type::<F>(world, F::ECHO_REQUEST, name_of::<echo::EchoRequest<F>>())?;
    for kind in F::ABOUT_OURS {
        register_icmp_type::<F>(world, *kind, name_of::<quoted::Quoted<F>>())?;
    }
    ip::register_protocol::<F>(world, F::ICMP, name_of::<input::IcmpInput<F>>())
}
