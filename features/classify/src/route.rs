// SPDX-License-Identifier: Apache-2.0
//! `ip4-classify`, `ip6-classify`: packets of routes to a table. A session selects the next node by
//! number, as VPP numbers the next nodes of a lookup: drop, punt, deliver here, or an adjacency,
//! whose index is the session's opaque number.

use crate::acl::Lookup;
use crate::hook::{Hook, NumberedNode};
use crate::table::Table;
use crate::trace::ClassifyTrace;
use buffer::Buffer;
use graph::{Build, Cx, Next, Node, NodeIndex, ThreadIndex, World};
use ip::Ip;
use net::{AdjIndex, AdjKind, Adjacencies, IpMeta};
use std::marker::PhantomData;
use std::sync::Arc;

/// Numbers of next nodes.
const PUNT: u16 = 1;
const LOCAL: u16 = 2;
/// The first and the last that are nodes of adjacencies.
const ADJACENCIES: std::ops::RangeInclusive<u16> = 3..=10;

/// The node.
pub struct Classify<F> {
    lookup: Lookup,
    adjacencies: Arc<Adjacencies>,
    of: PhantomData<F>,
}

/// Next nodes.
#[derive(Next, Clone, Copy, PartialEq, Eq, Debug)]
pub enum To {
    /// A node that a session or a table names, or that of an adjacency.
    #[dynamic]
    Node(NodeIndex),
    #[next("{ip}-local")]
    Local,
    /// session or table says so
    #[punt]
    Punt,
    /// session or table names no next node, or that of a drop
    #[drop]
    Deny,
    /// adjacency of the session or of the route is gone
    #[drop]
    NoAdjacency,
    /// packet has fewer bytes than the session advances
    #[drop]
    Moved,
    /// packet has come back too often
    #[drop]
    Looped,
    /// packets that matched a session
    #[count]
    #[counter("Classify hits")]
    Hit,
    /// packets that matched a session of a table behind the first
    #[count]
    #[counter("Classify hits after chain walk")]
    ChainHit,
    /// packets that matched no session
    #[count]
    #[counter("Classify misses")]
    Missed,
}

impl<F: Ip> Build for Classify<F> {
    fn build(world: &World, _: ThreadIndex) -> Self {
        let lookup = Lookup::new(world, Hook::Route(F::IS_V6));
        Self { lookup, adjacencies: world.get(), of: PhantomData }
    }
}

/// Returns true if packets of an adjacency leave by an interface.
#[inline(always)]
const fn is_neighbor(kind: AdjKind) -> bool {
    matches!(kind, AdjKind::Rewrite | AdjKind::Incomplete | AdjKind::Glean)
}

/// Offset of a table's first vector, without skipped vectors: the layer-2 header, or from the IP
/// header.
#[inline(always)]
fn base(table: &Table, b: &Buffer) -> i64 {
    table.offset.map_or_else(|| -(b.l2_len() as i64), i64::from)
}

impl<F: Ip> Node for Classify<F> {
    const NAME: &'static str = "{ip}-classify";
    const V6: Option<bool> = Some(F::IS_V6);
    const DROP: &'static str = "{ip}-drop";
    const PUNT: &'static str = "{ip}-punt";
    type Next = To;
    type Trace = ClassifyTrace;

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        let (turn, by) = (cx.turn, (cx.thread().at(), cx.now()));
        let meta: IpMeta = b.scratch();
        let Some(adj) = self.adjacencies.get(meta.adj(), turn) else { return To::NoAdjacency };
        let Some(verdict) = self.lookup.find(adj.table, b, by, turn, base) else {
            return To::NoAdjacency;
        };
        cx.count(if verdict.session.is_some() { To::Hit } else { To::Missed }, 1);
        if verdict.chained {
            cx.count(To::ChainHit, 1);
        }
        let opaque = verdict.session.map_or(0, |(_, session)| session.opaque);
        let (mut index, mut numbered_node) = (AdjIndex::RECEIVE, NumberedNode::Deny);
        let mut to = match verdict.next {
            LOCAL => To::Local,
            PUNT => To::Punt,
            next if ADJACENCIES.contains(&next) && verdict.session.is_some() => {
                index = AdjIndex(opaque);
                // Adjacencies of features may lead back.
                let adj = self.adjacencies.get(index, turn).filter(|adj| is_neighbor(adj.kind));
                adj.map_or(To::NoAdjacency, |adj| To::Node(adj.next))
            }
            next => {
                numbered_node = self.lookup.numbered_node(next, turn);
                match numbered_node {
                    // It may be an earlier node.
                    NumberedNode::Node(_) if !b.flags.count_return() => To::Looped,
                    NumberedNode::Node(node) => To::Node(node),
                    _ => To::Deny,
                }
            }
        };
        if let To::Node(node) = to {
            numbered_node = NumberedNode::Node(node);
        }
        if TRACED {
            cx.trace(b, ClassifyTrace::new(b.rx_if, Some(&verdict), numbered_node, None));
        }
        if !self.lookup.note(b, &verdict) {
            to = To::Moved;
        }
        b.set_scratch(IpMeta { adj: index.0, ..meta });
        to
    }
}
