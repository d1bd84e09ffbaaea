// SPDX-License-Identifier: Apache-2.0
//! The commands: parse, call, print.

use crate::loopback;
use cli::{Command, Error, Matches, Output};
use graph::World;
use net::args::{interface, made};

pub const COMMANDS: &[Command<World>] = cli::commands! {
    /// Make a loopback interface
    "create loopback interface", "[mac <mac:mac>] [instance <instance:u32>]" => create;
    /// Take a loopback interface away
    "delete loopback interface", "intfc <interface:interface>"
        => |w, m| loopback::delete(w, interface(w, m, "interface")?);
    /// Make a loopback interface
    "loopback create-interface", "[mac <mac:mac>] [instance <instance:u32>]" => create;
    /// Take a loopback interface away
    "loopback delete-interface", "intfc <interface:interface>"
        => |w, m| loopback::delete(w, interface(w, m, "interface")?);
};

fn create(w: &World, m: &Matches) -> Result<Output, Error> {
    Ok(made(w, loopback::create(w, m.opt("mac")?, m.opt("instance")?)?))
}
