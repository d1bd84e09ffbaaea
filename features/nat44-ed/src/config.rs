// SPDX-License-Identifier: Apache-2.0
//! The saved configuration.

use crate::control::Control;
use crate::settings::{SESSIONS, Timeouts, role};
use ::nat::export;
use cli::quote;
use graph::{Phase, RunningConfig, World};
use nat::ranges::ranges;
use nat::statics::write_mappings;
use net::Interfaces;
use std::fmt::Write;

/// The switch, which all other lines need.
pub const SWITCH: Phase =
    Phase { name: "nat switch", after: &["addresses"], before: &["nat pools"] };
/// Pools, which mappings need.
pub const POOLS: Phase = Phase { name: "nat pools", after: &["nat switch"], before: &["routes"] };

/// Writes lines for all that was set.
pub fn write_config(world: &World, config: &mut RunningConfig) {
    export::write_config(world, config, export::ED);
    let control = world.get::<Control>();
    let Some(enabled) = control.read(|state| state.enabled) else { return };
    let mut line = "nat44 plugin enable".to_string();
    if enabled.sessions != SESSIONS {
        let _ = write!(line, " sessions {}", enabled.sessions);
    }
    for (word, vrf) in [("inside-vrf", enabled.inside), ("outside-vrf", enabled.outside)] {
        if vrf != 0 {
            let _ = write!(line, " {word} {vrf}");
        }
    }
    config.push(SWITCH, line, "nat44 plugin disable");
    settings(&control, config);
    pools(world, &control, config);
    let numbers = control.read(|state| state.statics.numbers_of_all());
    write_mappings(config, "nat44", numbers, |world, number| {
        world.get::<Control>().read(|state| state.statics.get(number).cloned())
    });
    let roles: Vec<_> = control.read(|state| state.roles.clone()).into_iter().collect();
    config.list(Phase::FEATURES, roles, |world, (sw_if, bits), lines| {
        let name = quote(&world.get::<Interfaces>().name(sw_if));
        let words = [
            (role::INSIDE, format!("in {name}")),
            (role::OUTSIDE, format!("out {name}")),
            (role::OUTPUT, format!("out {name} output-feature")),
        ];
        for (_, words) in words.iter().filter(|(bit, _)| bits & bit != 0) {
            let line = format!("set interface nat44 {words}");
            lines.push(line.clone(), format!("{line} del"));
        }
    });
}

fn settings(control: &Control, config: &mut RunningConfig) {
    let (forwarding, mss) = control.read(|state| (state.forwarding, state.mss));
    if forwarding {
        config.push(POOLS, "nat44 forwarding enable", "nat44 forwarding disable");
    }
    if let Some(mss) = mss {
        config.push(POOLS, format!("nat mss-clamping {mss}"), "nat mss-clamping disable");
    }
    let timeouts = control.read(|state| state.timeouts);
    if timeouts != Timeouts::default() {
        let [udp, established, transitory, icmp] = timeouts.0;
        let line = format!(
            "set nat timeout udp {udp} tcp-established {established} tcp-transitory {transitory} icmp {icmp}"
        );
        config.push(POOLS, line, "set nat timeout reset");
    }
    if let Some(mask) = control.read(|state| state.workers) {
        let line = format!("set nat workers {}", nat::workers::words(mask));
        config.push(POOLS, line, "set nat workers all");
    }
    for (vrf, limit) in control.read(|state| state.limits.clone()) {
        let line = format!("set nat44 session limit {limit} vrf {vrf}");
        config.push(POOLS, line, format!("set nat44 session limit off vrf {vrf}"));
    }
    for (table, to) in control.read(|state| state.tables.clone()) {
        config.push(
            POOLS,
            format!("nat44 vrf table add {table}"),
            format!("nat44 vrf table del {table}"),
        );
        for vrf in to {
            let line = |word| format!("nat44 vrf route {word} table {table} {vrf}");
            config.push(POOLS, line("add"), line("del"));
        }
    }
}

fn pools(world: &World, control: &Control, config: &mut RunningConfig) {
    for (which, pool) in control.read(|state| state.pools.clone()).into_iter().enumerate() {
        let words = if which == 1 { " twice-nat" } else { "" };
        let own = pool.into_iter().filter(|address| address.of.is_none());
        for (range, vrf) in ranges(own.map(|address| (address.addr, address.vrf))) {
            let vrf = vrf.map_or_else(String::new, |vrf| format!(" tenant-vrf {vrf}"));
            let line = format!("nat44 add address {range}{vrf}{words}");
            config.push(POOLS, line.clone(), format!("{line} del"));
        }
    }
    for (sw_if, twice) in control.read(|state| state.followed.clone()) {
        let name = quote(&world.get::<Interfaces>().name(sw_if));
        let words = if twice { " twice-nat" } else { "" };
        let line = format!("nat44 add interface address {name}{words}");
        config.push(POOLS, line.clone(), format!("{line} del"));
    }
}
