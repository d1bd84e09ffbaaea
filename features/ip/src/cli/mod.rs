// SPDX-License-Identifier: Apache-2.0
//! The commands: parse, call, print.

mod address;
mod adjacency;
mod fib;
mod load;
mod route;
mod table;

use cli::{Command, Error, Matches};
use graph::{SwIfIndex, World};
use net::{Fib, Interfaces, Net, TableIndex};
use wire::Ip4;

const ROUTE: &str = "{add|del} [count <count:u32>] [table <table:u32>] <prefix:prefix> [table <table:u32>] [count <count:u32>] \
     {via {<nexthop:ip> [<interface:interface>] [next-hop-table <nexthop-table:u32>] \
     | ip4-lookup-in-table <lookup:u32> | ip6-lookup-in-table <lookup6:u32> \
     | drop | blackhole | punt | local | unreach | icmp-unreach | prohibit | icmp-prohibit \
     | <interface:interface>} \
     [weight <weight:1-255>] [preference <preference:u8>]}... \
     | {add|del} [count <count:u32>] [table <table:u32>] <prefix:prefix> [table <table:u32>] [count <count:u32>] [drop] \
     | add file <file:string>";

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
        run: table::run,
    },
    Command { path: "show ip table", usage: "[<table:u32>]", help: "Route tables", run: fib::tables },
    Command {
        path: "show ip fib",
        usage: "[summary] [table <table:u32>] [index <index:u32>] [{<prefix:prefix> | <address:ip>}] [summary] [detail]",
        help: "Routes; with a prefix who set it, with an address what it takes",
        run: fib::show,
    },
    Command {
        path: "show adj",
        usage: "[<index:u32>] [<interface:interface>] [summary]",
        help: "Adjacencies: where packets go once their route is found",
        run: adjacency::show,
    },
    Command {
        path: "show adjacency",
        usage: "[<index:u32>] [<interface:interface>] [summary]",
        help: "Adjacencies: where packets go once their route is found",
        run: adjacency::show,
    },
    Command {
        path: "set ip flow-hash",
        usage: "table <table:u32> [src|dst|sport|dport|proto|reverse|symmetric|flowlabel]...",
        help: "What chooses among equal paths of a table's routes",
        run: table::flow_hash,
    },
    Command {
        path: "set ip route-counters",
        usage: "{on|off}",
        help: "Count packets by route (the default), or save the time with very many routes in use at once",
        run: table::route_counters,
    },
    Command {
        path: "set interface ip address",
        usage: "{del <interface:interface> {<prefix:prefix> | all} | <interface:interface> <prefix:prefix> [del]}",
        help: "Give an interface an address, or take it away",
        run: address::set,
    },
    Command {
        path: "set interface unnumbered",
        usage: "{del <interface:interface> | <interface:interface> use <lender:interface>}",
        help: "Let an interface without an address use another's; its routes have to be set",
        run: address::unnumbered,
    },
    Command {
        path: "show interface address",
        usage: "[<interface:interface>]",
        help: "Addresses of interfaces",
        run: address::show,
    },
    Command {
        path: "set interface ip table",
        usage: "<interface:interface> <table:u32>",
        help: "Move an interface to an IPv4 route table",
        run: address::table,
    },
    Command {
        path: "enable ip4 interface",
        usage: "<interface:interface>",
        help: "Enable IPv4 on an interface without an address",
        run: address::enable,
    },
    Command {
        path: "disable ip4 interface",
        usage: "<interface:interface>",
        help: "Take back `enable ip4 interface'",
        run: address::disable,
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
fn table(w: &World, m: &Matches, name: &str) -> Result<TableIndex, Error> {
    table_in::<Ip4>(w, m, name)
}

/// As [`table`], of a protocol.
fn table_in<F: Net>(w: &World, m: &Matches, name: &str) -> Result<TableIndex, Error> {
    match m.opt::<u32>(name)? {
        None => Ok(TableIndex::DEFAULT),
        Some(id) => w.get::<Fib<F>>().find_table(id).map_err(|e| e.at(m.span(name))),
    }
}

/// What is said where an IPv6 value stands.
fn no_ip6(m: &Matches, name: &str) -> Error {
    Error::unsupported("IPv6 routes are not built yet").at(m.span(name))
}
