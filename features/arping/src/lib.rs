// SPDX-License-Identifier: Apache-2.0
#![forbid(unsafe_code)]
//! `arping`: ARP requests and neighbour solicitations by hand, gratuitous ARP and unsolicited
//! neighbour advertisements, and the stations that answer.
//!
//! ```text
//! arping, arping, arping_acd (module arping) → NAME-output
//! arc arp: arping-input → next feature        (counts replies)
//! arc ip6-local: arping6-input → next feature (counts neighbour advertisements)
//! ```
//!
//! The nodes are on an interface's arcs only while an arping runs there. They count, and let
//! everything pass to ARP and neighbour discovery. The table of neighbours isn't asked and learns
//! no new neighbour: an arping shows the link, whatever is known. An interface has at most one
//! arping at a time.
//!
//! Tests: bytes of each frame, 100,000 mutated replies; Linux hosts (`tests/lab/arping.rs`).

mod api;
mod cli;
mod input4;
mod input6;
mod request;
mod run;
#[cfg(feature = "tests")]
mod tests;
mod waiters;

use graph::{Feature, NodeDef, Plugin, StateDef};

/// `arping`.
pub static PLUGIN: Plugin = Plugin {
    name: "arping",
    about: "arping: ARP requests and neighbour solicitations by hand",
    area: "tools",
    does: &[
        "ARP requests and neighbour solicitations to a host of a link, with the MAC address of each \
         station that answers (`arping`)",
        "Gratuitous ARP and unsolicited neighbour advertisements (`arping gratuitous`)",
        "Detection of address conflicts for clients (`arping_acd`)",
    ],
    spec: &["RFC 826", "RFC 4861 7.2", "RFC 4862 5.4", "RFC 5227 2.1"],
    limits: &[
        "One arping at a time on an interface, with at most one frame a millisecond",
        "Of several stations that answer for one address, eight are named",
    ],
    state: &[StateDef::of::<waiters::Waiters>()],
    nodes: &[NodeDef::of::<input4::Input4>(), NodeDef::of::<input6::Input6>()],
    features: &[
        Feature {
            arc: "arp",
            node: "arping-input",
            before: &["arp-reply"],
            after: &["vrrp4-arp-input"],
        },
        Feature {
            arc: "ip6-local",
            node: "arping6-input",
            before: &[],
            after: &["vrrp6-nd-input"],
        },
    ],
    cli: self::cli::COMMANDS,
    transient: &[("arping", "sends once")],
    api: &[api::API],
    start: |world| {
        world.get::<waiters::Waiters>().set_world(world);
        Ok(())
    },
    unmoved: &[("/err/arping*", "replies to an arping: features/arping/src/tests")],
    ..Plugin::EMPTY
};
