// SPDX-License-Identifier: Apache-2.0
//! The commands: parse, call, print.

use crate::control::{Pipe, Pipes};
use cli::{Command, Matches, Output, Result, Table, Writer};
use graph::World;
use net::Interfaces;

pub const COMMANDS: &[Command<World>] = cli::commands! {
    /// Create two Ethernet interfaces that are connected with each other
    "pipe create", "[instance <instance:u32>]" => create;
    /// Delete a pipe and its ends
    "pipe delete", "<interface:interface>" => delete;
    /// Pipes and the states of their ends
    "show pipe" => show;
};

fn create(w: &World, m: &Matches) -> Result<Output> {
    let made = w.get::<Pipes>().create(w, m.opt("instance")?);
    let pipe = made.map_err(|e| if m.has("instance") { e.at(m.span("instance")) } else { e })?;
    Ok(Output::text(format!("{}\n", w.get::<Interfaces>().name(pipe.parent))))
}

fn delete(w: &World, m: &Matches) -> Result<()> {
    let at = m.span("interface");
    let sw_if = w.get::<Interfaces>().find(m.str("interface")).map_err(|e| e.at(at.clone()))?;
    w.get::<Pipes>().delete(w, sw_if).map_err(|e| e.at(at))
}

fn show(w: &World, _: &Matches) -> Result<Output> {
    let table = Table::new()
        .left("Name")
        .left("State")
        .left("End 0")
        .left("State 0")
        .left("End 1")
        .left("State 1");
    Ok(table.list(w.get::<Pipes>().list(), |w: &World, pipe: Pipe, out: &mut Writer| {
        let mut cells = Vec::new();
        for sw_if in [pipe.parent, pipe.ends[0], pipe.ends[1]] {
            // Deleted since the list was made.
            let Ok(interface) = w.get::<Interfaces>().get(sw_if) else { return Ok(()) };
            cells.push(interface.name.into());
            cells.push((if interface.admin_up { "up" } else { "down" }).into());
        }
        out.row(cells);
        Ok(())
    }))
}
