// SPDX-License-Identifier: Apache-2.0
//! The saved configuration.

use crate::model::Vxlan;
use graph::{RunningConfig, Script, World};
use tunnel::{TunnelEndpoints, Tunnels};
use wire::Vxlan as Header;

/// Commands that set what is kept here, for the tests that save and restore it.
pub const EXAMPLES: &[Script] = &[Script::here(
    "VXLAN tunnels",
    "create packet-generator interface pg0
     set interface state pg0 up
     set interface ip address pg0 192.0.2.1/24
     ip table add 7
     create vxlan tunnel src 192.0.2.1 dst 192.0.2.9 vni 13
     create vxlan tunnel src 192.0.2.1 dst 192.0.2.9 vni 14 instance 5 encap-vrf-id 7 src_port 4800 dst_port 4801
     create vxlan tunnel src 2001:db8::1 dst 2001:db8::2 vni 13 l3
     create vxlan tunnel src 192.0.2.1 group 239.1.1.1 pg0 vni 13
     create vxlan tunnel src 192.0.2.1 group 239.1.1.1 pg0 vni 14 decap-next drop
     create vxlan tunnel src 192.0.2.1 dst 192.0.2.10 vni 15 decap-next node ethernet-input
     create vxlan tunnel src 192.0.2.1 dst 192.0.2.11 vni 16
     create vxlan tunnel src 192.0.2.1 dst 192.0.2.11 vni 16 del
     create vxlan tunnel src 192.0.2.1 dst 192.0.2.11 vni 17 encap-copy-dscp hop-limit 9
     set interface l2 bridge vxlan_tunnel0 13
     set interface l2 bridge vxlan_tunnel2 13
     set interface ip vxlan-bypass pg0
     set interface ip6 vxlan-bypass pg0",
)];

pub fn write_config(world: &World, config: &mut RunningConfig) {
    config.interfaces(world.get::<Tunnels<Vxlan>>().interfaces(), |world, sw_if, lines| {
        let Some(tunnel) = world.get::<Tunnels<Vxlan>>().get(sw_if) else { return };
        let line = create(world, &tunnel.spec);
        lines.push(format!("{line} instance {}", tunnel.instance), format!("{line} del"));
    });
    tunnel::write_bypass::<Vxlan>(world, config);
}

fn create(world: &World, spec: &Vxlan) -> String {
    let Vxlan { ends, marks, vni, source_port, destination_port, layer3, group_interface, next } =
        spec;
    let TunnelEndpoints { local, remote, table } = ends;
    let mut line = format!("create vxlan tunnel src {local}");
    line += &tunnel::describe_other_end(world, "dst", *remote, *group_interface);
    line += &format!(" vni {vni}");
    if *table != 0 {
        line += &format!(" encap-vrf-id {table}");
    }
    line += &next.describe();
    if *layer3 {
        line += " l3";
    }
    for (word, port) in [("src_port", source_port), ("dst_port", destination_port)] {
        if *port != Header::PORT {
            line += &format!(" {word} {port}");
        }
    }
    line + &tunnel::describe(marks)
}
