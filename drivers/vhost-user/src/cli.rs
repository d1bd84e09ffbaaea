// SPDX-License-Identifier: Apache-2.0
//! The commands: parse, call, print.

use crate::control::{self, Create};
use crate::device::Config;
use crate::show;
use cli::{Command, Error, Matches, Output};
use graph::World;
use net::Interfaces;
use serde_json::json;

pub const COMMANDS: &[Command<World>] = cli::commands! {
    /// Make an interface whose other end is a virtual machine or another virtio driver
    "create vhost-user",
    "socket <socket:string> [server] [feature-mask <mask:u64>] [hwaddr <mac:mac>] \
     [renumber <instance:u32>] [gso] [packed] [event-idx]" => create;
    /// Take a vhost-user interface away
    "delete vhost-user", "{<interface:interface> | sw_if_index <index:u32>}" => delete;
    /// Interfaces to virtual machines: features, memory and rings of their connections
    "show vhost-user", "[<interface:interface>]... [descriptors] [verbose]" => show::show;
};

fn create(w: &World, m: &Matches) -> Result<Output, Error> {
    let config = Config {
        socket: m.str("socket").to_string(),
        is_server: m.flag("server"),
        feature_mask: m.opt("mask")?.unwrap_or(u64::MAX),
        gso: m.flag("gso"),
        packed: m.flag("packed"),
        event_idx: m.flag("event-idx"),
    };
    let new =
        Create { config, instance: m.opt("instance")?, mac: m.opt("mac")?, tag: String::new() };
    let sw_if = control::create(w, new).map_err(m.at("socket"))?;
    let name = w.get::<Interfaces>().name(sw_if);
    Ok(Output::both(name.clone(), json!({ "name": name, "sw_if_index": sw_if.0 })))
}

fn delete(w: &World, m: &Matches) -> Result<(), Error> {
    control::delete(w, w.get::<Interfaces>().named_or_numbered(m)?)
}
