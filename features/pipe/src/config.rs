// SPDX-License-Identifier: Apache-2.0
//! The saved configuration.

use crate::control::Pipes;
use cli::quote;
use graph::{Phase, RunningConfig, Script, World};
use net::Interfaces;

/// Ends that are down although their pipe is up: the pipe's line sets both.
pub const ENDS: Phase = Phase { name: "ends of pipes", after: &["up"], before: &[] };

/// Commands that set what is kept here, for the tests that save and restore it.
pub const EXAMPLES: &[Script] = &[Script::here(
    "pipes",
    "pipe create
     pipe create instance 7
     pipe create instance 3
     pipe delete pipe3
     set interface state pipe0 up
     set interface state pipe0.1 down
     set interface state pipe7.0 up
     create sub-interfaces pipe7.1 100
     set interface ip address pipe0.0 10.0.9.1/24
     create bridge-domain 9
     set interface l2 bridge pipe7.0 9",
)];

/// Writes a line for each pipe.
pub fn write_config(world: &World, config: &mut RunningConfig) {
    let interfaces = world.get::<Interfaces>();
    config.interfaces(interfaces.indices(), |world, sw_if, lines| {
        let pipes = world.get::<Pipes>().list();
        let Some(pipe) = pipes.into_iter().find(|pipe| pipe.parent == sw_if) else { return };
        let Ok(interface) = world.get::<Interfaces>().get(sw_if) else { return };
        let create = format!("pipe create instance {}", pipe.instance);
        lines.push(create, format!("pipe delete {}", quote(&interface.original.name)));
    });
    config.list(ENDS, world.get::<Pipes>().list(), |world, pipe, lines| {
        let interfaces = world.get::<Interfaces>();
        let is_up = |sw_if| interfaces.get(sw_if).is_ok_and(|interface| interface.admin_up);
        for end in pipe.ends.into_iter().filter(|end| is_up(pipe.parent) && !is_up(*end)) {
            let line = format!("set interface state {}", quote(&interfaces.name(end)));
            lines.push(format!("{line} down"), format!("{line} up"));
        }
    });
}
