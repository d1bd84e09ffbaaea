// SPDX-License-Identifier: Apache-2.0
//! The commands: parse, call, print.

pub mod adjacency;
pub mod fib;
mod load;
mod objects;
pub mod route;
mod table;

use cli::Command;
use graph::World;
use wire::{Ip4, Ip6};

const ROUTE: &str = concat!(
    "([add|del] [count <count:u32>] [table <table:u32>] <prefix:prefix>) [{",
    crate::path_usage!(),
    "}... | drop] | add file <file:string>"
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
        usage: "[summary] [<interface:interface>] [{<prefix:prefix> | <address:ip>}] [summary] [detail]",
        help: "Routes to link-local addresses: each link has its own; with a prefix who set it, with an address what it takes",
        run: fib::links,
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
];
