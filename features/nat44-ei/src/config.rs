// SPDX-License-Identifier: Apache-2.0
//! The saved configuration.

use crate::control::{Algorithm, Control, Enabled};
use crate::settings::{OUTPUT_INSIDE, SESSIONS, Timeouts, USERS, role};
use cli::quote;
use graph::{Phase, RunningConfig, World};
use nat::export;
use nat::ranges::ranges;
use nat::statics::write_mappings;
use net::Interfaces;
use std::fmt::Write;

/// The switch, which all other lines need.
pub const SWITCH: Phase =
    Phase { name: "nat44 ei switch", after: &["addresses"], before: &["nat44 ei pool"] };
/// The pool, which mappings need.
pub const POOL: Phase =
    Phase { name: "nat44 ei pool", after: &["nat44 ei switch"], before: &["routes"] };

fn switch(of: &Enabled) -> String {
    let mut line = "nat44 ei plugin enable".to_string();
    for (word, number, default) in [
        ("sessions", of.sessions, SESSIONS),
        ("users", of.users, USERS),
        ("inside-vrf", of.inside, 0),
        ("outside-vrf", of.outside, 0),
        ("user-sessions", of.user_sessions, of.sessions),
    ] {
        if number != default {
            let _ = write!(line, " {word} {number}");
        }
    }
    for (word, is_set) in [
        ("static-mapping-only", of.static_only),
        ("connection-tracking", of.tracking),
        ("out2in-dpo", of.dpo),
    ] {
        if is_set {
            let _ = write!(line, " {word}");
        }
    }
    line
}

/// Writes lines for all that was set.
pub fn write_config(world: &World, config: &mut RunningConfig) {
    export::write_config(world, config, export::EI);
    let control = world.get::<Control>();
    let Some(enabled) = control.read(|state| state.enabled) else { return };
    config.push(SWITCH, switch(&enabled), "nat44 ei plugin disable");
    settings(&control, config);
    pool(world, &control, config);
    let numbers = control.read(|state| state.statics.numbers_of_all());
    write_mappings(config, "nat44 ei", numbers, |world, number| {
        world.get::<Control>().read(|state| state.statics.get(number).cloned())
    });
    let roles: Vec<_> = control.read(|state| state.roles.clone()).into_iter().collect();
    config.list(Phase::FEATURES, roles, |world, (sw_if, bits), lines| {
        let name = quote(&world.get::<Interfaces>().name(sw_if));
        let side = if bits & OUTPUT_INSIDE != 0 { "in" } else { "out" };
        let words = [
            (role::INSIDE, format!("in {name}")),
            (role::OUTSIDE, format!("out {name}")),
            (role::OUTPUT, format!("{side} {name} output-feature")),
        ];
        for (_, words) in words.iter().filter(|(bit, _)| bits & bit != 0) {
            let line = format!("set interface nat44 ei {words}");
            lines.push(line.clone(), format!("{line} del"));
        }
    });
}

fn settings(control: &Control, config: &mut RunningConfig) {
    if control.read(|state| state.forwarding) {
        config.push(POOL, "nat44 ei forwarding enable", "nat44 ei forwarding disable");
    }
    if let Some(mss) = control.read(|state| state.mss) {
        config.push(POOL, format!("nat44 ei mss-clamping {mss}"), "nat44 ei mss-clamping disable");
    }
    let timeouts = control.read(|state| state.timeouts);
    if timeouts != Timeouts::default() {
        let [udp, established, transitory, icmp] = timeouts.0;
        let line = format!(
            "set nat44 ei timeout udp {udp} tcp-established {established} tcp-transitory {transitory} icmp {icmp}"
        );
        config.push(POOL, line, "set nat44 ei timeout reset");
    }
    if let Some(mask) = control.read(|state| state.workers) {
        let line = format!("set nat44 ei workers {}", nat::workers::words(mask));
        config.push(POOL, line, "set nat44 ei workers all");
    }
    let words = match control.read(|state| state.algorithm) {
        Algorithm::Default => None,
        Algorithm::MapE { offset, length, psid } => {
            Some(format!("map-e psid {psid} psid-offset {offset} psid-len {length}"))
        }
        Algorithm::Range { first, last } => Some(format!("port-range {first} - {last}")),
    };
    if let Some(words) = words {
        let line = |words: &str| format!("nat44 ei addr-port-assignment-alg {words}");
        config.push(POOL, line(&words), line("default"));
    }
    let ha = control.read(|state| state.ha);
    if let Some(of) = ha.listener {
        let line = format!("nat44 ei ha listener {} path-mtu {}", of.end, of.path_mtu);
        config.push(POOL, line, "nat44 ei ha listener off");
    }
    if let Some(of) = ha.failover {
        let refresh = match of.refresh {
            0 => String::new(),
            seconds => format!(" refresh-interval {seconds}"),
        };
        let line = format!("nat44 ei ha failover {}{refresh}", of.end);
        config.push(POOL, line, "nat44 ei ha failover off");
    }
}

fn pool(world: &World, control: &Control, config: &mut RunningConfig) {
    let own = control.read(|state| state.pool.clone());
    let own = own.into_iter().filter(|address| address.of.is_none());
    for (range, vrf) in ranges(own.map(|address| (address.addr, address.vrf))) {
        let vrf = vrf.map_or_else(String::new, |vrf| format!(" tenant-vrf {vrf}"));
        let line = format!("nat44 ei add address {range}{vrf}");
        config.push(POOL, line.clone(), format!("{line} del"));
    }
    for sw_if in control.read(|state| state.followed.clone()) {
        let name = quote(&world.get::<Interfaces>().name(sw_if));
        let line = format!("nat44 ei add interface address {name}");
        config.push(POOL, line.clone(), format!("{line} del"));
    }
}
