// SPDX-License-Identifier: Apache-2.0
//! The commands that change something.

use crate::bypass::BypassInterfaces;
use crate::show;
use crate::spec::{NEXT, Next, Vxlan};
use cli::{Command, Error, Matches, Output, Result, retval};
use graph::{SwIfIndex, World};
use net::Interfaces;
use tunnel::{TunnelEndpoints, Tunnels};
use wire::Vxlan as Header;

pub const COMMANDS: &[Command<World>] = &[
    Command {
        path: "create vxlan tunnel",
        usage: "({src <source:ip>} {dst <destination:ip> | group <group:ip> <interface:interface>} {vni <vni:u32>} [instance <instance:u32>] \
                [encap-vrf-id <table:u32>] [decap-next <next:l2|drop|node> [<node:word>]] [l3] [src_port <sourceport:u16>] \
                [dst_port <destinationport:u16>] [del])",
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
        run: |w, m| bypass(w, m, false),
    },
    Command {
        path: "set interface ip6 vxlan-bypass",
        usage: "<interface:interface> [del]",
        help: "Take datagrams of VXLAN tunnels out of the received IPv6 packets before these are looked up",
        run: |w, m| bypass(w, m, true),
    },
    Command {
        path: "set flow-offload vxlan",
        usage: "{hw <interface:interface>} {rx <tunnel:interface>} [del]",
        help: "Let a device find the tunnel of received datagrams: no device of this build can",
        run: offload,
    },
];

fn interface(w: &World, m: &Matches, word: &str) -> Result<SwIfIndex> {
    w.get::<Interfaces>().find(m.str(word)).map_err(|e| e.at(m.span(word)))
}

fn create(w: &World, m: &Matches) -> Result<Output> {
    let group = m.has("group");
    let remote = if group { m.req("group")? } else { m.req("destination")? };
    let ends =
        TunnelEndpoints { local: m.req("source")?, remote, table: m.opt("table")?.unwrap_or(0) };
    let vni: u32 = m.req("vni")?;
    if vni == 0 || vni >> 24 != 0 {
        return Err(Error::parse(format!("a network identifier has 24 bits and isn't 0: {vni}"))
            .at(m.span("vni")));
    }
    let port = |word| {
        m.opt::<u16>(word).map(|port| port.filter(|port| *port != 0).unwrap_or(Header::PORT))
    };
    let next = match (m.has("next").then(|| m.str("next")), m.has("node").then(|| m.str("node"))) {
        (None | Some("l2"), None) => Next::Interface,
        (Some("drop"), None) => Next::Drop,
        (Some("node"), Some(name)) => {
            let node = NEXT.into_iter().find(|node| *node == name).ok_or_else(|| {
                let why = format!(
                    "packets out of a tunnel can't go to {name}, but to {}",
                    NEXT.join(", ")
                );
                Error::parse(why).at(m.span("node")).retval(retval::INVALID_DECAP_NEXT)
            })?;
            Next::Node(node)
        }
        _ => return Err(Error::usage("decap-next is l2, drop, or node NAME").at(m.span("next"))),
    };
    let spec = Vxlan {
        ends,
        vni,
        source_port: port("sourceport")?,
        destination_port: port("destinationport")?,
        layer3: m.flag("l3"),
        group_interface: if group { Some(interface(w, m, "interface")?) } else { None },
        next,
    };
    let tunnels = w.get::<Tunnels<Vxlan>>();
    if m.flag("del") {
        let sw_if = tunnels.find(w, &spec)?;
        tunnels.delete(w, sw_if)?;
        return Ok(Output::empty());
    }
    let sw_if = spec.create(w, m.opt("instance")?).map_err(|e| match () {
        () if e.is(retval::NO_SUCH_FIB) => e.at(m.span("table")),
        () if e.is(retval::INSTANCE_IN_USE) => e.at(m.span("instance")),
        () => e,
    })?;
    Ok(Output::text(format!("{}\n", w.get::<Interfaces>().name(sw_if))))
}

fn bypass(w: &World, m: &Matches, is_v6: bool) -> Result<Output> {
    w.get::<BypassInterfaces>().set(w, interface(w, m, "interface")?, is_v6, !m.flag("del"))?;
    Ok(Output::empty())
}

fn offload(w: &World, m: &Matches) -> Result<Output> {
    let (device, tunnel) = (interface(w, m, "interface")?, interface(w, m, "tunnel")?);
    Err(refuse_offload(w, device, tunnel))
}

/// Why a device doesn't find a tunnel's datagrams.
pub fn refuse_offload(w: &World, device: SwIfIndex, tunnel: SwIfIndex) -> Error {
    let interfaces = w.get::<Interfaces>();
    let Ok(device) = interfaces.get(device) else {
        return Error::not_found("the device isn't there").retval(retval::NO_SUCH_ENTRY);
    };
    let Some(tunnel) = w.get::<Tunnels<Vxlan>>().get(tunnel) else {
        return Error::failed("the interface is no VXLAN tunnel")
            .retval(retval::INVALID_SW_IF_INDEX_2);
    };
    if tunnel.spec.ends.local.is_ipv6() {
        return Error::unsupported("devices find tunnels of IPv4 only")
            .retval(retval::INVALID_ADDRESS_FAMILY);
    }
    if tunnel.spec.ends.table_index(w).is_ok_and(|table| table.0 != device.fib4) {
        return Error::failed("the device has another table than the tunnel")
            .retval(retval::NO_SUCH_FIB);
    }
    Error::unsupported(format!("{} can't find tunnels", device.name)).retval(retval::UNSPECIFIED)
}
