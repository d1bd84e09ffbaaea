// SPDX-License-Identifier: Apache-2.0
//! The saved configuration.

use crate::model::{Gre, Payload};
use graph::{RunningConfig, Script, World};
use tunnel::{TunnelEndpoints, Tunnels};

/// Commands that set what is kept here, for the tests that save and restore it.
pub const EXAMPLES: &[Script] = &[Script::here(
    "GRE tunnels",
    "create packet-generator interface pg0
     set interface state pg0 up
     set interface ip address pg0 192.0.2.1/24
     ip table add 7
     create gre tunnel src 192.0.2.1 dst 192.0.2.9
     create gre tunnel src 192.0.2.1 dst 192.0.2.9 key 5 instance 5 outer-fib-id 7 encap-copy-dscp dscp 10
     create gre tunnel src 2001:db8::1 dst 2001:db8::2 teb
     create gre tunnel src 192.0.2.1 dst 192.0.2.9 erspan 100
     create gre tunnel src 192.0.2.1 multipoint instance 9
     create gre tunnel src 192.0.2.1 dst 192.0.2.11 instance 11
     create gre tunnel src 192.0.2.1 dst 192.0.2.11 del
     set interface state gre0 up
     set interface ip address gre0 10.0.0.1/24
     set interface ip address gre9 10.9.0.1/24
     create teib gre9 peer 10.9.0.2 nh 192.0.2.12
     set interface l2 bridge gre1 13
     ip route add 10.1.0.0/16 via gre0",
)];

pub fn write_config(world: &World, config: &mut RunningConfig) {
    config.interfaces(world.get::<Tunnels<Gre>>().interfaces(), |world, sw_if, lines| {
        let Some(tunnel) = world.get::<Tunnels<Gre>>().get(sw_if) else { return };
        let Gre { ends, marks, payload, key, multipoint } = tunnel.spec;
        let TunnelEndpoints { local, remote, table } = ends;
        let mut line = format!("create gre tunnel src {local}");
        line += &if multipoint { " multipoint".into() } else { format!(" dst {remote}") };
        if table != 0 {
            line += &format!(" outer-fib-id {table}");
        }
        match payload {
            Payload::Ip => {}
            Payload::Ethernet => line += " teb",
            Payload::Erspan { session } => line += &format!(" erspan {session}"),
        }
        if key != 0 {
            line += &format!(" key {key}");
        }
        let marks = tunnel::describe(&marks);
        lines.push(format!("{line} instance {}{marks}", tunnel.instance), format!("{line} del"));
    });
}
