// SPDX-License-Identifier: Apache-2.0
//! The commands that change something.

use crate::model::{Gpe, Protocol};
use crate::show;
use cli::{Command, Error, Matches, Output, Result, retval};
use graph::World;
use tunnel::TunnelEndpoints;
use wire::VxlanGpe as Header;

pub const COMMANDS: &[Command<World>] = &[
    Command {
        path: "create vxlan-gpe tunnel",
        usage: concat!(
            "({local <source:ip>} {remote <destination:ip> | group <group:ip> <interface:interface>} {vni <vni:u32>} [next-ip4] [next-ip6] \
             [next-ethernet] [next-nsh] [instance <instance:u32>] [encap-vrf-id <table:u32>] [decap-vrf-id <decaptable:u32>] \
             [src_port <sourceport:u16>] [dst_port <destinationport:u16>] ",
            tunnel::marks_usage!(),
            " [del])"
        ),
        help: "Make an interface whose packets go to another router in datagrams, or to a group of routers; next-…: its payload, IPv4 \
               without",
        run: create,
    },
    Command {
        path: "show vxlan-gpe",
        usage: "[raw]",
        help: "VXLAN-GPE tunnels",
        run: show::tunnels,
    },
    Command {
        path: "set interface ip vxlan-gpe-bypass",
        usage: "<interface:interface> [del]",
        help: "Take datagrams of VXLAN-GPE tunnels out of the received IPv4 packets before these are looked up",
        run: |w, m| tunnel::set_bypass::<Gpe>(w, m, false),
    },
    Command {
        path: "set interface ip6 vxlan-gpe-bypass",
        usage: "<interface:interface> [del]",
        help: "Take datagrams of VXLAN-GPE tunnels out of the received IPv6 packets before these are looked up",
        run: |w, m| tunnel::set_bypass::<Gpe>(w, m, true),
    },
];

fn protocol(m: &Matches) -> Result<Protocol> {
    let named = |(name, _): &(&'static str, Protocol)| m.flag(&format!("next-{name}"));
    let mut all = Protocol::ALL.into_iter().filter(named);
    match (all.next(), all.next()) {
        (None, _) => Ok(Protocol::Ip4),
        (Some((_, protocol)), None) => Ok(protocol),
        (Some(_), Some(_)) => Err(Error::usage("a tunnel has one payload: one word next-… only")),
    }
}

fn create(w: &World, m: &Matches) -> Result<Output> {
    let (remote, group_interface) = tunnel::other_end(w, m, "destination")?;
    let port = |word| {
        m.opt::<u16>(word).map(|port| port.filter(|port| *port != 0).unwrap_or(Header::PORT))
    };
    let spec = Gpe {
        ends: TunnelEndpoints {
            local: m.req("source")?,
            remote,
            table: m.opt("table")?.unwrap_or(0),
        },
        marks: tunnel::parse(m)?,
        vni: tunnel::vni(m)?,
        protocol: protocol(m)?,
        decap_table: m.opt("decaptable")?.unwrap_or(0),
        local_port: port("sourceport")?,
        remote_port: port("destinationport")?,
        group_interface,
    };
    tunnel::add_del(w, m, spec)
        .map_err(|e| if e.is(retval::NO_SUCH_INNER_FIB) { e.at(m.span("decaptable")) } else { e })
}
