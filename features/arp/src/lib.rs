// SPDX-License-Identifier: Apache-2.0
#![forbid(unsafe_code)]
//! ARP: which station on an Ethernet has an IPv4 address (RFC 826, RFC 5227, RFC 1027).
//!
//! ```text
//! ethernet-input → arp-input → arc `arp`: arp-reply → arp-proxy → (arp-disabled) → error-drop
//! ip4-lookup → ip4-arp, ip4-glean → the interface's output (the question) … ip4-rewrite (what waited)
//! ```
//!
//! Workers answer by themselves, in place. What they learn goes to control by a bounded queue;
//! control keeps the table ([`net::Neighbors`]). Asking, and what waits for answers, is
//! [`ip_neighbor::resolve`]'s.
//!
//! Our addresses are announced only with `set arp announce on`. RFC 826 has no announcements, and
//! RFC 5227 2.3 has them only of an address that was probed before, which isn't done here: an
//! unprobed announcement takes the traffic of a host that has the address already. VPP and Linux
//! announce nothing by default either. Neighbour discovery does the same.
//!
//! Limits: no address conflict detection of its own before an address is used (RFC 5227 2.1);
//! others' use of our addresses is logged and answered.
//!
//! Tests: Linux hosts, broken frames.

mod api;
mod cli;
mod control;
mod disabled;
mod examples;
mod frame;
mod input;
mod own;
mod proxy;
mod ranges;
mod reply;
#[cfg(feature = "tests")]
mod tests;

pub use control::{Arp, Conflict, Gratuitous, send, set_proxy};
pub use frame::{Request, answer};
pub use ranges::{Range, Ranges};

use graph::{ArcDef, Feature, NodeDef, Plugin, StateDef};
use ip_neighbor::resolve::{self, Glean, Unresolved};

/// ARP.
pub static PLUGIN: Plugin = Plugin {
    name: "arp",
    about: "ARP: answers, questions, proxy",
    area: "neighbours",
    does: &[
        "ARP replies, requests, proxy, aging, probes, gratuitous ARP (`set arp announce`), static \
         entries",
    ],
    spec: &["RFC 826", "RFC 1027", "RFC 5227"],
    state: &[
        resolve::state::<Arp>(),
        StateDef::of::<control::Arp>(),
        StateDef::of::<ranges::Ranges>(),
    ],
    fields: &[resolve::FIELD],
    nodes: &[
        NodeDef::of::<input::ArpInput>(),
        NodeDef::of::<reply::ArpReply>(),
        NodeDef::of::<proxy::ArpProxy>(),
        NodeDef::of::<disabled::ArpDisabled>(),
        NodeDef::of::<Unresolved<Arp>>(),
        NodeDef::of::<Glean<Arp>>(),
    ],
    arcs: &[ArcDef { name: control::ARC, starts: &["arp-input"], end: "error-drop" }],
    features: &[
        Feature { arc: control::ARC, node: "arp-reply", before: &["arp-proxy"], after: &[] },
        Feature {
            arc: control::ARC,
            node: "arp-proxy",
            before: &["arp-disabled"],
            after: &["arp-reply"],
        },
        Feature { arc: control::ARC, node: "arp-disabled", before: &[], after: &["arp-proxy"] },
    ],
    counters: &[resolve::counters::<Arp>()],
    cli: cli::COMMANDS,
    config: self::cli::write_config,
    examples: examples::EXAMPLES,
    api: &[api::API],
    start: control::start,
    unmoved: &[
        (
            "/err/ip4-arp/no_answer4",
            "packets of IPv4 over next hops of IPv6 wait at ip6-discover-neighbor",
        ),
        (
            "/err/ip4-arp/interface_down",
            "an interface goes down below a packet on its way: features/arp/src/tests/waits.rs",
        ),
        (
            "/err/ip4-arp/too_short",
            "the node reads no header, but shares its ways out with the one that does",
        ),
        (
            "/net/arp/tx/no-buffers",
            "a frame of control's own when no buffer is left, the reserve included: not brought about here",
        ),
    ],
    ..Plugin::EMPTY
};
