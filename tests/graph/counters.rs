// SPDX-License-Identifier: Apache-2.0
//! Counters of nodes that VPP has too have VPP's names where they count the same.

use crate::names::world;
use std::collections::{BTreeMap, BTreeSet};

/// VPP's counters: nodes that have one, separated by spaces, a tab, and its name.
const VPP: &str = include_str!("vpp-counters.tsv");

fn vpp() -> BTreeMap<&'static str, BTreeSet<&'static str>> {
    let mut all: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
    for line in VPP.lines().filter(|line| !line.starts_with('#')) {
        let (nodes, name) = line.split_once('\t').unwrap_or_else(|| panic!("no tab: {line}"));
        nodes.split(' ').for_each(|node| _ = all.entry(node).or_default().insert(name));
    }
    all
}

/// Names that VPP's nodes don't have, and why ours do.
const OURS: &[(&str, &[&str])] = &[
    (
        "answers that standards forbid (RFC 1122 3.2.2, RFC 4443 2.4, RFC 9293 3.10.7.1), and limits of those that are sent",
        &[
            "broadcast",
            "fragment",
            "icmp_error",
            "is_reset",
            "link_broadcast",
            "no_address",
            "rate_limited",
            "redirect",
            "source",
            "unknown_error",
        ],
    ),
    (
        "headers that VPP doesn't look at, or counts together with others",
        &[
            "address_length",
            "checksum",
            "discard",
            "header_problem",
            "hop_by_hop",
            "no_header",
            "no_next_header",
            "own_frame",
            "problem",
            "router_alert",
            "sender_address",
            "sender_mac",
            "source_quench",
            "tcp_checksum",
            "too_many",
            "too_many_headers",
            "too_short",
        ],
    ),
    (
        "sources and groups that no packet may have (RFC 1812 5.3.7, RFC 4291 2.7)",
        &[
            "group_scope",
            "source_loopback",
            "source_multicast",
            "source_reserved",
            "source_this_network",
            "source_unspecified",
        ],
    ),
    (
        "what becomes of packets that wait for a neighbour: in VPP none does",
        &[
            "busy",
            "displaced",
            "interface_down",
            "no_answer",
            "no_answer4",
            "no_room",
            "overflow",
            "replaced",
        ],
    ),
    (
        "fragments: RFC 3168 5.3, RFC 5722, RFC 6946, RFC 7112, RFC 8200 4.5",
        &[
            "reass_ecn_mismatch",
            "reass_given_up",
            "reass_invalid_frag_len",
            "reass_invalid_frag_size",
            "reass_malformed_packet",
            "reass_missing_upper",
            "reass_no_frag_hdr",
            "reass_overlapping_fragment",
            "reass_time_exceeded",
            "reass_too_long",
        ],
    ),
    (
        "offloads of a device that don't fit the packet",
        &[
            "bad_checksum_offset",
            "bad_desc",
            "bad_segmentation",
            "no_ip",
            "segment_too_small",
            "segmentation",
            "unknown_segmentation",
        ],
    ),
    (
        "where multicast packets end that VPP's replication sends to no output or drops by its table",
        &["again", "confined", "copied", "gone", "no_output"],
    ),
    (
        "limits of what a port floods, which VPP doesn't have",
        &[
            "broadcast storm control drops",
            "multicast storm control drops",
            "unknown unicast storm control drops",
        ],
    ),
    (
        "objects that have gone while a packet was on its way, and buffers",
        &["no_adjacency", "no_buffer"],
    ),
    (
        "packets that are sent or punted, which VPP doesn't count here",
        &["mirrored", "packet_too_big_sent", "punted", "redirected"],
    ),
];

#[test]
fn counters_have_the_names_that_vpp_gives_them() {
    let vpp = vpp();
    let world = world();
    let nodes: BTreeSet<_> = world.nodes().into_iter().map(|n| n.name.to_string()).collect();
    let gone: Vec<_> = vpp.keys().filter(|node| !nodes.contains(**node)).collect();
    assert!(gone.is_empty(), "no such nodes here: {gone:?}");
    let mut own = BTreeSet::new();
    for reason in world.reasons() {
        if let Some(names) = vpp.get(&*reason.node)
            && !names.contains(reason.reason)
        {
            own.insert((reason.reason, reason.node.to_string()));
        }
    }
    let said: BTreeSet<_> = OURS.iter().flat_map(|(_, names)| *names).copied().collect();
    let unknown: Vec<_> = own.iter().filter(|(name, _)| !said.contains(name)).collect();
    assert!(unknown.is_empty(), "neither VPP's names nor said to be ours: {unknown:#?}");
    let used: BTreeSet<_> = own.iter().map(|(name, _)| *name).collect();
    let stale: Vec<_> = said.difference(&used).collect();
    assert!(stale.is_empty(), "not in use: {stale:?}");
}
