// SPDX-License-Identifier: Apache-2.0
#![forbid(unsafe_code)]
//! Routes of FRR, which its zebra sends by FPM (forwarding plane manager) with the module
//! `dplane_fpm_nl`: netlink messages in frames, in a stream. No route has to be in the kernel.
//!
//! ```text
//! zebra → socket → frame.rs → engine.rs → routes.rs → linux_nl::batch → tables
//!                             objects.rs (next hops by number)
//! ```
//!
//! The process reads what has come in slices of the control thread's time. Of several messages
//! about a prefix the last one counts, and all prefixes are given to the tables at once; there is
//! no delay.
//!
//! **Memory.** A route is in the table of routes only. Beside it are 4 bytes by its index: the
//! next-hop object that it names. When an object changes, one walk sets the routes of all objects
//! anew that have changed meanwhile; an object that no route names costs no walk.
//!
//! **A lost peer.** Its routes stay in force and are marked as stale. A new peer sends all that it
//! has, and doesn't say when it has ended: the rest goes once no stale route was set again for
//! `settle-time`, at the latest `stale-time` after it has come. Without a new peer all go
//! `stale-time` after the loss. Numbers of next-hop objects are the peer's, so they are forgotten.
//!
//! **Peers.** The messages of one connection count, that which came first. A few others wait,
//! unread; more are closed at once. All buffers are bounded: if a peer doesn't take its answers,
//! its messages aren't read.
//!
//! Tests: frames as FRR 8.4 sends them; a plain model of a peer; hostile peers; mutated messages;
//! FRR in a namespace (`tests/lab/frr.rs`).

mod address;
mod cli;
mod engine;
mod frame;
mod links;
mod objects;
mod process;
mod refused;
mod routes;
mod server;
mod settings;
mod sink;
mod socket;
mod startup_conf;
mod stream;
#[cfg(feature = "tests")]
mod tests;
mod walk;

use graph::{Plugin, StateDef};
use startup::StartupDef;
pub use stream::Stream;

/// Routes by FPM.
pub static PLUGIN: Plugin = Plugin {
    name: "fpm",
    about: "Routes of FRR by FPM",
    area: "control-plane",
    does: &[
        "Routes that FRR's zebra sends by FPM (`zebra -M dplane_fpm_nl`) are in force here, without \
         routes in the kernel (`fpm enable`; `show ip fib`: `fpm`): several next hops with weights, \
         next-hop objects and groups, next hops of the other protocol, blackhole, tables",
        "Next hops are on mirrored interfaces (`lcp create`), or in the connected network that has \
         the gateway",
        "While no zebra is connected, its routes stay in force for a time (`stale-time`); what a new \
         one doesn't set again goes (`show fpm`)",
        "FRR learns which routes are in force (`offload`)",
    ],
    spec: &["FRRouting: dplane_fpm_nl", "rtnetlink(7)", "RFC 8950"],
    limits: &[
        "One peer at a time; 4 more wait, others are refused",
        "Mirrors in the namespace of the listener only; with a Unix socket without `netns`, in the \
         default one (`lcp default netns`)",
        "Refused and counted: label-switched paths, MAC addresses of routers (EVPN), encapsulation, \
         routes for some sources, multicast routes",
        "512 next hops of a route, 65,536 next-hop objects, 1,048,576 members of groups, 1,024 \
         tables of each protocol",
        "FRR understands `offload` from 8.5 on; 8.4 reads it and does nothing",
        "FPM has no authentication: listen on a loopback address or at a Unix socket",
    ],
    startup: &[StartupDef::of::<startup_conf::Startup>()],
    state: &[StateDef::of::<process::Fpm>()],
    cli: self::cli::COMMANDS,
    config: self::cli::write_config,
    examples: self::cli::EXAMPLES,
    start: |world| process::Fpm::start(world).map_err(|error| format!("fpm: {error}")),
    loaded: process::Fpm::loaded,
    volatile: &[("show fpm", "names a port that the system chooses, and counts messages")],
    ..Plugin::EMPTY
};
