// SPDX-License-Identifier: Apache-2.0
//! The commands, and the lines that save what they set.

use crate::control::{Directions, Span};
use crate::mirror::Level;
use cli::{Command, Matches, Output, Result};
use graph::{Phase, RunningConfig, Script, World};
use net::Interfaces;
use net::args::interface;

pub const COMMANDS: &[Command<World>] = cli::commands! {
    /// Copy frames of an interface to another one (port mirroring), at the device or while they are
    /// switched (l2)
    "set interface span",
    "<source:interface> {({destination <destination:interface>} [{both | rx | tx | disable}] [l2]) | (disable [l2])}"
        => set;
    /// Interfaces of which frames are copied, and to which ones
    "show interface span" => show;
};

fn set(w: &World, m: &Matches) -> Result<()> {
    let span = w.get::<Span>();
    let level = Level::of(m.flag("l2"));
    let from = interface(w, m, "source")?;
    if !m.has("destination") {
        return span.clear(w, level, from);
    }
    let to = interface(w, m, "destination")?;
    let (rx, tx, off) = (m.flag("rx"), m.flag("tx"), m.flag("disable"));
    let directions = Directions { rx: !tx && !off, tx: !rx && !off };
    span.set(w, level, (from, to), directions).map_err(m.at("destination"))
}

fn show(w: &World, _: &Matches) -> Result<Output> {
    Ok(cli::columns!(w.get::<Span>().list(), |w: &World, ((from, to), mirror)| {
        let name = |sw_if| w.get::<Interfaces>().name(sw_if);
        let [device, l2] = mirror.map(Directions::word);
        "Source" => name(from),
        "Destination" => name(to),
        "Device" => device,
        "L2" => l2,
    }))
}

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
    let all = world.get::<Span>().list();
    config.list(Phase::FEATURES, all, |world, ((from, to), mirror), lines| {
        let [from, to] = [from, to].map(|sw_if| world.get::<Interfaces>().word(sw_if));
        for level in Level::ALL {
            let directions = mirror[level as usize];
            if directions != Directions::NONE {
                let l2 = if level == Level::L2 { " l2" } else { "" };
                let line = format!("set interface span {from}{l2} destination {to}");
                lines.value(&line, directions.word(), "disable");
            }
        }
    });
}
