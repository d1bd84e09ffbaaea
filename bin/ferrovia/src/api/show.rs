// SPDX-License-Identifier: Apache-2.0
//! `show api …`.

use std::sync::atomic::Ordering;

use ::cli::{Error, Matches, Output, Result, Table};
use graph::World;
use msg::Kind;

use crate::reference;
use cli::Date;

pub fn clients(w: &World, _: &Matches) -> Result<Output> {
    let mut table =
        Table::new().right("Client").left("Name").left("Since").right("Requests").left("Events");
    for client in w.api.list() {
        table.row([
            format!("{:#x}", client.index).into(),
            client.name.into(),
            Date::from(client.since).stamp().to_string().into(),
            client.requests.into(),
            client.events.join(", ").into(),
        ]);
    }
    Ok(table.into())
}

pub fn messages(w: &World, m: &Matches) -> Result<Output> {
    let modules = w.api.table().modules();
    let wanted = m.str("module");
    if !wanted.is_empty() && modules.iter().all(|module| module.name != wanted) {
        let none = Error::not_found(format!("no module is named {wanted}"));
        return Err(none.near(wanted, modules.iter().map(|m| m.name)).at(m.span("module")));
    }
    let mut table = Table::new().right("ID").left("Name").left("CRC").left("Module").left("Kind");
    for (id, entry) in w.api.table().entries() {
        let module = modules[entry.module].name;
        if !wanted.is_empty() && module != wanted {
            continue;
        }
        let kind = match entry.kind {
            Kind::Request => "request",
            Kind::Answer => "answer",
            Kind::Unserved => "not served",
        };
        table.row([
            u64::from(id).into(),
            entry.name.into(),
            format!("{:08x}", entry.crc).into(),
            module.into(),
            kind.into(),
        ]);
    }
    Ok(table.into())
}

pub fn statistics(w: &World, _: &Matches) -> Result<Output> {
    let mut table = Table::new().right("Received").right("Malformed").left("Message");
    for (_, entry) in w.api.table().entries() {
        let received = entry.counts.received.load(Ordering::Relaxed);
        if received > 0 {
            table.row([
                received.into(),
                entry.counts.malformed.load(Ordering::Relaxed).into(),
                entry.name.into(),
            ]);
        }
    }
    table.row([w.api.unknown().into(), 0u64.into(), "(messages that nobody answers)".into()]);
    Ok(table.into())
}

/// Modules that VPP publishes and this build lacks, with what each belongs to.
fn not_built(w: &World) -> Table {
    let mut table = Table::new().left("Module").left("Belongs to");
    let built: Vec<_> = w.api.table().modules().iter().map(|module| module.name).collect();
    for (name, _) in msg::tables().published().filter(|(name, _)| !built.contains(name)) {
        table.row([name.into(), reference::owner_of_module(name).unwrap_or("VPP's core").into()]);
    }
    table
}

pub fn modules(w: &World, m: &Matches) -> Result<Output> {
    if m.flag("not-built") {
        return Ok(not_built(w).into());
    }
    let mut table =
        Table::new().left("Module").left("Version").left("CRC").right("First ID").left("Kind");
    for module in w.api.table().modules() {
        table.row([
            module.name.into(),
            module.version.into(),
            format!("{:08x}", module.crc).into(),
            u64::from(module.first).into(),
            if module.core { "core" } else { "plugin" }.into(),
        ]);
    }
    Ok(table.into())
}
