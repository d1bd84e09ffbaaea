// SPDX-License-Identifier: Apache-2.0
//! The commands: parse, call, print.

use crate::control;
use crate::device::{Config, Mode};
use crate::io::Role;
use crate::show;
use cli::{Command, Error, Matches, Output};
use graph::World;
use net::Interfaces;
use serde_json::json;

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
    "delete interface memif", "{<interface:interface> | sw_if_index <index:u32>}" => delete;
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
    let name = w.get::<Interfaces>().name(sw_if);
    Ok(Output::both(name.clone(), json!({ "name": name, "sw_if_index": sw_if.0 })))
}

fn delete(w: &World, m: &Matches) -> Result<(), Error> {
    control::delete(w, w.get::<Interfaces>().named_or_numbered(m)?)
}
