// SPDX-License-Identifier: Apache-2.0
#![forbid(unsafe_code)]
//! Route tables for operators and clients: tables (VRFs), routes, path lists, load-balances and
//! adjacencies, by commands and messages; files of routes; their running configuration and metrics.
//!
//! The structures are in [`net::fib`]. This plugin has no node and doesn't depend on the one that
//! forwards IP packets, so a feature that only uses routes, such as a forwarder of labelled
//! packets, needs no more than this.
//!
//! Tests: random changes of routes against a slow model, with readers (`make churn`).

pub mod api;
mod cli;
mod config;
mod examples;
mod host;
mod metrics;
pub mod paths;
mod startup_conf;
mod walk;

pub use cli::adjacency::describe as describe_adjacency;

use graph::Plugin;
use startup::StartupDef;
use startup_conf::Startup;

/// Route tables.
pub static PLUGIN: Plugin = Plugin {
    name: "fib",
    about: "Route tables, routes, path lists and adjacencies",
    area: "ip",
    does: &[
        "Any number of tables (VRFs) of IPv4 and IPv6; routes with several paths, weights and \
         preferences, recursive routes, next hops of the other IP version",
        "A million routes load from a file in about half a second (`ip route add file`, see [the \
         format](../configuration.md#route-files))",
    ],
    spec: &["RFC 8950"],
    startup: &[StartupDef::of::<Startup>()],
    cli: cli::COMMANDS,
    config: config::write_config,
    metrics: metrics::METRICS,
    examples: examples::EXAMPLES,
    transient: &[("adjacency counters", "is always enabled")],
    api: api::MODULES,
    volatile: &[
        ("show adj", "numbers of adjacencies"),
        ("show adj nbr*", "numbers of adjacencies"),
        ("show adjacency*", "numbers of adjacencies"),
        ("show fib memory", "memory in use"),
        ("show fib path*", "numbers of path lists"),
        ("show fib source*", "sources that clients named stay"),
        ("show load-balance", "numbers of buckets"),
        ("show lookup-dpo", "counts routes that are being removed"),
    ],
    ..Plugin::EMPTY
};
