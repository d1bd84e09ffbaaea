// SPDX-License-Identifier: Apache-2.0
//! The commands: parse, call, print.

use crate::control::{self, Create};
use crate::device::Config;
use crate::show;
use cli::{Command, Error, Matches, Output};
use graph::World;
use net::Interfaces;
use serde_json::json;

pub const COMMANDS: &[Command<World>] = &[
    Command {
        path: "create vhost-user",
        usage: "socket <socket:string> [server] [feature-mask <mask:u64>] [hwaddr <mac:mac>] \
                [renumber <instance:u32>] [gso] [packed] [event-idx]",
        help: "Make an interface whose other end is a virtual machine or another virtio driver",
        run: create,
    },
    Command {
        path: "delete vhost-user",
        usage: "{<interface:interface> | sw_if_index <index:u32>}",
        help: "Take a vhost-user interface away",
        run: delete,
    },
    Command {
        path: "show vhost-user",
        usage: "[<interface:interface>]... [descriptors] [verbose]",
        help: "Interfaces to virtual machines: features, memory and rings of their connections",
        run: show::show,
    },
];

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
    let sw_if = control::create(w, new).map_err(|e| e.at(m.span("socket")))?;
    let name = w.get::<Interfaces>().name(sw_if);
    Ok(Output::both(name.clone(), json!({ "name": name, "sw_if_index": sw_if.0 })))
}

fn delete(w: &World, m: &Matches) -> Result<Output, Error> {
    control::delete(w, w.get::<Interfaces>().named_or_numbered(m)?)?;
    Ok(Output::empty())
}
