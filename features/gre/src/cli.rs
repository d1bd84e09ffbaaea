// SPDX-License-Identifier: Apache-2.0
//! The commands that change something.

use crate::model::{Gre, Payload};
use crate::show;
use cli::{Command, Error, Matches, Output, Result, retval};
use graph::World;
use net::Interfaces;
use std::net::IpAddr;
use tunnel::{TunnelEndpoints, Tunnels};

pub const COMMANDS: &[Command<World>] = &[
    Command {
        path: "create gre tunnel",
        usage: concat!(
            "({src <source:ip>} [dst <destination:ip>] [instance <instance:u32>] [outer-fib-id <table:u32>] [teb] \
             [erspan <session:u16>] [multipoint] [key <key:u32>] ",
            tunnel::marks_usage!(),
            " [del])"
        ),
        help: "Make an interface whose packets go to another router behind a GRE header; teb, erspan: Ethernet frames; multipoint: the \
               other ends come by `create teib'",
        run: create,
    },
    Command {
        path: "show gre tunnel",
        usage: "[<interface:interface>]",
        help: "GRE tunnels",
        run: show::tunnels,
    },
];

fn create(w: &World, m: &Matches) -> Result<Output> {
    let local: IpAddr = m.req("source")?;
    let multipoint = m.flag("multipoint");
    let remote = match m.opt("destination")? {
        Some(remote) => remote,
        None if multipoint => tunnel::unspecified(local),
        None => return Err(Error::usage("the other end is missing: dst ADDRESS, or multipoint")),
    };
    let payload = match (m.flag("teb"), m.opt("session")?) {
        (false, None) => Payload::Ip,
        (true, None) => Payload::Ethernet,
        (false, Some(session)) => Payload::Erspan { session },
        (true, Some(_)) => return Err(Error::usage("a tunnel is of one type: teb or erspan")),
    };
    let ends = TunnelEndpoints { local, remote, table: m.opt("table")?.unwrap_or(0) };
    let key = m.opt("key")?.unwrap_or(0);
    let spec = Gre { ends, marks: tunnel::parse(m)?, payload, key, multipoint };
    if m.flag("del") {
        let tunnels = w.get::<Tunnels<Gre>>();
        let sw_if = tunnels.find(w, &spec)?;
        tunnels.delete(w, sw_if)?;
        return Ok(Output::empty());
    }
    let sw_if = spec.create(w, m.opt("instance")?).map_err(|e| match () {
        () if e.is(retval::NO_SUCH_FIB) => e.at(m.span("table")),
        () if e.is(retval::INSTANCE_IN_USE) => e.at(m.span("instance")),
        () if e.is(retval::INVALID_SESSION_ID) => e.at(m.span("session")),
        () => e,
    })?;
    Ok(Output::text(format!("{}\n", w.get::<Interfaces>().name(sw_if))))
}
