// SPDX-License-Identifier: Apache-2.0
#![forbid(unsafe_code)]
//! Commands by which clients' tests drive a feature from outside, as VPP's plugin `unittest` has them: a link that goes down, a
//! line in the log. They are no use to an operator, so the feature is off unless startup.conf enables it:
//! `plugins { plugin unittest_plugin.so { enable } }`.
//!
//! VPP's commands that run C code of its own (`test bihash`, `test heap-validate`, …) are not here: there is nothing that they
//! could test.

#[cfg(test)]
mod tests;

use cli::{Command, Error, Matches, Output};
use graph::{Plugin, World};
use net::Interfaces;

/// Commands for clients' tests.
pub static PLUGIN: Plugin = Plugin {
    name: "unittest",
    about: "Commands by which clients' tests drive features from outside",
    cli: &[
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
    ],
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
