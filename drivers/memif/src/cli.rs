// SPDX-License-Identifier: Apache-2.0
//! The commands, and the lines that save what they set.

use crate::control::{self, Memifs};
use crate::device::{Config, Mode};
use crate::io::Role;
use crate::show;
use cli::{Command, Error, Matches, Output, quote};
use graph::{Phase, RunningConfig, World};
use net::{Interfaces, OriginalSettings};

pub const COMMANDS: &[Command<World>] = cli::commands! {
    /// Name a socket that memif interfaces listen at or connect to
    "create memif socket", "[id <id:u32>] [filename <filename:string>]" => create_socket;
    /// Forget a socket that no memif interface uses
    "delete memif socket", "[id <id:u32>]" => delete_socket;
    /// Make an interface whose other end is another program on this host, over shared memory
    "create interface memif",
    "[id <id:u32>] [socket-id <socket:u32>] [ring-size <ring:1-32768>] [rx-queues <rx:1-255>] \
     [tx-queues <tx:1-255>] [buffer-size <buffer:1-65535>] [master | slave] [no-zero-copy] [use-dma] \
     [mode <mode:ethernet|ip>] [hw-addr <mac:mac>] [secret <secret:secret>]" => create;
    /// Take a memif interface away
    "delete interface memif", "{<interface:interface> | sw_if_index <index:u32>}"
        => |w, m| control::delete(w, w.get::<Interfaces>().named_or_numbered(m)?);
    /// Sockets, memif interfaces, and the rings of their connections
    "show memif", "[<interface:interface>] [descriptors]" => show::show;
};

fn create_socket(w: &World, m: &Matches) -> Result<(), Error> {
    if !m.has("filename") {
        return Err(Error::usage("give the socket a filename: a path, or abstract:NAME"));
    }
    let id = m.opt("id")?.ok_or_else(|| {
        Error::usage("give the socket an id: `create memif socket id 1 filename F'")
    })?;
    control::add_socket(w, Some(id), m.str("filename"))?;
    Ok(())
}

fn delete_socket(w: &World, m: &Matches) -> Result<(), Error> {
    let id = m.opt("id")?.ok_or_else(|| Error::usage("say which: `delete memif socket id 1'"))?;
    control::delete_socket(w, id)
}

fn create(w: &World, m: &Matches) -> Result<Output, Error> {
    let config = Config {
        id: m.opt("id")?.unwrap_or(0),
        socket: m.opt("socket")?.unwrap_or(0),
        role: if m.flag("master") { Role::Server } else { Role::Client },
        mode: if m.has("mode") && m.str("mode") == "ip" { Mode::Ip } else { Mode::Ethernet },
        rx_queues: m.opt("rx")?.unwrap_or(1),
        tx_queues: m.opt("tx")?.unwrap_or(1),
        log2: 0,
        buffer_size: m.opt("buffer")?.unwrap_or(2048),
        secret: if m.has("secret") { m.str("secret").to_string() } else { String::new() },
        no_zero_copy: m.flag("no-zero-copy"),
    };
    let sw_if = control::create(w, config, m.opt("ring")?.unwrap_or(1024), m.opt("mac")?)?;
    Ok(object::made(w, sw_if))
}

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
