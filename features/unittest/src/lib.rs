// SPDX-License-Identifier: Apache-2.0
#![forbid(unsafe_code)]
//! Commands by which clients' tests drive a feature from outside, as VPP's plugin `unittest` has
//! them: a link that goes down, a line in the log, rings and histograms in the stats segment, clock
//! checks, packets that are punted. They are no use to an operator, so the feature is off
//! unless startup.conf enables it:
//! `plugins { plugin unittest_plugin.so { enable } }`.
//!
//! VPP's commands that run C code of its own (`test bihash`, `test heap-validate`, …) are not here:
//! there is nothing that they could test.

mod punt;
mod selftest;
mod stats;
#[cfg(feature = "tests")]
mod tests;

use cli::{Error, Matches, Output};
use graph::{Feature, NodeDef, Plugin, StateDef, World, rank};
use net::Interfaces;
use wire::{Ip4, Ip6};

/// Commands for clients' tests.
pub static PLUGIN: Plugin = Plugin {
    name: "unittest",
    about: "Commands by which clients' tests drive features from outside",
    area: "tools",
    does: &["Off unless startup.conf enables it"],
    default_disabled: true,
    state: &[
        StateDef::of::<punt::ClientOutputs<Ip4>>(),
        StateDef::of::<punt::ClientOutputs<Ip6>>(),
    ],
    nodes: &[
        NodeDef::of::<punt::Feature<Ip4>>(),
        NodeDef::of::<punt::Feature<Ip6>>(),
        NodeDef::of::<punt::Client<Ip4, 0>>(),
        NodeDef::of::<punt::Client<Ip4, 1>>(),
        NodeDef::of::<punt::Client<Ip6, 0>>(),
        NodeDef::of::<punt::Client<Ip6, 1>>(),
    ],
    features: &[
        Feature { arc: "ip4-unicast", node: "punt-test-ip4", before: &[rank::BYPASS], after: &[] },
        Feature { arc: "ip6-unicast", node: "punt-test-ip6", before: &[rank::BYPASS], after: &[] },
    ],
    start: |world| punt::start(world),
    cli: ::cli::commands! {
        /// Punt what comes in there from 1.1.1.1 to 1.1.1.2, or from 1::1 to 1::2; with an address,
        /// send what is punted to that neighbour as well
        "test punt", "<interface:interface> [<address:ip>]" => punt::test;
        /// Set the link of an interface up or down, as its device would
        "test interface link-state", "<interface:interface> {up | down}" => link_state;
        /// Write a line to the log
        "test log",
        "<level:emerg|alert|crit|err|error|warn|notice|info|debug> <class> <subclass> <message:rest>"
            => log_line;
        /// Count while a counter grows, and look whether a client sees it all
        "test counter", "{simple | combined} expand" => selftest::counter;
        /// Look on every thread whether the clock goes back; with `discontinuity' it is moved on by
        /// a millisecond
        "test time", "[monotonicity | discontinuity | barrier | all]" => selftest::time;
        /// Connect to the binary API from inside, and ask something
        "test api internal" => selftest::api;
        /// Write entries (a number and the time) to a ring of the stats segment, one every interval
        /// of microseconds
        "test stats ring-buffer-gen",
        "<name> <count:u32> <interval:u32> [<size:1-65536>]" => stats::ring;
        /// Describe the entries of a ring of the stats segment
        "test stats ring-buffer-show-schema", "<name>" => stats::show_schema;
        /// Read what a ring of the stats segment says of its entries, as a client does
        "test stats ring-buffer-test-schema", "<name>" => stats::test_schema;
        /// Count values in a histogram of the stats segment, one every interval of microseconds
        "test stats histogram-gen",
        "<name> <count:u32> <interval:u32> [<lowest:0-63> [<bins:1-64>]]" => stats::histogram;
        /// Take a histogram out of the stats segment
        "test stats histogram-clear", "<name>" => stats::clear_histogram;
    },
    transient: &[
        ("test api", "tries what is there"),
        ("test counter", "the same"),
        ("test interface", "the same"),
        ("test log", "the same"),
        ("test punt", "the same"),
        ("test stats", "the same"),
        ("test time", "the same"),
    ],
    unmoved: &[("/err/punt-test-*", "`test punt`: features/unittest/src/tests.rs")],
    entered: &[("punt-client-*", "reasons that `test punt` takes")],
    ..Plugin::EMPTY
};

fn link_state(world: &World, m: &Matches) -> Result<Output, Error> {
    let interfaces = world.get::<Interfaces>();
    let sw_if = interfaces.find(m.str("interface")).map_err(m.at("interface"))?;
    interfaces.set_link(world, sw_if, m.flag("up"))?;
    Ok(Output::empty())
}

fn log_line(_: &World, m: &Matches) -> Result<Output, Error> {
    let level = match m.str("level") {
        "emerg" | "alert" | "crit" | "err" | "error" => log::Level::Error,
        "warn" => log::Level::Warn,
        "debug" => log::Level::Debug,
        _ => log::Level::Info,
    };
    let class = format!("{}/{}", m.str("class"), m.str("subclass"));
    log::log!(target: &class, level, "{}", m.str("message"));
    Ok(Output::empty())
}
