// SPDX-License-Identifier: Apache-2.0
//! Interfaces, as commands that make them.

use crate::control::Vhosts;
use crate::device::VhostDevice;
use cli::quote;
use graph::{RunningConfig, World};
use net::{Interfaces, OriginalSettings};

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
