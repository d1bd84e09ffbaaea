// SPDX-License-Identifier: Apache-2.0
//! The saved configuration.

use crate::control::{Control, Prefix, StaticName, role};
use crate::key::protocol_name;
use crate::settings::{BIB_BUCKETS, ST_BUCKETS};
use cli::quote;
use graph::{Phase, RunningConfig, World};
use nat::ranges::ranges;
use nat::timeouts::Timeouts;
use net::Interfaces;
use std::fmt::Write;
use wire::IpProtocol;

/// The switch, which all other lines need.
pub const SWITCH: Phase =
    Phase { name: "nat64 switch", after: &["addresses"], before: &["nat64 pools"] };
/// Pools and prefixes, which bindings need.
pub const POOLS: Phase =
    Phase { name: "nat64 pools", after: &["nat64 switch"], before: &["routes"] };

/// Writes lines for all that was set.
pub fn write_config(world: &World, config: &mut RunningConfig) {
    let control = world.get::<Control>();
    let Some(enabled) = control.read(|state| state.enabled) else { return };
    let mut line = "nat64 plugin enable".to_string();
    for (word, given, usual) in [
        ("bib-buckets", enabled.bib_buckets, BIB_BUCKETS),
        ("st-buckets", enabled.st_buckets, ST_BUCKETS),
    ] {
        if given != usual {
            let _ = write!(line, " {word} {given}");
        }
    }
    config.push(SWITCH, line, "nat64 plugin disable");
    let timeouts = control.read(|state| state.timeouts);
    if timeouts != Timeouts::default() {
        let [udp, established, transitory, icmp] = timeouts.0;
        let line = format!(
            "set nat64 timeout udp {udp} tcp-established {established} tcp-transitory {transitory} icmp {icmp}"
        );
        config.push(POOLS, line, "set nat64 timeout reset");
    }
    let of_vrf =
        |word: &str, vrf: u32| if vrf == 0 { String::new() } else { format!(" {word} {vrf}") };
    for (vrf, Prefix { prefix, via }) in control.read(|state| state.prefixes.clone()) {
        let line = format!("nat64 add prefix {prefix}{}", of_vrf("tenant-vrf", vrf));
        let via = via.map(|via| quote(&world.get::<Interfaces>().name(via)));
        let by = via.map(|via| format!(" interface {via}")).unwrap_or_default();
        config.push(POOLS, format!("{line}{by}"), format!("{line} del"));
    }
    for sw_if in control.read(|state| state.followed.clone()) {
        let name = quote(&world.get::<Interfaces>().name(sw_if));
        let line = format!("nat64 add interface address {name}");
        config.push(POOLS, line.clone(), format!("{line} del"));
    }
    let pool = control.read(|state| state.pool.clone());
    let pool = pool.into_iter().filter(|address| address.of.is_none());
    for (range, vrf) in ranges(pool.map(|address| (address.addr, address.vrf))) {
        let vrf = vrf.map(|vrf| format!(" tenant-vrf {vrf}")).unwrap_or_default();
        let line = format!("nat64 add pool address {range}{vrf}");
        config.push(POOLS, line.clone(), format!("{line} del"));
    }
    let statics: Vec<_> = control.read(|state| state.statics.keys().copied().collect());
    config.list(Phase::FEATURES, statics, |world, name: StaticName, lines| {
        let bib = world.get::<Control>().read(|state| state.statics.get(&name).copied());
        let Some(bib) = bib else { return };
        let vrf = if name.vrf == 0 { String::new() } else { format!(" vrf {}", name.vrf) };
        let protocol = protocol_name(IpProtocol(name.protocol)).to_lowercase();
        let line = format!(
            "nat64 add static bib {} {} {} {} {protocol}{vrf}",
            name.addr, name.port, bib.end.addr, bib.end.port
        );
        lines.push(line.clone(), format!("{line} del"));
    });
    let roles: Vec<_> = control.read(|state| state.roles.clone()).into_iter().collect();
    config.list(Phase::FEATURES, roles, |world, (sw_if, bits): (_, u8), lines| {
        let name = quote(&world.get::<Interfaces>().name(sw_if));
        for (bit, word) in [(role::INSIDE, "in"), (role::OUTSIDE, "out")] {
            if bits & bit != 0 {
                let line = format!("set interface nat64 {word} {name}");
                lines.push(line.clone(), format!("{line} del"));
            }
        }
    });
}
