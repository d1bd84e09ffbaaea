// SPDX-License-Identifier: Apache-2.0
//! The saved configuration.

use crate::model::IpIp;
use graph::{RunningConfig, Script, World};
use tunnel::{TunnelEndpoints, Tunnels};

/// Commands that set what is kept here, for the tests that save and restore it.
pub const EXAMPLES: &[Script] = &[crate::sixrd::EXAMPLE, Script::here(
    "IP in IP tunnels",
    "create packet-generator interface pg0
     set interface state pg0 up
     set interface ip address pg0 192.0.2.1/24
     ip table add 7
     create ipip tunnel src 192.0.2.1 dst 192.0.2.9
     create ipip tunnel src 192.0.2.1 dst 192.0.2.10 instance 5 outer-table-id 7 encap-copy-df encap-copy-dscp decap-copy-ecn track-mtu
     create ipip tunnel src 2001:db8::1 dst 2001:db8::2 dscp 10 hop-limit 9 encap-copy-flow-label encap-inner-hash
     create ipip tunnel src 192.0.2.1 p2mp instance 9
     create ipip tunnel src 192.0.2.1 dst 192.0.2.11 instance 11
     delete ipip tunnel ipip11
     set interface state ipip0 up
     set interface ip address ipip0 10.0.0.1/24
     set interface ip address ipip9 10.9.0.1/24
     create teib ipip9 peer 10.9.0.2 nh 192.0.2.12
     ip route add 10.8.0.0/16 via 10.9.0.2 ipip9
     ip route add 10.1.0.0/16 via ipip0",
)];

pub fn write_config(world: &World, config: &mut RunningConfig) {
    crate::sixrd::write_config(world, config);
    config.interfaces(world.get::<Tunnels<IpIp>>().interfaces(), |world, sw_if, lines| {
        let Some(tunnel) = world.get::<Tunnels<IpIp>>().get(sw_if) else { return };
        let IpIp { ends, marks, multipoint } = tunnel.spec;
        let TunnelEndpoints { local, remote, table } = ends;
        let mut line = format!("create ipip tunnel src {local}");
        line += &if multipoint { " p2mp".into() } else { format!(" dst {remote}") };
        line += &format!(" instance {}", tunnel.instance);
        if table != 0 {
            line += &format!(" outer-table-id {table}");
        }
        line += &tunnel::describe(&marks);
        lines.push(line, format!("delete ipip tunnel ipip{}", tunnel.instance));
    });
}
