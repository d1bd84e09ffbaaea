// SPDX-License-Identifier: Apache-2.0
//! The commands, and the lines that save what they set.

use crate::control::{self, Create, Vhosts};
use crate::device::{Config, VhostDevice};
use crate::show;
use cli::{Command, Error, Matches, Output, quote};
use graph::{RunningConfig, World};
use net::{Interfaces, OriginalSettings};

pub const COMMANDS: &[Command<World>] = cli::commands! {
    /// Make an interface whose other end is a virtual machine or another virtio driver
    "create vhost-user",
    "socket <socket:string> [server] [feature-mask <mask:u64>] [hwaddr <mac:mac>] \
     [renumber <instance:u32>] [gso] [packed] [event-idx]" => create;
    /// Take a vhost-user interface away
    "delete vhost-user", "{<interface:interface> | sw_if_index <index:u32>}"
        => |w, m| control::delete(w, w.get::<Interfaces>().named_or_numbered(m)?);
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
    Ok(object::made(w, sw_if))
}

/// Writes the interfaces.
pub fn write_config(world: &World, config: &mut RunningConfig) {
    let devices = world.get::<Vhosts>().devices();
    let indices: Vec<_> = devices.iter().filter_map(|d| d.sw_if.get().copied()).collect();
    config.interfaces(indices, |world, sw_if, lines| {
        let device = world.get::<Vhosts>().device(sw_if);
        let (Some(device), Ok(interface)) = (device, world.get::<Interfaces>().get(sw_if)) else {
            return;
        };
        let OriginalSettings { name, mac, .. } = interface.original;
        let line = format!("create vhost-user{} hwaddr {mac}", words(&device));
        lines.push(line, format!("delete vhost-user {}", quote(&name)));
    });
}

fn words(device: &VhostDevice) -> String {
    let c = device.config();
    let mut text = format!(" socket {} renumber {}", quote(&c.socket), device.instance);
    if c.feature_mask != u64::MAX {
        text += &format!(" feature-mask {:#x}", c.feature_mask);
    }
    for (on, word) in [
        (c.is_server, " server"),
        (c.gso, " gso"),
        (c.packed, " packed"),
        (c.event_idx, " event-idx"),
    ] {
        text += if on { word } else { "" };
    }
    text
}
