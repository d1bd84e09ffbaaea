// SPDX-License-Identifier: Apache-2.0
//! The commands: parse, call, print.

use crate::loopback;
use cli::{Command, Error, Matches, Output};
use graph::World;
use net::Interfaces;

pub const COMMANDS: &[Command<World>] = &[
    Command {
        path: "create loopback interface",
        usage: "[mac <mac:mac>] [instance <instance:u32>]",
        help: "Make a loopback interface",
        run: create,
    },
    Command {
        path: "delete loopback interface",
        usage: "intfc <interface:interface>",
        help: "Take a loopback interface away",
        run: delete,
    },
    Command {
        path: "loopback create-interface",
        usage: "[mac <mac:mac>] [instance <instance:u32>]",
        help: "Make a loopback interface",
        run: create,
    },
    Command {
        path: "loopback delete-interface",
        usage: "intfc <interface:interface>",
        help: "Take a loopback interface away",
        run: delete,
    },
];

fn create(w: &World, m: &Matches) -> Result<Output, Error> {
    let sw_if = loopback::create(w, m.opt("mac")?, m.opt("instance")?)?;
    Ok(Output::text(format!("{}\n", w.get::<Interfaces>().name(sw_if))))
}

fn delete(w: &World, m: &Matches) -> Result<Output, Error> {
    let sw_if =
        w.get::<Interfaces>().find(m.str("interface")).map_err(|e| e.at(m.span("interface")))?;
    loopback::delete(w, sw_if)?;
    Ok(Output::empty())
}
