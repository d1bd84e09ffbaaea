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

use cli::{Command, Error, Matches, Output};
use graph::{Feature, NodeDef, Plugin, StateDef, World, rank};
use net::Interfaces;
use wire::{Ip4, Ip6};

/// Commands for clients' tests.
pub static PLUGIN: Plugin = Plugin {
    name: "unittest",
    about: "Commands by which clients' tests drive features from outside",
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
    cli: &[
        Command {
            path: "test punt",
            usage: "<interface:interface> [<address:ip>]",
            help: "Punt what comes in there from 1.1.1.1 to 1.1.1.2, or from 1::1 to 1::2; with an address, send what is punted to \
                   that neighbour as well",
            run: punt::test,
        },
        Command {
            path: "test interface link-state",
            usage: "<interface:interface> {up | down}",
            help: "Set the link of an interface up or down, as its device would",
            run: link_state,
        },
        Command {
            path: "test log",
            usage: "<level:emerg|alert|crit|err|error|warn|notice|info|debug> <class> <subclass> <message:rest>",
            help: "Write a line to the log",
            run: log_line,
        },
        Command {
            path: "test counter",
            usage: "{simple | combined} expand",
            help: "Count while a counter grows, and look whether a client sees it all",
            run: selftest::counter,
        },
        Command {
            path: "test time",
            usage: "[monotonicity | discontinuity | barrier | all]",
            help: "Look on every thread whether the clock goes back; with `discontinuity' it is moved on by a millisecond",
            run: selftest::time,
        },
        Command {
            path: "test api internal",
            usage: "",
            help: "Connect to the binary API from inside, and ask something",
            run: selftest::api,
        },
        Command {
            path: "test stats ring-buffer-gen",
            usage: "<name> <count:u32> <interval:u32> [<size:1-65536>]",
            help: "Write entries (a number and the time) to a ring of the stats segment, one every interval of microseconds",
            run: stats::ring,
        },
        Command {
            path: "test stats ring-buffer-show-schema",
            usage: "<name>",
            help: "Describe the entries of a ring of the stats segment",
            run: stats::show_schema,
        },
        Command {
            path: "test stats ring-buffer-test-schema",
            usage: "<name>",
            help: "Read what a ring of the stats segment says of its entries, as a client does",
            run: stats::test_schema,
        },
        Command {
            path: "test stats histogram-gen",
            usage: "<name> <count:u32> <interval:u32> [<lowest:0-63> [<bins:1-64>]]",
            help: "Count values in a histogram of the stats segment, one every interval of microseconds",
            run: stats::histogram,
        },
        Command {
            path: "test stats histogram-clear",
            usage: "<name>",
            help: "Take a histogram out of the stats segment",
            run: stats::clear_histogram,
        },
    ],
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
    let sw_if = interfaces.find(m.str("interface")).map_err(|e| e.at(m.span("interface")))?;
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
