// SPDX-License-Identifier: Apache-2.0
//! The commands that change something.

use crate::model::Vxlan;
use crate::show;
use cli::{Command, Matches, Output, Result};
use graph::World;
use tunnel::{Next, TunnelEndpoints};
use wire::Vxlan as Header;

pub const COMMANDS: &[Command<World>] = &[
    Command {
        path: "create vxlan tunnel",
        usage: concat!(
            "({src <source:ip>} {dst <destination:ip> | group <group:ip> <interface:interface>} {vni <vni:u32>} [instance <instance:u32>] \
             [encap-vrf-id <table:u32>] [decap-next <next:l2|drop|node> [<node:word>]] [l3] [src_port <sourceport:u16>] \
             [dst_port <destinationport:u16>] ",
            tunnel::marks_usage!(),
            " [del])"
        ),
        help: "Make an interface whose frames go to another router in datagrams, or to a group of routers",
        run: create,
    },
    Command {
        path: "show vxlan tunnel",
        usage: "[raw]",
        help: "VXLAN tunnels",
        run: show::tunnels,
    },
    Command {
        path: "set interface ip vxlan-bypass",
        usage: "<interface:interface> [del]",
        help: "Take datagrams of VXLAN tunnels out of the received IPv4 packets before these are looked up",
        run: |w, m| tunnel::set_bypass::<Vxlan>(w, m, false),
    },
    Command {
        path: "set interface ip6 vxlan-bypass",
        usage: "<interface:interface> [del]",
        help: "Take datagrams of VXLAN tunnels out of the received IPv6 packets before these are looked up",
        run: |w, m| tunnel::set_bypass::<Vxlan>(w, m, true),
    },
    Command {
        path: "set flow-offload vxlan",
        usage: "{hw <device:interface>} {rx <tunnel:interface>} [del]",
        help: "Let a device find the tunnel of received datagrams: no device of this build can",
        run: tunnel::set_offload::<Vxlan>,
    },
];

fn create(w: &World, m: &Matches) -> Result<Output> {
    let (remote, group_interface) = tunnel::other_end(w, m, "destination")?;
    let port = |word| {
        m.opt::<u16>(word).map(|port| port.filter(|port| *port != 0).unwrap_or(Header::PORT))
    };
    let spec = Vxlan {
        ends: TunnelEndpoints {
            local: m.req("source")?,
            remote,
            table: m.opt("table")?.unwrap_or(0),
        },
        marks: tunnel::parse(m)?,
        vni: tunnel::vni(m)?,
        source_port: port("sourceport")?,
        destination_port: port("destinationport")?,
        layer3: m.flag("l3"),
        group_interface,
        next: Next::parse(m)?,
    };
    tunnel::add_del(w, m, spec)
}
