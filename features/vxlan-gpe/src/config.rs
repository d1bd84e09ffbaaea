// SPDX-License-Identifier: Apache-2.0
//! The saved configuration.

use crate::model::Gpe;
use graph::{RunningConfig, Script, World};
use tunnel::{Tunnel, TunnelEndpoints, Tunnels};
use wire::VxlanGpe as Header;

/// Commands that set what is kept here, for the tests that save and restore it.
pub const EXAMPLES: &[Script] = &[Script::here(
    "VXLAN-GPE tunnels",
    "create packet-generator interface pg0
     set interface state pg0 up
     set interface ip address pg0 192.0.2.1/24
     ip table add 7
     ip table add 9
     create vxlan-gpe tunnel local 192.0.2.1 remote 192.0.2.9 vni 13
     create vxlan-gpe tunnel local 192.0.2.1 remote 192.0.2.9 vni 14 next-ethernet instance 5 encap-vrf-id 7 src_port 4799 dst_port 4798
     create vxlan-gpe tunnel local 2001:db8::1 remote 2001:db8::2 vni 13 next-ip6 hop-limit 9
     create vxlan-gpe tunnel local 192.0.2.1 remote 192.0.2.10 vni 15 next-ip4 decap-vrf-id 9
     create vxlan-gpe tunnel local 192.0.2.1 remote 192.0.2.10 vni 16 next-nsh
     create vxlan-gpe tunnel local 192.0.2.1 group 239.1.1.1 pg0 vni 13 next-ethernet
     create vxlan-gpe tunnel local 192.0.2.1 remote 192.0.2.11 vni 16
     create vxlan-gpe tunnel local 192.0.2.1 remote 192.0.2.11 vni 16 del
     set interface l2 bridge vxlan_gpe_tunnel5 13
     set interface ip address vxlan_gpe_tunnel0 10.0.0.1/24
     set interface ip vxlan-gpe-bypass pg0
     set interface ip6 vxlan-gpe-bypass pg0",
)];

pub fn write_config(world: &World, config: &mut RunningConfig) {
    config.interfaces(world.get::<Tunnels<Gpe>>().interfaces(), |world, sw_if, lines| {
        let Some(tunnel) = world.get::<Tunnels<Gpe>>().get(sw_if) else { return };
        let line = create(world, &tunnel);
        let Tunnel { instance, spec, .. } = tunnel;
        let marks = tunnel::describe(&spec.marks);
        lines.push(format!("{line} instance {instance}{marks}"), format!("{line} del"));
    });
    tunnel::write_bypass::<Gpe>(world, config);
}

fn create(world: &World, Tunnel { spec, .. }: &Tunnel<Gpe>) -> String {
    let Gpe { ends, vni, protocol, local_port, remote_port, group_interface, decap_table, .. } =
        spec;
    let TunnelEndpoints { local, remote, table } = ends;
    let mut line = format!("create vxlan-gpe tunnel local {local}");
    line += &tunnel::describe_other_end(world, "remote", *remote, *group_interface);
    line += &format!(" vni {vni} next-{}", protocol.name());
    if *table != 0 {
        line += &format!(" encap-vrf-id {table}");
    }
    if *decap_table != 0 {
        line += &format!(" decap-vrf-id {decap_table}");
    }
    for (word, port) in [("src_port", local_port), ("dst_port", remote_port)] {
        if *port != Header::PORT {
            line += &format!(" {word} {port}");
        }
    }
    line
}
