// SPDX-License-Identifier: Apache-2.0
//! The saved line of the export of events, which all kinds share. Several plugins have a command
//! for it, and any of them may be disabled: the line is of the first command that is there, and the
//! plugin of that command writes it.

use crate::log::{DOMAIN, Log, SOURCE_PORT};
use graph::{Phase, RunningConfig, World};
use std::fmt::Write;

/// The command of NAT44-ED.
pub const ED: &str = "nat ipfix logging";
/// The command of NAT44-EI.
pub const EI: &str = "nat44 ei ipfix logging";

/// The first of the commands that the instance has.
fn first_command(world: &World) -> Option<&'static str> {
    let has = |path: &&str| {
        let mut all = world.plugins().iter().flat_map(|plugin| plugin.cli);
        all.any(|command| command.path == *path)
    };
    [ED, EI].into_iter().find(has)
}

/// Writes the line that exports events, if it is one of this command.
pub fn write_config(world: &World, config: &mut RunningConfig, command: &str) {
    let Some(stream) = world.get::<Log>().ipfix() else { return };
    if first_command(world) != Some(command) {
        return;
    }
    let mut line = format!("{command} enable");
    if stream.domain != DOMAIN {
        let _ = write!(line, " domain {}", stream.domain);
    }
    if stream.source_port != SOURCE_PORT {
        let _ = write!(line, " src-port {}", stream.source_port);
    }
    config.push(Phase::FEATURES, line, format!("{command} disable"));
}
