// SPDX-License-Identifier: Apache-2.0
//! Every name leads somewhere.

use std::collections::BTreeSet;
use std::sync::Arc;

use cli::{Live, Tree};
use daemon::{commands, plugins, store};
use graph::{World, WorldConfig};

/// An instance of everything, its threads' graphs left out.
pub fn world() -> Arc<World> {
    let config = WorldConfig { buffers: 1024, ..WorldConfig::default() };
    World::new(&config, plugins::ALL).unwrap_or_else(|e| panic!("the daemon can't start: {e}")).0
}

/// Every command of the daemon.
pub fn tree() -> Tree<World> {
    let mut tree = Tree::new(commands::own::<World>()).unwrap_or_else(|e| panic!("{e}"));
    tree.add(store::commands::all::<World>()).unwrap_or_else(|e| panic!("{e}"));
    tree.add(plugins::ALL.iter().flat_map(|p| p.cli)).unwrap_or_else(|e| panic!("{e}"));
    tree
}

/// Nodes that may be named without being there, and why.
const ABSENT: &[(&str, &str)] = &[];

#[test]
fn every_node_that_is_named_is_there() {
    let nodes = world().nodes();
    let missing: Vec<_> = nodes.iter().filter(|n| n.missing).map(|n| &*n.name).collect();
    let unexpected: Vec<_> =
        missing.iter().filter(|name| !ABSENT.iter().any(|(absent, _)| absent == *name)).collect();
    assert!(unexpected.is_empty(), "no plugin brings {unexpected:?}");
    let names: BTreeSet<_> = nodes.iter().map(|n| &*n.name).collect();
    for node in &nodes {
        let unknown: Vec<_> = node.next.iter().filter(|next| !names.contains(&***next)).collect();
        assert!(unknown.is_empty(), "{} sends to {unknown:?}", node.name);
    }
}

/// Nodes that are no inputs and that no other node's declaration leads to, and the sender of their
/// packets.
const ENTERED: &[(&str, &str)] = &[
    ("ethernet-input", "the inputs of drivers, and streams"),
    ("soft-rss-handoff", "`soft-rss` and `soft-rss-tunnel-…` on other threads"),
    ("ip4-full-reassembly", "who has fragments that are to come in anew"),
    ("ip4-full-reassembly-custom", "features that work on whole datagrams"),
    ("ip6-full-reassembly", "who has fragments that are to come in anew"),
    ("ip6-full-reassembly-custom", "features that work on whole datagrams"),
    ("ip4-local-end-of-arc", "the end of an arc that has no feature yet"),
    ("ip6-local-end-of-arc", "the end of an arc that has no feature yet"),
    ("interface-rx-dpo-ip4", "routes that let packets come in anew"),
    ("interface-rx-dpo-ip6", "routes that let packets come in anew"),
    ("udp4o4-encap", "routes to encapsulations"),
    ("udp6o4-encap", "routes to encapsulations"),
    ("udp4o6-encap", "routes to encapsulations"),
    ("udp6o6-encap", "routes to encapsulations"),
    ("udp-decap-ip4", "ports whose datagrams carry packets"),
    ("udp-decap-ip6", "ports whose datagrams carry packets"),
    ("ip4-udp-punt", "ports that are punted"),
    ("ip6-udp-punt", "ports that are punted"),
    ("punt-dispatch", "the end of the arc `error-punt`"),
    ("ip4-esp-udp-punt", "UDP port 4500, if a client takes IPsec's reasons"),
    ("ip6-esp-udp-punt", "UDP port 4500, if a client takes IPsec's reasons"),
    ("punt-client-0-ip4", "reasons that `test punt` takes"),
    ("punt-client-1-ip4", "reasons that `test punt` takes"),
    ("punt-client-0-ip6", "reasons that `test punt` takes"),
    ("punt-client-1-ip6", "reasons that `test punt` takes"),
    ("tcp4-reset", "TCP, as long as nobody takes it"),
    ("tcp6-reset", "TCP, as long as nobody takes it"),
    ("ip4-tcp-punt", "TCP, if a port is punted"),
    ("ip6-tcp-punt", "TCP, if a port is punted"),
    ("ip4-udp-punt-socket", "ports that clients take"),
    ("ip6-udp-punt-socket", "ports that clients take"),
    ("ip4-proto-punt-socket", "protocols that clients take"),
    ("ip6-proto-punt-socket", "protocols that clients take"),
    ("tunnel-output", "routes and ports that lead into tunnels"),
    ("ipip-encap", "`tunnel-output`, from the first tunnel on"),
    ("sixrd-encap", "`tunnel-output`, from the first tunnel on"),
    ("pipe-rx", "the transmit nodes of pipes' ends"),
    ("gre-encap", "`tunnel-output`, from the first tunnel on"),
    ("gre-teb-encap", "`tunnel-output`, from the first tunnel on"),
    ("gre-erspan-encap", "`tunnel-output`, from the first tunnel on"),
    ("pppoe-encap", "`tunnel-output`, from the first session on"),
    ("l2tp-encap", "`tunnel-output`, from the first tunnel on"),
    ("vxlan4-encap", "`tunnel-output`, from the first tunnel on"),
    ("vxlan6-encap", "`tunnel-output`, from the first tunnel on"),
    ("geneve4-encap", "`tunnel-output`, from the first tunnel on"),
    ("geneve6-encap", "`tunnel-output`, from the first tunnel on"),
    ("gtpu4-encap", "`tunnel-output`, from the first tunnel on"),
    ("gtpu6-encap", "`tunnel-output`, from the first tunnel on"),
    ("vxlan-gpe-encap", "`tunnel-output`, from the first tunnel on"),
    ("ipip4-input", "protocols 4 and 41, from the first tunnel on"),
    ("ipip6-input", "protocols 4 and 41, from the first tunnel on"),
    ("gre4-input", "protocol 47, from the first tunnel on"),
    ("gre6-input", "protocol 47, from the first tunnel on"),
];

#[test]
fn every_node_is_sent_something() {
    let nodes = world().nodes();
    let next: BTreeSet<_> = nodes.iter().flat_map(|n| &n.next).collect();
    let alone = nodes.iter().filter(|n| !n.input && !next.contains(&n.name)).map(|n| &*n.name);
    let unexpected: Vec<_> =
        alone.filter(|n| !ENTERED.iter().any(|(entered, _)| entered == n)).collect();
    assert!(unexpected.is_empty(), "nothing leads to {unexpected:?}");
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
