// SPDX-License-Identifier: Apache-2.0
#![forbid(unsafe_code)]
//! L2TPv3 over IPv6 (RFC 3931, RFC 8159): Ethernet frames behind a session identifier and a cookie,
//! without a control connection.
//!
//! `l2tpv3_tunnelN` is an Ethernet interface: a port of a bridge domain or of a cross-connect, or
//! one with addresses. A received packet finds its session by the address here, by the address of
//! the other end, or by the session identifier ([`LookupBy`]), and has to carry the session's
//! cookie. After a change of the local cookie the one before is accepted too.
//!
//! ```text
//! tunnel-output → l2tp-encap → ip6-rewrite, or what the route to the other end leads to
//! ip6-local → l2tp-decap-local → ethernet-input, received by l2tpv3_tunnel0
//! ip6-unicast arc: l2tp-decap → l2tp-decap-local    (where enabled, for packets of sessions)
//! ```
//!
//! Limits: no control messages; cookies of 8 bytes; Ethernet frames only; sequence numbers of
//! received packets aren't looked at, and none are sent; not over IPv4 or UDP.
//!
//! Tests: bytes of every packet; two routers back to back; Wireshark reads the headers; random sets
//! of sessions and lookups against a search; every kind of bad header; 20,000 broken packets (no
//! Linux peer).

mod api;
mod cli;
mod encap;
mod input;
mod model;
mod sessions;
mod spec;
mod startup_conf;
#[cfg(feature = "tests")]
mod tests;

pub use model::{L2tp, LookupBy};
pub use sessions::Sessions;

use graph::{Feature, FieldDef, NodeDef, Plugin, StateDef, rank};
use startup::StartupDef;
use tunnel::Encap;

/// L2TPv3.
pub static PLUGIN: Plugin = Plugin {
    name: "l2tp",
    about: "L2TPv3 tunnels",
    area: "tunnels",
    does: &[
        "L2TPv3 over IPv6: Ethernet frames behind a session identifier and a cookie, as ports of \
         bridge domains or cross-connects or as interfaces with addresses (`create l2tpv3 \
         tunnel`)",
        "Lookup by session, source or destination (`set l2tpv3 lookup`); cookies that change \
         over; optional sublayer; lookup bypass",
    ],
    spec: &["RFC 3931", "RFC 8159"],
    limits: &[
        "No control connection, so no messages of it are answered",
        "Cookies of 8 bytes",
        "Not over IPv4 or UDP",
    ],
    startup: &[StartupDef::of::<startup_conf::Startup>()],
    state: &[tunnel::SHARED, tunnel::tunnels::<L2tp>(), StateDef::of::<Sessions>()],
    fields: &[FieldDef::of::<net::L4>()],
    nodes: &[
        NodeDef::of::<Encap<encap::L2tpCodec>>(),
        NodeDef::of::<input::DecapLocal>(),
        NodeDef::of::<input::Decap>(),
    ],
    features: &[Feature {
        arc: "ip6-unicast",
        node: "l2tp-decap",
        before: &[rank::BYPASS],
        after: &[rank::END],
    }],
    cli: self::cli::COMMANDS,
    api: &[api::API],
    config: self::cli::write_config,
    transient: &[("test lt2p counters", "counts packets")],
    examples: self::cli::EXAMPLES,
    unmoved: &[("/err/l2tp-*/*", "features/l2tp/src/tests")],
    entered: &[("l2tp-encap", "`tunnel-output`, from the first tunnel on")],
    ..Plugin::EMPTY
};
