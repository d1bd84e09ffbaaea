// SPDX-License-Identifier: Apache-2.0
#![forbid(unsafe_code)]
//! The instance itself: what its threads do, what they count, what it is made of.
//!
//! It brings no packet node. One process samples the threads once a second, for the rates that
//! `show runtime` prints; another keeps the gauges of the stats segment.
//!
//! - [`control`]: the verbs.
//! - [`Gauges`]: what control writes into the stats segment now and then.
//! - [`Rates`]: vector rate and loops per second of each thread.

mod cli;
pub mod control;
mod errors;
mod examples;
mod gauges;
mod graphs;
mod lists;
mod machine;
mod memory;
mod metrics;
mod nets;
mod node;
mod rates;
mod runtime;
mod statistics;
#[cfg(feature = "tests")]
mod tests;
mod threads;

pub use gauges::Gauges;
pub use rates::{Rate, Rates};
pub use threads::{ThreadPlacement, placements as thread_places};

use graph::{Plugin, StateDef};

/// The instance itself.
pub static PLUGIN: Plugin = Plugin {
    name: "system",
    about: "Runtime statistics, errors, nodes, threads, memory",
    area: "management",
    does: &[
        "Threads, buffers, memory, nodes, features and the graph, as VPP shows them",
        "Shares of the buffer pool for each use that keeps packets, and a reserve for the \
         router's own packets (`show buffers verbose`)",
    ],
    limits: &["One NUMA node"],
    state: &[
        StateDef::of::<control::RuntimeStart>(),
        StateDef::of::<control::Variants>(),
        StateDef::of::<rates::Rates>(),
        StateDef::of::<gauges::Gauges>(),
    ],
    cli: cli::COMMANDS,
    config: control::write_config,
    metrics: metrics::METRICS,
    examples: examples::EXAMPLES,
    start: |world| {
        rates::start(world);
        gauges::start(world);
        Ok(())
    },
    volatile: &[
        ("show bihash", "memory of tables"),
        ("show buffers*", "buffers in use"),
        ("show cpu", "the clock"),
        ("show errors*", "counts packets"),
        ("show event-logger", "events with their times"),
        ("show fib walk", "counts walks"),
        ("show frame-queue", "counts packets"),
        ("show graph*", "nodes by the order in which they came"),
        ("show handoff", "counts packets"),
        ("show memory*", "memory in use"),
        ("show node*", "nodes by the order in which they came"),
        ("show physmem*", "memory in use"),
        ("show processes", "times"),
        ("show runtime*", "clocks and counts"),
        ("show statistics*", "memory in use"),
        ("show threads", "times"),
        ("show unix errors", "counts errors"),
        ("show vlib*", "nodes by the order in which they came"),
    ],
    ..Plugin::EMPTY
};
