// SPDX-License-Identifier: Apache-2.0
//! The settings of reassembly, as commands.

use crate::control;
use crate::state::{Kind, Settings};
use cli::quote;
use graph::{Phase, RunningConfig, World};
use net::Interfaces;

/// Writes the settings that differ from the defaults, and the interfaces with reassembly.
pub fn write_config(world: &World, config: &mut RunningConfig) {
    for (ip, v6) in [("ip4", false), ("ip6", true)] {
        if !control::is_local(world, v6) {
            let line = format!("set ip local-reassembly {ip}");
            config.push(Phase::SETTINGS, format!("{line} disable"), format!("{line} enable"));
        }
        if control::is_extended(world, v6) {
            let line = format!("set ip reassembly extended {ip}");
            config.push(Phase::SETTINGS, format!("{line} on"), format!("{line} off"));
        }
    }
    for kind in Kind::ALL {
        limits(world, kind, false, config);
        limits(world, kind, true, config);
        let word = match kind {
            Kind::Full => "reassembly",
            Kind::Shallow => "virtual-reassembly",
        };
        config.list(
            Phase::FEATURES,
            world.get::<Interfaces>().indices(),
            move |world, sw_if, lines| {
                let on = |v6| control::is_enabled(world, sw_if, kind, v6);
                let what = match (on(false), on(true)) {
                    (false, false) => return,
                    (true, false) => "ip4",
                    (false, true) => "ip6",
                    (true, true) => "on",
                };
                let line = format!(
                    "set interface {word} {}",
                    quote(&world.get::<Interfaces>().name(sw_if))
                );
                lines.push(format!("{line} {what}"), format!("{line} off"));
            },
        );
    }
}

fn limits(world: &World, kind: Kind, v6: bool, config: &mut RunningConfig) {
    let (now, usual) = (control::settings(world, kind, v6), kind.usual());
    let values = |s: Settings| {
        [
            ("timeout", s.timeout_ms),
            ("max-reassemblies", s.max_reassemblies),
            ("max-reassembly-length", s.max_reassembly_length),
            ("expire-walk-interval", s.expire_walk_interval_ms),
        ]
    };
    let ip = if v6 { "ip6" } else { "ip4" };
    for ((word, now), (_, usual)) in
        values(now).into_iter().zip(values(usual)).filter(|(a, b)| a != b)
    {
        let line = format!("set {ip}-{}-reassembly {word}", kind.name());
        config.push(Phase::SETTINGS, format!("{line} {now}"), format!("{line} {usual}"));
    }
}
