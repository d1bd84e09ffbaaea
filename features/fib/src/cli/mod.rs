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
use net::{FlowRouterId, Routes};
use wire::{Ip4, Ip6};

const ROUTE: &str = concat!(
    "([add|del] [count <count:u32>] [table <table:u32>] <prefix:prefix>) [{",
    crate::path_usage!(),
    "}... | drop] | add file <file:string>"
);

const FIB: &str = "[mtrie|memory] [summary] [table <table:u32>] [index <index:u32>] [{<prefix:prefix> [longer-prefixes] | <address:ip>}] [via <nexthop:ip>] [summary] [detail]";

pub const COMMANDS: &[Command<World>] = cli::commands! {
    /// Add or delete a route, or `count' routes to networks one behind the other; or add those of a
    /// file, one to a line
    "ip route", ROUTE => route::run;
    /// Make a route table (VRF), delete one with its routes, or delete what was set in it
    "ip table", "{add {<table:u32> | allocate} [name <name:string>] | {del|flush} <table:u32>}"
        => table::run::<Ip4>;
    /// Make an IPv6 route table (VRF), delete one with its routes, or delete what was set in it
    "ip6 table", "{add {<table:u32> | allocate} [name <name:string>] | {del|flush} <table:u32>}"
        => table::run::<Ip6>;
    /// Route tables
    "show ip table", "[<table:u32>]" => fib::tables::<Ip4>;
    /// IPv6 route tables
    "show ip6 table", "[<table:u32>]" => fib::tables::<Ip6>;
    /// Routes; with a prefix the sources of the route, with an address the route that packets take;
    /// longer-prefixes: all routes inside of the prefix; via: routes that lead to this next hop
    "show ip fib", FIB => fib::show::<Ip4>;
    /// Routes; with a prefix the sources of the route, with an address the route that packets take;
    /// longer-prefixes: all routes inside of the prefix; via: routes that lead to this next hop
    "show ip6 fib", FIB => fib::show::<Ip6>;
    /// Routes to link-local addresses: each link has its own; with a prefix who set it, with an
    /// address what it takes
    "show ip6-ll",
    "[summary] [<interface:interface>] [{<prefix:prefix> | <address:ip>}] [summary] [detail]"
        => fib::links;
    /// Adjacencies: where packets go once their route is found
    "show adj", "[<index:u32>] [<interface:interface>] [summary]" => adjacency::show;
    /// Adjacencies of neighbours
    "show adj nbr",
    "[<index:u32>] [<interface:interface> [<nexthop:ip>]] [summary]" => adjacency::neighbors;
    /// Count packets by adjacency: that is always done
    "adjacency counters", "{enable|disable}" => adjacency::counters;
    /// Choices among paths, with their buckets
    "show load-balance", "[<index:u32>]" => objects::load_balance;
    /// Adjacencies that look packets up in another table
    "show lookup-dpo", "[<index:u32>]" => objects::lookups;
    /// Entries of all route tables; one of a number with who set it
    "show fib entry", "[<index:u32>]" => objects::entries;
    /// Memory of route tables and of the objects that routes consist of
    "show fib memory" => objects::memory;
    /// Lists of paths, each shared by entries with the same paths
    "show fib path-lists", "[<index:u32>]" => objects::path_lists;
    /// The paths of all lists
    "show fib paths" => objects::path_lists;
    /// Sources of routes, by number or by priority
    "show fib source", "[prio]" => objects::sources;
    /// Adjacencies: where packets go once their route is found
    "show adjacency", "[<index:u32>] [<interface:interface>] [summary]" => adjacency::show;
    /// Set the packet fields that select among the equal-cost paths of a table's routes
    "set ip flow-hash",
    "({table <table:u32>} [src|dst|sport|dport|proto|reverse|symmetric|flowlabel]...)"
        => table::flow_hash::<Ip4>;
    /// Set the packet fields that select among the equal-cost paths of an IPv6 table's routes
    "set ip6 flow-hash",
    "({table <table:u32>} [src|dst|sport|dport|proto|reverse|symmetric|flowlabel]...)"
        => table::flow_hash::<Ip6>;
    /// This router's number in the choice among equal paths of both protocols: routers in a row
    /// need different ones
    "set ip flow-hash router-id", "<id:u32>" => |w, m| {
        w.get::<FlowRouterId>().set(m.req("id")?);
        Ok(())
    };
    /// Count packets by route (the default), or save the time with very many routes in use at once
    "set ip route-counters", "{on|off}" => |w, m| {
        Routes::set_counting(w, m.flag("on"));
        Ok(())
    };
};
