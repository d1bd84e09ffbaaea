// SPDX-License-Identifier: Apache-2.0
//! Where the super-path is in use.

use super::SuperPath;
use cli::{Error, Matches, Output, Table, Writer};
use graph::{Node, Phase, RunningConfig, Shared, SwIfIndex, World};
use net::{Checks, IfEvent, IfKind, Interface, Interfaces};
use serde_json::json;
use std::sync::atomic::{AtomicBool, Ordering};
use wire::{Ip4, Ip6};

const ARC: &str = "device-input";
/// Arcs that a packet passes where it comes in, and where it leaves.
const ON_THE_WAY: [&str; 5] = ["ip4-unicast", "ip6-unicast", "ip4-output", "ip6-output", "interface-output"];

/// Whether super-paths are used at all.
#[derive(Default)]
pub struct SuperPaths {
    off: AtomicBool,
}

impl Shared for SuperPaths {
    fn make(_: &World) -> Self {
        Self::default()
    }
}

impl SuperPaths {
    /// Whether they are used.
    pub fn on(&self) -> bool {
        !self.off.load(Ordering::Relaxed)
    }

    /// Uses them, or no longer. Packets on their way aren't disturbed.
    ///
    /// # Errors
    /// None that a configuration can bring about.
    pub fn set(&self, world: &World, on: bool) -> Result<(), String> {
        self.off.store(!on, Ordering::Relaxed);
        world.get::<Interfaces>().list().into_iter().try_for_each(|i| apply(world, &i))
    }
}

/// On the interfaces whose frames may carry IP for us.
fn apply(world: &World, interface: &Interface) -> Result<(), String> {
    let wanted = world.get::<SuperPaths>().on()
        && interface.kind == IfKind::Ethernet
        && interface.ip_enabled.contains(&true);
    world.set_feature(ARC, SuperPath::NAME, interface.sw_if, wanted)
}

/// Interfaces come to carry IP, or no longer.
pub fn follow(world: &World, event: IfEvent) -> Result<(), String> {
    match event {
        IfEvent::Added(sw_if) | IfEvent::Ip(sw_if, ..) => match world.get::<Interfaces>().get(sw_if) {
            Ok(interface) => apply(world, &interface),
            Err(_) => Ok(()),
        },
        _ => Ok(()),
    }
}

/// Says what was set.
pub fn say(world: &World, config: &mut RunningConfig) {
    if !world.get::<SuperPaths>().on() {
        config.push(Phase::SETTINGS, "set super-path off", "set super-path on");
    }
}

/// `set super-path`.
pub fn set(w: &World, m: &Matches) -> Result<Output, Error> {
    w.get::<SuperPaths>().set(w, m.flag("on")).map_err(Error::failed)?;
    Ok(Output::empty())
}

/// The features that send packets of an interface into the graph, each as `ARC: NODE`: those that the super-path can't ask itself.
fn in_the_way(world: &World, sw_if: SwIfIndex) -> Vec<String> {
    let mut found = Vec::new();
    for name in ON_THE_WAY {
        let features = world.arc(name).map(|arc| world.features_of(arc, sw_if)).unwrap_or_default();
        let (checks4, checks6) = (world.get::<Checks<Ip4>>(), world.get::<Checks<Ip6>>());
        let is_asked = |node: &str| {
            let node = world.node(node);
            node.is_some_and(|node| match name {
                "ip4-unicast" => checks4.has(node),
                "ip6-unicast" => checks6.has(node),
                _ => false,
            })
        };
        let needed = features.into_iter().filter(|node| !is_asked(node));
        found.extend(needed.map(|node| format!("{name}: {node}")));
    }
    found
}

/// `show super-path`.
pub fn show(w: &World, _: &Matches) -> Result<Output, Error> {
    let (arc, interfaces) = (w.arc(ARC), w.get::<Interfaces>());
    let items = [None].into_iter().chain(interfaces.indices().map(Some));
    Ok(Output::record(items, move |w: &World, sw_if, out: &mut Writer| {
        let Some(sw_if) = sw_if else {
            let on = w.get::<SuperPaths>().on();
            out.text(|text| *text += if on { "super-path is on\n" } else { "super-path is off\n" });
            out.table(&Table::new().left("Interface").left("In use").left("Features that need the graph"));
            out.field("on", on);
            out.array("interfaces");
            return Ok(());
        };
        let Ok(interface) = interfaces.get(sw_if) else { return Ok(()) };
        let features = arc.map(|arc| w.features_of(arc, sw_if)).unwrap_or_default();
        let used = features.contains(&SuperPath::NAME);
        let others = in_the_way(w, sw_if);
        out.text_row(|| [interface.name.as_str().into(), used.into(), others.join(", ").into()]);
        out.value(|| json!({ "interface": interface.name, "in_use": used, "features": others }));
        Ok(())
    }))
}
