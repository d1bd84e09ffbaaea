// SPDX-License-Identifier: Apache-2.0
//! The commands that change something.

use crate::clients::Clients;
use crate::sessions::{Config, Sessions};
use crate::show;
use cli::{Command, Matches, Output, Result, retval};
use graph::World;
use net::Interfaces;
use net::args::given_interface;

pub const COMMANDS: &[Command<World>] = cli::commands! {
    /// Make the interface of a client's session; interface: where the client is, if it wasn't seen
    /// yet
    "create pppoe session",
    "({client-ip <client:ip>} {session-id <session:u16>} {client-mac <mac:mac>} [decap-vrf-id <table:u32>] \
     [interface <interface:interface>] [instance <instance:u32>] [del])" => create;
    /// Set the interface that discovery and PPP control packets go to
    "create pppoe cp", "{cp-if-index {<index:u32> | <interface:interface>}} [del]" => control_plane;
    /// PPPoE sessions
    "show pppoe session" => show::sessions;
    /// PPPoE clients that were seen, and their interfaces
    "show pppoe fib" => show::clients;
};

fn create(w: &World, m: &Matches) -> Result<Output> {
    let config = Config {
        session: m.req("session")?,
        mac: m.req("mac")?,
        address: m.req("client")?,
        table: m.opt("table")?.unwrap_or(0),
    };
    let (sessions, interfaces) = (w.get::<Sessions>(), w.get::<Interfaces>());
    if m.flag("del") {
        sessions.delete(w, config.mac, config.session).map_err(m.at("session"))?;
        return Ok(Output::empty());
    }
    let at = given_interface(w, m, "interface")?;
    let made = sessions.create(w, config, at, m.opt("instance")?);
    let sw_if = made.map_err(|e| match () {
        () if e.is(retval::NO_SUCH_INNER_FIB) => e.at(m.span("table")),
        () if e.is(retval::INSTANCE_IN_USE) => e.at(m.span("instance")),
        () if e.is(retval::INVALID_SW_IF_INDEX) && at.is_none() => e.at(m.span("mac")),
        () => e,
    })?;
    Ok(Output::text(format!("{}\n", interfaces.name(sw_if))))
}

fn control_plane(w: &World, m: &Matches) -> Result<()> {
    let sw_if = w.get::<Interfaces>().named_or_numbered(m)?;
    let clients = w.get::<Clients>();
    if m.flag("del") {
        clients.remove_control_plane(w, sw_if)?;
    } else {
        clients.set_control_plane(w, sw_if)?;
    }
    Ok(())
}
