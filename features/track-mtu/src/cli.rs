// SPDX-License-Identifier: Apache-2.0
//! `show tunnel mtu`.

use crate::tracked::{Mtu, TrackedMtus};
use cli::{Cell, Command, Error, Matches, Output, Table, Writer};
use graph::{SwIfIndex, World};
use net::Interfaces;

pub const COMMANDS: &[Command<World>] = cli::commands! {
    /// Tunnels whose MTU follows the path of their outer packets
    "show tunnel mtu" => show;
};

fn show(w: &World, _: &Matches) -> Result<Output, Error> {
    let table = Table::new().left("Interface").left("Other end").right("Egress").right("Path");
    let table = table.right("Overhead").right("MTU");
    let all = w.get::<TrackedMtus>().interfaces();
    Ok(table.list(all, |w: &World, sw_if: SwIfIndex, out: &mut Writer| {
        let Some((outer, mtu)) = w.get::<TrackedMtus>().get(w, sw_if) else { return Ok(()) };
        let Mtu { egress, path, limit } = mtu;
        let name = w.get::<Interfaces>().name(sw_if);
        out.row([
            name.as_str().into(),
            Cell::show(outer.remote),
            egress.map(u32::from).into(),
            path.map(u32::from).into(),
            u32::from(outer.overhead).into(),
            limit.map(u32::from).into(),
        ]);
        Ok(())
    }))
}
