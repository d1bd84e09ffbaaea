// SPDX-License-Identifier: Apache-2.0
//! The saved configuration.

use crate::bypass::BypassInterfaces;
use crate::spec::{Next, Vxlan};
use cli::quote;
use graph::{Phase, RunningConfig, Script, World};
use net::Interfaces;
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
     create vxlan tunnel src 192.0.2.1 dst 192.0.2.9 vni 14 instance 5 encap-vrf-id 7 src_port 4790 dst_port 4791
     create vxlan tunnel src 2001:db8::1 dst 2001:db8::2 vni 13 l3
     create vxlan tunnel src 192.0.2.1 group 239.1.1.1 pg0 vni 13
     create vxlan tunnel src 192.0.2.1 group 239.1.1.1 pg0 vni 14 decap-next drop
     create vxlan tunnel src 192.0.2.1 dst 192.0.2.10 vni 15 decap-next node ethernet-input
     create vxlan tunnel src 192.0.2.1 dst 192.0.2.11 vni 16
     create vxlan tunnel src 192.0.2.1 dst 192.0.2.11 vni 16 del
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
    config.list(
        Phase::FEATURES,
        world.get::<BypassInterfaces>().list(),
        |world, (sw_if, is_v6), lines| {
            let of = if is_v6 { "ip6" } else { "ip" };
            let line = format!(
                "set interface {of} vxlan-bypass {}",
                quote(&world.get::<Interfaces>().name(sw_if))
            );
            lines.push(line.clone(), format!("{line} del"));
        },
    );
}

fn create(world: &World, spec: &Vxlan) -> String {
    let Vxlan { ends, vni, source_port, destination_port, layer3, group_interface, next } = spec;
    let TunnelEndpoints { local, remote, table } = ends;
    let mut line = format!("create vxlan tunnel src {local}");
    line += &match group_interface {
        // Interfaces are made before they are renamed.
        Some(by) => format!(" group {remote} {}", quote(&made_name(world, *by))),
        None => format!(" dst {remote}"),
    };
    line += &format!(" vni {vni}");
    if *table != 0 {
        line += &format!(" encap-vrf-id {table}");
    }
    match next {
        Next::Interface => {}
        Next::Drop => line += " decap-next drop",
        Next::Node(node) => line += &format!(" decap-next node {node}"),
    }
    if *layer3 {
        line += " l3";
    }
    for (word, port) in [("src_port", source_port), ("dst_port", destination_port)] {
        if *port != Header::PORT {
            line += &format!(" {word} {port}");
        }
    }
    line
}

fn made_name(world: &World, sw_if: graph::SwIfIndex) -> String {
    world
        .get::<Interfaces>()
        .get(sw_if)
        .map_or_else(|_| String::new(), |interface| interface.original.name)
}
