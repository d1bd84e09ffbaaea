// SPDX-License-Identifier: Apache-2.0
//! The commands: parse, call, print.

mod address;
mod broadcast;
mod local;

use cli::Command;
use graph::World;
use wire::{Ip4, Ip6};

pub const COMMANDS: &[Command<World>] = cli::commands! {
    /// Set the link-local address of an interface, or let it follow from the MAC address again
    "set ip6 link-local address",
    "<interface:interface> <address:ip6> [del]" => address::link_local;
    /// Next nodes of packets for us, by protocol
    "show ip local" => local::show::<Ip4>;
    /// Next nodes of IPv6 packets for us, by protocol
    "show ip6 local" => local::show::<Ip6>;
    /// Give an interface an address, or take it away
    "set interface ip address",
    "{del <interface:interface> {<prefix:prefix> | all} | <interface:interface> <prefix:prefix> [del]}"
        => address::set;
    /// Send packets for the broadcast addresses of an interface's networks there, or drop them
    "set interface ip directed-broadcast",
    "<interface:interface> {enable|disable}" => broadcast::set;
    /// Let an interface without an address use another's; its routes have to be set
    "set interface unnumbered",
    "{del <interface:interface> | <interface:interface> use <lender:interface>}"
        => address::unnumbered;
    /// Move an interface to an IPv4 route table
    "set interface ip table", "<interface:interface> <table:u32>" => address::table::<Ip4>;
    /// Move an interface to an IPv6 route table
    "set interface ip6 table", "<interface:interface> <table:u32>" => address::table::<Ip6>;
    /// Enable IPv4 on an interface without an address
    "enable ip4 interface", "<interface:interface>" => address::enable::<Ip4>;
    /// Enable IPv6 on an interface without an address
    "enable ip6 interface", "<interface:interface>" => address::enable::<Ip6>;
    /// Take back `enable ip4 interface'
    "disable ip4 interface", "<interface:interface>" => address::disable::<Ip4>;
    /// Take back `enable ip6 interface'
    "disable ip6 interface", "<interface:interface>" => address::disable::<Ip6>;
};
