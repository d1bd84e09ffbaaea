// SPDX-License-Identifier: Apache-2.0
//! The ICMP settings, as commands.

use crate::state::{Settings, State};
use crate::version::Icmp;
use cli::quote;
use graph::{Phase, RunningConfig, World};
use ip::Redirects;
use net::{Column, Interfaces};
use wire::{Ip4, Ip6};

/// Writes the commands of the ICMP settings that differ from the defaults.
pub fn write_config(world: &World, config: &mut RunningConfig) {
    of::<Ip4>(world, config);
    of::<Ip6>(world, config);
}

fn of<F: Icmp>(world: &World, config: &mut RunningConfig) {
    let (now, usual) = (world.get::<State<F>>().settings(), Settings::usual::<F>());
    let set = if F::IS_V6 { "set ip6 icmp" } else { "set ip icmp" };
    if (now.rate, now.burst) != (usual.rate, usual.burst) {
        let line = |s: &Settings| format!("{set} error-rate {} burst {}", s.rate, s.burst);
        config.push(Phase::SETTINGS, line(&now), line(&usual));
    }
    let word = |on| if on { "enable" } else { "disable" };
    let groups = if F::IS_V6 { "echo-multicast" } else { "echo-broadcast" };
    let switches =
        [("echo", now.echo, usual.echo), (groups, now.echo_broadcast, usual.echo_broadcast)];
    for (what, now, usual) in switches.into_iter().filter(|(_, now, usual)| now != usual) {
        let line = format!("{set} {what}");
        config.push(
            Phase::SETTINGS,
            format!("{line} {}", word(now)),
            format!("{line} {}", word(usual)),
        );
    }
    config.list(
        Phase::FEATURES,
        world.get::<Interfaces>().indices(),
        move |world, sw_if, lines| {
            if world.get::<Column<Redirects<F>>>().get(sw_if).on {
                let name = world.get::<Interfaces>().name(sw_if);
                let line = format!("{set} redirect {}", quote(&name));
                lines.push(format!("{line} enable"), format!("{line} disable"));
            }
        },
    );
}
