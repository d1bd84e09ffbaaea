// SPDX-License-Identifier: Apache-2.0
#![forbid(unsafe_code)]
//! MSS clamp: lowers the maximum segment size in TCP's SYN and SYN-ACK segments (RFC 9293 3.2,
//! 3.7.1), so that both ends of a connection send segments that fit a tunnel on their path.
//!
//! | node | arc |
//! |---|---|
//! | `tcp-mss-clamping-ip4-in`, `-ip6-in` | `ip4-unicast`, `ip6-unicast`: received packets |
//! | `tcp-mss-clamping-ip4-out`, `-ip6-out` | `ip4-output`, `ip6-output`: packets that leave |
//!
//! An MSS is never raised, and a segment without the option gets none. The TCP checksum is updated
//! by increment (RFC 1624), so a wrong one stays wrong. TCP is also found behind IPv4 options and
//! IPv6 extension headers. Options are read up to the first malformed one; what stands behind it is
//! left alone. Packets never leave the arc here.
//!
//! Received segments that aren't SYN take the super-path.
//!
//! Tests: bytes of every segment, options at odd offsets; random options against a slow reader;
//! Linux hosts keep to it; broken packets.

mod api;
mod clamp;
mod cli;
pub mod control;
mod node;
#[cfg(feature = "tests")]
mod tests;

use ::graph::{Feature, NodeDef, Plugin, rank};
pub use node::lower;
use node::{Clamp, NoSyn};
use wire::{Ip4, Ip6};

/// MSS clamp.
pub static PLUGIN: Plugin = Plugin {
    name: "mss_clamp",
    about: "Lowers the maximum segment size that TCP connections ask for",
    area: "policy",
    does: &[
        "The maximum segment size in SYN and SYN-ACK segments is lowered, by interface, direction \
         and protocol (`set interface tcp-mss-clamp`)",
    ],
    spec: &["RFC 9293 3.2, 3.7.1", "RFC 1624"],
    limits: &[
        "A segment without the option gets none",
        "Packets that leave by a clamping interface don't take the super-path",
    ],
    nodes: &[
        NodeDef::configured::<Clamp<Ip4, false>>(),
        NodeDef::configured::<Clamp<Ip4, true>>(),
        NodeDef::configured::<Clamp<Ip6, false>>(),
        NodeDef::configured::<Clamp<Ip6, true>>(),
    ],
    features: &[
        Feature {
            arc: "ip4-unicast",
            node: "tcp-mss-clamping-ip4-in",
            before: &[rank::POLICY],
            after: &[rank::REASSEMBLY, "ip4-source-and-port-range-check-rx", "ip4-inacl"],
        },
        Feature {
            arc: "ip6-unicast",
            node: "tcp-mss-clamping-ip6-in",
            before: &[rank::POLICY],
            after: &[rank::REASSEMBLY, "ip6-inacl"],
        },
        Feature {
            arc: "ip4-output",
            node: "tcp-mss-clamping-ip4-out",
            before: &["ip4-source-and-port-range-check-tx", rank::POLICY],
            after: &[rank::REASSEMBLY],
        },
        Feature {
            arc: "ip6-output",
            node: "tcp-mss-clamping-ip6-out",
            before: &[rank::POLICY],
            after: &[rank::REASSEMBLY],
        },
    ],
    cli: self::cli::COMMANDS,
    config: self::cli::write_config,
    examples: self::cli::EXAMPLES,
    api: &[api::API],
    stages: &[
        net::stage::<Ip4, Clamp<Ip4, false>, NoSyn>(),
        net::stage::<Ip6, Clamp<Ip6, false>, NoSyn>(),
        net::stage::<Ip4, Clamp<Ip4, true>, NoSyn>(),
        net::stage::<Ip6, Clamp<Ip6, true>, NoSyn>(),
    ],
    unmoved: &[("/err/tcp-mss-clamping-*", "features/mss-clamp/src/tests.rs")],
    ..Plugin::EMPTY
};
