// SPDX-License-Identifier: Apache-2.0
//! `show tunnel mtu`.

use crate::tracked::{Mtu, TrackedMtus};
use cli::{Cell, Command, Error, Matches, Output};
use graph::World;
use net::Interfaces;

pub const COMMANDS: &[Command<World>] = cli::commands! {
    /// Tunnels whose MTU follows the path of their outer packets
    "show tunnel mtu" => show;
};

fn show(w: &World, _: &Matches) -> Result<Output, Error> {
    Ok(cli::columns!(w.get::<TrackedMtus>().interfaces(), |w: &World, sw_if| {
        let (outer, Mtu { egress, path, limit }) = w.get::<TrackedMtus>().get(w, sw_if)?;
        "Interface" => w.get::<Interfaces>().name(sw_if),
        "Other end" => Cell::show(outer.remote),
        "Egress" right => egress.map(u32::from),
        "Path" right => path.map(u32::from),
        "Overhead" right => u32::from(outer.overhead),
        "MTU" right => limit.map(u32::from),
    }))
}
