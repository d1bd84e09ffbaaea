// SPDX-License-Identifier: Apache-2.0
//! The commands: parse, call, print.

mod route;
mod show;

use cli::{Command, Error, Matches, Result};
use graph::World;
use net::{Fib, Net, TableIndex};
use wire::{Ip4, Ip6};

const ROUTE: &str = "[add|del] [table <table:u32>] {<prefix:prefix> | <first:ip>} \
     [<second:ip>] [table <table:u32>] [rpf-id <rpf-id:u32>] [Signal] [Drop] [Connected] [Accept-all-itf] \
     [via {local | <nexthop:ip> <interface:interface> | <interface:interface>} \
     [Accept] [Forward] [Negate-Signal] [Dont-Preserve]]...";

const MFIB: &str = "[summary] [table <table:u32>] [index <index:u32>] [{<prefix:prefix> | <first:ip> [<second:ip>]}] [summary]";
const MFIB_HELP: &str =
    "Multicast routes; with a group, or a sender and a group, what packets take";

pub const COMMANDS: &[Command<World>] = &[
    Command {
        path: "ip mroute",
        usage: ROUTE,
        help: "Add or delete a multicast route, of a group or several, or of a sender and a group, or paths of it",
        run: route::run,
    },
    Command { path: "show ip mfib", usage: MFIB, help: MFIB_HELP, run: show::mfib::<Ip4> },
    Command { path: "show ip6 mfib", usage: MFIB, help: MFIB_HELP, run: show::mfib::<Ip6> },
    Command {
        path: "show mfib route flags",
        usage: "",
        help: "Flags of a multicast route",
        run: show::route_flags,
    },
    Command {
        path: "show mfib itf flags",
        usage: "",
        help: "Flags of an interface of a multicast route",
        run: show::itf_flags,
    },
    Command {
        path: "show mfib entry",
        usage: "",
        help: "Multicast routes of all tables, with their counters",
        run: show::entries,
    },
    Command {
        path: "show mfib interface",
        usage: "[<interface:interface>]",
        help: "Interfaces of multicast routes",
        run: show::interfaces,
    },
    Command {
        path: "show replicate",
        usage: "[<index:u32>]",
        help: "Where the packets of multicast routes go at present",
        run: show::replicate,
    },
];

/// The table of a placeholder that holds an id; the default one, if it wasn't given.
fn table<F: Net>(w: &World, m: &Matches) -> Result<TableIndex> {
    match m.opt::<u32>("table")? {
        None => Ok(TableIndex::DEFAULT),
        Some(id) => w.get::<Fib<F>>().find_table(id).map_err(|e| e.at(m.span("table"))),
    }
}

/// Error for an address of the other IP version.
fn other_version<F: Net>(m: &Matches, name: &str) -> Error {
    Error::parse(format!("{} is no IPv{} address", m.str(name), F::VERSION)).at(m.span(name))
}
