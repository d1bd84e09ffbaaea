// SPDX-License-Identifier: Apache-2.0
//! The saved configuration.

use crate::control::Clients;
use cli::quote;
use graph::{RunningConfig, Script, World};
use net::Interfaces;

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
