// SPDX-License-Identifier: Apache-2.0
//! Where the super-path is in use.

use super::SuperPath;
use cli::{Error, Matches, Output, Table, Writer};
use graph::{ArcIndex, Deleted, Node, Phase, RunningConfig, Shared, SwIfIndex, World};
use net::{Checks, IfEvent, IfKind, Interface, Interfaces};
use serde_json::json;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard};
use wire::{Ip4, Ip6};

const ARC: &str = "device-input";
/// Arcs that packets of IPv4 and of IPv6 pass where they come in.
const RECEIVED: [&str; 2] = ["ip4-unicast", "ip6-unicast"];
/// Arcs that they pass where they leave.
const LEAVING: [&str; 3] = ["ip4-output", "ip6-output", "interface-output"];

/// Whether super-paths are used at all, and where.
#[derive(Default)]
pub struct SuperPaths {
    off: AtomicBool,
    /// Interfaces that the node is enabled on, an operator's own choices aside.
    enabled: Mutex<BTreeSet<SwIfIndex>>,
}

impl Shared for SuperPaths {
    fn make(_: &World) -> Self {
        Self::default()
    }

    fn forget(&self, _: &World, deleted: &Deleted<'_>) {
        if let Some(sw_if) = deleted.of::<SwIfIndex>() {
            self.enabled().remove(sw_if);
        }
    }
}

impl SuperPaths {
    fn enabled(&self) -> MutexGuard<'_, BTreeSet<SwIfIndex>> {
        self.enabled.lock().expect("no panic inside")
    }

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

/// On the interfaces whose frames may carry IP for us, with no feature of received packets that needs the graph.
fn apply(world: &World, interface: &Interface) -> Result<(), String> {
    let (paths, sw_if) = (world.get::<SuperPaths>(), interface.sw_if);
    let open = |arc| in_the_way(world, sw_if, arc).is_empty();
    let [open4, open6] = [0, 1].map(|v6| interface.ip_enabled[v6] && open(RECEIVED[v6]));
    let wanted = paths.on() && interface.kind == IfKind::Ethernet && (open4 || open6);
    // Set only when it changes: an operator's choice is in force until then.
    if wanted == paths.enabled().contains(&sw_if) {
        return Ok(());
    }
    world.set_feature(ARC, SuperPath::NAME, sw_if, wanted)?;
    let mut enabled = paths.enabled();
    if wanted {
        enabled.insert(sw_if);
    } else {
        enabled.remove(&sw_if);
    }
    Ok(())
}

/// The features of an interface have changed.
pub fn follow_features(world: &World, arc: ArcIndex, sw_if: SwIfIndex) {
    if !RECEIVED.iter().any(|name| world.arc(name) == Some(arc)) {
        return;
    }
    if let Ok(interface) = world.get::<Interfaces>().get(sw_if) {
        let applied = apply(world, &interface);
        debug_assert_eq!(applied, Ok(()), "the arc is this plugin's own");
    }
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

/// The features of an interface on an arc that send packets into the graph: those that the super-path can't ask itself.
fn in_the_way(world: &World, sw_if: SwIfIndex, arc: &str) -> Vec<&'static str> {
    let (checks4, checks6) = (world.get::<Checks<Ip4>>(), world.get::<Checks<Ip6>>());
    let is_asked = |feature: &&str| {
        let node = world.node(feature);
        node.is_some_and(|node| match arc {
            "ip4-unicast" => checks4.has(node),
            "ip6-unicast" => checks6.has(node),
            _ => false,
        })
    };
    let features = world.arc(arc).map(|arc| world.features_of(arc, sw_if)).unwrap_or_default();
    features.into_iter().filter(|feature| !is_asked(feature)).collect()
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
        let arcs = RECEIVED.into_iter().chain(LEAVING);
        let on_arc = |arc| in_the_way(w, sw_if, arc).into_iter().map(move |node| format!("{arc}: {node}"));
        let others: Vec<_> = arcs.flat_map(on_arc).collect();
        out.text_row(|| [interface.name.as_str().into(), used.into(), others.join(", ").into()]);
        out.value(|| json!({ "interface": interface.name, "in_use": used, "features": others }));
        Ok(())
    }))
}
