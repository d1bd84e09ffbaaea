// SPDX-License-Identifier: Apache-2.0
//! The commands: parse, call, print.

use crate::port::{Lldp, Port};
use crate::show;
use cli::{Command, Matches, Output, Result};
use graph::{SwIfIndex, World};
use net::Interfaces;

pub const COMMANDS: &[Command<World>] = &[
    Command {
        path: "set lldp",
        usage: "[system-name <name:string>] [tx-hold <hold:u32>] [tx-interval <interval:u32>]",
        help: "The system's data that neighbours receive, its interval, and for how many intervals it holds",
        run: set,
    },
    Command {
        path: "set interface lldp",
        usage: "{<interface:interface> | sw_if_index <index:u32>} [port-desc <description:string>] [mgmt-ip4 <ip4:ip4>] [mgmt-ip6 <ip6:ip6>] [mgmt-oid <object:string>] [disable]",
        help: "Tell the other end of a link who is here, and note who is there; or end that",
        run: set_interface,
    },
    Command {
        path: "show lldp",
        usage: "[detail]",
        help: "Neighbours at the other ends of links; with `detail' also what they are told of us",
        run: show::show,
    },
];

fn set(w: &World, m: &Matches) -> Result<Output> {
    let name = m.has("name").then(|| m.str("name"));
    w.get::<Lldp>().set(w, name, m.opt("hold")?, m.opt("interval")?)?;
    Ok(Output::empty())
}

fn set_interface(w: &World, m: &Matches) -> Result<Output> {
    let interfaces = w.get::<Interfaces>();
    let sw_if = match m.opt::<u32>("index")? {
        Some(index) => {
            let sw_if = SwIfIndex(index);
            interfaces.check(sw_if).map_err(|e| e.at(m.span("index")))?;
            sw_if
        }
        None => interfaces.find(m.str("interface")).map_err(|e| e.at(m.span("interface")))?,
    };
    let lldp = w.get::<Lldp>();
    if m.flag("disable") {
        lldp.disable(w, sw_if)?;
        return Ok(Output::empty());
    }
    let text = |word: &str| if m.has(word) { m.str(word).to_string() } else { String::new() };
    let port = Port {
        description: text("description"),
        management: (m.opt("ip4")?, m.opt("ip6")?),
        object: text("object"),
    };
    lldp.enable(w, sw_if, port)?;
    Ok(Output::empty())
}
