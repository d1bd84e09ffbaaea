// SPDX-License-Identifier: Apache-2.0
#![forbid(unsafe_code)]
//! Neighbours of IPv4 and IPv6: the commands. The table is [`net::Neighbors`]; ARP and IPv6
//! neighbour discovery fill it.
//!
//! Entries that were set by hand are static with the word `static`; without it they age like
//! learned ones.
//!
//! Tests: Linux routers that stop answering and return; one store moves any number of routes; Linux
//! hosts, floods of senders, scans.

mod api;
mod config;
mod control;
mod examples;
mod metrics;
pub mod resolve;
mod set;
mod show;
#[cfg(feature = "tests")]
mod tests;
mod watch;
mod watchers;

use cli::Command;
use graph::{Exceptions, Plugin, StateDef, World};
use net::{Interfaces, Neighbors, NextHops};

/// Neighbours.
pub static PLUGIN: Plugin = Plugin {
    name: "ip-neighbor",
    about: "Neighbours: commands for what ARP and neighbour discovery find",
    area: "neighbours",
    does: &[
        "Next hops that don't answer: routes avoid such a next hop while another path is usable, \
         and use it again when it answers (`set ip neighbor-config … retry`)",
        "Tables under attack: each interface has a share; a neighbour that answers our own \
         request displaces an entry to which no packet was ever sent; unused entries age (`set ip \
         neighbor-config … age`); requests at a bounded rate, with room for new hosts during a \
         network scan",
    ],
    spec: &["RFC 4861 7.3", "RFC 6583"],
    limits: &[
        "A resolved next hop that has never answered one of our requests stays in use, unless a BFD \
         session watches it",
        "Interfaces whose indices differ by a multiple of 256 share one limit of waiting packets \
         and requests",
    ],
    state: &[StateDef::of::<control::Sweep>()],
    cli: COMMANDS,
    config: config::write_config,
    metrics: metrics::METRICS,
    examples: examples::EXAMPLES,
    api: &[api::API],
    start: |world| {
        // Readers of the stats segment find the counters of both protocols, counted or not.
        for protocol in ["arp", "ip6-nd"] {
            for direction in ["rx", "tx"] {
                for what in ["requests", "replies", "gratuitous"] {
                    world.stats.simple(&format!("/net/{protocol}/{direction}/{what}"));
                }
            }
        }
        world.get::<Neighbors>().subscribe(api::publish);
        world.get::<NextHops>().subscribe(|world, hops, up| {
            for hop in hops {
                let name = world.get::<Interfaces>().name(hop.sw_if);
                match up {
                    true => log::info!("next hop {} on {name} is up: routes take it again", hop.ip),
                    false => log::warn!("next hop {} on {name} is down: routes avoid it", hop.ip),
                }
            }
        });
        Ok(())
    },
    volatile: VOLATILE,
    unmoved: UNMOVED,
    ..Plugin::EMPTY
};

const VOLATILE: Exceptions =
    &[("show ip neighbor-stats", "counts packets"), ("show ip*neighbor-sorted", "sorts by age")];

const UNMOVED: Exceptions = &[
    ("/err/*/replaced", "with VPP's behaviour only: tests/graph/compat.rs"),
    ("/err/*/displaced", "1024 packets wait: features/arp/src/tests/waits.rs"),
    (
        "/err/*/throttled",
        "more neighbours than are asked for in a second: features/arp/src/tests/waits.rs",
    ),
    ("/err/*/no_room", "waiting packets hold their share of buffers: tests/graph/buffers.rs"),
    (
        "/err/*-glean/no_answer*",
        "control makes an adjacency of a neighbour that is asked for: its packets wait there",
    ),
    (
        "/err/*-glean/overflow",
        "control makes an adjacency of a neighbour that is asked for: its packets wait there",
    ),
    (
        "/err/*-glean/no_source_address",
        "an address of the interface is what makes its network connected",
    ),
];

/// VPP takes the words in any order.
const SET: &str = "flush [<interface:interface>] \
     | [del|delete] [static] [no-fib-entry] [count <count:u32>] <interface:interface> <ip:ip> [<mac:mac>] \
       [del|delete] [static] [no-fib-entry] [count <count:u32>]";

const fn show(
    path: &'static str,
    run: fn(&World, &cli::Matches<'_>) -> cli::Result<cli::Output>,
) -> Command<World> {
    Command { path, usage: "[<interface:interface>]", help: "Neighbours that are known", run }
}

const COMMANDS: &[Command<World>] = cli::commands! {
    /// Add or remove neighbours by hand
    "set ip neighbor", SET => set::neighbor;
    /// Add or remove neighbours by hand
    "ip neighbor", SET => set::neighbor;
    /// Forget all neighbours that were learned
    "clear ip neighbors", "[<interface:interface>]" => set::flush;
    /// Set the number of neighbours kept, their age (seconds; 0: no limit), and the interval at
    /// which silent next hops are asked again
    "set ip neighbor-config",
    "{ip4|ip6} [limit <limit:u32>] [age <age:u32>] [recycle|norecycle] [confirm <confirm:u32>] \
     [retry <retry:u32>]" => set::config;
    /// Limits of the number of neighbours and of their age
    "show ip neighbor-config" => show::config;
    /// Questions and answers about neighbours, by interface
    "show ip neighbor-stats", "[<interface:interface>]" => show::stats;
    /// Clients that want to hear of neighbours
    "show ip neighbor-watcher" => watchers::show;
    { show("show ip neighbors", show::both) };
    { show("show ip neighbor", show::both) };
    { show("show ip4 neighbors", |w, m| show::one(w, m, false)) };
    { show("show ip4 neighbor", |w, m| show::one(w, m, false)) };
    { show("show ip4 neighbor-sorted", |w, m| show::by_age(w, m, false)) };
    { show("show ip6 neighbors", |w, m| show::one(w, m, true)) };
    { show("show ip6 neighbor", |w, m| show::one(w, m, true)) };
    { show("show ip6 neighbor-sorted", |w, m| show::by_age(w, m, true)) };
};
