// SPDX-License-Identifier: Apache-2.0
//! The commands: parse, call, print.

use crate::control::{Client, Clients};
use cli::{Command, Matches, Output, Result, Table, Writer};
use graph::{SwIfIndex, World};
use net::Interfaces;

pub const COMMANDS: &[Command<World>] = cli::commands! {
    /// Create the sub-interface of a client by its MAC address, or delete it
    "p2p_ethernet", "<interface:interface> <mac:mac> {sub-id <id:u32> | del}" => set;
    /// Clients with sub-interfaces of their own
    "show p2p_ethernet" => show;
};

fn set(w: &World, m: &Matches) -> Result<Output> {
    let interfaces = w.get::<Interfaces>();
    let port = net::args::interface(w, m, "interface")?;
    let client = Client { port, mac: m.req("mac")? };
    let clients = w.get::<Clients>();
    if m.flag("del") {
        clients.delete(w, client).map_err(m.at("mac"))?;
        return Ok(Output::empty());
    }
    let sub = clients.add(w, client, m.req("id")?)?;
    Ok(Output::text(format!("{}\n", interfaces.name(sub))))
}

fn show(w: &World, _: &Matches) -> Result<Output> {
    let table = Table::new().left("Interface").left("Parent").left("Client").left("State");
    let all = w.get::<Clients>().list();
    Ok(table.list(all, |w: &World, (client, sub): (Client, SwIfIndex), out: &mut Writer| {
        let interfaces = w.get::<Interfaces>();
        // Deleted since the list was made.
        let Ok(interface) = interfaces.get(sub) else { return Ok(()) };
        out.row([
            interface.name.into(),
            interfaces.name(client.port).into(),
            client.mac.to_string().into(),
            (if interface.admin_up { "up" } else { "down" }).into(),
        ]);
        Ok(())
    }))
}
