// SPDX-License-Identifier: Apache-2.0
//! The commands.

use crate::control::{Endpoint, Teib};
use cli::{Command, Matches, Output, Result, Table, Writer, retval};
use graph::{SwIfIndex, World};
use net::Interfaces;

pub const COMMANDS: &[Command<World>] = &[
    Command {
        path: "create teib",
        usage: "(<interface:interface> {peer <peer:ip>} {nh <nexthop:ip>} [nh-table-id <table:u32>])",
        help: "Say at which address of the underlay an interface's peer is",
        run: create,
    },
    Command {
        path: "delete teib",
        usage: "(<interface:interface> {peer <peer:ip>})",
        help: "Forget where an interface's peer is",
        run: delete,
    },
    Command { path: "show teib", usage: "", help: "Where peers of interfaces are", run: show },
];

fn interface(w: &World, m: &Matches) -> Result<SwIfIndex> {
    w.get::<Interfaces>().find(m.str("interface")).map_err(|e| e.at(m.span("interface")))
}

fn create(w: &World, m: &Matches) -> Result<Output> {
    let to = Endpoint { nexthop: m.req("nexthop")?, table: m.opt("table")?.unwrap_or(0) };
    let done = w.get::<Teib>().add(w, interface(w, m)?, m.req("peer")?, to);
    done.map_err(|e| if e.is(retval::NO_SUCH_FIB) { e.at(m.span("table")) } else { e })?;
    Ok(Output::empty())
}

fn delete(w: &World, m: &Matches) -> Result<Output> {
    w.get::<Teib>().remove(w, interface(w, m)?, m.req("peer")?)?;
    Ok(Output::empty())
}

fn show(w: &World, _: &Matches) -> Result<Output> {
    let table = Table::new().left("interface").left("peer").left("next hop").right("table");
    Ok(table.list(w.get::<Teib>().list(), |w: &World, (sw_if, peer, to), out: &mut Writer| {
        let name = w.get::<Interfaces>().name(sw_if);
        out.row([
            name.into(),
            peer.to_string().into(),
            to.nexthop.to_string().into(),
            to.table.into(),
        ]);
        Ok(())
    }))
}
