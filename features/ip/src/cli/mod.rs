// SPDX-License-Identifier: Apache-2.0
//! The commands: parse, call, print.

mod address;
mod broadcast;
mod local;

use cli::Command;
use graph::World;
use wire::{Ip4, Ip6};

pub const COMMANDS: &[Command<World>] = &[
    Command {
        path: "set ip6 link-local address",
        usage: "<interface:interface> <address:ip6> [del]",
        help: "Set the link-local address of an interface, or let it follow from the MAC address again",
        run: address::link_local,
    },
    Command {
        path: "show ip local",
        usage: "",
        help: "Next nodes of packets for us, by protocol",
        run: local::show::<Ip4>,
    },
    Command {
        path: "show ip6 local",
        usage: "",
        help: "Next nodes of IPv6 packets for us, by protocol",
        run: local::show::<Ip6>,
    },
    Command {
        path: "set interface ip address",
        usage: "{del <interface:interface> {<prefix:prefix> | all} | <interface:interface> <prefix:prefix> [del]}",
        help: "Give an interface an address, or take it away",
        run: address::set,
    },
    Command {
        path: "set interface ip directed-broadcast",
        usage: "<interface:interface> {enable|disable}",
        help: "Send packets for the broadcast addresses of an interface's networks there, or drop them",
        run: broadcast::set,
    },
    Command {
        path: "set interface unnumbered",
        usage: "{del <interface:interface> | <interface:interface> use <lender:interface>}",
        help: "Let an interface without an address use another's; its routes have to be set",
        run: address::unnumbered,
    },
    Command {
        path: "set interface ip table",
        usage: "<interface:interface> <table:u32>",
        help: "Move an interface to an IPv4 route table",
        run: address::table::<Ip4>,
    },
    Command {
        path: "set interface ip6 table",
        usage: "<interface:interface> <table:u32>",
        help: "Move an interface to an IPv6 route table",
        run: address::table::<Ip6>,
    },
    Command {
        path: "enable ip4 interface",
        usage: "<interface:interface>",
        help: "Enable IPv4 on an interface without an address",
        run: address::enable::<Ip4>,
    },
    Command {
        path: "enable ip6 interface",
        usage: "<interface:interface>",
        help: "Enable IPv6 on an interface without an address",
        run: address::enable::<Ip6>,
    },
    Command {
        path: "disable ip4 interface",
        usage: "<interface:interface>",
        help: "Take back `enable ip4 interface'",
        run: address::disable::<Ip4>,
    },
    Command {
        path: "disable ip6 interface",
        usage: "<interface:interface>",
        help: "Take back `enable ip6 interface'",
        run: address::disable::<Ip6>,
    },
];
