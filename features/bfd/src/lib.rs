// SPDX-License-Identifier: Apache-2.0
#![forbid(unsafe_code)]
//! BFD: detects within milliseconds that packets to a neighbour, or to a router several hops away,
//! are lost (RFC 5880 to 5883).
//!
//! ```text
//! ip4-udp-lookup → bfd-udp4-input      → (answers) ip4-rewrite, ip4-arp, ip4-lookup …
//!                → bfd-udp-echo4-input
//! bfd-process → ip4-rewrite, ip4-arp, ip4-lookup …
//! ```
//!
//! **Threads.** All sessions belong to one graph thread (`home::THREAD`), which runs their state
//! machines and timers without a lock: whatever control does, such as to load a million routes,
//! packets leave and are processed in time. `bfd-process` is woken by an alarm of the thread's loop
//! (`Cx::tick_at`) at the earliest time of a heap of sessions. Packets that another thread receives
//! are checked there and handed over, up to a rate per peer (`peers`). Control keeps the
//! configuration, and gets changes of state from a queue (`home::Report`), up to a rate per
//! session; then it moves the traffic of routes, publishes events, and logs.
//!
//! **Routes.** A session is a watcher of next hops (`paths`, `net::NextHops::set_unusable`): one
//! store moves the traffic of any number of routes.
//!
//! **Session.** `session` is the state machine of RFC 5880 6.8, `receive` authentication, `poll`
//! poll sequences; none has a clock or a network, so that tests run thousands of them.
//!
//! Limits: no demand mode of our own (the peer's is respected); no simple passwords and no MD5;
//! multihop sessions use the default tables; the shortest interval of packets is a millisecond.
//!
//! Tests: BIRD at the other end, of both versions and authenticated; two sessions back to back
//! under loss, delay and random events; bytes of packets; 100,000 mutated packets.

mod api;
mod auth;
mod changes;
mod cli;
mod config;
mod control;
mod echo;
mod echo_packet;
mod echo_source;
mod engine;
mod home;
mod input;
mod keys;
mod metrics;
mod packet;
mod paths;
mod peers;
mod poll;
mod ports;
mod process;
mod receive;
mod send;
mod session;
mod sha1;
mod show;
#[cfg(feature = "tests")]
mod tests;
mod timers;

use control::Bfd;
use graph::{NodeDef, PerThread, Plugin, StateDef, World};
use home::Home;
use net::{IfEvent, Interfaces};
use std::sync::Arc;
use wire::{Ip4, Ip6};

/// BFD.
pub static PLUGIN: Plugin = Plugin {
    name: "bfd",
    about: "BFD: routes leave a next hop within milliseconds after packets to it are lost",
    area: "control-plane",
    does: &[
        "Sessions with neighbours of an interface, also over tunnels, and over several hops \
         (`bfd udp session add`)",
        "Routes over a neighbour aren't used until its session is up; routes by a router several \
         hops away aren't used while its session is down; one store moves all of them",
        "Timers that no command and no number of routes delays: 1,000 sessions with packets each \
         50 ms",
        "Echo packets, which the neighbour's forwarding sends back (`bfd udp echo-source set`)",
        "Keyed and meticulous keyed SHA1, and changes of keys while the session is up (`bfd key \
         set`, `bfd udp session auth activate … delayed yes`)",
        "The peer's demand mode, poll sequences, a type of service (`bfd udp tos`)",
    ],
    spec: &["RFC 5880", "RFC 5881", "RFC 5882", "RFC 5883"],
    limits: &[
        "16,384 sessions",
        "Packets leave at intervals of a millisecond or more; polls are answered at once",
        "A session that comes up changes to its configured interval without a poll sequence, as VPP's",
        "Of a session that flaps, control gets 10 changes of state in a second",
        "No demand mode of our own, no simple passwords, no MD5",
        "Sessions over several hops in the default tables only",
        "bfd_udp_enable_multihop isn't saved: the saved line of such a session enables it",
    ],
    state: &[
        StateDef::of::<Home>(),
        StateDef::of::<PerThread<engine::Engine>>(),
        StateDef::of::<Bfd>(),
    ],
    nodes: &[
        NodeDef::of::<process::BfdProcess>(),
        NodeDef::of::<input::BfdInput<Ip4>>(),
        NodeDef::of::<input::BfdInput<Ip6>>(),
        NodeDef::of::<echo::EchoInput<Ip4>>(),
        NodeDef::of::<echo::EchoInput<Ip6>>(),
    ],
    cli: self::cli::COMMANDS,
    config: config::write_config,
    metrics: metrics::METRICS,
    examples: config::EXAMPLES,
    api: &[api::API],
    start,
    volatile: &[("show bfd", "times, and discriminators that are chosen at random")],
    unmoved: &[("/err/bfd-udp*", "features/bfd/src/tests"), ("/bfd/*", "features/bfd/src/tests")],
    entered: &[
        ("bfd-udp*", "UDP ports while there are sessions"),
        ("bfd-process", "sends packets of its own"),
    ],
    ..Plugin::EMPTY
};

fn start(world: &Arc<World>) -> Result<(), String> {
    let _ = world.get::<Bfd>().publish.set(api::publish);
    process::start(world);
    world.get::<Interfaces>().subscribe(|world, event| {
        if let IfEvent::Admin(sw_if, _) | IfEvent::Address(sw_if, _) = event {
            let bfd = world.get::<Bfd>();
            let is_source = bfd.inner().echo_source == Some(sw_if);
            if is_source {
                bfd.refresh_echo_source(world);
            }
        }
    });
    Ok(())
}
