// SPDX-License-Identifier: Apache-2.0
//! The commands.

use crate::control::{Endpoint, Teib};
use cli::{Command, Matches, Output, Result, retval};
use graph::World;
use net::Interfaces;
use net::args::interface;

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
