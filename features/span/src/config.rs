// SPDX-License-Identifier: Apache-2.0
//! The saved configuration.

use crate::control::{Directions, Span};
use crate::mirror::Level;
use cli::quote;
use graph::{Phase, RunningConfig, Script, World};
use net::Interfaces;

/// Commands that set what is kept here, for the tests that save and restore it.
pub const EXAMPLES: &[Script] = &[Script::here(
    "mirrored ports",
    "create loopback interface
     create loopback interface
     create loopback interface
     create loopback interface
     create sub-interfaces loop0 7
     set interface span loop0 destination loop1
     set interface span loop0 destination loop2 rx
     set interface span loop0 destination loop2 l2 tx
     set interface span loop1 destination loop3 tx
     set interface span loop0.7 l2 destination loop3 both
     set interface span loop0.7 l2 destination loop2 both
     set interface span loop0.7 l2 destination loop2 disable
     set interface span loop2 destination loop3
     set interface span loop2 disable
     set interface span loop2 l2 destination loop0.7 rx
     set interface span loop2 l2 destination loop0.7 both",
)];

/// Writes a line for each pair of interfaces and each level.
pub fn write_config(world: &World, config: &mut RunningConfig) {
    config.list(
        Phase::FEATURES,
        world.get::<Span>().list(),
        |world, ((from, to), mirror), lines| {
            let name = |sw_if| quote(&world.get::<Interfaces>().name(sw_if));
            for level in Level::ALL {
                let directions = mirror[level as usize];
                if directions != Directions::NONE {
                    let l2 = if level == Level::L2 { " l2" } else { "" };
                    let line =
                        format!("set interface span {}{l2} destination {}", name(from), name(to));
                    lines.push(format!("{line} {}", directions.word()), format!("{line} disable"));
                }
            }
        },
    );
}
