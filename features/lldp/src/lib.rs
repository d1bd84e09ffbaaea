// SPDX-License-Identifier: Apache-2.0
#![forbid(unsafe_code)]
//! LLDP: sends this system's data to the other end of a link, and notes the neighbour's (IEEE
//! 802.1AB).
//!
//! `lldp-input` reads data units that neighbours send and passes them to control. `lldp-process`
//! sends ours, at once when a link comes up and then each interval, and forgets neighbours whose
//! TTL has expired.
//!
//! Limits: one neighbour on a port, the last one received; not on sub-interfaces; nothing is
//! received on ports of bridge domains.
//!
//! Tests: lldpd at the other end; bytes of every element; truncated and mutated data units.

mod api;
mod cli;
mod input;
mod port;
#[cfg(feature = "tests")]
mod tests;
mod tlv;

use ::cli::quote;
use graph::{NodeDef, Phase, Plugin, RunningConfig, Script, StateDef, World};
use net::Interfaces;
use port::{Lldp, Settings};
use stats::Space;
use wire::EtherType;

/// LLDP.
pub static PLUGIN: Plugin = Plugin {
    name: "lldp",
    about: "LLDP: who is at the other end of a link",
    area: "link-protocols",
    does: &[
        "Sends this system's data to the other ends of links, and lists LLDP neighbours (`set \
         interface lldp`, `show lldp`)",
    ],
    spec: &["IEEE 802.1AB"],
    limits: &[
        "One neighbour per port",
        "Not on sub-interfaces",
        "Ports of bridge domains send but don't receive",
    ],
    state: &[StateDef::of::<Lldp>()],
    counters: &[("/net/lldp", Space::Interface)],
    nodes: &[NodeDef::of::<input::LldpInput>()],
    cli: self::cli::COMMANDS,
    config: write_config,
    examples: EXAMPLES,
    api: &[api::API],
    start: |world| {
        ethernet::register_ethertype(world, EtherType::LLDP, "lldp-input")?;
        Lldp::start(world);
        Ok(())
    },
    ..Plugin::EMPTY
};

const EXAMPLES: &[Script] = &[Script::here(
    "neighbours of links",
    "create loopback interface
     create loopback interface
     create loopback interface
     set lldp system-name 'our \"router\"' tx-hold 3 tx-interval 20
     set interface lldp loop0
     set interface lldp loop1 port-desc 'to the \"west\"' mgmt-ip4 10.0.0.1 mgmt-ip6 2001:db8::1 mgmt-oid abc
     set interface lldp loop2
     set interface lldp loop2 disable
     set interface state loop0 up",
)];

/// Says what was set.
fn write_config(world: &World, config: &mut RunningConfig) {
    let lldp = world.get::<Lldp>();
    let (set, usual) = (lldp.settings(), Settings::default());
    let mut push = |words: String, undo: String| {
        config.push(Phase::SETTINGS, format!("set lldp {words}"), format!("set lldp {undo}"));
    };
    if set.system_name != usual.system_name {
        push(format!("system-name {}", quote(&set.system_name)), "system-name ''".into());
    }
    if set.hold != usual.hold {
        push(format!("tx-hold {}", set.hold), format!("tx-hold {}", usual.hold));
    }
    if set.interval != usual.interval {
        push(format!("tx-interval {}", set.interval), format!("tx-interval {}", usual.interval));
    }
    config.list(Phase::FEATURES, lldp.ports(), |world, (sw_if, port), lines| {
        let line = format!("set interface lldp {}", quote(&world.get::<Interfaces>().name(sw_if)));
        let mut words = String::new();
        if !port.description.is_empty() {
            words += &format!(" port-desc {}", quote(&port.description));
        }
        words += &port.management.0.map(|ip| format!(" mgmt-ip4 {ip}")).unwrap_or_default();
        words += &port.management.1.map(|ip| format!(" mgmt-ip6 {ip}")).unwrap_or_default();
        if !port.object.is_empty() {
            words += &format!(" mgmt-oid {}", quote(&port.object));
        }
        lines.push(format!("{line}{words}"), format!("{line} disable"));
    });
}
