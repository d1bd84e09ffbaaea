// SPDX-License-Identifier: Apache-2.0
//! Sockets and interfaces, as commands that make them.

use crate::control::Memifs;
use crate::device::Config;
use crate::io::Role;
use cli::quote;
use graph::{Phase, RunningConfig, World};
use net::{Interfaces, OriginalSettings};

/// Says which sockets and which interfaces there are.
pub fn write_config(world: &World, config: &mut RunningConfig) {
    let memifs = world.get::<Memifs>();
    for (id, name) in memifs.given() {
        let line = format!("create memif socket id {id} filename {}", quote(&name));
        config.push(Phase::SETTINGS, line, format!("delete memif socket id {id}"));
    }
    let indices: Vec<_> = memifs.devices().iter().filter_map(|d| d.sw_if.get().copied()).collect();
    config.interfaces(indices, |world, sw_if, lines| {
        let device = world.get::<Memifs>().device(sw_if);
        let (Some(device), Ok(interface)) = (device, world.get::<Interfaces>().get(sw_if)) else {
            return;
        };
        let OriginalSettings { name, mac, .. } = interface.original;
        let line = format!("create interface memif{} hw-addr {mac}", words(&device.config));
        lines.push(line, format!("delete interface memif {}", quote(&name)));
    });
}

fn words(c: &Config) -> String {
    let mut text = String::new();
    let mut word = |word: &str, value: String, is_default: bool| {
        if !is_default {
            text += &format!(" {word} {}", quote(&value));
        }
    };
    word("id", c.id.to_string(), c.id == 0);
    word("socket-id", c.socket.to_string(), c.socket == 0);
    word("ring-size", (1u32 << c.log2).to_string(), c.log2 == 10);
    word("rx-queues", c.rx_queues.to_string(), c.rx_queues == 1);
    word("tx-queues", c.tx_queues.to_string(), c.tx_queues == 1);
    word("buffer-size", c.buffer_size.to_string(), c.buffer_size == 2048);
    word("mode", c.mode.name().to_string(), c.mode == crate::device::Mode::Ethernet);
    word("secret", c.secret.clone(), c.secret.is_empty());
    text += if c.role == Role::Server { " master" } else { " slave" };
    text += if c.no_zero_copy { " no-zero-copy" } else { "" };
    text
}
