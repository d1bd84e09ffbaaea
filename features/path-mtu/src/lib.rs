// SPDX-License-Identifier: Apache-2.0
#![forbid(unsafe_code)]
//! Path MTUs (RFC 1191, RFC 8201) for operators and clients, and those that routers report. The
//! table is [`net::PathMtus`]; the nodes that rewrite packets read it.

pub mod api;
mod cli;
mod learner;

pub use learner::Learner;

use graph::{Phase, Plugin, RunningConfig, Script, StateDef, World};
use msg::Module;
use net::{Net, PathMtus};
use std::sync::Arc;
use wire::{Ip4, Ip6};

/// Path MTUs.
pub static PLUGIN: Plugin = Plugin {
    name: "path-mtu",
    about: "Path MTUs: set, or learned from routers",
    area: "ip",
    does: &["Path MTUs that are set, or learned from routers (`ip path-mtu`, `show ip pmtu`)"],
    spec: &["RFC 1191", "RFC 8201"],
    state: &[StateDef::of::<Learner<Ip4>>(), StateDef::of::<Learner<Ip6>>()],
    cli: cli::COMMANDS,
    config: |world, config| {
        write_config::<Ip4>(world, config);
        write_config::<Ip6>(world, config);
    },
    examples: &[Script::here(
        "path MTUs",
        "ip table add 7
         ip6 table add 7
         ip path-mtu 10.0.0.7 1400
         ip path-mtu 10.0.0.8 1400 table 7
         ip path-mtu 10.0.0.9 1400
         ip path-mtu 10.0.0.9 del
         ip path-mtu 2001:db8::7 1280
         ip path-mtu 2001:db8::8 1300 table 7",
    )],
    api: &[Module::core("ip", api::messages)],
    start: |world: &Arc<World>| {
        Learner::<Ip4>::start(world);
        Learner::<Ip6>::start(world);
        Ok(())
    },
    ..Plugin::EMPTY
};

fn write_config<F: Net>(world: &World, config: &mut RunningConfig) {
    config.list(
        Phase::ROUTES,
        world.get::<PathMtus<F>>().list(world),
        |_, (id, to, mtu), lines| {
            let of = if id == 0 { String::new() } else { format!(" table {id}") };
            let line = format!("ip path-mtu {to}");
            lines.push(format!("{line} {mtu}{of}"), format!("{line} del{of}"));
        },
    );
}
