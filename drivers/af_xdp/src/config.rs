// SPDX-License-Identifier: Apache-2.0
//! Interfaces, as commands that make them.

use crate::control::Xdps;
use crate::device::Config;
use cli::quote;
use graph::{RunningConfig, World};
use net::{Interfaces, OriginalSettings};

/// Writes the interfaces.
pub fn write_config(world: &World, config: &mut RunningConfig) {
    config.interfaces(world.get::<Xdps>().indices(), |world, sw_if, lines| {
        let device = world.get::<Xdps>().device(sw_if);
        let (Some(device), Ok(interface)) = (device, world.get::<Interfaces>().get(sw_if)) else {
            return;
        };
        let OriginalSettings { name, .. } = interface.original;
        let line = format!("create interface af_xdp{}", words(&device.config, &name));
        lines.push(line, format!("delete interface af_xdp {}", quote(&name)));
        if device.state().held.is_none() && !device.opening.is_pending() {
            let netdev = &device.config.netdev;
            lines.waits(format!("the host has no interface {netdev}: opened when it comes"));
        }
    });
}

fn words(c: &Config, name: &str) -> String {
    let usual = Config::new("");
    let mut text = format!(" host-if {} name {}", quote(&c.netdev), quote(name));
    let mut word = |word: &str, value: &str| text += &format!(" {word} {}", quote(value));
    if c.rx_size != usual.rx_size {
        word("rx-queue-size", &c.rx_size.to_string());
    }
    if c.tx_size != usual.tx_size {
        word("tx-queue-size", &c.tx_size.to_string());
    }
    match c.rx_queues {
        None => word("num-rx-queues", "all"),
        Some(1) => {}
        Some(n) => word("num-rx-queues", &n.to_string()),
    }
    for (name, value) in [("prog", &c.program), ("netns", &c.netns)] {
        if !value.is_empty() {
            word(name, value);
        }
    }
    text += match c.zero_copy {
        None => "",
        Some(true) => " zero-copy",
        Some(false) => " no-zero-copy",
    };
    if let Some(mode) = c.attach {
        text += &format!(" {}", mode.name());
    }
    text += if c.no_syscall_lock { " no-syscall-lock" } else { "" };
    text += if c.mac_reuse { " mac-reuse" } else { "" };
    text += if c.force { " force" } else { "" };
    text
}
