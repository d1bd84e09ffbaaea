// SPDX-License-Identifier: Apache-2.0
//! Every name leads somewhere.

use std::collections::{BTreeMap, BTreeSet};
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

/// The order of the features of IP, as packets pass them: an added feature shows its position here.
const ORDERS: [(&str, &[&str]); 8] = [
    (
        "ip4-unicast",
        &[
            "ip4-rx-urpf-loose",
            "ip4-rx-urpf-strict",
            "linux-cp-xc-ip4",
            "linux-cp-xc-l3-ip4",
            "ip4-full-reassembly-feature",
            "ip4-sv-reassembly-feature",
            "punt-test-ip4",
            "svs-ip4",
            "acl-plugin-macip-in-ip4-fa",
            "pnat-input",
            "ip4-dhcp-client-detect",
            "acl-plugin-in-ip4-fa",
            "nat-pre-in2out",
            "nat-pre-out2in",
            "nat44-ed-classify",
            "nat44-handoff-classify",
            "nat44-in2out-worker-handoff",
            "nat44-out2in-worker-handoff",
            "nat64-out2in",
            "nat64-out2in-handoff",
            "nat44-ei-classify",
            "nat44-ei-handoff-classify",
            "nat44-ei-in2out",
            "nat44-ei-in2out-worker-handoff",
            "nat44-ei-out2in",
            "nat44-ei-out2in-worker-handoff",
            "ip4-source-and-port-range-check-rx",
            "ip4-inacl",
            "tcp-mss-clamping-ip4-in",
            "det44-out2in",
            "det44-in2out",
            "abf-input-ip4",
            "l3xc-input-ip4",
            "ip4-gtpu-bypass",
            "ip4-not-enabled",
            "ip4-geneve-bypass",
            "ip4-vxlan-bypass",
            "ip4-vxlan-gpe-bypass",
            "super-path-ip4-passed",
        ],
    ),
    (
        "ip4-multicast",
        &[
            "acl-plugin-macip-in-ip4-fa",
            "ip4-sv-reassembly-mcast-feature",
            "linux-cp-xc-ip4",
            "linux-cp-xc-l3-ip4",
            "ip4-not-enabled",
            "vrrp4-accept-owner-input",
        ],
    ),
    (
        "ip4-output",
        &[
            "ip4-sv-reassembly-output-feature",
            "ip4-tx-urpf-strict",
            "ip4-tx-urpf-loose",
            "ip4-firewall-output",
            "nat-pre-in2out-output",
            "nat44-in2out-output-worker-handoff",
            "acl-plugin-out-ip4-fa",
            "acl-plugin-macip-out-ip4-fa",
            "pnat-output",
            "nat44-ei-in2out-output",
            "nat44-ei-in2out-output-worker-handoff",
            "tcp-mss-clamping-ip4-out",
            "ip4-source-and-port-range-check-tx",
            "ip4-outacl",
            "ip4-dvr-reinject",
        ],
    ),
    ("ip4-punt", &["linux-cp-punt-l3", "stn-ip4-punt", "ip4-punt-acl", "ip4-punt-redirect"]),
    (
        "ip6-unicast",
        &[
            "ip6-rx-urpf-loose",
            "ip6-rx-urpf-strict",
            "ip6-unicast-nd-proxy",
            "linux-cp-xc-ip6",
            "linux-cp-xc-l3-ip6",
            "ip6-sv-reassembly-feature",
            "ip6-full-reassembly-feature",
            "punt-test-ip6",
            "svs-ip6",
            "acl-plugin-macip-in-ip6-fa",
            "nat66-out2in",
            "nat66-in2out",
            "acl-plugin-in-ip6-fa",
            "nat64-in2out",
            "nat64-in2out-handoff",
            "ip6-inacl",
            "tcp-mss-clamping-ip6-in",
            "abf-input-ip6",
            "l3xc-input-ip6",
            "ip6-gtpu-bypass",
            "ip6-not-enabled",
            "ip6-geneve-bypass",
            "ip6-vxlan-bypass",
            "ip6-vxlan-gpe-bypass",
            "l2tp-decap",
            "super-path-ip6-passed",
        ],
    ),
    (
        "ip6-multicast",
        &[
            "acl-plugin-macip-in-ip6-fa",
            "ip6-sv-reassembly-mcast-feature",
            "linux-cp-xc-ip6",
            "linux-cp-xc-l3-ip6",
            "ip6-not-enabled",
            "vrrp6-accept-owner-input",
        ],
    ),
    (
        "ip6-output",
        &[
            "ip6-tx-urpf-strict",
            "ip6-tx-urpf-loose",
            "ip6-sv-reassembly-output-feature",
            "ip6-firewall-output",
            "acl-plugin-out-ip6-fa",
            "acl-plugin-macip-out-ip6-fa",
            "ip6-outacl",
            "tcp-mss-clamping-ip6-out",
            "ip6-dvr-reinject",
        ],
    ),
    ("ip6-punt", &["linux-cp-punt-l3", "stn-ip6-punt", "ip6-punt-acl", "ip6-punt-redirect"]),
];

#[test]
fn features_of_ip_stand_in_this_order() {
    let arcs: BTreeMap<_, _> = world().arc_list().into_iter().collect();
    for (arc, order) in ORDERS {
        assert_eq!(arcs.get(arc).map(Vec::as_slice), Some(order), "{arc}");
    }
}
