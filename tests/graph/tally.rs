// SPDX-License-Identifier: Apache-2.0
//! Where packets went, from the counters of nodes alone, and whether every one is accounted for.

use std::collections::BTreeMap;
use std::sync::Arc;

use graph::{NodeIndex, World, counters};
use stats::Simple;

/// Packets since the start, by what became of them. `came` is what the test sent; the rest is counted by the graph.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Left by an interface.
    pub sent: u64,
    /// Ended at the node `drop`.
    pub dropped: u64,
    /// Ended at the node `punt`.
    pub punted: u64,
    /// ARP packets that were for us and told something.
    pub noted: u64,
    /// Cut up: the fragments have taken their place.
    pub fragmented: u64,
    /// Fragments made.
    pub fragments: u64,
    /// Fragments that have become part of another packet.
    pub joined: u64,
    /// ARP requests and announcements made.
    pub asked: u64,
    /// Copies made to tell the sender of a better way.
    pub redirects: u64,
    /// Packets that came to nodes which resolve neighbours.
    pub resolving: u64,
    /// Counted under the name of a reason that loses packets.
    pub reasons: u64,
    /// Sent to nodes that are not there.
    pub lost: u64,
}

/// Reads a [`Tally`] from an instance.
pub struct Tallier {
    vectors: Arc<Simple>,
    errors: Arc<Simple>,
    requests: Arc<Simple>,
    announced: Arc<Simple>,
    replies: Arc<Simple>,
    interfaces: usize,
    tx: Vec<NodeIndex>,
    missing: Vec<NodeIndex>,
    resolvers: Vec<NodeIndex>,
    named: BTreeMap<&'static str, NodeIndex>,
    /// Error indices that lose packets, those of `arp-reply`, of `ip4-frag`, of fragments sent, of redirects.
    drops: Vec<usize>,
    arp_drops: Vec<usize>,
    frag_drops: Vec<usize>,
    fragments: Vec<usize>,
    /// Fragments that datagrams were made of, and the datagrams.
    parts: Vec<usize>,
    wholes: Vec<usize>,
    redirects: Vec<usize>,
}

impl Tallier {
    /// Of this instance, whose interfaces are all there.
    pub fn new(world: &World, interfaces: usize) -> Self {
        let nodes = world.nodes();
        let reasons = world.reasons();
        let errors = |which: &dyn Fn(&graph::Reason) -> bool| -> Vec<usize> {
            (0..reasons.len()).filter(|i| which(reasons[*i])).collect()
        };
        let find = |which: &dyn Fn(&graph::NodeInfo) -> bool| -> Vec<NodeIndex> {
            nodes.iter().filter(|n| which(n)).map(|n| n.index).collect()
        };
        let named = ["drop", "punt", "arp-reply", "ip4-frag"];
        let named = named.map(|name| (name, world.node(name).unwrap_or_else(|| panic!("no node {name}"))));
        Self {
            vectors: world.stats.simple(counters::VECTORS),
            errors: world.stats.simple(counters::ERRORS),
            requests: world.stats.simple("/net/arp/tx/requests"),
            announced: world.stats.simple("/net/arp/tx/gratuitous"),
            replies: world.stats.simple("/net/arp/tx/replies"),
            interfaces,
            tx: find(&|n| n.name.ends_with("-tx")),
            missing: find(&|n| n.missing),
            resolvers: find(&|n| ["ip4-arp", "ip4-glean"].contains(&&*n.name)),
            named: named.into(),
            drops: errors(&|r| r.drop),
            arp_drops: errors(&|r| r.drop && &*r.node == "arp-reply"),
            frag_drops: errors(&|r| r.drop && &*r.node == "ip4-frag"),
            fragments: errors(&|r| &*r.node == "ip4-frag" && r.reason == "sent"),
            parts: errors(&|r| r.reason == "reass_fragments_reassembled"),
            wholes: errors(&|r| {
                r.node.contains("-full-") && ["reass_success", "reass_too_long"].contains(&r.reason)
            }),
            redirects: errors(&|r| &*r.node == "ip4-rewrite" && r.reason == "same_interface"),
        }
    }

    /// The sums at this moment.
    pub fn read(&self) -> Tally {
        let through = |nodes: &[NodeIndex]| nodes.iter().map(|n| self.vectors.sum(n.0 as usize)).sum::<u64>();
        let node = |name: &str| through(&[self.named[name]]);
        let errors = |which: &[usize]| which.iter().map(|i| self.errors.sum(*i)).sum::<u64>();
        let arp = |counter: &Simple| (0..self.interfaces).map(|i| counter.sum(i)).sum::<u64>();
        Tally {
            sent: through(&self.tx),
            dropped: node("drop"),
            punted: node("punt"),
            noted: node("arp-reply") - errors(&self.arp_drops) - arp(&self.replies),
            fragmented: node("ip4-frag") - errors(&self.frag_drops),
            fragments: errors(&self.fragments),
            joined: errors(&self.parts) - errors(&self.wholes),
            asked: arp(&self.requests) + arp(&self.announced),
            redirects: errors(&self.redirects),
            resolving: through(&self.resolvers),
            reasons: errors(&self.drops),
            lost: through(&self.missing),
        }
    }
}

impl Tally {
    /// Packets that are still inside when so many came in: they wait for a neighbour's answer, or for further fragments. Negative if more came out than
    /// went in.
    pub fn held(&self, came: u64) -> i64 {
        let born = came + self.asked + self.redirects + self.fragments;
        let gone =
            self.sent + self.dropped + self.punted + self.noted + self.fragmented + self.joined + self.lost;
        born as i64 - gone as i64
    }
}
