// SPDX-License-Identifier: Apache-2.0
//! The saved configuration.

use crate::control::{Control, Enabled};
use crate::map::Map;
use crate::settings::role;
use cli::quote;
use graph::{Phase, RunningConfig, Script, World};
use nat::timeouts::Timeouts;
use net::Interfaces;
use std::fmt::Write;

/// The switch, which all other lines need.
pub const SWITCH: Phase =
    Phase { name: "det44 switch", after: &["addresses"], before: &["routes"] };

/// Commands that set what is kept here, for the tests that save and restore it.
pub const EXAMPLES: &[Script] = &[Script::here(
    "deterministic NAT",
    "create loopback interface
     create loopback interface
     ip table add 10
     set interface ip table loop1 10
     set interface ip address loop1 192.0.2.1/24
     det44 plugin enable inside vrf 10 outside vrf 20
     det44 add in 10.1.0.0/16 out 198.51.100.0/24
     det44 add in 10.2.7.0/24 out 192.0.2.77/32
     det44 add in 10.3.0.0/24 out 203.0.113.0/30
     det44 add in 10.3.0.0/24 out 203.0.113.0/30 del
     set interface det44 inside loop0 outside loop1
     set interface det44 outside loop0
     set interface det44 outside loop0 del
     set det44 timeouts udp 100 tcp established 1000 tcp transitory 50 icmp 5",
)];

/// Writes lines for all that was set.
pub fn write_config(world: &World, config: &mut RunningConfig) {
    let control = world.get::<Control>();
    let Some(Enabled { inside, outside }) = control.read(|state| state.enabled) else { return };
    let mut line = "det44 plugin enable".to_string();
    for (word, vrf) in [("inside", inside), ("outside", outside)] {
        if vrf != 0 {
            let _ = write!(line, " {word} vrf {vrf}");
        }
    }
    config.push(SWITCH, line, "det44 plugin disable");
    let timeouts = control.read(|state| state.timeouts);
    if timeouts != Timeouts::default() {
        let [udp, established, transitory, icmp] = timeouts.0;
        let line = format!(
            "set det44 timeouts udp {udp} tcp established {established} tcp transitory {transitory} icmp {icmp}"
        );
        config.push(Phase::FEATURES, line, "set det44 timeouts reset");
    }
    let maps = control.read(|state| state.maps.clone());
    config.list(Phase::FEATURES, maps, |_, Map { inside, outside, .. }, lines| {
        let line = format!("det44 add in {inside} out {outside}");
        lines.push(line.clone(), format!("{line} del"));
    });
    let roles: Vec<_> = control.read(|state| state.roles.clone()).into_iter().collect();
    config.list(Phase::FEATURES, roles, |world, (sw_if, bits), lines| {
        let name = quote(&world.get::<Interfaces>().name(sw_if));
        for (bit, word) in [(role::INSIDE, "inside"), (role::OUTSIDE, "outside")] {
            if bits & bit != 0 {
                let line = format!("set interface det44 {word} {name}");
                lines.push(line.clone(), format!("{line} del"));
            }
        }
    });
}
