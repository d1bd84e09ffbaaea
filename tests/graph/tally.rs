// SPDX-License-Identifier: Apache-2.0
//! Packet accounting, from the counters of nodes alone: every packet has to be accounted for.

use std::collections::BTreeMap;
use std::sync::Arc;

use graph::{NodeIndex, World, counters};
use stats::Simple;

/// Packets since the start, by what became of them. `came` is what the test sent; the rest is
/// counted by the graph.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Left by an interface.
    pub sent: u64,
    /// Ended at the node `drop`.
    pub dropped: u64,
    /// Ended at the node `punt`.
    pub punted: u64,
    /// Packets of ARP and neighbour discovery that were for us and were evaluated.
    pub noted: u64,
    /// Cut up: the fragments have taken their place.
    pub fragmented: u64,
    /// Fragments made.
    pub fragments: u64,
    /// Fragments that have become part of another packet.
    pub joined: u64,
    /// Packets that ARP and neighbour discovery send on their own: requests, announcements,
    /// reports.
    pub asked: u64,
    /// Copies made for redirects: the sender has a better next hop.
    pub redirects: u64,
    /// ICMP errors: the packets that they are about are dropped.
    pub answers: u64,
    /// Packets that came to nodes which resolve neighbours.
    pub resolving: u64,
    /// Counted under the name of a reason that loses packets, other than those answered by an ICMP
    /// error.
    pub reasons: u64,
    /// Sent to nodes that are not there.
    pub lost: u64,
}

/// Nodes where packets wait for neighbours.
const RESOLVERS: [&str; 4] = ["ip4-arp", "ip4-glean", "ip6-discover-neighbor", "ip6-glean"];
/// Nodes that answer in place, drop, or take note.
const LISTENERS: [&str; 6] = [
    "arp-reply",
    "icmp6-neighbor-solicitation",
    "icmp6-neighbor-advertisement",
    "icmp6-router-solicitation",
    "icmp6-router-advertisement",
    "icmp6-multicast-listener-query",
];
/// Nodes that cut packets up.
const CUTTERS: [&str; 2] = ["ip4-frag", "ip6-frag"];
/// Counters of packets that ARP and neighbour discovery send on their own.
const ASKED: [&str; 7] = [
    "arp/tx/requests",
    "arp/tx/gratuitous",
    "ip6-nd/tx/requests",
    "ip6-nd/tx/gratuitous",
    "ip6-nd/tx/router-advertisements",
    "ip6-nd/tx/router-solicitations",
    "ip6-nd/tx/listener-reports",
];

/// Reads a [`Tally`] from an instance.
pub struct Tallier {
    vectors: Arc<Simple>,
    errors: Arc<Simple>,
    asked: Vec<Arc<Simple>>,
    replies: Vec<Arc<Simple>>,
    interfaces: usize,
    tx: Vec<NodeIndex>,
    missing: Vec<NodeIndex>,
    resolvers: Vec<NodeIndex>,
    listeners: Vec<NodeIndex>,
    cutters: Vec<NodeIndex>,
    named: BTreeMap<&'static str, NodeIndex>,
    /// Error indices that lose packets, and of nodes that evaluate packets, that fragment, of
    /// fragments sent, of redirects.
    drops: Vec<usize>,
    listener_drops: Vec<usize>,
    frag_drops: Vec<usize>,
    fragments: Vec<usize>,
    /// Fragments that datagrams were made of, and the datagrams.
    parts: Vec<usize>,
    wholes: Vec<usize>,
    redirects: Vec<usize>,
    answers: Vec<usize>,
}

impl Tallier {
    /// Of this instance, whose interfaces are all there.
    pub fn new(world: &World, interfaces: usize) -> Self {
        let nodes = world.nodes();
        let reasons = world.reasons();
        let errors = |which: &dyn Fn(&graph::Reason) -> bool| -> Vec<usize> {
            (0..reasons.len()).filter(|i| which(&reasons[*i])).collect()
        };
        let find = |which: &dyn Fn(&graph::NodeInfo) -> bool| -> Vec<NodeIndex> {
            nodes.iter().filter(|n| which(n)).map(|n| n.index).collect()
        };
        let counted = |names: &[&str]| -> Vec<Arc<Simple>> {
            names.iter().map(|name| world.stats.simple(&format!("/net/{name}"))).collect()
        };
        let named = ["drop", "punt"];
        let named =
            named.map(|name| (name, world.node(name).unwrap_or_else(|| panic!("no node {name}"))));
        Self {
            vectors: world.stats.simple(counters::VECTORS),
            errors: world.stats.simple(counters::ERRORS),
            asked: counted(&ASKED),
            replies: counted(&["arp/tx/replies", "ip6-nd/tx/replies"]),
            interfaces,
            tx: find(&|n| n.name.ends_with("-tx")),
            missing: find(&|n| n.missing),
            resolvers: find(&|n| RESOLVERS.contains(&&*n.name)),
            listeners: find(&|n| LISTENERS.contains(&&*n.name)),
            cutters: find(&|n| CUTTERS.contains(&&*n.name)),
            named: named.into(),
            drops: errors(&|r| r.drop),
            listener_drops: errors(&|r| r.drop && LISTENERS.contains(&&*r.node)),
            frag_drops: errors(&|r| r.drop && CUTTERS.contains(&&*r.node)),
            fragments: errors(&|r| CUTTERS.contains(&&*r.node) && r.reason == "fragment_sent"),
            parts: errors(&|r| r.reason == "reass_fragments_reassembled"),
            wholes: errors(&|r| {
                r.node.contains("-full-") && ["reass_success", "reass_too_long"].contains(&r.reason)
            }),
            redirects: errors(&|r| r.node.ends_with("-rewrite") && r.reason == "same_interface"),
            answers: errors(&|r| r.node.ends_with("-icmp-error") && r.reason.ends_with("_sent")),
        }
    }

    /// The sums at this moment.
    pub fn read(&self) -> Tally {
        let through =
            |nodes: &[NodeIndex]| nodes.iter().map(|n| self.vectors.sum(n.0 as usize)).sum::<u64>();
        let node = |name: &str| through(&[self.named[name]]);
        let errors = |which: &[usize]| which.iter().map(|i| self.errors.sum(*i)).sum::<u64>();
        let one = |counter: &Arc<Simple>| (0..self.interfaces).map(|i| counter.sum(i)).sum::<u64>();
        let all = |counters: &[Arc<Simple>]| counters.iter().map(one).sum::<u64>();
        Tally {
            sent: through(&self.tx),
            dropped: node("drop"),
            punted: node("punt"),
            noted: through(&self.listeners) - errors(&self.listener_drops) - all(&self.replies),
            fragmented: through(&self.cutters) - errors(&self.frag_drops),
            fragments: errors(&self.fragments),
            joined: errors(&self.parts) - errors(&self.wholes),
            asked: all(&self.asked),
            redirects: errors(&self.redirects),
            answers: errors(&self.answers),
            resolving: through(&self.resolvers),
            reasons: errors(&self.drops),
            lost: through(&self.missing),
        }
    }
}

impl Tally {
    /// Packets that are still inside after `came` packets have come in: they wait for a neighbour's
    /// answer, or for further fragments. Negative if more came out than went in.
    pub fn held(&self, came: u64) -> i64 {
        let born = came + self.asked + self.redirects + self.answers + self.fragments;
        let gone = self.sent
            + self.dropped
            + self.punted
            + self.noted
            + self.fragmented
            + self.joined
            + self.lost;
        born as i64 - gone as i64
    }
}
