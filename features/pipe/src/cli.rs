// SPDX-License-Identifier: Apache-2.0
//! The commands, and the lines that save what they set.

use crate::control::{Pipe, Pipes};
use cli::{Command, Matches, Output, Result, quote};
use graph::{Phase, RunningConfig, Script, World};
use net::Interfaces;
use net::args::{interface, made};

pub const COMMANDS: &[Command<World>] = cli::commands! {
    /// Create two Ethernet interfaces that are connected with each other
    "pipe create", "[instance <instance:u32>]" => create;
    /// Delete a pipe and its ends
    "pipe delete", "<interface:interface>" => delete;
    /// Pipes and the states of their ends
    "show pipe" => show;
};

fn create(w: &World, m: &Matches) -> Result<Output> {
    let pipe = w.get::<Pipes>().create(w, m.opt("instance")?);
    let pipe = pipe.map_err(|e| if m.has("instance") { e.at(m.span("instance")) } else { e })?;
    Ok(made(w, pipe.parent))
}

fn delete(w: &World, m: &Matches) -> Result<()> {
    w.get::<Pipes>().delete(w, interface(w, m, "interface")?).map_err(m.at("interface"))
}

fn show(w: &World, _: &Matches) -> Result<Output> {
    Ok(cli::columns!(w.get::<Pipes>().list(), |w: &World, Pipe { parent, ends, .. }| {
        let state = |sw_if| {
            let interface = w.get::<Interfaces>().get(sw_if).ok()?;
            Some((interface.name, if interface.admin_up { "up" } else { "down" }))
        };
        // Deleted since the list was made.
        let [pipe, end0, end1] = [state(parent)?, state(ends[0])?, state(ends[1])?];
        "Name" => pipe.0,
        "State" => pipe.1,
        "End 0" => end0.0,
        "State 0" => end0.1,
        "End 1" => end1.0,
        "State 1" => end1.1,
    }))
}

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
            lines.value(&format!("set interface state {}", interfaces.word(end)), "down", "up");
        }
    });
}
