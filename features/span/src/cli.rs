// SPDX-License-Identifier: Apache-2.0
//! The commands: parse, call, print.

use crate::control::{Directions, Span};
use crate::mirror::Level;
use cli::{Command, Matches, Output, Result, Table, Writer};
use graph::World;
use net::Interfaces;
use net::args::interface;

pub const COMMANDS: &[Command<World>] = cli::commands! {
    /// Copy frames of an interface to another one (port mirroring), at the device or while they are
    /// switched (l2)
    "set interface span",
    "<source:interface> {({destination <destination:interface>} [{both | rx | tx | disable}] [l2]) | (disable [l2])}"
        => set;
    /// Interfaces of which frames are copied, and to which ones
    "show interface span" => show;
};

fn set(w: &World, m: &Matches) -> Result<()> {
    let (interfaces, span) = (w.get::<Interfaces>(), w.get::<Span>());
    let level = Level::of(m.flag("l2"));
    let from = interface(w, m, "source")?;
    if !m.has("destination") {
        return span.clear(w, level, from);
    }
    let at = || m.span("destination");
    let to = interfaces.find(m.str("destination")).map_err(|e| e.at(at()))?;
    let (rx, tx, off) = (m.flag("rx"), m.flag("tx"), m.flag("disable"));
    let directions = Directions { rx: !tx && !off, tx: !rx && !off };
    span.set(w, level, (from, to), directions).map_err(|e| e.at(at()))
}

fn show(w: &World, _: &Matches) -> Result<Output> {
    let table = Table::new().left("Source").left("Destination").left("Device").left("L2");
    Ok(table.list(w.get::<Span>().list(), |w: &World, ((from, to), mirror), out: &mut Writer| {
        let name = |sw_if| w.get::<Interfaces>().name(sw_if);
        let [device, l2] = mirror.map(Directions::word);
        out.row([name(from).into(), name(to).into(), device.into(), l2.into()]);
        Ok(())
    }))
}
