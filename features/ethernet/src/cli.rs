// SPDX-License-Identifier: Apache-2.0
//! The commands: parse, call, print.

use crate::loopback;
use cli::{Command, Error, Matches, Output};
use graph::World;
use net::Interfaces;

pub const COMMANDS: &[Command<World>] = cli::commands! {
    /// Make a loopback interface
    "create loopback interface", "[mac <mac:mac>] [instance <instance:u32>]" => create;
    /// Take a loopback interface away
    "delete loopback interface", "intfc <interface:interface>" => delete;
    /// Make a loopback interface
    "loopback create-interface", "[mac <mac:mac>] [instance <instance:u32>]" => create;
    /// Take a loopback interface away
    "loopback delete-interface", "intfc <interface:interface>" => delete;
};

fn create(w: &World, m: &Matches) -> Result<Output, Error> {
    let sw_if = loopback::create(w, m.opt("mac")?, m.opt("instance")?)?;
    Ok(Output::text(format!("{}\n", w.get::<Interfaces>().name(sw_if))))
}

fn delete(w: &World, m: &Matches) -> Result<(), Error> {
    let sw_if = net::args::interface(w, m, "interface")?;
    loopback::delete(w, sw_if)
}
