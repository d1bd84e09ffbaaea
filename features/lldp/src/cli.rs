// SPDX-License-Identifier: Apache-2.0
//! The commands: parse, call, print.

use crate::port::{Lldp, Port};
use crate::show;
use cli::{Command, Matches, Result};
use graph::{SwIfIndex, World};
use net::Interfaces;

pub const COMMANDS: &[Command<World>] = cli::commands! {
    /// The system's data that neighbours receive, its interval, and for how many intervals it holds
    "set lldp",
    "[system-name <name:string>] [tx-hold <hold:u32>] [tx-interval <interval:u32>]" => set;
    /// Enable LLDP on an interface: send this system's data, and list the neighbour; or disable it
    "set interface lldp",
    "{<interface:interface> | sw_if_index <index:u32>} [port-desc <description:string>] [mgmt-ip4 <ip4:ip4>] [mgmt-ip6 <ip6:ip6>] [mgmt-oid <object:string>] [disable]"
        => set_interface;
    /// LLDP neighbours; with `detail' also the data that this system sends
    "show lldp", "[detail]" => show::show;
};

fn set(w: &World, m: &Matches) -> Result<()> {
    let name = m.has("name").then(|| m.str("name"));
    w.get::<Lldp>().set(w, name, m.opt("hold")?, m.opt("interval")?)
}

fn set_interface(w: &World, m: &Matches) -> Result<()> {
    let interfaces = w.get::<Interfaces>();
    let sw_if = match m.opt::<u32>("index")? {
        Some(index) => {
            let sw_if = SwIfIndex(index);
            interfaces.check(sw_if).map_err(m.at("index"))?;
            sw_if
        }
        None => net::args::interface(w, m, "interface")?,
    };
    let lldp = w.get::<Lldp>();
    if m.flag("disable") {
        return lldp.disable(w, sw_if);
    }
    let text = |word: &str| if m.has(word) { m.str(word).to_string() } else { String::new() };
    let port = Port {
        description: text("description"),
        management: (m.opt("ip4")?, m.opt("ip6")?),
        object: text("object"),
    };
    lldp.enable(w, sw_if, port)
}
