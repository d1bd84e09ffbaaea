// SPDX-License-Identifier: Apache-2.0
//! The commands: parse, call, print.

use crate::broadcast::DirectedBroadcast;
use crate::control;
use crate::protocols::Protocols;
use cli::{Command, Matches, Output, Result};
use graph::{SwIfIndex, World};
use net::args::{interface, is_v6, prefix};
use net::{Addresses, LinkLocals, Net};
use wire::{Ip4, Ip6};

pub const COMMANDS: &[Command<World>] = cli::commands! {
    /// Set the link-local address of an interface, or let it follow from the MAC address again
    "set ip6 link-local address",
    "<interface:interface> <address:ip6> [del]" => link_local;
    /// Next nodes of packets for us, by protocol
    "show ip local" => local::<Ip4>;
    /// Next nodes of IPv6 packets for us, by protocol
    "show ip6 local" => local::<Ip6>;
    /// Give an interface an address, or take it away
    "set interface ip address",
    "{del <interface:interface> {<prefix:ifaddr> | all} | <interface:interface> <prefix:ifaddr> [del]}"
        => set_address;
    /// Send packets for the broadcast addresses of an interface's networks there, or drop them
    "set interface ip directed-broadcast",
    "<interface:interface> {enable|disable}" => |w, m| {
        w.get::<DirectedBroadcast>().set(w, interface(w, m, "interface")?, m.flag("enable"))
    };
    /// Let an interface without an address use another's; its routes have to be set
    "set interface unnumbered",
    "{del <interface:interface> | <interface:interface> use <lender:interface>}"
        => unnumbered;
    /// Move an interface to an IPv4 route table
    "set interface ip table", "<interface:interface> <table:u32>" => table::<Ip4>;
    /// Move an interface to an IPv6 route table
    "set interface ip6 table", "<interface:interface> <table:u32>" => table::<Ip6>;
    /// Enable IPv4 on an interface without an address
    "enable ip4 interface", "<interface:interface>" => |w, m| enable::<Ip4>(w, m, true);
    /// Enable IPv6 on an interface without an address
    "enable ip6 interface", "<interface:interface>" => |w, m| enable::<Ip6>(w, m, true);
    /// Take back `enable ip4 interface'
    "disable ip4 interface", "<interface:interface>" => |w, m| enable::<Ip4>(w, m, false);
    /// Take back `enable ip6 interface'
    "disable ip6 interface", "<interface:interface>" => |w, m| enable::<Ip6>(w, m, false);
};

fn set_address(w: &World, m: &Matches) -> Result<()> {
    let sw_if = interface(w, m, "interface")?;
    if m.flag("all") {
        w.get::<Addresses<Ip4>>().clear(w, sw_if)?;
        return w.get::<Addresses<Ip6>>().clear(w, sw_if);
    }
    net::by_version!(is_v6(m, "prefix"), F => change::<F>(w, m, sw_if))
}

fn change<F: Net>(w: &World, m: &Matches, sw_if: SwIfIndex) -> Result<()> {
    let prefix = prefix::<F>(m, "prefix")?;
    let done = if m.flag("del") {
        control::remove_address::<F>(w, sw_if, prefix)
    } else {
        control::add_address::<F>(w, sw_if, prefix)
    };
    done.map_err(m.at("prefix"))
}

fn link_local(w: &World, m: &Matches) -> Result<()> {
    let (sw_if, address) = (interface(w, m, "interface")?, m.req("address")?);
    let done = if m.flag("del") {
        w.get::<LinkLocals>().set(w, sw_if, None)
    } else {
        control::set_link_local(w, sw_if, address)
    };
    done.map_err(m.at("address"))
}

fn table<F: Net>(w: &World, m: &Matches) -> Result<()> {
    w.get::<Addresses<F>>().set_table(w, interface(w, m, "interface")?, m.req("table")?)
}

fn enable<F: Net>(w: &World, m: &Matches, on: bool) -> Result<()> {
    w.get::<Addresses<F>>().enable(w, interface(w, m, "interface")?, on)
}

fn unnumbered(w: &World, m: &Matches) -> Result<()> {
    let lender = if m.flag("del") { None } else { Some(interface(w, m, "lender")?) };
    control::set_unnumbered(w, interface(w, m, "interface")?, lender)
}

/// Protocols of packets for us, and the nodes that take them.
fn local<F: Net>(w: &World, _: &Matches) -> Result<Output> {
    Ok(cli::columns!(w.get::<Protocols<F>>().list(), |w: &World, (protocol, node)| {
        "number" right => u32::from(protocol.0),
        "protocol" => protocol.to_string(),
        "node" => w.node_name(node).to_string(),
    }))
}
