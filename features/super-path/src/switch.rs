// SPDX-License-Identifier: Apache-2.0
//! Where the super-paths are in use.

use crate::l2::L2SuperPath;
use crate::rx::Door;
use crate::{DOORS, FRAMES, Packets, SuperPath};
use ::l2::Bridge;
use cli::{Error, Matches, Output, Table, Writer};
use graph::{ArcIndex, Deleted, Node, Phase, RunningConfig, Shared, SwIfIndex, World};
use ip::{Ip, arc};
use net::{Column, IfEvent, IfKind, Interface, Interfaces, IpBinding, L2Role, SuperPaths};
use serde_json::json;
use std::collections::{BTreeSet, HashMap};
use std::sync::{Mutex, MutexGuard};
use wire::{Ip4, Ip6};

/// Arcs whose features can have stages: of received packets, of packets that leave, and of frames.
const RECEIVED: [&str; 2] = ["ip4-unicast", "ip6-unicast"];
const LEAVING: [&str; 2] = ["ip4-output", "ip6-output"];
const SENT: &str = "interface-output";

/// Sub-interfaces whose packets may take the super-path, by the device that these come in by.
#[derive(Default)]
pub struct OpenSubs(Mutex<HashMap<SwIfIndex, BTreeSet<SwIfIndex>>>);

impl Shared for OpenSubs {
    fn make(_: &World) -> Self {
        Self::default()
    }

    fn forget(&self, _: &World, deleted: &Deleted<'_>) {
        if let Some(sw_if) = deleted.of::<SwIfIndex>() {
            self.all().remove(sw_if);
        }
    }
}

impl OpenSubs {
    fn all(&self) -> MutexGuard<'_, HashMap<SwIfIndex, BTreeSet<SwIfIndex>>> {
        self.0.lock().expect("no panic inside")
    }

    fn set(&self, parent: SwIfIndex, sub: SwIfIndex, open: bool) {
        let mut all = self.all();
        let subs = all.entry(parent).or_default();
        if open {
            subs.insert(sub);
        } else {
            subs.remove(&sub);
        }
        if subs.is_empty() {
            all.remove(&parent);
        }
    }

    fn any(&self, parent: SwIfIndex) -> bool {
        self.all().contains_key(&parent)
    }
}

/// True if frames that an interface receives may carry IPv4 or IPv6.
fn is_open(world: &World, interface: &Interface) -> bool {
    let ip = IpBinding::of(world, interface.sw_if);
    let open = ip.is_enabled::<Ip4>() || ip.is_enabled::<Ip6>();
    open && interface.kind == IfKind::Ethernet && !is_port(world, interface.sw_if)
}

/// Returns true if received frames are switched.
fn is_port(world: &World, sw_if: SwIfIndex) -> bool {
    world.get::<Column<L2Role>>().get(sw_if) == L2Role::Port
}

/// Puts a node to use for packets of an interface on an arc, or no longer.
fn set_feature(world: &World, (arc, node): (&str, &'static str), sw_if: SwIfIndex, wanted: bool) {
    let wanted = wanted && world.get::<SuperPaths>().on();
    // Setting it again would override the operator's own setting.
    let done = match world.is_feature_set(arc, node, sw_if) {
        Ok(is_set) if is_set == wanted => Ok(()),
        found => found.and_then(|_| world.set_feature(arc, node, sw_if, wanted)),
    };
    debug_assert_eq!(done, Ok(()), "the feature is this plugin's own");
}

/// The nodes of one protocol for packets without an Ethernet header: those that come out of
/// a tunnel, and those that have passed features which aren't evaluated here.
fn apply_to_packets<F: Ip>(world: &World, interface: &Interface) {
    let sw_if = interface.sw_if;
    let enabled = IpBinding::of(world, sw_if).is_enabled::<F>();
    for Packets { node, arc, door, .. } in
        DOORS.iter().filter(|packets| packets.door.is_bare::<F>())
    {
        let wanted = match door {
            Door::Passed { .. } => !needs_graph::<F>(world, sw_if).is_empty(),
            _ => interface.device.is_tunnel(),
        };
        set_feature(world, (arc, node), sw_if, enabled && wanted);
    }
}

/// Puts all nodes to use on an interface, or no longer: frames are switched on ports, and routed
/// on other Ethernet interfaces that are open themselves or have a sub-interface that is. A
/// sub-interface has no node for frames: these come in by its parent.
fn apply(world: &World, interface: &Interface) {
    apply_to_packets::<Ip4>(world, interface);
    apply_to_packets::<Ip6>(world, interface);
    let (subs, parent) = (world.get::<OpenSubs>(), interface.parent);
    let device = if interface.sub.is_some() {
        subs.set(parent, interface.sw_if, is_open(world, interface));
        match world.get::<Interfaces>().get(parent) {
            Ok(device) => device,
            Err(_) => return,
        }
    } else {
        interface.clone()
    };
    let (arc, sw_if) = (device.device.input_arc(), device.sw_if);
    let (is_ethernet, is_port) = (device.kind == IfKind::Ethernet, is_port(world, sw_if));
    let open = subs.any(parent) || is_open(world, &device);
    set_feature(world, (arc, SuperPath::NAME), sw_if, is_ethernet && !is_port && open);
    let switched = is_ethernet && world.get::<Bridge>().is_ordinary(sw_if);
    set_feature(world, (arc, L2SuperPath::NAME), sw_if, switched);
}

/// Follows all changes of interfaces from now on.
pub fn start(world: &World) {
    world.get::<SuperPaths>().register(apply);
    world.watch_features(follow_features);
    let interfaces = world.get::<Interfaces>();
    interfaces.list().iter().for_each(|interface| apply(world, interface));
    interfaces.subscribe(follow);
}

/// Follows a change of an interface's features.
fn follow_features(world: &World, changed: ArcIndex, sw_if: SwIfIndex) {
    if [unicast::<Ip4>(world), unicast::<Ip6>(world)].contains(&changed) {
        apply_to(world, sw_if);
    }
}

fn unicast<F: Ip>(world: &World) -> ArcIndex {
    arc::<F>(world, "{ip}-unicast")
}

/// The features of received packets on an interface that have no stage, and so are visited.
fn needs_graph<F: Ip>(world: &World, sw_if: SwIfIndex) -> Vec<&'static str> {
    split(world, RECEIVED[usize::from(F::IS_V6)], sw_if)[1].clone()
}

/// The features of an interface on an arc: those whose stages are run, and those whose nodes are
/// visited. Packets that leave for a node don't come back; frames pass all nodes if one is visited.
fn split(world: &World, arc: &str, sw_if: SwIfIndex) -> [Vec<&'static str>; 2] {
    let has_stage = |feature: &&str| world.stages().any(|stage| stage.node() == *feature);
    let is_own = |feature: &&str| DOORS.iter().any(|packets| packets.node == *feature);
    let all = world.arc(arc).map(|arc| world.features_of(arc, sw_if)).unwrap_or_default();
    let all: Vec<_> = all.into_iter().filter(|feature| !is_own(feature)).collect();
    if RECEIVED.contains(&arc) {
        return all.into_iter().partition(has_stage).into();
    }
    let first = all.iter().take_while(|feature| has_stage(feature)).count();
    let run = if arc == SENT && first < all.len() { 0 } else { first };
    let (stages, visited) = all.split_at(run);
    [stages.to_vec(), visited.to_vec()]
}

/// Checks that no feature of received frames stands behind the super-path: packets that it takes
/// would miss that feature.
///
/// # Errors
/// The feature, and how to mend it.
pub fn check_last(world: &World) -> Result<(), String> {
    let frames = FRAMES.map(|arc| (arc, SuperPath::NAME));
    let own = DOORS.map(|packets| (packets.arc, packets.node));
    for (arc, all) in world.arc_list() {
        let own = frames.iter().chain(&own).find(|(of, _)| *of == arc);
        if let Some((_, node)) = own
            && let Some(last) = all.last().filter(|last| *last != node)
        {
            return Err(format!(
                "feature {last}: on {arc} it must come before {node}: add before: &[\"{node}\"]",
            ));
        }
    }
    Ok(())
}

/// Interfaces come to carry IP, or no longer. A sub-interface that is deleted loses its addresses
/// first, which closes it.
fn follow(world: &World, event: IfEvent) {
    match event {
        IfEvent::Added(sw_if) | IfEvent::Ip(sw_if, ..) => apply_to(world, sw_if),
        IfEvent::Changed(sw_if, column) if column.is::<L2Role>() => apply_to(world, sw_if),
        _ => {}
    }
}

fn apply_to(world: &World, sw_if: SwIfIndex) {
    if let Ok(interface) = world.get::<Interfaces>().get(sw_if) {
        apply(world, &interface);
    }
}

/// The features of received frames on a device.
fn received(world: &World, device: &Interface) -> Vec<&'static str> {
    let arc = world.arc(device.device.input_arc());
    arc.map(|arc| world.features_of(arc, device.sw_if)).unwrap_or_default()
}

/// Writes the configuration.
pub fn write_config(world: &World, config: &mut RunningConfig) {
    if !world.get::<SuperPaths>().on() {
        config.push(Phase::SETTINGS, "set super-path off", "set super-path on");
    }
}

/// `set super-path`.
pub fn set(w: &World, m: &Matches) -> Result<Output, Error> {
    w.get::<SuperPaths>().set(m.flag("on"));
    w.get::<Interfaces>().list().iter().for_each(|interface| apply(w, interface));
    Ok(Output::empty())
}

/// `show super-path`.
pub fn show(w: &World, _: &Matches) -> Result<Output, Error> {
    let interfaces = w.get::<Interfaces>();
    let items = [None].into_iter().chain(interfaces.indices().map(Some));
    Ok(Output::record(items, move |w: &World, sw_if, out: &mut Writer| {
        let Some(sw_if) = sw_if else {
            let on = w.get::<SuperPaths>().on();
            out.text(|text| *text += if on { "super-path is on\n" } else { "super-path is off\n" });
            let table = Table::new().left("Interface").left("In use").left("Stages");
            out.table(&table.left("Visited features"));
            out.field("on", on);
            out.array("interfaces");
            return Ok(());
        };
        let Ok(interface) = interfaces.get(sw_if) else { return Ok(()) };
        let features = received(w, &interface);
        let mut used = [SuperPath::NAME, L2SuperPath::NAME].iter().any(|n| features.contains(n));
        // Switched frames pass no feature of received IP packets.
        let is_port = is_port(w, sw_if);
        let unicast = RECEIVED.into_iter().filter(|_| !is_port);
        let (mut stages, mut others) = (Vec::new(), Vec::new());
        for arc in unicast.chain(LEAVING).chain([SENT]) {
            let on_arc = split(w, arc, sw_if).map(|features| {
                features.into_iter().map(|node| format!("{arc}: {node}")).collect::<Vec<_>>()
            });
            let [run, visited] = on_arc;
            stages.extend(run);
            others.extend(visited);
        }
        if interface.sub.is_some() {
            let Ok(parent) = interfaces.get(interface.parent) else { return Ok(()) };
            let taken = received(w, &parent).contains(&SuperPath::NAME);
            used = taken && is_open(w, &interface);
            if is_port {
                others.push("l2-input: tagged frames".into());
            } else if !taken {
                others.push(format!(
                    "{}: not in use on {}",
                    parent.device.input_arc(),
                    parent.name
                ));
            }
        }
        let name = interface.name.as_str();
        out.text_row(|| {
            [name.into(), used.into(), stages.join(", ").into(), others.join(", ").into()]
        });
        out.value(
            || json!({ "interface": name, "in_use": used, "stages": stages, "features": others }),
        );
        Ok(())
    }))
}
