// SPDX-License-Identifier: Apache-2.0
//! What was set for ICMP, as commands.

use crate::state::{Icmp, Settings};
use cli::quote;
use graph::{Phase, RunningConfig, World};
use net::Interfaces;

/// Says what was set.
pub fn say(world: &World, config: &mut RunningConfig) {
    let (now, usual) = (world.get::<Icmp>().settings(), Settings::default());
    if (now.rate, now.burst) != (usual.rate, usual.burst) {
        let line = |s: &Settings| format!("set ip icmp error-rate {} burst {}", s.rate, s.burst);
        config.push(Phase::Settings, line(&now), line(&usual));
    }
    let word = |on| if on { "enable" } else { "disable" };
    let switches =
        [("echo", now.echo, usual.echo), ("echo-broadcast", now.echo_broadcast, usual.echo_broadcast)];
    for (what, now, usual) in switches.into_iter().filter(|(_, now, usual)| now != usual) {
        let line = format!("set ip icmp {what}");
        config.push(Phase::Settings, format!("{line} {}", word(now)), format!("{line} {}", word(usual)));
    }
    for sw_if in &now.no_redirects {
        let line = format!("set ip icmp redirect {}", quote(&world.get::<Interfaces>().name(*sw_if)));
        config.push(Phase::Features, format!("{line} disable"), format!("{line} enable"));
    }
}
