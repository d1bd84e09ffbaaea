// SPDX-License-Identifier: Apache-2.0
//! The saved configuration.

use crate::control::{self, Setting};
use cli::quote;
use graph::{Phase, RunningConfig, Script, World};
use net::Interfaces;

/// Commands that set what is kept here, for the tests that save and restore it.
pub const EXAMPLES: &[Script] = &[Script::here(
    "maximum segment sizes",
    "create loopback interface
     create loopback interface
     create loopback interface
     set interface tcp-mss-clamp loop0 ip4 enable ip4-mss 1424 ip6 rx ip6-mss 1404
     set interface tcp-mss-clamp loop1 ip4 tx ip4-mss 1000
     set interface tcp-mss-clamp loop1 ip4-mss 536
     set interface tcp-mss-clamp loop2 ip6 enable ip6-mss 1220
     set interface tcp-mss-clamp loop2 ip6 disable",
)];

/// The words of a protocol's setting; none if segments aren't clamped.
fn words(name: &str, setting: Setting) -> String {
    let direction = match (setting.rx, setting.tx) {
        (true, true) => "enable",
        (true, false) => "rx",
        (false, true) => "tx",
        (false, false) => return String::new(),
    };
    format!(" {name} {direction} {name}-mss {}", setting.mss)
}

/// Writes a line for each interface that clamps.
pub fn write_config(world: &World, config: &mut RunningConfig) {
    config.list(Phase::FEATURES, world.get::<Interfaces>().indices(), |world, sw_if, lines| {
        let settings = control::get(world, sw_if);
        if settings.is_on() {
            let name = quote(&world.get::<Interfaces>().name(sw_if));
            let line = format!("set interface tcp-mss-clamp {name}");
            let (ip4, ip6) = (words("ip4", settings.ip4), words("ip6", settings.ip6));
            lines.push(format!("{line}{ip4}{ip6}"), format!("{line} ip4 disable ip6 disable"));
        }
    });
}
