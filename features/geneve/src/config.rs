// SPDX-License-Identifier: Apache-2.0
//! The saved configuration.

use crate::model::Geneve;
use graph::{RunningConfig, Script, World};
use tunnel::{Tunnel, TunnelEndpoints, Tunnels};

/// Commands that set what is kept here, for the tests that save and restore it.
pub const EXAMPLES: &[Script] = &[Script::here(
    "GENEVE tunnels",
    "create packet-generator interface pg0
     set interface state pg0 up
     set interface ip address pg0 192.0.2.1/24
     ip table add 7
     create geneve tunnel local 192.0.2.1 remote 192.0.2.9 vni 13
     create geneve tunnel local 192.0.2.1 remote 192.0.2.9 vni 14 instance 5 encap-vrf-id 7 encap-copy-ecn dscp 8
     create geneve tunnel local 2001:db8::1 remote 2001:db8::2 vni 13 l3-mode
     create geneve tunnel local 192.0.2.1 group 239.1.1.1 pg0 vni 13
     create geneve tunnel local 192.0.2.1 group 239.1.1.1 pg0 vni 14 decap-next drop
     create geneve tunnel local 192.0.2.1 remote 192.0.2.10 vni 15 decap-next node ethernet-input
     create geneve tunnel local 192.0.2.1 remote 192.0.2.11 vni 16
     create geneve tunnel local 192.0.2.1 remote 192.0.2.11 vni 16 del
     set interface l2 bridge geneve_tunnel0 13
     set interface l2 bridge geneve_tunnel2 13
     set interface ip geneve-bypass pg0
     set interface ip6 geneve-bypass pg0",
)];

pub fn write_config(world: &World, config: &mut RunningConfig) {
    config.interfaces(world.get::<Tunnels<Geneve>>().interfaces(), |world, sw_if, lines| {
        let Some(tunnel) = world.get::<Tunnels<Geneve>>().get(sw_if) else { return };
        let Tunnel { instance, spec, .. } = tunnel;
        let Geneve { ends, marks, vni, layer3, group_interface, next } = spec;
        let TunnelEndpoints { local, remote, table } = ends;
        let mut line = format!("create geneve tunnel local {local}");
        line += &tunnel::describe_other_end(world, "remote", remote, group_interface);
        line += &format!(" vni {vni}");
        if table != 0 {
            line += &format!(" encap-vrf-id {table}");
        }
        line += &next.describe();
        if layer3 {
            line += " l3-mode";
        }
        let marks = tunnel::describe(&marks);
        lines.push(format!("{line} instance {instance}{marks}"), format!("{line} del"));
    });
    tunnel::write_bypass::<Geneve>(world, config);
}
