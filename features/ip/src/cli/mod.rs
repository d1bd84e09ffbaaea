// SPDX-License-Identifier: Apache-2.0
//! The commands: parse, call, print.

mod address;
mod adjacency;
pub mod fib;
mod load;
mod objects;
mod path_mtu;
pub mod route;
mod table;

use crate::{container, super_path};
pub use adjacency::describe as describe_adjacency;
use cli::{Command, Error, Matches};
use graph::{SwIfIndex, World};
use net::{Fib, Interfaces, Net, TableIndex};
use wire::{Ip4, Ip6};

const ROUTE: &str = concat!(
    "[add|del] [count <count:u32>] [table <table:u32>] <prefix:prefix> [table <table:u32>] [count <count:u32>] {",
    crate::path_usage!(),
    "}... | [add|del] [count <count:u32>] [table <table:u32>] <prefix:prefix> [table <table:u32>] [count <count:u32>] [drop] \
     | add file <file:string>"
);

const FIB: &str = "[mtrie|memory] [summary] [table <table:u32>] [index <index:u32>] [{<prefix:prefix> | <address:ip>}] [summary] [detail]";
const FIB_HELP: &str = "Routes; with a prefix who set it, with an address what it takes";

pub const COMMANDS: &[Command<World>] = &[
    Command {
        path: "ip route",
        usage: ROUTE,
        help: "Add or delete a route, or `count' routes to networks one behind the other; or add those of a file, one to a line",
        run: route::run,
    },
    Command {
        path: "ip table",
        usage: "{add {<table:u32> | allocate} [name <name:string>] | {del|flush} <table:u32>}",
        help: "Make a route table (VRF), delete one with its routes, or delete what was set in it",
        run: table::run::<Ip4>,
    },
    Command {
        path: "ip6 table",
        usage: "{add {<table:u32> | allocate} [name <name:string>] | {del|flush} <table:u32>}",
        help: "Make an IPv6 route table (VRF), delete one with its routes, or delete what was set in it",
        run: table::run::<Ip6>,
    },
    Command {
        path: "show ip table",
        usage: "[<table:u32>]",
        help: "Route tables",
        run: fib::tables::<Ip4>,
    },
    Command {
        path: "show ip6 table",
        usage: "[<table:u32>]",
        help: "IPv6 route tables",
        run: fib::tables::<Ip6>,
    },
    Command { path: "show ip fib", usage: FIB, help: FIB_HELP, run: fib::show::<Ip4> },
    Command { path: "show ip6 fib", usage: FIB, help: FIB_HELP, run: fib::show::<Ip6> },
    Command {
        path: "show ip6-ll",
        usage: "[<interface:interface>]",
        help: "Routes to link-local addresses: each link has its own",
        run: fib::links,
    },
    Command {
        path: "set ip6 link-local address",
        usage: "<interface:interface> <address:ip6> [del]",
        help: "Set the link-local address of an interface, or let it follow from the MAC address again",
        run: address::link_local,
    },
    Command {
        path: "show adj",
        usage: "[<index:u32>] [<interface:interface>] [summary]",
        help: "Adjacencies: where packets go once their route is found",
        run: adjacency::show,
    },
    Command {
        path: "show adj nbr",
        usage: "[<index:u32>] [<interface:interface> [<nexthop:ip>]] [summary]",
        help: "Adjacencies of neighbours",
        run: adjacency::neighbors,
    },
    Command {
        path: "adjacency counters",
        usage: "{enable|disable}",
        help: "Count packets by adjacency: that is always done",
        run: adjacency::counters,
    },
    Command {
        path: "show load-balance",
        usage: "[<index:u32>]",
        help: "Choices among paths, with their buckets",
        run: objects::load_balance,
    },
    Command {
        path: "show lookup-dpo",
        usage: "[<index:u32>]",
        help: "Adjacencies that look packets up in another table",
        run: objects::lookups,
    },
    Command {
        path: "show fib entry",
        usage: "[<index:u32>]",
        help: "Entries of all route tables; one of a number with who set it",
        run: objects::entries,
    },
    Command {
        path: "show fib memory",
        usage: "",
        help: "Memory of route tables and of the objects that routes consist of",
        run: objects::memory,
    },
    Command {
        path: "show fib path-lists",
        usage: "[<index:u32>]",
        help: "Lists of paths, each shared by entries with the same paths",
        run: objects::path_lists,
    },
    Command {
        path: "show fib paths",
        usage: "",
        help: "The paths of all lists",
        run: objects::path_lists,
    },
    Command {
        path: "show fib source",
        usage: "[prio]",
        help: "Sources of routes, by number or by priority",
        run: objects::sources,
    },
    Command {
        path: "ip container",
        usage: container::USAGE,
        help: "Deliver packets to addresses behind an interface here, or no longer",
        run: container::run,
    },
    Command {
        path: "show ip container",
        usage: "[<address:ip>] [<interface:interface>]",
        help: "Addresses behind interfaces that are delivered here",
        run: container::show,
    },
    Command {
        path: "show ip local",
        usage: "",
        help: "Next nodes of packets for us, by protocol",
        run: objects::local::<Ip4>,
    },
    Command {
        path: "show ip6 local",
        usage: "",
        help: "Next nodes of IPv6 packets for us, by protocol",
        run: objects::local::<Ip6>,
    },
    Command {
        path: "show adjacency",
        usage: "[<index:u32>] [<interface:interface>] [summary]",
        help: "Adjacencies: where packets go once their route is found",
        run: adjacency::show,
    },
    Command {
        path: "set ip flow-hash",
        usage: "({table <table:u32>} [src|dst|sport|dport|proto|reverse|symmetric|flowlabel]...)",
        help: "Set the packet fields that select among the equal-cost paths of a table's routes",
        run: table::flow_hash::<Ip4>,
    },
    Command {
        path: "set ip6 flow-hash",
        usage: "({table <table:u32>} [src|dst|sport|dport|proto|reverse|symmetric|flowlabel]...)",
        help: "Set the packet fields that select among the equal-cost paths of an IPv6 table's routes",
        run: table::flow_hash::<Ip6>,
    },
    Command {
        path: "set ip flow-hash router-id",
        usage: "<id:u32>",
        help: "This router's number in the choice among equal paths of both protocols: routers in a row need different ones",
        run: table::flow_router_id,
    },
    Command {
        path: "set ip route-counters",
        usage: "{on|off}",
        help: "Count packets by route (the default), or save the time with very many routes in use at once",
        run: table::route_counters,
    },
    Command {
        path: "set super-path",
        usage: "{on|off}",
        help: "Take ordinary packets from Ethernet to Ethernet in one node (the default), or every packet through the graph",
        run: super_path::set,
    },
    Command {
        path: "show super-path",
        usage: "",
        help: "Interfaces whose ordinary packets take one node, and the features that need the graph",
        run: super_path::show,
    },
    Command {
        path: "set interface ip address",
        usage: "{del <interface:interface> {<prefix:prefix> | all} | <interface:interface> <prefix:prefix> [del]}",
        help: "Give an interface an address, or take it away",
        run: address::set,
    },
    Command {
        path: "ip path-mtu",
        usage: "<address:ip> {<mtu:68-65535> | del} [table <table:u32>]",
        help: "Set the MTU of the path to a host or over a next hop, or forget it",
        run: path_mtu::set,
    },
    Command {
        path: "show ip pmtu",
        usage: "",
        help: "Path MTUs of both versions: those that were set, and those that routers told",
        run: path_mtu::show,
    },
    Command {
        path: "set interface ip directed-broadcast",
        usage: "<interface:interface> {enable|disable}",
        help: "Send packets for the broadcast addresses of an interface's networks there, or drop them",
        run: path_mtu::directed_broadcast,
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

/// The interface of a placeholder.
fn interface(w: &World, m: &Matches) -> Result<SwIfIndex, Error> {
    interface_of(w, m, "interface")
}

fn interface_of(w: &World, m: &Matches, name: &str) -> Result<SwIfIndex, Error> {
    w.get::<Interfaces>().find(m.str(name)).map_err(|e| e.at(m.span(name)))
}

/// The table of a placeholder that holds an id; the default one, if it wasn't given.
fn table<F: Net>(w: &World, m: &Matches, name: &str) -> Result<TableIndex, Error> {
    match m.opt::<u32>(name)? {
        None => Ok(TableIndex::DEFAULT),
        Some(id) => w.get::<Fib<F>>().find_table(id).map_err(|e| e.at(m.span(name))),
    }
}

/// Error for an address of the other IP version.
fn other_version<F: Net>(m: &Matches, name: &str) -> Error {
    let wrong = format!("{} is no IPv{} address", m.str(name), F::VERSION);
    Error::parse(wrong).at(m.span(name))
}

/// Returns true if the placeholder holds an IPv6 address or prefix.
fn is_v6(m: &Matches, name: &str) -> bool {
    match m.arg(name).map(|arg| arg.value) {
        Some(cli::Value::Prefix(addr, _) | cli::Value::Ip(addr)) => addr.is_ipv6(),
        _ => false,
    }
}
