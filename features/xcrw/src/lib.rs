// SPDX-License-Identifier: Apache-2.0
#![forbid(unsafe_code)]
//! Layer-2 cross-connects with rewrite: frames that an interface receives get fixed bytes in front
//! and go to a given node. Their own Ethernet header stays, as the payload of a tunnel does.
//!
//! ```text
//! l2-input (cross-connected with xcrwN) → l2-output → l2-xcrw → ip4-lookup, or another node
//! ```
//!
//! Each of them has an interface `xcrwN`, which nothing is sent by: it names the rewrite in `show`
//! commands and to features of switched frames. The bytes are sent as they are: lengths and
//! checksums in them are the operator's business. One of the TTL or hop limit is taken
//! by the router, as of a packet that it received.
//!
//! Limits: one direction, no device that segments (GSO).
//!
//! Tests: frames compared byte for byte, in packets of both families, by tables and by interfaces;
//! sub-interfaces with tag rewriting; every way to end a cross-connect; random bytes and frames.

mod cli;
mod control;
mod node;
#[cfg(feature = "tests")]
mod tests;
mod tx;

use control::Rewrites;
use graph::{FieldDef, NodeDef, Plugin, StateDef};
use l2::OutputFeatures;

/// Layer-2 cross-connects with rewrite.
pub static PLUGIN: Plugin = Plugin {
    name: "xcrw",
    about: "Layer-2 cross-connects that put bytes in front of frames",
    area: "ethernet-and-l2",
    does: &[
        "Given bytes are put in front of a port's frames, which go to a given node, for example \
         as the payload of an IP packet to the lookup (`set interface l2 xcrw`)",
    ],
    spec: &["VPP's `xcrw`"],
    limits: &[
        "One direction",
        "Lengths and checksums in the given bytes aren't updated",
        "No segmentation by devices",
    ],
    state: &[StateDef::of::<Rewrites>()],
    fields: &[FieldDef::of::<net::L4>()],
    nodes: &[NodeDef::of::<node::L2Xcrw>()],
    cli: self::cli::COMMANDS,
    config: self::cli::write_config,
    examples: self::cli::EXAMPLES,
    start: |world| {
        l2::register_output(world, OutputFeatures::XCRW, "l2-xcrw")?;
        for next in control::NEXT {
            // Of a plugin that startup.conf switches off.
            if world.node(next).is_some() {
                world.link("l2-xcrw", next)?;
            }
        }
        Ok(())
    },
    unmoved: &[("/err/l2-xcrw/*", "features/xcrw/src/tests.rs")],
    dependent: &[("Xcrw", "the interfaces that the cross-connect names")],
    ..Plugin::EMPTY
};
