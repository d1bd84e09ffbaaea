// SPDX-License-Identifier: Apache-2.0
//! The commands, and the lines that save what they set.

use crate::control::{Client, Clients};
use cli::{Command, Matches, Output, Result, quote};
use graph::{RunningConfig, Script, World};
use net::Interfaces;
use net::args::{interface, made};

pub const COMMANDS: &[Command<World>] = cli::commands! {
    /// Create the sub-interface of a client by its MAC address, or delete it
    "p2p_ethernet", "<interface:interface> <mac:mac> {sub-id <id:u32> | del}" => set;
    /// Clients with sub-interfaces of their own
    "show p2p_ethernet" => show;
};

fn set(w: &World, m: &Matches) -> Result<Output> {
    let client = Client { port: interface(w, m, "interface")?, mac: m.req("mac")? };
    let clients = w.get::<Clients>();
    if m.flag("del") {
        clients.delete(w, client).map_err(m.at("mac"))?;
        return Ok(Output::empty());
    }
    Ok(made(w, clients.add(w, client, m.req("id")?)?))
}

fn show(w: &World, _: &Matches) -> Result<Output> {
    Ok(cli::columns!(w.get::<Clients>().list(), |w: &World, (client, sub)| {
        let interfaces = w.get::<Interfaces>();
        // Deleted since the list was made.
        let interface = interfaces.get(sub).ok()?;
        "Interface" => interface.name,
        "Parent" => interfaces.name(client.port),
        "Client" => client.mac.to_string(),
        "State" => if interface.admin_up { "up" } else { "down" },
    }))
}

/// Commands that set what is kept here, for the tests that save and restore it.
pub const EXAMPLES: &[Script] = &[Script::here(
    "clients by MAC address",
    "create loopback interface
     create packet-generator interface pg0
     p2p_ethernet loop0 02:aa:00:00:00:01 sub-id 1
     p2p_ethernet loop0 02:aa:00:00:00:02 sub-id 7
     p2p_ethernet pg0 02:aa:00:00:00:01 sub-id 1
     p2p_ethernet pg0 02:aa:00:00:00:03 sub-id 3
     p2p_ethernet pg0 02:aa:00:00:00:03 del
     set interface state loop0 up
     set interface state loop0.7 up
     set interface ip address loop0.1 10.0.9.1/24
     ip route add 192.0.2.0/24 via 10.0.9.2 loop0.1
     create bridge-domain 9
     set interface l2 bridge pg0.1 9",
)];

/// Writes a line for each client.
pub fn write_config(world: &World, config: &mut RunningConfig) {
    config.interfaces(world.get::<Interfaces>().indices(), |world, sub, lines| {
        let interfaces = world.get::<Interfaces>();
        let Some(client) = world.get::<Clients>().of(sub) else { return };
        let (Ok(port), Ok(interface)) = (interfaces.get(client.port), interfaces.get(sub)) else {
            return;
        };
        let Some(id) = interface.sub.map(|sub| sub.id) else { return };
        let line = format!("p2p_ethernet {} {}", quote(&port.original.name), client.mac);
        lines.push(format!("{line} sub-id {id}"), format!("{line} del"));
    });
}
