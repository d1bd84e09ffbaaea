// SPDX-License-Identifier: Apache-2.0
//! The commands: parse, call, print.

mod route;
mod show;

use cli::Command;
use graph::World;
use wire::{Ip4, Ip6};

const ROUTE: &str = "[add|del] [table <table:u32>] {<prefix:prefix> | <first:ip>} \
     [<second:ip>] [table <table:u32>] [rpf-id <rpf-id:u32>] [Signal] [Drop] [Connected] [Accept-all-itf] \
     [via {local | <nexthop:ip> <interface:interface> | <interface:interface>} \
     [Accept] [Forward] [Negate-Signal] [Dont-Preserve]]...";

const MFIB: &str = "[summary] [table <table:u32>] [index <index:u32>] [{<prefix:prefix> | <first:ip> [<second:ip>]}] [summary]";

pub const COMMANDS: &[Command<World>] = cli::commands! {
    /// Add or delete a multicast route, of a group or several, or of a sender and a group, or paths
    /// of it
    "ip mroute", ROUTE => route::run;
    /// Multicast routes; with a group, or a sender and a group, what packets take
    "show ip mfib", MFIB => show::mfib::<Ip4>;
    /// Multicast routes; with a group, or a sender and a group, what packets take
    "show ip6 mfib", MFIB => show::mfib::<Ip6>;
    /// Flags of a multicast route
    "show mfib route flags" => show::route_flags;
    /// Flags of an interface of a multicast route
    "show mfib itf flags" => show::itf_flags;
    /// Multicast routes of all tables, with their counters
    "show mfib entry" => show::entries;
    /// Interfaces of multicast routes
    "show mfib interface", "[<interface:interface>]" => show::interfaces;
    /// Where the packets of multicast routes go at present
    "show replicate", "[<index:u32>]" => show::replicate;
};
