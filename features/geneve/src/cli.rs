// SPDX-License-Identifier: Apache-2.0
//! The commands that change something.

use crate::model::Geneve;
use crate::show;
use cli::{Command, Matches, Output, Result};
use graph::World;
use tunnel::{Next, TunnelEndpoints};

pub const COMMANDS: &[Command<World>] = &[
    Command {
        path: "create geneve tunnel",
        usage: concat!(
            "({local <source:ip>} {remote <destination:ip> | group <group:ip> <interface:interface>} {vni <vni:u32>} \
             [instance <instance:u32>] [encap-vrf-id <table:u32>] [decap-next <next:l2|drop|node> [<node:word>]] [l3-mode] ",
            tunnel::marks_usage!(),
            " [del])"
        ),
        help: "Make an interface whose frames go to another router in datagrams, or to a group of routers; l3-mode: its MAC address \
               follows from its number",
        run: create,
    },
    Command {
        path: "show geneve tunnel",
        usage: "[raw]",
        help: "GENEVE tunnels",
        run: show::tunnels,
    },
    Command {
        path: "set interface ip geneve-bypass",
        usage: "<interface:interface> [del]",
        help: "Take datagrams of GENEVE tunnels out of the received IPv4 packets before these are looked up",
        run: |w, m| tunnel::set_bypass::<Geneve>(w, m, false),
    },
    Command {
        path: "set interface ip6 geneve-bypass",
        usage: "<interface:interface> [del]",
        help: "Take datagrams of GENEVE tunnels out of the received IPv6 packets before these are looked up",
        run: |w, m| tunnel::set_bypass::<Geneve>(w, m, true),
    },
];

fn create(w: &World, m: &Matches) -> Result<Output> {
    let (remote, group_interface) = tunnel::other_end(w, m, "destination")?;
    let spec = Geneve {
        ends: TunnelEndpoints {
            local: m.req("source")?,
            remote,
            table: m.opt("table")?.unwrap_or(0),
        },
        marks: tunnel::parse(m)?,
        vni: tunnel::vni(m)?,
        layer3: m.flag("l3-mode"),
        group_interface,
        next: Next::parse(m)?,
    };
    tunnel::add_del(w, m, spec)
}
