// SPDX-License-Identifier: Apache-2.0
//! The commands: parse, call, print.

use crate::port::{Cdp, Neighbor};
use cli::{Cell, Command, Matches, Output, Result, Table, Writer};
use graph::{SwIfIndex, World};
use net::Interfaces;
use serde_json::json;

pub const COMMANDS: &[Command<World>] = cli::commands! {
    /// Enable CDP: list Cisco devices at the other ends of links, and send this system's data; or
    /// disable it
    "cdp", "{enable | disable}" => |w, m| {
        w.get::<Cdp>().set(w, m.flag("enable"));
        Ok(())
    };
    /// Cisco devices at the other ends of links; `verbose': also their platform, software and TTL
    "show cdp", "[verbose]" => show;
};

fn show(w: &World, m: &Matches) -> Result<Output> {
    let cdp = w.get::<Cdp>();
    if !cdp.is_enabled() {
        return Ok(Output::both("CDP is not enabled...", json!([])));
    }
    let (verbose, now) = (m.flag("verbose"), w.clock.now());
    let table =
        Table::new().left("Our Port").left("Peer System").left("Peer Port").right("Last Heard");
    let table = if verbose { table.right("TTL").left("Platform").left("Software") } else { table };
    Ok(table.list(
        cdp.neighbors(),
        move |w: &World, (sw_if, neighbor): (SwIfIndex, Neighbor), out: &mut Writer| {
            let name = w.get::<Interfaces>().name(sw_if);
            let Neighbor { unit, heard, .. } = neighbor;
            // Tenths of a second.
            let ago = (now.saturating_sub(heard) / 100_000_000) as f64 / 10.0;
            out.text_row(|| {
                let mut row = vec![
                    name.clone(),
                    unit.device.display(),
                    unit.port.display(),
                    format!("{ago:.1}"),
                ];
                if verbose {
                    // Versions often have several lines.
                    row.extend([
                        unit.ttl.to_string(),
                        unit.platform.display(),
                        unit.software.display(),
                    ]);
                }
                row.into_iter().map(Cell::from).collect::<Vec<_>>()
            });
            out.value(|| {
                json!({
                    "interface": name,
                    "sw_if_index": sw_if.0,
                    "system": unit.device.display(),
                    "port": unit.port.display(),
                    "platform": unit.platform.display(),
                    "software": unit.software.display(),
                    "version": unit.version,
                    "ttl": unit.ttl,
                    "heard_seconds_ago": ago,
                })
            });
            Ok(())
        },
    ))
}
