// SPDX-License-Identifier: Apache-2.0
//! The saved configuration.

use crate::control::{PUNTED, Rules};
use cli::quote;
use graph::{Phase, RunningConfig, Script, World};
use net::Interfaces;
use punt::Punt;

/// Commands that set what is kept here, for the tests that save and restore it.
pub const EXAMPLES: &[Script] = &[Script::here(
    "punted packets by address",
    "create loopback interface
     create packet-generator interface pg0
     stn rule address 192.0.2.1 interface loop0
     stn rule address 192.0.2.2 interface loop0
     stn rule address 192.0.2.2 interface pg0
     stn rule address 2001:db8::1 interface pg0
     stn rule address 192.0.2.3 interface pg0
     stn rule address 192.0.2.3 interface pg0 del
     set punt ipv4 tcp del all",
)];

/// Writes a line for each rule, and behind them lines for the punts that the first rule adds and an
/// operator has deleted again.
pub fn write_config(world: &World, config: &mut RunningConfig) {
    config.list(Phase::FEATURES, world.get::<Rules>().list(), |world, rule, lines| {
        let name = quote(&world.get::<Interfaces>().name(rule.sw_if));
        let line = format!("stn rule address {} interface {name}", rule.address);
        lines.push(line.clone(), line + " del");
    });
    if world.get::<Rules>().list().is_empty() {
        return;
    }
    let all = world.get::<Punt>().list();
    for key in PUNTED.into_iter().filter(|key| !all.iter().any(|(one, _)| one == key)) {
        let what = punt::describe(world, key);
        let kind = what.strip_suffix(" all").unwrap_or(&what);
        let line = format!("set punt {kind}");
        config.push(Phase::FEATURES, format!("{line} del all"), format!("{line} all"));
    }
}
