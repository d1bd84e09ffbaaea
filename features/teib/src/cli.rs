// SPDX-License-Identifier: Apache-2.0
//! The commands.

use crate::control::{Endpoint, Teib};
use cli::{Command, Matches, Output, Result, retval};
use graph::World;
use net::args::interface;
use net::{Fib, Interfaces};
use std::net::IpAddr;
use wire::{Ip4, Ip6};

pub const COMMANDS: &[Command<World>] = cli::commands! {
    /// Map a peer of a multipoint tunnel to its address in the underlay (as NHRP does)
    "create teib",
    "(<interface:interface> {peer <peer:ip>} {nh <nexthop:ip>} [nh-table-id <table:u32>])"
        => create;
    /// Forget where an interface's peer is
    "delete teib", "(<interface:interface> {peer <peer:ip>})"
        => |w, m| w.get::<Teib>().remove(w, interface(w, m, "interface")?, m.req("peer")?);
    /// Where peers of interfaces are
    "show teib" => show;
};

fn create(w: &World, m: &Matches) -> Result<()> {
    let to = Endpoint { nexthop: m.req("nexthop")?, table: m.opt("table")?.unwrap_or(0) };
    m.note(|| {
        let table = match to.nexthop {
            IpAddr::V4(_) => w.get::<Fib<Ip4>>().find_table(to.table),
            IpAddr::V6(_) => w.get::<Fib<Ip6>>().find_table(to.table),
        };
        net::notes::own_next_hop(w, to.nexthop, None, table.ok()?)
    });
    let done = w.get::<Teib>().add(w, interface(w, m, "interface")?, m.req("peer")?, to);
    done.map_err(|e| if e.is(retval::NO_SUCH_FIB) { e.at(m.span("table")) } else { e })
}

fn show(w: &World, _: &Matches) -> Result<Output> {
    Ok(cli::columns!(w.get::<Teib>().list(), |w: &World, (sw_if, peer, to)| {
        "interface" => w.get::<Interfaces>().name(sw_if),
        "peer" => peer.to_string(),
        "next hop" => to.nexthop.to_string(),
        "table" right => to.table,
    }))
}
