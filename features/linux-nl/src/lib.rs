// SPDX-License-Identifier: Apache-2.0
#![forbid(unsafe_code)]
//! Settings that programs of the host make in its kernel, taken over for mirrored interfaces: state
//! and MTU of links, addresses, neighbours, routes. A routing daemon beside the router needs
//! nothing else.
//!
//! ```text
//! kernel → socket (rtnetlink) → linux-cp-netlink-process → interfaces, addresses, routes …
//! ```
//!
//! The process reads what has come in slices of the control thread's time. Messages about one
//! prefix that follow each other are one change of its entry, so no packet meets a state between
//! them, and all that has come is given to the tables at once (`batch.rs`). Routes of FPM go the
//! same way: `features/fpm` uses `convert.rs` and `batch.rs`.
//!
//! **Losses.** When the socket's buffer overflows, all that still waits in it is read and left out,
//! since it is older than what follows: the kernel dumps everything, which marks what is still
//! there, and the rest is removed. Routes stay in force meanwhile; notifications wait in the
//! socket.
//!
//! **Metrics** have 32 bits in the kernel, preferences of paths have 8: each metric that comes gets
//! a preference in their order (`metrics.rs`). A next hop that several routes to a prefix have,
//! with different metrics, is one path; the other metrics are kept beside the table.
//!
//! The kernel removes IPv4 routes over a link that goes down without a message; they are removed
//! here, a thousand prefixes in a turn. When the link is up again, all is compared.
//!
//! Tests: random changes with losses against a plain model; a routing daemon in a namespace
//! (`tests/lab/linux_cp.rs`).

pub mod batch;
mod cli;
pub mod convert;
mod engine;
mod metrics;
mod process;
mod routes;
mod startup_conf;
#[cfg(feature = "tests")]
mod tests;

use graph::{Plugin, StateDef};
use startup::StartupDef;

/// Routes of the host's kernel.
pub static PLUGIN: Plugin = Plugin {
    name: "linux_nl",
    about: "Routes and addresses that programs set in the host's kernel",
    area: "control-plane",
    does: &[
        "Routes of a daemon (FRR, BIRD) or of `ip route` are in force here: several next hops with \
         weights, next hops of the other protocol, blackhole, unreachable, prohibit, tables, \
         metrics (`show ip fib`: `lcp-rt`, `lcp-rt-dynamic`)",
        "Links up and down, MTUs, MAC addresses, addresses, link-local addresses and neighbours \
         follow the kernel's",
        "After a loss of notifications all is compared, while routes stay in force (`show lcp \
         netlink`)",
    ],
    spec: &["rtnetlink(7)", "RFC 8950"],
    limits: &[
        "Only pairs in the default namespace (`lcp default netns`)",
        "Not taken over: MPLS and multicast routes, encapsulation, VRF devices, VLAN links that \
         programs make; next-hop objects only while `net.ipv4.nexthop_compat_mode` is 1",
        "512 next hops of a route; routes with more aren't taken over",
        "A route doesn't select the source address of packets that the router itself sends",
    ],
    startup: &[StartupDef::of::<startup_conf::Startup>()],
    state: &[StateDef::of::<process::Netlink>()],
    cli: self::cli::COMMANDS,
    start: |world| {
        process::Netlink::start(world);
        Ok(())
    },
    volatile: &[("show lcp netlink", "counts changes")],
    ..Plugin::EMPTY
};
