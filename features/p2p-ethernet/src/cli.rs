// SPDX-License-Identifier: Apache-2.0
//! The commands: parse, call, print.

use crate::control::{Client, Clients};
use cli::{Command, Error, Matches, Output, Result, Table, Writer};
use graph::{SwIfIndex, World};
use net::Interfaces;

pub const COMMANDS: &[Command<World>] = &[
    Command {
        path: "p2p_ethernet",
        usage: "<interface:interface> <mac:mac> {sub-id <id:u32> | del}",
        help: "Create the sub-interface of a client by its MAC address, or delete it",
        run: set,
    },
    Command {
        path: "show p2p_ethernet",
        usage: "",
        help: "Clients with sub-interfaces of their own",
        run: show,
    },
];

fn set(w: &World, m: &Matches) -> Result<Output> {
    let interfaces = w.get::<Interfaces>();
    let port = interfaces.find(m.str("interface")).map_err(|e| e.at(m.span("interface")))?;
    let client = Client { port, mac: m.req("mac")? };
    let clients = w.get::<Clients>();
    if m.flag("del") {
        clients.delete(w, client).map_err(|e: Error| e.at(m.span("mac")))?;
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
