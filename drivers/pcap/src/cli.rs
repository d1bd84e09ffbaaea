// SPDX-License-Identifier: Apache-2.0
//! The commands: parse, call, print.

use crate::control::{self, Create};
use crate::format::Link;
use crate::replay::Pace;
use crate::show;
use cli::{Command, Error, Matches, Output};
use graph::World;
use net::Interfaces;
use serde_json::json;
use std::path::Path;

pub const COMMANDS: &[Command<World>] = cli::commands! {
    /// Make an interface that replays a capture file, and writes what it sends to another
    "create interface pcap",
    "[id <id:0-65535>] [rx <rx:string>] [rate <rate:rate> | full-speed] [loop {<times:u64> | endless}] \
     [tx <tx:string>] [mode <mode:ethernet|ip>] [hw-addr <mac:mac>]" => create;
    /// Take a pcap interface away; its files stay
    "delete interface pcap", "{<interface:interface> | sw_if_index <index:u32>}" => delete;
    /// Pcap interfaces: files, how far replays are, and captured packets
    "show interface pcap" => |w, _| Ok(show::show(w));
};

fn create(w: &World, m: &Matches) -> Result<Output, Error> {
    // Plain names lie where those of `pcap trace' do.
    let file = |name: &str| m.has(name).then(|| Path::new("/tmp").join(m.str(name)));
    let pace = match m.opt::<f64>("rate")? {
        Some(rate) => Pace::Rate(rate),
        None if m.flag("full-speed") => Pace::FullSpeed,
        None => Pace::Timestamps,
    };
    let times = match m.opt::<u64>("times")? {
        Some(0) => return Err(Error::parse("at least one pass").at(m.span("times"))),
        Some(times) => Some(times),
        None if m.flag("endless") => None,
        None => Some(1),
    };
    let link = match m.str("mode") {
        "ip" => Some(Link::Ip),
        "ethernet" => Some(Link::Ethernet),
        _ => None,
    };
    let new = Create {
        id: m.opt("id")?,
        rx: file("rx"),
        tx: file("tx"),
        pace,
        times,
        link,
        mac: m.opt("mac")?,
    };
    let sw_if = control::create(w, new)?;
    let name = w.get::<Interfaces>().name(sw_if);
    Ok(Output::both(format!("{name}\n"), json!({ "name": name, "sw_if_index": sw_if.0 })))
}

fn delete(w: &World, m: &Matches) -> Result<(), Error> {
    control::delete(w, w.get::<Interfaces>().named_or_numbered(m)?)
}
