// SPDX-License-Identifier: Apache-2.0
//! Every name leads somewhere.

use std::collections::BTreeSet;
use std::sync::Arc;

use cli::Live;
use daemon::plugins;
use fixture::tree;
use graph::{World, WorldConfig};

use crate::exceptions;

/// An instance of everything, its threads' graphs left out.
pub fn world() -> Arc<World> {
    let config = WorldConfig { buffers: 1024, ..WorldConfig::default() };
    World::new(&config, plugins::ALL).unwrap_or_else(|e| panic!("the daemon can't start: {e}")).0
}

#[test]
fn every_node_that_is_named_is_there() {
    let nodes = world().nodes();
    let missing: Vec<_> = nodes.iter().filter(|n| n.missing).map(|n| &*n.name).collect();
    assert!(missing.is_empty(), "no plugin brings {missing:?}");
    let names: BTreeSet<_> = nodes.iter().map(|n| &*n.name).collect();
    for node in &nodes {
        let unknown: Vec<_> = node.next.iter().filter(|next| !names.contains(&***next)).collect();
        assert!(unknown.is_empty(), "{} sends to {unknown:?}", node.name);
    }
}

/// Nodes that are no inputs, and that no other node of a new instance leads to.
pub fn alone(world: &World) -> BTreeSet<Arc<str>> {
    let nodes = world.nodes();
    let next: BTreeSet<_> = nodes.iter().flat_map(|n| &n.next).collect();
    nodes.iter().filter(|n| !n.input && !next.contains(&n.name)).map(|n| n.name.clone()).collect()
}

#[test]
fn every_node_is_sent_something() {
    let known: Vec<_> = exceptions::of_plugins(|p| p.entered).collect();
    let alone = alone(&world());
    exceptions::cover(&known, alone.iter().map(|name| &**name), "no node leads there");
}

#[test]
fn every_command_says_what_it_is_for() {
    let tree = tree();
    let commands = tree.commands();
    for command in &commands {
        let help = command.help;
        assert!(help.len() > 5 && !help.ends_with('.'), "`{}': help is {help:?}", command.path);
        let first = help.chars().next();
        assert!(first.is_some_and(|c| !c.is_lowercase()), "`{}': help is {help:?}", command.path);
    }
    assert!(commands.len() > 40, "{}", commands.len());
}

#[test]
fn what_commands_complete_is_known() {
    let (world, tree) = (world(), tree());
    let known = world.live_kinds();
    let unknown: Vec<_> =
        tree.live_kinds().into_iter().filter(|kind| !known.contains(kind)).collect();
    assert!(unknown.is_empty(), "no plugin registers {unknown:?}");
    assert_eq!(world.candidates("interface", "loc"), ["local0"]);
    assert!(world.candidates("node", "ethernet-").contains(&"ethernet-input".to_string()));
}

#[test]
fn a_feature_of_every_arc_is_there_and_in_order() {
    // An arc whose order is a cycle, and a feature without its node, end the start: `world` panics.
    let world = world();
    let nodes: BTreeSet<Arc<str>> = world.nodes().into_iter().map(|n| n.name).collect();
    let arcs = world.arc_list();
    for (arc, features) in &arcs {
        let alone: BTreeSet<_> = features.iter().collect();
        assert_eq!(alone.len(), features.len(), "a feature stands twice on {arc}: {features:?}");
        assert!(features.iter().all(|f| nodes.contains(*f)), "{arc}: {features:?}");
    }
    assert!(arcs.iter().any(|(arc, _)| *arc == "interface-output"), "{arcs:?}");
}
