// SPDX-License-Identifier: Apache-2.0
//! The log of what happens to interfaces and next hops: an operator looks there first when packets
//! no longer come.

use graph::{SwIfIndex, World};
use net::{IfEvent, Interfaces, NextHops, RouteTables};

/// Logs it from now on.
pub fn start(world: &World) {
    world.get::<Interfaces>().subscribe(|world, event| {
        if let Some((sw_if, what)) = text(event) {
            log::info!(target: "interface", "{}: {what}{}", name(world, sw_if), affected(world, event));
        }
    });
    world.get::<NextHops>().subscribe(|world, hops, up| {
        let state = if up { "is back" } else { "is down: routes avoid it" };
        for same in hops.chunk_by(|a, b| a.sw_if == b.sw_if) {
            let Some(first) = same.first() else { continue };
            let more = if same.len() > 1 { format!(" and {} more:", same.len() - 1) } else { String::new() };
            log::info!(target: "interface", "{}: next hop {}{more} {state}", name(world, first.sw_if), first.ip);
        }
    });
}

fn name(world: &World, sw_if: SwIfIndex) -> String {
    world.get::<Interfaces>().name(sw_if)
}

/// Routes and tunnels that a change of a link affects.
fn affected(world: &World, event: IfEvent) -> String {
    let IfEvent::Link(sw_if, up) = event else { return String::new() };
    let dependents = world.get::<RouteTables>().dependents(sw_if).to_string();
    match (dependents.is_empty(), up) {
        (true, _) => String::new(),
        (false, true) => format!(": leads on {dependents}"),
        (false, false) => format!(": affects {dependents}"),
    }
}

fn text(event: IfEvent) -> Option<(SwIfIndex, &'static str)> {
    Some(match event {
        IfEvent::Added(sw_if) => (sw_if, "made"),
        IfEvent::Deleting(sw_if) => (sw_if, "deleted"),
        IfEvent::Admin(sw_if, true) => (sw_if, "admin up"),
        IfEvent::Admin(sw_if, false) => (sw_if, "admin down"),
        IfEvent::Link(sw_if, true) => (sw_if, "link up"),
        IfEvent::Link(sw_if, false) => (sw_if, "link down"),
        _ => return None,
    })
}
